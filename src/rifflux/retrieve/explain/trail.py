"""Explanations of candidates, written from the columns of their table; only surfaces read them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from rifflux.retrieve.steps.calibrate import quality
from rifflux.retrieve.table import COUNT, PLACE, RANK, RELEVANCE, SCORE, Candidates, declared
from rifflux.types import Hit, Scores, Why

__all__ = ["page", "stages", "trails"]


def page(table: Candidates, always: Collection[str] = ()) -> list[Hit]:
    """Return the rows of a table, whose passages were read, as hits with their scores and explanations."""
    columns = table[SCORE].tolist(), trails(table, always), table[RELEVANCE].tolist()
    return [
        hit.retold(score, why) if relevance != relevance else hit.retold(score, why, relevance, quality(relevance))
        for hit, score, why, relevance in zip(table.passages, *columns, strict=True)
    ]


def trails(table: Candidates, always: Collection[str] = ()) -> list[tuple[Why, ...]]:
    """Return for each row what the stages found out about it, in their order.

    A stage without a value in a row is left out of that row's explanation, but for channels and those of `always`.
    """
    every = {*table.rankings, *always}
    told = [_told(stage, parts, stage in every) for stage, parts in stages(table).items()]
    return [tuple(filter(None, whys)) for whys in zip(*told, strict=True)] if told else [()] * len(table)


def stages(table: Candidates) -> Mapping[str, Mapping[str, Scores]]:
    """Return the columns of a table by stage and part, in the order they were made."""
    found: dict[str, dict[str, Scores]] = {}
    for name, values in table.columns.items():
        stage, slash, part = name.partition("/")
        if slash:
            found.setdefault(stage, {})[part] = values
    return found


def _told(stage: str, parts: Mapping[str, Scores], always: bool) -> Iterator[Why | None]:
    columns = {part: _values(f"{stage}/{part}", values) for part, values in parts.items()}
    for values in zip(*columns.values(), strict=True):
        known = {part: value for part, value in zip(columns, values, strict=True) if value is not None}
        rank, score = known.pop(RANK, None), known.pop(SCORE, None)
        empty = rank is None and score is None and not known
        yield (
            None
            if empty and not always
            else Why(stage, rank, score, {part.strip(): value for part, value in known.items()})
        )


def _values(name: str, values: Scores) -> Sequence[Any]:
    """Return the values of a column as Python has them: None where absent, whole numbers where the unit says so."""
    whole = declared(name).unit in (COUNT, PLACE)
    return [None if value != value else int(value) if whole else value for value in values.tolist()]
