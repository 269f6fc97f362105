"""Hits, queries and resources for reranking, small enough to work out by hand."""

import math
from collections.abc import Mapping

from rifflux.models.hashing import HashEmbedder
from rifflux.retrieve.steps.rerank import RerankSettings, Resources
from rifflux.text.analyzer import analyzer
from rifflux.types import Hit, Query, Vectors, Why

#: In how many of a thousand chunks a term occurs; one that is missing here occurs in none.
FREQUENCIES = {"red": 500, "cach": 20, "ttl": 2, "store": 50}


def resources(
    embedder: object = None,
    frequencies: Mapping[str, int] = FREQUENCIES,
    vectors: Mapping[int, Vectors] | None = None,
    **settings: str,
) -> Resources:
    """Resources of a made-up index of a thousand chunks."""
    return Resources(
        analyzer(),
        lambda: embedder or HashEmbedder(),  # type: ignore[arg-type,return-value]
        lambda terms: {term: frequencies[term] for term in terms if term in frequencies},
        lambda: 1000,
        lambda ids: {id: vector for id, vector in (vectors or {}).items() if id in ids},
        RerankSettings(**settings),
    )


def hit(
    number: int,
    content: str = "",
    *,
    score: float | None = None,
    lexical: float | None = None,
    semantic: float | None = None,
    **fields: object,
) -> Hit:
    """A hit whose score falls with its number, found by the channels that it is given a score for."""
    trail = tuple(
        Why(name, None if value is None else number, value)
        for name, value in (("lexical", lexical), ("semantic", semantic))
    )
    return Hit(
        chunk_id=f"{number:016x}",
        document=f"d{number}",
        path=f"d{number}.md",
        title=str(fields.pop("title", "")),
        heading_path="",
        chunk_index=0,
        content=content,
        span=(0, len(content)),
        score=1 / (60 + number) if score is None else score,
        why=trail,
        **fields,  # type: ignore[arg-type]
    )


def asked(text: str, deadline: float | None = None) -> Query:
    """A question as the pipeline hands it on."""
    return Query(text, semantic_text=text, deadline=deadline)


def idf(frequency: int) -> float:
    """BM25's, in an index of a thousand chunks."""
    return math.log(1 + (1000 - frequency + 0.5) / (frequency + 0.5))
