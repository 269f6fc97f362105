"""Reading the works of an uploaded file in a separate process."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rifflux.errors import MissingExtra, Unreadable
from rifflux.ingest.parallel.apart import Place, apart, sent, streamed
from rifflux.types import Failure
from rifflux.types.limits import READER_LIMITS, ReaderLimits
from rifflux.works.importers import read_works
from rifflux.works.importers.base import Entry, WorkSource
from rifflux.works.importers.sources import name_among
from rifflux.works.merging.merge import dump, load


def read_sent(
    name: str,
    data: bytes,
    source: str,
    format: str | None = None,
    place: Place = nullcontext,
    limits: ReaderLimits = READER_LIMITS,
) -> list[Entry | Failure]:
    """Read the works of an uploaded file under its original name, as `read_works` does; no other file is read.

    Places name only the file. Raises `Unreadable`.
    """
    with sent(name, data) as path, place():
        found = apart(f"{__name__}:read_here", path, limits, source=source, format=format)
    try:
        return [_item(each) for each in found]
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise Unreadable(f"{path.name} could not be read: what its reader answered is no work") from error


def read_own(
    source: WorkSource, known: Mapping[str, str], format: str | None, limits: ReaderLimits
) -> Iterator[Entry | Failure]:
    """Read the works of a local file, as `read_works` does, in a separate process within limits.

    `known` maps names of sources to their paths; places in other files are named by their source.
    """
    options = {"path": str(source.path), "source": source.name, "known": dict(known), "format": format}
    try:
        for record in streamed(f"{__name__}:read_own_here", limits, **options):
            if "named" in record:
                source.name_of(Path(record["named"]))
            else:
                yield _item(record)
    except (Unreadable, MissingExtra) as error:
        yield Failure.of(str(source.path), error)


def read_own_here(path: str, source: str, known: dict[str, str], format: str | None) -> Iterator[dict[str, Any]]:
    """Yield the works of a file as JSON, and the path of each other file read; runs in the separate process."""
    named: list[str] = []

    def name_of(other: Path) -> str:
        named.append(str(other))
        return name_among(known, other)

    for item in read_works(WorkSource(Path(path), source, name_of), format):
        yield from ({"named": each} for each in named)
        named.clear()
        yield _item_json(item, None)


def read_here(path: Path, source: str, format: str | None) -> list[dict[str, Any]]:
    """Return the works of a file as JSON; runs in the separate process."""
    found = read_works(WorkSource(path, source, lambda _: source, alone=True), format)
    return [_item_json(each, path.parent) for each in found]


def _item_json(item: Entry | Failure, folder: Path | None) -> dict[str, Any]:
    """Return an item as JSON; with a folder, its place is relative to it."""
    if isinstance(item, Failure):
        return asdict(item.within(folder) if folder else item)
    if folder:
        place = item.place.replace(f"{folder}{os.sep}", "")
    else:
        place = item.place
    return {"place": place, "key": item.key, "work": dump(item.work), "notes": item.notes}


def _item(record: Mapping[str, Any]) -> Entry | Failure:
    """Rebuild an item from the JSON of `read_here`."""
    if "work" not in record:
        return Failure.of_json(record)
    return Entry(record["place"], record["key"], load(record["work"]), tuple(record["notes"]))
