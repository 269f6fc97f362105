"""The front matter of a paper: title, authors and abstract, recognized by the size and position of lines."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, pairwise

from rifflux.ingest.read.pdf_columns import rows
from rifflux.ingest.read.pdf_lines import GAP, Line
from rifflux.text.names import alike, families, plain
from rifflux.works.importers.paper.pages import ABSTRACT, Pages, block_text, plain_line, words_of
from rifflux.works.importers.paper.people import people_in
from rifflux.works.importers.paper.sections import SectionHeading, is_numbered

#: Relative to the body's font size: the minimum size of a title, and of a title of one word.
_TITLE_SIZE = 1.12
_LARGE_TITLE = 1.4
#: A title no larger than the text is among the first groups of lines.
_FIRST_GROUPS = 4
_TITLE_LETTERS = 6
_TITLE_WORDS = (2, 40)
_LONGEST_TITLE = 300
#: Large text on first pages that is not a title.
_BANNER = re.compile(
    r"proceedings\b|journal\b|transactions\b|volume\b|vol\.|issn|isbn|https?:|www\.|doi\b|arxiv|tech(?:nical|\.) rep"
    r"|research (?:article|paper)\b|review article|open access|original (?:article|paper|research)|contents lists"
    r"|available online|submitted|accepted|received|published|copyright|©|letter to|editorial\b|university|department"
    r"|abstract\b|introduction\b|this paper (?:is|was)|to appear|appeared|preprint|working paper"
    r"|conference\b|session\b",
    re.IGNORECASE,
)
#: The words of an abstract, the minimum for one without a heading, and the maximum number of characters.
_ABSTRACT_WORDS = (4, 700)
_FEWEST_UNHEADED = 25
_LONGEST_ABSTRACT = 6000
_AFTER_ABSTRACT = re.compile(
    r"(?:additional\s+)?(?:index terms|key\s?-?words(?:\s+and\s+phrases)?|categories and subject descriptors"
    r"|ccs concepts|general terms"
    r"|(?:\d{4}\s+)?(?:mathematics\s+)?subject classification|\d{4} math\w*|pacs|jel|(?:(?:\d|I)\.?\s+)?introduction\b"
    r"|contents\b|a\.?m\.?s\.? subject|1\.?\s+[A-Z])",
    re.IGNORECASE,
)


#: The end of a line of names that continues on the next.
_GOES_ON = re.compile(r"(?:,|;|&|\band)\W*$")
#: The beginning of the heading of a first section.
_FIRST = re.compile(r"(?:§\s*)?(?:[1I]\b|introduction|background|motivation|overview)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Front:
    """The front matter; `end` is the first line of the body. Unrecognized parts are empty."""

    title: str
    authors: tuple[str, ...]
    abstract: str
    end: int


def front_of(pages: Pages, found: Sequence[SectionHeading], stated: str, names: Sequence[str]) -> Front:
    """Return the front matter of a paper; `stated` is the title and `names` the authors in the file's properties.

    Properties count only where the page agrees with them.
    """
    lines = pages.lines
    limit = next((place for place, line in enumerate(lines) if line.page > 1), len(lines))
    title_at = _title(lines[:limit], pages, stated)
    if title_at:
        title = _cleaned(block_text(lines[slice(*title_at)], pages.words, marks=False))
    else:
        title = ""
    start = title_at[1] if title_at else 0
    abstract, begins, ends = _abstract(pages, found, start, limit)
    first = next((each.start for each in found if each.start >= start and _begins(each)), limit)
    if abstract and begins > start:
        stop = begins
    else:
        stop = min(first, limit)
    authors = tuple(_authors(_between(pages, lines[start - 1], lines[start:stop], lines[stop : stop + 1]), pages))
    authors = authors if title_at else ()
    body = ends or (first if authors and first < limit else start)
    return Front(title, _agreed(authors, names, lines[:stop]), abstract, body)


def _begins(head: SectionHeading) -> bool:
    """Return True for the heading of a first section."""
    return bool(_FIRST.match(head.text))


# The title


def _title(lines: Sequence[Line], pages: Pages, stated: str) -> tuple[int, int] | None:
    """Return the span of the title's lines: those that match the file's properties, or else the largest."""
    groups = [group for group in _groups(lines, pages.body) if _can_be_title(lines[slice(*group)], pages)]
    same = [group for group in groups if stated and _says(lines[slice(*group)], pages, stated)]
    if same:
        return same[0]
    if not groups:
        return None
    sizes = [lines[start].size for start, _ in groups]
    largest = max(sizes)
    chosen = groups[sizes.index(largest)]
    if largest > _TITLE_SIZE * pages.body:
        return chosen
    # Some titles have the size of the text: bold, in capitals, or directly above the authors' names.
    for start, end in groups[:_FIRST_GROUPS]:
        head = lines[start]
        following = lines[end : end + 1]
        set_off = (head.bold or plain_line(head).isupper()) and start < _FIRST_GROUPS
        if not people_in(head) and (set_off or any(people_in(each) for each in following)):
            return start, end
    return None


def _groups(lines: Sequence[Line], body: float) -> list[tuple[int, int]]:
    """Return the spans of neighbouring lines in the same style."""
    cuts = [0]
    for place, (one, other) in enumerate(pairwise(lines), start=1):
        near = 0 < one.y - other.y < 2.1 * max(one.size, other.size) and one.column == other.column
        alike_set = abs(one.size - other.size) < 0.04 * one.size
        weight = one.bold == other.bold or one.size > _TITLE_SIZE * body
        if not (near and alike_set and weight):
            cuts.append(place)
    return [each for each in pairwise([*cuts, len(lines)]) if each[0] < each[1]]


def _can_be_title(lines: Sequence[Line], pages: Pages) -> bool:
    text = block_text(lines, pages.words, marks=False)
    letters = sum(each.isalpha() for each in text)
    few, many = _TITLE_WORDS
    if lines[0].size > _LARGE_TITLE * pages.body:
        few = 1
    return (
        letters >= _TITLE_LETTERS
        and few <= len(text.split()) <= many
        and len(text) <= _LONGEST_TITLE
        and letters > 0.6 * len(text.replace(" ", ""))
        and not _BANNER.match(text)
        and not is_numbered(text)
        and lines[0].size >= 0.98 * pages.body
    )


def _says(lines: Sequence[Line], pages: Pages, stated: str) -> bool:
    words = plain(_cleaned(block_text(lines, pages.words, marks=False)))
    return bool(words) and (words == plain(stated) or (len(words.split()) > 2 and alike(words, plain(stated))))


def _cleaned(text: str) -> str:
    """Remove trailing note marks from a title."""
    return re.sub(r"\s+([,.:;?!])", r"\1", re.sub(r"[\s*∗†‡§¶⋆]+$", "", text)).strip(" ,;")


# The authors


def _between(pages: Pages, title: Line, lines: Sequence[Line], following: Sequence[Line]) -> list[list[Line]]:
    """Return the lines between title and body as vertical stacks, row by row.

    Names in a row have their affiliations below them, which reading line by line would mix up.
    """
    if following and following[0].page == title.page:
        low = following[0].y
    else:
        low = min((each.y for each in lines), default=0)
    column = [each for each in (title, *lines) if each.column == title.column]
    left = min(each.x0 for each in column)
    right = max(each.x1 for each in column)
    within = [
        each
        for each in pages.pieces
        if low - 1 < each.y < title.y and (not title.column or left - 1 <= each.x0 <= each.x1 <= right + 1)
    ]
    stacks: list[list[Line]] = []
    for row in rows([each for each in within if following[:1] != [each] and each.y > low + 0.3 * each.size]):
        for each in row:
            above = [stack for stack in stacks if _is_above(stack[-1], each)]
            if len(above) == 1:
                above[0].append(each)
            else:
                stacks.append([each])
    return _by_rows(stacks)


def _by_rows(stacks: Sequence[list[Line]]) -> list[list[Line]]:
    """Return stacks from top to bottom, and from left to right where they begin at the same height."""
    found: list[list[list[Line]]] = []
    for stack in sorted(stacks, key=lambda each: -each[0].y):
        if found and found[-1][0][0].y - stack[0].y < stack[0].size:
            found[-1].append(stack)
        else:
            found.append([stack])
    return [stack for row in found for stack in sorted(row, key=lambda each: each[0].x0)]


def _is_above(upper: Line, lower: Line) -> bool:
    middles = (upper.x0 + upper.x1) / 2, (lower.x0 + lower.x1) / 2
    is_near = 0.3 * lower.size < upper.y - lower.y < 1.75 * max(upper.size, lower.size)
    return is_near and (upper.x0 < middles[1] < upper.x1 or lower.x0 < middles[0] < lower.x1)


def _authors(stacks: Sequence[Sequence[Line]], pages: Pages) -> Iterator[str]:
    """Yield the people named below the title, in lines of the same style as the first."""
    seen: dict[str, None] = {}
    style: tuple[float, bool, bool] | None = None
    for stack in stacks:
        is_open = True
        for line in _lists(stack):
            named = people_in(line)
            own = round(line.size, 1), line.bold, line.words.isupper()
            if named and (is_open or line.words.isupper()) and (style is None or style == own):
                style = own
                seen |= dict.fromkeys(named)
            elif not named:
                # No more people follow an affiliation in a stack, unless an address ends the entry of one.
                is_open = "@" in line.text or plain(line.words) in ("and", "")
                if words_of([line]) > 14 and line.size < 1.05 * pages.body and not seen:
                    return
    yield from seen


def _lists(stack: Sequence[Line]) -> Iterator[Line]:
    """Yield the lines of a stack, joining lines that list people across line breaks."""
    pending: Line | None = None
    for line in stack:
        if pending is None:
            pending = line
            continue
        both = replace(pending, text=f"{pending.text} {line.text}", words=f"{pending.words} {line.words}")
        same_size = abs(pending.size - line.size) < 0.02 * line.size
        same = same_size and pending.bold == line.bold and pending.italic == line.italic
        more = len(people_in(both)) > len(people_in(pending))
        if same and more and (_GOES_ON.search(pending.words) or not people_in(line)):
            pending = both
        else:
            yield pending
            pending = line
    if pending is not None:
        yield pending


def _stacks(lines: Sequence[Line]) -> Iterator[list[Line]]:
    """Yield stacks of lines that are close below one another."""
    for _, column in groupby(lines, key=lambda each: each.column):
        stack: list[Line] = []
        for line in column:
            if stack and not 0 < stack[-1].y - line.y < 1.75 * max(stack[-1].size, line.size):
                yield stack
                stack = []
            stack.append(line)
        if stack:
            yield stack


def _agreed(authors: tuple[str, ...], stated: Sequence[str], lines: Sequence[Line]) -> tuple[str, ...]:
    """Return the page's authors, or those of the file's properties if the page contains all their family names."""
    if authors or len(stated) < 2:  # a single name is usually that of the file's creator
        return authors
    words = plain(" ".join(line.words.replace(GAP, " ") for line in lines)).split()
    if all(family in words for family in families(stated)):
        return tuple(stated)
    return ()


# The abstract


def _abstract(pages: Pages, found: Sequence[SectionHeading], start: int, limit: int) -> tuple[str, int, int]:
    """Return the abstract, its first line and the line after it; if unheaded, the text before the first section."""
    lines = pages.lines
    reach = next((place for place, line in enumerate(lines) if line.page > 2), len(lines))
    for place in range(reach):
        if match := ABSTRACT.match(lines[place].text.replace(GAP, " ")):
            rest = lines[place].text.replace(GAP, " ")[match.end() :]
            run_in = bool(rest) and (rest[0].isupper() or rest[0] in "“\"'(")
            if not rest or run_in:
                begin = place if rest else place + 1
                end = _abstract_end(pages, found, begin, reach)
                text = block_text(lines[begin:end], pages.words)
                if rest:
                    text = ABSTRACT.sub("", text, count=1)
                if _is_abstract(text):
                    return re.sub(r"(?<=[.!?])\d{1,2}$", "", text.strip()), place, end
    following = next((each.start for each in found if each.start > start and _begins(each)), 0)
    if start and following and following <= limit:
        return _unheaded(pages, start, following)
    return "", 0, 0


def _abstract_end(pages: Pages, found: Sequence[SectionHeading], begin: int, reach: int) -> int:
    """Return the line after an abstract: at a heading, key words, a change of font size or a wide gap."""
    lines = pages.lines
    heads = {each.start for each in found}
    if begin < len(lines):
        size = lines[begin].size
    else:
        size = 0.0
    for place in range(begin + 1, reach):
        line = lines[place]
        before = lines[place - 1]
        if place in heads or _AFTER_ABSTRACT.match(line.text.replace(GAP, " ")):
            return place
        is_near = (before.page, before.column) == (line.page, line.column) and before.y > line.y
        if abs(line.size - size) > 0.06 * size and abs(before.size - size) < 0.06 * size and len(line.text) > 3:
            return place
        if is_near and before.y - line.y > 3 * max(pages.leading, 1.2 * size):
            return place
        if not is_near and before.column != line.column and before.column == 0:
            return place
    return reach


def _unheaded(pages: Pages, start: int, end: int) -> tuple[str, int, int]:
    """Return the only paragraph with full lines between the authors and the first heading, if there is just one."""
    stacks = list(_stacks(pages.lines[start:end]))
    fitting = [
        each for each in stacks if _is_full(each) and _is_abstract(block_text(each, pages.words), _FEWEST_UNHEADED)
    ]
    if len(fitting) != 1:
        return "", 0, 0
    place = pages.lines.index(fitting[0][0])
    return block_text(fitting[0], pages.words), place, place + len(fitting[0])


def _is_full(stack: Sequence[Line]) -> bool:
    """Return True for lines that fill their width with words, as prose does and affiliations do not."""
    widest = max(each.width for each in stack)
    full = [each for each in stack[:-1] if each.width > 0.93 * widest and len(each.text.split()) > 5]
    return len(full) >= 0.7 * (len(stack) - 1) and len(stack) > 2


def _is_abstract(text: str, fewest: int = _ABSTRACT_WORDS[0]) -> bool:
    return fewest <= len(text.split()) <= _ABSTRACT_WORDS[1] and len(text) <= _LONGEST_ABSTRACT
