"""The list of works: few of one author or venue on a page as long as others answer too, and the rest behind it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

from rifflux.evidence.choose import REACH
from rifflux.retrieve.table import Candidates
from rifflux.types import Scores

Groups = Collection[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Listing:
    """Works in the order of the list; caps moved `moved` of them off the first page."""

    table: Candidates
    moved: int = 0


def list_works(
    table: Candidates,
    groups: Sequence[Groups],
    caps: Mapping[str, int],
    page: int,
    relevance: Callable[[Candidates], Scores],
    least: float,
) -> Listing:
    """Return ranked works with those beyond the caps behind the first page, wherever others can stand in for them.

    `groups` are the values of each work that caps count. Others stand in that rank among the first `REACH` and have at
    least so much `relevance`; where there are too few, those beyond the caps stay. The order is that of the ranking, on
    the first page and behind it.
    """
    counts = Counter[tuple[str, str]]()
    within: list[int] = []
    beyond: list[int] = []
    for row in range(min(page, len(table))):
        (beyond if _full(groups[row], counts, caps) else within).append(row)
        if row in within[-1:]:
            counts.update(groups[row])
    if not beyond:
        return Listing(table)
    others = range(page, min(REACH, len(table)))
    if len(others):
        values = relevance(table.take([*others])).tolist()
    else:
        values = []
    stand_ins: list[int] = []
    for row, value in zip(others, values, strict=True):
        if len(stand_ins) < len(beyond) and value >= least and not _full(groups[row], counts, caps):
            stand_ins.append(row)
            counts.update(groups[row])
    stay = beyond[: len(beyond) - len(stand_ins)]
    first = sorted([*within, *stand_ins, *stay])
    return Listing(table.take([*first, *sorted(set(range(len(table))) - set(first))]), len(stand_ins))


def _full(groups: Groups, counts: Mapping[tuple[str, str], int], caps: Mapping[str, int]) -> bool:
    return any(counts[group] >= caps[group[0]] for group in groups if group[0] in caps)
