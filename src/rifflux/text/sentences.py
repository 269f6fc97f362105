"""Cut texts into sentences: those of a passage, with tables and code whole, and those of a model as it writes them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from rifflux.types import Span

#: Prose is quoted by the sentence, and so are the items of a list; a table or a piece of code whole.
PROSE = "prose"
ITEM = "item"
WHOLE = "whole"
#: Characters of a sentence at most: a longer one is cut between words.
LONGEST = 600
#: A line that is shorter than this may end what it says without a full stop.
SHORT_LINE = 70
#: What a full stop follows that ends no sentence.
_ABBREVIATED = re.compile(
    r"(?:\b(?:e\.g|i\.e|et al|etc|vs|cf|ca|approx|resp|Dr|Prof|Mr|Mrs|Ms|St|Jr|Sr|Fig|Figs|Eq|Eqs|No|Nos|Sec|Ch"
    r"|Vol|pp?|Inc|Ltd|Co|U\.S|z\.B|d\.h|bzw|usw|Nr|Abs|Art|al)|\b[A-Z])\.\Z"
)
_END = re.compile(r"[.!?…。！？]+[\"'”’»)\]*_]*(?=\s|\Z)|[。！？]")
_NEXT = re.compile(r"\s*[\"'“‘«(\[*_]*[^\W_a-z]|\s*[-•*–]\s")
_ITEM = re.compile(r"\s*(?:[-*+•–]|\d{1,3}[.)]|[a-z][.)])\s+")
_HEADING = re.compile(r"\s{0,3}#{1,6}\s")
_FENCE = re.compile(r"\s{0,3}(```|~~~)")
#: What only leads elsewhere, such as a line of a table of contents, or only shows a picture, says nothing.
_LINK = r"!?\[[^\[\]]*\](?:\([^()\s]*\)|\[[^\[\]]*\])|!?\[\[[^\[\]]*\]\]|<?https?://\S+"
_LINKED = re.compile(rf"(?:(?:{_LINK})[\s.,;:|·•–-]*)+")
_RULE = re.compile(r"\s*(?:[-=_*]\s*){3,}\Z")
_UNDERLINE = re.compile(r"\s{0,3}(?:=+|-{2,})\s*\Z")
#: What quotes a line.
_QUOTING = re.compile(r"\s{0,3}(?:>\s?)+")
#: Lines that say nothing themselves: definitions of links, comments and tags alone, what includes other files, heads of
#: boxes, and a line in bold that ends no sentence, which is a heading.
_SILENT = re.compile(
    r"\s*(?:\[[^\[\]]+\]:\s*\S+.*|(?:<!--.*?-->|</?[a-zA-Z][^<>]*>|\s)+|\{\{.*\}\}|\{%.*%\}|:::.*|!!!\s.*|\[![\w-]+\].*"
    r"|(\*\*|__)[^*_\n]{1,80}[^*_\n.!?]\1:?)\s*"
)
#: Words in bold that lead to the sentence behind them.
_LEADING = re.compile(r"(?:[-*+•–]\s+)?(\*{1,3}|_{1,3})[^*_\n]{1,80}[.:]\1")
_COMMENT = re.compile(r"\s*<!--.*?-->", re.DOTALL)
_BREAK = re.compile(r"\s*\n(?:\s|>\s)*")
_WORD_END = re.compile(r"(?<=\S)(?=\s)")


@dataclass(frozen=True, slots=True)
class Piece:
    """A sentence, or a table or code as a whole: its place in the text that it was cut from."""

    span: Span
    kind: str = PROSE


def pieces(text: str, *, code: bool = False) -> list[Piece]:
    """Return the pieces of a passage in their order, without headings, rules and bare links; of `code`, all as one."""
    if code:
        found = _stripped(text, 0, len(text))
        if found:
            return [Piece(found, WHOLE)]
        return []
    return [*_pieces(text)]


def flowing(text: str) -> str:
    """Return a sentence as it is read: on one line, without the marks of a quoted one, and without comments."""
    return _BREAK.sub(" ", _COMMENT.sub("", text)).strip()


def _pieces(text: str) -> Iterator[Piece]:
    for start, end, kind in _blocks(text):
        if kind == WHOLE:
            if found := _stripped(text, start, end):
                yield Piece(found, WHOLE)
            continue
        for first, last in _sentences(text, start, end):
            if _LINKED.fullmatch(text, first, last):
                continue
            begins = text.rfind("\n", 0, first) + 1
            yield Piece((first, last), ITEM if _ITEM.fullmatch(text, begins, first) else PROSE)


def _blocks(text: str) -> Iterator[tuple[int, int, str]]:
    """Give the runs of lines that are prose, or a table or code; without blank lines, headings and rules."""
    lines = text.splitlines(keepends=True)
    fence = _begun(lines)
    start = 0
    at = 0
    kind = WHOLE if fence else ""
    for line, following in zip(lines, (*lines[1:], ""), strict=False):
        opened = _FENCE.match(line)
        if fence:
            if opened and opened[1] == fence:
                yield start, at + len(line), WHOLE
                fence = ""
                kind = ""
        else:
            is_head = not kind and bool(_UNDERLINE.match(following))
            if opened:
                new = WHOLE
            elif is_head:
                new = ""
            else:
                new = _kind_of(line)
            if new != kind or opened:
                if kind:
                    yield start, at, kind
                start = at
                kind = new
            fence = opened[1] if opened else ""
        at += len(line)
    if kind:
        yield start, len(text), kind


def _begun(lines: Sequence[str]) -> str:
    """Return the fence of the code that a text begins within, of which the beginning is cut off; empty for none."""
    fences = [place for place, line in enumerate(lines) if _FENCE.match(line)]
    if len(fences) % 2 == 0:
        return ""
    mark = lines[fences[0]].strip()
    following = lines[fences[0] + 1 : fences[0] + 2]
    # What opens code has a language, or code behind it.
    if not mark.strip("`~") and not "".join(following).strip():
        return mark
    return ""


def _kind_of(line: str) -> str:
    """Return what a line is a part of; nothing for one between the blocks."""
    if quoting := _QUOTING.match(line):
        line = line[quoting.end() :]
    if not line.strip() or _HEADING.match(line) or _RULE.match(line) or _SILENT.fullmatch(line):
        return ""
    if line.lstrip().startswith("|"):
        return WHOLE
    return PROSE


def _sentences(text: str, start: int, end: int) -> Iterator[Span]:
    """Give the sentences of a run of lines: they end at full stops, items, and short lines that a new one follows."""
    first = start
    for stop in [*_stops(text, start, end), end]:
        if found := _stripped(text, first, stop):
            yield from _bounded(text, *found)
        first = stop


def _stops(text: str, start: int, end: int) -> list[int]:
    """Return where sentences end within a span, in order."""
    found: set[int] = set()
    first = start
    for place in (match.end() for match in _END.finditer(text, start, end)):
        if _is_end(text, place, end) and not _LEADING.fullmatch(text[first:place].strip()):
            found.add(place)
            first = place
    lines = text[start:end].splitlines(keepends=True)
    if lines:
        width = max(SHORT_LINE, *map(len, lines))
    else:
        width = SHORT_LINE
    place = start
    for line, following in pairwise(lines):
        place += len(line)
        # A line is broken where the next word does not fit: one that it would have fitted ends what it says.
        short = len(line) < SHORT_LINE and len(line) + len(following.split(None, 1)[0]) < width
        if _ITEM.match(following) or (short and following[:1].isupper() and not _is_open(line)):
            found.add(place)
    return sorted(found)


def _is_open(line: str) -> bool:
    """Return True if a bracket or a quotation that begins in a line does not end in it."""
    return any(line.count(opening) > line.count(closing) for opening, closing in ("[]", "()", "“”", "«»"))


def _is_end(text: str, place: int, end: int) -> bool:
    """Return True if a sentence ends before a place, where punctuation that may end one stands."""
    if _ABBREVIATED.search(text, max(0, place - 12), place):
        return False
    if re.search(r"(?:\A|\n)\s*\d{1,3}[.)]\Z", text[max(0, place - 8) : place]):
        return False
    return place >= end or bool(_NEXT.match(text, place)) or "\n" in text[place : place + 2]


def _stripped(text: str, start: int, end: int) -> Span | None:
    """Return a span without the blanks around it, and without the mark of an item; None if nothing is left."""
    for mark in (_QUOTING, _ITEM):
        if found := mark.match(text, start, end):
            start = found.end()
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    if start < end:
        return (start, end)
    return None


def _bounded(text: str, start: int, end: int) -> Iterator[Span]:
    """Give a span in parts that are not too long."""
    while end - start > LONGEST:
        cuts = [match.start() for match in _WORD_END.finditer(text, start, start + LONGEST)]
        cut = cuts[-1] if cuts else start + LONGEST
        yield start, cut
        start = next((place for place in range(cut, end) if not text[place].isspace()), end)
    if start < end:
        yield start, end


# What a model writes


#: Marks of citations behind a sentence, and one that may still become one.
_MARKS = re.compile(r"(?:\s*[\[【][^\[\]【】\n]{0,40}[\]】])*")
_OPEN = re.compile(r"\s*(?:[\[【][^\[\]【】\n]{0,40})?\Z")


def sentence_ends(text: str, *, last: bool) -> int:
    """Return where the first sentence of what a model wrote so far ends, the marks behind it included; 0 if unknown.

    `last` says that nothing follows. Code between fences is one sentence.
    """
    start = len(text) - len(text.lstrip())
    if fence := _FENCE.match(text[start:]):
        closed = text.find(f"\n{fence[1]}", start + 3)
        if closed < 0 and not last:
            return 0
        end = len(text) if closed < 0 else closed + 4
    else:
        end = _prose_end(text, start, last)
        if not end:
            return 0
    end = _MARKS.match(text, end).end()  # type: ignore[union-attr]
    if not last and _OPEN.match(text, end):
        return 0
    return end


def _prose_end(text: str, start: int, last: bool) -> int:
    newline = text.find("\n", start)
    stop = newline if newline >= 0 else len(text)
    for match in _END.finditer(text, start, stop):
        before_mark = _MARKS.match(text, match.end())
        if before_mark:
            place = before_mark.end()
        else:
            place = match.end()
        if _is_end(text, match.end(), len(text)) or (place > match.end() and _is_end(text, place, len(text))):
            return match.end()
    if newline >= 0:
        return newline
    if len(text) - start > LONGEST:
        return max(
            (match.start() for match in _WORD_END.finditer(text, start, start + LONGEST)), default=start + LONGEST
        )
    if last:
        return len(text)
    return 0
