"""Research works: papers, books and statements, with their authors, years, venues and the lists that told of them."""

from rifflux.session.profile import Profile

__all__ = ["WORKS"]

WORKS = Profile(
    "works",
    mathematics="notation",
    facets=("authors", "year", "venue", "sources"),
    command="rifflux works import PATHS",
)
