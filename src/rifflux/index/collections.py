"""The collections of an index: their contents and readers, and changing them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rifflux.errors import NotFound
from rifflux.requests import CollectionRequest, takes
from rifflux.service.collections import VisibleCollection
from rifflux.service.nouns import Grant
from rifflux.session.session import IndexView
from rifflux.types import visible_namespace


@dataclass(frozen=True, slots=True)
class CollectionInfo:
    """A collection as a caller sees it.

    `name` is the caller's name of it, `user` its owner, empty for what belongs to nobody. `roots` are the folders and
    files that were indexed into it; others than its owner get only their names, and no `readers`.
    """

    name: str
    user: str
    description: str
    documents: int
    chunks: int
    roots: tuple[str, ...]
    owned: bool
    writable: bool
    readers: tuple[Grant, ...] = ()


class Collections:
    """The collections that a caller may read; those of others are named as in `bob/wiki`.

    An unknown or invisible name raises `NotFound`; changing another user's collection raises `OutOfScope`.
    """

    def __init__(self, view: IndexView) -> None:
        self._view = view
        self._rights = view.rights

    def list(self) -> list[CollectionInfo]:
        """Return the caller's own collections, the library first, then those that others share."""
        return [*(self._info(each) for each in self._rights.visible())]

    def get(self, name: str) -> CollectionInfo:
        """Return one collection."""
        return self._info(self._rights.find(name))

    @takes(CollectionRequest)
    def create(self, request: CollectionRequest) -> CollectionInfo:
        """Create an empty collection; `Index.add` creates a named one too."""
        return self._info(self._rights.create(request.name, request.description))

    def describe(self, name: str, description: str) -> CollectionInfo:
        """Describe the contents of a collection; agents get the description with their results."""
        self._rights.describe(name, description)
        return self.get(name)

    def rename(self, name: str, new: str) -> CollectionInfo:
        """Rename a collection; its contents and readers stay."""
        found = self._rights.owned(name)
        self._rights.rename(name, new)
        return self.get(found.label.removesuffix(found.record.name) + new)

    def share(self, name: str, who: str, *, write: bool = False) -> CollectionInfo:
        """Let a user, a group or `everyone` read a collection, and with `write` change what it holds."""
        self._rights.share(name, who, write=write)
        return self.get(name)

    def unshare(self, name: str, who: str) -> CollectionInfo:
        """Stop sharing a collection with `who`."""
        self._rights.unshare(name, who)
        return self.get(name)

    def remove(self, name: str, *roots: str | Path) -> int:
        """Delete a collection with its contents, or only those of some roots; return the number of removed documents.

        It cannot be undone. A library always exists, so its roots must be named.
        """
        if not roots:
            return sum(self._rights.remove(name).documents.values())
        from rifflux.ingest.sync import forget, sources

        store = self._view.writing(self._rights.owned(name).label).store
        places = [Path(root).expanduser().resolve() for root in roots]
        before = store.totals().documents
        known = sources(store)
        for place in places:
            if str(place) not in known:
                raise NotFound(f"{place} is no root of {name}: choose from {', '.join(known) or 'none'}")
        with store.transaction():
            for place in places:
                forget(store, place)
        return before - store.totals().documents

    def groups(self) -> Mapping[str, tuple[str, ...]]:
        """Return the members of each group. Methods of groups raise `OutOfScope` except for administrators."""
        return self._rights.groups()

    def set_group(self, name: str, members: Sequence[str]) -> None:
        """Set the users of a group, replacing those it had."""
        self._rights.put_group(name, members)

    def remove_group(self, name: str) -> None:
        """Delete a group, which ends what was shared with it."""
        self._rights.drop_group(name)

    def _info(self, found: VisibleCollection) -> CollectionInfo:
        from rifflux.ingest.sync import sources

        store = self._view.session.store.of(found.owner)
        record = found.record
        totals = store.totals()
        readers = self._rights.readers(found)
        roots = tuple(visible_namespace(each, owned=found.owned) for each in sources(store))
        about = record.user, record.description, totals.documents, totals.chunks, roots
        return CollectionInfo(found.label, *about, found.owned, found.writable, readers)
