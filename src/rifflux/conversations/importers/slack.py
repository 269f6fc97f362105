"""A folder that Slack exported (and that was unpacked): a folder a channel, with a file a day.

A channel is a conversation, and so is every thread: what is said in one has nothing to do with what stands next to it
in the channel. The message that a thread begins with is its first one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from html import unescape
from pathlib import Path

from rifflux.conversations.importers.base import date_of, first_of, load_json, mapping_of, string_of
from rifflux.conversations.model import Conversation, Message, Thread
from rifflux.errors import Unreadable
from rifflux.types import Failure

__all__ = ["is_slack", "read_slack"]

_SOURCE = "slack"
_LISTS = ("channels.json", "groups.json", "mpims.json", "dms.json")
#: Messages that Slack writes itself.
_NOTICES = re.compile(r"(channel|group|pinned|reminder|bot_add|bot_remove)(_|$)")
_REFERENCE = re.compile(r"<([^<>|]*)(?:\|([^<>]*))?>")
_TITLE_LENGTH = 60


def is_slack(folder: Path) -> bool:
    """Return True if a folder looks like an export."""
    return (folder / "users.json").is_file() or any((folder / name).is_file() for name in _LISTS)


@dataclass(slots=True)
class _Export:
    """What the lists of an export say: names of users, and ids and names of channels by their folder."""

    folder: Path
    users: dict[str, str] = field(default_factory=dict)
    channels: dict[str, str] = field(default_factory=dict)
    failed: list[Failure] = field(default_factory=list)


def read_slack(folder: Path) -> Iterator[Thread | Failure]:
    """Yield the channels and threads of an export."""
    export = _lists(folder)
    yield from export.failed
    for channel in sorted(each for each in folder.iterdir() if each.is_dir()):
        records: list[Mapping[str, object]] = []
        for day in sorted(channel.glob("*.json")):
            try:
                records += _records(day)
            except Unreadable as error:
                yield Failure(str(day), str(error))
        yield from _threads(export, channel.name, records)


def _lists(folder: Path) -> _Export:
    export = _Export(folder)
    for path in filter(Path.is_file, (folder / name for name in ("users.json", *_LISTS))):
        try:
            found = {string_of(each.get("id")): each for each in _records(path)}
        except Unreadable as error:
            export.failed.append(Failure(str(path), str(error)))
            continue
        if path.name == "users.json":
            export.users = {id: _user_name(each) for id, each in found.items()}
        else:
            # Direct messages have no name: their folder is called as their id.
            export.channels |= {string_of(each.get("name")) or id: id for id, each in found.items()}
    return export


def _records(path: Path) -> list[Mapping[str, object]]:
    data = load_json(path)
    if not isinstance(data, list):
        raise Unreadable("holds no list")
    return [each for each in data if isinstance(each, Mapping)]


def _user_name(user: Mapping[str, object]) -> str:
    names = mapping_of(user.get("profile"))
    shown = first_of(names, ("display_name", "real_name")) or first_of(user, ("real_name", "name", "id"))
    return string_of(shown)


def _threads(export: _Export, channel: str, records: list[Mapping[str, object]]) -> Iterator[Thread | Failure]:
    """Yield a channel without its threads, and the threads."""
    id = export.channels.get(channel) or channel
    title = f"#{channel}" if channel in export.channels and channel != id else _direct(export, channel, records)
    threads: dict[str, list[Message]] = {"": []}
    for place, record in enumerate(records, 1):
        try:
            message = _message(export, record, id)
        except Unreadable as error:
            yield Failure(f"{export.folder / channel}: message {place}", str(error))
            continue
        if message:
            threads.setdefault(_thread_of(record), []).append(message)
    for root, messages in threads.items():
        if not messages:
            continue
        named = f"{title}: {_beginning(messages[0].text)}" if root else title
        conversation_id = f"{id}:{root}" if root else id
        turns = tuple(replace(message, conversation_id=conversation_id) for message in messages)
        yield Thread(Conversation(conversation_id, named, created_at=turns[0].created_at), turns)


def _direct(export: _Export, channel: str, records: list[Mapping[str, object]]) -> str:
    """Return a title for direct messages: the names of those who took part."""
    names = dict.fromkeys(export.users.get(string_of(each.get("user")), "") for each in records)
    return ", ".join(filter(None, names)) or channel


def _thread_of(record: Mapping[str, object]) -> str:
    """Return the thread that a message stands in: also one that begins it, but not one that nobody answered."""
    thread = string_of(record.get("thread_ts"))
    answered = thread != string_of(record.get("ts")) or record.get("reply_count") or record.get("replies")
    return thread if answered else ""


def _message(export: _Export, record: Mapping[str, object], channel: str) -> Message | None:
    text = _text(export, record)
    if record.get("type", "message") != "message" or _NOTICES.match(string_of(record.get("subtype"))) or not text:
        return None
    user = string_of(record.get("user"))
    known = export.users.get(user) or _user_name({"profile": record.get("user_profile")})
    speaker = known or string_of(record.get("username")) or user or string_of(record.get("bot_id"))
    role = "assistant" if record.get("bot_id") or record.get("subtype") == "bot_message" else "user"
    ts = string_of(record.get("ts"))
    if not ts:
        raise Unreadable("it has no time (ts)")
    return Message(ts, channel, text, role, speaker, date_of(ts), _SOURCE)


def _text(export: _Export, record: Mapping[str, object]) -> str:
    """Return the words of a message, and the names of its files; references become what people see."""
    words = _REFERENCE.sub(lambda found: _shown(export, found[1], found[2]), string_of(record.get("text")))
    files = record.get("files")
    names = (string_of(mapping_of(each).get("name")) for each in (files if isinstance(files, list) else ()))
    return "\n".join(filter(None, (unescape(words).strip(), *names)))


def _shown(export: _Export, target: str, label: str | None) -> str:
    if target.startswith("@"):
        return f"@{label or export.users.get(target[1:]) or target[1:]}"
    if target.startswith("#"):
        names = {id: name for name, id in export.channels.items()}
        return f"#{label or names.get(target[1:]) or target[1:]}"
    if target.startswith("!"):
        return label or f"@{target[1:].partition('^')[0]}"
    return f"{label} ({target})" if label else target


def _beginning(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _TITLE_LENGTH else line[: _TITLE_LENGTH - 1].rsplit(" ", 1)[0] + "…"
