"""The profile of research works: papers, books and statements, with authors, years, venues and sources."""

from __future__ import annotations

from rifflux.errors import Cure
from rifflux.session.profile import Profile

WORKS = Profile(
    "works",
    readers="rifflux.works.importers:FORMATS",
    mathematics="notation",
    facets=("author", "authors", "year", "venue", "sources"),
    cure=Cure.IMPORT_WORKS,
    # The retrieval of works weighs the year itself.
).without("times")
