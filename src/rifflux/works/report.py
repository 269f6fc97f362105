"""Reports of imports of works, and pairs of likely duplicates to review."""

from __future__ import annotations

from dataclasses import dataclass

from rifflux.types import Failure, Notice


@dataclass(frozen=True, slots=True)
class Doubt:
    """Two works that may be the same: their names (`source:key`), and the evidence for and against."""

    one: str
    other: str
    reason: str


@dataclass(frozen=True, slots=True)
class WorksReport:
    """The outcome of an import.

    `added` works are new, `updated` ones existed and changed, `merged` of these with the record of another source.
    `failed` lists rejected entries; `noted` lists entries taken without an invalid part: an unknown tag scheme, a
    future date, a dangling citation within their source, a circle of citations. `dangling` counts citations of works
    that the index does not hold; `unlicensed` counts works stored without a license, of which only title and
    identifiers are ever displayed. `sources` are the names of the lists: a work's own key there is `source:key`.
    `doubts` are the new pairs to review. `degraded` says why stored works have no vector yet, so that only word search
    finds them.
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
