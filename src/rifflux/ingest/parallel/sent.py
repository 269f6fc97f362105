"""Reading of the documents of an uploaded file in a separate process."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rifflux.errors import Unreadable
from rifflux.ingest.parallel.apart import Place, apart, safe_name, sent
from rifflux.ingest.read import FORMATS, read, reader_for
from rifflux.ingest.read.base import File, what_is
from rifflux.types import Block, Document, Failure, Link, Parsed
from rifflux.types.limits import READER_LIMITS, ReaderLimits

_HEAD = 8192


def read_sent(
    name: str, data: bytes, limits: ReaderLimits = READER_LIMITS, place: Place = nullcontext
) -> list[Parsed | Failure]:
    """Return the documents of a file under its sender's name, as `ingest.read.read` does.

    The key of the file as a whole is `safe_name(name)`. Raises `Unreadable` with the reason.
    """
    if reader_for(safe_name(name), data[:_HEAD]) is None:
        holds = what_is(data) or "data that is not text"
        raise Unreadable(f"contains {holds}, which is not read: send text, or one of {', '.join(sorted(FORMATS))}")
    with sent(name, data) as path, place():
        parts = apart(f"{__name__}:read_here", path, limits)
    try:
        return [_part(each) for each in parts]
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise Unreadable("could not be read: its reader did not return a document") from error


def read_here(path: Path) -> list[dict[str, Any]]:
    """Return the documents of a file as JSON, in the separate process."""
    return [asdict(each) for each in read(File(path.name, path.read_bytes()))]


def _part(part: Mapping[str, Any]) -> Parsed | Failure:
    """Return the part from the JSON of its `asdict`."""
    if "document" not in part:
        return Failure.of_json(part)
    # Fields that readers do not set have their defaults: empty lists.
    fields = {name: value for name, value in part["document"].items() if value != []}
    links = tuple(Link(**each) for each in fields.pop("links", ()))
    blocks = tuple(Block(**each | {"headings": tuple(each["headings"])}) for each in part["blocks"])
    return Parsed(Document(**fields, links=links), blocks)
