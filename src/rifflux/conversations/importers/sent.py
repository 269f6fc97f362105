"""Reads the conversations of an export that somebody sent, in a process apart."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from rifflux.conversations.importers import read
from rifflux.conversations.importers.base import Item, Tally
from rifflux.conversations.model import Conversation, Message, Thread
from rifflux.errors import Unreadable
from rifflux.ingest.parallel.apart import MOST, Limits, apart, safe_name, sent
from rifflux.types import Failure

__all__ = ["read_here", "read_sent"]

#: What an export may take. Its conversations are told one a line, so that but one of them is held here at a time.
LIMITS = replace(MOST, answer_mb=512)
#: Bytes of one of them.
LONGEST_LINE = 64_000_000


def read_sent(name: str, data: bytes, format: str | None, tally: Tally, limits: Limits = LIMITS) -> Iterator[Item]:
    """Yield the conversations of an export under the name that its sender gave it, as `read` does.

    All of it is read before the first is yielded. Where it cannot be, or takes more than the limits, a `Failure` says
    so.
    """
    with sent(name, data) as path:
        try:
            counts = apart(f"{__name__}:read_here", path, limits, format=format)
            tally.add(counts)
            yield from _told(path)
        except Unreadable as error:
            yield Failure(safe_name(name), str(error))


def read_here(path: Path, format: str | None) -> dict[str, Any]:
    """Write the conversations of an export beside it, in the process apart; return what became of the rest."""
    tally = Tally()
    with _lines(path).open("w", encoding="ascii") as lines:
        for item in read([path], format, tally):
            told = item.within(path.parent) if isinstance(item, Failure) else item
            lines.write(json.dumps(asdict(told)) + "\n")
    return tally.told()


def _lines(path: Path) -> Path:
    return path.with_name(f"{path.name}.threads")


def _told(path: Path) -> Iterator[Item]:
    """Yield what `read_here` wrote. Raises `Unreadable` for what is no conversation."""
    with _lines(path).open("rb") as lines:
        while line := lines.readline(LONGEST_LINE):
            try:
                yield _item(json.loads(line))
            except (AttributeError, KeyError, TypeError, ValueError, RecursionError) as error:
                raise Unreadable("could not be read: what its reader answered is no conversation") from error


def _item(told: Mapping[str, Any]) -> Item:
    if "conversation" not in told:
        return Failure(**told)
    messages = tuple(Message(**each) for each in told["messages"])
    return Thread(Conversation(**told["conversation"]), messages, told["whole"] is True)
