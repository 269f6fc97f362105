"""Reading files: which reader takes a file, and what it makes of it.

    reader_for(path, head)   the reader for a file, or None if there is nothing to read in it
    read(file)               the file's documents; raises `Unreadable` with the reason, and nothing else
    read_lines(file, first)  those of some lines of a JSON Lines file, which is read so if it is long

A reader's module, and the library behind it, is imported when the first such file comes.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import cache
from pathlib import PurePosixPath
from pkgutil import resolve_name
from typing import TypeVar

from rifflux.errors import MissingExtra, Unreadable
from rifflux.ingest.read.base import OLE, File, is_encrypted_office, looks_like_text, what_is
from rifflux.ingest.read.code import LANGUAGES
from rifflux.ingest.read.unread import UNREAD_TEXT
from rifflux.types import LONGEST_TITLE, Failure, Parsed, bounded_title

__all__ = ["FORMATS", "READER_VERSION", "SUFFIXES", "File", "Reader", "read", "read_lines", "reader_for"]

#: Files are read again when this changes: increase it whenever a reader's text or blocks change.
READER_VERSION: int = 8

Read = TypeVar("Read")
#: Returns the documents of a file, and a failure for each unreadable part. Raises `Unreadable`.
Reader = Callable[[File], Iterable[Parsed | Failure]]

#: The function that reads each format.
FORMATS: Mapping[str, str] = {
    "code": "code:read_code",
    "docx": "docx:read",
    "html": "html:read",
    "json": "jsonl:read_json",
    "jsonl": "jsonl:read",
    "mail": "mail:read_message",
    "mailbox": "mail:read_mailbox",
    "markdown": "markdown:read_markdown",
    "notebook": "notebook:read",
    "pdf": "pdf:read",
    "pptx": "pptx:read",
    "rst": "rst:read_rst",
    "spreadsheet": "xlsx:read",
    "table": "plain:read_separated",
    "text": "plain:read_plain",
}

#: The format of a file by suffix. Files with other suffixes are read as text if they look like it.
SUFFIXES: Mapping[str, str] = {
    **dict.fromkeys(LANGUAGES, "code"),
    **dict.fromkeys((".md", ".markdown", ".mdown", ".mkd", ".mdx", ".qmd", ".rmd"), "markdown"),
    **dict.fromkeys((".rst", ".rest"), "rst"),
    **dict.fromkeys((".txt", ".text", ".log"), "text"),
    **dict.fromkeys((".csv", ".tsv"), "table"),
    **dict.fromkeys((".html", ".htm", ".xhtml"), "html"),
    **dict.fromkeys((".jsonl", ".ndjson"), "jsonl"),
    **dict.fromkeys((".pptx", ".pptm"), "pptx"),
    **dict.fromkeys((".xlsx", ".xlsm", ".xlsb", ".xls", ".ods"), "spreadsheet"),
    ".docx": "docx",
    ".eml": "mail",
    ".ipynb": "notebook",
    ".json": "json",
    ".mbox": "mailbox",
    ".pdf": "pdf",
}

_CODE_NAMES = frozenset(
    ["CMakeLists.txt", "Dockerfile", "Gemfile", "Jenkinsfile", "Justfile", "Makefile", "Rakefile", "Vagrantfile"]
)
_ARCHIVES = frozenset({"docx", "pptx", "spreadsheet"})
_MAY_BE_EMPTY = frozenset(FORMATS) - _ARCHIVES - {"pdf", "notebook", "mail"}
#: Characters that no database accepts: NUL, and unpaired surrogates.
_STRANGE = re.compile(r"[\0\ud800-\udfff]")


def reader_for(path: str, head: bytes) -> Reader | None:
    """Return the reader for a file by its name, or by its first 8 kB (`head`) if the name is not conclusive.

    None if there is nothing to read in it (a picture, an archive, a program, a database).
    """
    kind = _format(path, head)
    if kind:
        return _load(kind)
    return None


def read(file: File) -> list[Parsed | Failure]:
    """Return the documents of a file, and a `Failure` for each part that could not be read.

    Raises `Unreadable` with the reason if the whole file cannot be read, whatever its parser raises.
    """
    return [*map(_storable, checked(file))]


def checked(file: File, reader: Callable[[File], Iterable[Read]] | None = None) -> list[Read]:
    """Return what a reader returns for a file, by default that of its format, after checking the content's format.

    Raises `Unreadable` with the reason, whatever the reader raises, except `MemoryError`.
    """
    kind = _format(file.path, file.data[:8192])
    if kind is None:
        raise Unreadable(f"contains {what_is(file.data) or 'data that is not text'}, which is not indexed")
    _check(file, kind)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # parsers warn of what only the author of a file could mend
            return [*(reader or _load(kind))(file)]
    except (Unreadable, MissingExtra, MemoryError, KeyboardInterrupt, SystemExit):
        raise
    except RecursionError as error:
        raise Unreadable("is nested too deeply") from error
    except BaseException as error:  # parsers raise anything; those written in Rust, not even an Exception
        raise Unreadable(f"could not be read as {kind}, it may be broken ({_short(error)})") from error


def read_lines(file: File, first: int) -> list[tuple[int, Parsed | Failure]]:
    """Return the documents of some lines of a JSON Lines file, with their line numbers, starting at `first`."""
    from rifflux.ingest.read import jsonl

    return [(number, _storable(part)) for number, part in jsonl.read_lines(file, first)]


def _short(error: BaseException) -> str:
    """Return the message of an error on one line, without the reprs of Python objects."""
    words = re.sub(r"'?<[^<>]* object at 0x[0-9a-f]+>'?", "", str(error))
    return " ".join(words.split())[:200] or type(error).__name__


def _format(path: str, head: bytes) -> str | None:
    name = PurePosixPath(path).name
    if name.lower().endswith(UNREAD_TEXT):
        return None
    if name in _CODE_NAMES:
        return "code"
    known = SUFFIXES.get(PurePosixPath(name).suffix.lower())
    return known or ("text" if looks_like_text(head) else None)


@cache
def _load(kind: str) -> Reader:
    reader: Reader = resolve_name(f"{__name__}.{FORMATS[kind]}")
    return reader


def _check(file: File, kind: str) -> None:
    """Raise `Unreadable` if the content does not match the file's suffix."""
    head = file.data[:8192]
    suffix = PurePosixPath(file.path).suffix
    if not head.strip() and kind not in _MAY_BE_EMPTY:
        raise Unreadable("is empty", kind="empty")
    if file.data.startswith(OLE) and is_encrypted_office(file.data):
        raise Unreadable("is encrypted: save a copy without the password", kind="encrypted")
    if kind == "pdf":
        fits = b"%PDF-" in head[:1024]  # readers accept some bytes before it
    elif kind in _ARCHIVES:
        fits = head.startswith(b"PK") or (suffix.lower() == ".xls" and head.startswith(OLE))
    else:
        fits = not what_is(head)
    if not fits:
        holds = what_is(head) or ("text" if looks_like_text(head) else "something else")
        raise Unreadable(f"says {suffix or 'text'} but holds {holds}")


def _storable(part: Parsed | Failure) -> Parsed | Failure:
    """Return the part with a title of bounded length, and characters that no database accepts replaced.

    Spans remain valid.
    """
    if isinstance(part, Failure):
        return part
    if len(part.document.title) > LONGEST_TITLE:
        part = replace(part, document=replace(part.document, title=bounded_title(part.document.title)))
    document = part.document
    texts = (document.text, document.title, document.key)
    if all("\0" not in each and (each.isascii() or not _STRANGE.search(each)) for each in texts):
        return part
    clean = replace(document, text=_clean(document.text), title=_clean(document.title), key=_clean(document.key))
    blocks = [
        replace(block, headings=tuple(_clean(each) for each in block.headings), header=_clean(block.header))
        for block in part.blocks
    ]
    return Parsed(clean, tuple(blocks))


def _clean(text: str) -> str:
    return _STRANGE.sub(lambda found: " " if found[0] == "\0" else "\ufffd", text)
