"""Runs of words in a query that fit the name of an author or a venue of stored works."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise

from rifflux.retrieve.query.codes import Phrases
from rifflux.store import Store
from rifflux.text.analyzer import Analyzer
from rifflux.text.lexicon import stop_words
from rifflux.text.people import Named, Word, is_particle, is_venue, named, spoken, venue_keys
from rifflux.text.question_words import asks_only
from rifflux.types import AUTHORS, VENUE

#: Returns whether the facts of a work, given its namespace and license, may be disclosed.
Disclosable = Callable[[str, str | None], bool]
#: The maximum number of words examined: a pasted page names nobody.
MOST_WORDS = 64
#: The maximum number of words in a person's name, and in a venue's.
LONGEST_NAME = 6
LONGEST_VENUE = 9
#: The maximum share of texts that contain a word written as a name, for it to match an initial; other words must not
#: occur.
COMMON = 0.05
#: The maximum number of spellings of a name to search for.
MOST_NAMES = 2_000
MASKED = re.compile(r'"[^"]*"|“[^”]*”|(?<!\S)-\S+|(?<!\S)\w+:\S+')
GAP = re.compile(r"[\s.]*")
_COMMA = re.compile(r"[\s.]*,\s*")
#: Words that precede the venue or the year of works.
APPEARED = frozenset(("in", "from", "of", "im", "aus", "dans", "en", "nel", "em"))


@dataclass(frozen=True, slots=True)
class NameToken:
    """A token of a query: its span, its text, and its words as parts of a name."""

    start: int
    end: int
    written: str
    words: tuple[Word, ...]

    @property
    def capital(self) -> bool:
        """Return True if it begins with a capital."""
        return self.written[:1].isupper()

    @property
    def initials(self) -> bool:
        """Return True if it consists of initials: `E.`, `E.W.`, or a capital `E`."""
        return all(word.is_initial for word in self.words) and (self.capital or "." in self.written)


@dataclass(frozen=True, slots=True)
class Mention:
    """A run of tokens that matches names: the matching spellings, and the number of works that have them."""

    first: int
    last: int
    names: tuple[str, ...]
    works: int
    quality: int


@dataclass(frozen=True)
class CreditVocabulary:
    """The authors and venues in a store; `disclosable` returns whether a work's credits may be disclosed.

    `frequencies` returns how many chunks contain each term, `adjacent` those of some clauses whose terms are adjacent.
    """

    store: Store
    analyzer: Analyzer
    disclosable: Disclosable
    frequencies: Callable[[Sequence[str]], Mapping[str, int]]
    adjacent: Phrases

    @cached_property
    def counts(self) -> Mapping[str, int]:
        """Return the numbers of documents and chunks."""
        return self.store.counts()

    @property
    def chunks(self) -> int:
        """Return the number of chunks."""
        return self.counts["chunks"]

    def known(self, role: str, keys: Collection[str]) -> Mapping[str, Mapping[str, int]]:
        """Return the names by lookup key, each with its number of works."""
        found: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
        for each in self.store.catalog.credited(role, sorted(keys)) if keys else ():
            if self.disclosable(each.namespace, each.license):
                found[each.key][each.name] += each.works
        return found


@dataclass(frozen=True)
class Sentence:
    """A tokenized query; `used` are the tokens already assigned to a name, and quotations and facets are masked."""

    vocabulary: CreditVocabulary
    text: str
    masked: str
    used: set[int] = field(default_factory=set)

    @cached_property
    def tokens(self) -> list[NameToken]:
        found = (NameToken(match.start(), match.end(), match[0], words) for match, words in spoken(self.masked))
        return [token for token, _ in zip(found, range(MOST_WORDS), strict=False)]

    @cached_property
    def stop(self) -> frozenset[str]:
        return stop_words(self.vocabulary.analyzer.language)

    @cached_property
    def titled(self) -> bool:
        """Return True if capitals carry no information: a title, or a text in capitals."""
        words = [
            token for token in self.tokens[1:] if len(token.written) > 3 and token.written.casefold() not in self.stop
        ]
        little = (
            token for token in self.tokens[1:] if token.written.casefold() in self.stop and len(token.written) > 1
        )
        return (
            self.text.isupper()
            or any(token.capital for token in little)
            or (len(words) > 1 and sum(token.capital for token in words) > 0.7 * len(words))
        )

    def _people(self) -> list[Mention]:
        """Return the names of people from left to right, without overlaps."""
        keys: set[str] = set()
        for place, token in enumerate(self.tokens):
            # A function word names somebody only where it has a capital inside the sentence.
            if token.written.casefold() not in self.stop or (token.capital and place):
                keys.update(form for word in token.words for form in word.forms)
        known = self.vocabulary.known(AUTHORS, {key for key in keys if len(key) > 1})
        if not known:
            return []
        found: list[Mention] = []
        for place, token in enumerate(self.tokens):
            if place in self.used or not any(form in known for word in token.words for form in word.forms):
                continue
            if mention := next(filter(None, (self._fitting(*span, known) for span in self._around(place))), None):
                self.used.update(range(mention.first, mention.last + 1))
                found.append(mention)
        return found

    def _around(self, place: int) -> Iterator[tuple[int, int]]:
        """Yield the runs of tokens around one, longest first."""
        for size in range(LONGEST_NAME, 0, -1):
            for first in range(max(0, place - size + 1), place + 1):
                last = first + size - 1
                if (
                    last < len(self.tokens)
                    and self.used.isdisjoint(range(first, last + 1))
                    and self._is_run(first, last)
                ):
                    yield first, last

    def _is_run(self, first: int, last: int) -> bool:
        """Return True if tokens are adjacent, with at most one comma, as before given names or initials."""
        commas = 0
        for one, other in pairwise(self.tokens[first : last + 1]):
            between = self.masked[one.end : other.start]
            commas += bool(_COMMA.fullmatch(between))
            if one.written[-2:] in ("'s", "’s") or not (GAP.fullmatch(between) or _COMMA.fullmatch(between)):
                return False
        return commas <= 1

    def _fitting(self, first: int, last: int, known: Mapping[str, Mapping[str, int]]) -> Mention | None:
        """Return the name that a run of tokens matches, or None."""
        tokens = self.tokens[first : last + 1]
        run = Named(tuple(word for token in tokens for word in token.words))
        names: dict[str, int] = {}
        for word in run.words:
            for form in word.forms:
                names.update(known.get(form, {}))
        fits = {name: quality for name in names if (quality := named(name).fits(run))}
        if first == last and not any(word.is_initial for word in run.words):
            fits = of_one_word(fits, names)
        if not fits or (first < last and not self._is_name(tokens, fits)):
            return None
        chosen = sorted(fits, key=lambda name: (-fits[name], -names[name], name))[:MOST_NAMES]
        return Mention(first, last, tuple(chosen), sum(names[each] for each in chosen), max(fits.values()))

    def _is_name(self, tokens: Sequence[NameToken], names: Iterable[str]) -> bool:
        """Return True if all words of a run can belong to a name, as initials or as words of a full spelling."""
        if any(token.written in self.stop and not is_particle(token.words[-1]) for token in (tokens[0], tokens[-1])):
            return False
        full = {form for name in names for word in named(name).words if not word.is_initial for form in word.forms}
        for token in tokens:
            written = {form for word in token.words for form in word.forms}
            if token.initials or all(not full.isdisjoint(word.forms) for word in token.words):
                continue
            if len(min(written, key=len)) == 1 or token.written.casefold() in self.stop or self._is_request(token):
                return False
            # A given name precedes the family name, or follows a comma.
            if token is tokens[-1] and "," not in self.masked[tokens[0].start : token.start]:
                return False
            capital = token.capital and not self.titled
            if self._in_texts(token) > (COMMON * self.vocabulary.chunks if capital else 0):
                return False
        return True

    def _in_texts(self, token: NameToken) -> int:
        """Return the number of chunks that contain a word."""
        terms = [term for word in token.words for term in self.vocabulary.analyzer.of_word(word.forms[0])]
        found = self.vocabulary.frequencies(terms)
        return min((found.get(term, 0) for term in terms), default=0)

    def _venues(self) -> list[Mention]:
        """Return the names of venues; a single word qualifies on its own after `in`, or capitalized."""
        runs: dict[tuple[int, int], str] = {}
        for first, token in enumerate(self.tokens):
            if first in self.used or not (token.capital or self._before(first) & APPEARED):
                continue
            for last in range(first, min(len(self.tokens), first + LONGEST_VENUE)):
                if last in self.used or not self._is_run(first, last):
                    break
                runs[first, last] = self.masked[token.start : self.tokens[last].end]
        keys = {wording: venue_keys(wording) for wording in runs.values()}
        if keys:
            known = self.vocabulary.known(VENUE, frozenset().union(*keys.values()))
        else:
            known = {}
        found: list[Mention] = []
        for (first, last), wording in sorted(runs.items(), key=lambda run: run[0][0] - run[0][1]) if known else ():
            names = {
                name: works
                for key in keys[wording]
                for name, works in known.get(key, {}).items()
                if is_venue(wording, name)
            }
            if names and self.used.isdisjoint(range(first, last + 1)):
                self.used.update(range(first, last + 1))
                found.append(Mention(first, last, tuple(sorted(names)), sum(names.values()), min(3, 1 + last - first)))
        return found

    def _rarity(self, mention: Mention) -> int:
        passages = max(1.0, self.vocabulary.chunks / max(1, self.vocabulary.counts["documents"]))
        words = [token for token in self.tokens[mention.first : mention.last + 1] if not token.initials]
        texts = min((self._in_texts(word) for word in words), default=0) / passages
        share = mention.works / (mention.works + texts)
        if share >= 0.5:
            return 2
        if share >= 0.2:
            return 1
        if share >= 0.05:
            return 0
        return -2

    def _is_request(self, token: NameToken) -> bool:
        """Return True for a word that only requests works: `papers`, `published`."""
        return asks_only([token.written.casefold()], self.vocabulary.analyzer.language)

    def _before(self, place: int) -> set[str]:
        """Return the word before a token, and the one before an article."""
        words = [token.written.casefold() for token in self.tokens[max(0, place - 2) : place]]
        return set(words[-1:]) | (set(words[:1]) if words[-1:] == ["the"] else set())


def of_one_word(fits: Mapping[str, int], works: Mapping[str, int]) -> dict[str, int]:
    """Return the names that a single word means: family names if any name has it last.

    Names that begin with the word, such as `Wang Xiaoyun`, are included unless it is more often a given name.
    """
    family = {name: quality for name, quality in fits.items() if quality == 2}
    given = {name: quality for name, quality in fits.items() if quality == 1}
    if not family:
        return given
    rare = sum(works[each] for each in given) <= sum(works[each] for each in family)
    return family | (dict.fromkeys(given, 2) if rare else {})
