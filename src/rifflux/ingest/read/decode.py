"""Bytes to text, whatever the encoding."""

from __future__ import annotations

import codecs

from rifflux.errors import Unreadable

__all__ = ["decode"]

# UTF-32 comes first: its little-endian mark starts with that of UTF-16.
_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_CONTROLS = bytes(set(range(32)) - set(b"\b\t\n\v\f\r\x1b")) + b"\x7f"
_SAMPLE = 1 << 16
# What files are in, if not in Unicode. Without the list a short text may come out as EBCDIC or UTF-16.
_ENCODINGS = [
    *("cp1252", "cp1250", "cp1251", "cp1253", "cp1254", "cp1255", "cp1256", "cp1257", "iso8859_2", "koi8_r"),
    *("mac_roman", "cp874", "cp932", "euc_jp", "gb18030", "big5", "cp949"),
]
# Short texts fit many code pages about equally; then the most common one is right most often.
_USUAL = "cp1252"
_ABOUT_EQUAL = 0.12


def decode(data: bytes) -> str:
    r"""The text of a file, with newlines as `\n` and no byte order mark.

    UTF-8, or UTF-16 and UTF-32 with their mark; anything else is detected. Characters are not normalised
    otherwise, so that spans fit the source. Raises `Unreadable` for binary data.
    """
    text = _marked(data)
    if text is None:
        _refuse_binary(data)
        text = _utf8(data) or _detected(data)
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _marked(data: bytes) -> str | None:
    """The text after a byte order mark, or None without one."""
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return data[len(mark) :].decode(encoding, "replace")
    return None


def _refuse_binary(data: bytes) -> None:
    sample = data[:_SAMPLE]
    printable = len(sample.translate(None, _CONTROLS))
    if b"\0" in data or printable * 10 < len(sample) * 7:
        raise Unreadable("binary data, not text")


def _utf8(data: bytes) -> str | None:
    """The data as UTF-8, or None if it is something else; a few broken bytes in UTF-8 don't make it that."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        text = data.decode("utf-8", "replace")
        broken = text.count("\ufffd")
        foreign = len(text) - len(text.encode("ascii", "ignore"))
        return text if broken * 10 < foreign else None


def _detected(data: bytes) -> str:
    if not data:
        return ""
    # It takes 20 ms to import, and almost all files are UTF-8.
    from charset_normalizer import from_bytes

    matches = from_bytes(data[: 4 * _SAMPLE], cp_isolation=_ENCODINGS)
    best = matches.best()
    if best is None:
        raise Unreadable("not text in any known encoding; save it as UTF-8")
    usual = any(
        _USUAL in match.could_be_from_charset
        and match.coherence >= best.coherence
        and match.chaos <= best.chaos + _ABOUT_EQUAL
        for match in matches
    )
    return data.decode(_USUAL if usual else best.encoding, "replace")
