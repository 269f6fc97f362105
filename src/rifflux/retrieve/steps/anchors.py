"""Anchors: what a question names lifts the chunks that hold it or are called so, as far as the name is the question.

The one rule for boosts: what a piece of evidence is worth is in proportion to what it explains of the question.

Names, identifiers, definitions and times lift candidates by a factor. It is a bounded likelihood ratio, made of three
shares:

    explained   how much of the question the evidence explains: the idf of its terms, of that of all that some other
                candidate holds. A year in a question of twelve words explains little of it, a code that is the question
                explains it all, and so does a name amid words that nothing else here answers to
    separating  how well it tells candidates apart: what most of them share says little, unless it is all that was asked
    sureness    how sure the match is: 1 for what a document says of itself (its date, its identifier), less for what
                may be meant otherwise (a date in a text, a name amid other words). What a doubtful match explains
                counts by its square, what a sure one explains by its fourth root

The evidence differs from step to step; what becomes of it does not.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import lru_cache, partial
from itertools import chain
from types import MappingProxyType

import numpy as np

from rifflux.errors import InvalidArgument
from rifflux.retrieve.fuse.base import weights_of
from rifflux.retrieve.pipeline import Plan
from rifflux.retrieve.query.naming import Atom, Title, Titles, atoms, of_word, with_codes_parted
from rifflux.retrieve.steps.beginnings import begun
from rifflux.retrieve.table import BOOSTED, LEXICAL, LIFT, NAMED, OUTRIGHT, SCORE, Candidates, declare, product
from rifflux.store import ChunkFacts
from rifflux.text.analyzer import Analyzer, Memo
from rifflux.text.moments import dates_in
from rifflux.text.properties import key_names
from rifflux.types import Clause, Ids, Moment, Query, Scores

STAGE = "anchors"
#: Names are looked for among the titles of so many of the best by words, and of so many of the best at all.
LOOKED_AT = 100
LOOKED_AT_FIRST = 30
#: No name is so long, and a pasted page is no name: so many of its words and numbers are compared with titles.
MOST_ATOMS = 64
declare("anchors/*", "factor", "the factor for an anchor that the candidate holds, bears as identifier or is titled by")

#: What the factor of those is called that have an anchor as their identifier.
IDENTIFIED = "identifier"
#: And what that of those is called which are titled by the question's name; an identifier is surer than a title.
BY_TITLE = f"{IDENTIFIED}: title"
#: The factors of those whose whole title was asked for, and of those that have an anchor in their title or headings.
WHOLE_TITLE = "whole title"
IN_TITLE = "title: "
#: How sure it is that a name which stands amid other words is asked for.
AMID = 0.9
#: Evidence for so much of a question explains it: the rest is how people ask.
ENOUGH = 2 / 3
#: The suffix of a file's name, which is typed or not.
_SUFFIX = re.compile(r"(?<=\w)\.[A-Za-z]\w{0,4}(?!\w)")
#: Factors beyond this cannot be meant.
MOST = 1000.0


@dataclass(frozen=True)
class Anchors:
    """Chunks that hold an anchor count `boost` times more, `title_boost` times more if in their title or headings.

    A chunk whose whole title is what was asked counts `exact_title` times more. All factors of a chunk together are
    at most `cap`. What bears an anchor as its identifier counts `identified` times more, beyond that: nothing else is
    meant by it; so does what is titled by the name in the question, in whatever form (see `query.naming`). Anchors
    match whole terms, so `D4` is not found in `D40`; case does not matter. Works on ids: read are the titles and
    headings of the best candidates, and of those that hold an anchor.
    """

    analyzer: Analyzer
    boost: float = 1.5
    title_boost: float = 1.5
    exact_title: float = 1.5
    cap: float = 4.0
    identified: float = 8.0

    def __call__(self, plan: Plan, table: Candidates) -> Candidates:
        """Lift the scores of candidates that hold an anchor; a column for each of its factors."""
        if not len(table):
            return table
        query = plan.query
        ranks = table[f"{LEXICAL}/rank"]
        near = ranks <= LOOKED_AT
        near[:LOOKED_AT_FIRST] = True
        names = plan.evidence.facts(table.ids[near])
        # On a long page, the place by words of those further down matters too.
        further = ranks > LOOKED_AT
        if np.count_nonzero(further) > len(ranks) / 2:
            table = begun(query, table, {**names, **plan.evidence.facts(table.ids[further])})
        else:
            table = begun(query, table, names)
        evidence = Bearing(plan, table.ids, weights_of(plan))
        strengths = {**self._by_title(evidence, names), **self._by_anchor(evidence)}
        identifiers = [name for name in strengths if name.startswith(f"{IDENTIFIED}: ") and name != BY_TITLE]
        if identifiers:
            strengths.pop(BY_TITLE, None)
        if not strengths:
            return table
        factors = {}
        for name, values in strengths.items():
            if name.startswith(IDENTIFIED):
                greatest = self.identified
            elif name == WHOLE_TITLE:
                greatest = self.exact_title
            elif name.startswith(IN_TITLE):
                greatest = self.title_boost
            else:
                greatest = self.boost
            factors[name] = factor(greatest, values)
        lift = product([values for name, values in factors.items() if name != BY_TITLE], len(table))
        bearing = [values for name, values in strengths.items() if name.startswith(IDENTIFIED)]
        named = np.maximum.reduce([np.zeros(len(table)), *bearing])
        if identifiers:
            outright = np.logical_or.reduce([strengths[name] > 0 for name in identifiers])
            table = table.with_column(OUTRIGHT, outright * 1.0)
        identified = [values for name, values in factors.items() if name.startswith(IDENTIFIED)]
        table = table.with_column(BOOSTED, np.fmax.reduce([np.ones(len(table)), *identified]))
        table = table.with_column(LIFT, lift).with_column(NAMED, named)
        others = [values for name, values in factors.items() if not name.startswith(IDENTIFIED)]
        lifted = np.minimum(self.cap, product(others, len(table))) * table[BOOSTED]
        return table.factored(STAGE, factors, table[SCORE] * lifted)

    def _by_title(self, evidence: Bearing, names: Mapping[int, ChunkFacts]) -> dict[str, Scores]:
        """Return the strengths for candidates that the question names, or whose title it is as a whole.

        It names them by title, alias or last heading, or else by key.
        """
        query = evidence.plan.query
        asked = atoms(with_codes_parted(query), partial(of_word, query.words.__getitem__))[:MOST_ATOMS]
        wanted = {*chain(*query.clauses, *query.required)}
        titles = defaultdict[str, list[int]](list)
        headings = defaultdict[str, list[int]](list)
        whole: list[int] = []
        languages: dict[str, str] = {}
        for id, each in names.items():
            for name in {each.title, *each.aliases}:
                titles[name].append(id)
                languages[name] = each.language
            for name in each.headings[-1:]:
                headings[name].append(id)
                languages.setdefault(name, each.language)
            analyzer = self.analyzer.beside(query.languages.stands_for, each.language)
            if wanted and wanted in [{*analyzer.of_word(name)} for name in (each.title, *each.aliases)]:
                whole.append(id)
        rarity = {clause[0]: value for clause, value in evidence.weights.items() if len(clause) == 1}
        found, is_question = self._named({**headings, **titles}, rarity, asked, query, titles, languages)
        named = {name: (titles if name in titles else headings)[name] for name in found}
        if asked and not named and any(each.is_path for each in names.values()):
            named, is_question = self._by_key(names, rarity, query)
        if query.times:
            for name, bearing in named.items():
                named[name] = [id for id in bearing if not is_of_another_time(query.times, names[id])]
        strengths = {}
        if whole:
            strengths[WHOLE_TITLE] = evidence.strength(wanted, whole)
        by_name = []
        for name, bearing in named.items():
            if is_question:
                by_name.append(evidence.strength(wanted, bearing))
            else:
                analyzer = self.analyzer.beside(query.languages.stands_for, languages.get(name, ""))
                # Words stand in a sentence for other reasons too; with its number, a name hardly does.
                sureness = 1.0 if any(map(str.isdecimal, name)) else AMID
                by_name.append(evidence.strength(analyzer.of_word(name), bearing, sureness))
        if by_name:
            strengths[BY_TITLE] = np.maximum.reduce(by_name)
        return {name: values for name, values in strengths.items() if values.any()}

    def _by_key(
        self, names: Mapping[int, ChunkFacts], rarity: Mapping[str, float], query: Query
    ) -> tuple[dict[str, list[int]], bool]:
        """Return the chunks of files that the question names by their folder and name, or else by name.

        They are returned by that name; True says that it is the question.
        """
        asked = atoms(_SUFFIX.sub("", query.semantic_text), partial(of_word, query.words.__getitem__))[:MOST_ATOMS]
        words = tuple(atom.written for atom in asked if atom.written)
        called = {id: key_names(each.key) for id, each in names.items() if each.is_path}
        for part in (slice(1), slice(-1, None)):
            keys = defaultdict[str, list[int]](list)
            for id, every in called.items():
                for name in every[part]:
                    # It has a word of the question: a number alone, such as a year, names no file.
                    if any(atom.written and atom.written.startswith(words) for atom in _read(self.analyzer, name)):
                        keys[name].append(id)
            named, is_question = self._named(keys, rarity, asked, query)
            if named:
                return {name: keys[name] for name in named}, is_question
        return {}, False

    def _named(
        self,
        names: Collection[str],
        rarity: Mapping[str, float],
        atoms: Sequence[Atom],
        query: Query,
        wholes: Collection[str] = (),
        languages: Mapping[str, str] = MappingProxyType({}),
    ) -> tuple[Collection[str], bool]:
        """Return the names that the question says, and True if they are the question.

        `wholes` are the names of documents, not of their parts. `languages` are those of the names, as far as they are
        not in that of the index.
        """
        read = {}
        for name in sorted(names):
            found = _read(self.analyzer.beside(query.languages.stands_for, languages.get(name, "")), name)
            if found or not atoms:
                read[name] = found
        near = defaultdict[str, list[str]](list)
        for variant, beside in zip(query.variants, query.beside, strict=False):
            if len(variant) == len(beside) == 1:
                near[beside[0]] += variant
        return Titles(read, rarity, wholes, near).named(atoms, query.phrasing.body or query.text)

    def _by_anchor(self, evidence: Bearing) -> dict[str, Scores]:
        """Return the strengths for candidates that hold an anchor, by the reason for them."""
        query = evidence.plan.query
        strengths = {}
        for anchor in query.anchors:
            holders = evidence.plan.evidence.holding(anchor, evidence.ids)
            facts = evidence.plan.evidence.facts(holders)
            name = " ".join(anchor)
            # A leading space keeps the anchors `rank` and `score` apart from the columns of these names.
            strengths[f" {name}"] = evidence.strength(anchor, holders)
            strengths[f"{IN_TITLE}{name}"] = evidence.strength(anchor, list(self._titled(query, anchor, facts)))
            bearing: list[int] = []
            for id, each in facts.items():
                if anchor in [self.analyzer.of_word(identifier.value) for identifier in each.identifiers]:
                    bearing.append(id)
            strengths[f"{IDENTIFIED}: {name}"] = evidence.strength(anchor, bearing)
        return {name: values for name, values in strengths.items() if values.any()}

    def _titled(self, query: Query, anchor: Clause, facts: Mapping[int, ChunkFacts]) -> Iterator[int]:
        """Yield those that hold the anchor in their title or headings."""
        for id, each in facts.items():
            analyzer = self.analyzer.beside(query.languages.stands_for, each.language)
            terms = [*analyzer.terms(each.title), "", *analyzer.terms(" ".join(each.headings))]
            if _contains(terms, anchor):
                yield id


def explained_share(
    words: Iterable[Clause],
    weights: Mapping[Clause, float],
    terms: Collection[str],
    rivals: Callable[[], Scores] = lambda: np.ones(1),
) -> float:
    """Return how much of a question some terms explain, in [0, 1]: of its words, by the idf of its clauses.

    A word that is read as several terms counts once. `rivals` returns the shares of the question that candidates
    without the evidence hold. It is called only where the evidence does not explain the question by itself.
    """
    total = 0.0
    held = 0.0
    for word in dict.fromkeys(words):
        weight = max([weights.get((term,), 0.0) for term in word], default=0.0)
        total += weight
        held += weight * ({*word} <= {*terms})
    if not total:
        return 0.0
    share = held / total
    if share >= ENOUGH:
        return 1.0
    best = float(rivals().max(initial=0.0))
    if share >= ENOUGH * best:
        return 1.0
    return share / (ENOUGH * best)


def strength(explained: float, sureness: Scores) -> Scores:
    """Return the strength of evidence for each candidate, in [0, 1]; `sureness` is 0 for those that lack it."""
    if not len(sureness):
        return sureness
    counted = np.where(sureness < 1, explained**2, explained**0.25)
    sharing = float(np.count_nonzero(sureness)) / len(sureness)
    separating = 1 - sharing * (1 - explained)
    return np.asarray(counted * separating * sureness)


def factor(greatest: float, strengths: Scores) -> Scores:
    """Return the factor for evidence of these strengths, from 1 to `greatest`; NaN for candidates that lack it."""
    return np.where(strengths > 0, 1 + (greatest - 1) * strengths, np.nan)


def boosted(table: Candidates, factors: Scores) -> Candidates:
    """Return the table with what its scores were multiplied by for evidence that a reranker weighs by itself."""
    return table.with_column(BOOSTED, np.nan_to_num(table[BOOSTED], nan=1.0) * np.nan_to_num(factors, nan=1.0))


@dataclass(frozen=True)
class Bearing:
    """What evidence is measured against: the question's clauses by idf, and the other candidates."""

    plan: Plan
    ids: Ids
    weights: Mapping[Clause, float]

    def strength(self, terms: Collection[str], holders: Ids | Sequence[int], sureness: float = 1.0) -> Scores:
        """Return the strength, for those candidates that have it, of evidence that explains these terms."""
        holding = np.isin(self.ids, holders)
        if not holding.any():
            return np.zeros(len(holding))
        words = [terms for _, terms in self.plan.query.tokens]
        rivals = partial(self.plan.evidence.coverage, self.ids[~holding])
        if any(self.weights.values()):
            explained = explained_share(words, self.weights, terms, rivals)
        else:
            explained = 1.0  # nothing but beginnings of words was asked: there is nothing else to explain
        return strength(explained, np.where(holding, sureness, 0.0))


def is_of_another_time(times: Sequence[Moment], names: ChunkFacts) -> bool:
    """Return True if the title or key of a document has a date, and none of the times of a question.

    `Roof committee April 2013` is no name of the file `2013-11-24 Roof committee`.
    """
    dates = [*dates_in(f"{names.key}\n{names.title}")]
    return bool(dates) and not any(moment.covers(since, until) for moment in times for since, until in dates)


@lru_cache(maxsize=8192)
def _read(analyzer: Analyzer, title: str) -> Title:
    """Return the atoms of a title; the candidates of questions are often the same."""
    return Title(atoms(title, _words(analyzer).__getitem__))


@lru_cache(maxsize=8)
def _words(analyzer: Analyzer) -> Memo[str, tuple[Atom, ...]]:
    """Return what remembers the atoms of words."""
    return Memo(partial(of_word, analyzer.of_word))


def _contains(terms: Sequence[str], clause: Clause) -> bool:
    """Return True if the clause's terms stand in `terms` next to each other."""
    width = len(clause)
    return clause in [tuple(terms[start : start + width]) for start in range(len(terms) - width + 1)]


def checked_boosts(boosts: Mapping[str, float]) -> Mapping[str, float]:
    """Return factors of `Anchors` by their names. Raises `InvalidArgument` for what cannot be meant."""
    if not isinstance(boosts, Mapping):
        raise InvalidArgument(f"boosts must be a mapping of names to factors, not {boosts!r}")
    known = [each.name for each in fields(Anchors) if each.name != "analyzer"]
    for name, value in boosts.items():
        if name not in known:
            raise InvalidArgument(f"no boost {name!r}; choose from {', '.join(known)}")
        number = isinstance(value, int | float) and not isinstance(value, bool)
        if not number or not 1 <= value <= MOST:
            raise InvalidArgument(f"the boost {name} must be a number from 1 to {MOST:,.0f}, not {value!r}")
    return dict(boosts)
