"""What the Office formats share: they are ZIP archives of XML."""

from __future__ import annotations

import io
import zipfile
from dataclasses import replace
from datetime import UTC, datetime
from typing import Protocol

from rifflux.errors import Unreadable
from rifflux.types import Parsed

__all__ = ["dated", "open_archive", "row_text", "table_text"]

#: More than this, unpacked, is no document but an attempt to fill the memory.
MAX_UNPACKED_BYTES = 1 << 29


class Properties(Protocol):
    """The core properties of an Office file, as far as they are dates."""

    created: datetime | None
    modified: datetime | None


def open_archive(data: bytes) -> io.BytesIO:
    """The archive as a file, once it is known to be whole. Raises `Unreadable`."""
    stream = io.BytesIO(data)
    try:
        with zipfile.ZipFile(stream) as archive:
            unpacked = sum(part.file_size for part in archive.infolist())
    except (zipfile.BadZipFile, OSError, ValueError) as error:
        raise Unreadable("is broken or cut off") from error
    if unpacked > MAX_UNPACKED_BYTES:
        raise Unreadable(f"would unpack to {unpacked >> 20} MB")
    stream.seek(0)
    return stream


def dated(parsed: Parsed, properties: Properties) -> Parsed:
    """With the dates of the file's core properties, where it has them."""
    document = parsed.document
    created, updated = _iso(properties.created), _iso(properties.modified)
    own = replace(
        document, created_at=created or document.created_at, updated_at=updated or created or document.updated_at
    )
    return replace(parsed, document=own)


def row_text(cells: list[str]) -> str:
    """The cells of a row on one line, apart by ` | `; empty ones at the end are dropped."""
    lines = [" ".join(cell.split()) for cell in cells]
    while lines and not lines[-1]:
        lines.pop()
    return " | ".join(lines)


def table_text(rows: list[list[str]]) -> tuple[str, str]:
    """The text of a table and its header: the first row, if others follow."""
    lines = [line for line in map(row_text, rows) if line]
    return "\n".join(lines), lines[0] if len(lines) > 1 else ""


def _iso(moment: datetime | None) -> str | None:
    if moment is None:
        return None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).isoformat(timespec="seconds")
