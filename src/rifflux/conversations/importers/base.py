"""What the readers of chat exports share: dates, texts and ids as the exports write them."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rifflux.conversations.model import Conversation, Message, Thread
from rifflux.errors import InvalidArgument, Unreadable
from rifflux.text.dates import parse_time
from rifflux.types import Failure

__all__ = [
    "date_of",
    "first_of",
    "load_json",
    "mapping_of",
    "read_jsonl",
    "read_messages",
    "role_of",
    "string_of",
    "thread_of",
    "threads_of",
]


#: Seconds since 1970 beyond this are milliseconds.
_MILLISECONDS = 1e11
#: Who speaks, by other names that exports have for it.
_ROLES = {"human": "user", "ai": "assistant", "bot": "assistant", "model": "assistant"}


def load_json(path: Path) -> object:
    """Return the content of a JSON file. Raises `Unreadable` with the place of the fault."""
    try:
        return json.loads(path.read_bytes())
    except OSError as error:
        raise Unreadable(f"cannot be read: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        raise Unreadable(f"is not JSON: {error}") from None


def date_of(value: Any) -> str | None:
    """Return a date as ISO 8601: from that, or from seconds or milliseconds since 1970. Raises `Unreadable`."""
    if value is None or value == "":
        return None
    if isinstance(value, str) and not value.replace(".", "", 1).isdigit():
        try:
            parse_time(value)
        except InvalidArgument as error:
            raise Unreadable(str(error)) from None
        return value
    try:
        seconds = float(value)
        seconds = seconds / 1000 if abs(seconds) > _MILLISECONDS else seconds
        return datetime.fromtimestamp(seconds, UTC).isoformat() if math.isfinite(seconds) else None
    except (TypeError, ValueError, OverflowError, OSError):
        raise Unreadable(f"{value!r} is no date: write 2024-05-01T12:00:00Z, or seconds since 1970") from None


def role_of(value: object) -> str:
    """Return a role by the name that all formats share."""
    name = string_of(value).strip().lower()
    return _ROLES.get(name, name) or "user"


def string_of(value: object) -> str:
    """Return a string or number as text; nothing of anything else."""
    return str(value) if isinstance(value, str | int | float) and not isinstance(value, bool) else ""


def mapping_of(value: object) -> Mapping[str, Any]:
    """Return a mapping; an empty one of anything else."""
    return value if isinstance(value, Mapping) else {}


def text_of(content: object) -> str:
    """Return the words of a message: a string, or the text parts of a list; pictures and the like have none."""
    if isinstance(content, Mapping):
        content = content.get("parts", content.get("text", content.get("content", "")))
    if isinstance(content, str):
        return content
    if not isinstance(content, Iterable):
        return ""
    return "\n".join(filter(None, (text_of(part) if isinstance(part, str | Mapping) else "" for part in content)))


# Arrays of messages: `[{"role": "user", "content": "…"}]`, alone, in a conversation, or in a list of conversations


_IDS = ("id", "_id", "uuid", "message_id")
_DATES = ("created_at", "timestamp", "date", "create_time", "time", "ts")


def first_of(record: Mapping[str, object], names: Sequence[str]) -> object:
    """Return the first of some fields that a record has, or None."""
    for name in names:
        if record.get(name) not in (None, ""):
            return record[name]
    return None


def read_messages(path: Path) -> Iterator[Thread | Failure]:
    """Yield the conversations of a JSON file."""
    data = load_json(path)
    if isinstance(data, Mapping):
        data = data.get("conversations", [data])
    if not isinstance(data, list):
        raise Unreadable("holds neither messages nor conversations: see 'rifflux conversations import --help'")
    if data and all(isinstance(item, Mapping) and _messages(item) is None for item in data):
        data = [{"id": path.stem, "title": path.stem, "messages": data}]
    yield from threads_of(path, data, thread_of, path.stem if len(data) == 1 else "")


def threads_of(
    path: Path, records: Iterable[object], read: Callable[[Any, str], Thread], id: str = ""
) -> Iterator[Thread | Failure]:
    """Yield the conversations of a file's records; one without an id is called `id`, or by its number."""
    for number, record in enumerate(records, 1):
        try:
            yield read(record, id or f"{path.stem}-{number}")
        except Unreadable as error:
            yield Failure(f"{path}: conversation {number}", str(error))


def thread_of(record: Any, default_id: str) -> Thread:
    """Return a conversation with its messages. Raises `Unreadable`."""
    messages = _messages(mapping_of(record))
    if messages is None:
        raise Unreadable("has no list of messages")
    id = string_of(first_of(record, ("id", "_id", "uuid", "conversation_id"))) or default_id
    conversation = Conversation(
        id,
        string_of(first_of(record, ("title", "name"))),
        string_of(record.get("project")),
        record.get("archived") is True or record.get("is_archived") is True,
        date_of(first_of(record, _DATES)),
    )
    # The place is the id of a message that has none, so that importing again finds it.
    turns = []
    for place, each in enumerate(messages, 1):
        turn = message_of_record(each, id, f"m{place:06}")
        turns += [turn] if turn.text.strip() else []
    return Thread(conversation, tuple(turns), whole=True)


def message_of_record(record: object, conversation_id: str, default_id: str) -> Message:
    """Return a message from an object with role and content, by any of their usual names. Raises `Unreadable`."""
    if not isinstance(record, Mapping):
        raise Unreadable(f"has a message that is no object: {str(record)[:60]!r}")
    author = record.get("author")
    named = author if isinstance(author, Mapping) else {"role": author}
    return Message(
        string_of(first_of(record, _IDS)) or default_id,
        conversation_id,
        text_of(first_of(record, ("content", "text", "message", "body"))),
        role_of(first_of(record, ("role", "sender", "from")) or named.get("role")),
        string_of(first_of(record, ("speaker", "name", "user_name")) or named.get("name")),
        date_of(first_of(record, _DATES)),
        string_of(record.get("source")),
    )


def _messages(record: Mapping[str, object]) -> list[object] | None:
    found = first_of(record, ("messages", "chat_messages", "turns"))
    return found if isinstance(found, list) else None


# JSON Lines: a message a line, with the id of its conversation, or a conversation a line, with its messages


#: Conversations of which messages are being gathered, by their ids.
Gathered = dict[str, tuple[Conversation, list[Message]]]


def read_jsonl(path: Path) -> Iterator[Thread | Failure]:
    """Yield the conversations of a file; messages without a conversation are one that is called after the file."""
    gathered: Gathered = {}
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            if not line.strip():
                continue
            try:
                whole = _read(json.loads(line), path.stem, number, gathered)
                if whole:
                    yield whole
            except (ValueError, RecursionError, Unreadable) as error:
                yield Failure(f"{path}:{number}", f"cannot be read: {error}")
    for conversation, messages in gathered.values():
        dates = [message.created_at for message in messages if message.created_at]
        yield Thread(replace(conversation, created_at=min(dates, default=None)), tuple(messages))


def _read(record: object, stem: str, number: int, gathered: Gathered) -> Thread | None:
    """Return a line that is a conversation; one that is a message is gathered."""
    if not isinstance(record, Mapping):
        raise Unreadable("it is no object")
    if _messages(record) is not None:
        return thread_of(record, f"{stem}-{number}")
    fields = {**mapping_of(record.get("metadata")), **record}
    named = first_of(fields, ("conversation_id", "conversation", "thread_id", "channel"))
    id = string_of(named) or stem
    message = message_of_record(fields, id, f"m{number:06}")
    if message.text.strip():
        title, project = string_of(fields.get("conversation_title")), string_of(fields.get("project"))
        conversation = Conversation(id, title, project, fields.get("archived") is True)
        gathered.setdefault(id, (conversation, []))[1].append(message)
    return None
