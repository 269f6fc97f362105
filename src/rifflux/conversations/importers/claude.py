"""Claude: `conversations.json` and the projects of a data export.

A turn consists of blocks. Text is kept, as are artifacts, which are documents that Claude wrote beside its answer, and
the extracted text of attachments. Other tool calls, their output and the model's reasoning are left out. A project
becomes a conversation of its instructions and documents.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from rifflux.conversations.importers.base import (
    Format,
    Item,
    RecordShape,
    Tally,
    date_of,
    list_of,
    mapping_of,
    named_file,
    records_of,
    role_of,
    string_of,
)
from rifflux.conversations.importers.export import Export
from rifflux.conversations.model import Conversation, Message, Thread
from rifflux.errors import Unreadable
from rifflux.types import Failure

_SOURCE = "claude"
_REASONING = frozenset({"thinking", "redacted_thinking"})
#: Tools whose input is a document that people see, with the names of the fields that hold it.
_WRITING = {"artifacts": ("content", "new_str"), "create_file": ("file_text",)}
#: Artifacts in their older form, inside the text of answers.
_ARTIFACT = re.compile(r"<antArtifact\b([^>]*)>|</antArtifact>")
_THINKING = re.compile(r"<antThinking>.*?</antThinking>\s*", re.DOTALL)
_TITLE = re.compile(r'\btitle="([^"]*)"')


def _read(export: Export, name: str, tally: Tally) -> Iterator[Item]:
    if "conversations" in name:
        projects = _project_names(export, tally)
    else:
        projects = {}
    for number, record in enumerate(records_of(export, name), 1):
        if "chat_messages" in record:
            yield _thread(record, projects, f"{export.called(name)}-{number}", tally)
        elif "prompt_template" in record or "docs" in record:
            yield from _project(record, tally)
        else:
            yield Failure(f"{export.label(name)}: conversation {number}", "has no list of messages")


#: The shapes of a conversation, and two of a project.
_SHAPES = (
    RecordShape({"uuid", "chat_messages"}),
    RecordShape({"uuid", "prompt_template"}),
    RecordShape({"uuid", "docs"}),
)
CLAUDE = Format("Claude", _read, shapes=_SHAPES)


def _project_names(export: Export, tally: Tally) -> dict[str, str]:
    """Return the names of projects by id."""
    found: dict[str, str] = {}
    for name in export.names:
        if name.rsplit("/", 1)[-1] == "projects.json" or name.startswith("projects/"):
            try:
                found |= {string_of(each.get("uuid")): string_of(each.get("name")) for each in records_of(export, name)}
            except Unreadable:
                tally.note("import.no_project_names", "the names of projects could not be read")
    return found


def _project(record: Mapping[str, Any], tally: Tally) -> Iterator[Thread]:
    """Yield the thread of a project, unless it is empty."""
    id = string_of(record.get("uuid"))
    name = string_of(record.get("name"))
    created_at = date_of(record.get("created_at"), tally)
    entries = [
        ("description", record.get("description"), created_at),
        ("instructions", record.get("prompt_template"), created_at),
    ]
    for number, doc in enumerate((mapping_of(each) for each in list_of(record.get("docs"))), 1):
        words = string_of(doc.get("content"))
        if words.strip():
            text = f"{named_file(doc.get('filename'))}\n{words}".strip()
        else:
            text = ""
        key = string_of(doc.get("uuid")) or f"document-{number}"
        entries.append((key, text, date_of(doc.get("created_at"), tally)))
    messages = tuple(
        Message(key, id, string_of(text).strip(), created_at=date, source=_SOURCE)
        for key, text, date in entries
        if string_of(text).strip()
    )
    if messages:
        conversation = Conversation(id, name, name, record.get("archived_at") is not None, created_at)
        yield Thread(conversation, messages, whole=True)
    else:
        tally.skip("projects without documents")


@dataclass(frozen=True, slots=True)
class _Turn:
    id: str
    parent: str
    record: Mapping[str, Any]


def _thread(record: Mapping[str, Any], projects: Mapping[str, str], default_id: str, tally: Tally) -> Thread:
    id = string_of(record.get("uuid")) or default_id
    project = mapping_of(record.get("project"))
    of = string_of(project.get("uuid")) or string_of(record.get("project_uuid"))
    conversation = Conversation(
        id,
        string_of(record.get("name")),
        string_of(project.get("name")) or projects.get(of, of),
        record.get("is_archived") is True,
        date_of(record.get("created_at"), tally),
    )
    turns = [
        _Turn(string_of(each.get("uuid")) or f"m{place:06}", string_of(each.get("parent_message_uuid")), each)
        for place, each in enumerate((mapping_of(each) for each in list_of(record.get("chat_messages"))), 1)
    ]
    branches = _branches(turns, string_of(record.get("current_leaf_message_uuid")))
    messages = []
    for turn in turns:
        text = _words(turn.record, tally)
        if not text:
            tally.skip("messages without words")
            continue
        date = date_of(turn.record.get("created_at"), tally)
        role = role_of(turn.record.get("sender"))
        messages.append(Message(turn.id, id, text, role, "", date, _SOURCE, branches[turn.id]))
    return Thread(conversation, tuple(messages), whole=True)


def _branches(turns: list[_Turn], leaf: str) -> dict[str, str]:
    """Return the first turn of each turn's branch, or an empty string on the active branch."""
    parents = {turn.id: turn.parent for turn in turns}
    if not any(parent in parents for parent in parents.values()):
        return dict.fromkeys(parents, "")
    active: set[str] = set()
    node = leaf if leaf in parents else turns[-1].id
    while node in parents and node not in active:
        active.add(node)
        node = parents[node]
    found: dict[str, str] = {}
    for turn in turns:
        # Parents precede their children.
        found[turn.id] = "" if turn.id in active else found.get(turn.parent) or turn.id
    return found


# A message


def _words(record: Mapping[str, Any], tally: Tally) -> str:
    """Return the text of a message and of its attachments."""
    blocks = [*(mapping_of(each) for each in list_of(record.get("content")))]
    texts = [text for text in (_block(each, tally) for each in blocks) if text]
    if not any(each.get("type") == "text" and each.get("text") for each in blocks):
        texts = [*([_plain(string_of(record.get("text")))] if not texts else []), *texts]
    for each in (mapping_of(each) for each in list_of(record.get("attachments"))):
        texts += [named_file(each.get("file_name")), string_of(each.get("extracted_content")).strip()]
    texts += [named_file(mapping_of(each).get("file_name")) for each in list_of(record.get("files"))]
    return "\n".join(filter(None, texts)).strip()


def _block(block: Mapping[str, Any], tally: Tally) -> str:
    kind = string_of(block.get("type"))
    name = string_of(block.get("name"))
    if kind in ("text", "voice_note"):
        return _plain(string_of(block.get("text")))
    if kind == "tool_use" and name in _WRITING:
        given = mapping_of(block.get("input"))
        title = string_of(given.get("title")) or string_of(given.get("path"))
        written = (string_of(given.get(field)) for field in _WRITING[name])
        return "\n".join(filter(None, (title, *written))).strip()
    if kind == "tool_use":
        tally.skip("calls of tools")
    elif kind == "tool_result":
        tally.skip("output of tools")
    elif kind in _REASONING:
        tally.skip("thoughts of models")
    return ""


def _plain(text: str) -> str:
    """Return the text of an answer, including artifacts with their titles, without markup."""

    def unmarked(found: re.Match[str]) -> str:
        title = _TITLE.search(found[1] or "")
        if title:
            return title[1]
        return ""

    return _ARTIFACT.sub(unmarked, _THINKING.sub("", text)).strip()
