"""One call for the candidates of a question: what an engine is asked for, and all that it answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from rifflux.store.catalog import ChunkFacts
from rifflux.store.lexical import FieldWeights
from rifflux.types import Execution, Query, Ranking

__all__ = ["DESCRIBED", "LEXICAL", "SEMANTIC", "CandidateRequest", "CandidateResponse", "Totals"]

#: The channels of every engine: by words (BM25) and by meaning (cosine).
LEXICAL = "lexical"
SEMANTIC = "semantic"
#: The number of the best of each ranking whose facts come with it. Names are looked for among the best by words.
DESCRIBED: Mapping[str, int] = {LEXICAL: 100, SEMANTIC: 50}


@dataclass(frozen=True, slots=True)
class Totals:
    """How many chunks there are, and how many with a vector, whether there are works, and in which languages.

    The languages of the documents are sorted; the empty name stands for that of the index, which is alone where there
    are no documents.
    """

    chunks: int
    embedded: int
    has_works: bool
    languages: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CandidateRequest:
    """The rankings of a question in some channels, as deep as the execution says; `weights` are those of BM25.

    Facts come with them where the candidates are to be `described`.
    """

    query: Query
    execution: Execution
    weights: FieldWeights
    channels: Sequence[str] = (LEXICAL, SEMANTIC)
    described: bool = True


@dataclass(frozen=True, slots=True)
class CandidateResponse:
    """The ranking of each channel, the facts of its best chunks by id, and the milliseconds that each took."""

    rankings: Mapping[str, Ranking] = field(default_factory=dict)
    facts: Mapping[int, ChunkFacts] = field(default_factory=dict)
    milliseconds: Mapping[str, float] = field(default_factory=dict)
