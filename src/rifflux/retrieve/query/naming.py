"""Names as people write them: a title is recognized in the question, whatever its case, order, punctuation and zeros.

A text becomes atoms: its words as stems, and its numbers as values, each bound to the word before it. `Chapter 07`,
`chapter-7` and `7 Chapter` have the same. No form of a name is known here: what counts is what the titles of the
candidates hold, weighed by how rare it is among them.

A title is named by a question if some beginning of it says what the question says (`AGREEMENT` of the idf of both), or
if it stands in the question whole, or up to its number, as it is written.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from rifflux.text.analyzer import Analyzer, fold, idf

__all__ = ["Atom", "Titles", "atoms", "held_of", "likeness"]

_PIECE = re.compile(r"\b[^\W\d_](?![^\W\d_])(?:[.\s]+[^\W\d_](?![^\W\d_]))+|[^\W\d_]+(?:['’][^\W\d_]+)*|\d+")
MOST_DIGITS = 18
#: A title agrees with a question that has so much in common with a beginning of it, where the titles know so much of
#: the question; of titles that stand in a question, so many may be meant.
AGREEMENT, KNOWN, MOST_STANDING = 0.8, 0.4, 3
#: A beginning of a title is looked for among so many atoms.
LONGEST = 12


@dataclass(frozen=True, slots=True)
class Atom:
    """A word, or a number with the word that it belongs to; `written` is the word as typed, in small letters."""

    term: str
    written: str = ""
    number: int | None = None


def atoms(text: str, analyzer: Analyzer) -> list[Atom]:
    """Return the atoms of a text in order; stop words are none."""
    found: list[Atom] = []
    term = written = ""
    for piece in _PIECE.findall(text):
        if piece.isdecimal():
            found.append(Atom(term, written, int(piece[:MOST_DIGITS])))
            continue
        word = fold("".join(piece.replace(".", " ").split()))
        terms = analyzer.of_word(word) or ((word,) if len(word) == 1 and piece.isupper() else ())
        if terms:
            term, written = terms[-1], word
            found += [Atom(each, word) for each in terms]
    return found


def likeness(asked: Sequence[Atom], title: Sequence[Atom], weight: Callable[[Atom], float]) -> tuple[float, float]:
    """Return how well some beginning of a title says what is asked, and how much of that stands anywhere in it.

    Both are in [0, 1]; the first is the lesser of the shares that both have in common, by weight.
    """
    asked = spelt_out(asked, title)
    total = sum(map(weight, asked))
    words = {atom.term for atom in title}, {atom.term for atom in asked}
    left, held, begun, best = [*asked], 0.0, 0.0, 0.0
    for place, atom in enumerate(title):
        begun += weight(atom)
        match = next((each for each in left if _same(each, atom, *words)), None)
        if match:
            left.remove(match)
            held += weight(match)
            if place < LONGEST and begun:
                best = max(best, min(held / total, held / begun))
    return (best, held / total) if total else (0.0, 0.0)


def held_of(title: Sequence[Atom], asked: Sequence[Atom]) -> int:
    """Return how many atoms a title begins with that stand so in the question: all, or up to a number; else 0."""
    for width in range(min(len(title), LONGEST), 1, -1):
        name = title[:width]
        if width == len(title) or (name[-1].number is not None and title[width].number is None):
            said = spelt_out(asked, name)
            words = {atom.term for atom in name}, {atom.term for atom in said}
            for start in range(len(said) - width + 1):
                if all(_same(one, each, *words) for one, each in zip(said[start : start + width], name, strict=True)):
                    return width
    return 0


def spelt_out(asked: Sequence[Atom], title: Sequence[Atom]) -> Sequence[Atom]:
    """Return what is asked with words before numbers as the title has them, where they begin so: `ch. 7`."""
    whole = {
        one.written: other
        for one in asked
        for other in title
        if one.number is not None and one.number == other.number and one.written
        if one.written != other.written and other.written.startswith(one.written)
    }
    if not whole:
        return asked
    return [replace(each, term=whole[each.written].term) if each.written in whole else each for each in asked]


def _same(asked: Atom, title: Atom, titled: set[str], said: set[str]) -> bool:
    """Return True if an atom of the question is that of the title; a number is nothing without its word.

    A number before all words may belong to any of them; a word that the title lacks says nothing of the number.
    """
    if asked.number is None or title.number is None:
        return asked.number == title.number and asked.term == title.term
    if asked.number != title.number:
        return False
    if asked.term in ("", title.term):
        return True
    if not title.term:
        return bool(titled - {""})
    return asked.term not in titled and title.term in said


@dataclass(frozen=True)
class Titles:
    """The titles of candidates as atoms, each of which says more the fewer of them hold it.

    `idf` is that of the question's words among all chunks; a word of many titles says no more than it does there.
    """

    read: Mapping[str, Sequence[Atom]]
    idf: Mapping[str, float]

    @cached_property
    def count(self) -> Counter[str]:
        """Return how many titles hold each word and each number."""
        return Counter(key for found in self.read.values() for key in {_key(atom) for atom in found})

    def weight(self, atom: Atom) -> float:
        """Return what an atom says: its idf among the titles, for a word at most that among the chunks."""
        among = idf(len(self.read), self.count[_key(atom)])
        return min(among, self.idf.get(atom.term, among)) if atom.number is None else among

    def named(self, asked: Sequence[Atom]) -> Collection[str]:
        """Return the titles that a question names: those that agree with it, or else those that stand in it."""
        agreeing, holding = self._agreeing(asked)
        # Where many more titles hold what was asked, it is their subject and nobody's name.
        return agreeing if agreeing and 2 * len(agreeing) >= holding else self._standing(asked)

    def _agreeing(self, asked: Sequence[Atom]) -> tuple[list[str], int]:
        """Return the titles that begin with what was asked, and how many hold it at all."""
        short = {atom.written for atom in asked if atom.number is not None}
        known = [atom for atom in asked if atom.number is not None or self.count[atom.term] or atom.written in short]
        if sum(map(self.weight, known)) < KNOWN * sum(map(self.weight, asked)):
            return [], 0
        agreeing, holding = [], 0
        for name, title in self.read.items():
            begun, whole = likeness(known, title, self.weight)
            holding += whole >= AGREEMENT
            if begun >= AGREEMENT:
                agreeing.append(name)
        return agreeing, holding

    def _standing(self, asked: Sequence[Atom]) -> list[str]:
        """Return the titles of which most stands in the question as it is written, if they are few."""
        widths = {name: held_of(title, asked) for name, title in self.read.items()}
        longest = max(widths.values(), default=0)
        found = [name for name, width in widths.items() if width == longest > 0]
        return found if len(found) <= MOST_STANDING else []


def _key(atom: Atom) -> str:
    return atom.term if atom.number is None else str(atom.number)
