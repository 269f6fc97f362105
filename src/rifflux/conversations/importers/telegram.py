"""Telegram: the `result.json` that Telegram Desktop exports, for one chat or all of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rifflux.conversations.importers.base import (
    Format,
    Item,
    RecordShape,
    Tally,
    date_of,
    in_parts,
    list_of,
    mapping_of,
    named_file,
    string_of,
)
from rifflux.conversations.importers.export import Export
from rifflux.conversations.importers.streaming import JsonReader
from rifflux.conversations.model import Conversation, Message

_SOURCE = "telegram"
_CHATS = frozenset(
    f"{kind}_{what}" for kind in ("private", "public") for what in ("group", "supergroup", "channel")
) | {"personal_chat", "bot_chat", "saved_messages", "replies", "verification_codes"}
_LISTS = ("chats", "left_chats")


def _read(export: Export, name: str, tally: Tally) -> Iterator[Item]:
    return in_parts(_turns(export, name, tally))


#: The shapes of an export of all chats, and of a single chat.
_SHAPES = (RecordShape({"chats"}, in_list=False), RecordShape({"messages"}, types=_CHATS, in_list=False))
TELEGRAM = Format("Telegram", _read, shapes=_SHAPES)


def _turns(export: Export, name: str, tally: Tally) -> Iterator[tuple[Conversation, Message]]:
    with export.open(name) as file:
        reader = JsonReader(file)
        yield from _chats(reader, tally)


def _chats(reader: JsonReader, tally: Tally) -> Iterator[tuple[Conversation, Message]]:
    """Yield the messages of a chat, or of every chat in an object's lists."""
    about: dict[str, object] = {}
    for field in reader.fields():
        if field in _LISTS and reader.peek() == "{":
            for inner in reader.fields():
                if inner == "list" and reader.peek() == "[":
                    for _ in reader.items():
                        yield from _chats(reader, tally)
                else:
                    reader.value()
        elif field == "messages" and reader.peek() == "[":
            chat = _chat(about)
            for _ in reader.items():
                message = _message(mapping_of(reader.value()), chat, str(about.get("type")), tally)
                if message:
                    yield chat, message
        else:
            about[field] = reader.value()


def _chat(about: Mapping[str, object]) -> Conversation:
    kind = string_of(about.get("type"))
    title = string_of(about.get("name")) or ("Saved Messages" if kind == "saved_messages" else "")
    return Conversation(f"telegram-{string_of(about.get('id')) or title or kind}", title)


def _message(record: Mapping[str, Any], chat: Conversation, kind: str, tally: Tally) -> Message | None:
    if record.get("type") != "message":
        tally.skip("notices")
        return None
    text = _words(record)
    if not text:
        tally.skip("pictures, voices and videos without words")
        return None
    speaker = string_of(record.get("from"))
    # In a chat with a bot, the bot has the name of the chat.
    if kind == "bot_chat" and speaker == chat.title:
        role = "assistant"
    else:
        role = "user"
    date = date_of(record.get("date_unixtime") or record.get("date"), tally)
    return Message(string_of(record.get("id")) or f"{date}", chat.id, text, role, speaker, date, _SOURCE)


def _words(record: Mapping[str, Any]) -> str:
    """Return the text of a message and the names of its attachments."""
    parts = record.get("text_entities") or record.get("text") or ""
    if isinstance(parts, list):
        words = "".join(_entity(part) for part in parts)
    else:
        words = string_of(parts)
    poll = mapping_of(record.get("poll"))
    contact = mapping_of(record.get("contact_information"))
    answers = [string_of(mapping_of(each).get("text")) for each in list_of(poll.get("answers"))]
    texts = [
        words.strip(),
        string_of(poll.get("question")),
        *answers,
        " ".join(filter(None, (string_of(contact.get(name)) for name in ("first_name", "last_name", "phone_number")))),
        string_of(record.get("place_name")),
        named_file(_named(record)),
        string_of(record.get("sticker_emoji")),
    ]
    return "\n".join(filter(None, texts))


def _entity(part: object) -> str:
    if isinstance(part, str):
        return part
    entity = mapping_of(part)
    text = string_of(entity.get("text"))
    target = string_of(entity.get("href"))
    if target and target != text:
        return f"{text} ({target})"
    return text


def _named(record: Mapping[str, Any]) -> str:
    """Return the original name of a file or song."""
    song = " - ".join(filter(None, (string_of(record.get(name)) for name in ("performer", "title"))))
    return string_of(record.get("file_name")) or (song if record.get("media_type") == "audio_file" else "")
