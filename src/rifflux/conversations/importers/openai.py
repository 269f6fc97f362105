"""The `conversations.json` of an OpenAI data export: each conversation is a tree of messages.

Whoever edits a question or asks for another answer begins a new branch. What is read is the branch that was last shown:
from `current_node` up to the root.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from rifflux.conversations.importers.base import load_json, mapping_of, role_of, string_of, thread_of, threads_of
from rifflux.conversations.model import Thread
from rifflux.errors import Unreadable
from rifflux.types import Failure

__all__ = ["read_openai"]

_SOURCE = "openai"
#: Kinds of content that are words of somebody; others are the workings of tools.
_SPOKEN = frozenset({"text", "multimodal_text", "code", ""})


def read_openai(path: Path) -> Iterator[Thread | Failure]:
    """Yield the conversations of an export."""
    data = load_json(path)
    if not isinstance(data, list):
        raise Unreadable("holds no list of conversations: choose the export's conversations.json")
    yield from threads_of(path, data, _thread)


def _thread(record: Any, default_id: str) -> Thread:
    nodes = mapping_of(record).get("mapping")
    if not isinstance(nodes, Mapping):
        raise Unreadable("has no mapping of messages")
    branch = _branch(nodes, record.get("current_node"))
    fields = {
        "id": record.get("conversation_id") or record.get("id"),
        "title": record.get("title"),
        "project": record.get("gizmo_id"),
        "archived": record.get("is_archived"),
        "created_at": record.get("create_time"),
        "messages": [
            {**mapping_of(nodes[key].get("message")), "id": key, "source": _SOURCE}
            for key in branch
            if _is_shown(mapping_of(nodes[key]).get("message"))
        ],
    }
    return thread_of(fields, default_id)


def _branch(nodes: Mapping[str, Any], current: Any) -> list[str]:
    """Return the nodes from the root to the current one; where none is named, to the end of the newest branch."""
    node = current if isinstance(current, str) and current in nodes else _newest_leaf(nodes)
    branch: dict[str, None] = {}
    # A node that comes again would be a circle, which no export should have.
    while node in nodes and node not in branch:
        branch[node] = None
        parent = mapping_of(nodes[node]).get("parent")
        node = parent if isinstance(parent, str) else ""
    return list(branch)[::-1]


def _newest_leaf(nodes: Mapping[str, Any]) -> str:
    leaves = [key for key, node in nodes.items() if isinstance(node, Mapping) and not node.get("children")]
    return max(leaves, key=lambda key: _created(nodes[key]), default="")


def _created(node: Mapping[str, Any]) -> float:
    time = mapping_of(node.get("message")).get("create_time")
    return float(time) if isinstance(time, int | float) else 0.0


def _is_shown(message: object) -> bool:
    """Return True if a node's message was shown to somebody as words of a person or an assistant."""
    if not isinstance(message, Mapping):
        return False
    content, author, held = (mapping_of(message.get(name)) for name in ("content", "author", "metadata"))
    hidden = held.get("is_visually_hidden_from_conversation") or message.get("recipient") not in (None, "all")
    spoken = string_of(content.get("content_type")) in _SPOKEN
    return spoken and not hidden and role_of(author.get("role")) != "system"
