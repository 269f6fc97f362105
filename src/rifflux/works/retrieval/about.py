"""The work that a question names: by an identifier, by a key, or by its whole title."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from rifflux.store import Store
from rifflux.text.titles import TITLE, plain, title_keys
from rifflux.types import Hit, Tag
from rifflux.works import parse_identifier

__all__ = ["Meant", "meant_in"]

#: A shorter title is a subject more often than it is meant as a name.
LEAST_WORDS = 4
#: Where the titles of more works begin so, that is no name of one.
MOST_ALIKE = 20
#: What a title stands after where a question is about a work.
_ABOUT = re.compile(
    r"\b(?:(?:related|similar|akin|close) to|like|before (?:I |we |one )?(?:read|study|learn|tackl)(?:ing|y)?|before"
    r"|prerequisites? (?:for|of|to)|background (?:(?:reading|needed|required|knowledge|material) )?for|to understand"
    r"|cit(?:e|es|ing)|cited by)\s+(?P<name>.+)",
    re.IGNORECASE,
)
_LEAD = re.compile(r"\A(?:(?:the|a|an|paper|article|book|work|titled|called|entitled|named|tag)\s+)+", re.IGNORECASE)
_AUTHOR = re.compile(r"\s+by\s+[^\W\d_].*\Z")
_QUOTED = re.compile(r'["“]([^"”]+)["”]')
_EDGES = " \t\r\n\"'“”?!,;:()[]"


@dataclass(frozen=True, slots=True)
class Meant:
    """A work by its first chunk, its subjects, and what it is called by in the question.

    `alone` says that the question is this name and nothing else, and can hardly be meant otherwise. The hit is as it is
    stored, whatever its license; without one, no subjects of it are told.
    """

    hit: Hit
    tags: Sequence[Tag]
    name: str
    alone: bool

    @property
    def place(self) -> tuple[str, str]:
        """Its collection and key."""
        return self.hit.place

    @property
    def withheld(self) -> bool:
        """Whether only title and identifiers may be told of it."""
        return self.hit.withheld

    @property
    def told(self) -> str:
        """What may be told of it, whatever its license: by what it was named, and its title."""
        return self.name if plain(self.name) == plain(self.hit.title) else f"{self.name} ({self.hit.title})"


def meant_in(text: str, store: Store) -> tuple[Meant | None, str]:
    """The work that a question without its filters names, and a note where it names several or is not clear."""
    words = text.strip(_EDGES)
    for name, places in _places(text, store).items():
        if len(places) > 1:
            return None, f"{name!r} is the name of {len(places)} works here: none was taken to be meant"
        (place,) = places
        if hits := store.catalog.chunks_of(*place):
            id = int(hits[0].chunk_id, 16)
            meant = Meant(hits[0], (), name, alone=_is_alone(words, name, hits[0].title))
            tags = () if meant.withheld else store.catalog.tags_of(np.array([id], np.int64)).get(id, ())
            return replace(meant, tags=tags), ""
    return None, ""


def _places(text: str, store: Store) -> Mapping[str, list[tuple[str, str]]]:
    """The works of each name in a question that is one: identifiers and keys before titles."""
    codes = {name: _spellings(name) for name in _codes(text)}
    keyed = {name: f"{TITLE}:{key}" for name in _titles(text) for key in title_keys(name, ())}
    spellings = [each for several in codes.values() for each in several]
    known = store.catalog.identified(list(dict.fromkeys([*spellings, *keyed.values()])))
    found = {name: known[each] for name, several in codes.items() for each in reversed(several) if each in known}
    found |= {
        name: places for name in _keys(text) if name not in found and (places := store.catalog.find_documents(name))
    }
    for name, key in keyed.items():
        alike = known.get(key, ())
        if len(alike) <= MOST_ALIKE and (places := [place for place in alike if _is_titled(store, place, name)]):
            found.setdefault(name, places)
    return found


def _spellings(name: str) -> list[str]:
    """An identifier as it was typed, and as it is stored if it has another spelling."""
    parsed = parse_identifier(name) if ":" in name or "/" in name or any(map(str.isdigit, name)) else None
    return list(dict.fromkeys([name, *([str(parsed)] if parsed else [])])) if ":" in name or parsed else []


def _codes(text: str) -> Iterator[str]:
    """What may be an identifier: each word, and a scheme with what follows it after a space."""
    words = [word.strip(_EDGES).removesuffix(".") for word in text.split()]
    for place, word in enumerate(words):
        yield word
        if text.split()[place].endswith(":") and place + 1 < len(words):
            yield f"{word}:{words[place + 1]}"


def _keys(text: str) -> Iterator[str]:
    """What may be the key of a work: words with a digit."""
    return (name for name in _codes(text) if any(map(str.isdigit, name)) and any(map(str.isalpha, name)))


def _titles(text: str) -> Iterator[str]:
    """What may be a title: what is quoted, the whole question, what stands after the words that ask about a work."""
    yield from (quoted.strip(_EDGES) for quoted in _QUOTED.findall(text))
    pieces = [text, *(found["name"] for found in _ABOUT.finditer(text))]
    for piece in pieces:
        name = piece.strip(_EDGES)
        for bare in (name, _LEAD.sub("", name)):
            yield from (bare, bare.removesuffix("."), _AUTHOR.sub("", bare))


def _is_alone(text: str, name: str, title: str) -> bool:
    """Whether a question is a name alone: an identifier, or a title long enough to be no subject."""
    words = plain(name).split()
    return name in (text, _LEAD.sub("", text)) and (len(words) >= LEAST_WORDS or plain(name) != plain(title))


def _is_titled(store: Store, place: tuple[str, str], name: str) -> bool:
    document = store.catalog.document(*place)
    return document is not None and plain(document.title) == plain(name)
