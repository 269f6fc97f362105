"""DOCX: paragraphs, lists and tables in reading order under their headings, then the notes."""

from __future__ import annotations

import re
from collections.abc import Iterator

import docx
from docx.document import Document as Source
from docx.oxml import parse_xml
from docx.styles.style import BaseStyle
from lxml.etree import _Element as Element

from rifflux.ingest.read._office import facts_of, open_archive, table_text
from rifflux.ingest.read.base import File, TextBuilder
from rifflux.types import Parsed

_W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_MATH_TEXT = "{http://schemas.openxmlformats.org/officeDocument/2006/math}t"
_FALLBACK = "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback"
_BREAKS = {f"{_W}tab": "\t", f"{_W}br": "\n", f"{_W}cr": "\n", f"{_W}noBreakHyphen": "-"}
#: Elements that are not part of their paragraph's text: boxes, properties, moved text and duplicates.
_APART = (f"{_W}txbxContent", f"{_W}pPr", f"{_W}moveFrom", _FALLBACK)
_HEADING = re.compile(r"heading (\d)", re.IGNORECASE)
_NOTES = re.compile(r"/(?:footnotes|endnotes)$")


def read(file: File) -> Iterator[Parsed]:
    """Yield one document. Text boxes are where they are anchored; deleted text (tracked changes) is omitted.

    Raises `Unreadable` if the file is broken.
    """
    source = docx.Document(open_archive(file.data))
    properties = source.core_properties
    build = TextBuilder()
    styles = {style.style_id: _role(style) for style in source.styles if style.style_id}
    _add_blocks(build, source.element.body, styles)
    for note in _notes(source):
        build.add(note)
    yield build.parsed(file, "docx", (properties.title or "").strip(), **facts_of(properties))


def _role(style: BaseStyle) -> tuple[str, int]:
    """Return the block kind that a style, or one it is based on, implies, and the level of a heading."""
    for _ in range(10):  # a broken file may base styles on each other in a circle
        name = (style.name or "").lower()
        if match := _HEADING.match(name):
            return "heading", int(match[1]) + 1
        if name == "title":
            return "heading", 1
        if name.startswith("list"):
            return "item", 0
        style = getattr(style, "base_style", None)
        if style is None:
            break
    return "paragraph", 0


def _add_blocks(build: TextBuilder, parent: Element, styles: dict[str, tuple[str, int]]) -> None:
    """Append the paragraphs and tables in `parent`, including those inside content controls."""
    for child in parent:
        if child.tag == f"{_W}p":
            _add_paragraph(build, child, styles)
        elif child.tag == f"{_W}tbl":
            _add_table(build, child, styles)
        elif child.tag in (f"{_W}sdt", f"{_W}sdtContent", f"{_W}ins", f"{_W}smartTag", f"{_W}customXml"):
            _add_blocks(build, child, styles)


def _add_paragraph(build: TextBuilder, paragraph: Element, styles: dict[str, tuple[str, int]]) -> None:
    kind, level = styles.get(_value(paragraph, "pStyle"), ("paragraph", 0))
    text = _text(paragraph)
    if kind == "heading":
        build.heading(level, text)
    elif text and (kind == "item" or paragraph.find(f"{_W}pPr/{_W}numPr") is not None):
        build.add(f"- {text}", kind="item")
    else:
        build.add(text)
    for box in paragraph.iter(f"{_W}txbxContent"):
        if not any(above.tag == _FALLBACK for above in box.iterancestors()):
            _add_blocks(build, box, styles)


def _add_table(build: TextBuilder, table: Element, styles: dict[str, tuple[str, int]]) -> None:
    """Append a table; a table of a single cell is only a frame around its text."""
    rows = [_cells(row) for row in table.iterchildren(f"{_W}tr", f"{_W}sdt")]
    if len(rows) == 1 and len(rows[0]) == 1:
        _add_blocks(build, rows[0][0], styles)
        return
    text, header = table_text([[_cell(cell) for cell in row] for row in rows])
    build.add(text, kind="table", header=header)


def _cells(row: Element) -> list[Element]:
    """Return the cells of a row, without those of nested tables, whose text is already included."""
    cells = list(row.iter(f"{_W}tc"))
    inside = {inner for cell in cells for inner in cell.iter(f"{_W}tc") if inner is not cell}
    return [cell for cell in cells if cell not in inside]


def _cell(cell: Element) -> str:
    return "\n".join(_text(paragraph) for paragraph in cell.iter(f"{_W}p"))


def _value(paragraph: Element, name: str) -> str:
    found = paragraph.find(f"{_W}pPr/{_W}{name}")
    return "" if found is None else found.get(f"{_W}val", "")


def _text(paragraph: Element) -> str:
    """Return the text of a paragraph without that of the boxes anchored in it."""
    pieces: list[str] = []
    waiting = [paragraph]
    while waiting:
        node = waiting.pop()
        if node.tag in (f"{_W}t", _MATH_TEXT):
            pieces.append(node.text or "")
        elif node.tag in _BREAKS:
            pieces.append(_BREAKS[node.tag])
        elif node.tag not in _APART:
            waiting.extend(reversed(node))
    return "".join(pieces).strip()


def _notes(source: Source) -> list[str]:
    """Return the footnotes and endnotes."""
    parts = [link.target_part for link in source.part.rels.values() if _NOTES.search(link.reltype)]
    notes = [note for part in parts for note in parse_xml(part.blob)]
    return [_cell(note) for note in notes]
