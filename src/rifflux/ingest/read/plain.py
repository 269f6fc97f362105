"""Read plain text: paragraphs, lists, logs, and tables of separated values."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import PurePosixPath

from rifflux.ingest.chunking import CODE, pieces
from rifflux.ingest.read.base import File, document_of
from rifflux.ingest.read.decode import decode
from rifflux.types import Block, Parsed

_BLANK_LINES, _LINES = CODE
_MARKER = re.compile(r"[ \t]*(?:[-*+•‣◦]|\(?(?:\d{1,4}|[a-zA-Z])[.)])[ \t]")
_NUMBER = re.compile(r"[-+]?[\d.,:/-]*\d[\d.,:/-]*%?")
_SEPARATOR = re.compile(r"[,;\t|]")


def read_plain(file: File) -> Iterator[Parsed]:
    """Yield the document of a text file; the entries of a log (`.log`) are only ever cut between lines."""
    text = decode(file.data)
    if PurePosixPath(file.path).suffix.lower() == ".log":
        blocks = tuple(Block(*span, "code") for span in pieces(text, 0, len(text), _BLANK_LINES))
    else:
        blocks = plain_blocks(text)
    yield Parsed(document_of(file, text, "text"), blocks)


def read_separated(file: File) -> Iterator[Parsed]:
    """Yield the document of a table of separated values; its first row is the header if no cell is a number."""
    text = decode(file.data)
    start = len(text) - len(text.lstrip("\n"))
    end = len(text.rstrip())
    first = text[start : text.find("\n", start) if "\n" in text[start:end] else end].rstrip()
    block = Block(start, end, "table", header=first if _names_columns(first) else "")
    yield Parsed(document_of(file, text, "table"), (block,) if start < end else ())


def plain_blocks(text: str) -> tuple[Block, ...]:
    """Return the paragraphs of a text, apart by blank lines; each item of a list is a block."""
    blocks: list[Block] = []
    for paragraph in pieces(text, 0, len(text), _BLANK_LINES):
        blocks += _paragraph(text, *paragraph)
    return tuple(blocks)


def _paragraph(text: str, start: int, end: int) -> Iterator[Block]:
    """Yield the paragraph as one block, or each item of a list in it with the lines that continue it."""
    lines = list(pieces(text, start, end, _LINES))
    marked = [bool(_MARKER.match(text, *line)) for line in lines]
    if sum(marked) < 2:
        yield Block(start, end)
        return
    begins = [0, *(place for place, is_item in enumerate(marked) if is_item and place), len(lines)]
    for first, stop in pairwise(begins):
        yield Block(lines[first][0], lines[stop - 1][1], "item" if marked[first] else "paragraph")


def _names_columns(row: str) -> bool:
    cells = [cell.strip().strip('"') for cell in _SEPARATOR.split(row)]
    return len(cells) > 1 and not any(_NUMBER.fullmatch(cell) for cell in cells)
