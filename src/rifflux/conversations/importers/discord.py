"""Discord: the data package of a user's own messages, and whole channels exported by DiscordChatExporter.

Channels and messages have the same ids in both.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping
from typing import Any

from rifflux.conversations.importers.base import (
    Format,
    Item,
    RecordShape,
    Tally,
    date_of,
    first_of,
    in_parts,
    json_of,
    list_of,
    mapping_of,
    named_file,
    records_of,
    string_of,
)
from rifflux.conversations.importers.export import Export
from rifflux.conversations.importers.streaming import JsonReader
from rifflux.conversations.model import Conversation, Message
from rifflux.errors import Unreadable
from rifflux.types import Failure

_SOURCE = "discord"
#: Types of system messages.
_NOTICES = frozenset(
    {"RecipientAdd", "RecipientRemove", "Call", "ChannelNameChange", "ChannelIconChange", "ChannelPinnedMessage",
     "GuildMemberJoin", "ThreadCreated", "1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11", "12", "18"}
)  # fmt: skip


def _conversation(id: object, title: str) -> Conversation:
    return Conversation(f"discord-{string_of(id)}", title)


# DiscordChatExporter: one file per channel


def _read(export: Export, name: str, tally: Tally) -> Iterator[Item]:
    return in_parts(_turns(export, name, tally))


_SHAPE = RecordShape({"guild", "channel"}, in_list=False)
DISCORD = Format("Discord (DiscordChatExporter)", _read, shapes=(_SHAPE,))


def _turns(export: Export, name: str, tally: Tally) -> Iterator[tuple[Conversation, Message]]:
    with export.open(name) as file:
        reader = JsonReader(file)
        about: dict[str, Mapping[str, Any]] = {}
        for field in reader.fields():
            if field != "messages" or reader.peek() != "[":
                about[field] = mapping_of(reader.value())
                continue
            channel = _channel(about.get("guild", {}), about.get("channel", {}))
            for _ in reader.items():
                if message := _message(mapping_of(reader.value()), channel.id, tally):
                    yield channel, message


def _channel(guild: Mapping[str, Any], channel: Mapping[str, Any]) -> Conversation:
    name = string_of(channel.get("name"))
    direct = string_of(channel.get("type")).startswith("Direct") or guild.get("id") == "0"
    if direct:
        title = name
    else:
        title = f"{string_of(guild.get('name'))} #{name}".strip()
    return _conversation(channel.get("id"), title)


def _message(record: Mapping[str, Any], channel: str, tally: Tally) -> Message | None:
    if string_of(record.get("type")) in _NOTICES:
        tally.skip("notices")
        return None
    text = _words(record)
    if not text:
        tally.skip("messages without words")
        return None
    author = mapping_of(record.get("author"))
    date = date_of(record.get("timestamp"), tally)
    return Message(
        string_of(record.get("id")) or f"{date}",
        channel,
        text,
        "assistant" if author.get("isBot") is True else "user",
        string_of(first_of(author, ("nickname", "name"))),
        date,
        _SOURCE,
    )


def _words(record: Mapping[str, Any]) -> str:
    """Return the text of a message and its embeds, and the names of its files."""
    texts = [string_of(record.get("content")).strip()]
    for embed in (mapping_of(each) for each in list_of(record.get("embeds"))):
        fields = (
            f"{each.get('name')}: {each.get('value')}"
            for each in (mapping_of(each) for each in list_of(embed.get("fields")))
        )
        texts += [string_of(embed.get("title")), string_of(embed.get("description")), *fields]
    texts += [named_file(mapping_of(each).get("fileName")) for each in list_of(record.get("attachments"))]
    texts += [named_file(mapping_of(each).get("name"), "sticker") for each in list_of(record.get("stickers"))]
    return "\n".join(filter(None, texts))


# Discord's own package: one folder per channel, with the user's own messages


def _holds(export: Export) -> bool:
    return bool(_channels(export))


def _channels(export: Export) -> dict[str, str]:
    """Return the message files by channel folder, in any language of the package."""
    names = set(export.names)
    folders = (name.removesuffix("/channel.json") for name in export.names if name.endswith("/channel.json"))
    found = {}
    for folder in folders:
        for name in (f"{folder}/messages.json", f"{folder}/messages.csv"):
            if name in names:
                found[folder] = name
    return found


def _read_package(export: Export, name: str, tally: Tally) -> Iterator[Item]:
    tally.note("import.own_messages_only", "a package of Discord holds what you wrote, and nothing that others did")
    return in_parts(_written(export, tally))


DISCORD_PACKAGE = Format("Discord (data package)", _read_package, holds=_holds)


def _written(export: Export, tally: Tally) -> Iterator[tuple[Conversation, Message] | Failure]:
    me = _me(export)
    channels = _channels(export)
    titles = _titles(export, next(iter(channels)))
    for folder, name in channels.items():
        try:
            about = mapping_of(json_of(export, f"{folder}/channel.json"))
            id = string_of(about.get("id")) or folder.rsplit("/", 1)[-1].lstrip("c")
            channel = _conversation(id, _title(about, titles.get(id)))
            if name.endswith(".csv"):
                rows = _rows(export, name)
            else:
                rows = records_of(export, name)
            for row in rows:
                if message := _own(row, channel.id, me, tally):
                    yield channel, message
        except Unreadable as error:
            yield Failure.of(export.label(name), error)


def _own(row: Mapping[str, Any], channel: str, me: str, tally: Tally) -> Message | None:
    files = string_of(row.get("Attachments")).split()
    names = [named_file(each.split("?", 1)[0].rsplit("/", 1)[-1]) for each in files]
    text = "\n".join(filter(None, (string_of(row.get("Contents")).strip(), *names)))
    if not text:
        tally.skip("messages without words")
        return None
    date = date_of(row.get("Timestamp"), tally)
    return Message(string_of(row.get("ID")) or f"{date}", channel, text, "user", me, date, _SOURCE)


def _rows(export: Export, name: str) -> Iterator[Mapping[str, Any]]:
    with export.open(name) as file:
        yield from csv.DictReader(io.TextIOWrapper(file, "utf-8-sig", newline=""))


def _me(export: Export) -> str:
    """Return the user's name."""
    for name in export.names:
        if name.lower().endswith("account/user.json") or (name.count("/") == 1 and name.endswith("/user.json")):
            try:
                return string_of(first_of(mapping_of(json_of(export, name)), ("global_name", "username")))
            except Unreadable:
                break
    return ""


def _titles(export: Export, folder: str) -> Mapping[str, Any]:
    """Return channel names by id, from the index beside the channel folders."""
    index = f"{folder.rpartition('/')[0]}/index.json".lstrip("/")
    try:
        if index in export.names:
            return mapping_of(json_of(export, index))
        return {}
    except Unreadable:
        return {}


def _title(about: Mapping[str, Any], listed: object) -> str:
    name = string_of(about.get("name"))
    guild = string_of(mapping_of(about.get("guild")).get("name"))
    if name and guild:
        return f"{guild} #{name}".strip()
    return string_of(listed) or name
