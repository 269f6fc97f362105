"""Names as people write them: a title is recognised in the question, whatever its case, order, punctuation and zeros.

A text becomes atoms: its words as stems, and its numbers as values, each bound to the word before it, or after it where
there is none; `Chapter 07`, `chapter-7` and `7 Chapter` have the same. No form of a name is known here: what counts is
what the titles of the candidates hold, weighed by how rare it is among all of them.

A title is named by a question if some beginning of it says what the question says (`AGREEMENT` of the idf of both), or
if it stands in the question whole, or up to its number, as it is written.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from rifflux.text.analyzer import Analyzer, fold

__all__ = ["Atom", "atoms", "is_held", "likeness"]

_PIECE = re.compile(r"\b(?:[^\W\d_]\.){2,}|[^\W\d_]+(?:['’][^\W\d_]+)*|\d+")
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
    loose: list[int] = []
    term = written = ""
    for piece in _PIECE.findall(text):
        if piece.isdecimal():
            value = int(piece[:18])
            if term:
                found.append(Atom(term, written, value))
            else:
                loose.append(value)
            continue
        word = fold(piece.replace(".", ""))
        terms = analyzer.of_word(word) or ((word,) if len(word) == 1 and piece.isupper() else ())
        if terms:
            term, written = terms[-1], word
            found += [Atom(term, written, value) for value in loose]
            found += [Atom(each, word) for each in terms]
            loose = []
    return [*found, *(Atom("", "", value) for value in loose)]


def likeness(asked: Sequence[Atom], title: Sequence[Atom], weight: Callable[[Atom], float]) -> float:
    """Return how well some beginning of a title says what is asked, in [0, 1]: the lesser share of the idf of both."""
    total = sum(map(weight, asked))
    if not total:
        return 0.0
    asked = spelt_out(asked, title)
    words = {atom.term for atom in title}, {atom.term for atom in asked}
    left, held, begun, best = [*asked], 0.0, 0.0, 0.0
    for atom in title[:LONGEST]:
        begun += weight(atom)
        match = next((each for each in left if _same(each, atom, *words)), None)
        if match:
            left.remove(match)
            held += weight(match)
            best = max(best, min(held / total, held / begun if begun else 0.0))
    return best


def is_held(title: Sequence[Atom], asked: Sequence[Atom]) -> bool:
    """Return True if a title stands in the question as it is written: whole, or up to the number it begins with."""
    name = [*_numbered(title)] or title
    width = len(name)
    if not 2 <= width <= LONGEST:
        return False
    asked = spelt_out(asked, name)
    words = {atom.term for atom in name}, {atom.term for atom in asked}
    for start in range(len(asked) - width + 1):
        if all(_same(one, other, *words) for one, other in zip(asked[start : start + width], name, strict=True)):
            return True
    return False


def spelt_out(asked: Sequence[Atom], title: Sequence[Atom]) -> Sequence[Atom]:
    """Return what is asked with words before numbers as the title has them, where they begin so: `ch. 7`, `Chapter 7`."""
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


def _numbered(title: Sequence[Atom]) -> Iterator[Atom]:
    """Yield a title up to the end of its first numbers; nothing if it has none near its beginning."""
    numbers = [place for place, atom in enumerate(title[:LONGEST]) if atom.number is not None]
    if numbers:
        last = numbers[0]
        while last + 1 in numbers:
            last += 1
        yield from title[: last + 1]


def _same(asked: Atom, title: Atom, titled: set[str], said: set[str]) -> bool:
    """Return True if an atom of the question is that of the title; a number is nothing without its word."""
    if asked.number is None or title.number is None:
        return asked.number == title.number and asked.term == title.term
    if asked.number != title.number:
        return False
    if asked.term in ("", title.term):
        return True
    return asked.term not in titled and title.term in said
