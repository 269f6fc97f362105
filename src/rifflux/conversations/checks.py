"""What callers give of conversations and messages, checked: each refusal names what is allowed."""

from __future__ import annotations

from dataclasses import replace

from rifflux.conversations.model import Conversation, Message
from rifflux.errors import InvalidArgument
from rifflux.text.dates import parse_time

__all__ = ["checked_conversation", "checked_limit", "checked_message"]

MOST_RESULTS = 100
MOST_NEIGHBOURS = 20
LONGEST_ID = 512


def checked_conversation(conversation: Conversation) -> Conversation:
    """A conversation that can be stored."""
    _id("conversation", conversation.id)
    if not isinstance(conversation.archived, bool):
        raise InvalidArgument(f"conversation {conversation.id!r}: archived is True or False")
    _date(f"conversation {conversation.id!r}", conversation.created_at)
    name = f"conversation {conversation.id!r}"
    return replace(
        conversation,
        title=_text(name, "title", conversation.title),
        project=_text(name, "project", conversation.project),
    )


def checked_message(message: Message) -> Message:
    """A message that can be stored; its texts lose what no encoding can hold."""
    _id("message", message.id)
    _id("conversation", message.conversation_id)
    name = f"message {message.id!r}"
    if not isinstance(message.role, str) or not message.role.strip():
        raise InvalidArgument(f"{name} needs a role, such as user or assistant")
    _date(name, message.created_at)
    return replace(
        message,
        text=_text(name, "text", message.text),
        role=_text(name, "role", message.role),
        speaker=_text(name, "speaker", message.speaker),
        source=_text(name, "source", message.source),
    )


def checked_limit(limit: int, neighbours: int) -> None:
    """Refuse a page that is too long, or neighbours that are too many."""
    if isinstance(limit, bool) or not isinstance(limit, int) or not 1 <= limit <= MOST_RESULTS:
        raise InvalidArgument(f"limit must be a whole number from 1 to {MOST_RESULTS}, not {limit!r}")
    if isinstance(neighbours, bool) or not isinstance(neighbours, int) or not 0 <= neighbours <= MOST_NEIGHBOURS:
        raise InvalidArgument(f"neighbours must be a whole number from 0 to {MOST_NEIGHBOURS}, not {neighbours!r}")


def _id(what: str, id: str) -> None:
    if not isinstance(id, str) or not id.strip() or len(id) > LONGEST_ID or not id.isprintable():
        raise InvalidArgument(f"a {what} needs an id of 1 to {LONGEST_ID} printable characters, not {id!r}")


def _text(what: str, name: str, value: str) -> str:
    if not isinstance(value, str):
        raise InvalidArgument(f"{what}: {name} must be a string, not {value!r}")
    return value.encode("utf-8", "replace").decode().replace("\0", "")


def _date(what: str, value: str | None) -> None:
    if value is None:
        return
    if not isinstance(value, str):
        raise InvalidArgument(f"{what}: created_at must be a string such as '2024-05-01T12:00:00Z', not {value!r}")
    try:
        parse_time(value)
    except InvalidArgument as error:
        raise InvalidArgument(f"{what}: created_at: {error}") from None
