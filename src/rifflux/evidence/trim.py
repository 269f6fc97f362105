"""Passages that fit a budget of tokens: first one of each work, then more of the best."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

__all__ = ["Fitted", "fitted"]

#: A share of the budget that is smaller holds no passage worth quoting: fewer works get more then.
SHORTEST = 40
_WORD_END = re.compile(r"(?<=\S)(?=\s)")


@dataclass(frozen=True, slots=True)
class Fitted:
    """The passages of each document that fit, by their places, whole or cut at the end, and their number of tokens."""

    texts: Sequence[Mapping[int, str]]
    tokens: int
    notes: tuple[str, ...] = ()


def fitted(works: Sequence[tuple[str, Sequence[str]]], count: Callable[[str], int], budget: int, least: int) -> Fitted:
    """Choose of the passages of each work, given with its title, best work first, as much as the budget allows.

    The first `least` works get one passage each, and share the budget where it is too small for that: what is longer
    than a fair share is cut. The others, and then second passages, come as they are, where they fit. A title counts
    with each passage.
    """
    table = _Table([{} for _ in works], count, budget)
    share, sharers = _share([count(_quote(title, texts[0])) for title, texts in works[:least]], budget)
    for told, (title, texts) in zip(table.told, works[:sharers], strict=False):
        table.put(told, 0, title, _cut(title, texts[0], count, share) or texts[0])
        table.cut += told.get(0, texts[0]) != texts[0]
    for place in range(max((len(texts) for _, texts in works), default=0)):
        for told, (title, texts) in zip(table.told, works, strict=True):
            if place < len(texts) and (0 in told) == (place > 0):
                table.put(told, place, title, texts[place])
    notes = [f"the budget of tokens cut {table.cut} passage{'s' * (table.cut > 1)} short"] * bool(table.cut)
    return Fitted(table.told, table.used, (*notes, *["the budget of tokens left out more"] * table.left))


@dataclass
class _Table:
    """The passages that fit so far; `cut` of them are not whole, `left` says that some were left out."""

    told: list[dict[int, str]]
    count: Callable[[str], int]
    budget: int
    used: int = 0
    cut: int = 0
    left: bool = False

    def put(self, told: dict[int, str], place: int, title: str, text: str) -> None:
        """Add a passage to those of its work, if it fits."""
        tokens = self.count(_quote(title, text))
        if self.used + tokens > self.budget:
            self.left = True
            return
        told[place] = text
        self.used += tokens


def _quote(title: str, text: str) -> str:
    """Return a passage as it is counted."""
    return f"{title}\n{text}"


def _share(costs: Sequence[int], budget: int) -> tuple[int, int]:
    """Return the most tokens that each of the first works may have, and of how many works that is true.

    What a small one leaves over is the others'.
    """
    sharers = len(costs)
    while sharers:
        left, share = budget, 0
        for place, cost in enumerate(sorted(costs[:sharers])):
            share = left // (sharers - place)
            if cost > share:
                break
            left -= cost
        else:
            return budget, sharers
        if share >= SHORTEST or sharers == 1:
            return share, sharers
        sharers -= 1
    return budget, 0


def _cut(title: str, text: str, count: Callable[[str], int], most: int) -> str | None:
    """Return the longest beginning of a text with at most `most` tokens, its title counted; None if there is none."""
    if count(_quote(title, text)) <= most:
        return text
    ends = [match.start() for match in _WORD_END.finditer(text)] or list(range(1, len(text)))
    fit = bisect_right(ends, most, key=lambda end: count(_quote(title, text[:end])))
    return text[: ends[fit - 1]] if fit else None
