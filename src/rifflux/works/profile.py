"""Research works: papers, books and statements, with their authors, years, venues and the lists that told of them."""

from dataclasses import replace

from rifflux.session.profile import Profile
from rifflux.works.retrieval.channels import exact_channels, sufficient_reach

__all__ = ["RETRIEVAL", "WORKS"]

WORKS = Profile(
    "works",
    mathematics="notation",
    facets=("authors", "year", "venue", "sources"),
    command="rifflux works import PATHS",
)

#: Works as they are retrieved with evidence: the steps are the intent's (see `rifflux.works.retrieval`).
RETRIEVAL = replace(WORKS, channels=exact_channels, reach=sufficient_reach)
