"""The folders of documents: their names for a caller, and the folders that a filter selects."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePath

from rifflux.session.session import IndexView
from rifflux.store import Selection
from rifflux.types import Filter

#: The maximum number of folders considered, those with the most documents first.
MOST_FOLDERS = 10_000
#: A folder without documents: matches nothing.
_NOWHERE = ("",)


@dataclass(frozen=True, slots=True)
class Folder:
    """The first part of the paths in a root or another namespace, with the number of documents there.

    `place` is the namespace in the parts that the caller may know: the whole path of a root of their own, only the last
    part of another's root.
    """

    namespace: str
    name: str
    place: tuple[str, ...]
    documents: int

    @property
    def key(self) -> str:
        """Return the folder in the store's terms."""
        return f"{self.namespace}/{self.name}"

    def label(self, length: int) -> str:
        """Return the name, preceded by that many parts of the place."""
        if length < len(self.place):
            behind = self.place[len(self.place) - length :]
        else:
            behind = self.place
        return "/".join((*behind, self.name))


def folders_of(view: IndexView) -> list[tuple[str, int]]:
    """Return the folders that the caller may read, each with its number of documents, most documents first.

    A folder is named by its name; if several roots have a folder of that name, it is preceded by as many parent names
    as distinguish them.
    """
    by_name: dict[str, list[Folder]] = {}
    for folder in _folders(view):
        by_name.setdefault(folder.name, []).append(folder)
    counts: dict[str, int] = {}
    for same in by_name.values():
        for label, documents in _labelled(same):
            counts[label] = counts.get(label, 0) + documents
    return sorted(counts.items(), key=lambda each: (-each[1], each[0]))


def _labelled(same: Sequence[Folder]) -> Iterator[tuple[str, int]]:
    """Yield the shortest unambiguous label of each folder of the same name, with the number of documents."""
    for folder in same:
        length = 0
        while length < len(folder.place) and any(
            other is not folder and other.label(length) == folder.label(length) for other in same
        ):
            length += 1
        yield folder.label(length), folder.documents


def resolved(view: IndexView, filter: Filter) -> Filter:
    """Return a filter with its folders in the store's terms.

    `src` selects each folder of that name, `guide/src` those in a root named `guide`. Parts of a place that the caller
    may not know are never compared.
    """
    if not filter.folders:
        return filter
    paths = [tuple(each.strip("/").split("/")) for each in filter.folders]
    found = dict.fromkeys(
        folder.key
        for folder in _folders(view)
        if any(each == (*folder.place, folder.name)[-len(each) :] for each in paths)
    )
    return replace(filter, folders=tuple(found) or _NOWHERE)


def _folders(view: IndexView) -> Iterator[Folder]:
    """Yield the folders of all documents that the caller may read."""
    view = view.reading()
    # A license decides what is disclosed of works.
    rows = view.store.catalog.values("folder", Selection(works=False), MOST_FOLDERS)
    found = [(*str(name).rpartition("/"), documents) for name, documents in rows]
    roots = list(dict.fromkeys(namespace for namespace, *_ in found))
    owned = _owned(view)
    places: dict[str, tuple[str, ...]] = {}
    for root in roots:
        place = PurePath(root)
        if not place.is_absolute():
            places[root] = (root,) if root else ()
        elif owned is None or root in owned:
            places[root] = place.parts[1:]
        else:
            places[root] = (place.name,)
    for namespace, _, name, documents in found:
        yield Folder(namespace, name, places[namespace], documents)


def _owned(view: IndexView) -> set[str] | None:
    """Return the caller's own roots, or None if all roots are."""
    if all(view.owns(each) for each in view.labels):
        return None
    return {root for owner in view.mine for root in view.session.store.of(owner).catalog.roots()}
