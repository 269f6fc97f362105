"""Generic formats: JSON Lines, and arrays of messages with role and content, alone or in conversations."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import IO, Any

from rifflux.conversations.importers.base import (
    Format,
    Item,
    RecordShape,
    Tally,
    date_of,
    first_of,
    in_parts,
    json_of,
    mapping_of,
    role_of,
    string_of,
    text_of,
)
from rifflux.conversations.importers.export import Export
from rifflux.conversations.model import Conversation, Message, Thread
from rifflux.errors import Cure, Unreadable
from rifflux.types import Failure

_IDS = ("id", "_id", "uuid", "message_id")
_DATES = ("created_at", "timestamp", "date", "create_time", "time", "ts")
_LISTS = ("messages", "chat_messages", "turns")
_TEXTS = ("content", "text", "message", "body")
#: The maximum length of a line.
_MOST_BYTES = 16_000_000


def _read_messages(export: Export, name: str, tally: Tally) -> Iterator[Item]:
    data = json_of(export, name)
    called = export.called(name)
    if isinstance(data, Mapping):
        data = data.get("conversations", [data])
    if not isinstance(data, list):
        raise Unreadable("holds neither messages nor conversations", cure=Cure.FORMATS)
    if data and all(isinstance(item, Mapping) and _messages(item) is None for item in data):
        data = [{"id": called, "title": called, "messages": data}]
    for number, record in enumerate(data, 1):
        try:
            yield _thread(record, called if len(data) == 1 else f"{called}-{number}", tally)
        except Unreadable as error:
            yield Failure.of(f"{export.label(name)}: conversation {number}", error)


_SHAPES = (
    *(RecordShape({name}) for name in (*_LISTS, "conversations")),
    *(RecordShape({name}, in_list=True) for name in _TEXTS),
)
MESSAGES = Format("arrays of messages", _read_messages, shapes=_SHAPES)


def _messages(record: Mapping[str, object]) -> list[object] | None:
    found = first_of(record, _LISTS)
    if isinstance(found, list):
        return found
    return None


def _thread(record: Any, default_id: str, tally: Tally) -> Thread:
    """Parse a conversation with its messages. Raises `Unreadable`."""
    messages = _messages(mapping_of(record))
    if messages is None:
        raise Unreadable("has no list of messages")
    id = string_of(first_of(record, ("id", "_id", "uuid", "conversation_id"))) or default_id
    conversation = Conversation(
        id,
        string_of(first_of(record, ("title", "name"))),
        string_of(record.get("project")),
        record.get("archived") is True or record.get("is_archived") is True,
        date_of(first_of(record, _DATES), tally),
    )
    # The position is the id of a message without one, so that a repeated import recognizes it.
    turns = [_message(each, id, f"m{place:06}", tally) for place, each in enumerate(messages, 1)]
    spoken = tuple(turn for turn in turns if turn.text.strip())
    if len(spoken) < len(turns):
        tally.skip("messages without words", len(turns) - len(spoken))
    return Thread(conversation, spoken, whole=True)


def _message(record: object, conversation_id: str, default_id: str, tally: Tally) -> Message:
    """Parse a message from an object with role and content, under any of their usual names. Raises `Unreadable`."""
    if not isinstance(record, Mapping):
        raise Unreadable(f"has a message that is no object: {str(record)[:60]!r}")
    author = record.get("author")
    if isinstance(author, Mapping):
        named = author
    else:
        named = {"role": author}
    return Message(
        string_of(first_of(record, _IDS)) or default_id,
        conversation_id,
        text_of(first_of(record, _TEXTS)),
        role_of(first_of(record, ("role", "sender", "from")) or named.get("role")),
        string_of(first_of(record, ("speaker", "name", "user_name")) or named.get("name")),
        date_of(first_of(record, _DATES), tally),
        string_of(record.get("source")),
    )


# JSON Lines: one message per line with its conversation's id, or one conversation per line with its messages


def _read_jsonl(export: Export, name: str, tally: Tally) -> Iterator[Item]:
    """Yield the conversations of a file; messages without a conversation form one that is named after the file."""
    wholes: list[Thread] = []
    for item in in_parts(_turns(export, name, tally, wholes)):
        yield from wholes
        wholes.clear()
        yield item
    yield from wholes


JSONL = Format("JSON Lines", _read_jsonl, endings=(".jsonl", ".ndjson"))


def _turns(
    export: Export, name: str, tally: Tally, wholes: list[Thread]
) -> Iterator[tuple[Conversation, Message] | Failure]:
    """Yield the lines that are messages, and append those that are conversations to `wholes`."""
    called = export.called(name)
    with export.open(name) as file:
        for number, line in enumerate(_lines(file), 1):
            if not line.strip():
                continue
            try:
                record = json.loads(line)
                if not isinstance(record, Mapping):
                    raise Unreadable("it is no object")
                if _messages(record) is not None:
                    wholes.append(_thread(record, f"{called}-{number}", tally))
                elif found := _turn(record, called, number, tally):
                    yield found
            except (ValueError, RecursionError, Unreadable) as error:
                yield Failure(f"{export.label(name)}:{number}", f"cannot be read: {error}")


def _lines(file: IO[bytes]) -> Iterator[bytes]:
    while line := file.readline(_MOST_BYTES):
        if len(line) == _MOST_BYTES and not line.endswith(b"\n"):
            raise Unreadable(f"has a line of more than {_MOST_BYTES:,} bytes")
        yield line


def _turn(record: Mapping[str, Any], called: str, number: int, tally: Tally) -> tuple[Conversation, Message] | None:
    fields = {**mapping_of(record.get("metadata")), **record}
    id = string_of(first_of(fields, ("conversation_id", "conversation", "thread_id", "channel"))) or called
    message = _message(fields, id, f"m{number:06}", tally)
    if not message.text.strip():
        tally.skip("messages without words")
        return None
    title = string_of(fields.get("conversation_title"))
    project = string_of(fields.get("project"))
    return Conversation(id, title, project, fields.get("archived") is True), message
