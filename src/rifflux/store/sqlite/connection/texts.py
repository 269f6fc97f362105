"""The texts of documents as they are stored: compressed, and without what their passages have.

A document that was read from a file has only what lies between its passages beside them: what a damaged page takes from
it can be read from the file again. The text of any other document is stored whole.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable
from contextlib import suppress
from hashlib import blake2b

#: Bytes of a compressed text that are read at a time: if some are damaged, the text before them is not lost.
_READ_BYTES = 64

#: The columns of the text of a row of `document_text`: the second is null for a whole text, and has the passages of one
#: that is put together.
STORED = """document_text.compressed, iif(document_text.whole, null, (
        select json_group_array(json_array(span_start, span_end, text)) from chunk
        where chunk.document = document_text.document
    ))"""
#: The text of a row of `document_text`, for checks and repairs: of a damaged one, what is left.
LEFT = f"text_left({STORED})"


def text_hash(*texts: object) -> int:
    """Return a signed 64-bit hash of a text, as SQLite stores integers."""
    digest = blake2b(str(texts[0]).encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "big", signed=True)


def compressed(*texts: object) -> bytes:
    """Return a text as it is stored: compressed by itself, since all others may be lost."""
    return zlib.compress(str(texts[0]).encode())


def decompressed(*data: object) -> str:
    """Return a compressed text; of a damaged one, its beginning, and a replacement character for the rest."""
    stored = data[0] if isinstance(data[0], bytes) else b""
    reader = zlib.decompressobj()
    found = bytearray()
    with suppress(zlib.error):
        for start in range(0, len(stored), _READ_BYTES):
            found += reader.decompress(stored[start : start + _READ_BYTES])
    text = found.decode(errors="replace")
    return text if reader.eof else text + "\ufffd"


def text_left(*columns: object) -> str:
    """Return what is left of the text of a document from the columns of `STORED`."""
    text = decompressed(columns[0])
    return text if columns[1] is None else put_together(text, str(columns[1]))


def between(text: str, passages: Iterable[tuple[int, int, str]]) -> str | None:
    """Return what of a text is in none of its passages, given with their spans; None if one differs from its span.

    A passage of another length than its span, which repeats a header, is not a part of the text.
    """
    parts = []
    done = 0
    for start, end, passage in sorted(passages):
        if 0 <= start < end and len(passage) == end - start:
            if text[start:end] != passage:
                return None
            parts.append(text[done:start])
            done = max(done, end)
    return "".join([*parts, text[done:]])


def put_together(rest: str, passages: str) -> str:
    """Return a text made of its passages, given as JSON, and what lies between them, as `between` returns it."""
    parts = []
    done = used = 0
    for start, end, passage in sorted(json.loads(passages)):
        if not 0 <= start < end or len(passage) != end - start:
            continue
        if start > done:
            parts.append(rest[used : used + start - done])
            used += start - done
            done = start
        if end > done:
            parts.append(passage[done - start :])
            done = end
    return "".join([*parts, rest[used:]])
