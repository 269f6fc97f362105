"""Telegram's export: one chat or all of them, words with their links, and names for what has no words."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from rifflux.conversations import Thread
from rifflux.conversations.importers import Tally, read
from tests.conversations.importers.exports import packed, sent, telegram

ABSENT = "(File not included. Change data exporting settings to download.)"


def threads(tmp_path: Path, data: Any, tally: Tally | None = None) -> list[Thread]:
    found = read([packed(tmp_path / "x.zip", {"result.json": data})], tally=tally)
    return [item for item in found if isinstance(item, Thread)]


def test_who_speaks_is_the_speaker(tmp_path: Path) -> None:
    (thread,) = threads(tmp_path, telegram(sent(2, "Who rows?")))
    (turn,) = thread.messages
    assert (thread.conversation.id, thread.conversation.title) == ("telegram-4711", "Rowers")
    assert (turn.id, turn.role, turn.speaker, turn.created_at) == ("2", "user", "Ann", "2024-05-01T10:42:00+00:00")


def test_all_chats_of_an_account_are_read(tmp_path: Path) -> None:
    lists: dict[str, Any] = {
        "chats": {
            "about": "x",
            "list": [telegram(sent(1, "a")), {"type": "saved_messages", "id": 2, "messages": [sent(1, "b")]}],
        },
        "left_chats": {"about": "x", "list": [{**telegram(sent(1, "c")), "id": 3, "name": None}]},
    }  # fmt: skip
    data = {
        "about": "x",
        "personal_information": {"user_id": 1},
        "contacts": {"list": [{"first_name": "Bob"}]},
        **lists,
    }
    found = threads(tmp_path, data)
    assert [(each.conversation.id, each.conversation.title, each.messages[0].text) for each in found] == [
        ("telegram-4711", "Rowers", "a"), ("telegram-2", "Saved Messages", "b"), ("telegram-3", "", "c")
    ]  # fmt: skip


def test_a_bot_is_an_assistant(tmp_path: Path) -> None:
    chat = telegram(sent(1, "/start"), sent(2, "Hello", **{"from": "Rowers"}), kind="bot_chat")
    assert [turn.role for turn in threads(tmp_path, chat)[0].messages] == ["user", "assistant"]


@pytest.mark.parametrize(
    ("message", "wanted"),
    [
        ({"text": ["see ", {"type": "text_link", "text": "this", "href": "https://x.org"}, "!"], "text_entities": []},
         "see this (https://x.org)!"),
        ({"text": "", "text_entities": [{"type": "plain", "text": "a "}, {"type": "bold", "text": "b"}]}, "a b"),
        ({"text": "", "media_type": "sticker", "sticker_emoji": "⛵", "file": ABSENT}, "⛵"),
        ({"text": "the plan", "file": ABSENT, "file_name": "plan.pdf", "mime_type": "application/pdf"},
         "the plan\n[file: plan.pdf]"),
        ({"text": "", "media_type": "audio_file", "performer": "Ann", "title": "Shanty"}, "[file: Ann - Shanty]"),
        ({"text": "", "poll": {"question": "When?", "closed": False, "answers": [{"text": "At six", "voters": 1}]}},
         "When?\nAt six"),
        ({"text": "", "contact_information": {"first_name": "Bob", "phone_number": "+43 1"}}, "Bob +43 1"),
        ({"text": "", "photo": ABSENT, "width": 8}, ""),
        ({"text": "", "media_type": "voice_message", "file": ABSENT}, ""),
        ({"type": "service", "action": "pin_message", "actor": "Ann"}, ""),
    ],
)  # fmt: skip
def test_words_and_names(tmp_path: Path, message: dict[str, Any], wanted: str) -> None:
    tally = Tally()
    found = threads(tmp_path, telegram(sent(1, "x") | {"text_entities": []} | message), tally)
    assert [turn.text for each in found for turn in each.messages] == ([wanted] if wanted else [])
    assert bool(tally.skipped) != bool(wanted)
