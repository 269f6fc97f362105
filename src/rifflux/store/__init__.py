"""Where the index lives: a store of four roles, their values, and the engines that offer them."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from rifflux.errors import InvalidArgument
from rifflux.store.catalog import LONGEST_NAME, AnalyzedChunk, Catalog, DocumentChange, Edge, FileState, Placed
from rifflux.store.lexical import VARIANT, FieldWeights, Lexical
from rifflux.store.mending import NAMING, REVISION, Analysis, Mended, Problem, StoredChunk
from rifflux.store.registry import (
    JUDGEMENT,
    Erased,
    Event,
    QuestionDigest,
    Reaction,
    Registry,
    Spending,
    SpendingSum,
    Token,
)
from rifflux.store.semantic import Generation, Generations, ModelInfo, Pending, Semantic, State
from rifflux.store.store import PART, Store

if TYPE_CHECKING:
    from rifflux.store.sqlite.maintenance.salvage import Salvaged

__all__ = [
    "JUDGEMENT",
    "LONGEST_NAME",
    "NAMING",
    "PART",
    "REVISION",
    "STORES",
    "VARIANT",
    "Analysis",
    "AnalyzedChunk",
    "Catalog",
    "DocumentChange",
    "Edge",
    "Erased",
    "Event",
    "FieldWeights",
    "FileState",
    "Generation",
    "Generations",
    "Lexical",
    "Mended",
    "ModelInfo",
    "Pending",
    "Placed",
    "Problem",
    "QuestionDigest",
    "Reaction",
    "Registry",
    "Semantic",
    "Spending",
    "SpendingSum",
    "State",
    "Store",
    "StoredChunk",
    "Token",
    "open_store",
    "salvage_store",
]

#: Engine by URL scheme; a plain path is SQLite.
STORES = {"sqlite": "rifflux.store.sqlite:SqliteStore"}


def open_store(location: str | Path, *, create: bool = True, neighbours: str = "scan") -> Store:
    """Open the store at a path or URL (`notes.db`, `sqlite:notes.db`, `:memory:`).

    `neighbours` says how very many vectors are searched: `scan` or `hnsw`.
    """
    scheme, separator, rest = str(location).partition("://")
    if not separator:
        scheme, rest = "sqlite", str(location)
    if scheme not in STORES:
        raise InvalidArgument(f"no store for {scheme}://; choose one of {', '.join(STORES)}")
    module, _, name = STORES[scheme].partition(":")
    store: Store = getattr(import_module(module), name).open(rest, create=create, neighbours=neighbours)
    return store


def salvage_store(path: str | Path) -> Salvaged:
    """Put what can be read of a damaged index file into a new one in its place; mend that afterwards.

    Raises `DamagedIndex` if nothing can be read, and leaves everything as it was.
    """
    from rifflux.store.sqlite.maintenance.salvage import salvage

    return salvage(str(path))
