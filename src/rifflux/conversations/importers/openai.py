"""ChatGPT: the `conversations.json` of an OpenAI data export, in which each conversation is a tree of messages.

Editing a question or regenerating an answer starts a new branch. The active branch, which was displayed last, leads
from `current_node` up to the root; messages of the other branches are kept too, marked with the message at which their
branch begins.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
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
from rifflux.types import Failure

_SOURCE = "openai"
#: Kinds of content that are somebody's words; others are internals of tools and models.
_SPOKEN = frozenset({"text", "multimodal_text", "code", ""})
_REASONING = frozenset({"thoughts", "reasoning_recap"})
_SETTING = frozenset({"user_editable_context", "model_editable_context"})
#: Tool calls whose content people see: a document beside the conversation, or a picture.
_CANVAS = re.compile(r"canmore\.(create|update)_textdoc")
_PICTURE = re.compile(r"dalle|image_gen|t2uay3k")
#: Names of references between private-use characters: citations, entities, links.
_MARK = re.compile("[ \t]?\ue200([^\ue200-\ue202]*)((?:\ue202[^\ue200-\ue202]*)*)\ue201")
_RESIDUE = re.compile(r"[\ue200-\ue206]|[ \t]?【\d+(?::\d+)?†[^】]*】")


def _read(export: Export, name: str, tally: Tally) -> Iterator[Item]:
    for number, record in enumerate(records_of(export, name), 1):
        nodes = record.get("mapping")
        if isinstance(nodes, Mapping):
            yield _thread(record, nodes, f"{export.called(name)}-{number}", tally)
        else:
            yield Failure(f"{export.label(name)}: conversation {number}", "has no mapping of messages")


OPENAI = Format("ChatGPT", _read, shapes=(RecordShape({"mapping"}),))


def _thread(record: Mapping[str, Any], nodes: Mapping[str, Any], default_id: str, tally: Tally) -> Thread:
    id = string_of(record.get("conversation_id") or record.get("id")) or default_id
    conversation = Conversation(
        id,
        string_of(record.get("title")),
        _project(string_of(record.get("gizmo_id"))),
        record.get("is_archived") is True,
        date_of(record.get("create_time"), tally),
    )
    branches = _branches(nodes, record.get("current_node"))
    found = (_message(key, nodes[key], id, branch, tally) for key, branch in branches.items())
    return Thread(conversation, tuple(message for message in found if message), whole=True)


def _project(gizmo: str) -> str:
    """Return the id of a project; a GPT's id, stored in the same field, does not count."""
    if gizmo.startswith("g-p-"):
        return gizmo
    return ""


# The tree


def _branches(nodes: Mapping[str, Any], current: Any) -> dict[str, str]:
    """Return all nodes, parents before children, with the first node of their branch; None on the active branch."""
    active = set(_active_branch(nodes, current))
    found: dict[str, str] = {}
    roots = [key for key in nodes if _parent(nodes, key) not in nodes]
    # Cyclic nodes, which no valid export has, come last.
    waiting = [(key, "") for key in [*reversed(list(nodes)), *reversed(roots)]]
    while waiting:
        key, branch = waiting.pop()
        if key in found or key not in nodes:
            continue
        branch = "" if key in active else branch or key
        found[key] = branch
        children = [child for child in list_of(mapping_of(nodes[key]).get("children")) if isinstance(child, str)]
        waiting += [(child, branch) for child in reversed(children)]
    return found


def _active_branch(nodes: Mapping[str, Any], current: Any) -> Iterator[str]:
    """Yield the nodes of the active branch, or of the newest one if none is given."""
    if isinstance(current, str) and current in nodes:
        node = current
    else:
        node = _newest_leaf(nodes)
    seen: set[str] = set()
    while node in nodes and node not in seen:
        seen.add(node)
        yield node
        node = _parent(nodes, node)


def _parent(nodes: Mapping[str, Any], key: str) -> str:
    parent = mapping_of(nodes[key]).get("parent")
    if isinstance(parent, str):
        return parent
    return ""


def _newest_leaf(nodes: Mapping[str, Any]) -> str:
    leaves = [key for key, node in nodes.items() if isinstance(node, Mapping) and not node.get("children")]
    return max(leaves, key=lambda key: _created(nodes[key]), default="")


def _created(node: Mapping[str, Any]) -> float:
    time = mapping_of(node.get("message")).get("create_time")
    if isinstance(time, int | float):
        return float(time)
    return 0.0


# A message


def _message(key: str, node: Any, conversation_id: str, branch: str, tally: Tally) -> Message | None:
    """Return the message of a node, or None for an invisible one, which is counted."""
    message = mapping_of(mapping_of(node).get("message"))
    if not message:
        return None
    content, author, metadata = (mapping_of(message.get(name)) for name in ("content", "author", "metadata"))
    role = role_of(author.get("role"))
    kind = string_of(content.get("content_type"))
    if reason := _unseen(role, kind, metadata):
        tally.skip(reason)
        return None
    recipient = message.get("recipient")
    if recipient not in (None, "all"):
        text = _called(string_of(recipient), content)
        reason = "calls of tools"
    elif role == "tool":
        text = _pictures(content)
        role = "assistant"
        reason = "output of tools"
    else:
        text = _visible_text(content, metadata)
        reason = "messages without words"
    if not text:
        tally.skip(reason)
        return None
    return Message(
        key,
        conversation_id,
        text,
        role,
        created_at=date_of(message.get("create_time"), tally),
        source=_SOURCE,
        branch=branch,
    )


def _unseen(role: str, kind: str, metadata: Mapping[str, Any]) -> str:
    """Return the reason why a message was invisible, or an empty string for a visible one."""
    if role == "system" or kind in _SETTING:
        return "system messages and settings"
    if metadata.get("is_visually_hidden_from_conversation"):
        return "hidden messages"
    if kind in _REASONING:
        return "thoughts of models"
    if kind in _SPOKEN or role == "tool":
        return ""
    return f"content of type {kind}"


def _visible_text(content: Mapping[str, Any], metadata: Mapping[str, Any]) -> str:
    """Return the text of a message, followed by the names of its attachments."""
    parts = content.get("parts", [content.get("text", "")])
    files = [named_file(mapping_of(each).get("name")) for each in list_of(metadata.get("attachments"))]
    transcribed = any(mapping_of(part).get("content_type") == "audio_transcription" for part in list_of(parts))
    texts = [_part(part, named=bool(files), transcribed=transcribed) for part in list_of(parts)]
    return "\n".join(filter(None, (*(each.strip() for each in texts), *files)))


def _part(part: object, *, named: bool, transcribed: bool) -> str:
    if isinstance(part, str):
        return plain(part)
    part = mapping_of(part)
    if words := string_of(part.get("text")):
        return plain(words)
    kind = string_of(part.get("content_type"))
    if kind.startswith("image"):
        prompt = mapping_of(mapping_of(part.get("metadata")).get("dalle")).get("prompt")
        return named_file(prompt, "image") or ("" if named else "[image]")
    if "audio" in kind:
        if transcribed:
            return ""
        return "[audio]"
    if kind and not named:
        return f"[{kind.removesuffix('_asset_pointer').replace('_', ' ')}]"
    return ""


def _pictures(content: Mapping[str, Any]) -> str:
    """Return a tool's pictures with their prompts; the tool's own text is meant for the model."""
    parts = [part for part in list_of(content.get("parts")) if isinstance(part, Mapping)]
    return "\n".join(filter(None, (_part(part, named=False, transcribed=False) for part in parts)))


def _called(recipient: str, content: Mapping[str, Any]) -> str:
    """Return the visible part of a tool call: a document, or the prompt of a picture."""
    words = "\n".join(part for part in [*list_of(content.get("parts")), content.get("text")] if isinstance(part, str))
    try:
        given = mapping_of(json.loads(words, strict=False))
    except (ValueError, RecursionError):
        given = {}
    if _CANVAS.match(recipient):
        changes = [string_of(mapping_of(each).get("replacement")) for each in list_of(given.get("updates"))]
        written = [string_of(given.get("name")), string_of(given.get("content")), *changes]
        return "\n".join(filter(None, written)).strip()
    if _PICTURE.match(recipient):
        return named_file(given.get("prompt"), "image")
    return ""


def plain(text: str) -> str:
    """Return a text without citation marks; names of entities remain."""
    return _RESIDUE.sub("", _MARK.sub(_unmarked, text))


def _unmarked(found: re.Match[str]) -> str:
    kind = found[1]
    fields = found[2].split("\ue202")[1:]
    lead = found[0][0] if found[0][0] in " \t" else ""
    if kind == "url" and fields:
        return lead + fields[0]
    if kind != "entity" or not fields:
        return ""
    try:
        named = list_of(json.loads(fields[0]))
    except ValueError:
        return ""
    if len(named) > 1:
        return lead + string_of(named[1])
    return ""
