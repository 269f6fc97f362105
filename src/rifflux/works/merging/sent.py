"""Read the works of an uploaded file in a separate process."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rifflux.errors import Unreadable
from rifflux.ingest.parallel.apart import Place, apart, sent
from rifflux.types import Failure
from rifflux.works.importers import read_works
from rifflux.works.importers.base import Entry, WorkSource
from rifflux.works.merging.merge import dump, load


def read_sent(
    name: str, data: bytes, source: str, format: str | None = None, place: Place = nullcontext
) -> list[Entry | Failure]:
    """Read the works of an uploaded file under its own name, as `read_works` does; no other file is read.

    Places name the file alone. Raises `Unreadable`.
    """
    with sent(name, data) as path, place():
        found = apart(f"{__name__}:read_here", path, source=source, format=format)
    try:
        return [_item(each) for each in found]
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise Unreadable(f"{path.name} could not be read: what its reader answered is no work") from error


def read_here(path: Path, source: str, format: str | None) -> list[dict[str, Any]]:
    """Return the works of a file as JSON; this runs in the separate process."""
    found = read_works(WorkSource(path, source, lambda _: source, alone=True), format)
    return [_item_json(each, path.parent) for each in found]


def _item_json(item: Entry | Failure, folder: Path) -> dict[str, Any]:
    if isinstance(item, Failure):
        return asdict(item.within(folder))
    place = item.place.replace(f"{folder}{os.sep}", "")
    return {"place": place, "key": item.key, "work": dump(item.work), "notes": item.notes}


def _item(record: Mapping[str, Any]) -> Entry | Failure:
    """Return the item that `read_here` wrote as JSON."""
    if "work" not in record:
        return Failure.of_json(record)
    return Entry(record["place"], record["key"], load(record["work"]), tuple(record["notes"]))
