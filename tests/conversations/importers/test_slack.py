"""Slack's export: channels, threads, direct messages, and words wherever apps put them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from rifflux.conversations import Thread
from rifflux.conversations.importers import Tally, read
from tests.conversations.importers.exports import packed, slack, spoken


def threads(tmp_path: Path, tally: Tally | None = None, **days: Any) -> dict[str, Thread]:
    found = read([packed(tmp_path / "x.zip", slack(**days))], tally=tally)
    return {item.conversation.id: item for item in found if isinstance(item, Thread)}


def text(tmp_path: Path, **more: Any) -> str:
    found = threads(tmp_path, day01=[spoken("U1", more.pop("text", ""), "1714560001.0", **more)]).get("C1")
    return found.messages[0].text if found else ""


def said(thread: Thread) -> list[tuple[str, str]]:
    return [(message.label, message.text) for message in thread.messages]


def test_channels_threads_and_direct_messages_are_conversations(tmp_path: Path) -> None:
    asked, answered = "1714560002.0", "1714646400.0"
    tally = Tally()
    found = threads(
        tmp_path,
        tally,
        day01=[
            spoken("U1", "joined", "1714560000.000100", subtype="channel_join"),
            spoken("U1", "Hi <@U2>, see <#C2|boats> &amp; <https://x.org|this> in <#C2>", "1714560001.0"),
            spoken("U1", "Who deploys?", asked, thread_ts=asked, reply_count=1),
            spoken("U2", "Lunch!", "1714560003.0"),
        ],
        day02=[
            spoken("U2", "I do.", answered, thread_ts=asked),
            spoken("", "Done", "1714646500.0", subtype="bot_message", bot_id="B1", username="ci"),
        ],
    )  # fmt: skip
    assert {id: each.conversation.title for id, each in found.items()} == {
        "C1": "#general", "C2": "#boats", "D1": "Ann, Bob", f"C1:{asked}": "#general: Who deploys?"
    }  # fmt: skip
    assert said(found["C1"]) == [
        ("Ann", "Hi @Bob, see #boats & this (https://x.org) in #boats"), ("Bob", "Lunch!"), ("ci", "Done")
    ]  # fmt: skip
    assert found["C1"].messages[2].role == "assistant"
    assert said(found[f"C1:{asked}"]) == [("Ann", "Who deploys?"), ("Bob", "I do.")]
    assert found[f"C1:{asked}"].messages[1].created_at == "2024-05-02T10:40:00+00:00"
    assert said(found["D1"]) == [("Bob", "psst")]
    assert tally.skipped == {"notices": 1}


def test_archived_channels_are_archived_conversations(tmp_path: Path) -> None:
    found = threads(tmp_path)
    assert {id: each.conversation.archived for id, each in found.items()} == {"C2": True, "D1": False}


def test_what_was_deleted_is_not_speech(tmp_path: Path) -> None:
    tally = Tally()
    gone = spoken("USLACKBOT", "This message was deleted.", "1714560001.0", subtype="tombstone", hidden=True)
    assert "C1" not in threads(tmp_path, tally, day01=[gone])
    assert tally.skipped == {"deleted messages": 1}


RICH = {
    "type": "rich_text",
    "elements": [
        {
            "type": "rich_text_section",
            "elements": [
                {"type": "user", "user_id": "U2"},
                {"type": "text", "text": " see "},
                {"type": "link", "url": "https://x.org", "text": "this"},
                {"type": "emoji", "name": "boat"},
            ],
        },
        {
            "type": "rich_text_list",
            "style": "bullet",
            "elements": [
                {"type": "rich_text_section", "elements": [{"type": "text", "text": "oars"}]},
                {"type": "rich_text_section", "elements": [{"type": "channel", "channel_id": "C2"}]},
            ],
        },
    ],
}


@pytest.mark.parametrize(
    ("record", "wanted"),
    [
        ({"blocks": [RICH]}, "@Bob see this (https://x.org):boat:\noars\n#boats"),
        ({"blocks": [RICH], "text": "@Bob see"}, "@Bob see"),
        (
            {"blocks": [
                {"type": "header", "text": {"type": "plain_text", "text": "Build 7"}},
                {"type": "section", "text": {"type": "mrkdwn", "text": "failed for <@U1>"},
                 "fields": [{"type": "mrkdwn", "text": "*Step* tests"}]},
                {"type": "context", "elements": [{"type": "mrkdwn", "text": "by ci"}, {"type": "image"}]},
                {"type": "divider"},
            ]},
            "Build 7\nfailed for @Ann\n*Step* tests\nby ci",
        ),
        (
            {"bot_id": "B1", "text": "New alert",
             "blocks": [{"type": "section", "text": {"type": "mrkdwn", "text": "Disk is full"}}]},
            "New alert\nDisk is full",
        ),
        (
            {"attachments": [{"id": 1, "fallback": "[x] failed", "pretext": "CI", "title": "Build 7", "text": "2 fail",
                              "fields": [{"title": "Branch", "value": "main", "short": True}]}]},
            "CI\nBuild 7\n2 fail\nBranch: main",
        ),
        ({"attachments": [{"id": 1, "fallback": "Deploy &lt;done&gt;"}]}, "Deploy <done>"),
        (
            {"attachments": [{"blocks": [{"type": "section", "text": {"type": "mrkdwn", "text": "in a block"}}]}]},
            "in a block",
        ),
        ({"text": "<https://x.org>", "attachments": [{"from_url": "https://x.org", "title": "X", "text": "Preview"}]},
         "https://x.org"),
        ({"text": "look", "files": [{"name": "plan.pdf", "mode": "hosted"}, {"id": "F2", "mode": "tombstone"}]},
         "look\nplan.pdf"),
    ],
)  # fmt: skip
def test_words_are_read_wherever_they_are(tmp_path: Path, record: dict[str, Any], wanted: str) -> None:
    assert text(tmp_path, **record) == wanted
