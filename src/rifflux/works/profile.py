"""Research works: papers, books and statements, with their authors, years, venues and the lists they come from."""

from __future__ import annotations

from rifflux.errors import Cure
from rifflux.session.profile import Profile

WORKS = Profile(
    "works",
    readers="rifflux.works.importers:FORMATS",
    mathematics="notation",
    facets=("author", "authors", "year", "venue", "sources"),
    cure=Cure.IMPORT_WORKS,
    # How works are weighed by their year is up to their own retrieval.
).without("times")
