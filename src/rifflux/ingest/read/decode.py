"""Bytes to text, whatever the encoding."""

from __future__ import annotations

import codecs

from rifflux.errors import Unreadable

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
    r"""Return the text of a file, with newlines as `\n` and no byte order mark.

    UTF-8, or UTF-16 and UTF-32 with their mark; anything else is detected. Characters are not normalised
    otherwise, so that spans fit the source. Raises `Unreadable` for binary data.
    """
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            text = data[len(mark) :].decode(encoding, "replace")
            break
    else:
        sample = data[:_SAMPLE]
        printable = len(sample.translate(None, _CONTROLS))
        if b"\0" in data or printable * 10 < len(sample) * 7:
            raise Unreadable("binary data, not text")
        text = _utf8(data) or _detected(data)
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _utf8(data: bytes) -> str | None:
    """Return the data as UTF-8, or None if it is something else; a few broken bytes in UTF-8 don't make it that."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        text = data.decode("utf-8", "replace")
        broken = text.count("\ufffd")
        foreign = len(text) - len(text.encode("ascii", "ignore"))
        if broken * 10 < foreign:
            return text
        return None


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


# What a file holds, by its first bytes, whatever its name says


ZIP = b"PK\x03\x04"
#: The container of the older Office files (DOC, XLS, PPT), and of encrypted new ones.
OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"

_SIGNATURES = {
    "a PDF": (b"%PDF-",),
    "an RTF document": (b"{\\rtf1",),
    "a ZIP archive": (ZIP,),
    "an empty ZIP archive": (b"PK\x05\x06",),
    "an old or encrypted Office file": (OLE,),
    "a PNG image": (b"\x89PNG\r\n\x1a\n",),
    "a JPEG image": (b"\xff\xd8\xff",),
    "a GIF image": (b"GIF87a", b"GIF89a"),
    "a TIFF image": (b"II*\0", b"MM\0*"),
    "sound, a film or a WebP image": (b"RIFF",),
    "a film": (b"\0\0\0\x1cftyp", b"\0\0\0\x20ftyp"),
    "sound": (b"ID3\x03", b"ID3\x04", b"OggS\0", b"fLaC"),
    "a SQLite database": (b"SQLite format 3\0",),
    "a gzip archive": (b"\x1f\x8b\x08",),
    "a bzip2 archive": (b"BZh9",),
    "an xz archive": (b"\xfd7zXZ\0",),
    "a Zstandard archive": (b"\x28\xb5\x2f\xfd",),
    "a 7z archive": (b"7z\xbc\xaf\x27\x1c",),
    "a RAR archive": (b"Rar!\x1a\x07",),
    "a program": (b"\x7fELF", b"MZ\x90\0", b"\0asm", b"\xca\xfe\xba\xbe"),
}
_WIDE = (b"\xff\xfe", b"\xfe\xff")  # marks of UTF-16 and UTF-32, whose text is full of zero bytes


def what_is(head: bytes) -> str:
    """Return the format of data by its beginning, in words: `a PNG image`; nothing if it may be text."""
    for words, starts in _SIGNATURES.items():
        if head.startswith(starts):
            return words
    return ""


def looks_like_text(head: bytes) -> bool:
    """Return True if data that begins so is text in some encoding; no data at all is not."""
    if not head or what_is(head):
        return False
    if head.startswith(_WIDE):
        return True
    return b"\0" not in head and len(head.translate(None, _CONTROLS)) * 10 >= len(head) * 9


def is_encrypted_office(data: bytes) -> bool:
    """Return True if the data is a DOCX, PPTX or XLSX behind a password."""
    return data.startswith(OLE) and "EncryptedPackage".encode("utf-16-le") in data
