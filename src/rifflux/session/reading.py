"""Reading what is stored: chunks and documents, by whatever names them."""

from __future__ import annotations

from dataclasses import dataclass

from rifflux.errors import InvalidArgument, NotFound
from rifflux.session.session import IndexView
from rifflux.types import Document, Hit

__all__ = ["Reader"]


@dataclass(frozen=True, slots=True)
class Reader:
    """Reads chunks and documents of a view."""

    view: IndexView

    def get(self, id: str) -> Hit | Document:
        """Return a chunk by its id, or a document by its key, path, absolute path or identifier. Raises `NotFound`."""
        hit = self.chunk(id)
        return self.view.profile.visible.hit(hit) if hit else self.document(id)

    def chunk(self, id: str) -> Hit | None:
        """Return a chunk by its id; of a user's messages and memories too, which a search of everything finds."""
        views = self.view.store.views() if self.view.scope else (self.view.store,)
        return next((hit for view in views if (hit := view.catalog.chunk(id))), None)

    def document(self, key: str) -> Document:
        """Return a document with its whole text, by key, path, absolute path or identifier. Raises `NotFound`."""
        collection, key = self.place_of(key)
        document = self.view.store.catalog.document(collection, key)
        if document is None:
            raise NotFound(f"{key!r} was removed meanwhile: search again")
        return self.view.profile.visible.document(collection, document)

    def chunks(self, key: str) -> list[Hit]:
        """Return the chunks of a document in reading order. Raises `NotFound`."""
        return list(self.view.profile.visible.hits(self.view.store.catalog.chunks_of(*self.place_of(key))))

    def place_of(self, key: str) -> tuple[str, str]:
        """Return the collection and key of what a key, a path or an identifier such as `doi:10.1000/182` names."""
        from rifflux.session.identified import identified

        found = self.view.store.catalog.find_documents(key) or identified(self.view.store, key)
        if not found:
            raise NotFound(f"no chunk or document {key!r}: take an id or path from the results of a search")
        if len(found) > 1:
            places = ", ".join(f"{collection}/{name}" for collection, name in found[:5])
            raise InvalidArgument(f"{key!r} is the name of {len(found)} documents: say which, one of {places}")
        return found[0]
