"""Claude's export: blocks, artifacts, attachments, projects, and branches where it has them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rifflux.conversations import Conversations, Thread
from rifflux.conversations.importers import Tally, read
from tests.conversations.importers.exports import SHAPES, claude, packed, said, unpacked


def threads(path: Path, tally: Tally | None = None) -> dict[str, Thread]:
    return {item.conversation.id: item for item in read([path], tally=tally) if isinstance(item, Thread)}


def block(kind: str, **fields: Any) -> dict[str, Any]:
    return {"type": kind, "start_timestamp": None, "stop_timestamp": None, **fields}


def test_a_folder_with_users_is_no_slack_export(conversations: Conversations, tmp_path: Path) -> None:
    report = conversations.import_files(unpacked(tmp_path, SHAPES["claude"](False)))
    assert (report.recognized, report.added) == ({"claude": 2}, 5)


def test_projects_are_conversations_of_what_they_know_and_name_others(tmp_path: Path) -> None:
    files = {**SHAPES["claude"](False), "conversations.json": [claude(said("m1", "human", "hi"), project_uuid="p1")]}
    found = threads(packed(tmp_path / "x.zip", files))
    assert found["8f0c"].conversation.project == "Boats"
    assert (found["p1"].conversation.title, found["p1"].conversation.project) == ("Boats", "Boats")
    assert [turn.text for turn in found["p1"].messages] == [
        "All about boats", "Answer in knots.", "[file: knots.md]\nA bowline holds."
    ]  # fmt: skip


def test_words_artifacts_and_attachments_are_kept_and_workings_are_not(tmp_path: Path) -> None:
    asked = said("m1", "human", "Read this", attachments=[
        {"file_name": "log.txt", "file_size": 9, "file_type": "txt", "extracted_content": "Rowed 4 km."}
    ], files=[{"file_name": "boat.png"}])  # fmt: skip
    answer = said("m2", "assistant", "flat text", 1)
    artifact = {"id": "a", "type": "text/markdown", "title": "Report", "command": "create", "content": "You rowed."}
    answer["content"] = [
        block("thinking", thinking="hm"),
        block("text", text="Here it is."),
        block("tool_use", name="artifacts", input=artifact),
        block("tool_use", name="web_search", input={"query": "boats"}),
        block("tool_result", name="web_search", content=[{"type": "text", "text": "results"}]),
    ]
    older = said("m3", "assistant", "", 2)
    older["content"] = []
    older["text"] = 'Done. <antArtifact identifier="b" type="text/plain" title="List">one oar</antArtifact>'
    tally = Tally()
    found = threads(packed(tmp_path / "x.zip", {"conversations.json": [claude(asked, answer, older)]}), tally)
    assert [turn.text for turn in found["8f0c"].messages] == [
        "Read this\n[file: log.txt]\nRowed 4 km.\n[file: boat.png]",
        "Here it is.\nReport\nYou rowed.",
        "Done. Listone oar",
    ]
    assert tally.skipped == {"thoughts of models": 1, "calls of tools": 1, "output of tools": 1}
    assert [turn.role for turn in found["8f0c"].messages] == ["user", "assistant", "assistant"]


def test_branches_are_told_where_messages_name_their_parents(tmp_path: Path) -> None:
    root = "00000000-0000-4000-8000-000000000000"
    turns = [
        said("q", "human", "Which oar?", 0, parent_message_uuid=root),
        said("a", "assistant", "The left one.", 1, parent_message_uuid="q"),
        said("b", "assistant", "The right one.", 2, parent_message_uuid="q"),
        said("c", "human", "Thanks.", 3, parent_message_uuid="b"),
    ]
    found = threads(packed(tmp_path / "x.zip", {"conversations.json": [claude(*turns)]}))
    assert {turn.id: turn.branch for turn in found["8f0c"].messages} == {"q": "", "a": "a", "b": "", "c": ""}
    chosen = claude(*turns, current_leaf_message_uuid="a")
    found = threads(packed(tmp_path / "x.zip", {"conversations.json": [chosen]}))
    assert {turn.id: turn.branch for turn in found["8f0c"].messages} == {"q": "", "a": "", "b": "b", "c": "b"}
