"""What a document says of itself beside its text: other names, labels and remarks, read from its key and metadata.

Files of some kinds state properties about themselves: front matter, `<meta>` elements, a notebook's metadata. Those are
searched. The metadata of records and messages is data to filter by, and is not.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from rifflux.types import Hit

#: The kinds of documents whose properties are searched.
KINDS = frozenset({"docx", "html", "markdown", "notebook", "pdf", "pptx"})
#: Properties that name the document as its title does, and those that label all of it, not only its beginning.
ALIASES = ("aliases", "alias")
TAGS = ("tags", "tag", "keywords", "categories", "category", "subjects", "subject", "topics")
#: What is read elsewhere, or is about the file and not about what it says.
_UNSAID = frozenset(
    [
        *(*ALIASES, *TAGS, "title", "language", "lang", "pages", "slides"),
        *("created", "created_at", "date", "updated", "updated_at", "modified", "lastmod"),
        *("cssclass", "cssclasses", "layout", "permalink", "banner", "cover", "image"),
    ]
)
#: Characters of one alias or label, of one property, and of all of them.
LONGEST_NAME = 120
LONGEST_REMARK = 500
LONGEST = 1000
#: Names and labels of a document.
MOST = 40
#: A key of more pieces, or of hexadecimal digits, is nothing that anybody types.
MOST_PIECES = 10
LONGEST_KEY = 64

_LETTER = re.compile(r"[^\W\d_]")
_PIECE = re.compile(r"[^\W\d_]+|\d+")
_HASH = re.compile(r"[0-9a-fA-F-]{16,}")
_SUFFIX = re.compile(r"\.[A-Za-z]\w{0,7}$")


@dataclass(frozen=True, slots=True)
class SearchableProperties:
    """What a document is also called, what it is labelled with, and what is remarked of it."""

    names: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()

    def at(self, position: int) -> tuple[str, ...]:
        """Return the labels of a chunk, and the remarks where it is the document's first."""
        if position:
            return self.labels
        return (*self.labels, *self.remarks)


_NOTHING = SearchableProperties()


def searchable_properties(kind: str, metadata: Mapping[str, Any]) -> SearchableProperties:
    """Return what the metadata of a document of some kind says that is searched."""
    if not metadata or kind not in KINDS:
        return _NOTHING
    names = _each_once(text for name in ALIASES for text in _texts(metadata.get(name), LONGEST_NAME))
    labels = _each_once(text for name in TAGS for text in _texts(metadata.get(name), LONGEST_NAME))
    return SearchableProperties(names, labels, tuple(_remarks(metadata)))


def _remarks(metadata: Mapping[str, Any]) -> Iterator[str]:
    left = LONGEST
    for name, value in metadata.items():
        for text in _texts(value, LONGEST_REMARK) if name.lower() not in _UNSAID else ():
            if (left := left - len(text)) < 0:
                return
            yield text


def _texts(value: object, longest: int) -> Iterator[str]:
    """Yield the texts of a property; links and what is longer say nothing that is searched by."""
    for each in value if isinstance(value, list | tuple) else [value]:
        if isinstance(each, str | int | float) and not isinstance(each, bool):
            text = " ".join(str(each).split())
        else:
            text = ""
        if text and "://" not in text:
            yield text[:longest]


def _each_once(texts: Iterator[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(texts))[:MOST]


def beside(hit: Hit) -> tuple[str, ...]:
    """Return the searchable words of a hit other than title, headings and text: names, labels, remarks, key."""
    properties = searchable_properties(hit.kind, hit.metadata)
    if hit.path == hit.key and not hit.chunk_index:
        key = key_names(hit.key)[-1:]
    else:
        key = ()
    return (*properties.names, *properties.at(hit.chunk_index), *key)


@lru_cache(maxsize=16384)
def key_names(key: str) -> tuple[str, ...]:
    """Return the names that a key has for who types it: a file's, with its folder and without; else the key.

    A number alone, a hash, or a long list of pieces is none.
    """
    if "/" not in key and not _SUFFIX.search(key):
        if _is_name(key):
            return (key,)
        return ()
    # A search asks this of each of its candidates; pathlib would take as long as all the rest of naming.
    *folders, name = [part for part in key.split("/") if part not in ("", ".")] or [""]
    stem = _SUFFIX.sub("", name)
    if folders:
        whole = f"{folders[-1]}/{stem}"
    else:
        whole = stem
    return tuple(dict.fromkeys(name for name in (whole, stem) if _is_name(name)))


def _is_name(key: str) -> bool:
    return (
        len(key) <= LONGEST_KEY
        and len(_PIECE.findall(key)) <= MOST_PIECES
        and bool(_LETTER.search(key))
        and not _HASH.fullmatch(key)
    )
