"""The sections of a paper: headings by number, size and style, and the paragraphs under them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise

from rifflux.ingest.read.pdf_lines import GAP, Line
from rifflux.works.importers.paper.pages import ABSTRACT, CAPTION, REFERENCES, SMALL, Pages, block_text, plain_line

#: Common section titles, recognized in any style.
_KNOWN = re.compile(
    r"(?:introduction|background|related work|(?:materials?\s+and\s+)?methods?(?:\s+and\s+materials?)?|results"
    r"|(?:results\s+and\s+)?discussion|(?:discussion\s+and\s+)?conclusions?|(?:conclusions?\s+and\s+)?future\s+work"
    r"|acknowled?ge?ments?|appendix(?:\s+[A-Z])?|preliminaries|evaluation)\s*[.:]?",
    re.IGNORECASE,
)
_NUMBERED = re.compile(
    r"(?:§\s*)?(?P<number>\d{1,2}(?:\.\d{1,2}){0,4}|[IVX]{1,5}|[A-Z](?:\.\d{1,2}){0,3})(?P<stop>[.:]?)[\s:]+"
    r"(?P<title>[^\W\d_].*)"
)
#: Set-off lines that are not headings: captions, statements, addresses and lines of algorithms.
_NO_HEADING = re.compile(
    rf"^(?:{CAPTION.pattern})|@|https?:|^(?:theorem|lemma|definition|proposition|corollary|claim|remark|example|proof)\b.*\W"
    r"|^(?:input|output|require|ensure|data|result):",
    re.IGNORECASE,
)
#: The end of a line of a table of contents.
_CONTENTS = re.compile(rf"(?:{GAP}|(?:\.\s?){{3,}})\s*\d{{1,3}}$")
_NUMBER = re.compile(rf"[^{GAP}]{{1,8}}{GAP}[^{GAP}]+$")
_LONGEST = 120
_MOST_LINES = 3
_MOST_WORDS = 12
#: Relative to the body's font size: the minimum size of set-off text. In line distances: the gap above a heading, and
#: above a paragraph.
_LARGER = 1.06
_ABOVE = 1.15
_APART = 1.35
#: In font sizes: the indentation that begins a paragraph, and the shortfall of the line that ends one.
_SET_IN = 0.7
_SHORT = 2.0
_END = re.compile(r"""[.!?:;]["'”’)\]]*$""")


@dataclass(frozen=True, slots=True)
class SectionHeading:
    """A heading: its first line and the line after its last, its text, and its level from 1."""

    start: int
    end: int
    text: str
    level: int


@dataclass(slots=True)
class Paragraph:
    """A paragraph and its lines; `aside` if it is a caption, a note or other text beside the body."""

    lines: list[Line]
    aside: bool = False
    text: str = ""


# Headings


def is_numbered(text: str) -> bool:
    """Return True for a text that begins with the number of a section."""
    match = _NUMBERED.fullmatch(text)
    return match is not None and match["number"][0].isdecimal()


@dataclass(frozen=True, slots=True)
class _HeadingCandidate:
    start: int
    end: int
    text: str
    style: tuple[float, bool, bool, bool]
    number: str
    strong: bool


def headings(pages: Pages, start: int = 0) -> list[SectionHeading]:
    """Return the headings of a paper in reading order, from line `start`.

    If some are numbered, others count if they share their style or are common section titles; otherwise all set-off
    lines count whose style recurs.
    """
    found = list(_candidates(pages, start))
    numbered = _in_sequence([each for each in found if each.number])
    styles = Counter(each.style for each in numbered)
    often = Counter(each.style for each in found if each.strong and not each.number)
    chosen = []
    for each in found:
        known = bool(_KNOWN.fullmatch(each.text) or REFERENCES.fullmatch(each.text) or ABSTRACT.fullmatch(each.text))
        if (
            each in numbered
            or known
            or (each.strong and not each.number and styles[each.style] > 1)
            or (not numbered and each.strong and not each.number and often[each.style] > 1)
        ):
            chosen.append(each)
    return _levelled(chosen, numbered)


def _candidates(pages: Pages, start: int) -> Iterator[_HeadingCandidate]:
    place = start
    lines = pages.lines
    while place < len(lines):
        end = place + 1
        if _may_head(lines, place, pages):
            while end < len(lines) and end - place < _MOST_LINES and _goes_on(lines, end, pages):
                end += 1
            text = block_text(lines[place:end], pages.words)
            candidate = _candidate(lines[place], place, end, text, pages)
            if candidate:
                yield candidate
                place = end
                continue
        place += 1


def _style(line: Line, text: str) -> tuple[float, bool, bool, bool]:
    return round(line.size * 2) / 2, line.bold, line.italic, _is_capital(text)


def _is_capital(text: str) -> bool:
    letters = [each for each in text if each.isalpha()]
    return len(letters) > 3 and sum(letter.isupper() for letter in letters) > 0.9 * len(letters)


def _candidate(line: Line, start: int, end: int, text: str, pages: Pages) -> _HeadingCandidate | None:
    letters = sum(each.isalpha() for each in text)
    if (
        letters < 3
        or len(text) > _LONGEST
        or _NO_HEADING.search(text)
        or (GAP in line.text and not _NUMBER.match(line.text))
    ):
        return None
    match = _NUMBERED.fullmatch(text)
    words = match["title"] if match else text
    if letters < 0.6 * len(text.replace(" ", "")) or not (
        words[:1].isupper() or (match and match["number"].isdecimal())
    ):
        return None
    if re.search(r"[.,;:]$", words) and not (line.bold or _KNOWN.fullmatch(words)):
        return None
    if not re.search(r"[^\W\d_]{3}", words) or not re.search(r"[\w)?!”’\"]\W?$", words):
        return None
    style = _style(line, words)
    strong = line.size > _LARGER * pages.body or line.bold or (style[3] and line.size > SMALL * pages.body)
    named = _KNOWN.fullmatch(words) or REFERENCES.fullmatch(text) or ABSTRACT.fullmatch(text)
    alone = match and len(words.split()) <= _MOST_WORDS and _stands_alone(pages, start, end)
    if not (strong or named or alone or (match and (style[2] or style[3]))):
        return None
    return _HeadingCandidate(start, end, text, style, match["number"] if match else "", strong)


def _stands_alone(pages: Pages, start: int, end: int) -> bool:
    """Return True for lines with gaps above and below that no similarly numbered line follows."""
    lines = pages.lines
    if start == 0 or end >= len(lines) or _NUMBERED.match(lines[end].text.replace(GAP, " ")):
        return False
    above = lines[start - 1].y - lines[start].y
    below = lines[end - 1].y - lines[end].y
    same_column = (lines[start - 1].page, lines[start - 1].column) == (lines[start].page, lines[start].column)
    return (not same_column or above < 0 or above > _APART * pages.leading) and below > 1.05 * pages.leading


def _may_head(lines: Sequence[Line], place: int, pages: Pages) -> bool:
    """Return True for a line with a gap above, in another style than the line before, or at the top of a column."""
    line = lines[place]
    if REFERENCES.fullmatch(plain_line(line)):
        return True
    if line.size < 0.85 * pages.body or line.size > 2.5 * pages.body or line.text.count(GAP) > 2:
        return False
    before = lines[place - 1] if place else None
    if before is None or (before.page, before.column) != (line.page, line.column) or before.y < line.y:
        return True
    return before.y - line.y > _ABOVE * pages.leading or not _alike(before, line)


def _alike(one: Line, other: Line) -> bool:
    return abs(one.size - other.size) < 0.04 * other.size and one.bold == other.bold and one.italic == other.italic


def _goes_on(lines: Sequence[Line], place: int, pages: Pages) -> bool:
    """Return True if a line continues the heading in the line before it."""
    before = lines[place - 1]
    line = lines[place]
    capital = _is_capital(before.text) and _is_capital(line.text) and line.size > 0.75 * before.size
    if not (capital or _alike(before, line)) or (before.page, before.column) != (line.page, line.column):
        return False
    if _is_capital(before.text) != _is_capital(line.text) or _NUMBERED.match(line.text):
        return False
    is_set_off = line.size > _LARGER * pages.body or line.bold or _is_capital(line.text)
    return is_set_off and 0 < before.y - line.y < 1.3 * max(pages.leading, 1.15 * line.size)


def _in_sequence(found: Sequence[_HeadingCandidate]) -> list[_HeadingCandidate]:
    """Return the numbered headings in sequence: each number follows the one before it under the same parent."""
    sequence: list[_HeadingCandidate] = []
    last: dict[tuple[str, str], int] = {}
    top = ("", "")
    for each in found:
        kind, parent, number = _numeral(each.number)
        top = top if sequence or parent else (kind, parent)
        before = last.get((kind, parent), 0)
        if before < number <= before + (2 if before else 1) or (number == 1 and before == 0):
            if parent and kind == "1" and ("1", parent.rpartition(".")[0]) not in last and not sequence:
                continue
            sequence.append(each)
            last[kind, parent] = number
            if (kind, parent) == top:
                last = {level: value for level, value in last.items() if level[0] == kind}
    if len(sequence) > 1:
        return sequence
    return []


def _numeral(number: str) -> tuple[str, str, int]:
    """Return the kind of a number, its parent and its value: `3.2` is the second under `3`."""
    head, _, tail = number.rpartition(".")
    if tail.isdecimal():
        return "1", head, int(tail)
    if re.fullmatch(r"[IVX]+", number) and number not in ("C", "D"):
        return "I", head, _roman(number)
    return "A", head, ord(tail[-1]) - 64


def _roman(text: str) -> int:
    values = [{"I": 1, "V": 5, "X": 10}[each] for each in text]
    return sum(-one if one < other else one for one, other in pairwise([*values, 0]))


def _levelled(chosen: Sequence[_HeadingCandidate], numbered: Sequence[_HeadingCandidate]) -> list[SectionHeading]:
    """Return headings with levels, by their numbers or else by their styles, the largest first."""
    kinds = [_numeral(each.number)[0] for each in numbered]
    top = kinds[0] if kinds else ""
    ranks = _ranks([each for each in chosen if each not in numbered])
    levels = {each.style: _depth(each, top) for each in reversed(numbered)}
    found = []
    for each in chosen:
        if each in numbered:
            level = _depth(each, top)
        else:
            level = levels.get(each.style, ranks.get(each.style, 1))
        known = _KNOWN.fullmatch(each.text) or REFERENCES.fullmatch(each.text) or ABSTRACT.fullmatch(each.text)
        if known and not each.number and numbered:
            level = 1
        found.append(SectionHeading(each.start, each.end, each.text, level))
    return found


def _depth(each: _HeadingCandidate, top: str) -> int:
    kind, parent, _ = _numeral(each.number)
    return (1 if kind == top or (not parent and kind == "1") else 2) + (parent.count(".") + 1 if parent else 0)


def _ranks(found: Sequence[_HeadingCandidate]) -> dict[tuple[float, bool, bool, bool], int]:
    styles = {each.style for each in found}
    ordered = sorted(styles, key=lambda style: (-style[0], not style[3], not style[1], style[2]))
    return {style: min(rank, 3) for rank, style in enumerate(ordered, start=1)}


# Paragraphs


def paragraphs(pages: Pages, start: int, end: int) -> list[Paragraph]:
    """Return the paragraphs of a span of lines; text beside the body follows the paragraph that it interrupts."""
    found: list[Paragraph] = []
    waiting: list[Paragraph] = []
    for block in _blocks(pages, start, end):
        if block.aside:
            waiting.append(block)
        elif found and not found[-1].aside and _goes_over(found[-1], block, pages):
            found[-1].lines += block.lines
        else:
            found += waiting
            waiting = []
            found.append(block)
    found += waiting
    for each in found:
        each.text = block_text(each.lines, pages.words)
    return [each for each in found if each.text]


def _blocks(pages: Pages, start: int, end: int) -> Iterator[Paragraph]:
    """Yield the paragraphs of each column."""
    lines = pages.lines[start:end]
    for _, group in groupby(lines, key=lambda each: (each.page, each.column)):
        column = list(group)
        left, right = _edges(column)
        block: list[Line] = []
        for line in column:
            if block and _parts(block, line, left, right, pages):
                yield Paragraph(block, _is_aside(block, pages))
                block = []
            block.append(line)
        yield Paragraph(block, _is_aside(block, pages))


def _edges(column: Sequence[Line]) -> tuple[float, float]:
    """Return the left edge of most lines of a column, and the right edge of the longest ones."""
    lefts = Counter(round(each.x0) for each in column)
    left = max(lefts, key=lambda each: (lefts[each], -each))
    return float(left), sorted(each.x1 for each in column)[len(column) * 9 // 10]


def _parts(block: Sequence[Line], line: Line, left: float, right: float, pages: Pages) -> bool:
    """Return True if a line begins a new paragraph after the lines before it in the column."""
    last = block[-1]
    if not _same_size(last, line) or last.y - line.y > _APART * max(pages.leading, 1.2 * line.size) or last.y < line.y:
        return True
    if CAPTION.match(line.text):
        return True
    in_set = line.x0 > left + _SET_IN * line.size
    if in_set and not last.x0 > left + _SET_IN * line.size:
        return bool(_END.search(last.text)) or last.x1 < right - _SHORT * line.size
    return bool(_END.search(last.text)) and last.x1 < right - _SHORT * line.size


def _same_size(one: Line, other: Line) -> bool:
    return abs(one.size - other.size) < 0.08 * max(one.size, other.size)


def _is_aside(block: Sequence[Line], pages: Pages) -> bool:
    return bool(CAPTION.match(block[0].text)) or all(each.size < SMALL * pages.body for each in block)


def _goes_over(before: Paragraph, block: Paragraph, pages: Pages) -> bool:
    """Return True if a paragraph continues in another column or after a figure."""
    last = before.lines[-1]
    first = block.lines[0]
    if (last.page, last.column) == (first.page, first.column) and last.y > first.y:
        gap = last.y - first.y
        if gap < 2.5 * pages.leading:
            return False
    if not _same_size(last, first):
        return False
    text = plain_line(first)
    return not _END.search(last.text) and (text[:1].islower() or last.text.endswith("-") or text[:1].isalnum())
