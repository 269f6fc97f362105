"""Sentence splitting: of passages, with tables and code as units, and of a model's output as it streams."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from rifflux.types import Span

#: Prose is quoted by the sentence, as are items of a list; tables and code are quoted whole.
PROSE = "prose"
ITEM = "item"
WHOLE = "whole"
#: The maximum characters of a sentence; a longer one is cut between words.
LONGEST = 600
#: A line shorter than this may end a statement without a full stop.
SHORT_LINE = 70
#: Abbreviations whose full stop does not end a sentence.
_ABBREVIATED = re.compile(
    r"(?:\b(?:e\.g|i\.e|et al|etc|vs|cf|ca|approx|resp|Dr|Prof|Mr|Mrs|Ms|St|Jr|Sr|Fig|Figs|Eq|Eqs|No|Nos|Sec|Ch"
    r"|Vol|pp?|Inc|Ltd|Co|U\.S|z\.B|d\.h|bzw|usw|Nr|Abs|Art|al)|\b[A-Z])\.\Z"
)
_END = re.compile(r"[.!?…。！？]+[\"'”’»)\]*_]*(?=\s|\Z)|[。！？]")
_NEXT = re.compile(r"\s*[\"'“‘«(\[*_]*[^\W_a-z]|\s*[-•*–]\s")
_ITEM = re.compile(r"\s*(?:[-*+•–]|\d{1,3}[.)]|[a-z][.)])\s+")
_HEADING = re.compile(r"\s{0,3}#{1,6}\s")
_FENCE = re.compile(r"\s{0,3}(```|~~~)")
#: Lines that only link elsewhere, such as a table of contents, or embed a picture, have no content.
_LINK = r"!?\[[^\[\]]*\](?:\([^()\s]*\)|\[[^\[\]]*\])|!?\[\[[^\[\]]*\]\]|<?https?://\S+"
_LINKED = re.compile(rf"(?:(?:{_LINK})[\s.,;:|·•–-]*)+")
_RULE = re.compile(r"\s*(?:[-=_*]\s*){3,}\Z")
_UNDERLINE = re.compile(r"\s{0,3}(?:=+|-{2,})\s*\Z")
#: The mark of a quoted line.
_QUOTING = re.compile(r"\s{0,3}(?:>\s?)+")
#: Lines without content: definitions of links, bare comments and tags, includes, heads of boxes, and bold lines that do
#: not end a sentence, which are headings.
_SILENT = re.compile(
    r"\s*(?:\[[^\[\]]+\]:\s*\S+.*|(?:<!--.*?-->|</?[a-zA-Z][^<>]*>|\s)+|\{\{.*\}\}|\{%.*%\}|:::.*|!!!\s.*|\[![\w-]+\].*"
    r"|(\*\*|__)[^*_\n]{1,80}[^*_\n.!?]\1:?)\s*"
)
#: Words in bold that introduce the following sentence.
_LEADING = re.compile(r"(?:[-*+•–]\s+)?(\*{1,3}|_{1,3})[^*_\n]{1,80}[.:]\1")
_COMMENT = re.compile(r"\s*<!--.*?-->", re.DOTALL)
_BREAK = re.compile(r"\s*\n(?:\s|>\s)*")
_WORD_END = re.compile(r"(?<=\S)(?=\s)")


@dataclass(frozen=True, slots=True)
class Piece:
    """A sentence, or a whole table or block of code, as a span of the text."""

    span: Span
    kind: str = PROSE


def pieces(text: str, *, code: bool = False) -> list[Piece]:
    """Return the pieces of a passage in order, without headings, rules and bare links; `code` is one piece."""
    if code:
        found = _stripped(text, 0, len(text))
        if found:
            return [Piece(found, WHOLE)]
        return []
    return [*_pieces(text)]


def flowing(text: str) -> str:
    """Return a sentence as read: on one line, without quote marks and comments."""
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
    """Yield the runs of lines that are prose, or a table or code, without blank lines, headings and rules."""
    lines = text.splitlines(keepends=True)
    fence = fence_open_at_start(lines)
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


def fence_open_at_start(lines: Sequence[str]) -> str:
    """Return the fence of a code block in whose middle the text begins; empty if there is none."""
    fences = [place for place, line in enumerate(lines) if _FENCE.match(line)]
    if len(fences) % 2 == 0:
        return ""
    mark = lines[fences[0]].strip()
    following = lines[fences[0] + 1 : fences[0] + 2]
    # An opening fence has a language, or code after it.
    if not mark.strip("`~") and not "".join(following).strip():
        return mark
    return ""


def _kind_of(line: str) -> str:
    """Return the kind of a line, or an empty string if it is between blocks."""
    if quoting := _QUOTING.match(line):
        line = line[quoting.end() :]
    if not line.strip() or _HEADING.match(line) or _RULE.match(line) or _SILENT.fullmatch(line):
        return ""
    if line.lstrip().startswith("|"):
        return WHOLE
    return PROSE


def _sentences(text: str, start: int, end: int) -> Iterator[Span]:
    """Yield the sentences of a run of lines, which end at full stops, items, and short lines followed by a new one."""
    first = start
    for stop in [*_stops(text, start, end), end]:
        if found := _stripped(text, first, stop):
            yield from _bounded(text, *found)
        first = stop


def _stops(text: str, start: int, end: int) -> list[int]:
    """Return the ends of sentences within a span, in order."""
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
        # A line is broken where the next word does not fit: if it would have fitted, the line ends a statement.
        short = len(line) < SHORT_LINE and len(line) + len(following.split(None, 1)[0]) < width
        if _ITEM.match(following) or (short and following[:1].isupper() and not _is_open(line)):
            found.add(place)
    return sorted(found)


def _is_open(line: str) -> bool:
    """Return True if a bracket or quotation that begins in a line does not end in it."""
    return any(line.count(opening) > line.count(closing) for opening, closing in ("[]", "()", "“”", "«»"))


def _is_end(text: str, place: int, end: int) -> bool:
    """Return True if a sentence ends before `place`, at punctuation that may end one."""
    if _ABBREVIATED.search(text, max(0, place - 12), place):
        return False
    if re.search(r"(?:\A|\n)\s*\d{1,3}[.)]\Z", text[max(0, place - 8) : place]):
        return False
    return place >= end or bool(_NEXT.match(text, place)) or "\n" in text[place : place + 2]


def _stripped(text: str, start: int, end: int) -> Span | None:
    """Return a span without surrounding blanks and the mark of an item; None if nothing is left."""
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
    """Split a span into parts of at most `LONGEST` characters."""
    while end - start > LONGEST:
        cuts = [match.start() for match in _WORD_END.finditer(text, start, start + LONGEST)]
        cut = cuts[-1] if cuts else start + LONGEST
        yield start, cut
        start = next((place for place in range(cut, end) if not text[place].isspace()), end)
    if start < end:
        yield start, end


# A model's output


#: Citation marks after a sentence, and an incomplete one.
_MARKS = re.compile(r"(?:\s*[\[【][^\[\]【】\n]{0,40}[\]】])*")
_OPEN = re.compile(r"\s*(?:[\[【][^\[\]【】\n]{0,40})?\Z")


def sentence_ends(text: str, *, last: bool) -> int:
    """Return the end of the first sentence in a model's partial output, including its citation marks; 0 if unknown.

    `last` states that the output is complete. Code between fences is one sentence.
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
