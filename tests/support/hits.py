"""Hits, queries and resources for reranking, small enough to work out by hand."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from rifflux.models.hashing import HashEmbedder
from rifflux.retrieve.fuse.base import IndexFacts
from rifflux.retrieve.pipeline import Plan, Step
from rifflux.retrieve.steps.rerank import RerankSettings, Resources
from rifflux.retrieve.table import Candidates, page
from rifflux.text.analyzer import analyzer
from rifflux.types import Execution, Hit, Query, TermStatistics, Vectors, Why

#: In how many of a thousand chunks a term occurs; one that is missing here occurs in none.
FREQUENCIES = {"red": 500, "cach": 20, "ttl": 2, "store": 50}


def resources(
    embedder: object = None,
    **settings: Any,
) -> Resources:
    """Resources of a made-up index."""
    return Resources(analyzer(), lambda: embedder or HashEmbedder(), RerankSettings(**settings))  # type: ignore[arg-type,return-value]


def hit(
    number: int,
    text: str = "",
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
        id=f"{number:016x}",
        key=f"d{number}",
        path=f"d{number}.md",
        title=str(fields.pop("title", "")),
        heading_path="",
        chunk_index=0,
        text=text,
        span=(0, len(text)),
        score=1 / (60 + number) if score is None else score,
        why=trail,
        **fields,  # type: ignore[arg-type]
    )


def table(hits: Sequence[Hit]) -> Candidates:
    """The hits as candidates, with what their channels gave them."""
    found = Candidates.of_hits(hits)
    for channel in ("lexical", "semantic"):
        reasons = [hit.because(channel) for hit in hits]
        for part in ("rank", "score"):
            values = [np.nan if why is None or getattr(why, part) is None else getattr(why, part) for why in reasons]
            found = found.with_column(f"{channel}/{part}", np.array(values, np.float64))
    return found


def stepped(step: Step, plan: Plan, hits: Sequence[Hit]) -> list[Hit]:
    """The hits after a step, with their explanations."""
    return page(step(plan, table(hits)))


def asked(text: str, deadline: float | None = None, vectors: Mapping[int, Vectors] | None = None) -> Plan:
    """A question as a plan hands it to steps, in an index of a thousand chunks."""
    read = tuple((token, tuple(analyzer().terms_of(token))) for _, found in analyzer().words(text) for token in found)
    query = Query(text, semantic_text=text, tokens=read)
    plan = Plan(query, Execution(deadline=deadline, statistics=TermStatistics(1000, 1000, FREQUENCIES)))
    return replace(plan, evidence=IndexFacts(plan, known_vectors=dict(vectors or {})))


def idf(frequency: int) -> float:
    """BM25's, in an index of a thousand chunks."""
    return math.log(1 + (1000 - frequency + 0.5) / (frequency + 0.5))
