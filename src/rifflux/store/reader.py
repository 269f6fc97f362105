"""The request for a query's candidates in one call of the engine, and its response."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from rifflux.store.catalog import FactTable
from rifflux.store.lexical import FieldWeights
from rifflux.types import Execution, Notice, Query, Ranking, Trace

__all__ = ["DESCRIBED", "LEXICAL", "REQUESTS", "SEMANTIC", "CandidateRequest", "CandidateResponse", "Reads", "Totals"]

#: The channels of every engine: by words (BM25) and by meaning (cosine).
LEXICAL = "lexical"
SEMANTIC = "semantic"
#: What a trace counts the requests of a search to other machines as.
REQUESTS = "requests"
#: The number of best candidates of each ranking whose facts are included. Names are looked for among the best by words.
DESCRIBED: Mapping[str, int] = {LEXICAL: 100, SEMANTIC: 50}


@dataclass(frozen=True, slots=True)
class Totals:
    """The numbers of documents, chunks, files and chunks with a vector, whether there are works, and the languages.

    The languages of the documents are sorted; an empty name stands for the index's language, the only one if there are
    no documents.
    """

    documents: int
    chunks: int
    files: int
    embedded: int
    has_works: bool
    languages: tuple[str, ...]


@dataclass(slots=True)
class Reads:
    """What some reads of an engine on other machines took: the number of requests, and notices on partial answers."""

    requests: int = 0
    notices: list[Notice] = field(default_factory=list)

    def traced(self, trace: Trace) -> Trace:
        """Return the trace of a search with them."""
        counts = {**trace.counts, REQUESTS: self.requests}
        return replace(trace, counts=counts, degraded=(*trace.degraded, *self.notices))


@dataclass(frozen=True, slots=True)
class CandidateRequest:
    """A request for the rankings of a query in some channels, to the depth of the execution; `weights` are BM25's.

    Facts of the best candidates are included if `described`, unless the engine reads them as fast when they are needed.
    """

    query: Query
    execution: Execution
    weights: FieldWeights
    channels: Sequence[str] = (LEXICAL, SEMANTIC)
    described: bool = True


@dataclass(frozen=True, slots=True)
class CandidateResponse:
    """The ranking of each channel, the facts that are known of chunks, and the milliseconds per channel.

    `cosines` are those of chunks found by words, by id, if the engine reads them with the candidates.
    """

    rankings: Mapping[str, Ranking] = field(default_factory=dict)
    facts: FactTable = field(default_factory=FactTable)
    milliseconds: Mapping[str, float] = field(default_factory=dict)
    cosines: Mapping[int, float] = field(default_factory=dict)
