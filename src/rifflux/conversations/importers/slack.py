"""Slack: a workspace export, with one folder per channel and one file per day.

Each channel becomes a conversation, and so does each thread, since a thread is unrelated to the messages next to it in
the channel. The message that starts a thread is its first message.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from rifflux.conversations.importers.base import (
    Format,
    Item,
    Tally,
    date_of,
    first_of,
    in_parts,
    list_of,
    mapping_of,
    records_of,
    string_of,
)
from rifflux.conversations.importers.export import Export
from rifflux.conversations.importers.slack_text import Names, words_of
from rifflux.conversations.model import Conversation, Message
from rifflux.errors import Unreadable
from rifflux.types import Failure

_SOURCE = "slack"
_LISTS = ("channels.json", "groups.json", "mpims.json", "dms.json")
_DAY = re.compile(r"([^/]+)/\d{4}-\d{2}-\d{2}\.json")
#: Types of system messages.
_NOTICES = re.compile(r"(channel|group|pinned|reminder|bot_add|bot_remove)(_|$)")
_TITLE_LENGTH = 60


def _holds(export: Export) -> bool:
    names = set(export.names)
    days = any(_DAY.fullmatch(name) for name in export.names)
    return any(name in names for name in _LISTS) or (days and "users.json" in names)


@dataclass(slots=True)
class _Workspace:
    """The lists of an export: names of users, and channels by folder."""

    names: Names = field(default_factory=Names)
    channels: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    failed: list[Failure] = field(default_factory=list)


def _read(export: Export, name: str, tally: Tally) -> Iterator[Item]:
    workspace = _lists(export)
    yield from workspace.failed
    days = defaultdict(list)
    for each in export.names:
        if found := _DAY.fullmatch(each):
            days[found[1]].append(each)
    for folder in sorted(days):
        yield from in_parts(_turns(export, workspace, folder, days[folder], tally))


SLACK = Format("Slack", _read, holds=_holds)


def _lists(export: Export) -> _Workspace:
    workspace = _Workspace()
    for name in ("users.json", *_LISTS):
        if name not in export.names:
            continue
        try:
            found = {string_of(each.get("id")): each for each in records_of(export, name)}
        except Unreadable as error:
            workspace.failed.append(Failure.of(export.label(name), error))
            continue
        if name == "users.json":
            workspace.names.users |= {id: _user_name(each) for id, each in found.items()}
        else:
            # Direct messages have no name; their folder is named after their id.
            workspace.channels |= {string_of(each.get("name")) or id: each for id, each in found.items()}
    workspace.names.channels |= {string_of(each.get("id")): name for name, each in workspace.channels.items()}
    return workspace


def _user_name(user: Mapping[str, object]) -> str:
    names = mapping_of(user.get("profile"))
    name = first_of(names, ("display_name", "real_name")) or first_of(user, ("real_name", "name", "id"))
    return string_of(name)


def _turns(
    export: Export, workspace: _Workspace, folder: str, days: list[str], tally: Tally
) -> Iterator[tuple[Conversation, Message] | Failure]:
    """Yield the messages of a channel, each with the conversation it belongs to: the channel or a thread."""
    channel = _channel(workspace, folder)
    threads: dict[str, Conversation] = {}
    for day in days:
        try:
            for record in records_of(export, day):
                root = _thread_of(record)
                id = f"{channel.id}:{root}" if root else channel.id
                if message := _message(workspace.names, record, id, tally):
                    title = f"{channel.title}: {_beginning(message.text)}"
                    thread = Conversation(id, title, archived=channel.archived)
                    yield (threads.setdefault(root, thread) if root else channel), message
        except Unreadable as error:
            yield Failure.of(export.label(day), error)


def _channel(workspace: _Workspace, folder: str) -> Conversation:
    about = workspace.channels.get(folder, {})
    id = string_of(about.get("id")) or folder
    title = f"#{folder}"
    if about.get("name") in (None, ""):
        names = [
            workspace.names.users.get(each) or each
            for each in (string_of(each) for each in list_of(about.get("members")))
        ]
        title = ", ".join(names) or folder
    return Conversation(id, title, archived=about.get("is_archived") is True)


def _thread_of(record: Mapping[str, object]) -> str:
    """Return the thread of a message, including the one that starts it, but not one without replies."""
    thread = string_of(record.get("thread_ts"))
    answered = thread != string_of(record.get("ts")) or record.get("reply_count") or record.get("replies")
    if answered:
        return thread
    return ""


def _message(names: Names, record: Mapping[str, Any], conversation: str, tally: Tally) -> Message | None:
    subtype = string_of(record.get("subtype"))
    bot = record.get("bot_id") or record.get("subtype") == "bot_message"
    if subtype == "tombstone":
        tally.skip("deleted messages")
        return None
    if record.get("type", "message") != "message" or _NOTICES.match(subtype):
        tally.skip("notices")
        return None
    text = words_of(names, record, whole=bool(bot))
    ts = string_of(record.get("ts"))
    if not text or not ts:
        tally.skip("messages without words" if ts else "messages without a time (ts), which is their id")
        return None
    user = string_of(record.get("user"))
    known = names.users.get(user) or _user_name({"profile": record.get("user_profile")})
    app = string_of(mapping_of(record.get("bot_profile")).get("name"))
    speaker = known or string_of(record.get("username")) or app or user or string_of(record.get("bot_id"))
    return Message(ts, conversation, text, "assistant" if bot else "user", speaker, date_of(ts, tally), _SOURCE)


def _beginning(text: str) -> str:
    line = " ".join(text.split())
    if len(line) <= _TITLE_LENGTH:
        return line
    return line[: _TITLE_LENGTH - 1].rsplit(" ", 1)[0] + "…"
