"""Rifflux finds the right passage in what you own, says why it ranked there, and hands it over as evidence.

import rifflux

with rifflux.open("notes.db") as index:
    index.add("~/notes")
    for hit in index.search("how long do cache entries live"):
        print(hit.path, hit.heading_path, hit.content)
"""

from __future__ import annotations

import typing as _typing

if _typing.TYPE_CHECKING:
    from rifflux.errors import (
        Busy,
        DamagedIndex,
        InvalidArgument,
        MissingExtra,
        ModelError,
        ModelMismatch,
        NewerIndex,
        NotAnIndex,
        NotFound,
        OutOfScope,
        OutsideRoots,
        RiffluxError,
        Unreadable,
        UnusableIndex,
    )
    from rifflux.index import Index, Status
    from rifflux.index import open_index as open
    from rifflux.index.salvage import repair
    from rifflux.types import Document, Failure, Filter, Hit, IndexReport, Link, Results, Scope, Trace, Verdict, Why

__all__ = [
    "Busy",
    "DamagedIndex",
    "Document",
    "Failure",
    "Filter",
    "Hit",
    "Index",
    "IndexReport",
    "InvalidArgument",
    "Link",
    "MissingExtra",
    "ModelError",
    "ModelMismatch",
    "NewerIndex",
    "NotAnIndex",
    "NotFound",
    "OutOfScope",
    "OutsideRoots",
    "Results",
    "RiffluxError",
    "Scope",
    "Status",
    "Trace",
    "Unreadable",
    "UnusableIndex",
    "Verdict",
    "Why",
    "open",
    "repair",
]

__version__ = "0.1.0"

# The public names that are neither an error nor one of the types. Loading them all takes longer than many a command
# runs, so each is loaded when it is first asked for.
_ELSEWHERE = {
    "Index": ("index", "Index"),
    "Status": ("index", "Status"),
    "open": ("index", "open_index"),
    "repair": ("index.salvage", "repair"),
}


def __getattr__(name: str) -> _typing.Any:
    """Load a public name."""
    if name not in __all__:
        raise AttributeError(f"module 'rifflux' has no attribute {name!r}")
    from importlib import import_module

    errors = import_module("rifflux.errors")
    module, attribute = _ELSEWHERE.get(name, ("errors" if hasattr(errors, name) else "types", name))
    value = globals()[name] = getattr(import_module(f"rifflux.{module}"), attribute)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
