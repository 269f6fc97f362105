"""Explanations of works, written from the columns of their table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from rifflux.retrieve.table import SCORE, Candidates, page
from rifflux.session.visible import closed_hit
from rifflux.types import Hit, Why
from rifflux.works.retrieval.candidates import SIDE, SIDES
from rifflux.works.retrieval.citations import CITED
from rifflux.works.retrieval.score import NEAR, SCORED, VALUE

__all__ = ["explained", "with_nearness"]


def explained(table: Candidates, sides: Sequence[str]) -> tuple[Hit, ...]:
    """Return works as they may be shown, with their components before weighing and the side that they answer."""
    values = {name.removeprefix(VALUE): column for name, column in table.columns.items() if name.startswith(VALUE)}
    side = table[SIDE]
    hits = []
    for row, hit in enumerate(page(table)):
        details: Mapping[str, Mapping[str, object]] = {
            SCORED: {"values": {name: float(column[row]) for name, column in values.items()}},
            SIDES: {"side": sides[int(side[row])]} if np.isfinite(side[row]) else {},
        }
        why = tuple(_with(each, details) for each in hit.why)
        hits.append(closed_hit(hit.retold(hit.score, why, hit.relevance, hit.quality)))
    return tuple(hits)


def with_nearness(table: Candidates) -> Candidates:
    """Return candidates that all tell how near their works are to the best by citations, not the new ones alone."""
    scores = table[f"{CITED}/{SCORE}"]
    return table.with_column(f"{CITED}/{SCORE}", np.where(np.isnan(scores), table[NEAR], scores))


def _with(why: Why, details: Mapping[str, Mapping[str, object]]) -> Why:
    more = details.get(why.stage)
    return replace(why, detail={**why.detail, **more}) if more else why
