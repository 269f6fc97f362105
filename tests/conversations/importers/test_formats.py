"""Conversations are read from the exports that people have; what is broken is told with its place."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rifflux import Failure, InvalidArgument, NotFound
from rifflux.conversations import Conversation, Conversations, Thread
from rifflux.conversations.importers import read


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


def node(
    id: str, parent: str | None, role: str, text: str, children: tuple[str, ...] = (), **more: Any
) -> dict[str, Any]:
    content = {"content_type": "text", "parts": [text]}
    message = {"id": id, "author": {"role": role}, "create_time": 1714560000.5 + len(id), "content": content, **more}
    return {"id": id, "parent": parent, "children": list(children), "message": message}


def openai(**more: Any) -> dict[str, Any]:
    nodes = [
        {"id": "root", "parent": None, "children": ["s"], "message": None},
        node("s", "root", "system", "You are helpful.", ("q1", "q2")),
        node("q1", "s", "user", "first wording", ("a1",)),
        node("a1", "q1", "assistant", "first answer"),
        node("q2", "s", "user", "second wording", ("t",)),
        node("t", "q2", "assistant", "search(...)", ("a2",), recipient="browser"),
        node("a2", "t", "assistant", "second answer"),
    ]
    mapping = {each["id"]: each for each in nodes}
    return {"conversation_id": "c1", "title": "Trip", "create_time": 1714560000, "mapping": mapping, **more}


def test_an_openai_export_is_read_along_its_current_branch(tmp_path: Path) -> None:
    path = write(
        tmp_path / "conversations.json", [openai(current_node="a2"), openai(conversation_id="c2", current_node="a1")]
    )
    first, second = threads(path)
    assert (first.conversation.id, first.conversation.title) == ("c1", "Trip")
    assert first.conversation.created_at == "2024-05-01T10:40:00+00:00"
    assert said(first) == [("user", "second wording"), ("assistant", "second answer")]
    assert said(second) == [("user", "first wording"), ("assistant", "first answer")]
    assert first.messages[0].source == "openai"


def test_an_openai_export_without_a_current_node_or_with_a_circle_is_read(tmp_path: Path) -> None:
    circle = openai(current_node="a2", conversation_id="c3")
    circle["mapping"]["root"]["parent"] = "a2"
    newest, turning = threads(write(tmp_path / "conversations.json", [openai(), circle]))
    assert said(newest)[-1][1] in ("first answer", "second answer")
    assert [text for _, text in said(turning)] == ["second wording", "second answer"]


def test_pictures_and_hidden_turns_of_an_openai_export_are_left_out(tmp_path: Path) -> None:
    export = openai(current_node="a2")
    export["mapping"]["q2"]["message"]["content"] = {
        "content_type": "multimodal_text", "parts": [{"asset_pointer": "file"}, "look at this"]
    }  # fmt: skip
    export["mapping"]["a2"]["message"]["metadata"] = {"is_visually_hidden_from_conversation": True}
    (thread,) = threads(write(tmp_path / "conversations.json", [export]))
    assert said(thread) == [("user", "look at this")]


def spoken(user: str, text: str, ts: str, **more: Any) -> dict[str, Any]:
    return {"type": "message", "user": user, "text": text, "ts": ts, **more}


@pytest.fixture
def slack(tmp_path: Path) -> Path:
    folder = tmp_path / "slack"
    write(folder / "users.json", [{"id": "U1", "profile": {"display_name": "Ann"}}, {"id": "U2", "real_name": "Bob"}])
    write(folder / "channels.json", [{"id": "C1", "name": "general"}])
    write(folder / "dms.json", [{"id": "D1", "members": ["U1", "U2"]}])
    asked, answered = "1714560002.0", "1714646400.0"
    write(folder / "general" / "2024-05-01.json", [
        spoken("U1", "joined", "1714560000.000100", subtype="channel_join"),
        spoken("U1", "Hi <@U2>, see <#C1|general> &amp; <https://x.org|this>", "1714560001.0"),
        spoken("U1", "Who deploys?", asked, thread_ts=asked, reply_count=1),
        spoken("U2", "Lunch!", "1714560003.0"),
    ])  # fmt: skip
    write(folder / "general" / "2024-05-02.json", [
        spoken("U2", "I do.", answered, thread_ts=asked),
        spoken("", "Done", "1714646500.0", subtype="bot_message", bot_id="B1", username="ci"),
    ])  # fmt: skip
    write(folder / "D1" / "2024-05-01.json", [spoken("U2", "psst", "1714560009.0")])
    return folder


def test_a_slack_export_is_read_by_channel_and_thread(slack: Path) -> None:
    direct, channel, thread = threads(slack)
    assert (channel.conversation.id, channel.conversation.title) == ("C1", "#general")
    assert said(channel) == [
        ("Ann", "Hi @Bob, see #general & this (https://x.org)"), ("Bob", "Lunch!"), ("ci", "Done")
    ]  # fmt: skip
    assert channel.messages[2].role == "assistant"
    assert thread.conversation.title == "#general: Who deploys?"
    assert said(thread) == [("Ann", "Who deploys?"), ("Bob", "I do.")]
    assert thread.messages[1].created_at == "2024-05-02T10:40:00+00:00"
    assert (direct.conversation.title, said(direct)) == ("Bob", [("Bob", "psst")])


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
        ("x.jsonl", '{"text": "when?", "date": "soon"}\n{"text": "fine"}', "x.jsonl:1"),
        ("conversations.json", [{"mapping": 3}, openai()], "conversation 1"),
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


def test_importing_again_changes_nothing_and_a_new_branch_replaces_the_old(
    conversations: Conversations, slack: Path, tmp_path: Path
) -> None:
    path = write(tmp_path / "conversations.json", [openai(current_node="a1")])
    first = conversations.import_files(slack, path)
    assert (first.conversations, first.added) == (4, 8)
    again = conversations.import_files(slack, path)
    assert (again.conversations, again.added, again.changed, again.unchanged) == (0, 0, 0, 8)
    write(path, [openai(current_node="a2")])
    other = conversations.import_files(path)
    assert (other.added, other.removed) == (2, 2)
    assert [message.text for message in conversations.messages("c1")] == ["second wording", "second answer"]


def test_importing_again_keeps_what_the_user_edited(conversations: Conversations, tmp_path: Path) -> None:
    path = write(tmp_path / "conversations.json", [openai(current_node="a1")])
    conversations.import_files(path, project="work")
    first, second = conversations.messages("c1")
    conversations.edit("c1", title="what I call it", archived=True)
    conversations.edit_message("c1", first.id, text="what I meant")
    conversations.add_message("c1", "what I add", id="mine")
    again = conversations.import_files(path, project="travel")
    assert (again.added, again.changed, again.removed) == (0, 0, 0)
    found = conversations.get("c1")
    assert (found.title, found.archived, found.project) == ("what I call it", True, "travel")
    texts = ["what I meant", second.text, "what I add"]
    assert [message.text for message in conversations.messages("c1")] == texts
    assert [hit.title for hit in conversations.search("meant", archived=True)][:1] == ["what I call it"]
    write(path, [openai(current_node="a1", title="what it is called elsewhere")])
    conversations.import_files(path)
    assert conversations.get("c1").title == "what I call it"
    conversations.put(Thread(Conversation("c1", "what a program calls it"), ()))
    assert conversations.get("c1").title == "what a program calls it"


def test_unknown_formats_and_paths_are_refused_before_anything_is_read(
    conversations: Conversations, tmp_path: Path
) -> None:
    fine = write(tmp_path / "fine.json", [{"role": "user", "content": "fine"}])
    with pytest.raises(InvalidArgument, match="choose one of jsonl, openai, slack, messages"):
        conversations.import_files(fine, format="telegram")
    with pytest.raises(NotFound, match="nothing at"):
        conversations.import_files(fine, tmp_path / "none.json")
    assert conversations.list() == []
