"""Rifflux finds the right passage in what you own, says why it ranked there, and hands it over as evidence.

import rifflux

with rifflux.open("notes.db") as index:
    index.add("~/notes")
    for hit in index.search("how long do cache entries live"):
        print(hit.path, hit.heading_path, hit.content)
"""

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
from rifflux.repairing import repair
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
