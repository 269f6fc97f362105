"""Reads the conversations of a file that somebody sent, in a process apart."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rifflux.conversations.importers import read
from rifflux.conversations.model import Conversation, Message, Thread
from rifflux.errors import Unreadable
from rifflux.ingest.parallel.apart import apart, sent
from rifflux.types import Failure

__all__ = ["read_here", "read_sent"]


def read_sent(name: str, data: bytes, format: str | None = None) -> list[Thread | Failure]:
    """Return the conversations of a file under the name that its sender gave it, as `importers.read` does.

    Failures name the file alone. Raises `Unreadable`, and `InvalidArgument` for an unknown format.
    """
    read((), format)
    with sent(name, data) as path:
        found = apart(f"{__name__}:read_here", path, format=format)
    try:
        return [_item(each) for each in found]
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise Unreadable(f"{path.name} could not be read: what its reader answered is no conversation") from error


def read_here(path: Path, format: str | None) -> list[dict[str, Any]]:
    """Return the conversations of a file as JSON, in the process apart."""
    return [_told(path, each) for each in read([path], format)]


def _told(path: Path, item: Thread | Failure) -> dict[str, Any]:
    if isinstance(item, Thread):
        return asdict(item)
    return {"path": item.path.replace(f"{path.parent}{os.sep}", ""), "reason": item.reason}


def _item(told: Mapping[str, Any]) -> Thread | Failure:
    """Return the item that `read_here` told."""
    if "conversation" not in told:
        return Failure(**told)
    messages = tuple(Message(**each) for each in told["messages"])
    return Thread(Conversation(**told["conversation"]), messages, told["whole"])
