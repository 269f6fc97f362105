"""Research works: papers, books and statements, with their authors, years, venues and the lists they come from."""

from __future__ import annotations

from dataclasses import replace

from rifflux.evidence.pack import Packer
from rifflux.session.profile import Profile
from rifflux.works.export import CITING
from rifflux.works.retrieval.candidates import exact_channels, sufficient_reach

WORKS = Profile(
    "works",
    readers="rifflux.works.importers:FORMATS",
    mathematics="notation",
    facets=("author", "authors", "year", "venue", "sources"),
    # How works are weighed by their year is up to their own retrieval.
    moments=False,
    command="rifflux works import PATHS",
)

#: Works as they are retrieved with evidence; each question has its `steps`, `rifflux.works.retrieval.steps.WorkSteps`.
RETRIEVAL = replace(WORKS, channels=exact_channels, reach=sufficient_reach, packer=Packer(CITING))
