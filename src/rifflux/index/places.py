"""A document opened at a passage: its text, the position of the passage, and the outline."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rifflux.errors import NotFound
from rifflux.session.reading import Reader
from rifflux.session.session import IndexView
from rifflux.types import Document, Hit


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading of a document: its depth from 1, the first passage below it, and where that starts."""

    title: str
    depth: int
    chunk_id: str
    start: int


@dataclass(frozen=True, slots=True)
class DocumentAt:
    """A document opened at a passage, which its `text` has at `hit.span`; the text of a work may be withheld."""

    document: Document
    hit: Hit
    outline: tuple[Heading, ...]


def document_at(view: IndexView, name: str) -> DocumentAt:
    """Return the document of a chunk's id, opened at that chunk, or of a name as in `document`, at its first passage.

    Raises `NotFound` for an unknown name, and for a document without any passage.
    """
    reader = Reader(view)
    found = reader.chunk(name)
    if found:
        place = found.place
    else:
        place = reader.place_of(name)
    document = reader.store.catalog.document(*place)
    if document is None:
        raise NotFound(f"{name!r} is no passage of a document: open the conversation or the memory that it is of")
    chunks = reader.view.redacted_hits(reader.store.catalog.chunks_of(*place))
    hit = next((each for each in chunks if found is None or each.id == found.id), None)
    if hit is None:
        raise NotFound(f"{name!r} has no passage yet: read it whole")
    return DocumentAt(reader.view.visible.document(place[0], document), hit, tuple(_outline(chunks)))


def _outline(chunks: Sequence[Hit]) -> Iterator[Heading]:
    """Yield each heading where the passages under it begin."""
    before: list[str] = []
    for hit in chunks:
        if hit.heading_path and not hit.withheld:
            path = hit.heading_path.split(" > ")
        else:
            path = []
        same = next((depth for depth, pair in enumerate(zip(before, path, strict=False)) if pair[0] != pair[1]), None)
        if same is None:
            same = min(len(before), len(path))
        for depth, title in enumerate(path[same:], same + 1):
            yield Heading(title, depth, hit.id, hit.span[0])
        before = path
