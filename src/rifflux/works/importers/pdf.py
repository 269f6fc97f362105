"""PDF: the pages of a paper as passages; title, abstract and identifiers as far as the first page shows them."""

from __future__ import annotations

import re
from collections.abc import Iterator

from rifflux.errors import Unreadable
from rifflux.ingest.read import read as read_file
from rifflux.ingest.read.base import File, readable_stem
from rifflux.types import Failure, Identifier, Parsed
from rifflux.works import Passage, Work, parse_identifier
from rifflux.works.importers.base import Entry, Problems, WorkSource, content
from rifflux.works.importers.names import people

__all__ = ["read"]

#: What arXiv prints into the margin of a first page.
_STAMP = re.compile(
    r"arXiv:\s*(?P<id>[\w./-]+?\d)(?:v\d+)?\s*\[(?P<category>[\w.-]+)\]\s*\d{1,2} \w{3} (?P<year>\d{4})"
)
_DOI = re.compile(r"\b(?:doi:\s*|doi\.org/)(10\.\d{4,9}/[^\s\"<>]+)", re.IGNORECASE)
_ABSTRACT = re.compile(
    r"^\s*abstract\b[\s.:—–-]*(?P<text>.+?)"
    r"(?=^\s*(?:(?:\d+|I)\.?\s+)?introduction\b|^\s*(?:key ?words|contents|\d{4} math)\b|\Z)",
    re.IGNORECASE | re.MULTILINE | re.DOTALL,
)
#: What is shorter or longer is no title, and no abstract.
SHORTEST_TITLE, LONGEST_TITLE, LONGEST_ABSTRACT = 8, 200, 3000


def read(source: WorkSource) -> Iterator[Entry | Failure]:
    """Yield the work of a PDF. Raises `Unreadable` for what is no PDF, is too large, or holds no text."""
    parsed = next(
        (each for each in read_file(File(source.path.name, content(source.path))) if isinstance(each, Parsed)), None
    )
    if parsed is None:
        raise Unreadable("holds no text")
    pages = tuple(_pages(parsed))
    first = pages[0].text
    notes = Problems()
    stamp = _STAMP.search(first)
    work = Work(
        title=_title(parsed, first),
        abstract=_abstract(first),
        authors=people(str(parsed.document.metadata.get("author", "")).replace(",", ";")),
        year=notes.year(stamp["year"]) if stamp else None,
        identifiers=tuple(_identifiers(source, first, stamp, notes)),
        tags=notes.tags("arxiv", stamp["category"]) if stamp else (),
        passages=pages,
        metadata={"pages": parsed.document.metadata.get("pages", len(pages))},
    )
    yield Entry(str(source.path), source.path.stem, work, tuple(notes))


def _pages(parsed: Parsed) -> Iterator[Passage]:
    """Yield the text of each page: what stands under one heading."""
    text = parsed.document.text
    spans: dict[tuple[str, ...], tuple[int, int]] = {}
    for block in parsed.blocks:
        start, _ = spans.get(block.headings, (block.start, 0))
        spans[block.headings] = start, block.end
    for headings, (start, end) in spans.items():
        yield Passage(text[start:end], "page", headings)


def _title(parsed: Parsed, first: str) -> str:
    """Return the title of the file's properties, else the first line of the first page that can be one."""
    title = parsed.document.title
    if title != readable_stem(parsed.document.key):
        return title
    lines = (" ".join(line.split()) for line in first.splitlines() if not _STAMP.search(line))
    return next((line for line in lines if SHORTEST_TITLE <= len(line) <= LONGEST_TITLE), title)


def _abstract(first: str) -> str:
    match = _ABSTRACT.search(first)
    text = " ".join(match["text"].split()) if match else ""
    return text if len(text) <= LONGEST_ABSTRACT else ""


def _identifiers(source: WorkSource, first: str, stamp: re.Match[str] | None, notes: Problems) -> Iterator[Identifier]:
    named = parse_identifier(source.path.stem.replace("_", "/"))
    if stamp:
        yield from notes.identifiers("arxiv", stamp["id"])
    elif named and named.scheme == "arxiv":
        yield named
    if doi := _DOI.search(first):
        yield from notes.identifiers("doi", doi[1])
