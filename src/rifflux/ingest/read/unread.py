"""Say what a file is that no reader takes: its kind, and the reason in words, with the cure where there is one."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePosixPath

from rifflux.ingest.read.base import what_is

#: Why files of a kind are not read.
_REASONS: Mapping[str, str] = {
    "archive": "an archive: unpack it to have its files read",
    "catalogue": "a catalogue of translations: --all-files reads it",
    "drawing": "a drawing or other data as text: --all-files reads it",
    "dump": "data that a program wrote out: --all-files reads it",
    "lock": "a list of the versions of packages: --all-files reads it",
    "minified": "code without line breaks: --all-files reads it",
    "audio": "sound",
    "binary": "data that is not text",
    "database": "a database",
    "document": "a format of documents that is not read: save it as DOCX or PDF",
    "ebook": "an e-book in a format that is not read: save it as HTML or PDF",
    "empty": "empty",
    "font": "a font",
    "generated": "code that a tool made, or a map of it",
    "image": "an image: text in images is not read",
    "program": "a program",
    "video": "a film",
}

_SUFFIXES: Mapping[str, tuple[str, ...]] = {
    "archive": (".7z", ".bz2", ".gz", ".iso", ".jar", ".rar", ".tar", ".tgz", ".whl", ".xz", ".zip", ".zst"),
    "audio": (".aac", ".aiff", ".flac", ".m4a", ".mid", ".mp3", ".oga", ".ogg", ".opus", ".wav", ".wma"),
    "database": (".accdb", ".db", ".mdb", ".parquet", ".sqlite", ".sqlite3"),
    "document": (
        *(".doc", ".docm", ".dot", ".dotx", ".key", ".numbers", ".odg", ".odp", ".odt", ".ott", ".pages", ".pot"),
        *(".potx", ".pps", ".ppsx", ".ppt", ".pub", ".rtf", ".vsd", ".vsdx", ".wpd", ".wps", ".xps"),
    ),
    "ebook": (".azw", ".azw3", ".cbr", ".cbz", ".djvu", ".epub", ".lit", ".mobi"),
    "font": (".eot", ".otf", ".ttc", ".ttf", ".woff", ".woff2"),
    "generated": (".map", ".min.css", ".min.js"),
    "image": (
        *(".avif", ".bmp", ".cr2", ".dng", ".gif", ".heic", ".heif", ".icns", ".ico", ".jpeg", ".jpg", ".jxl"),
        *(".nef", ".png", ".psd", ".raw", ".svg", ".svgz", ".tif", ".tiff", ".webp"),
    ),
    "program": (".a", ".class", ".dll", ".dylib", ".exe", ".lib", ".o", ".obj", ".pyc", ".pyd", ".so", ".wasm"),
    "video": (".avi", ".flv", ".m4v", ".mkv", ".mov", ".mp4", ".mpeg", ".mpg", ".ogv", ".webm", ".wmv"),
}
_KINDS = {suffix: kind for kind, suffixes in _SUFFIXES.items() for suffix in suffixes}

#: Kinds by what the first bytes say, for names that say nothing.
_CONTENTS: Mapping[str, str] = {
    "archive": "archive",
    "database": "database",
    "document": "document",
    "file": "document",
    "film": "video",
    "image": "image",
    "program": "program",
    "sound": "audio",
}

#: Suffixes of text that nobody wrote for readers: it is not read although it could be.
UNREAD_TEXT = (*_SUFFIXES["generated"], ".db", ".rtf", ".sqlite", ".sqlite3", ".svg")


def kind_of(path: str, head: bytes) -> str:
    """Return the kind of a file that no reader takes, by its name, or by its first bytes."""
    name = PurePosixPath(path).name.lower()
    if name.endswith(_SUFFIXES["generated"]):
        return "generated"
    known = _KINDS.get(PurePosixPath(name).suffix)
    if known:
        return known
    if not head:
        return "empty"
    words = what_is(head).replace(",", "").split()
    return next((_CONTENTS[word] for word in words if word in _CONTENTS), "binary")


def reason_of(kind: str) -> str:
    """Return why files of a kind are not read."""
    return _REASONS[kind]
