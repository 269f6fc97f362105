"""Conversations are read from the exports that people have; what is broken is told with its place."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rifflux import Failure, InvalidArgument, NotFound
from rifflux.conversations import Conversation, Conversations, Thread
from rifflux.conversations.importers import read
from tests.conversations.importers.exports import chatgpt


def write(path: Path, data: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(data if isinstance(data, str) else json.dumps(data), "utf-8")
    return path


def threads(*paths: Path, format: str | None = None) -> list[Thread]:
    items = list(read(paths, format))
    assert not [item for item in items if isinstance(item, Failure)], items
    return [item for item in items if isinstance(item, Thread)]


def said(thread: Thread) -> list[tuple[str, str]]:
    return [(message.label, message.text) for message in thread.messages]


@pytest.mark.parametrize(
    "data",
    [
        [{"role": "user", "content": "hi"}, {"role": "assistant", "content": [{"type": "text", "text": "hello"}]}],
        {"messages": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello"}]},
        [{"chat_messages": [{"sender": "human", "text": "hi"}, {"sender": "assistant", "text": "hello"}]}],
    ],
)
def test_arrays_of_role_and_content_are_read(tmp_path: Path, data: Any) -> None:
    (thread,) = threads(write(tmp_path / "chat.json", data))
    assert thread.conversation.id == "chat"
    assert said(thread) == [("user", "hi"), ("assistant", "hello")]
    assert [message.id for message in thread.messages] == ["m000001", "m000002"]


def test_lines_are_messages_or_conversations(tmp_path: Path) -> None:
    lines = [
        {"conversation_id": "a", "id": "1", "role": "user", "text": "hi", "created_at": "2024-05-02", "project": "red"},
        {"_id": "2", "text": "hello", "metadata": {"conversation": "a", "speaker": "Bob", "date": 1714560000}},
        {"id": "b", "title": "Whole", "messages": [{"role": "user", "content": "alone"}]},
    ]
    whole, gathered = threads(write(tmp_path / "talk.jsonl", "\n".join(map(json.dumps, lines))))
    assert (whole.conversation.title, said(whole)) == ("Whole", [("user", "alone")])
    assert (gathered.conversation.project, gathered.conversation.created_at) == ("red", "2024-05-01T10:40:00+00:00")
    assert said(gathered) == [("user", "hi"), ("Bob", "hello")]


@pytest.mark.parametrize(
    ("name", "data", "place"),
    [
        ("x.json", "{", "x.json"),
        ("x.json", '"words"', "x.json"),
        ("x.json", [{"id": "a", "messages": [3]}], "conversation 1"),
        ("x.jsonl", '{"text": "fine"}\n{"text": \n', "x.jsonl:2"),
        ("x.jsonl", '[1, 2]\n{"text": "fine"}', "x.jsonl:1"),
        ("conversations.json", [{"mapping": 3}, chatgpt()], "conversation 1"),
    ],
)
def test_what_is_broken_is_told_with_its_place_and_the_rest_goes_on(
    conversations: Conversations, tmp_path: Path, name: str, data: Any, place: str
) -> None:
    fine = write(tmp_path / "fine.json", [{"role": "user", "content": "fine"}])
    report = conversations.import_files(write(tmp_path / name, data), fine)
    assert len(report.failed) == 1
    assert report.failed[0].path.endswith(place)
    assert "fine" in [message.text for each in conversations.list() for message in conversations.messages(each.id)]


def test_another_branch_is_shown_where_the_export_says_so(conversations: Conversations, tmp_path: Path) -> None:
    path = write(tmp_path / "conversations.json", [chatgpt("a1")])
    assert conversations.import_files(path).added == 4
    write(path, [chatgpt("a2")])
    other = conversations.import_files(path)
    assert (other.added, other.changed, other.removed) == (0, 4, 0)
    shown = [message.text for message in conversations.messages("c1") if not message.branch]
    assert shown == ["How long do grey herons live?", "Up to twenty-five years."]


def test_importing_again_keeps_what_the_user_edited(conversations: Conversations, tmp_path: Path) -> None:
    path = write(tmp_path / "conversations.json", [chatgpt("a1")])
    conversations.import_files(path, project="work")
    first, *others = conversations.messages("c1")
    conversations.edit("c1", title="what I call it", archived=True)
    conversations.edit_message("c1", first.id, text="what I meant")
    conversations.add_message("c1", "what I add", id="mine")
    again = conversations.import_files(path, project="travel")
    assert (again.added, again.changed, again.removed) == (0, 0, 0)
    found = conversations.get("c1")
    assert (found.title, found.archived, found.project) == ("what I call it", True, "travel")
    texts = ["what I meant", *(message.text for message in others), "what I add"]
    assert [message.text for message in conversations.messages("c1")] == texts
    assert [hit.title for hit in conversations.search("meant", archived=True)][:1] == ["what I call it"]
    write(path, [chatgpt("a1") | {"title": "what it is called elsewhere"}])
    conversations.import_files(path)
    assert conversations.get("c1").title == "what I call it"
    conversations.put(Thread(Conversation("c1", "what a program calls it"), ()))
    assert conversations.get("c1").title == "what a program calls it"


def test_a_message_whose_date_cannot_be_read_is_kept_without_it(conversations: Conversations, tmp_path: Path) -> None:
    lines = ['{"text": "when?", "date": "1:56 pm on 8 May, 2023"}', '{"text": "fine", "date": "2024-05-01"}']
    report = conversations.import_files(write(tmp_path / "x.jsonl", "\n".join(lines)))
    assert (report.added, report.undated, report.failed) == (2, 1, ())
    assert [(turn.text, turn.created_at) for turn in conversations.messages("x")] == [
        ("fine", "2024-05-01"), ("when?", None)
    ]  # fmt: skip


def test_unknown_formats_and_paths_are_refused_before_anything_is_read(
    conversations: Conversations, tmp_path: Path
) -> None:
    fine = write(tmp_path / "fine.json", [{"role": "user", "content": "fine"}])
    with pytest.raises(InvalidArgument, match="choose one of slack, discord-package, openai, claude"):
        conversations.import_files(fine, format="icq")
    with pytest.raises(NotFound, match="nothing at"):
        conversations.import_files(fine, tmp_path / "none.json")
    assert conversations.list() == []
