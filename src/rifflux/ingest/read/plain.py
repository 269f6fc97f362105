"""Reading of plain text: paragraphs, lists, logs, and tables of separated values."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import PurePosixPath

from rifflux.ingest.chunking import BLANK_LINES, pieces, plain_blocks
from rifflux.ingest.read.base import File, decode, document_of
from rifflux.text.turns import turn_lead, turns
from rifflux.types import Block, Parsed

_NUMBER = re.compile(r"[-+]?[\d.,:/-]*\d[\d.,:/-]*%?")
_SEPARATOR = re.compile(r"[,;\t|]")


def read_plain(file: File) -> Iterator[Parsed]:
    """Yield the document of a text file; entries of a log (`.log`) are only cut between lines.

    A conversation is cut between turns.
    """
    text = decode(file.data)
    if PurePosixPath(file.path).suffix.lower() == ".log":
        blocks = tuple(Block(*span, "code") for span in pieces(text, 0, len(text), BLANK_LINES))
    elif lead := turn_lead(text):
        spans = turns(text, lead)
        head = plain_blocks(text[: spans[0][0]])
        blocks = (*head, *(Block(*span, "item") for span in spans))
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


def _names_columns(row: str) -> bool:
    cells = [cell.strip().strip('"') for cell in _SEPARATOR.split(row)]
    return len(cells) > 1 and not any(_NUMBER.fullmatch(cell) for cell in cells)
