"""Passages that fit a budget of tokens: first one of each work, then more of the best."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass

__all__ = ["Fitted", "fitted"]

#: A share of the budget that is smaller holds no passage worth quoting: fewer works get more then.
SHORTEST = 40
_WORD_END = re.compile(r"(?<=\S)(?=\s)")


@dataclass(frozen=True, slots=True)
class Fitted:
    """The passages of each work that fit, whole or cut at their end, and how many tokens they have."""

    texts: Sequence[Sequence[str]]
    tokens: int
    notes: tuple[str, ...] = ()


def fitted(works: Sequence[tuple[str, Sequence[str]]], count: Callable[[str], int], budget: int, least: int) -> Fitted:
    """Choose of the passages of each work, given with its title, best work first, as much as the budget allows.

    The first `least` works get one passage each, and share the budget where it is too small for that: what is longer
    than a fair share is cut. The others, and then second passages, come as they are, where they fit. A title counts
    with each passage.
    """
    told: list[list[str]] = [[] for _ in works]
    costs = [count(_quote(title, texts[0])) for title, texts in works]
    share, sharers = _share(costs[:least], budget)
    used, cut, left = 0, 0, False
    for place in range(sharers):
        title, texts = works[place]
        text = texts[0] if costs[place] <= share else _cut(title, texts[0], count, share)
        if text is None:
            left = True
            continue
        cut += text != texts[0]
        told[place].append(text)
        used += count(_quote(title, text))
    for turn in range(max((len(texts) for _, texts in works), default=0)):
        for place, (title, texts) in enumerate(works):
            if turn >= len(texts) or (turn == 0 and place < sharers) or (turn and not told[place]):
                continue
            tokens = costs[place] if turn == 0 else count(_quote(title, texts[turn]))
            if used + tokens > budget:
                left = True
                continue
            used += tokens
            told[place].append(texts[turn])
    notes = [f"the budget of tokens cut {cut} passage{'s' * (cut > 1)} short"] * bool(cut)
    return Fitted(told, used, (*notes, *["the budget of tokens left out more"] * left))


def _quote(title: str, text: str) -> str:
    """What is counted of a passage."""
    return f"{title}\n{text}"


def _share(costs: Sequence[int], budget: int) -> tuple[int, int]:
    """The most tokens that each of the first works may have, and of how many works that is true.

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
    """As much of the beginning of a text as has at most `most` tokens with its title; None where nothing does."""
    ends = [match.start() for match in _WORD_END.finditer(text)] or list(range(1, len(text)))
    fit = bisect_right(ends, most, key=lambda end: count(_quote(title, text[:end])))
    return text[: ends[fit - 1]] if fit else None
