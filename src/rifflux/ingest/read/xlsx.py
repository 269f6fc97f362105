"""Reading of XLSX, XLSB, XLS and ODS: each sheet under its name, its rows as tables."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Iterator
from datetime import date, datetime, time, timedelta
from itertools import groupby

import python_calamine

from rifflux.errors import Unreadable
from rifflux.ingest.read._office import open_archive, row_text
from rifflux.ingest.read.base import File, TextBuilder
from rifflux.types import Parsed

#: The maximum number of cells of a sheet, including empty ones, laid out in memory. If a stray cell in the last row and
#: column exceeds the memory, calamine ends the whole process.
MAX_CELLS = 5_000_000
_CELL = re.compile(rb'<(?:\w+:)?c [^>]{0,80}?r="([A-Z]{1,3})(\d{1,7})"')

Rows = list[list[object]]


def read(file: File) -> Iterator[Parsed]:
    """Yield one document. Empty rows separate tables; the first row of each is its header if it contains only words.

    Raises `Unreadable` if the file is broken, encrypted or far too wide.
    """
    if file.data.startswith(b"PK"):
        _check_extent(open_archive(file.data))
    try:
        book = python_calamine.CalamineWorkbook.from_filelike(io.BytesIO(file.data))
    except python_calamine.PasswordError as error:
        raise Unreadable("is encrypted: save a copy without the password", kind="encrypted") from error
    build = TextBuilder()
    for sheet in book.sheets_metadata:
        if sheet.typ == python_calamine.SheetTypeEnum.WorkSheet:
            _add_sheet(build, sheet.name, book.get_sheet_by_name(sheet.name).to_python())
    yield build.parsed(file, "xlsx", sheets=list(book.sheet_names))


def _check_extent(archive: io.BytesIO) -> None:
    """Raise `Unreadable` if a sheet of an XLSX file spans too many cells for the memory."""
    with zipfile.ZipFile(archive) as parts:
        for name in parts.namelist():
            if not re.match(r"xl/worksheets/[^/]+\.xml$", name):
                continue
            cells = {(column, row) for column, row in _CELL.findall(parts.read(name))}
            height = max((int(row) for _, row in cells), default=0)
            width = max((_column(column) for column, _ in cells), default=0)
            if height * width > MAX_CELLS:
                what = f"has a sheet of {height:,} rows and {width:,} columns: delete its stray cells"
                raise Unreadable(what, kind="large")


def _column(letters: bytes) -> int:
    """Return the number of a column: A is 1, AA is 27."""
    number = 0
    for letter in letters:
        number = number * 26 + letter - ord("A") + 1
    return number


def _add_sheet(build: TextBuilder, name: str, rows: Rows) -> None:
    build.heading(1, name)
    texts = [[_cell_text(cell) for cell in row] for row in rows]
    for filled, group in groupby(zip(rows, texts, strict=True), lambda row: any(row[1])):
        if filled:
            _add_table(build, list(group))


def _add_table(build: TextBuilder, rows: list[tuple[list[object], list[str]]]) -> None:
    lines = [row_text(texts) for _, texts in rows]
    has_header = len(rows) > 1 and all(isinstance(cell, str) for cell in rows[0][0])
    build.add("\n".join(lines), kind="table", header=lines[0] if has_header else "")


def _cell_text(cell: object) -> str:
    """Return a cell as it would be typed: whole numbers without a decimal point, dates in ISO 8601."""
    match cell:
        case bool():
            if cell:
                return "TRUE"
            return "FALSE"
        case float() if cell.is_integer() and abs(cell) < 1e15:
            return str(int(cell))
        case datetime() | date() | time():
            return cell.isoformat()
        case timedelta():
            return str(cell)
        case _:
            return str(cell).strip()
