"""A file of conversations that somebody sends gives what that file gives."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

import rifflux
from rifflux import ImportReport, Index, InvalidArgument, ModelError, Scope
from rifflux.conversations import Conversations
from rifflux.session.policies import HYBRID_SEARCH

MESSAGES = [{"role": "user", "content": "Where do herons stand?"}, {"role": "assistant", "content": "In rivers."}]
TREE = {
    "root": {"id": "root", "parent": None, "children": ["q"], "message": None},
    "q": {
        "id": "q",
        "parent": "root",
        "children": [],
        "message": {"id": "q", "author": {"role": "user"}, "create_time": 1.7e9, "content": {"parts": ["heron?"]}},
    },
}
FILES = {
    "talk.json": json.dumps(MESSAGES),
    "talks.json": json.dumps([{"id": "one", "title": "Birds", "messages": MESSAGES}, {"id": "two"}]),
    "conversations.json": json.dumps([{"conversation_id": "c", "title": "Birds", "mapping": TREE}]),
    "lines.jsonl": "\n".join([*(json.dumps({**each, "conversation_id": "x"}) for each in MESSAGES), "no JSON", "7"]),
    "broken.json": "[",
    "empty.json": "",
    "other.txt": '"text"',
}


def named(report: ImportReport, folder: Path) -> ImportReport:
    """A report that names files without their folder, and tells no time."""
    failed = tuple(replace(each, path=each.path.replace(f"{folder}/", "")) for each in report.failed)
    return replace(report, failed=failed, seconds=0.0)


@pytest.mark.parametrize("name", FILES)
def test_what_is_sent_is_imported_as_the_file_is(conversations: Conversations, name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_text(FILES[name])
    report = named(conversations.import_files(path, project="work"), tmp_path)
    with rifflux.open(":memory:", model="hash:32") as index:
        other = index.scoped(Scope("ann")).conversations
        assert named(other.import_upload(f"../{name}", path.read_bytes(), project="work"), tmp_path) == report
        assert other.list() == conversations.list()
        for each in other.list():
            assert other.messages(each.id) == conversations.messages(each.id)
        again = other.import_upload(name, path.read_bytes(), project="work")
        assert (again.added, again.unchanged) == (0, report.added)


def test_formats_that_there_are_not_are_refused(conversations: Conversations) -> None:
    with pytest.raises(InvalidArgument, match="choose one of"):
        conversations.import_upload("a.json", b"[]", format="irc")


def test_what_is_stored_is_no_error(
    index: Index, conversations: Conversations, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither an import nor a message: its vectors follow."""

    def fail(*_: object) -> None:
        raise ModelError("out of order")

    index.admin.policies.set(HYBRID_SEARCH, True)
    for name in ("embed_pending", "embed_changes"):
        monkeypatch.setattr(f"rifflux.ingest.embed.{name}", fail)
    report = conversations.import_upload("talk.json", FILES["talk.json"].encode())
    assert report.added == 2
    assert "out of order" in report.degraded[0]
    message = conversations.add_message("talk", "And kingfishers?")
    assert conversations.message("talk", message.id).text == "And kingfishers?"
