"""Measure what takes the space of an index: tables and indexes of its database, and sections of the files beside it.

    python -m bench parts INDEX.db

Megabytes are of whole pages, of the file as it is: close the index before. Parts below `--least` MB are added up.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import apsw
import numpy as np

# The checksums of pages are those of an index only if its module was imported.
import rifflux.store.sqlite.connection.connect  # noqa: F401
from rifflux.store.sqlite.connection.derived import STAMP_BYTES, StateStamp
from rifflux.store.sqlite.semantic.packed import sections_of

_TABLES = "select name, sum(pgsize) from dbstat group by name"


def main() -> None:
    """Print a table of the parts, largest first."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("index", type=Path, metavar="INDEX.db")
    parser.add_argument("--least", type=float, default=0.2)
    arguments = parser.parse_args()
    print("| part | MB |\n| --- | ---: |")
    every = 0.0
    for name, parts in _files(arguments.index):
        sizes = {part: size / 1e6 for part, size in parts.items()}
        total = sum(sizes.values())
        every += total
        print(f"| **{name}** | **{total:.1f}** |")
        large = {part: size for part, size in sizes.items() if size >= arguments.least}
        for part, size in sorted(large.items(), key=lambda each: -each[1]):
            print(f"| {part} | {size:.1f} |")
        if len(large) < len(sizes):
            print(f"| {len(sizes) - len(large)} more | {total - sum(large.values()):.1f} |")
    print(f"| **all** | **{every:.1f}** |")


def _files(index: Path) -> Iterator[tuple[str, dict[str, int]]]:
    """Yield the files of an index with the bytes of their parts."""
    with closing(apsw.Connection(str(index), flags=apsw.SQLITE_OPEN_READONLY)) as connection:
        parts = {str(name): int(size) for name, size in connection.execute(_TABLES)}
        parts["free pages"] = connection.pragma("freelist_count") * connection.pragma("page_size")
    yield "database", parts
    for name in ("vectors", "words"):
        path = index.with_name(f"{index.name}.{name}")
        if path.exists():
            yield name, _sections(path)


def _sections(path: Path) -> dict[str, int]:
    """Return the bytes of the sections of a derived file, and of what lies between them."""
    with path.open("rb") as file:
        facts = StateStamp.decoded(file.read(STAMP_BYTES)).facts
    if "sections" in facts:
        parts = {name: _size(kind, shape) for name, (kind, shape) in facts["sections"].items()}
    else:
        sections = sections_of(facts["rows"], facts["dimension"], facts["owners"])
        parts = {name: section.size for name, section in sections.items()}
    return parts | {"between": path.stat().st_size - sum(parts.values())}


def _size(kind: str, shape: tuple[int, ...]) -> int:
    return int(np.prod(shape)) * np.dtype(kind).itemsize


if __name__ == "__main__":
    main()
