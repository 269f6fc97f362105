"""Names of documents by file and lines, suggestions for unknown names, and owners of folders."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from difflib import get_close_matches
from pathlib import Path, PurePosixPath

from rifflux.errors import Cure, InvalidArgument
from rifflux.store import Selection, Store
from rifflux.types import Document, Lines

_RANGE = re.compile(r"(?P<name>.+?):(?P<first>[1-9]\d{0,8})(?:-(?P<last>[1-9]\d{0,8}))?")
#: The maximum number of names compared with an unknown name, and of suggestions.
_COMPARED = 20_000
_MOST_SUGGESTED = 5


def in_lines(name: str) -> tuple[str, Lines] | None:
    """Return the name and the lines of `notes/a.md:10-40` or `notes/a.md:10`, or None for a name without lines."""
    found = _RANGE.fullmatch(name)
    if found is None:
        return None
    first = int(found["first"])
    return found["name"], (first, max(first, int(found["last"] or first)))


def cut_to(document: Document, lines: Lines) -> Document:
    """Return a document with only the given lines of its text."""
    first, last = lines
    return replace(document, text="\n".join(document.text.split("\n")[first - 1 : last]), parts=())


def namesakes(store: Store, name: str) -> list[tuple[str, str]]:
    """Return (namespace, key) of documents by file name, with or without suffix, ignoring case."""
    name_path = PurePosixPath(name.casefold())
    return [
        (row.namespace, row.document.key)
        for row in store.catalog.documents(Selection(words=name_path.name), most=_COMPARED)
        if _ends_in(PurePosixPath(row.path.casefold()), name_path)
    ]


def _ends_in(path: PurePosixPath, tail: PurePosixPath) -> bool:
    parts = tail.parts
    return bool(parts) and parts in (path.parts[-len(parts) :], path.with_suffix("").parts[-len(parts) :])


def lookalikes(store: Store, name: str) -> list[str]:
    """Return paths or keys that are similar to an unknown name or contain it, as suggestions."""
    words = PurePosixPath(name).name
    if words:
        matching = [*store.catalog.documents(Selection(words=words), most=_MOST_SUGGESTED)]
    else:
        matching = []
    called: dict[str, list[str]] = {}
    for row in store.catalog.documents(Selection(), most=_COMPARED):
        for each in (PurePosixPath(row.path).name, PurePosixPath(row.path).stem):
            called.setdefault(each.casefold(), []).append(row.path or row.document.key)
    near = get_close_matches(words.casefold(), called, _MOST_SUGGESTED, cutoff=0.6)
    like = [path for each in near for path in called[each]]
    return [*dict.fromkeys([*like, *(row.path or row.document.key for row in matching)])][:_MOST_SUGGESTED]


def refuse_twice(places: Iterable[Path], label: str, store: Store) -> None:
    """Raise `InvalidArgument` if another collection contains a place or a part of it."""
    from rifflux.ingest.sync import sources

    for source in (Path(each) for each in sources(store)):
        for place in places:
            if place.is_relative_to(source) or source.is_relative_to(place):
                raise InvalidArgument(
                    f"{source} is in the collection {label}", cure=Cure.MOVE, collection=label, root=str(source)
                )
