"""Reports of imports of works, and the pairs that a person should look at."""

from __future__ import annotations

from dataclasses import dataclass

from rifflux.types import Failure, Notice


@dataclass(frozen=True, slots=True)
class Doubt:
    """Two works that may be one: their names (`source:key`), and what speaks for and against it."""

    one: str
    other: str
    reason: str


@dataclass(frozen=True, slots=True)
class WorksReport:
    """The outcome of an import.

    `added` works are new, `updated` ones were there and changed, `merged` of these with what another source says. In
    `failed` is what was not taken, in `noted` what was taken without a part that was wrong: an unknown tag scheme, a
    date in the future, a citation that leads nowhere in its own source, a circle of citations. `dangling` counts the
    citations of works that the index does not hold, `unlicensed` the works stored without a license record, of which
    only title and identifiers are ever shown. `sources` are the names that the lists go by: a work's own key there is
    `source:key`. `doubts` are the new pairs to review. `degraded` says why works that were stored have no vector yet:
    they are found by words.
    """

    added: int = 0
    updated: int = 0
    merged: int = 0
    unchanged: int = 0
    dangling: int = 0
    unlicensed: int = 0
    chunks: int = 0
    embedded_chunks: int = 0
    sources: tuple[str, ...] = ()
    doubts: tuple[Doubt, ...] = ()
    failed: tuple[Failure, ...] = ()
    noted: tuple[Failure, ...] = ()
    seconds: float = 0.0
    degraded: tuple[Notice, ...] = ()
