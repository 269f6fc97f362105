"""Discord: its own package of what somebody wrote, and the channels of DiscordChatExporter, are one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from rifflux.conversations import Conversations, Thread
from rifflux.conversations.importers import Tally, read
from tests.conversations.importers.exports import SHAPES, discord, packed, posted, unpacked


def threads(path: Path, tally: Tally | None = None) -> list[Thread]:
    return [item for item in read([path], tally=tally) if isinstance(item, Thread)]


def test_a_channel_has_its_name_and_bots_are_assistants(tmp_path: Path) -> None:
    bot = {"id": "2", "name": "tidebot", "nickname": "Tide Bot", "isBot": True}
    data = discord(
        posted("1", "High water?"), posted("2", "At six", author=bot), posted("3", "", type="GuildMemberJoin")
    )
    tally = Tally()
    (thread,) = threads(packed(tmp_path / "x.zip", {"x.json": data}), tally)
    assert (thread.conversation.id, thread.conversation.title) == ("discord-77", "Harbour #tides")
    assert [(turn.role, turn.speaker, turn.text) for turn in thread.messages] == [
        ("user", "Ann", "High water?"), ("assistant", "Tide Bot", "At six")
    ]  # fmt: skip
    assert tally.skipped == {"notices": 1}


def test_direct_messages_are_called_as_the_other_one(tmp_path: Path) -> None:
    data = discord(posted("1", "hi")) | {"guild": {"id": "0", "name": "Direct Messages"}}
    data["channel"] = {"id": "78", "type": "DirectTextChat", "name": "bob"}
    assert threads(packed(tmp_path / "x.zip", {"x.json": data}))[0].conversation.title == "bob"


@pytest.mark.parametrize(
    ("more", "wanted"),
    [
        ({"attachments": [{"id": "1", "url": "x", "fileName": "chart.png"}]}, "look\n[file: chart.png]"),
        ({"embeds": [{"title": "Tide", "url": "x", "description": "rising", "fields": [{"name": "at", "value": "6"}]}]},
         "look\nTide\nrising\nat: 6"),
        ({"stickers": [{"id": "1", "name": "wave", "format": "Png"}]}, "look\n[sticker: wave]"),
    ],
)  # fmt: skip
def test_what_came_with_a_message_is_named(tmp_path: Path, more: dict[str, Any], wanted: str) -> None:
    path = packed(tmp_path / "x.zip", {"x.json": discord(posted("1", "look", **more))})
    assert threads(path)[0].messages[0].text == wanted


def test_a_package_is_what_its_user_wrote(tmp_path: Path) -> None:
    tally = Tally()
    (thread,) = threads(unpacked(tmp_path, SHAPES["discord-package"](False)), tally)
    (turn,) = thread.messages
    assert (thread.conversation.title, turn.speaker, turn.created_at) == (
        "Harbour #tides",
        "Ann",
        "2024-05-01 12:01:00",
    )
    assert "nothing that others did" in next(iter(tally.notes))


def test_an_older_package_has_tables(tmp_path: Path) -> None:
    table = 'ID,Timestamp,Contents,Attachments\r\n5,2020-05-01 12:00:00.000000+00:00,"one,\ntwo",https://x.org/a/b.png?x=1\r\n'
    files = {
        "messages/index.json": {"12": "Direct Message with bob#0001"},
        "messages/c12/channel.json": {"id": "12", "type": 1, "recipients": ["1", "2"]},
        "messages/c12/messages.csv": table,
        "account/user.json": {"username": "ann"},
    }
    (thread,) = threads(packed(tmp_path / "package.zip", files))
    assert thread.conversation.title == "Direct Message with bob#0001"
    assert [(turn.speaker, turn.text) for turn in thread.messages] == [("ann", "one,\ntwo\n[file: b.png]")]


def test_a_package_and_an_exported_channel_are_one_conversation(conversations: Conversations, tmp_path: Path) -> None:
    conversations.import_files(packed(tmp_path / "package.zip", SHAPES["discord-package"](True)))
    report = conversations.import_files(unpacked(tmp_path / "dce", SHAPES["discord"](False)))
    assert (report.conversations, report.added, len(conversations.messages("discord-77"))) == (0, 0, 2)
