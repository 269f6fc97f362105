"""Which works a question names: by an identifier, by the title, alone or in quotes, by title and author, or by what a
passage is headed: the name or number of a theorem, a term that is defined, a section."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from rifflux.text.schemes import parse_identifier
from rifflux.text.titles import plain
from rifflux.types import Identifier

__all__ = ["Named", "named_in"]

#: What is said of a work beside its title.
_SORTS = frozenset(
    ("article", "book", "chapter", "corollary", "definition", "lemma", "paper", "proposition", "section", "theorem")
)
_ARTICLES = frozenset(("a", "an", "the"))
_QUOTED = re.compile(r'"([^"]+)"|“([^”]+)”|``(.+?)\'\'')
#: The number of a section; that of a theorem stands behind what it is.
_NUMBER = re.compile(r"^(?:\d+ )+")
#: Shorter values of identifiers are words as well.
_SHORTEST_VALUE = 4
_plain = lru_cache(maxsize=1 << 14)(plain)


@dataclass(frozen=True, slots=True)
class Named:
    """What a question says that can be the name of a work; `words` are its words between blanks, folded.

    `identifiers` are those it spells out or has as two words, as in `tag 06Z4`. `titles` are the whole question and
    what it quotes, plainly written; `subject` is what is left of it without words such as `theorem`, and without those
    who are said to have written it.
    """

    words: frozenset[str]
    identifiers: frozenset[str]
    titles: frozenset[str]
    subject: str
    people: frozenset[str]

    def __call__(self, title: str, authors: Sequence[str], identifiers: Iterable[Identifier]) -> int:
        """How surely a work is meant: 3 by an identifier, 2 by its title, 1 by what its title is about, else 0."""
        if any(map(self._says, identifiers)):
            return 3
        told = _plain(title)
        if told in self.titles:
            return 2
        if not self.subject or _bare(told.split(), before=_ARTICLES) != self.subject:
            return 0
        return int(self.people <= {word for name in authors for word in _plain(name).split()})

    def heads(self, heading_path: str) -> bool:
        """Whether a passage under these headings is meant: `Theorem 2.1 (Hahn–Banach)` is by its name and number."""
        if not heading_path:
            return False
        heading = heading_path.rpartition(" > ")[2]
        number, _, names = heading.rstrip(")").partition(" (")
        if any(self.subject == _plain(name) for name in names.split(", ") if self.subject):
            return True
        told = _NUMBER.sub("", _plain(number))
        return " " in told and told in self.titles

    def _says(self, identifier: Identifier) -> bool:
        value = identifier.value.casefold()
        if f"{identifier.scheme}:{value}" in self.identifiers:
            return True
        telling = len(value) >= _SHORTEST_VALUE and not value.isalpha() and not value.isdigit()
        return telling and value in self.words


def named_in(question: str) -> Named:
    """What a question names."""
    words = [word.casefold() for each in question.split() if (word := each.strip("\"'“”?!.,;()[]"))]
    spelled = [str(each).casefold() for word in words if (each := parse_identifier(word))]
    pairs = [f"{one}:{other}" for one, other in pairwise(words)]
    quoted = ["".join(parts) for parts in _QUOTED.findall(question)]
    whole = plain(question)
    about, by, people = whole.rpartition(" by ")
    return Named(
        frozenset(words),
        frozenset([*words, *spelled, *pairs]),
        frozenset(filter(None, map(plain, [question, *quoted]))),
        _bare((about if by else whole).split(), before=_SORTS | _ARTICLES | {"of"}),
        frozenset(people.split()) if by else frozenset(),
    )


def _bare(words: Sequence[str], *, before: frozenset[str]) -> str:
    """Words without what stands before and behind a name."""
    start, end = 0, len(words)
    while start < end and words[start] in before:
        start += 1
    while start < end and words[end - 1] in _SORTS:
        end -= 1
    return " ".join(words[start:end])
