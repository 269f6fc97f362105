"""Shared parts of the Office formats, which are ZIP archives of XML."""

from __future__ import annotations

import io
import zipfile
from datetime import UTC, datetime
from typing import Protocol

from rifflux.errors import Unreadable

#: The maximum unpacked size of text, and of everything: larger files are not documents but an attempt to fill the
#: memory.
MAX_TEXT_BYTES = 64 * 2**20
MAX_UNPACKED_BYTES = 2**28
_TEXT = (".xml", ".rels", ".html", ".txt", ".vml")


class Properties(Protocol):
    """The core properties of an Office file, as far as they are read."""

    author: str
    category: str
    keywords: str
    subject: str
    created: datetime | None
    modified: datetime | None


def open_archive(data: bytes) -> io.BytesIO:
    """Return the archive as a file after checking that it is complete. Raises `Unreadable`."""
    stream = io.BytesIO(data)
    try:
        with zipfile.ZipFile(stream) as archive:
            parts = archive.infolist()
    except (zipfile.BadZipFile, OSError, ValueError) as error:
        raise Unreadable("is broken or cut off") from error
    text = sum(part.file_size for part in parts if part.filename.lower().endswith(_TEXT))
    unpacked = sum(part.file_size for part in parts)
    if text > MAX_TEXT_BYTES:
        raise Unreadable(
            f"would unpack to {text >> 20:,} MB of text, over the limit of {MAX_TEXT_BYTES >> 20}: split it",
            kind="large",
        )
    if unpacked > MAX_UNPACKED_BYTES:
        raise Unreadable(
            f"would unpack to {unpacked >> 20:,} MB, over the limit of {MAX_UNPACKED_BYTES >> 20}: split it",
            kind="large",
        )
    stream.seek(0)
    return stream


def facts_of(properties: Properties) -> dict[str, str]:
    """Return the core properties of a file that are set: author, subject and dates."""
    texts = {name: getattr(properties, name) for name in ("author", "category", "keywords", "subject")}
    facts = {**texts, "created": _iso(properties.created), "updated": _iso(properties.modified)}
    return {name: value for name, value in facts.items() if value}


def row_text(cells: list[str]) -> str:
    """Return the cells of a row on one line, separated by ` | `, without empty ones at the end."""
    lines = [" ".join(cell.split()) for cell in cells]
    while lines and not lines[-1]:
        lines.pop()
    return " | ".join(lines)


def table_text(rows: list[list[str]]) -> tuple[str, str]:
    """Return the text of a table and its header: the first row, if others follow."""
    lines = [line for line in (row_text(row) for row in rows) if line]
    return "\n".join(lines), lines[0] if len(lines) > 1 else ""


def _iso(moment: datetime | None) -> str | None:
    if moment is None:
        return None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).isoformat(timespec="seconds")
