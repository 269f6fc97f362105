"""Where a text too long for one chunk may be cut: at sentences, lines, clauses, words, in that order."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence

from rifflux.types import Span

__all__ = ["CODE", "PROSE", "TABLE", "Cut", "cut_evenly", "pieces", "sentence_ends", "trimmed"]

#: Yields the positions between `start` and `end` at which `text` may be cut, ascending.
Cut = Callable[[str, int, int], Iterable[int]]

_ABBREVIATIONS = """
al approx apr aug ave ca capt cf co col corp dec dept dr ed eds eg eq esp est etc ext feb ff gen gov inc
jan jr jul jun lt ltd mar messrs mr mrs ms mt nov oct op prof rep rev sen sep sept sgt sr st univ viz vs
abs bspw bzw dra evtl ggf hrsg mlle mme nr sra str usw vgl
"""
# These abbreviate only in front of a number: "No. 5", but "Did it work? No. We tried again."
_NUMBERED = "app art ch chap fig figs no nos p par pp ref sec sect tab vol §"
_STOP = re.compile(
    r"""(?<![.!?…])[.!?…]++["'”’»)\]*_`]*+\s++  # a stop, closing quotes and markup, space
      | [。！？｡]++[」』）】”’]*+\s*+           # East Asian stops need no space
    """,
    re.VERBOSE,
)
_LAST_WORD = re.compile(r"[^\s(\[\"'“‘*_]+$")
_LONGEST_WORD = 24
_ABBREVIATED = frozenset(_ABBREVIATIONS.split())
_ABBREVIATED_NUMBERED = frozenset(_NUMBERED.split())

_BLANK_LINES = re.compile(r"\n(?:[ \t]*+\n)++")
_LINE_END = re.compile(r"\n+")
_CLAUSE_END = re.compile(r"[,;:](?=\s)\s+|[，、；：]\s*|\s[–—]\s+")
_CELL_END = re.compile(r"\||\t")
_JOINER = "\u200d"
# No script puts more marks on a character (Unicode's stream-safe format allows 30); what has more may be cut.
_MOST_MARKS = 32


def sentence_ends(text: str, start: int, end: int) -> Iterator[int]:
    """The starts of all sentences but the first; abbreviations, initials and decimals end none."""
    for stop in _STOP.finditer(text, start, end):
        if stop.end() < end and _ends_sentence(text, start, stop):
            yield stop.end()


def _ends_sentence(text: str, start: int, stop: re.Match[str]) -> bool:
    if text[stop.start()] != ".":
        return True
    following = text[stop.end()]
    if following.islower():
        return False
    word = _LAST_WORD.search(text, max(start, stop.start() - _LONGEST_WORD), stop.start())
    if word is None:
        return True
    last = word.group().lower()
    if following.isdigit() and last in _ABBREVIATED_NUMBERED:
        return False
    if word.start() == start and last.isdigit():  # the number of a list item
        return False
    initial = len(last) == 1 and last.isalpha() and word.group().isupper()
    # A dot inside, as in "e.g." or "U.S.", but not as in "3.14." or "www.example.org."
    dotted = "." in last and all(len(part) == 1 and part.isalpha() for part in last.split("."))
    return not (initial or dotted or last in _ABBREVIATED)


def _at(pattern: re.Pattern[str]) -> Cut:
    def cut(text: str, start: int, end: int) -> Iterator[int]:
        return (match.end() for match in pattern.finditer(text, start, end) if match.end() < end)

    return cut


#: Ways to cut each sort of text, the gentlest first.
PROSE: Sequence[Cut] = (sentence_ends, _at(_LINE_END), _at(_CLAUSE_END))
CODE: Sequence[Cut] = (_at(_BLANK_LINES), _at(_LINE_END))
TABLE: Sequence[Cut] = (_at(_LINE_END), _at(_CELL_END))


def pieces(text: str, start: int, end: int, cut: Cut) -> Iterator[Span]:
    """The non-blank spans between the cuts, without blank lines around them or space behind them."""
    for stop in (*cut(text, start, end), end):
        if (span := trimmed(text, start, stop)) is not None:
            yield span
        start = stop


def cut_evenly(text: str, start: int, end: int, parts: int) -> Iterator[Span]:
    """About `parts` spans of like length, cut between words, or else characters with their marks."""
    step = max(1, (end - start) // parts)
    while end - start > step + step // 2:
        stop = _soft_cut(text, start + step - step // 4, start + step) or _hard_cut(text, start + step, end)
        if (span := trimmed(text, start, stop)) is not None:
            yield span
        start = stop
    if (span := trimmed(text, start, end)) is not None:
        yield span


def trimmed(text: str, start: int, end: int) -> Span | None:
    """The span without blank lines in front and space behind; an indentation stays. None if it is blank."""
    piece = text[start:end]
    length = len(piece.rstrip())
    if not length:
        return None
    indented = piece.lstrip()
    first = len(piece) - len(indented)
    return start + piece.rfind("\n", 0, first) + 1, start + length


def _soft_cut(text: str, low: int, high: int) -> int | None:
    """Behind the last space in `low:high`, or None."""
    for position in range(high, low, -1):
        if text[position - 1].isspace():
            return position
    return None


def _hard_cut(text: str, position: int, end: int) -> int:
    """The first place near `position` that parts no character from its marks."""
    for place in range(position, min(position + _MOST_MARKS, end)):
        if not _belongs_to_previous(text, place):
            return place
    return min(position + _MOST_MARKS, end)


def _belongs_to_previous(text: str, position: int) -> bool:
    character = text[position]
    return (
        unicodedata.category(character) in {"Mn", "Mc", "Me"}
        or character == _JOINER
        or text[position - 1] == _JOINER
        or "\U0001f3fb" <= character <= "\U0001f3ff"  # skin tones
        or "\U000e0020" <= character <= "\U000e007f"  # tags of flags
        or "\udc00" <= character <= "\udfff"
    )
