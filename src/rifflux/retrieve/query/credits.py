"""Recognition of authors, venues and years in a query, compared with those of the stored works.

No fixed form of query is assumed. A name is a run of words that fits the name of an author of a work in the index
(`text.people`), and evidence decides whether it is meant as one: several matching words, a word such as `by` before it,
a possessive, a year after it, a capital inside the sentence, or a query that contains nothing else. Evidence against
it: texts use the word much more often than works have an author of that name, or use it next to the neighbouring word
of the query, as in `gray code` and `sorting by field`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from rifflux.retrieve.query.mentions import APPEARED, GAP, MASKED, CreditVocabulary, Mention, Sentence
from rifflux.text.moments import YEAR_OF_WORK
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


@dataclass(frozen=True, slots=True)
class CreditsRead:
    """The credits that a query names, and the rest of its text; `only` is True if nothing else remains."""

    credits: tuple[Credit, ...] = ()
    rest: str = ""
    only: bool = False


def read_credits(vocabulary: CreditVocabulary, text: str) -> CreditsRead:
    """Return the authors, venues and years of works that a query names."""
    return _Question(vocabulary, text, MASKED.sub(lambda match: " " * len(match[0]), text)).read()


@dataclass(frozen=True)
class _Question(Sentence):
    """A query with the evidence for each of its names."""

    def read(self) -> CreditsRead:
        """Return the credits with enough evidence."""
        people = self._people()
        venues = self._venues()
        years = [*YEAR_OF_WORK.finditer(self.masked)]
        if not (people or venues or years):
            return CreditsRead(rest=self.text)
        spans = [(self.tokens[each.first].start, self.tokens[each.last].end) for each in (*people, *venues)]
        spans += [match.span() for match in years]
        only = self._only_requests(spans)
        found: list[tuple[Credit, tuple[int, int]]] = []
        for role, mentions in ((AUTHORS, people), (VENUE, venues)):
            for mention in mentions:
                if role == AUTHORS:
                    evidence = self._by(mention, only, found)
                else:
                    evidence = self._in(mention, only)
                if evidence and sum(evidence.values()) >= ENOUGH:
                    credit, span = self._credit(role, mention, evidence, only)
                    same = [each for each, _ in found if not {*each.names}.isdisjoint(credit.names)]
                    found.append((replace(same[0], wording=credit.wording) if same else credit, span))
        found += self._of_years(years, found, only)
        only = only and bool(found) and self._only_requests([span for _, span in found])
        sure = [span for credit, span in found if credit.sure]
        if only or not sure:
            rest = self.text
        else:
            rest = self._without(sure)
        credits = {(credit.role, credit.names): credit for credit, _ in reversed(found)}
        return CreditsRead(tuple(reversed(credits.values())), rest, only)

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
                apart = not over and not GAP.fullmatch(self.masked[left.end : right.start])
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
            "'in'": 2 * bool(self._before(mention.first) & APPEARED),
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
                "'in'": int(bool(words) and words[-1].casefold() in APPEARED),
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
        cues = self._written_by | APPEARED
        for place, piece in enumerate(pieces[:-1]):
            words = piece.rstrip(" ,(&").split()
            while words and words[-1].casefold() in (*cues, "and", "or", "written", "published"):
                words.pop()
            pieces[place] = " ".join(words)
        rest = " ".join(" ".join(pieces).replace("()", " ").split()).strip(" ,;:()")
        return re.sub(r"^['’]?s?\s+", "", rest) or self.text
