"""Removal of documents and files from an index by name or pattern; removed files stay removed."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from rifflux.errors import OutOfScope
from rifflux.session.arguments import checked_text
from rifflux.session.reading import Reader
from rifflux.session.session import IndexView
from rifflux.store import FileRemoval, Removal, Store, find_documents, has_file
from rifflux.types import parted

#: The characters that make a name a pattern.
_WILD = re.compile(r"[*?\[]|/\Z")


@dataclass(frozen=True, slots=True)
class Removed:
    """The result of a removal, or of a `dry_run`: the number of documents, and the names of files and documents.

    A file has its absolute path, any other document its key.
    """

    documents: int
    names: tuple[str, ...]
    dry_run: bool = False


@dataclass(slots=True)
class _Plan:
    """The removal planned in one collection: files of its roots, patterns that exclude them, and documents."""

    store: Store
    files: dict[str, set[str]] = field(default_factory=dict)
    patterns: dict[str, list[str]] = field(default_factory=dict)
    documents: list[tuple[str, str]] = field(default_factory=list)
    whole: list[str] = field(default_factory=list)

    def add(self, root: str, paths: set[str], pattern: str) -> None:
        """Plan to remove files of a root, and to exclude files that match a pattern from later runs."""
        self.files.setdefault(root, set()).update(paths)
        self.patterns.setdefault(root, []).append(pattern)

    def add_below(self, root: str, path: str) -> bool:
        """Plan to remove the file or folder at a path of a root; return False if none is known there."""
        from rifflux.ingest.sync import pattern_of

        known = {file.path for file in self.store.catalog.files(root, below=path)}
        if known:
            self.add(root, known, pattern_of(path) if path in known else f"{pattern_of(path)}/")
        return bool(known)

    def names(self) -> Iterator[str]:
        """Yield the names of the files and documents to remove."""
        for root, paths in self.files.items():
            yield from sorted(f"{root}/{path}" for path in paths)
        for _, key in self.documents:
            yield key

    def count(self) -> int:
        """Return the number of documents to remove."""
        catalog = self.store.catalog
        return len(self.documents) + sum(
            len(find_documents(catalog, f"{root}/{path}")) for root, paths in self.files.items() for path in paths
        )

    def carry_out(self) -> int:
        """Remove the planned files and documents; return the number of documents."""
        from rifflux.ingest.sync import forget, leave_out

        removed = 0
        for root, paths in self.files.items():
            leave_out(self.store, root, self.patterns.get(root, ()))
            removed += self.store.catalog.write(FileRemoval(root, sorted(paths)))
        removed += self.store.catalog.write(*(Removal(namespace, [key]) for namespace, key in self.documents))
        for root in self.whole:
            forget(self.store, Path(root))
        return removed


@dataclass(frozen=True, slots=True)
class Remover:
    """Removes documents from the collections that the caller of a view may write."""

    view: IndexView

    def remove(self, *keys: str, collection: str = "", dry_run: bool = False) -> Removed:
        """Remove documents and files from the index; the files themselves stay on disk.

        `keys` are each the key, path or identifier of a document, the path of a file or folder that was indexed, or a
        pattern as in `.gitignore` (`*.log`, `drafts/`). Files removed from a folder stay removed until they
        are named explicitly, and so do files that match a pattern later: `Status.removed` lists both. A record of a
        file with several returns when that file changes. With `collection`, names refer to its content. With `dry_run`
        nothing is removed. Raises `NotFound` for an unknown name, or `OutOfScope` for read-only content, before
        removing anything.
        """
        visible = self.view.rights.visible([collection] if collection else ())
        writable = {each.owner for each in visible if each.writable}
        if collection:
            own = [each.owner for each in visible]
        else:
            writable.add(self.view.store.owner)
            own = [self.view.store.owner, *(each.owner for each in visible if each.owned)]
        plans = {owner: _Plan(self.view.session.store.of(owner)) for owner in dict.fromkeys((*own, *writable))}
        searched = [plans[owner] for owner in dict.fromkeys(own)]
        reader = Reader(self.view, [collection] if collection else ())
        for name in keys:
            name = checked_text("the name of what is to be removed", name)
            exact = len(reader.named(name))
            if _plan_path(name, searched) or (exact != 1 and _plan_below(name, searched)):
                continue
            if not exact and _WILD.search(name) and _plan_pattern(name, searched):
                continue
            namespace, key = reader.place_of(name)
            namespace, owner = parted(namespace)
            if owner is None:
                owner = reader.store.owner
            if owner not in writable:
                label = reader.view.labels[owner]
                raise OutOfScope(f"{name!r} is in {label}, which is read-only: ask its owner to remove it")
            _plan_document(namespace, key, plans[owner])
        listed = tuple(name for plan in plans.values() for name in plan.names())
        store = self.view.session.store
        if dry_run:
            documents = sum(plan.count() for plan in plans.values())
        else:
            with store.transaction():
                documents = sum(plan.carry_out() for plan in plans.values())
        return Removed(documents, listed, dry_run)


def _plan_document(namespace: str, key: str, plan: _Plan) -> None:
    """Plan to remove a document, or the file if it contains nothing else."""
    from rifflux.ingest.sync import pattern_of

    if has_file(plan.store.catalog, namespace, key):
        plan.add(namespace, {key}, pattern_of(key))
    else:
        plan.documents.append((namespace, key))


def _plan_path(name: str, plans: Sequence[_Plan]) -> bool:
    """Plan to remove the files at or below a path on disk, which may be missing; return False if none are known."""
    from rifflux.ingest.sync import folders
    from rifflux.ingest.walk.find import real_place

    place = real_place(Path(name).expanduser().absolute())
    found = False
    for plan in plans:
        for root in plan.store.catalog.roots():
            if place == Path(root) and root in folders(plan.store):
                plan.files.setdefault(root, set()).update(file.path for file in plan.store.catalog.files(root))
                plan.whole.append(root)
                found = True
            elif place != Path(root) and place.is_relative_to(root):
                found = plan.add_below(root, place.relative_to(root).as_posix()) or found
    return found


def _plan_below(name: str, plans: Sequence[_Plan]) -> bool:
    """Plan to remove the files at or below a path inside a root; return False unless exactly one root has it."""
    path = name.rstrip("/")
    roots = [(plan, root) for plan in plans for root in plan.store.catalog.roots()]
    having = [(plan, root) for plan, root in roots if any(plan.store.catalog.files(root, below=path))]
    if len(having) != 1:
        return False
    plan, root = having[0]
    return plan.add_below(root, path)


def _plan_pattern(name: str, plans: Sequence[_Plan]) -> bool:
    """Plan to remove the files of all roots that match a pattern; return False if none does."""
    found = False
    place = os.path.abspath(Path(name).expanduser()) + ("/" if name.endswith("/") else "")  # noqa: PTH100 (a pattern)
    for plan in plans:
        for root in plan.store.catalog.roots():
            patterns = [name]
            if "/" in name.rstrip("/") and place.startswith(f"{root}/"):
                patterns.append(place.removeprefix(root))
            for pattern in patterns:
                matched = set(matching(pattern, (file.path for file in plan.store.catalog.files(root))))
                if matched:
                    plan.add(root, matched, pattern)
                    found = True
                    break
    return found


def matching(pattern: str, paths: Iterable[str]) -> Iterator[str]:
    """Yield the paths of files that a pattern excludes, themselves or a folder that they are in."""
    from rifflux.ingest.walk.ignore import Ignores

    rules = Ignores().under("", [pattern])
    for path in paths:
        parts = path.split("/")
        folders = ("/".join(parts[:end]) for end in range(1, len(parts)))
        if any(rules(folder, folder=True) for folder in folders) or rules(path, folder=False):
            yield path
