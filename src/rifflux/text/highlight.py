"""Where a text holds the words of a question, and the stretch of it that holds most of them."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from rifflux.text.analyser import Analyser
from rifflux.types import Span

__all__ = ["matches", "stretch"]

_WORD = re.compile(r"\S+")


def matches(text: str, terms: Collection[str], analyser: Analyser) -> list[Span]:
    """The spans of the words of `text` that share a term with the question, in order."""
    wanted = set(terms)
    return [
        span for span in map(re.Match.span, _WORD.finditer(text)) if wanted.intersection(_terms(text, span, analyser))
    ]


def _terms(text: str, span: Span, analyser: Analyser) -> list[str]:
    return analyser.terms(text[slice(*span)])


def stretch(text: str, spans: Sequence[Span], length: int) -> Span:
    """The span of about `length` characters that holds the most matches, the earliest such, cut between words."""
    if len(text) <= length:
        return 0, len(text)
    starts = [start for start, _ in spans] or [0]
    best = max(starts, key=lambda start: (sum(start <= other < start + length * 0.8 for other in starts), -start))
    start = max(0, min(best - length // 8, len(text) - length))
    while start and not text[start - 1].isspace():
        start -= 1
    end = min(len(text), start + length)
    while end < len(text) and not text[end].isspace():
        end += 1
    return start, end
