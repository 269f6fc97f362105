"""Recognition of titles named in a query, regardless of case, order, punctuation and leading zeros.

A text becomes atoms: its words as stems and its numbers as values, each bound to the word before it. `Chapter 07`,
`chapter-7` and `7 Chapter` have the same atoms. No fixed form of name is assumed: titles are matched by their words,
weighted by rarity among the candidates' titles.

A query names a title if some beginning of the title matches it (`AGREEMENT` of the idf of both), or if the query
contains the title literally, in full or up to its number.
"""

from __future__ import annotations

import re
import threading
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain, repeat
from operator import attrgetter

import numpy as np

from rifflux.store import NameTable
from rifflux.text.analyzer import LETTERS, PIECES, Memo, fold, idf
from rifflux.types import Clause, Ids, Query

_WORD = re.compile(r"\w+")
_TERM = attrgetter("term")
_NUMBER = attrgetter("number")
MOST_DIGITS = 18
#: The minimum overlap of a query and the beginning of a title, the minimum share of the query that the titles know, and
#: the maximum number of titles contained in a query that may all be meant.
AGREEMENT = 0.8
KNOWN = 0.6
MOST_STANDING = 3
WHOLE = 1 - 1e-9
#: The minimum number of titles that begin with a number in the same way for it to identify them: `Chapter 7`, but not
#: `interleukin 2`.
SCHEME = 3
#: The maximum number of atoms in a beginning of a title.
LONGEST = 12


@dataclass(frozen=True, slots=True)
class Atom:
    """A word, or a number with the word it belongs to; `written` is the word as typed, in lower case."""

    term: str
    written: str = ""
    number: int | None = None


def atoms(text: str, of_piece: Callable[[str], Sequence[Atom]]) -> list[Atom]:
    """Return the atoms of a text in order, without stop words; `of_piece` analyzes its words (see `of_word`)."""
    found: list[Atom] = []
    term = written = ""
    for piece in PIECES.findall(text):
        if piece.isdecimal():
            found.append(Atom(term, written, int(piece[:MOST_DIGITS])))
        elif parts := of_piece(piece):
            found += parts
            term = parts[-1].term
            written = parts[-1].written
    return found


def of_word(terms_of: Callable[[str], Clause], piece: str) -> tuple[Atom, ...]:
    """Return the atoms of a word from its terms; `FindPath` is read as `find path`."""
    if piece.isalpha():
        word = piece
    else:
        word = "".join(piece.replace(".", " ").split())
    terms = terms_of(word)
    written = fold(word)
    if len(terms) > 1 and terms[0] == written:
        parts = terms[1:]
    else:
        parts = terms
    return tuple(map(Atom, parts, repeat(written)))


def with_codes_parted(query: Query) -> str:
    """Return the query text with codes split as in the index if there is only one way: `30 CFR 250.17`."""
    text = query.semantic_text
    for token, terms in query.tokens if query.variants else ():
        if len(terms) > 1 and any(each.isdecimal() for each in token):
            ways = [way for way, beside in zip(query.variants, query.beside, strict=False) if beside == terms]
            if len(ways) == 1:
                text = text.replace(token, " ".join(ways[0]))
    return text


def letters_of(text: str) -> str:
    """Return the words and numbers of a text in lower case, without punctuation and leading zeros."""
    return " ".join(piece.lstrip("0") or "0" for piece in LETTERS.findall(fold(text)))


def likeness(question: Sequence[Atom], title: Sequence[Atom], weight: Callable[[Atom], float]) -> tuple[float, float]:
    """Return how well a title matches a query, and the share of the query found anywhere in it; both in [0, 1].

    The first is the smaller of the two overlap shares, by weight. A title with a number need only match up to it: the
    rest describes what is numbered. It is 0 if a number of the query is missing.
    """
    question = expanded(question, title)
    total = sum(weight(each) for each in question)
    numbers = len(question) - [*(_NUMBER(each) for each in question)].count(None)
    if not total:
        return 0.0, 0.0
    query_terms = {*(_TERM(each) for each in question)}
    words = {*(_TERM(each) for each in title)}, query_terms
    left = [*question]
    matched_weight = 0.0
    title_weight = 0.0
    best = 0.0
    for place, atom in enumerate(title, 1):
        title_weight += weight(atom)
        if atom.number is None and atom.term not in query_terms:
            continue
        match = next((each for each in left if _same(each, atom, *words)), None)
        if match:
            left.remove(match)
            matched_weight += weight(match)
            numbers -= match.number is not None
            if place <= LONGEST and title_weight and not numbers and (place == len(title) or match.number is not None):
                best = max(best, min(matched_weight / total, matched_weight / title_weight))
    if numbers or not title_weight:
        whole = 0.0
    else:
        whole = min(matched_weight / total, matched_weight / title_weight)
    return max(best, whole), matched_weight / total


def matching_width(title: Sequence[Atom], question: Sequence[Atom]) -> int:
    """Return the number of leading atoms of a title found in sequence in the query: all, up to a number, or 0."""
    for width in range(min(len(title), LONGEST), 1, -1):
        name = title[:width]
        if width == len(title) or (name[-1].number is not None and title[width].number is None):
            query_atoms = expanded(question, name)
            words = {*(_TERM(each) for each in name)}, {*(_TERM(each) for each in query_atoms)}
            for start in range(len(query_atoms) - width + 1):
                end = start + width
                goes_on = (
                    end < len(query_atoms)
                    and query_atoms[end].number is not None
                    and query_atoms[end].term == name[-1].term
                )
                same = (_same(one, each, *words) for one, each in zip(query_atoms[start:end], name, strict=True))
                if not goes_on and all(same):
                    return width
    return 0


def expanded(question: Sequence[Atom], title: Sequence[Atom]) -> Sequence[Atom]:
    """Return the query with abbreviations before numbers expanded as in the title: `ch. 7`."""
    labelled = [atom for atom in question if atom.number is not None and atom.written]
    if not labelled:
        return question
    whole = {
        one.written: other
        for one in labelled
        for other in title
        if one.number == other.number
        if one.written != other.written and other.written.startswith(one.written)
    }
    if not whole:
        return question
    return [replace(each, term=whole[each.written].term) if each.written in whole else each for each in question]


def _same(atom: Atom, title: Atom, titled: set[str], question_terms: set[str]) -> bool:
    """Return True if an atom of the query equals one of the title; numbers must also agree on their word.

    A number before all words may belong to any of them; a word missing from the title does not affect the number.
    """
    if atom.number is None or title.number is None:
        return atom.number == title.number and atom.term == title.term
    if atom.number != title.number:
        return False
    if atom.term in ("", title.term):
        return True
    if not title.term:
        return bool(titled - {""})
    return atom.term not in titled and title.term in question_terms


class Title(tuple[Atom, ...]):
    """A title as atoms, with cached derived values."""

    @cached_property
    def keys(self) -> frozenset[str]:
        """Return the title's words and numbers."""
        return frozenset(_key(each) for each in self)

    @cached_property
    def scheme(self) -> tuple[int, str] | None:
        """Return the position of the first number and the word it belongs to."""
        return next(((place, atom.term) for place, atom in enumerate(self) if atom.number is not None), None)


class NameIndex:
    """Names of documents, numbered as they are met, with the words and numbers that each contains.

    `of_piece` analyzes a word, and `begin` returns the first term of a name. A name is read as atoms only when a
    question shares much with it. Safe to share between threads.
    """

    def __init__(self, of_piece: Callable[[str], Sequence[Atom]], begin: Callable[[str], str] = str) -> None:
        self._of_piece = of_piece
        self._begin = begin
        self.texts: dict[int, str] = {}
        #: The words and numbers of each name, by their keys.
        self.keys: dict[int, tuple[str, ...]] = {}
        #: The first term of each name.
        self.firsts: list[str] = []
        #: The number of each name.
        self.numbers: dict[str, int] = {}
        self._titles: dict[int, Title] = {}
        self._letters: dict[int, str] = {}
        self._analyzed = Memo(self._keys_of)
        self._lock = threading.Lock()

    def _keys_of(self, piece: str) -> tuple[str, ...]:
        """Return the words and numbers of a piece of a name, by their keys."""
        if piece.isdecimal():
            return (str(int(piece[:MOST_DIGITS])),)
        return tuple(map(_key, self._of_piece(piece)))

    def number(self, name: str, title: Title | None = None) -> int:
        """Return the number of a name, which is added when it is first met, with the given atoms or its own."""
        number = self.numbers.get(name)
        if number is not None:
            return number
        keys: list[str] = []
        if title is not None:
            keys += title.keys
        for piece in PIECES.findall(name) if title is None else ():
            keys += self._analyzed[piece]
        first = self._begin(name)
        with self._lock:
            if (known_by_now := self.numbers.get(name)) is not None:
                return known_by_now
            number = len(self.texts)
            self.keys[number] = tuple(keys)
            self.firsts.append(first)
            if title is not None:
                self._titles[number] = title
            self.texts[number] = name
            self.numbers[name] = number
        return number

    def title(self, number: int) -> Title:
        """Return a name as atoms."""
        title = self._titles.get(number)
        if title is None:
            title = self._titles[number] = Title(atoms(self.texts[number], self._of_piece))
        return title

    def letters(self, number: int) -> str:
        """Return the words and numbers of a name (see `letters_of`)."""
        known = self._letters.get(number)
        if known is None:
            known = self._letters[number] = letters_of(self.texts[number])
        return known


class PiecedNames(NameIndex):
    """The names in a table of an engine, by their numbers there; a name and a piece are looked at when first met."""

    def __init__(
        self,
        table: NameTable,
        of_piece: Callable[[str], Sequence[Atom]],
        of_words: Callable[[Sequence[str]], Mapping[str, tuple[str, ...]]],
    ) -> None:
        super().__init__(of_piece)
        self._table = table
        self._of_words = of_words
        self.texts = Memo(table.text)
        self._keys_by_piece: dict[int, tuple[str, ...]] = {}
        #: The first piece of each name.
        self._begun: dict[int, int] = {}
        #: The pieces of names of files that may begin with a letter.
        self._lettered: dict[int, tuple[int, ...]] = {}
        self._begins = Memo(self._beginning)
        self._leads = Memo(self._lead)

    def meet(self, among: Sequence[int]) -> None:
        """Look at names: of others, neither words nor numbers are known."""
        keys = self.keys
        missing = [number for number in among if number not in keys]
        if missing:
            pieces, lengths = self._table.gathered(np.array(missing, np.int64))
            known = self._keys_by_piece
            every = pieces.tolist()
            new = [*{*every}.difference(known)]
            spelled = self._table.spellings(new)
            # A word of letters alone stands for its terms.
            plain = self._of_words([each for each in spelled if each.isalpha() and each.isascii()])
            for piece, word in zip(new, spelled, strict=True):
                if word in plain and len(plain[word]) < 2:
                    known[piece] = plain[word]
                elif word[:1].isalnum():
                    known[piece] = self._analyzed[word]
                else:
                    known[piece] = ()
            start = 0
            for number, length in zip(missing, lengths.tolist(), strict=True):
                own = every[start : start + length]
                start += length
                self._begun[number] = next(iter(own), -1)
                keys[number] = tuple(chain.from_iterable(map(known.__getitem__, own)))

    def leading(self, text: str, among: Sequence[int]) -> Sequence[int]:
        """Return the names that begin with a capital and with one of the words or numbers of a text."""
        runs = {*LETTERS.findall(text)}
        begun = self._begun
        lead = self._leads
        return [number for number in among if begun[number] >= 0 and lead[begun[number]] in runs]

    def _lead(self, piece: int) -> str:
        """Return the first run of letters of a piece that begins with a capital, otherwise an empty string."""
        (spelled,) = self._table.spellings([piece])
        run = LETTERS.match(spelled)
        return run[0] if run and spelled[0].isupper() else ""

    def begun(self, words: tuple[str, ...], names: Ids) -> Ids:
        """Return the places of names with a word, or a part with one, that may begin as one of some folded words."""
        known = self._lettered
        every = names.tolist()
        missing = [name for name in every if name not in known]
        if missing:
            pieces, lengths = self._table.gathered(np.array(missing, np.int64))
            lettered = self._table.lettered[pieces].tolist()
            every_piece = pieces.tolist()
            start = 0
            for name, length in zip(missing, lengths.tolist(), strict=True):
                own = range(start, start + length)
                known[name] = tuple([every_piece[place] for place in own if lettered[place]])
                start += length
        met = {*chain.from_iterable(map(known.__getitem__, every))}
        likely = {piece for piece in met if self._begins[piece](words)}
        return np.array([place for place, name in enumerate(every) if not likely.isdisjoint(known[name])], np.int64)

    def _beginning(self, piece: int) -> Callable[[tuple[str, ...]], bool]:
        """Return the function from words to True if a piece may begin as one of them."""
        (spelled,) = self._table.spellings([piece])
        runs = [fold(run) for run in LETTERS.findall(spelled)]
        if len(runs) == 1:
            return runs[0].startswith
        # In a part of the name, it may be another piece.
        return lambda words: any(run.startswith(words) or any(word.startswith(run) for word in words) for run in runs)


@dataclass(frozen=True)
class Titles:
    """The titles of candidates, by their numbers in an index of names, weighted by rarity among them.

    `idf` is the idf of the query's words among all chunks and bounds the weight of words. `wholes` are the titles of
    documents, the others those of their parts. `spellings` maps words found in no title to other terms.
    """

    names: NameIndex
    among: Sequence[int]
    idf: Mapping[str, float]
    wholes: Collection[int] = ()
    spellings: Mapping[str, Sequence[str]] = field(default_factory=dict)
    _weights: dict[str | int, float] = field(default_factory=dict, init=False, repr=False, compare=False)
    _holding: dict[str, set[int]] = field(default_factory=dict, init=False, repr=False, compare=False)

    def holding(self, key: str) -> set[int]:
        """Return the titles that contain a word or a number, by its key."""
        known = self._holding.get(key)
        if known is None:
            keys = self.names.keys
            known = self._holding[key] = {number for number in self.among if key in keys[number]}
        return known

    @cached_property
    def schemes(self) -> Counter[tuple[int, str] | None]:
        """Return the number of titles per numbering scheme: the position of the first number and its word."""
        return Counter(self.names.title(number).scheme for number in self.among)

    def weight(self, atom: Atom) -> float:
        """Return the weight of an atom: its idf among the titles, for a word at most its idf among the chunks."""
        key = atom.term if atom.number is None else atom.number
        known = self._weights.get(key)
        if known is None:
            among = idf(len(self.among), len(self.holding(_key(atom))))
            known = min(among, self.idf.get(atom.term, among)) if atom.number is None else among
            self._weights[key] = known
        return known

    def named(self, question: Sequence[Atom], text: str) -> tuple[Sequence[int], bool]:
        """Return the titles that a query names, and True if they are the whole query rather than contained in it.

        They are the whole query if they match its atoms or its letters. `question` are the atoms of the query's
        subject, `text` is the query as typed.
        """
        letters_in = self.names.letters
        respelt = chain.from_iterable(self.spellings.get(each.term, ()) for each in question if each.number is None)
        keys = {*map(_key, question), *(each.term for each in question), *respelt}
        self._holding.update({key: set() for key in keys})
        for number in self.among:
            if not keys.isdisjoint(self.names.keys[number]):
                for key in keys.intersection(self.names.keys[number]):
                    self._holding[key].add(number)
        respelt_question = []
        for atom in question:
            near = None
            if atom.number is None and not self.holding(atom.term):
                # A word that no title contains is respelt as in some title.
                near = next(filter(self.holding, self.spellings.get(atom.term, ())), None)
            respelt_question.append(replace(atom, term=near) if near else atom)
        question = respelt_question
        agreeing, containing = self._agreeing(question)
        letters = letters_of(text)
        same = [number for number in (containing if question else self.among) if letters_in(number) == letters]
        found = [*dict.fromkeys((*agreeing, *same))]
        whole = bool(found)
        found = found or [*(self._written(text) or self._standing(question))]
        # Titles of documents take precedence over titles of parts.
        found = [number for number in found if number in self.wholes] or found
        if len(found) > 1:
            if same := [number for number in found if letters_in(number) == letters]:
                return same, whole
            words = sorted(letters.split())
            if same := [number for number in found if sorted(letters_in(number).split()) == words]:
                return same, whole
        return [number for number in found if f" {letters_in(number)} " in f" {letters} "] or found, whole

    def _agreeing(self, question: Sequence[Atom]) -> tuple[Sequence[int], Sequence[int]]:
        """Return the titles that match the query as a name, and those that contain most of its words."""
        labels = {atom.written for atom in question if atom.number is not None}
        known = list[Atom]()
        unknown = 0.0
        for atom in question:
            label = atom.written in labels
            if atom.number is not None or self.holding(atom.term) or (label and self._is_short(atom.written)):
                known.append(atom)
            elif not label:
                # The word before a number may be called something else here: `section 250.1725`.
                unknown += self.weight(atom)
        if sum(map(self.weight, known)) < KNOWN / (1 - KNOWN) * unknown:
            return (), ()
        title_of = self.names.title
        likenesses = {number: likeness(known, title_of(number), self.weight) for number in self._near(known)}
        containing = [number for number, (_, share) in likenesses.items() if share >= AGREEMENT]
        sizes = [len(title_of(number)) for number, (like, _) in likenesses.items() if like >= AGREEMENT]
        # A title that contains the query and is no longer than a matching one counts as matching.
        longest = max(sizes, default=0)
        agreeing = [number for number in likenesses if likenesses[number][0] >= AGREEMENT]
        agreeing += [number for number in containing if number not in agreeing and len(title_of(number)) <= longest]
        if same := [number for number in containing if likenesses[number][0] >= WHOLE]:
            return same, containing
        # If many more titles contain the query, it is their subject and not a name.
        if not sizes or 2 * len(agreeing) < len(containing):
            return (), containing
        # Titles with all of the query's words take precedence over those that lack one.
        return [number for number in agreeing if likenesses[number][1] >= WHOLE] or agreeing, containing

    def _near(self, question: Sequence[Atom]) -> Sequence[int]:
        """Return the titles that share enough with the query to match it, in order; others need not be compared."""
        weights: dict[str, float] = {}
        for atom in question:
            weights[_key(atom)] = weights.get(_key(atom), 0.0) + self.weight(atom)
        shared: dict[int, float] = {}
        for key, weight in weights.items():
            for number in self.holding(key):
                shared[number] = shared.get(number, 0.0) + weight
        enough = AGREEMENT * sum(weights.values()) - 1e-9
        found = {number for number, weight in shared.items() if weight >= enough}
        # The word before a number may be abbreviated: then it weighs what it stands for in the title.
        if any(not self.holding(atom.term) for atom in question if atom.term):
            for atom in question:
                if atom.number is not None and atom.written:
                    found |= self.holding(_key(atom))
        return [number for number in self.among if number in found]

    def _is_short(self, word: str) -> bool:
        """Return True if a title contains a word with the given prefix."""
        title_of = self.names.title
        return any(atom.written.startswith(word) for number in self.among for atom in title_of(number))

    def _written(self, text: str) -> Sequence[int]:
        """Return the capitalized titles that occur in a sentence between lower-case words."""
        texts = self.names.texts
        among = self.among
        if isinstance(self.names, PiecedNames):
            # What stands between other words consists of whole runs of letters.
            among = self.names.leading(text, among)
        found = [number for number in among if texts[number] in text]
        found = [number for number in found if texts[number][:1].isupper() and _stands_out(texts[number], text)]
        # Of `Path` and `Find the Path`, the longer is meant.
        shorter = {one for one in found for other in found if one != other and texts[one] in texts[other]}
        found = [number for number in found if number not in shorter]
        if len(found) <= MOST_STANDING:
            return found
        return ()

    def _standing(self, question: Sequence[Atom]) -> Sequence[int]:
        """Return the titles mostly contained in the query in sequence, unless other titles contain that part too."""
        query_keys = {*(_key(each) for each in question)}
        labels = tuple({atom.written for atom in question if atom.number is not None})
        names: dict[tuple[Atom, ...], list[int]] = {}
        title_of = self.names.title
        among = self.among
        if not labels:
            # A title with a word that is not in the query is not contained in it.
            sharing = {number for key in query_keys for number in self.holding(key)}
            among = [number for number in among if number in sharing]
        for number in among:
            # The first atom of a contained title must occur in the query, and all of them in one without numbers.
            if not labels and not query_keys.issuperset(self.names.keys[number]):
                continue
            title = title_of(number)
            if not title:  # of signs alone
                continue
            possible = not labels or _key(title[0]) in query_keys or title[0].written.startswith(labels)
            width = matching_width(title, question) if possible else 0
            if width and (width == len(title) or self.schemes[title.scheme] >= SCHEME):
                names.setdefault(title[:width], []).append(number)
        # Of `path` and `find the path` the longer is meant; if they occur apart, both are.
        longest = [
            each
            for each in names
            if not any(each != other and matching_width(each, other) == len(each) for other in names)
        ]
        found = [number for each in longest for number in names[each]]
        if len(found) > MOST_STANDING:
            return ()
        found = []
        for each in longest:
            holding = set.intersection(*(self.holding(_key(atom)) for atom in each))
            standing = [number for number in holding if matching_width(each, title_of(number)) == len(each)]
            if len(standing) <= len(names[each]):
                found += names[each]
        return found


def _stands_out(name: str, text: str) -> bool:
    """Return True if a name occurs in a text between lower-case words."""
    before, _, after = text.partition(name)
    left = _WORD.findall(before)[-1:]
    right = _WORD.findall(after)[:1]
    parted = not before[-1:].isalnum() and not after[:1].isalnum()
    return parted and bool(left) and all(each.islower() for each in left + right)


def _key(atom: Atom) -> str:
    if atom.number is None:
        return atom.term
    return str(atom.number)
