"""Recognition of authors, venues and years in a query, compared with those of the stored works.

No fixed form of query is assumed. A name is a run of words that fits the name of an author of a work in the index
(`text.names`), and evidence decides whether it is meant as one: several matching words, a word such as `by` before it,
a possessive, a year after it, a capital inside the sentence, or a query that contains nothing else. Evidence against
it: texts use the word much more often than works have an author of that name, or use it next to the neighbouring word
of the query, as in `gray code` and `sorting by field`.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise

from rifflux.retrieve.query.codes import Phrases
from rifflux.store import Store, Totals
from rifflux.text.analyzer import Analyzer
from rifflux.text.lexicon import stop_words
from rifflux.text.moments import YEAR_OF_WORK
from rifflux.text.names import Named, Word, is_particle, is_venue, named, spoken, venue_keys
from rifflux.text.question_words import asks_only, written_by
from rifflux.types import AUTHORS, VENUE, Credit

YEAR = "year"
#: The points at which a name lifts works, and at which it is certain to be a name.
ENOUGH = 2
SURE = 3
#: Next to a certain name, the rest of a query is taken as its subject if it has at most this many words.
SHORT_SUBJECT = 6
_JOINED = re.compile(r"\s*(?:,|&|and|or|und|et|y|e|en)\s*|\s*,\s*(?:and|or)\s*", re.IGNORECASE)
_BESIDE_YEAR = re.compile(r"[\s,(\[]*(?:(?:in|from|of)\s+)?", re.IGNORECASE)
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
_MASKED = re.compile(r'"[^"]*"|“[^”]*”|(?<!\S)-\S+|(?<!\S)\w+:\S+')
_GAP = re.compile(r"[\s.]*")
_COMMA = re.compile(r"[\s.]*,\s*")
#: Words that precede the venue or the year of works.
_APPEARED = frozenset(("in", "from", "of", "im", "aus", "dans", "en", "nel", "em"))


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
    def totals(self) -> Totals:
        """Return the numbers of documents and chunks."""
        return self.store.totals()

    @property
    def chunks(self) -> int:
        """Return the number of chunks."""
        return self.totals.chunks

    def known(self, role: str, keys: Collection[str]) -> Mapping[str, Mapping[str, int]]:
        """Return the names by lookup key, each with its number of works."""
        found: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
        for each in self.store.catalog.credited(role, sorted(keys)) if keys else ():
            if self.disclosable(each.namespace, each.license):
                found[each.key][each.name] += each.works
        return found


@dataclass(frozen=True, slots=True)
class CreditsRead:
    """The credits that a query names, and the rest of its text; `only` is True if nothing else remains."""

    credits: tuple[Credit, ...] = ()
    rest: str = ""
    only: bool = False


@dataclass(frozen=True)
class _Sentence:
    """A tokenized query, with quotations and facets masked.

    `stop` are the function words of its language, `used` the tokens already assigned to a name.
    """

    vocabulary: CreditVocabulary
    text: str
    masked: str
    stop: frozenset[str]
    used: set[int] = field(default_factory=set)

    @cached_property
    def tokens(self) -> list[NameToken]:
        found = (NameToken(match.start(), match.end(), match[0], words) for match, words in spoken(self.masked))
        return [token for token, _ in zip(found, range(MOST_WORDS), strict=False)]

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

    def _by(self, mention: Mention, only: bool, found: Sequence[tuple[Credit, tuple[int, int]]]) -> dict[str, int]:
        """Return the evidence, as points by reason, that a name is an author's."""
        first = self.tokens[mention.first]
        last = self.tokens[mention.last]
        before = self.masked[: first.start]
        joined = any(
            credit.role == AUTHORS and _JOINED.fullmatch(self.text[end : first.start]) for credit, (_, end) in found
        )
        cue = bool(self._before(mention.first) & self._written_by)
        possessive = last.written[-2:] in ("'s", "’s") or last.written[-1:] in "'’"
        follows = mention.last + 1 < len(self.tokens) and self._is_request(self.tokens[mention.last + 1])
        rarity = self._rarity(mention)
        # Societies are authors too: words of their names that many texts contain are not names.
        evidence = {
            "a full name": (3 if rarity >= 0 else 1) if mention.quality > 2 else 0,
            "'by'": 2 * cue,
            "beside another author": 2 * joined,
        }
        evidence |= {"possessive": possessive * (1 + follows), "nothing else is asked": int(only)}
        evidence["a year follows"] = int(bool(re.match(rf"[\s,(]*{YEAR_OF_WORK.pattern}", self.masked[last.end :])))
        capital = first.capital and not self.titled and (bool(before.strip()) or (only and len(self.tokens) == 1))
        evidence["capital"] = int(capital)
        if mention.quality < 3:
            evidence["only a given name"] = -1 if mention.quality == 1 else 0
            evidence["how often texts say it"] = rarity
            # These describe a thing rather than a person: `Hilbert spaces`, `Floyd's algorithm`, `sorting by field`.
            plain = self.titled or not first.capital
            if (plain or not cue) and not joined and self._is_term(mention, over=cue):
                evidence["part of a term"] = -2
        return {reason: points for reason, points in evidence.items() if points}

    def _is_term(self, mention: Mention, *, over: bool) -> bool:
        """Return True if texts contain the name next to its neighbouring word, or next to the one before `by`."""
        of_word = self.vocabulary.analyzer.of_word
        if over:
            before = mention.first - 2
        else:
            before = mention.first - 1
        for one, other in ((before, mention.first), (mention.last, mention.last + 1)):
            if one >= 0 and other < len(self.tokens):
                left = self.tokens[one]
                right = self.tokens[other]
                beside = right if one == mention.last else left
                apart = not over and not _GAP.fullmatch(self.masked[left.end : right.start])
                if apart or self._is_request(beside):
                    continue
                terms = (of_word(left.words[-1].forms[0]), of_word(right.words[0].forms[0]))
                if all(terms) and self.vocabulary.adjacent([(terms[0][-1], terms[1][0])]):
                    return True
        return False

    # Venues and years

    def _in(self, mention: Mention, only: bool) -> dict[str, int]:
        """Return the evidence, as points by reason, that a name is a venue's."""
        first = self.tokens[mention.first]
        acronym = mention.first == mention.last and len(first.written) > 2 and first.written.isupper()
        evidence = {
            "'in'": 2 * bool(self._before(mention.first) & _APPEARED),
            "a name of several words": int(mention.first < mention.last),
            "capital": int(first.capital and not self.titled),
            "an acronym": int(acronym),
            "nothing else is asked": int(only),
            "how often texts say it": self._rarity(mention) if mention.first == mention.last and not acronym else 0,
        }
        return {reason: points for reason, points in evidence.items() if points}

    def _of_years(
        self, years: Sequence[re.Match[str]], found: Sequence[tuple[Credit, tuple[int, int]]], only: bool
    ) -> Iterator[tuple[Credit, tuple[int, int]]]:
        """Yield publication years: after an author or a venue, or alone."""
        for match in years:
            before = self.masked[: match.start()]
            behind = any(_BESIDE_YEAR.fullmatch(before[end:]) for _, (_, end) in found if end <= match.start())
            words = before.split()
            evidence = {
                "behind a name": 3 * behind,
                "beside a name": 2 * bool(found),
                "'in'": int(bool(words) and words[-1].casefold() in _APPEARED),
                "nothing else is asked": int(only),
            }
            evidence = {reason: points for reason, points in evidence.items() if points}
            sure = sum(evidence.values()) >= SURE and any(credit.sure for credit, _ in found)
            credit = Credit(YEAR, match[0], (match[0],), sure, tuple(evidence))
            if sum(evidence.values()) >= ENOUGH and self.vocabulary.store.catalog.any_passes(credit.filter):
                yield credit, match.span()

    # The remaining query

    def _credit(
        self, role: str, mention: Mention, points_by_reason: Mapping[str, int], only: bool
    ) -> tuple[Credit, tuple[int, int]]:
        span = self.tokens[mention.first].start, self.tokens[mention.last].end
        rest = len(self.tokens) - (mention.last - mention.first + 1)
        cued = only or rest <= SHORT_SUBJECT or any(each in points_by_reason for each in ("'by'", "'in'"))
        wording = re.sub(r"['’]s?\Z", "", self.text[slice(*span)].strip(" ,"))
        reasons = tuple(reason for reason, points in points_by_reason.items() if points > 0)
        return Credit(role, wording, mention.names, sum(points_by_reason.values()) >= SURE and cued, reasons), span

    def _only_requests(self, spans: Sequence[tuple[int, int]]) -> bool:
        """Return True if the words outside the given spans contain only question words."""
        left = [token for token in self.tokens if not any(start <= token.start < end for start, end in spans)]
        words = [re.sub(r"['’]s?\Z", "", token.written.casefold()).strip(".") for token in left]
        return (
            self.masked == self.text
            and not re.search(r"\d", "".join(self._outside(spans)))
            and asks_only(filter(None, words), self.vocabulary.analyzer.language)
        )

    @property
    def _written_by(self) -> frozenset[str]:
        """Return the words that introduce an author in the language of the index."""
        return written_by(self.vocabulary.analyzer.language)

    def _outside(self, spans: Sequence[tuple[int, int]]) -> Iterator[str]:
        end = 0
        for start, stop in sorted(spans):
            yield self.text[end:start]
            end = stop
        yield self.text[end:]

    def _without(self, spans: Sequence[tuple[int, int]]) -> str:
        """Return the query without the given spans and without the words that introduce them."""
        pieces = list(self._outside(spans))
        cues = self._written_by | _APPEARED
        for place, piece in enumerate(pieces[:-1]):
            words = piece.rstrip(" ,(&").split()
            while words and words[-1].casefold() in (*cues, "and", "or", "written", "published"):
                words.pop()
            pieces[place] = " ".join(words)
        rest = " ".join(" ".join(pieces).replace("()", " ").split()).strip(" ,;:()")
        return re.sub(r"^['’]?s?\s+", "", rest) or self.text

    # Names in the text

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
            if one.written[-2:] in ("'s", "’s") or not (_GAP.fullmatch(between) or _COMMA.fullmatch(between)):
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
            if first in self.used or not (token.capital or self._before(first) & _APPEARED):
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
        passages = max(1.0, self.vocabulary.chunks / max(1, self.vocabulary.totals.documents))
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


def read_credits(vocabulary: CreditVocabulary, text: str) -> CreditsRead:
    """Return the authors, venues and years of works that a query names, with enough evidence."""
    masked = _MASKED.sub(lambda match: " " * len(match[0]), text)
    sentence = _Sentence(vocabulary, text, masked, stop_words(vocabulary.analyzer.language))
    people = sentence._people()
    venues = sentence._venues()
    years = [*YEAR_OF_WORK.finditer(sentence.masked)]
    if not (people or venues or years):
        return CreditsRead(rest=text)
    spans = [(sentence.tokens[each.first].start, sentence.tokens[each.last].end) for each in (*people, *venues)]
    spans += [match.span() for match in years]
    only = sentence._only_requests(spans)
    found: list[tuple[Credit, tuple[int, int]]] = []
    for role, mentions in ((AUTHORS, people), (VENUE, venues)):
        for mention in mentions:
            if role == AUTHORS:
                evidence = sentence._by(mention, only, found)
            else:
                evidence = sentence._in(mention, only)
            if evidence and sum(evidence.values()) >= ENOUGH:
                credit, span = sentence._credit(role, mention, evidence, only)
                same = [each for each, _ in found if not {*each.names}.isdisjoint(credit.names)]
                found.append((replace(same[0], wording=credit.wording) if same else credit, span))
    found += sentence._of_years(years, found, only)
    only = only and bool(found) and sentence._only_requests([span for _, span in found])
    sure = [span for credit, span in found if credit.sure]
    if only or not sure:
        rest = text
    else:
        rest = sentence._without(sure)
    credits = {(credit.role, credit.names): credit for credit, _ in reversed(found)}
    return CreditsRead(tuple(reversed(credits.values())), rest, only)


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
