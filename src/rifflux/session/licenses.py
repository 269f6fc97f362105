"""Licenses: the names of sources brought to one, and what may be shown without one."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from rifflux.types import Document, Hit, is_withheld

__all__ = ["WITHHELD", "Visibility", "closed_document", "closed_hit", "license_of"]

_CREATIVE_COMMONS = re.compile(
    r"(?:https?://)?creativecommons\.org/licenses/(?P<url>[a-z-]+)/(?P<number>\d\.\d)(?:/.*)?"
    r"|cc[\s-](?P<name>by(?:[\s-](?:nc|nd|sa))*)(?:[\s-](?P<version>\d\.\d))?",
    re.IGNORECASE,
)
_PUBLIC = re.compile(
    r"(?:https?://)?creativecommons\.org/publicdomain/zero/.*|cc0(?:[\s-]1\.0)?|cc-?zero", re.IGNORECASE
)
_ARXIV = re.compile(r"(?:https?://)?arxiv\.org/licenses/nonexclusive-distrib/(\d\.\d)/?", re.IGNORECASE)
#: What sources write where they know of none.
_NONE = frozenset({"", "unknown", "none", "null", "n/a", "unspecified"})


def license_of(text: str | None) -> str | None:
    """Return the license of a source, as an SPDX identifier if one is known, else as it stands; None for none."""
    text = " ".join((text or "").split())
    if text.lower() in _NONE:
        return None
    if _PUBLIC.fullmatch(text):
        return "CC0-1.0"
    if match := _ARXIV.fullmatch(text):
        return f"arXiv-nonexclusive-distrib-{match[1]}"
    if match := _CREATIVE_COMMONS.fullmatch(text):
        terms = re.sub(r"\s", "-", (match["url"] or match["name"]).upper())
        version = match["number"] or match["version"]
        return f"CC-{terms}-{version}" if version else f"CC-{terms}"
    return text


# Showing

#: Stands for the text that is not shown.
WITHHELD = "[no license is recorded for this work: only its title and its identifiers are told]"


def closed_hit(hit: Hit) -> Hit:
    """Return a hit as it may be shown: if withheld, its title, and where and why it was found."""
    if not is_withheld(hit.collection, hit.license):
        return hit
    return replace(hit, content=WITHHELD, heading_path="", kind="", created_at=None, updated_at=None, metadata={})


def closed_document(collection: str, document: Document) -> Document:
    """Return a document as it may be shown: if withheld, its title and identifiers."""
    if not is_withheld(collection, document.license):
        return document
    return Document(document.key, WITHHELD, document.title, identifiers=document.identifiers)


@dataclass(frozen=True, slots=True)
class Visibility:
    """How a profile shows hits and documents; by default, licenses fail closed."""

    hit: Callable[[Hit], Hit] = closed_hit
    document: Callable[[str, Document], Document] = closed_document

    def hits(self, hits: Iterable[Hit]) -> tuple[Hit, ...]:
        """Return hits as they may be shown."""
        return tuple(map(self.hit, hits))
