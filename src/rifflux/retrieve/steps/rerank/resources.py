"""What rerankers may need of the index and of the settings."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rifflux.models.embedder import Embedder
from rifflux.models.guarded import Guard
from rifflux.text.analyzer import Analyzer
from rifflux.text.rarity import idf
from rifflux.types import Ids, Vectors

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

    def idf(self, terms: Iterable[str]) -> dict[str, float]:
        """Return the idf of each term: above zero, highest for what no chunk holds."""
        distinct = list(dict.fromkeys(terms))
        known, chunks = self.frequencies(distinct), self.chunks()
        return {term: idf(max(chunks, known.get(term, 0)), known.get(term, 0)) for term in distinct}
