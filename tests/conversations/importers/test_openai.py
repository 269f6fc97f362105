"""ChatGPT's export: all branches, what people saw of tools, and no marks of citations."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rifflux import Failure
from rifflux.conversations import Conversations, Thread
from rifflux.conversations.importers import Tally, read
from rifflux.conversations.importers.openai import plain
from tests.conversations.importers.exports import chatgpt, node, packed, unpacked


def thread(tmp_path: Path, *conversations: Any, tally: Tally | None = None) -> Thread:
    path = packed(tmp_path / "x.zip", {"conversations.json": list(conversations)})
    (found,) = (item for item in read([path], tally=tally) if isinstance(item, Thread))
    return found


def text(tmp_path: Path, **message: Any) -> str:
    """What is read of a conversation's last message, made like this."""
    last = node("a2", "o", "assistant", "")
    last["message"] |= message
    found = [turn for turn in thread(tmp_path, chatgpt(a2=last)).messages if turn.id == "a2"]
    return found[0].text if found else ""


def test_all_branches_are_kept_and_the_shown_one_is_told(tmp_path: Path) -> None:
    tally = Tally()
    found = thread(tmp_path, chatgpt("a2"), tally=tally)
    assert (found.conversation.title, found.conversation.created_at) == ("Herons", "2024-05-01T10:40:00+00:00")
    assert [(turn.id, turn.role, turn.branch) for turn in found.messages] == [
        ("q1", "user", "q1"), ("a1", "assistant", "q1"), ("q2", "user", ""), ("a2", "assistant", "")
    ]  # fmt: skip
    assert tally.skipped == {"system messages and settings": 1, "calls of tools": 1, "output of tools": 1}
    other = thread(tmp_path, chatgpt("a1"))
    assert [turn.id for turn in other.messages if not turn.branch] == ["q1", "a1"]


def test_the_branch_of_a_message_is_stored_and_searched(conversations: Conversations, tmp_path: Path) -> None:
    conversations.import_files(unpacked(tmp_path, {"conversations.json": [chatgpt()]}))
    assert {turn.id: turn.branch for turn in conversations.messages("c1")} == {
        "q1": "q1",
        "a1": "q1",
        "q2": "",
        "a2": "",
    }
    assert conversations.search("fifteen")[0].message.branch == "q1"


def test_what_was_not_shown_is_no_neighbour_of_what_was(conversations: Conversations, tmp_path: Path) -> None:
    export = chatgpt(more=True, current="z")
    for number in range(5):
        export["mapping"][f"r{number}"] = again = node("a1", "q2", "assistant", f"Kingfisher number {number}.")
        again["message"]["create_time"] = 1714560004.6 + number / 10
    conversations.import_files(unpacked(tmp_path, {"conversations.json": [export]}))
    hit = conversations.search("twenty-five years", neighbors=1)[0]
    assert ([turn.id for turn in hit.before], [turn.id for turn in hit.after]) == (["q2"], ["z"])
    assert {hit.message.id for hit in conversations.search("kingfisher")} == {f"r{number}" for number in range(5)}
    assert "a2" in {hit.message.id for hit in conversations.search("grey herons")}
    conversations.edit_message("c1", "q2", text="How old is the oldest grey heron?")
    assert {"q2", "a2", "z"} <= {hit.message.id for hit in conversations.search("oldest")}


@pytest.mark.parametrize("current", [None, "gone"])
def test_without_a_current_node_the_newest_branch_is_the_shown_one(tmp_path: Path, current: str | None) -> None:
    export = chatgpt(current)
    export["mapping"]["a1"]["message"]["create_time"] = 2e9
    assert [turn.id for turn in thread(tmp_path, export).messages if not turn.branch] == ["q1", "a1"]


def test_a_circle_ends(tmp_path: Path) -> None:
    export = chatgpt()
    export["mapping"]["root"]["parent"] = "a2"
    assert {turn.id for turn in thread(tmp_path, export).messages} == {"q1", "a1", "q2", "a2"}


def test_an_export_in_several_files_is_one(tmp_path: Path) -> None:
    files = {f"conversations-00{number}.json": [chatgpt(id=f"c{number}")] for number in range(3)}
    found = list(read([packed(tmp_path / "x.zip", files)]))
    assert [item.conversation.id for item in found if isinstance(item, Thread)] == ["c0", "c1", "c2"]


def test_what_is_no_conversation_is_told_with_its_place(tmp_path: Path) -> None:
    found = list(read([packed(tmp_path / "x.zip", {"conversations.json": [{"mapping": 3}, chatgpt()]})]))
    failed = [item for item in found if isinstance(item, Failure)]
    assert [each.path.rsplit("/", 1)[-1] for each in failed] == ["conversations.json: conversation 1"]
    assert len(found) == 2


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ("Iron \ue200cite\ue202turn0search3\ue202turn0search8\ue201.", "Iron."),
        ("\ue203Iron\ue204 rusts \ue200filecite\ue202turn0file0\ue201", "Iron rusts"),
        ('by \ue200entity\ue202["people","Ada Byron",0]\ue201 in 1843', "by Ada Byron in 1843"),
        ("see \ue200url\ue202the manual\ue202turn0search1\ue201", "see the manual"),
        ('\ue200image_group\ue202{"query":["boats"]}\ue201Boats', "Boats"),
        ("old marks 【8†source】 and 【4:0†file.pdf】.", "old marks and."),
        ("【brackets】 stay", "【brackets】 stay"),
    ],
)
def test_marks_of_citations_are_taken_out(tmp_path: Path, given: str, wanted: str) -> None:
    assert plain(given) == wanted
    assert text(tmp_path, content={"content_type": "text", "parts": [given]}) == wanted


IMAGE = {"content_type": "image_asset_pointer", "asset_pointer": "file-service://file-1", "width": 8, "height": 8}


@pytest.mark.parametrize(
    ("parts", "metadata", "wanted"),
    [
        (["look", IMAGE], {"attachments": [{"id": "file-1", "name": "weir.png"}]}, "look\n[file: weir.png]"),
        ([IMAGE, "look"], {}, "[image]\nlook"),
        ([{**IMAGE, "metadata": {"dalle": {"prompt": "a weir at dawn"}}}], {}, "[image: a weir at dawn]"),
        (
            [
                {"content_type": "audio_transcription", "text": "Where is the weir?", "direction": "in"},
                {"content_type": "audio_asset_pointer", "asset_pointer": "sediment://x", "format": "wav"},
            ],
            {},
            "Where is the weir?",
        ),
        ([{"content_type": "audio_asset_pointer", "asset_pointer": "sediment://x"}], {}, "[audio]"),
        ([{"content_type": "video_container_asset_pointer"}], {}, "[video container]"),
    ],
)
def test_parts_that_are_no_text_are_named(
    tmp_path: Path, parts: list[Any], metadata: dict[str, Any], wanted: str
) -> None:
    content = {"content_type": "multimodal_text", "parts": parts}
    assert text(tmp_path, content=content, metadata=metadata) == wanted


def words(value: Any) -> dict[str, Any]:
    return {"content_type": "code", "language": "json", "text": json.dumps(value)}


@pytest.mark.parametrize(
    ("message", "wanted"),
    [
        (
            {"recipient": "canmore.create_textdoc", "content": words({"name": "Plan", "type": "x", "content": "Go"})},
            "Plan\nGo",
        ),
        (
            {
                "recipient": "canmore.update_textdoc",
                "content": words({"updates": [{"pattern": ".*", "multiple": False, "replacement": "Row on."}]}),
            },
            "Row on.",
        ),
        ({"recipient": "dalle.text2im", "content": words({"prompt": "a weir", "size": "1x1"})}, "[image: a weir]"),
        ({"recipient": "python", "content": {"content_type": "code", "text": "print(1)"}}, ""),
        ({"content": {"content_type": "thoughts", "thoughts": [{"summary": "x", "content": "y"}]}}, ""),
        ({"content": {"content_type": "reasoning_recap", "content": "Thought for 3 s"}}, ""),
        ({"content": {"content_type": "user_editable_context", "user_profile": "x"}}, ""),
        ({"content": {"content_type": "tether_quote", "text": "x"}}, ""),
        ({"metadata": {"is_visually_hidden_from_conversation": True}, "content": {"parts": ["x"]}}, ""),
        ({"author": {"role": "tool", "name": "file_search"}, "content": {"content_type": "text", "parts": ["x"]}}, ""),
        (
            {"author": {"role": "tool"}, "content": {"content_type": "multimodal_text", "parts": [IMAGE]}},
            "[image]",
        ),
    ],
)  # fmt: skip
def test_what_people_saw_of_tools_is_kept_and_their_workings_are_not(
    tmp_path: Path, message: dict[str, Any], wanted: str
) -> None:
    assert text(tmp_path, **message) == wanted


@pytest.mark.parametrize(("gizmo", "project"), [("g-p-6789", "g-p-6789"), ("g-2fkFE8rbu", ""), (None, "")])
def test_a_gpt_is_no_project(tmp_path: Path, gizmo: str | None, project: str) -> None:
    assert thread(tmp_path, chatgpt() | {"gizmo_id": gizmo}).conversation.project == project
