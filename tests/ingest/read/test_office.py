"""PDF, Office files and notebooks, as their programs write them."""

from __future__ import annotations

import io
from datetime import date

import nbformat
import openpyxl
import pytest

from rifflux.errors import Unreadable
from rifflux.ingest.read import File, read
from rifflux.types import Parsed
from tests.support.files import make_docx, make_notebook, make_pdf, make_pptx, make_xlsx
from tests.support.papers import Set, centered, column, typeset, woven


def parsed(path: str, data: bytes) -> Parsed:
    (part,) = read(File(path, data, created_at="2020-01-01", updated_at="2020-02-02"))
    assert isinstance(part, Parsed)
    return part


def shown(part: Parsed) -> list[tuple[str, tuple[str, ...], str]]:
    return [(block.kind, block.headings, part.document.text[block.start : block.end]) for block in part.blocks]


def test_pdf_pages_are_headings() -> None:
    first = [
        "Entries live for ten minutes, unless the oper-",
        "ator pins them down.",
        "Another paragraph begins.",
    ]
    part = parsed("a.pdf", make_pdf([first, [], ["On (page) three.", "- an item", "- another item"]]))
    assert shown(part) == [
        ("paragraph", ("page 1",), "Entries live for ten minutes, unless the operator pins them down."),
        ("paragraph", ("page 1",), "Another paragraph begins."),
        ("paragraph", ("page 3",), "On (page) three."),
        ("item", ("page 3",), "- an item"),
        ("item", ("page 3",), "- another item"),
    ]
    assert part.document.metadata == {"pages": 3}
    assert (part.document.kind, part.document.title) == ("pdf", "a")


def test_pdf_properties() -> None:
    info = "/Title (Microsoft Word - Cache paper) /Author (Ann) /CreationDate (D:20240301120000+01'00')"
    document = parsed("a.pdf", make_pdf([["x"]], info=info)).document
    assert document.title == "Cache paper"
    assert document.metadata == {"pages": 1, "author": "Ann"}
    assert document.created_at == document.updated_at == "2024-03-01T12:00:00+01:00"


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (make_pdf([[], []]), r"holds no text \(a scan\?\): run OCR"),
        (make_pdf([["x"]], encrypted=True), "is encrypted"),
        (make_pdf([["x"]])[:80], "broken or cut off"),
    ],
)
def test_pdf_without_anything_to_read(data: bytes, reason: str) -> None:
    with pytest.raises(Unreadable, match=reason):
        parsed("a.pdf", data)


def test_docx_in_reading_order() -> None:
    part = parsed("a.docx", make_docx())
    under = ("Handbook", "Lifetimes")
    assert shown(part) == [
        ("paragraph", ("Handbook",), "Before any heading."),
        ("paragraph", under, "Entries live for ten minutes."),
        ("item", under, "- first item"),
        ("item", under, "- second item"),
        ("table", under, "Name | Value\nttl | 600 seconds"),
        ("heading", under, "Empty section"),
        ("paragraph", ("Handbook", "Last"), "Framed words."),
    ]
    assert part.blocks[4].header == "Name | Value"
    assert part.document.title == "Cache handbook"
    assert part.document.metadata == {"author": "Ann Lee"}
    assert part.document.created_at is not None
    assert part.document.created_at.startswith("2013")  # as python-docx's template has it


def test_pptx_slides_are_headings() -> None:
    part = parsed("a.pptx", make_pptx())
    assert shown(part) == [
        ("item", ("Slide 1: Cache design",), "- Evict the oldest"),
        ("item", ("Slide 1: Cache design",), "- Keep the pinned"),
        ("paragraph", ("Slide 1: Cache design", "Notes"), "Mention the outage."),
        ("table", ("Slide 2",), "Name | Value\nttl | 600"),
    ]
    assert part.document.metadata["slides"] == 3


def test_xlsx_sheets_are_headings() -> None:
    costs: list[list[object]] = [["Item", "Price"], ["Tea", 2.0], ["Milk\nwhole", 1.5]]
    rest: list[list[object]] = [[], ["loose", None, True, date(2024, 3, 1)]]
    part = parsed("a.xlsx", make_xlsx({"Costs": costs + rest, "Empty": []}))
    assert shown(part) == [
        ("table", ("Costs",), "Item | Price\nTea | 2\nMilk whole | 1.5"),
        ("table", ("Costs",), "loose |  | TRUE | 2024-03-01"),
        ("heading", (), "Empty"),
    ]
    assert [block.header for block in part.blocks] == ["Item | Price", "", ""]
    assert (part.document.created_at, part.document.updated_at) == ("2020-01-01", "2020-02-02")


def test_xlsx_huge_cell() -> None:
    part = parsed("a.xlsx", make_xlsx({"a": [["word " * 6000]]}))
    assert part.document.text.count("word") == 6000


def test_xlsx_with_a_stray_cell_in_the_last_corner_is_refused() -> None:
    book = openpyxl.Workbook()
    book.active["A1"] = book.active["XFD1048576"] = "x"
    stream = io.BytesIO()
    book.save(stream)
    with pytest.raises(Unreadable, match="1,048,576 rows and 16,384 columns"):
        parsed("a.xlsx", stream.getvalue())


def test_notebook_headings_reach_across_cells() -> None:
    part = parsed("a.ipynb", make_notebook())
    under = ("Cache study", "Method")
    assert shown(part) == [
        ("paragraph", ("Cache study",), "We measure lifetimes."),
        ("code", under, "```\nnever closed\n```"),
        ("code", under, "```python\ndef lifetime():\n    return 42\n```"),
        ("code", under, "```text\n42\n```"),
        ("paragraph", under, "After the code."),
    ]
    assert (part.document.kind, part.document.title) == ("notebook", "Cache study")
    assert part.document.metadata == {"language": "python"}


def test_notebook_of_version_3() -> None:
    v3 = nbformat.v3
    cells = [
        v3.new_text_cell("markdown", "# Old"),
        v3.new_code_cell("x = 1"),
        v3.new_heading_cell("Part", level=2),
    ]
    book = v3.new_notebook(worksheets=[v3.new_worksheet(cells=cells)])
    part = parsed("a.ipynb", nbformat.writes(book, version=3).encode())
    assert shown(part) == [("code", ("Old",), "```\nx = 1\n```"), ("heading", ("Old",), "## Part")]


@pytest.mark.parametrize("data", [b"{}", b"{", b"[]", b'{"nbformat": 4}', b'{"cells": [{}], "nbformat": 4}'])
def test_broken_notebooks_are_refused(data: bytes) -> None:
    with pytest.raises(Unreadable):
        parsed("a.ipynb", data)


LEFT, RIGHT = (
    " ".join(f"{side} herons wade where the water of river number {number} is shallow." for number in range(12))
    for side in ("Western", "Eastern")
)


def test_pdf_that_is_written_across_its_columns_is_read_by_columns() -> None:
    left, right = column([LEFT], 54, 600, 240), column([RIGHT], 317, 600, 240)
    title = centered(["Herons of two shores"], 700, 14)
    document = parsed("a.pdf", typeset([[*title, *woven(left, right)]])).document
    words = " ".join(document.text.split())
    assert "Herons of two shores" in words
    assert f"{LEFT} {RIGHT}" in words


def test_pdf_of_rows_is_read_row_by_row() -> None:
    left = [Set(f"Heron {number}", 54, 600 - 12 * number) for number in range(12)]
    right = [Set(f"counted {number} times", 317, 600 - 12 * number) for number in range(12)]
    assert "Heron 3 counted 3 times\nHeron 4" in parsed("a.pdf", typeset([woven(left, right)])).document.text
