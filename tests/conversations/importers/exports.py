"""Exports in the shapes that services give them, with made-up words: each is a mapping of file names to contents."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

__all__ = ["SHAPES", "Files", "chatgpt", "claude", "node", "packed", "slack", "unpacked"]

Files = Mapping[str, Any]


def unpacked(folder: Path, files: Files) -> Path:
    """Write the files of an export into a folder."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content if isinstance(content, str) else json.dumps(content), "utf-8")
    return folder


def packed(path: Path, files: Files, within: str = "") -> Path:
    """Write the files of an export into a zip, as it is downloaded."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(within + name, content if isinstance(content, str) else json.dumps(content))
    return path


# ChatGPT


_ORDER = ("root", "s", "q1", "a1", "q2", "t", "o", "a2", "z")


def node(id: str, parent: str | None, role: str, *parts: Any, children: tuple[str, ...] = (), **more: Any) -> Any:
    """A node of a conversation's tree."""
    kind = "text" if all(isinstance(part, str) for part in parts) else "multimodal_text"
    message = {
        "id": id,
        "author": {"role": role, "name": None, "metadata": {}},
        "create_time": 1714560000.5 + _ORDER.index(id),
        "update_time": None,
        "content": {"content_type": kind, "parts": list(parts)},
        "status": "finished_successfully",
        "end_turn": True,
        "weight": 1.0,
        "metadata": {},
        "recipient": "all",
        "channel": None,
        **more,
    }
    return {"id": id, "message": message, "parent": parent, "children": list(children)}


def chatgpt(current: str | None = "a2", id: str = "c1", more: bool = False, **nodes: Any) -> Any:
    """A conversation whose first question was worded anew."""
    tree = {
        "root": {"id": "root", "message": None, "parent": None, "children": ["s"]},
        "s": node("s", "root", "system", "", children=("q1", "q2")),
        "q1": node("q1", "s", "user", "How long do herons live?", children=("a1",)),
        "a1": node("a1", "q1", "assistant", "About fifteen years."),
        "q2": node("q2", "s", "user", "How long do grey herons live?", children=("t",)),
        "t": node("t", "q2", "assistant", 'search("grey heron age")', children=("o",), recipient="web.run"),
        "o": node("o", "t", "tool", "25 results", children=("a2",)),
        "a2": node("a2", "o", "assistant", "Up to twenty-five years.", children=("z",) if more else ()),
        **({"z": node("z", "a2", "user", "Thanks!")} if more else {}),
        **nodes,
    }
    return {
        "title": "Herons",
        "create_time": 1714560000.0,
        "update_time": 1714560900.0,
        "mapping": tree,
        "moderation_results": [],
        "current_node": current,
        "plugin_ids": None,
        "conversation_id": id,
        "conversation_template_id": None,
        "gizmo_id": None,
        "is_archived": False,
        "safe_urls": [],
        "id": id,
    }


def _chatgpt(more: bool) -> Files:
    return {
        "conversations.json": [chatgpt("z" if more else "a2", more=more)],
        "user.json": {"id": "user-1", "email": "ann@example.org", "chatgpt_plus_user": True},
        "message_feedback.json": [],
        "shared_conversations.json": [{"id": "x", "conversation_id": "c1", "title": "Herons", "is_anonymous": True}],
        "chat.html": "<html></html>",
    }


# Claude


def claude(*messages: Any, **more: Any) -> Any:
    """A conversation of Claude."""
    return {
        "uuid": "8f0c",
        "name": "River walk",
        "summary": "",
        "created_at": "2025-03-01T09:00:00.000000Z",
        "updated_at": "2025-03-01T09:05:00.000000Z",
        "account": {"uuid": "acc-1"},
        "chat_messages": list(messages),
        **more,
    }


def said(uuid: str, sender: str, text: str, minute: int = 0, **more: Any) -> Any:
    """A turn of a conversation with Claude."""
    date = f"2025-03-01T09:{minute:02}:00.000000Z"
    words = {"start_timestamp": date, "stop_timestamp": date, "type": "text", "text": text, "citations": []}
    told = {"uuid": uuid, "text": text, "content": [words], "sender": sender, "created_at": date, "updated_at": date}
    return told | {"attachments": [], "files": []} | more


def _claude(more: bool) -> Files:
    turns = [said("m1", "human", "Where is the ferry?"), said("m2", "assistant", "Below the weir.", 1)]
    turns += [said("m3", "human", "Does it run on Sundays?", 2)] if more else []
    return {
        "conversations.json": [claude(*turns)],
        "projects.json": [
            {
                "uuid": "p1",
                "name": "Boats",
                "description": "All about boats",
                "is_private": True,
                "is_starter_project": False,
                "prompt_template": "Answer in knots.",
                "created_at": "2025-02-01T09:00:00Z",
                "updated_at": "2025-02-01T09:00:00Z",
                "creator": {"uuid": "acc-1", "full_name": "Ann"},
                "docs": [{"uuid": "d1", "filename": "knots.md", "content": "A bowline holds.", "created_at": None}],
            }
        ],
        "users.json": [{"uuid": "acc-1", "full_name": "Ann", "email_address": "ann@example.org"}],
    }


# Slack


def spoken(user: str, text: str, ts: str, **more: Any) -> Any:
    """A message of Slack."""
    return {"user": user, "type": "message", "ts": ts, "client_msg_id": ts, "text": text, "team": "T1", **more}


def slack(**days: Any) -> Files:
    """A workspace with a channel, an archived one and direct messages; `days` are those of the channel general."""
    return {
        "users.json": [
            {"id": "U1", "name": "ann", "real_name": "Ann Lee", "profile": {"display_name": "Ann"}},
            {"id": "U2", "name": "bob", "real_name": "Bob", "profile": {"display_name": "", "real_name": "Bob"}},
        ],
        "channels.json": [
            {"id": "C1", "name": "general", "created": 1714500000, "is_archived": False, "members": ["U1", "U2"]},
            {"id": "C2", "name": "boats", "created": 1714500000, "is_archived": True, "members": ["U1"]},
        ],
        "dms.json": [{"id": "D1", "created": 1714500000, "members": ["U1", "U2"]}],
        "groups.json": [],
        "mpims.json": [],
        "integration_logs.json": [],
        "boats/2024-05-01.json": [spoken("U1", "The boat is sold.", "1714560000.000200")],
        "D1/2024-05-01.json": [spoken("U2", "psst", "1714560009.000100")],
        **{f"general/2024-05-{name.removeprefix('day')}.json": records for name, records in days.items()},
    }


def _slack(more: bool) -> Files:
    days = {"day01": [spoken("U1", "Hello <@U2>", "1714560000.000100")]}
    return slack(**days, **({"day02": [spoken("U2", "Morning", "1714646400.000100")]} if more else {}))


# WhatsApp, Telegram, Discord


def _whatsapp(more: bool) -> Files:
    lines = [
        "[13.05.24, 20:01:02] Ferry: \u200eMessages and calls are end-to-end encrypted.",
        "[13.05.24, 20:01:05] Ann: When does it leave?",
        "[13.05.24, 20:02:10] Bob: At nine.\nBring a coat.",
        "\u200e[13.05.24, 20:03:00] Ann: \u200e<attached: 00000004-PHOTO-2024-05-13.jpg>",
    ]
    return {"_chat.txt": "\r\n".join(lines + ["[14.05.24, 07:00:00] Ann: On my way"] * more) + "\r\n"}


def telegram(*messages: Any, kind: str = "private_group") -> Any:
    """A chat of Telegram."""
    return {"name": "Rowers", "type": kind, "id": 4711, "messages": list(messages)}


def sent(id: int, text: Any, **more: Any) -> Any:
    """A message of Telegram."""
    date = 1714560000 + 60 * id
    entities = [{"type": "plain", "text": text}] if isinstance(text, str) and text else []
    told = {"id": id, "type": "message", "date": "2024-05-01T12:00:00", "date_unixtime": str(date), "from": "Ann"}
    return told | {"from_id": "user1", "text": text, "text_entities": entities} | more


def _telegram(more: bool) -> Files:
    created = {"id": 1, "type": "service", "date": "2024-05-01T12:00:00", "actor": "Ann", "action": "create_group"}
    return {"result.json": telegram(created, sent(2, "Who rows?"), *([sent(3, "I do.")] * more))}


def discord(*messages: Any) -> Any:
    """A channel as DiscordChatExporter writes it."""
    return {
        "guild": {"id": "9", "name": "Harbour", "iconUrl": "x"},
        "channel": {"id": "77", "type": "GuildTextChat", "categoryId": "5", "category": "Text", "name": "tides"},
        "dateRange": {"after": None, "before": None},
        "exportedAt": "2024-06-01T00:00:00+00:00",
        "messages": list(messages),
        "messageCount": len(messages),
    }


def posted(id: str, content: str, **more: Any) -> Any:
    """A message as DiscordChatExporter writes it."""
    author = {"id": "1", "name": "ann", "discriminator": "0000", "nickname": "Ann", "isBot": False, "roles": []}
    told = {"id": id, "type": "Default", "timestamp": f"2024-05-01T12:{int(id):02}:00.123+00:00", "content": content}
    return told | {"author": author, "attachments": [], "embeds": [], "stickers": [], "reactions": []} | more


def _discord(more: bool) -> Files:
    return {"Harbour - tides [77].json": discord(posted("1", "High water at six"), *([posted("2", "Thanks")] * more))}


def _discord_package(more: bool) -> Files:
    rows = [{"ID": 1, "Timestamp": "2024-05-01 12:01:00", "Contents": "High water at six", "Attachments": ""}]
    rows += [{"ID": 2, "Timestamp": "2024-05-01 12:02:00", "Contents": "Thanks", "Attachments": ""}] * more
    return {
        "README.txt": "Welcome to your data package!",
        "Account/user.json": {"id": "1", "username": "ann", "global_name": "Ann"},
        "Servers/index.json": {"9": "Harbour"},
        "Messages/index.json": {"77": "tides in Harbour"},
        "Messages/c77/channel.json": {
            "id": "77", "type": "GUILD_TEXT", "name": "tides", "guild": {"id": "9", "name": "Harbour"}
        },
        "Messages/c77/messages.json": rows,
    }  # fmt: skip


def _jsonl(more: bool) -> Files:
    turns = [{"conversation_id": "a", "role": "user", "text": "hi"}, {"conversation_id": "a", "text": "bye"}]
    return {"talk.jsonl": "\n".join(map(json.dumps, turns[: 1 + more]))}


def _messages(more: bool) -> Files:
    turns = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello"}]
    return {"chat.json": turns[: 1 + more]}


#: What makes an export of each format; with True, one of later, which has one more message.
SHAPES = {
    "openai": _chatgpt,
    "claude": _claude,
    "slack": _slack,
    "whatsapp": _whatsapp,
    "telegram": _telegram,
    "discord": _discord,
    "discord-package": _discord_package,
    "jsonl": _jsonl,
    "messages": _messages,
}
