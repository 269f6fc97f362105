"""JSON Lines: a message a line, with the id of its conversation, or a conversation a line, with its messages.

    {"conversation_id": "trip", "id": "m1", "role": "user", "content": "Where to?", "created_at": "2024-05-01T12:00Z"}

Fields may stand in `metadata` too. A line may say its conversation's `title`, `project` and `archived`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from rifflux.conversations.importers.base import first_of, message_of_record, string_of, thread_of
from rifflux.conversations.model import Conversation, Message, Thread
from rifflux.errors import Unreadable
from rifflux.types import Failure

__all__ = ["read_jsonl"]


@dataclass(slots=True)
class _Gathered:
    """A conversation of which messages are being gathered."""

    conversation: Conversation
    messages: list[Message] = field(default_factory=list)


def read_jsonl(path: Path) -> Iterator[Thread | Failure]:
    """The conversations of a file; messages without a conversation are one that is called after the file."""
    gathered: dict[str, _Gathered] = {}
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
    for each in gathered.values():
        dates = [message.created_at for message in each.messages if message.created_at]
        conversation = replace(each.conversation, created_at=min(dates, default=None))
        yield Thread(conversation, tuple(each.messages))


def _read(record: Any, stem: str, number: int, gathered: dict[str, _Gathered]) -> Thread | None:
    """A line that is a conversation; one that is a message is gathered."""
    if not isinstance(record, Mapping):
        raise Unreadable("it is no object")
    if isinstance(first_of(record, ("messages", "chat_messages", "turns")), list):
        return thread_of(record, f"{stem}-{number}")
    nested = record.get("metadata")
    fields = {**nested, **record} if isinstance(nested, Mapping) else record
    named = first_of(fields, ("conversation_id", "conversation", "thread_id", "channel"))
    id = string_of(named) or stem
    message = message_of_record(fields, id, f"m{number:06}")
    if message.text.strip():
        gathered.setdefault(id, _Gathered(_conversation(fields, id))).messages.append(message)
    return None


def _conversation(fields: Mapping[str, Any], id: str) -> Conversation:
    title = string_of(first_of(fields, ("conversation_title",)))
    return Conversation(id, title, string_of(fields.get("project")), fields.get("archived") is True)
