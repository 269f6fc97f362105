"""Reading an uploaded export in a separate process."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from rifflux.conversations.importers import checked_format, read
from rifflux.conversations.importers.base import Item, Tally
from rifflux.conversations.model import Conversation, Message, Thread
from rifflux.errors import NotFound, Unreadable
from rifflux.ingest.parallel.apart import Place, apart, safe_name, sent, streamed
from rifflux.types import Failure
from rifflux.types.limits import READER_LIMITS, ReaderLimits

#: Limits for one export. Conversations are written one per line, so that only one is in memory at a time.
LIMITS = replace(READER_LIMITS, answer_mb=512)
#: The maximum length of a line in bytes.
LONGEST_LINE = 64_000_000
_NO_ANSWER = "could not be read: what its reader answered is no conversation"


@dataclass(frozen=True, slots=True)
class Read:
    """A parsed export: `items` yields its conversations and failures, and may be called repeatedly."""

    items: Callable[[], Iterator[Item]]
    count: int = 1
    messages: int = 0
    characters: int = 0


@contextmanager
def read_sent(
    name: str,
    data: bytes,
    format: str | None,
    tally: Tally,
    limits: ReaderLimits = LIMITS,
    place: Place = nullcontext,
) -> Iterator[Read]:
    """Read the conversations of an uploaded export under its original name, as `read` does.

    Everything is read before the block begins and remains available until it ends. If the export cannot be read or
    exceeds the limits, the only item is a `Failure`.
    """
    with sent(name, data) as path:
        try:
            with place():
                counts = apart(f"{__name__}:read_here", path, limits, format=format)
            tally.add(counts)
            sizes = {each: int(counts[each]) for each in ("count", "messages", "characters")}
        except (Unreadable, KeyError, TypeError, ValueError) as error:
            if isinstance(error, Unreadable):
                reason = str(error)
            else:
                reason = _NO_ANSWER
            failure = Failure(safe_name(name), reason)
            yield Read(lambda: iter((failure,)))
        else:
            yield Read(partial(_items, path, safe_name(name)), **sizes)


def read_own(sources: Sequence[str | Path], format: str | None, tally: Tally, limits: ReaderLimits) -> Iterator[Item]:
    """Read the conversations of local exports, as `read` does, in a separate process within limits."""
    checked_format(format)
    found = [Path(source).expanduser() for source in sources]
    for source in found:
        if not source.exists():
            raise NotFound(f"nothing at {source}: check the path's spelling")
    return _all_own(found, format, tally, limits)


def _all_own(sources: Sequence[Path], format: str | None, tally: Tally, limits: ReaderLimits) -> Iterator[Item]:
    for source in sources:
        try:
            for item in streamed(f"{__name__}:read_own_here", limits, path=str(source), format=format):
                if "recognized" in item:
                    tally.add(item)
                else:
                    yield _item(item)
        except Unreadable as error:
            yield Failure.of(str(source), error)


def read_own_here(path: str, format: str | None) -> Iterator[Mapping[str, Any]]:
    """Yield the conversations of an export as JSON, followed by the tally; runs in the separate process."""
    tally = Tally()
    for item in read([path], format, tally):
        yield asdict(item)
    yield tally.as_json()


def read_here(path: Path, format: str | None) -> dict[str, Any]:
    """Write the conversations of an export to a file beside it and return the tally; runs in the separate process."""
    tally = Tally()
    count = messages = characters = 0
    with _lines(path).open("w", encoding="ascii") as lines:
        for item in read([path], format, tally):
            if isinstance(item, Failure):
                item = item.within(path.parent)
            count += 1
            if isinstance(item, Thread):
                messages += len(item.messages)
                characters += sum(len(message.text) for message in item.messages)
            lines.write(json.dumps(asdict(item)) + "\n")
    return {**tally.as_json(), "count": count, "messages": messages, "characters": characters}


def _lines(path: Path) -> Path:
    return path.with_name(f"{path.name}.threads")


def _items(path: Path, name: str) -> Iterator[Item]:
    """Yield what `read_here` wrote; an invalid line ends it with a `Failure`."""
    with _lines(path).open("rb") as lines:
        while line := lines.readline(LONGEST_LINE):
            try:
                yield _item(json.loads(line))
            except (AttributeError, KeyError, TypeError, ValueError, RecursionError):
                yield Failure(name, _NO_ANSWER)
                return


def _item(item: Mapping[str, Any]) -> Item:
    if "conversation" not in item:
        return Failure.of_json(item)
    messages = tuple(Message(**each) for each in item["messages"])
    return Thread(Conversation(**item["conversation"]), messages, item["whole"] is True)
