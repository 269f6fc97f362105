"""Convert a PDF paper to a work: front matter, sections by page, and recognized references.

Parts that are not recognized are left out and reported; an uncertain title is never used.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import groupby

from rifflux.errors import Unreadable
from rifflux.ingest.read import checked
from rifflux.ingest.read.base import File
from rifflux.ingest.read.pdf import NO_TEXT, open_pdf, properties
from rifflux.types import Failure, Link
from rifflux.works import Passage, Work
from rifflux.works.importers.base import Entry, Problems, WorkSource, content
from rifflux.works.importers.names import people, split_names
from rifflux.works.importers.paper.front import Front, front_of
from rifflux.works.importers.paper.identity import identity_of, stamp_of
from rifflux.works.importers.paper.pages import REFERENCES, Pages, block_text, plain_line, read_pages
from rifflux.works.importers.paper.references import link_of, reference_texts
from rifflux.works.importers.paper.sections import Paragraph, SectionHeading, headings, paragraphs

_YEAR = re.compile(r"(?<![\d.-])(?:19[5-9]\d|20[0-4]\d)(?![\d-])")
#: The lines at the head and foot of a first page, and the characters around a year, that may date a paper.
_EDGE = 6
_NEAR = 60
#: Evidence that a year next to it is that of the paper.
_DATED = re.compile(
    r"copyright|©|\(c\)|published|proceedings|conference|symposium|workshop|journal|transactions|vol(?:ume|\.)|appear"
    r"|january|february|march|april|\bmay\b|june|july|august|september|october|november|december|\bACM\b|IEEE",
    re.IGNORECASE,
)
#: The beginning of a list of references without a heading.
_FIRST = re.compile(r"\[1\]\s+\S")
_APPENDIX = re.compile(r"appendi|supplement|online|acknowl|author|biograph|about", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class _PdfPaper:
    pages: Pages
    front: Front
    sections: Sequence[SectionHeading]
    references: Sequence[str]
    listed_at: tuple[int, int]
    lists: Sequence[tuple[int, int]]


def read(source: WorkSource) -> Iterator[Entry | Failure]:
    """Yield the work of a PDF. Raises `Unreadable` if it is not a PDF, is too large, or contains no text."""
    yield from checked(File(source.path.name, content(source.path)), lambda file: [_entry(source, file.data)])


def _entry(source: WorkSource, data: bytes) -> Entry:
    with closing(open_pdf(data)) as pdf:
        pages = read_pages(pdf)
        facts = properties(pdf)
    if not pages.lines:
        raise Unreadable(NO_TEXT, kind="no-text")
    notes = Problems()
    paper = _recognized(pages, facts)
    stamp = stamp_of(pages, paper.lists)
    identity = identity_of(pages, paper.front, paper.lists, facts, source.path.stem, stamp)
    _tell(paper, source, notes)
    if identity.contradicting:
        notes.append(f"these DOIs contradict each other, so none was assigned: {', '.join(identity.contradicting)}")
    cited = [
        *filter(None, (link_of(each) for each in paper.references)),
        *(Link(str(each)) for each in identity.mentioned),
    ]
    work = Work(
        title=paper.front.title or source.path.stem,
        abstract=paper.front.abstract,
        authors=paper.front.authors,
        year=notes.year(stamp.year) if stamp else _year(pages),
        identifiers=identity.own,
        tags=notes.tags("arxiv", stamp.category) if stamp and stamp.category else (),
        passages=tuple(_passages(paper)),
        citations=tuple(dict.fromkeys(cited)),
        metadata={"pages": pages.count, **({"references": list(paper.references)} if paper.references else {})},
    )
    return Entry(str(source.path), source.path.stem, work, tuple(notes))


def _recognized(pages: Pages, facts: Mapping[str, str]) -> _PdfPaper:
    found = headings(pages)
    stated = people([each for each in split_names(facts.get("author", "")) if " " in each])
    front = front_of(pages, found, facts.get("title", ""), stated)
    sections = [each for each in found if each.start >= front.end and each.text != front.title]
    spans = [*_lists(pages, sections)]
    texts = [reference_texts(pages.lines[start:end], pages) for start, end in spans]
    most = max(range(len(texts)), key=lambda place: len(texts[place]), default=None)
    if most is None or not texts[most]:
        return _PdfPaper(pages, front, sections, (), (0, 0), spans)
    return _PdfPaper(pages, front, sections, texts[most], spans[most], spans)


def _lists(pages: Pages, sections: Sequence[SectionHeading]) -> Iterator[tuple[int, int]]:
    """Yield the spans of lines under headings of references, up to the next heading of the same level or an appendix.

    Without such a heading, from the last line numbered `[1]` in the second half of the paper.
    """
    heads = [place for place, each in enumerate(sections) if REFERENCES.fullmatch(each.text)]
    for place in heads:
        head = sections[place]
        following = (each for each in sections[place + 1 :] if each.level <= head.level or _APPENDIX.search(each.text))
        yield head.end, next((each.start for each in following), len(pages.lines))
    if not heads:
        half = len(pages.lines) // 2
        found = (place for place, line in enumerate(pages.lines[half:], start=half) if _FIRST.match(line.text))
        yield from ((place, len(pages.lines)) for place in list(found)[-1:])


def _tell(paper: _PdfPaper, source: WorkSource, notes: Problems) -> None:
    """Note the parts that were not recognized, in one line."""
    front = paper.front
    parts = {
        "title": (front.title, f"using its file name, {source.path.stem!r}"),
        "authors": (front.authors, "cannot be found by name"),
        "abstract": (front.abstract, ""),
        "sections": (paper.sections, "its passages have page numbers only"),
        "references": (paper.references, "no citations"),
    }
    lacking = [f"{part} ({means})" if means else part for part, (found, means) in parts.items() if not found]
    if lacking:
        notes.append(f"not recognized: {', '.join(lacking)}")


def _passages(paper: _PdfPaper) -> Iterator[Passage]:
    """Yield the text of each section page by page, without the list of references, then the footnotes of each page.

    A paragraph belongs to the page on which it begins.
    """
    for path, number, group in _by_section(paper):
        yield Passage("\n\n".join(each.text for each in group), "section", (*path, f"page {number}"), page=number)
    for number, lines in groupby(paper.pages.notes, key=lambda each: each.page):
        if text := block_text(lines, paper.pages.words):
            yield Passage(text, "note", (f"page {number}",), page=number)


def _by_section(paper: _PdfPaper) -> Iterator[tuple[tuple[str, ...], int, list[Paragraph]]]:
    path: list[tuple[int, str]] = []
    start = paper.front.end
    for head in [*paper.sections, None]:
        if head:
            end = head.start
        else:
            end = len(paper.pages.lines)
        for span in _without(start, end, paper.listed_at):
            texts = paragraphs(paper.pages, *span)
            for page, group in groupby(texts, key=lambda each: each.lines[0].page):
                yield tuple(text for _, text in path), page, list(group)
        if head:
            path = [*(each for each in path if each[0] < head.level), (head.level, head.text)]
            start = head.end


def _without(start: int, end: int, left_out: tuple[int, int]) -> list[tuple[int, int]]:
    """Return the spans of `start` to `end` outside `left_out`."""
    first, last = left_out
    if first >= last:
        return [(start, end)]
    return [each for each in ((start, min(end, first)), (max(start, last), end)) if each[0] < each[1]]


def _year(pages: Pages) -> int | None:
    """Return the year in the heads and notes of the first page, if exactly one has evidence that it dates the paper."""
    edges = [*pages.first[:_EDGE], *pages.first[-_EDGE:], *(line for line in pages.notes if line.page == 1)]
    text = " ".join(plain_line(edge) for edge in edges)
    near = (text[max(0, each.start() - _NEAR) : each.end() + _NEAR] for each in _YEAR.finditer(text))
    years = {int(each[0]) for each, around in zip(_YEAR.finditer(text), near, strict=True) if _DATED.search(around)}
    if len(years) == 1:
        return years.pop()
    return None
