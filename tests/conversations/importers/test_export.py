"""Exports are read where they lie: bombs, links and names that lead out are refused, and memory is bounded."""

from __future__ import annotations

import io
import json
import tracemalloc
import zipfile
from pathlib import Path
from typing import Any

import pytest

from rifflux import Failure, NothingImported
from rifflux.conversations import Conversations, Thread
from rifflux.conversations.importers import read
from rifflux.conversations.importers.streaming import JsonReader
from rifflux.errors import Unreadable
from tests.conversations.importers.exports import SHAPES, chatgpt, packed, sent, telegram, unpacked


def failures(path: Path) -> list[str]:
    return [item.reason for item in read([path]) if isinstance(item, Failure)]


@pytest.mark.parametrize("name", ["../conversations.json", "/etc/conversations.json", "a\\..\\..\\x.json", "C:/x.json"])
def test_a_zip_that_names_files_outside_of_itself_is_refused(tmp_path: Path, name: str) -> None:
    path = packed(tmp_path / "x.zip", {"conversations.json": [chatgpt()], name: []})
    (reason,) = failures(path)
    assert "outside of itself" in reason


def test_a_zip_with_a_link_is_refused(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as archive:
        link = zipfile.ZipInfo("conversations.json")
        link.external_attr = 0o120777 << 16
        archive.writestr(link, "/etc/passwd")
    assert "outside of itself" in failures(tmp_path / "x.zip")[0]


def test_a_bomb_is_refused_before_it_is_unpacked(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "x.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("conversations.json", "[" + " " * 20_000_000 + "]")
    assert "packed so tightly" in failures(tmp_path / "x.zip")[0]


def test_a_damaged_zip_and_one_with_a_password_are_told(conversations: Conversations, tmp_path: Path) -> None:
    whole = packed(tmp_path / "x.zip", SHAPES["openai"](False)).read_bytes()
    (tmp_path / "torn.zip").write_bytes(whole[:-40])
    assert "damaged" in failures(tmp_path / "torn.zip")[0]
    locked = bytearray(whole)
    # The first flag of every entry in the directory, and of the first entry itself.
    for mark, offset in ((b"PK\1\2", 8), (b"PK\3\4", 6)):
        place = locked.find(mark)
        while place >= 0:
            locked[place + offset] |= 1
            place = locked.find(mark, place + 4)
    (tmp_path / "locked.zip").write_bytes(locked)
    with pytest.raises(NothingImported, match="password"):
        conversations.import_files(tmp_path / "locked.zip")


def test_links_in_a_folder_are_not_followed(conversations: Conversations, tmp_path: Path) -> None:
    secret = unpacked(tmp_path / "elsewhere", {"conversations.json": [chatgpt()]})
    folder = unpacked(tmp_path / "chat", {"note.md": "nothing"})
    (folder / "conversations.json").symlink_to(secret / "conversations.json")
    with pytest.raises(NothingImported, match="no export that is known"):
        conversations.import_files(folder)


def test_a_folder_of_several_exports_is_read_as_them_all(conversations: Conversations, tmp_path: Path) -> None:
    packed(tmp_path / "all" / "chatgpt.zip", SHAPES["openai"](False))
    packed(tmp_path / "all" / "WhatsApp Chat - Ferry.zip", SHAPES["whatsapp"](False))
    unpacked(tmp_path / "all", SHAPES["discord"](False))
    (tmp_path / "all" / "a torn.zip").write_bytes(b"PK\3\4")
    packed(tmp_path / "all" / "pictures.zip", {"boat.jpg": "x"})
    report = conversations.import_files(tmp_path / "all")
    assert [each.path.rsplit("/", 1)[-1] for each in report.failed] == ["a torn.zip", "pictures.zip"]
    assert report.recognized == {"openai": 1, "whatsapp": 1, "discord": 1}
    assert "Ferry" in [each.title for each in conversations.list()]


def test_what_is_no_export_fails_with_what_would_be_one(conversations: Conversations, tmp_path: Path) -> None:
    path = unpacked(tmp_path, {"notes.txt": "buy milk"}) / "notes.txt"
    with pytest.raises(NothingImported, match=r"notes\.txt is no export that is known: choose .* ChatGPT, Claude"):
        conversations.import_files(path)
    joined = {"type": "message", "subtype": "channel_join", "user": "U1", "text": "joined", "ts": "1.0"}
    files = {"channels.json": [{"id": "C1", "name": "general"}], "general/2024-05-01.json": [joined]}
    path = packed(tmp_path / "slack.zip", files)
    with pytest.raises(NothingImported, match=r"recognized: slack; left out: 1 notices"):
        conversations.import_files(path)
    assert conversations.list() == []


def test_memory_does_not_grow_with_the_export(tmp_path: Path) -> None:
    def peak(count: int) -> int:
        chat = telegram(*(sent(number, f"message {number} " + "word " * 40) for number in range(count)))
        path = packed(tmp_path / f"{count}.zip", {"result.json": chat})
        del chat
        tracemalloc.start()
        try:
            total = sum(len(item.messages) for item in read([path]) if isinstance(item, Thread))
            assert total == count
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    peak(10)
    assert peak(32_000) < 1.2 * peak(11_000)


class OneByte(io.BytesIO):
    """A file that gives one byte at a time, whatever is asked for."""

    def read(self, size: int | None = -1, /) -> bytes:
        return super().read(1)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
@pytest.mark.parametrize("source", [io.BytesIO, OneByte])
def test_json_is_read_in_parts_as_a_whole(encoding: str, source: Any) -> None:
    data = [1, -2.5e3, 'a\\"b ]}é🐦', {"k": [None, True, {}], "": []}, [], {}, 12345]
    if source is OneByte and encoding != "utf-8":
        pytest.skip("its encoding is told by its first bytes")
    reader = JsonReader(source(json.dumps(data, ensure_ascii=False, indent=1).encode(encoding)))
    assert [reader.value() for _ in reader.items()] == data
    assert reader.peek() == ""
    reader = JsonReader(source(json.dumps({"a": data, "b": 2}).encode(encoding)))
    assert {name: reader.value() for name in reader.fields()} == {"a": data, "b": 2}


@pytest.mark.parametrize("text", ["[1 2]", "[1,", "[", '{"a" 1}', "{1: 2}", "[tru]", '["a', "[1,]x", "[" * 100_000])
def test_what_is_no_json_is_told_with_its_place(text: str) -> None:
    def whole(reader: JsonReader) -> None:
        for _ in reader.items() if reader.peek() == "[" else reader.fields():
            reader.value()

    with pytest.raises(Unreadable, match="is not JSON"):
        whole(JsonReader(io.BytesIO(text.encode())))
