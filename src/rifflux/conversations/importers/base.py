"""Shared parts of the export readers: the protocol of a format, and parsing of dates, texts and names."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from rifflux.conversations.importers.export import Export
from rifflux.conversations.importers.streaming import JsonReader
from rifflux.conversations.model import Conversation, Message, Thread
from rifflux.errors import InvalidArgument, Unreadable
from rifflux.text.dates import parse_time
from rifflux.types import Failure

#: What a reader yields: a conversation, a part of one, or a failure.
Item = Thread | Failure
#: Timestamps above this are milliseconds rather than seconds since 1970.
_MILLISECONDS = 1e11
#: Other names of roles in exports.
_ROLES = {"human": "user", "ai": "assistant", "bot": "assistant", "model": "assistant"}
#: The number of messages that are collected before they are passed on.
PART = 5_000


@dataclass(slots=True)
class Tally:
    """Counts of what was recognized in an export and what was left out, by reason."""

    recognized: Counter[str] = field(default_factory=Counter)
    skipped: Counter[str] = field(default_factory=Counter)
    notes: dict[str, str] = field(default_factory=dict)
    undated: int = 0

    def skip(self, what: str, count: int = 1) -> None:
        """Count something that is left out, such as `notices`."""
        self.skipped[what] += count

    def add(self, counts: Mapping[str, Any]) -> None:
        """Add the tally of another process, in the form of `as_json`."""
        self.recognized.update(counts["recognized"])
        self.skipped.update(counts["skipped"])
        self.notes.update(counts["notes"])
        self.undated += counts["undated"]

    def as_json(self) -> dict[str, Any]:
        """Return the tally as a JSON object."""
        counts = {"recognized": dict(self.recognized), "skipped": dict(self.skipped)}
        return {**counts, "notes": self.notes, "undated": self.undated}

    def note(self, code: str, text: str) -> None:
        """Add a note about the import, once."""
        self.notes[text] = code


@dataclass(frozen=True, slots=True)
class Outline:
    """The beginning of a file: its first lines, or the leading fields of its first object if their values are short."""

    is_list: bool = False
    fields: Mapping[str, object] = field(default_factory=dict)
    lines: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class RecordShape:
    """The shape of a file's first object: all of `fields`, and one of `types` as its `type`, if any are given.

    `in_list` says whether the object is an element of a list; None allows both.
    """

    fields: Set[str]
    types: Set[str] = frozenset()
    in_list: bool | None = None


@dataclass(frozen=True, slots=True)
class Format:
    """An export format and how to recognize it.

    `holds` decides for a whole zip or folder. A single file matches if its name ends in one of `endings`, if one of its
    first lines matches `line`, or if its first object has one of the `shapes`. `read` yields the conversations of a
    file, or of the whole export if the name is empty.
    """

    service: str
    read: Callable[[Export, str, Tally], Iterator[Item]]
    holds: Callable[[Export], bool] | None = None
    endings: tuple[str, ...] = ()
    line: re.Pattern[str] | None = None
    shapes: tuple[RecordShape, ...] = ()

    def claims(self, name: str, outline: Outline) -> bool:
        """Return True if a file has this format, judging by its name and outline."""
        if name.lower().endswith(self.endings):
            return True
        if self.line and any(self.line.match(line) for line in outline.lines):
            return True
        fields = outline.fields
        for shape in self.shapes:
            in_place = shape.in_list is None or shape.in_list == outline.is_list
            if in_place and shape.fields <= fields.keys() and (not shape.types or fields.get("type") in shape.types):
                return True
        return False


# Reading files


def json_of(export: Export, name: str) -> object:
    """Parse a JSON file. Raises `Unreadable` with the position of the error."""
    with export.open(name) as file:
        reader = JsonReader(file)
        value = reader.value()
        if reader.peek():
            raise Unreadable("is not JSON: something follows its end")
        return value


def records_of(export: Export, name: str) -> Iterator[Any]:
    """Yield the objects of a list one by one, skipping other values; a single object counts as a list of one."""
    with export.open(name) as file:
        reader = JsonReader(file)
        if reader.peek() == "{":
            yield reader.value()
            return
        for _ in reader.items():
            value = reader.value()
            if isinstance(value, Mapping):
                yield value


#: Extensions of files that may hold conversations.
ENDINGS = (".json", ".jsonl", ".ndjson", ".txt")
#: The beginning of a file that holds an object or a list of objects, in any encoding.
_JSON = re.compile(rb"[\xef\xbb\xbf\xff\xfe\0]*[\s\0]*(\{|\[[\s\0]*[\{\]])")
#: Fields that suffice to recognize a format, and whose values may be long.
_TELLING = frozenset(("messages", "mapping", "chat_messages", "chats", "conversations", "turns", "content", "docs"))


def outline_of(export: Export, name: str) -> Outline:
    """Return the outline of a file. Raises `Unreadable` for invalid JSON."""
    with export.open(name) as file:
        head = file.read(1 << 14)
    if name.lower().endswith((".jsonl", ".ndjson")) or not _JSON.match(head):
        return Outline(lines=head.decode("utf-8-sig", "replace").splitlines()[:60])
    with export.open(name) as file:
        reader = JsonReader(file)
        is_list = reader.peek() == "["
        if is_list:
            for _ in reader.items():
                return Outline(True, _fields(reader))
            return Outline(True)
        return Outline(False, _fields(reader))


def _fields(reader: JsonReader) -> Mapping[str, object]:
    found: dict[str, object] = {}
    if reader.peek() != "{":
        return found
    for field_name in reader.fields():
        if field_name in _TELLING:
            found[field_name] = None
            return found
        value = reader.value()
        found[field_name] = value if isinstance(value, str | int | float) else None
    return found


# Parsing values


def date_of(value: Any, tally: Tally) -> str | None:
    """Return a date as ISO 8601, parsed from text or from seconds or milliseconds since 1970.

    Returns None and counts a date that cannot be parsed: the message is kept without it.
    """
    if value is None or value == "":
        return None
    try:
        if isinstance(value, str) and not value.replace(".", "", 1).isdigit():
            parse_time(value)
            return value
        seconds = float(value)
        if abs(seconds) > _MILLISECONDS:
            seconds = seconds / 1000
        if math.isfinite(seconds):
            return datetime.fromtimestamp(seconds, UTC).isoformat()
    except (InvalidArgument, TypeError, ValueError, OverflowError, OSError):
        tally.undated += 1
    return None


def role_of(value: object) -> str:
    """Return a role by its common name."""
    name = string_of(value).strip().lower()
    return _ROLES.get(name, name) or "user"


def string_of(value: object) -> str:
    """Return a string or number as text, or an empty string for anything else."""
    if isinstance(value, str | int | float) and not isinstance(value, bool):
        return str(value)
    return ""


def mapping_of(value: object) -> Mapping[str, Any]:
    """Return a mapping, or an empty one for anything else."""
    if isinstance(value, Mapping):
        return value
    return {}


def list_of(value: object) -> list[Any]:
    """Return a list, or an empty one for anything else."""
    if isinstance(value, list):
        return value
    return []


def named_file(name: object, kind: str = "file") -> str:
    """Return the placeholder of a file, such as `[file: plan.pdf]`, or nothing if it has no name."""
    text = string_of(name).strip()
    if text:
        return f"[{kind}: {text}]"
    return ""


def text_of(content: object) -> str:
    """Return the text of a message: a string, or its text parts; pictures and the like have none."""
    if isinstance(content, Mapping):
        content = content.get("parts", content.get("text", content.get("content", "")))
    if isinstance(content, str):
        return content
    if not isinstance(content, Iterable):
        return ""
    return "\n".join(filter(None, (text_of(part) if isinstance(part, str | Mapping) else "" for part in content)))


def first_of(record: Mapping[str, object], names: Sequence[str]) -> object:
    """Return the first of several fields that a record has, or None."""
    for name in names:
        if record.get(name) not in (None, ""):
            return record[name]
    return None


# Passing on


def in_parts(found: Iterable[tuple[Conversation, Message] | Failure]) -> Iterator[Item]:
    """Yield messages by conversation in parts, so that only a few are in memory at a time.

    Before an error is raised, everything read so far is yielded.
    """
    pending: dict[str, tuple[Conversation, list[Message]]] = {}
    count = 0
    try:
        for each in found:
            if isinstance(each, Failure):
                yield each
                continue
            conversation, message = each
            pending.setdefault(conversation.id, (conversation, []))[1].append(message)
            count += 1
            if count == PART:
                yield from _threads(pending)
                pending = {}
                count = 0
    except Unreadable:
        yield from _threads(pending)
        raise
    yield from _threads(pending)


def _threads(pending: Mapping[str, tuple[Conversation, list[Message]]]) -> Iterator[Thread]:
    for conversation, messages in pending.values():
        dates = [message.created_at for message in messages if message.created_at]
        created_at = conversation.created_at or min(dates, default=None)
        yield Thread(replace(conversation, created_at=created_at), tuple(messages))
