"""BM25 with the statistics of one owner, for a table of terms that holds many owners'.

FTS5's own bm25() counts the rows of the whole table. Scores would then change with what others store, and show it,
and rare words would count hardly more than common ones. The formula is that of bm25(), which has one `b`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import apsw

from rifflux.store.lexical import K1, FieldWeights


@dataclass(frozen=True, slots=True)
class Bm25Scoring:
    """How to score by a query: each phrase's idf, times its worth, a chunk's mean length, the weights."""

    idf: Sequence[float]
    mean_length: float
    weights: FieldWeights


def bm25(row: apsw.FTS5ExtensionApi, /, *given: Any) -> float:
    """Score a matched row as an auxiliary function of FTS5, given a `Bm25Scoring`: negated, as bm25() has it."""
    query: Bm25Scoring = given[0]
    weights = query.weights
    title = weights.title
    headings = weights.headings
    body = weights.body
    b = weights.b
    norm = K1 * (1 - b + b * row.column_size() / query.mean_length)
    # Most rows hold one of the phrases: when all that the row holds is found, the others need not be asked for.
    left = row.inst_count
    score = 0.0
    for phrase, idf in enumerate(query.idf):
        in_title, in_headings, in_body = map(len, row.phrase_locations(phrase))
        if not (found := in_title + in_headings + in_body):
            continue
        frequency = title * in_title + headings * in_headings + body * in_body
        if frequency:
            score -= idf * frequency * (K1 + 1) / (frequency + norm)
        left -= found
        if not left:
            break
    return score


def weighed_count(row: apsw.FTS5ExtensionApi, /, *weights: Any) -> float:
    """Count the places of an alternative in a matched row by the weights of their fields, as a function of FTS5."""
    for phrase in range(row.phrase_count):
        places = [*map(len, row.phrase_locations(phrase))]
        if any(places):
            return float(sum(weight * count for weight, count in zip(weights, places, strict=True)))
    return 0.0
