"""Reading of mail: single messages (EML) and mailboxes of them (MBOX)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from email import policy
from email.header import Header, decode_header, make_header
from email.message import Message
from email.parser import BytesParser
from email.utils import getaddresses, parsedate_to_datetime

from rifflux.errors import Unreadable
from rifflux.ingest.chunking import plain_blocks
from rifflux.ingest.read.base import File, TextBuilder, decode
from rifflux.ingest.read.html import add_markup
from rifflux.types import Parsed

_HEADERS = ("from", "to", "subject", "date", "message-id", "received")
#: The beginning of a message in a mailbox (RFC 4155): at the start or after a blank line, and before a header.
_POSTMARK = re.compile(rb"(?:\A|(?<=\n\n)|(?<=\r\n\r\n))From [^\n]*\n(?=[\w-]+:)")
_QUOTED_POSTMARK = re.compile(rb"^>(>*From )", re.MULTILINE)


def read_message(file: File) -> Iterator[Parsed]:
    """Yield one document titled by the subject, with people and names of attachments as metadata.

    The plain text is read, or the HTML of a message without. Raises `Unreadable` if there are no mail headers.
    """
    message = _parse(file.data)
    if not any(name in message for name in _HEADERS):
        raise Unreadable("is named as a mail but has no mail headers")
    yield _parsed(file, message, file.path)


def read_mailbox(file: File) -> Iterator[Parsed]:
    """Yield a document per message with the key `path#message-id`, or `path#number` without a unique id."""
    starts = list(_POSTMARK.finditer(file.data))
    if not file.data.strip():
        return
    if not starts or starts[0].start() != 0:
        raise Unreadable("is named as a mailbox but does not begin with a message")
    ends = [*(match.start() for match in starts[1:]), len(file.data)]
    keys: set[str] = set()
    for number, (match, end) in enumerate(zip(starts, ends, strict=True), start=1):
        message = _parse(_QUOTED_POSTMARK.sub(rb"\1", file.data[match.end() : end]))
        key = f"{file.path}#{_text(message, 'message-id').strip('<>') or number}"
        if key in keys:
            key = f"{file.path}#{number}"
        keys.add(key)
        yield _parsed(file, message, key)


def _parse(data: bytes) -> Message:
    # The older policy leaves headers as they are; the newer one raises many kinds of errors for broken ones.
    return BytesParser(policy=policy.compat32).parsebytes(data)


def _parsed(file: File, message: Message, key: str) -> Parsed:
    build = TextBuilder()
    leaves = [part for part in message.walk() if not part.is_multipart()]
    attachments = [name for part in leaves if (name := _attached(part)) is not None]
    texts = [part for part in leaves if _attached(part) is None]
    plain = [part for part in texts if part.get_content_type() == "text/plain"]
    for part in plain or texts:
        _add_body(build, part)
    facts = {
        "from": ", ".join(_people(message, "from")),
        "to": _people(message, "to"),
        "cc": _people(message, "cc"),
        "message_id": _text(message, "message-id").strip("<>"),
        "attachments": attachments,
    }
    metadata = {name: value for name, value in facts.items() if value}
    parsed = build.parsed(file, "mail", _text(message, "subject"), _sent(message))
    return replace(parsed, document=replace(parsed.document, key=key, metadata=metadata))


def _attached(part: Message) -> str | None:
    """Return the name of an attachment (perhaps empty), or None for a part of the message itself."""
    try:
        name = part.get_filename()
    except (LookupError, UnicodeError, ValueError, TypeError):
        name = ""
    if name is None and "attachment" not in str(part.get("content-disposition", "")).lower():
        return None
    return _unfolded(name or "")


def _add_body(build: TextBuilder, part: Message) -> None:
    text = _content(part)
    if part.get_content_type() == "text/html":
        add_markup(build, text)
    elif part.get_content_maintype() == "text":
        for block in plain_blocks(text):
            build.add(text[block.start : block.end], kind=block.kind)


def _content(part: Message) -> str:
    """Return the text of a part in its declared character set, or in the detected one."""
    data = part.get_payload(decode=True)
    if not isinstance(data, bytes):
        return ""
    try:
        return data.decode(part.get_content_charset("utf-8")).replace("\r\n", "\n").replace("\0", "")
    except (LookupError, UnicodeError):
        return decode(data.replace(b"\0", b""))


def _text(message: Message, name: str) -> str:
    """Return a header on one line, with its encoded words (RFC 2047) decoded as far as possible."""
    return _unfolded(message.get(name) or "")


def _unfolded(value: Header | str) -> str:
    with suppress(LookupError, UnicodeError, ValueError):  # an unknown character set: it stays as it is written
        value = str(make_header(decode_header(value)))
    return " ".join(str(value).encode("utf-8", "replace").decode().split())


def _people(message: Message, name: str) -> list[str]:
    """Return the people named in a header: `Ann Lee <ann@example.org>`."""
    headers: Iterable[object] = message.get_all(name) or ()
    # Split before decoding, because a decoded name may contain a comma.
    pairs = [(_unfolded(person), address) for person, address in getaddresses([str(each) for each in headers])]
    return [f"{person} <{address}>" if person else address for person, address in pairs if person or address]


def _sent(message: Message) -> str | None:
    """Return the sending time in ISO 8601, or None if it is missing or malformed."""
    try:
        sent: datetime = parsedate_to_datetime(str(message.get("date", "")))
        return (sent if sent.tzinfo else sent.replace(tzinfo=UTC)).isoformat(timespec="seconds")
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
