"""Arrays of messages: `[{"role": "user", "content": "…"}]`, alone, in a conversation, or in a list of conversations.

A conversation is an object with `messages` (or `chat_messages`), and `id`, `title`, `project`, `archived` and
`created_at` where it has them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from rifflux.conversations.importers.base import date_of, load_json, role_of, string_of, text_of
from rifflux.conversations.model import Conversation, Message, Thread
from rifflux.errors import Unreadable
from rifflux.types import Failure

__all__ = ["first_of", "message_of_record", "read_messages", "thread_of"]

_IDS = ("id", "_id", "uuid", "message_id")
_DATES = ("created_at", "timestamp", "date", "create_time", "time", "ts")


def first_of(record: Mapping[str, Any], names: Sequence[str]) -> Any:
    """The first of some fields that a record has, or None."""
    return next((record[name] for name in names if record.get(name) not in (None, "")), None)


def read_messages(path: Path) -> Iterator[Thread | Failure]:
    """The conversations of a JSON file."""
    data = load_json(path)
    if isinstance(data, Mapping):
        data = data.get("conversations", [data])
    if not isinstance(data, list):
        raise Unreadable("holds neither messages nor conversations: see 'rifflux conversations import --help'")
    if data and all(isinstance(item, Mapping) and _messages(item) is None for item in data):
        data = [{"id": path.stem, "title": path.stem, "messages": data}]
    for number, item in enumerate(data, 1):
        try:
            yield thread_of(item, path.stem if len(data) == 1 else f"{path.stem}-{number}")
        except Unreadable as error:
            yield Failure(f"{path}: conversation {number}", str(error))


def thread_of(record: Any, default_id: str) -> Thread:
    """A conversation with its messages. Raises `Unreadable`."""
    messages = _messages(record) if isinstance(record, Mapping) else None
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
    turns = (message_of_record(each, id, f"m{place:06}") for place, each in enumerate(messages, 1))
    return Thread(conversation, tuple(turn for turn in turns if turn.text.strip()), whole=True)


def message_of_record(record: Any, conversation_id: str, default_id: str) -> Message:
    """A message from an object with role and content, by any of their usual names. Raises `Unreadable`."""
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


def _messages(record: Mapping[str, Any]) -> list[Any] | None:
    found = first_of(record, ("messages", "chat_messages", "turns"))
    return found if isinstance(found, list) else None
