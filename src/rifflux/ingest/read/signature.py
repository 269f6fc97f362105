"""What a file holds, by its first bytes, whatever its name says."""

from __future__ import annotations

__all__ = ["OLE", "ZIP", "is_encrypted_office", "looks_like_text", "what_is"]

ZIP = b"PK\x03\x04"
#: The container of the older Office files (DOC, XLS, PPT), and of encrypted new ones.
OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"

_SIGNATURES = (
    (b"%PDF-", "a PDF"),
    (ZIP, "a ZIP archive"),
    (b"PK\x05\x06", "an empty ZIP archive"),
    (OLE, "an old or encrypted Office file"),
    (b"\x89PNG\r\n\x1a\n", "a PNG image"),
    (b"\xff\xd8\xff", "a JPEG image"),
    (b"GIF87a", "a GIF image"),
    (b"GIF89a", "a GIF image"),
    (b"II*\0", "a TIFF image"),
    (b"MM\0*", "a TIFF image"),
    (b"RIFF", "sound, a film or a WebP image"),
    (b"\0\0\0\x1cftyp", "a film"),
    (b"\0\0\0\x20ftyp", "a film"),
    (b"ID3\x03", "sound"),
    (b"ID3\x04", "sound"),
    (b"OggS\0", "sound"),
    (b"fLaC", "sound"),
    (b"SQLite format 3\0", "a SQLite database"),
    (b"\x1f\x8b\x08", "a gzip archive"),
    (b"BZh9", "a bzip2 archive"),
    (b"\xfd7zXZ\0", "an xz archive"),
    (b"\x28\xb5\x2f\xfd", "a Zstandard archive"),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive"),
    (b"Rar!\x1a\x07", "a RAR archive"),
    (b"\x7fELF", "a program"),
    (b"MZ\x90\0", "a program"),
    (b"\0asm", "a program"),
    (b"\xca\xfe\xba\xbe", "a program"),
)
_MARKS = (b"\xff\xfe", b"\xfe\xff")  # of UTF-16 and UTF-32, whose text is full of zero bytes
_CONTROLS = bytes(set(range(32)) - set(b"\b\t\n\v\f\r\x1b")) + b"\x7f"


def what_is(head: bytes) -> str:
    """What data that begins so is, in words: `a PNG image`; nothing if it may be text."""
    return next((words for start, words in _SIGNATURES if head.startswith(start)), "")


def looks_like_text(head: bytes) -> bool:
    """Whether data that begins so is text in some encoding; no data at all is not."""
    if not head or what_is(head):
        return False
    if head.startswith(_MARKS):
        return True
    return b"\0" not in head and len(head.translate(None, _CONTROLS)) * 10 >= len(head) * 9


def is_encrypted_office(data: bytes) -> bool:
    """Whether the data is a DOCX, PPTX or XLSX behind a password."""
    return data.startswith(OLE) and "EncryptedPackage".encode("utf-16-le") in data
