"""The text of a Slack message: its text, blocks, attachments and file names."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from html import unescape
from typing import Any

from rifflux.conversations.importers.base import list_of, mapping_of, string_of

_REFERENCE = re.compile(r"<([^<>|]*)(?:\|([^<>]*))?>")
#: Rich-text elements that contain others.
_NESTED = frozenset({"rich_text", "rich_text_section", "rich_text_list", "rich_text_quote", "rich_text_preformatted"})
#: States of files that are missing from the export.
_UNAVAILABLE = frozenset({"tombstone", "hidden_by_limit", "file_access"})


@dataclass(slots=True)
class Names:
    """Names of users and channels by id."""

    users: dict[str, str] = field(default_factory=dict)
    channels: dict[str, str] = field(default_factory=dict)


def words_of(names: Names, record: Mapping[str, Any], *, whole: bool) -> str:
    """Return the text of a message; with `whole`, as for apps, including blocks that its text omits."""
    texts = [_plain(names, record.get("text"))]
    blocks = [*_blocks(names, record.get("blocks"))]
    if not texts[0] or (whole and any(mapping_of(each).get("type") != "rich_text" for each in _list(record, "blocks"))):
        texts += [each for each in blocks if each not in texts[0]]
    for attached in (mapping_of(each) for each in _list(record, "attachments")):
        texts += [each for each in _attached(names, attached) if each not in texts]
    for each in (mapping_of(each) for each in _list(record, "files")):
        if each.get("mode") not in _UNAVAILABLE:
            texts.append(string_of(each.get("name")) or string_of(each.get("title")))
    return "\n".join(filter(None, texts)).strip()


def _list(record: Mapping[str, Any], name: str) -> list[Any]:
    return list_of(record.get(name))


def _attached(names: Names, attached: Mapping[str, Any]) -> Iterator[str]:
    """Yield the texts of an attachment. The preview of a link in the text is not part of the message."""
    if attached.get("from_url") and not (attached.get("is_msg_unfurl") or attached.get("is_share")):
        return
    words = [_plain(names, attached.get(name)) for name in ("pretext", "title", "text")]
    fields = [*(mapping_of(each) for each in _list(attached, "fields"))]
    words += [
        ": ".join(filter(None, (_plain(names, each.get(name)) for name in ("title", "value")))) for each in fields
    ]
    words += [*_blocks(names, attached.get("blocks"))]
    for each in (mapping_of(each) for each in _list(attached, "message_blocks")):
        words += _blocks(names, mapping_of(each.get("message")).get("blocks"))
    yield from filter(None, words if any(words) else [_plain(names, attached.get("fallback"))])


def _blocks(names: Names, blocks: object) -> Iterator[str]:
    """Yield the text of each block."""
    for block in (mapping_of(each) for each in list_of(blocks)):
        parts: list[object] = [block.get("text"), block.get("title"), *_list(block, "fields")]
        if block.get("type") == "context":
            parts += _list(block, "elements")
        if block.get("type") == "rich_text":
            parts = []
            yield from filter(None, [_rich(names, block).strip()])
        for part in parts:
            words = mapping_of(part).get("text", part)
            yield from filter(None, [_plain(names, words if isinstance(words, str) else "")])


def _rich(names: Names, element: Mapping[str, Any]) -> str:
    """Return the text of a rich-text element: inline elements joined, list items one per line."""
    kind = string_of(element.get("type"))
    if kind in _NESTED:
        if kind != "rich_text_list" and kind != "rich_text":
            between = ""
        else:
            between = "\n"
        return between.join(_rich(names, mapping_of(each)) for each in _list(element, "elements"))
    if kind == "user":
        id = string_of(element.get("user_id"))
        return f"@{names.users.get(id) or id}"
    if kind == "channel":
        id = string_of(element.get("channel_id"))
        return f"#{names.channels.get(id) or id}"
    if kind == "link":
        label = string_of(element.get("text"))
        url = string_of(element.get("url"))
        if label and label != url:
            return f"{label} ({url})"
        return url
    if kind == "emoji":
        return f":{string_of(element.get('name'))}:"
    if kind == "broadcast":
        return f"@{string_of(element.get('range'))}"
    return string_of(element.get("text")) or string_of(element.get("fallback"))


def _plain(names: Names, text: object) -> str:
    """Return a text with references replaced by their names."""
    return unescape(_REFERENCE.sub(lambda found: _display_name(names, found[1], found[2]), string_of(text))).strip()


def _display_name(names: Names, target: str, label: str | None) -> str:
    if target.startswith("@"):
        return f"@{label or names.users.get(target[1:]) or target[1:]}"
    if target.startswith("#"):
        return f"#{label or names.channels.get(target[1:]) or target[1:]}"
    if target.startswith("!"):
        return label or f"@{target[1:].partition('^')[0]}"
    if label:
        return f"{label} ({target})"
    return target
