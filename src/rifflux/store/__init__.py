"""Where the index lives: the Store protocol and the engines that fulfil it."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

from rifflux.errors import InvalidArgument
from rifflux.store.base import Store

__all__ = ["STORES", "Store", "open_store"]

#: Engine by URL scheme; a plain path is SQLite.
STORES = {"sqlite": "rifflux.store.sqlite:SqliteStore"}


def open_store(location: str | Path, *, create: bool = True) -> Store:
    """Open the store at a path or URL (`notes.db`, `sqlite:notes.db`, `:memory:`)."""
    scheme, separator, rest = str(location).partition("://")
    if not separator:
        scheme, rest = "sqlite", str(location)
    if scheme not in STORES:
        raise InvalidArgument(f"no store for {scheme}://; choose one of {', '.join(STORES)}")
    module, _, name = STORES[scheme].partition(":")
    store: Store = getattr(import_module(module), name).open(rest, create=create)
    return store
