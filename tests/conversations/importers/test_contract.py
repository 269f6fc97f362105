"""What every format promises, on exports in the shape that their services give them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import rifflux
from rifflux import NothingImported, Scope
from rifflux.conversations import Conversations, Thread
from rifflux.conversations.importers import FORMATS, Tally, read
from tests.conversations.importers.exports import SHAPES, packed, unpacked


@pytest.fixture(params=FORMATS)
def format(request: Any) -> str:
    return str(request.param)


def words(conversations: Conversations) -> list[tuple[str, str, str]]:
    listed = conversations.list()
    return [(each.id, turn.id, turn.text) for each in listed for turn in conversations.messages(each.id)]


def test_it_is_recognized_by_its_content_however_it_is_packed(tmp_path: Path, format: str) -> None:
    files = SHAPES[format](False)
    alone = sorted(unpacked(tmp_path / "alone", files).rglob("*.*"))[0] if len(files) == 1 else None
    ways = [unpacked(tmp_path / "chat", files), packed(tmp_path / "chat.zip", files), alone]
    ways.append(packed(tmp_path / "wrapped" / "chat.zip", files, "export of may/"))
    for way in filter(None, ways):
        tally = Tally()
        items = [item for item in read([way], tally=tally) if isinstance(item, Thread)]
        assert set(tally.recognized) == {format}, way
        assert sum(len(thread.messages) for thread in items)


def test_messages_are_whole(tmp_path: Path, format: str) -> None:
    for item in read([packed(tmp_path / "x.zip", SHAPES[format](True))]):
        assert isinstance(item, Thread), item
        assert item.conversation.id
        assert item.messages
        assert len({message.id for message in item.messages}) == len(item.messages)
        assert {message.conversation_id for message in item.messages} == {item.conversation.id}
        assert all(message.text.strip() == message.text for message in item.messages)


def test_importing_again_takes_what_is_new_and_nothing_else(
    conversations: Conversations, tmp_path: Path, format: str
) -> None:
    path = packed(tmp_path / "x.zip", SHAPES[format](False))
    first = conversations.import_files(path)
    assert first.added
    assert not first.failed
    known = words(conversations)
    again = conversations.import_files(path)
    assert (again.added, again.changed, again.removed, again.unchanged) == (0, 0, 0, first.added)
    later = conversations.import_files(packed(path, SHAPES[format](True)))
    assert (later.added, later.changed, later.removed, later.unchanged) == (1, 0, 0, first.added)
    assert set(known) < set(words(conversations))


def test_an_upload_gives_what_the_file_gives(index: rifflux.Index, tmp_path: Path, format: str) -> None:
    path = packed(tmp_path / "secret" / "x.zip", SHAPES[format](True))
    of_file, of_upload = (index.scoped(Scope(user)).conversations for user in ("ann", "bob"))
    done = of_file.import_files(path)
    uploaded = of_upload.import_upload("x.zip", path.read_bytes())
    assert (uploaded.added, uploaded.recognized) == (done.added, done.recognized)
    assert words(of_upload) == words(of_file)


def test_what_is_cut_short_is_told_without_the_place_it_lies_at(
    conversations: Conversations, tmp_path: Path, format: str
) -> None:
    files = SHAPES[format](False).items()
    for name, content in [each for each in files if each[0].endswith(".json") and not isinstance(each[1], str)][:1]:
        whole = unpacked(tmp_path, {name: content}) / name
        try:
            told = conversations.import_upload(Path(name).name, whole.read_bytes()[:-3]).failed[0].reason
        except NothingImported as error:
            told = str(error)
        assert "JSON" in told
        assert "/tmp" not in told


def test_progress_is_told(conversations: Conversations, tmp_path: Path, format: str) -> None:
    seen: list[int] = []
    path = packed(tmp_path / "x.zip", SHAPES[format](True))
    report = conversations.import_files(path, progress=lambda phase, done, total: seen.append(done))
    assert (seen, seen[-1]) == (sorted(seen), report.messages)
