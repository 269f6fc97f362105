"""Searchable properties of a document apart from its text: aliases, labels and remarks, from key and metadata.

Files of some kinds state properties: front matter, `<meta>` elements, a notebook's metadata. These are searched. The
metadata of records and messages is only filtered by.
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
#: Properties that name the document like its title, and those that label all of its chunks, not only the first.
ALIASES = ("aliases", "alias")
TAGS = ("tags", "tag", "keywords", "categories", "category", "subjects", "subject", "topics")
#: Properties that are read elsewhere, or describe the file rather than its content.
_UNSAID = frozenset(
    [
        *(*ALIASES, *TAGS, "title", "language", "lang", "pages", "slides"),
        *("created", "created_at", "date", "updated", "updated_at", "modified", "lastmod"),
        *("cssclass", "cssclasses", "layout", "permalink", "banner", "cover", "image"),
    ]
)
#: The maximum characters of an alias or label, of one property, and of all of them.
LONGEST_NAME = 120
LONGEST_REMARK = 500
LONGEST = 1000
#: The maximum number of names and of labels of a document.
MOST = 40
#: A key of more pieces, or a hexadecimal one, is never typed.
MOST_PIECES = 10
LONGEST_KEY = 64

_LETTER = re.compile(r"[^\W\d_]")
_PIECE = re.compile(r"[^\W\d_]+|\d+")
_HASH = re.compile(r"[0-9a-fA-F-]{16,}")
_SUFFIX = re.compile(r"\.[A-Za-z]\w{0,7}$")


@dataclass(frozen=True, slots=True)
class SearchableProperties:
    """The aliases, labels and remarks of a document."""

    names: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()

    def at(self, position: int) -> tuple[str, ...]:
        """Return the labels of a chunk, and also the remarks if it is the first."""
        if position:
            return self.labels
        return (*self.labels, *self.remarks)


_NOTHING = SearchableProperties()


def searchable_properties(kind: str, metadata: Mapping[str, Any]) -> SearchableProperties:
    """Return the searchable properties in the metadata of a document of the given kind."""
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
    """Yield the texts of a property, truncated to `longest` characters; links are skipped."""
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
    """Return the typeable names of a key: for a path, the file name with and without its folder; else the key.

    Numbers, hashes and keys of many pieces are excluded.
    """
    if "/" not in key and not _SUFFIX.search(key):
        if _is_name(key):
            return (key,)
        return ()
    # A search calls this for each of its candidates, and pathlib would double the time of naming.
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
