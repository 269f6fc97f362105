"""Passages as they are quoted: their sentences that speak to the question, and nothing of a table of contents."""

from __future__ import annotations

import re
from collections.abc import Callable

from rifflux.text.sentences import Piece, pieces
from rifflux.types import Span

#: Dots that lead to the number of a page, however they are parted.
_LEADER = re.compile(r"(?:(?:[.·_]\s?){3,}|(?:…\s?)+)\s*(?:\d{1,4}|[ivxlc]{1,7})\b", re.IGNORECASE)
#: A line of a table of contents without dots: the number of a section, its title, the number of its page.
_ENTRY = re.compile(
    r"\s*(?:chapter\s+|appendix\s+)?(?:\d+|[A-Z])(?:\.\d+)*\.?\s+[^\W\d_].*\s\d{1,4}\s*\Z", re.IGNORECASE
)
#: A table of contents has so many entries, a line of it so few words.
LEAST_ENTRIES = 3
MOST_WORDS = 14
#: The share of lines without dots that are entries where the others are none.
MOST_ENTRIES = 0.6
#: Where so few sentences stand, all of them are quoted.
FEW = 3
#: What is open in mathematics and in lists is quoted whole.
_WHOLE = re.compile(r"\\begin\{|\$\$|\\\[")
_ENDS = re.compile(r"[.!?:;…。！？][\"'”’»)\]]*\s*\Z|\n\s*\n\s*\Z")


def is_contents(text: str) -> bool:
    """Return whether a passage is of a table of contents: it says where something stands, and nothing of it."""
    leaders = len(_LEADER.findall(text))
    if leaders >= LEAST_ENTRIES:
        words = _LEADER.sub(" ", text).split()
        return len(words) <= MOST_WORDS * leaders
    lines = [line for line in text.splitlines() if line.strip()]
    entries = sum(_ENTRY.match(line) is not None for line in lines)
    return entries > LEAST_ENTRIES and entries >= MOST_ENTRIES * len(lines)


def sentences_for(text: str, span: Span, speaks: Callable[[str], bool]) -> Span:
    """Return the part of a passage to quote: from its first sentence that `speaks` to its last one.

    A sentence that the passage begins or ends in the middle of is left out. Statements with displayed formulas or lists
    stay whole, and so does what is short, or speaks nowhere.
    """
    start, end = span
    passage = text[start:end]
    if _WHOLE.search(passage):
        return span
    every = pieces(passage)
    if len(every) < FEW:
        return span
    found = _whole(every, passage, text[max(0, start - 80) : start], text[end : end + 2])
    speaking = [each for each in found if speaks(passage[slice(*each.span)])]
    if not speaking and len(found) == len(every):
        return span
    first, *_, last = [*(speaking or found)] * 2
    return start + first.span[0], start + last.span[1]


def _whole(found: list[Piece], passage: str, before: str, after: str) -> list[Piece]:
    """Return the sentences of a passage without those that begin before it, or end behind it."""
    if len(found) > 1 and before.strip() and not _ENDS.search(before) and passage.lstrip()[:1].islower():
        found = found[1:]
    if len(found) > 1 and after.strip() and not _ENDS.search(passage):
        found = found[:-1]
    return found
