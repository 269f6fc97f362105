"""Result pages: sequences that print one hit per line and convert to dictionaries or a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar, overload

from rifflux.errors import Cure, MissingExtra
from rifflux.types.search import Hit, Trace

if TYPE_CHECKING:
    from pandas import DataFrame

__all__ = ["Page", "Results"]

Found = TypeVar("Found")


@dataclass(frozen=True, slots=True, repr=False)
class Page(Sequence[Found]):
    """The hits of a search, best first, with the trace of the search."""

    query: str
    hits: tuple[Found, ...]
    trace: Trace

    @overload
    def __getitem__(self, index: int) -> Found: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Found]: ...
    def __getitem__(self, index: int | slice) -> Found | Sequence[Found]:
        return self.hits[index]

    def __len__(self) -> int:
        return len(self.hits)

    def __repr__(self) -> str:
        """Return one line about the search, one per hit, and one per degradation."""
        number = f"{len(self)} hit" + "s" * (len(self) != 1)
        hits = (f"{rank:2} {hit}" for rank, hit in enumerate(self.hits, 1))
        degraded = (f"degraded: {reason}" for reason in self.trace.degraded)
        return "\n".join((f"{number} for {self.query!r} ({self.trace.effective_mode})", *hits, *degraded))


@dataclass(frozen=True, slots=True, repr=False)
class Results(Page[Hit]):
    """The hits of a search, best first, with the trace of the search.

    They print as one line per hit: place, headings, relevance and the beginning of the passage.
    """

    def to_dicts(self) -> list[dict[str, Any]]:
        """Return the hits, best first, as the dictionaries of plain values that every surface uses for JSON."""
        from rifflux.types.nouns import noun_json

        return [noun_json(hit, root=hit.root) for hit in self.hits]

    def to_pandas(self) -> DataFrame:
        """Return the hits as a data frame: one row per hit, indexed by rank from 1, one column per key of `to_dicts`.

        Raises `MissingExtra` without pandas.
        """
        try:
            import pandas
        except ImportError as error:
            raise MissingExtra("a table of hits needs pandas", cure=Cure.INSTALL, package="pandas") from error
        from rifflux.types.nouns import json_names

        ranks = pandas.RangeIndex(1, len(self) + 1, name="rank")
        return pandas.DataFrame(self.to_dicts(), ranks, [*json_names(Hit).values(), "root"])
