"""Reads conversations from files and export folders, each format by its own module."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from rifflux.conversations.importers.base import read_jsonl, read_messages
from rifflux.conversations.importers.openai import read_openai
from rifflux.conversations.importers.slack import is_slack, read_slack
from rifflux.conversations.model import Thread
from rifflux.errors import InvalidArgument, NotFound, Unreadable
from rifflux.types import Failure

__all__ = ["FORMATS", "read"]

#: What can be read: JSON Lines, an OpenAI export, a Slack export, and arrays of messages with role and content.
FORMATS: Mapping[str, Callable[[Path], Iterator[Thread | Failure]]] = {
    "jsonl": read_jsonl,
    "openai": read_openai,
    "slack": read_slack,
    "messages": read_messages,
}
_LINES = (".jsonl", ".ndjson")
#: How much of a JSON file is looked at to tell what it is.
_HEAD = 4096


def read(paths: Sequence[str | Path], format: str | None = None) -> Iterator[Thread | Failure]:
    """Return the conversations of files and folders; what cannot be read is a `Failure` in its place.

    Raises `NotFound` for a path that does not exist and `InvalidArgument` for an unknown format, before reading any.
    """
    if format is not None and format not in FORMATS:
        raise InvalidArgument(f"no format {format!r}: choose one of {', '.join(FORMATS)}")
    found = list[Path]()
    for path in map(Path.expanduser, map(Path, paths)):
        if not path.exists():
            raise NotFound(f"nothing at {path}: check the path's spelling")
        found += _files(path, format)
    return _threads(found, format)


def _threads(paths: Sequence[Path], format: str | None) -> Iterator[Thread | Failure]:
    for path in paths:
        try:
            yield from FORMATS[format or _format(path)](path)
        except Unreadable as error:
            yield Failure(str(path), str(error))
        except OSError as error:
            yield Failure(str(path), f"cannot be read: {error.strerror}")


def _files(path: Path, format: str | None) -> list[Path]:
    """Return the exports at a path: a folder is one, or holds files that are."""
    if not path.is_dir() or format == "slack" or is_slack(path):
        return [path]
    conversations = path / "conversations.json"
    return [conversations] if conversations.is_file() else sorted([*path.glob("*.json"), *path.glob("*.jsonl")])


def _format(path: Path) -> str:
    if path.is_dir():
        return "slack"
    if path.suffix.lower() in _LINES:
        return "jsonl"
    with path.open("rb") as file:
        return "openai" if b'"mapping"' in file.read(_HEAD) else "messages"
