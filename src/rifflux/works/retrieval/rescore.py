"""Scores of candidates by the tables of the database, so that equal indexes give equal evidence."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from rifflux.retrieve.table import LEXICAL, LIFT, SEMANTIC, Candidates
from rifflux.store import Store
from rifflux.types import Ids, Query, Scores
from rifflux.works.retrieval.intent import ComponentWeights

__all__ = ["settled", "share"]

#: The columns that go on to be told, besides those of the channels.
_KEPT = ("anchors/", "cited/")


def settled(store: Store, query: Query, table: Candidates, weights: ComponentWeights) -> Candidates:
    """Return the rows by their BM25 and the cosine of the tables, as both are weighed.

    Scores are shares of the greatest; ranks are among these rows, ties by chunk id. What is not among the best by words
    has nothing for them.
    """
    if not len(table):
        return table
    lexical = np.nan_to_num(table[f"{LEXICAL}/score"])
    semantic = np.nan_to_num(np.maximum(store.semantic.cosines_of(query, table.ids), 0.0))
    columns: dict[str, Scores] = {}
    for name, scores in {LEXICAL: lexical, SEMANTIC: semantic}.items():
        known = scores > 0
        columns[f"{name}/rank"] = np.where(known, _ranks(scores, table.ids), np.nan)
        columns[f"{name}/score"] = np.where(known, scores, np.nan)
    kept = {name: values for name, values in table.columns.items() if name == LIFT or name.startswith(_KEPT)}
    total = weights.lexical + weights.semantic
    words = weights.lexical / total if total else 0.5
    merged = words * share(lexical) + (1 - words) * share(semantic)
    return replace(table, columns={**columns, **kept}, rankings={}).scored(merged)


def share(values: Scores) -> Scores:
    """Return values as shares of the greatest; zero where there is none above zero."""
    greatest = values.max(initial=0.0)
    return values / greatest if greatest > 0 else np.zeros(len(values))


def _ranks(scores: Scores, ids: Ids) -> Scores:
    order = np.lexsort((ids, -scores))
    ranks = np.empty(len(order))
    ranks[order] = np.arange(1, len(order) + 1)
    return ranks
