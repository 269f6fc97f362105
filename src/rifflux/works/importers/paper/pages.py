"""The pages of a paper: lines in reading order without running heads, and the notes separately."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby, pairwise
from operator import attrgetter
from statistics import median

import pypdfium2

from rifflux.ingest.read.pdf_columns import in_columns, rows
from rifflux.ingest.read.pdf_lines import GAP, Line, page_lines

#: The rows at the top and foot of a page that may be its head or foot, and the repetitions that prove it.
_EDGE_ROWS = 2
_REPEATED = 2
#: A page number.
_NUMBER = re.compile(r"[-–—•\s]*(?:page\s+)?(?:\d{1,5}|[ivxl]{1,6})(?:\s*(?:of|/)\s*\d+)?[-–—•\s]*", re.IGNORECASE)
_DIGITS = re.compile(r"\d+|\b[ivxl]+\b")
#: The maximum size of notes and captions, relative to the body.
SMALL = 0.93
#: In line distances: the minimum gap between the head of a page and its text.
_HEAD_GAP = 1.25
#: The maximum number of lines beside the authors in another column, and of words per line.
_MOST_BESIDE = 12
_BESIDE_WORDS = 7
#: The heading of the abstract.
ABSTRACT = re.compile(r"(?:\d+\.?\s+)?(?:abstract|summary|a\s?b\s?s\s?t\s?r\s?a\s?c\s?t)\b[\s.:—–-]*", re.IGNORECASE)
#: The heading of the list of references.
REFERENCES = re.compile(
    r"(?:\W*(?:\d+|[IVX]+|[A-Z])\.?\s+)?(?:references(?:\s+(?:and\s+notes|cited))?|(?:selected\s+)?bibliography|literature(?:\s+cited)?"
    r"|works cited|literatur(?:verzeichnis)?|r[ée]f[ée]rences(?:\s+bibliographiques)?|bibliographie)\s*[.:]?",
    re.IGNORECASE,
)
CAPTION = re.compile(r"(?:fig(?:ure|\.)?|table|tab\.|algorithm|listing|scheme|plate|chart)\s*[\dIVX]+\b", re.IGNORECASE)
#: The beginning of an entry of a list of references.
_LISTED = re.compile(r"\[\d{1,3}\]\s")
_WORD = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")
#: The minimum letters of a word that may stand alone on either side of a hyphen.
_WHOLE_LETTERS = 4
_CUT = re.compile(r"([^\W\d_]+)-$")


@dataclass(frozen=True, slots=True)
class Pages:
    """The lines of a paper, page by page, in reading order.

    `body` is the font size of the text, `leading` the distance of its lines, `notes` the footnotes, `margin` the
    rotated text in the margin of the first page, `first` that page with its head, `pieces` its lines split at wide
    gaps, and `words` the frequency of each word in the paper.
    """

    lines: Sequence[Line]
    notes: Sequence[Line]
    body: float
    leading: float
    count: int
    margin: str = ""
    first: Sequence[Line] = ()
    pieces: Sequence[Line] = ()
    words: Counter[str] = field(default_factory=Counter)


def read_pages(pdf: pypdfium2.PdfDocument) -> Pages:
    """Read the lines of a document."""
    found: list[list[Line]] = []
    margin = ""
    for number in range(len(pdf)):
        lines, turned = page_lines(pdf, number)
        margin = margin or (turned if number == 0 else "")
        found.append(lines)
    bodies = _without_heads(found)
    body = _body(line for page in found for line in page)
    ordered = [in_columns(page) for page in bodies]
    ordered[:1] = [_front_first(page) for page in ordered[:1]]
    flat = [line for page in ordered for line in page]
    heads = [place for place, line in enumerate(flat) if REFERENCES.fullmatch(plain_line(line))]
    if heads:
        listed = {id(line) for line in flat[heads[-1] :]}
    else:
        listed = set[int]()
    notes = {id(line) for page in ordered for line in _notes(page, body) if id(line) not in listed}
    return Pages(
        [line for line in flat if id(line) not in notes],
        [line for line in flat if id(line) in notes],
        body,
        _leading(flat, body),
        len(found),
        margin,
        in_columns(found[0]) if found else (),
        bodies[0] if bodies else (),
        Counter(word.lower() for line in flat for word in _WORD.findall(line.text)),
    )


def _front_first(page: list[Line]) -> list[Line]:
    """Return a first page with the authors' lines of another column moved before the abstract."""
    place = next((place for place, line in enumerate(page) if ABSTRACT.match(line.text) and line.column), None)
    if place is None or not any(line.column == 0 for line in page[:place]):
        return page
    at = page[place]
    across = min(line.y for line in page[:place] if line.column == 0)
    beside = [line for line in page[place:] if line.column > at.column and at.y + 0.3 * at.size < line.y < across]
    if not 0 < len(beside) <= _MOST_BESIDE or words_of(beside) > _BESIDE_WORDS * len(beside):
        return page
    moved = {id(line) for line in beside}
    return [*page[:place], *beside, *(line for line in page[place:] if id(line) not in moved)]


def _body(lines: Iterable[Line]) -> float:
    """Return the font size of most of the text."""
    sizes: Counter[float] = Counter()
    for line in lines:
        sizes[round(line.size * 4) / 4] += len(line.text)
    return max(sizes, key=lambda size: (sizes[size], size), default=10.0)


def _leading(lines: Sequence[Line], body: float) -> float:
    """Return the usual distance between lines of the body."""
    steps = [
        one.y - other.y
        for one, other in pairwise(lines)
        if one.page == other.page and one.column == other.column and abs(one.size - body) < 0.05 * body
    ]
    return median([step for step in steps if 0.8 * body < step < 2.5 * body] or [1.2 * body])


# Heads and feet


def _without_heads(pages: Sequence[Sequence[Line]]) -> list[list[Line]]:
    """Remove the rows at page edges that are page numbers or recur on several pages."""
    edges = [_edges(page) for page in pages]
    seen = Counter(key for page in edges for key in {_key(row) for row, _ in page})
    remaining = []
    for page, rims in zip(pages, edges, strict=True):
        heads = {id(line) for row, apart in rims if _is_head(row, apart, seen, len(pages)) for line in row}
        remaining.append([line for line in page if id(line) not in heads])
    return remaining


def _edges(page: Sequence[Line]) -> list[tuple[list[Line], bool]]:
    """Return the rows at the top and foot of a page, each with whether a gap separates it from the text."""
    found = rows(page)
    if len(found) < 2 * _EDGE_ROWS:
        return []
    gaps = [one[0].y - other[0].y for one, other in pairwise(found)]
    usual = median(gaps)
    top = [(found[place], gaps[place] > _HEAD_GAP * usual) for place in range(_EDGE_ROWS)]
    foot = [(found[-1 - place], gaps[-1 - place] > _HEAD_GAP * usual) for place in range(_EDGE_ROWS)]
    return top + foot


def _key(row: Sequence[Line]) -> str:
    """Return a row's letters without numbers and its rounded height, since a head moves little."""
    words = _DIGITS.sub("", " ".join(sorted(each.text.lower() for each in row)))
    letters = "".join(filter(str.isalpha, words))
    if len(letters) > 3:
        return f"{letters}@{round(row[0].y / 12)}"
    return ""


def _is_head(row: Sequence[Line], apart: bool, seen: Counter[str], pages: int) -> bool:
    if all(_NUMBER.fullmatch(each.text) for each in row):
        return len(row) == 1 or apart
    key = _key(row)
    if key and seen[key] >= min(_REPEATED, max(2, pages)):
        return True
    # A head that names the section has a number beside it and other text on each page.
    ends = (row[0].text, row[-1].text)
    return apart and len(row) > 1 and pages > 2 and any(end.isdecimal() for end in ends)


def _notes(page: Sequence[Line], body: float) -> Iterator[Line]:
    """Yield the lines at the foot of each column that are smaller than the body above them."""
    for _, column in groupby(page, key=attrgetter("column")):
        lines = list(column)
        start = len(lines)
        while start and lines[start - 1].size < SMALL * body:
            start -= 1
        below = lines[start:]
        if start and below and not CAPTION.match(below[0].text) and not any(_LISTED.match(each.text) for each in below):
            yield from below


# Lines as text


def plain_line(line: Line, *, marks: bool = True) -> str:
    """Return the text of a line with blanks for gaps, without raised marks unless `marks`."""
    return " ".join((line.text if marks else line.words).replace(GAP, " ").split())


def words_of(lines: Iterable[Line]) -> int:
    """Return the number of words in lines."""
    return sum(len(line.text.split()) for line in lines)


def block_text(lines: Iterable[Line], words: Counter[str], *, marks: bool = True) -> str:
    """Join lines into one text; a word hyphenated at the end of a line is joined as the paper spells it elsewhere."""
    text = ""
    for line in lines:
        more = plain_line(line, marks=marks)
        if text:
            text = _continued(text, more, words)
        else:
            text = more
    return text


def _continued(text: str, more: str, words: Counter[str]) -> str:
    cut = _CUT.search(text)
    if cut is None or not more[:1].isalpha():
        if not text.endswith(("-", "–", "/")) or text.endswith((" -", " –")):
            return f"{text} {more}"
        return text + more
    rest = _WORD.match(more)
    second = rest[0] if rest else ""
    before = re.search(r"[^\W_]+(?:-[^\W_]+)*-$", text)
    whole = f"{cut[1]}{second}".lower()
    hyphened = f"{(before[0] if before else text)}{second}".lower()
    known = words[hyphened] - words[whole]
    both = min(len(cut[1]), len(second)) >= _WHOLE_LETTERS and min(words[cut[1].lower()], words[second.lower()]) > 1
    is_chain = before is not None and "-" in before[0][:-1]
    is_name = second[:1].isupper() and not (second.isupper() and cut[1].isupper())
    keeps = is_name or known > 0 or (known == 0 and (both or is_chain))
    if keeps:
        return text + more
    return text[:-1] + more
