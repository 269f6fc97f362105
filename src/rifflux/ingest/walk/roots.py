"""What the index was asked to hold: folders as a whole, and single files of other folders.

A file belongs to a root, the folder its path is relative to. A root was either asked for whole, or is only the folder
of files that were named one by one; the setting `folders` keeps the former, also those that hold no file yet.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from rifflux.ingest.sync import Target
from rifflux.store import Store

__all__ = ["absorb", "folders", "forget", "remember", "sources"]

_SETTING = "folders"


def folders(store: Store) -> list[str]:
    """The folders that were asked for whole."""
    known = store.registry.setting(_SETTING)
    return json.loads(known) if known else []


def sources(store: Store) -> list[str]:
    """Every folder and file that was asked for: what brings all of the index up to date."""
    whole = folders(store)
    singles = [
        f"{root}/{path}" for root in store.catalog.roots() if root not in whole for path in store.catalog.files(root)
    ]
    return sorted([*whole, *singles])


def remember(store: Store, target: Target) -> None:
    """Keep that a folder was asked for whole."""
    root = str(target.root)
    if target.within == target.root and root not in folders(store):
        # Read again within the transaction: another process may be adding its own.
        with store.transaction():
            _keep(store, {*folders(store), root})


def absorb(store: Store, target: Target) -> None:
    """Drop what smaller roots hold of a folder that was just synced whole: it has those files under its own paths."""
    mine = store.catalog.files(str(target.root))
    for root in store.catalog.roots():
        inner = Path(root)
        if inner == target.root or not inner.is_relative_to(target.within):
            continue
        below = inner.relative_to(target.root).as_posix()
        held = store.catalog.files(root)
        taken = [path for path in held if f"{below}/{path}" in mine]
        with store.transaction():
            store.catalog.remove_files(root, taken)
            if len(taken) < len(held):
                continue
            _keep(store, [folder for folder in folders(store) if folder != root])


def forget(store: Store, path: Path) -> int | None:
    """Drop every file at or below a path that is gone; returns how many, None if nothing was known there."""
    gone = {
        root: [name for name in store.catalog.files(root) if _at(path, Path(root, name))]
        for root in store.catalog.roots()
    }
    if not any(gone.values()) and not any(_at(path, Path(folder)) for folder in folders(store)):
        return None
    with store.transaction():
        for root, names in gone.items():
            store.catalog.remove_files(root, names)
        _keep(store, [folder for folder in folders(store) if not _at(path, Path(folder))])
    return sum(map(len, gone.values()))


def _at(path: Path, other: Path) -> bool:
    return other == path or other.is_relative_to(path)


def _keep(store: Store, kept: Iterable[str]) -> None:
    kept = sorted(kept)
    if kept != folders(store):
        store.registry.set(_SETTING, json.dumps(kept, ensure_ascii=False))
