"""Reads the works of a file that somebody sent, in a process apart."""

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
    """Return the works of a file under the name that its sender gave it, as `read_works` does; no other file is read.

    Places name the file alone. Raises `Unreadable`.
    """
    with sent(name, data) as path, place():
        found = apart(f"{__name__}:read_here", path, source=source, format=format)
    try:
        return [_item(each) for each in found]
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise Unreadable(f"{path.name} could not be read: what its reader answered is no work") from error


def read_here(path: Path, source: str, format: str | None) -> list[dict[str, Any]]:
    """Return the works of a file as JSON, in the process apart."""
    found = read_works(WorkSource(path, source, lambda _: source, alone=True), format)
    return [_told(each, path.parent) for each in found]


def _told(item: Entry | Failure, folder: Path) -> dict[str, Any]:
    if isinstance(item, Failure):
        return asdict(item.within(folder))
    place = item.place.replace(f"{folder}{os.sep}", "")
    return {"place": place, "key": item.key, "work": dump(item.work), "notes": item.notes}


def _item(told: Mapping[str, Any]) -> Entry | Failure:
    """Return the item that `read_here` told."""
    if "work" not in told:
        return Failure(**told)
    return Entry(told["place"], told["key"], load(told["work"]), tuple(told["notes"]))
