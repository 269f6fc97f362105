"""WhatsApp: a chat exported as a text file, alone or in a zip with its pictures.

The file has no fixed format: dates follow the phone's settings, and their meaning is inferred from the file. Messages
have no ids, so a message is identified by its time, sender and text.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from hashlib import blake2b

from rifflux.conversations.importers.base import Format, Item, Tally, in_parts, named_file
from rifflux.conversations.importers.export import Export
from rifflux.conversations.importers.whatsapp_dates import HEAD, Dates, Stamp
from rifflux.conversations.model import Conversation, Message

_SOURCE = "whatsapp"
#: WhatsApp's own notices begin with a mark that nobody types.
_MARK = "\u200e"
_MARKS = re.compile(r"[\u200e\u200f\u202a-\u202e\u2066-\u2069]")
#: A sender's name has no quotation marks; notices about a group may contain a colon inside them.
_SENDER = re.compile(r'([^:"“”„«»\n]{1,80}?)\s?:(?:\s|$)')
_ATTACHED = (
    re.compile(r"<[^<>:]{2,30}:\s*([^<>]+\.\w{2,5})>"),  # <attached: name.jpg>, in any language
    re.compile(r"^(\S[^\n]*\.\w{2,5}) \([^()]{5,40}\)"),  # name.jpg (file attached)
)
#: Placeholder of a picture that was not exported: in angle brackets on Android, after the mark on iPhones.
_OMITTED = re.compile(r"^<[^<>\n]{5,40}>$")
_EDITED = re.compile(r"\s*\u200e?<[^<>\n]{5,60}>\s*$")
_DELETED = frozenset(
    {
        "this message was deleted", "you deleted this message", "diese nachricht wurde gelöscht",
        "du hast diese nachricht gelöscht", "se eliminó este mensaje", "eliminaste este mensaje",
        "ce message a été supprimé", "vous avez supprimé ce message", "questo messaggio è stato eliminato",
        "hai eliminato questo messaggio", "esta mensagem foi apagada", "você apagou esta mensagem",
        "dit bericht is verwijderd", "je hebt dit bericht verwijderd", "null",
    }
)  # fmt: skip
_CALLED = re.compile(r"^WhatsApp[ -](?:Chat )?(?:with|mit|con|avec|com|met|-)\s*", re.IGNORECASE)
_COPY = re.compile(r"(\s*\(\d+\)|\.txt)+$")


def _read(export: Export, name: str, tally: Tally) -> Iterator[Item]:
    dates = Dates()
    for line in _lines(export, name):
        if found := HEAD.match(line):
            dates.see(found)
    dates.settle(tally)
    title = _title(export, name)
    chat = Conversation(f"whatsapp-{title}", title)
    return in_parts((chat, message) for message in _messages(export, name, chat, dates, tally))


WHATSAPP = Format("WhatsApp", _read, line=HEAD)


def _title(export: Export, name: str) -> str:
    """Return the name of the chat, from the file or from the zip or folder around it."""
    called = export.called(name)
    if called.lstrip("_").lower() == "chat":
        called = export.stem
    called = "".join(filter(str.isprintable, called))
    return _CALLED.sub("", _COPY.sub("", called)).strip() or called


def _lines(export: Export, name: str) -> Iterator[str]:
    with export.open(name) as file:
        text = io.TextIOWrapper(file, "utf-8-sig", "replace", newline=None)
        try:
            for line in text:
                yield line.rstrip("\r\n")
        finally:
            # The caller that opened the file closes it.
            text.detach()


@dataclass(slots=True)
class _Entry:
    """A line with a date, and the lines that continue it."""

    stamp: Stamp
    lines: list[str]


def _entries(export: Export, name: str) -> Iterator[_Entry]:
    entry: _Entry | None = None
    for line in _lines(export, name):
        if found := HEAD.match(line):
            if entry:
                yield entry
            entry = _Entry(Stamp.of(found), [line[found.end() :]])
        elif entry:
            entry.lines.append(line)
    if entry:
        yield entry


def _messages(export: Export, name: str, chat: Conversation, dates: Dates, tally: Tally) -> Iterator[Message]:
    minute = ""
    same: dict[str, int] = {}
    for entry in _entries(export, name):
        speaker, text = _spoken("\n".join(entry.lines), tally)
        if not text:
            continue
        moment = _moment(dates, entry.stamp, tally)
        # Equal messages within one minute are numbered.
        if moment != minute:
            minute = moment or ""
            same = {}
        key = blake2b(f"{moment}\0{speaker}\0{text}".encode(), digest_size=10).hexdigest()
        same[key] = same.get(key, 0) + 1
        if same[key] == 1:
            id = key
        else:
            id = f"{key}-{same[key]}"
        yield Message(id, chat.id, text, "user", speaker, moment, _SOURCE)


def _moment(dates: Dates, stamp: Stamp, tally: Tally) -> str | None:
    found: datetime | None = dates.read(stamp)
    if found is None:
        tally.undated += 1
    if found:
        return found.isoformat()
    return None


def _spoken(rest: str, tally: Tally) -> tuple[str, str]:
    """Return the speaker and text of a line, or two empty strings for a notice."""
    found = _SENDER.match(rest)
    if not found:
        tally.skip("notices")
        return "", ""
    speaker = _MARKS.sub("", found[1]).strip().lstrip("~").strip()
    words = rest[found.end() :].strip(" \n")
    ours = words.startswith(_MARK)
    if words.count("<") and not _OMITTED.match(_bare(words)):
        words = _EDITED.sub("", words)
    for pattern in _ATTACHED:
        if attached := pattern.search(_bare(words)):
            caption = pattern.sub("", _bare(words)).strip()
            return speaker, "\n".join(filter(None, (caption, named_file(attached[1]))))
    first, _, caption = _bare(words).partition("\n")
    if first.lower().rstrip(".") in _DELETED:
        tally.skip("deleted messages")
        return "", ""
    if _OMITTED.match(first) or (ours and not caption):
        tally.skip("pictures, voices and videos that were not exported, and notices")
        return speaker, caption.strip()
    if not first and not caption:
        tally.skip("messages without words")
    return speaker, _bare(words)


def _bare(text: str) -> str:
    return _MARKS.sub("", text).strip()
