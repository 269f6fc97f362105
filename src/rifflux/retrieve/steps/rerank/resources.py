"""What rerankers may need of the index and of the settings."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rifflux.models.embedder import Embedder
from rifflux.models.guarded import Guard
from rifflux.text.analyzer import Analyzer
from rifflux.text.rarity import idf
from rifflux.types import Ids, Query, Vectors

__all__ = ["RerankSettings", "Resources"]


@dataclass(frozen=True, slots=True)
class RerankSettings:
    """Where the models of rerankers are: a cross-encoder's folder or name, an LLM's endpoint, name and key.

    `guard` is what calls of the LLM pass: they are counted, and may be refused.
    """

    cross_encoder: str = ""
    llm_url: str = ""
    llm_model: str = ""
    llm_key: str = field(default="", repr=False)
    guard: Guard = field(default_factory=Guard)


@dataclass(frozen=True, slots=True)
class Resources:
    """Access to an index for scorers; everything that costs time is asked for when needed.

    `frequencies` gives in how many chunks each term occurs, `chunks` how many there are, `vectors` those of chunks by
    their ids. `features` are weights of the reranker of that name, where they are not its defaults. `models` makes a
    model or a client once for each key.
    """

    analyzer: Analyzer
    embedder: Callable[[], Embedder]
    frequencies: Callable[[Sequence[str]], Mapping[str, int]]
    chunks: Callable[[], int]
    vectors: Callable[[Ids], Mapping[int, Vectors]]
    settings: RerankSettings = field(default_factory=RerankSettings)
    features: Mapping[str, float] = field(default_factory=dict)
    models: Callable[[Hashable, Callable[[], Any]], Any] = field(default=lambda _, make: make(), repr=False)

    def terms(self, query: Query) -> Sequence[str]:
        """Return the terms of a question; those of its whole text where nothing of it is meant but limits."""
        return query.terms if query.semantic_text else self.analyzer.terms(query.text)

    def idf(self, query: Query) -> dict[str, float]:
        """Return the idf of each term of a query: above zero, highest for what no chunk holds."""
        distinct, statistics = list(dict.fromkeys(self.terms(query))), query.statistics
        if statistics and statistics.frequencies.keys() >= set(distinct):
            known, chunks = statistics.frequencies, statistics.chunks
        else:
            known, chunks = self.frequencies(distinct), self.chunks()
        return {term: idf(max(chunks, known.get(term, 0)), known.get(term, 0)) for term in distinct}
