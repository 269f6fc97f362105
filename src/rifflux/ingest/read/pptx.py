"""Reading of PPTX: each slide under its number and title, with its bullets, tables and speaker's notes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pptx
from pptx.shapes.base import BaseShape
from pptx.slide import Slide
from pptx.text.text import _Paragraph

from rifflux.ingest.read._office import facts_of, open_archive, table_text
from rifflux.ingest.read.base import File, TextBuilder
from rifflux.types import Parsed


def read(file: File) -> Iterator[Parsed]:
    """Yield one document with blocks under `Slide 3: Title`. Raises `Unreadable` if the file is broken."""
    deck = pptx.Presentation(open_archive(file.data))
    properties = deck.core_properties
    build = TextBuilder()
    for number, slide in enumerate(deck.slides, start=1):
        _add_slide(build, number, slide)
    title = (properties.title or "").strip()
    # python-pptx's own template has this title in every file created from it.
    if title == "PowerPoint Presentation":
        title = ""
    yield build.parsed(file, "pptx", title, slides=len(deck.slides), **facts_of(properties))


def _add_slide(build: TextBuilder, number: int, slide: Slide) -> None:
    title = slide.shapes.title
    if title is not None:
        words = " ".join(title.text_frame.text.split())
    else:
        words = ""
    shapes = [shape for shape in _flat(slide.shapes) if title is None or shape.shape_id != title.shape_id]
    if slide.has_notes_slide:
        notes = slide.notes_slide.notes_text_frame
    else:
        notes = None
    if notes is not None:
        spoken = notes.text.strip()
    else:
        spoken = ""
    if not words and not spoken and not any(_has_text(shape) for shape in shapes):
        return
    build.begin_page(number)
    build.heading(1, f"Slide {number}: {words}" if words else f"Slide {number}")
    for shape in shapes:
        _add_shape(build, shape)
    if spoken:
        build.heading(2, "Notes")
        for line in spoken.splitlines():
            build.add(line)


def _flat(shapes: Iterable[BaseShape]) -> Iterator[BaseShape]:
    """Yield the shapes, including those inside groups, in drawing order."""
    for shape in shapes:
        if hasattr(shape, "shapes"):
            yield from _flat(shape.shapes)
        else:
            yield shape


def _has_text(shape: BaseShape) -> bool:
    return bool(shape.has_table or (shape.has_text_frame and shape.text_frame.text.strip()))


def _add_shape(build: TextBuilder, shape: BaseShape) -> None:
    if shape.has_table:
        rows = [[cell.text for cell in row.cells if not cell.is_spanned] for row in shape.table.rows]
        text, header = table_text(rows)
        build.add(text, kind="table", header=header)
    elif shape.has_text_frame:
        paragraphs = [_text(paragraph) for paragraph in shape.text_frame.paragraphs]
        listed = shape.is_placeholder and sum(map(bool, paragraphs)) > 1
        for text in filter(None, paragraphs):
            build.add(f"- {text}" if listed else text, kind="item" if listed else "paragraph")


def _text(paragraph: _Paragraph) -> str:
    """Return a paragraph's text; PowerPoint stores line breaks as vertical tabs."""
    return str(paragraph.text).replace("\v", "\n").strip()
