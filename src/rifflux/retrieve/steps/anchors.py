"""Anchors: chunks that contain or are named by something in the query are boosted, by its share of the query.

One rule applies to all boosts: evidence counts in proportion to the share of the query that it explains.

Names, identifiers, definitions and times multiply a candidate's score. The factor is a bounded likelihood ratio of
three shares:

    explained   how much of the query the evidence explains: the idf of its terms, relative to that of all terms that
                some other candidate contains. A year in a query of twelve words explains little of it; a code that is
                the whole query explains all of it, and so does a name amid words that nothing else here matches
    separating  how well it separates candidates: what most of them share means little, unless it is the whole query
    sureness    how certain the match is: 1 for a document's own data (its date, its identifier), less for what may
                mean something else (a date or a code in a text, a name amid other words). The explained share
                counts squared for an uncertain match, and by its fourth root for a certain one

Only the evidence differs from step to step.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property, lru_cache, partial
from itertools import chain

import numpy as np

from rifflux.errors import InvalidArgument
from rifflux.retrieve.fuse.base import IndexFacts, weights_of
from rifflux.retrieve.pipeline import Plan
from rifflux.retrieve.query.naming import (
    Atom,
    NameIndex,
    PiecedNames,
    Title,
    Titles,
    atoms,
    of_word,
    with_codes_parted,
)
from rifflux.retrieve.steps.beginnings import begun, first_marks
from rifflux.retrieve.table import BOOSTED, LEXICAL, LIFT, NAMED, OUTRIGHT, SCORE, Candidates, declare, product
from rifflux.store import ChunkFacts, ChunkNames, NameTable
from rifflux.text.analyzer import Analyzer, Memo
from rifflux.text.moments import dates_in
from rifflux.text.properties import key_names
from rifflux.types import Clause, Ids, Moment, Query, Scores

STAGE = "anchors"
#: The numbers of titles examined for names: those of the best by words, and of the best overall.
LOOKED_AT = 100
LOOKED_AT_FIRST = 30
#: The maximum number of words and numbers of a query compared with titles: a pasted page is not a name.
MOST_ATOMS = 64
declare("anchors/*", "factor", "the factor for an anchor in the candidate's text, identifiers or title")

#: The prefix of factors for candidates that have an anchor as their identifier.
IDENTIFIED = "identifier"
#: The factor for candidates whose title the query names; an identifier is more certain than a title.
BY_TITLE = f"{IDENTIFIED}: title"
#: The factors for candidates whose whole title is the query, and for anchors in a title or headings.
WHOLE_TITLE = "whole title"
IN_TITLE = "title: "
#: The certainty that a name amid other words, or an anchor in a text, is what was meant: a text may mention it.
AMID = 0.9
#: Evidence that explains this share of a query explains all of it: the rest is how people ask.
ENOUGH = 2 / 3
#: The suffix of a file name, which users may or may not type.
_SUFFIX = re.compile(r"(?<=\w)\.[A-Za-z]\w{0,4}(?!\w)")
#: The marks of a candidate's names: it has a language of its own, its key is a path.
_IN_LANGUAGE = 1
_BY_PATH = 2
#: The number of names from which an index of them begins anew, and the maximum number of such indexes.
MOST_NAMES = 1 << 14
MOST_ANALYZERS = 16
#: The largest boost allowed.
MOST = 1000.0


@dataclass(frozen=True)
class Anchors:
    """Boosts candidates that contain an anchor by `boost`, or by `title_boost` if it is in their title or headings.

    A candidate whose whole title is the query is boosted by `exact_title`. The factors of a candidate together are at
    most `cap`. A candidate with an anchor as its identifier is boosted by `identified` beyond the cap, because nothing
    else can be meant; so is one whose title the query names in any form (see `query.naming`). Anchors match whole
    terms, so `D4` does not match `D40`; case is ignored. Reads only the titles and headings of the best candidates and
    of those that contain an anchor.
    """

    analyzer: Analyzer
    boost: float = 1.5
    title_boost: float = 1.5
    exact_title: float = 1.5
    cap: float = 4.0
    identified: float = 8.0

    def __call__(self, plan: Plan, table: Candidates) -> Candidates:
        """Boost the scores of candidates with an anchor, adding a column per factor."""
        if not len(table):
            return table
        ranks = table[f"{LEXICAL}/rank"]
        near = ranks <= LOOKED_AT
        near[:LOOKED_AT_FIRST] = True
        # On a long page, the rank by words of candidates further down matters too.
        further = ranks > LOOKED_AT
        looked_at = near
        if np.count_nonzero(further) > len(ranks) / 2:
            looked_at = near | further
        read = _read(self.analyzer, plan.evidence, table.ids[looked_at])
        table = begun(plan, table, np.flatnonzero(looked_at)[read.there], read.marks)
        if looked_at is not near:
            read = _read(self.analyzer, plan.evidence, table.ids[near])
        evidence = Bearing(plan, table.ids, weights_of(plan))
        by_title = self._by_title(evidence, read)
        strengths = {**by_title, **self._by_anchor(evidence)}
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

    def _by_title(self, evidence: Bearing, own: NamesRead) -> dict[str, Scores]:
        """Return the strengths for candidates whose name is in the query, or whose whole title it is.

        Candidates are named by title, alias or last heading, otherwise by key. `own` are the names as the analyzer of
        this step reads them.
        """
        query = evidence.plan.query
        known = evidence.plan.evidence
        asked = atoms(with_codes_parted(query), partial(of_word, query.words.__getitem__))[:MOST_ATOMS]
        wanted = {*chain(*query.clauses, *query.required)}
        stands_for = query.languages.stands_for
        ids = own.ids
        read = [own]
        if stands_for or own.any_language:
            facts = known.facts(ids)
            ids = np.array([*facts], np.int64)
            apart = defaultdict[Analyzer, list[int]](list)
            for place, own_facts in enumerate(facts.values()):
                apart[self.analyzer.beside(stands_for, own_facts.language)].append(place)
            read = [_read(analyzer, known, ids[places], by_facts=True) for analyzer, places in apart.items()]
        whole = [id for each in read for id in _made_of(wanted, each)]
        if len(read) == 1:
            (together,) = read
        else:
            together = _together([*known.facts(ids).values()], ids, read)
        index = together.index
        titles = dict.fromkeys(together.titles)
        headings = dict.fromkeys(number for number in together.headings if number >= 0)
        rarity = {clause[0]: value for clause, value in evidence.weights.items() if len(clause) == 1}
        found, is_question = self._named(index, {**headings, **titles}, rarity, asked, query, titles)
        named: dict[str, list[int]] = {}
        analyzers: dict[str, Analyzer] = {}
        for number in found:
            name = index.texts[number]
            if number in titles:
                bearers = [
                    place for place, title in zip(together.bearers, together.titles, strict=True) if title == number
                ]
                analyzers[name] = together.analyzers[bearers[-1]]
            else:
                bearers = [place for place, heading in enumerate(together.headings) if heading == number]
                analyzers[name] = together.analyzers[bearers[0]]
            named[name] = ids[bearers].tolist()
        if asked and not named and together.any_path:
            named, is_question = self._by_key(known, together, rarity, query)
        if query.times and named:
            for name, bearing in named.items():
                facts = known.facts(np.array(bearing, np.int64))
                named[name] = [id for id in facts if not is_of_another_time(query.times, facts[id])]
        strengths = {}
        if whole:
            strengths[WHOLE_TITLE] = evidence.strength(wanted, whole)
        by_name = []
        for name, bearing in named.items():
            if is_question:
                by_name.append(evidence.strength(wanted, bearing))
            else:
                analyzer = analyzers.get(name) or self.analyzer.beside(stands_for, "")
                # Words of a name may occur in a sentence for other reasons; together with its number they hardly do.
                sureness = 1.0 if any(map(str.isdecimal, name)) else AMID
                by_name.append(evidence.strength(analyzer.of_word(name), bearing, sureness))
        if by_name:
            strengths[BY_TITLE] = np.maximum.reduce(by_name)
        return {name: values for name, values in strengths.items() if values.any()}

    def _by_key(
        self, known: IndexFacts, own: NamesRead, rarity: Mapping[str, float], query: Query
    ) -> tuple[dict[str, list[int]], bool]:
        """Return the chunks by name of files that the query names by folder and name, or by name alone.

        The second value is True if the name is the whole query.
        """
        asked = atoms(_SUFFIX.sub("", query.semantic_text), partial(of_word, query.words.__getitem__))[:MOST_ATOMS]
        words = tuple(atom.written for atom in asked if atom.written)
        ids = own.ids
        if own.keys is not None and isinstance(own.index, PiecedNames):
            ids = ids[own.index.begun(words, own.keys)]
        if not len(ids):
            return {}, False
        called = {id: key_names(each.key) for id, each in known.facts(ids).items() if each.is_path}
        index = _names(self.analyzer.beside(query.languages.stands_for, ""))
        for part in (slice(1), slice(-1, None)):
            bearers = defaultdict[str, list[int]](list)
            for id, every in called.items():
                for name in every[part]:
                    bearers[name].append(id)
            keys: dict[int, list[int]] = {}
            for name, bearing in bearers.items():
                # It must contain a word of the query: a number alone, such as a year, does not name a file.
                number = index.number(name)
                if any(atom.written and atom.written.startswith(words) for atom in index.title(number)):
                    keys[number] = bearing
            if not keys:
                continue
            named, is_question = self._named(index, keys, rarity, asked, query)
            if named:
                return {index.texts[number]: keys[number] for number in named}, is_question
        return {}, False

    def _named(
        self,
        index: NameIndex,
        numbers: Collection[int],
        rarity: Mapping[str, float],
        atoms: Sequence[Atom],
        query: Query,
        wholes: Collection[int] = (),
    ) -> tuple[Sequence[int], bool]:
        """Return the names contained in the query, and True if they are the whole query.

        `numbers` are those of names in the index, `wholes` those of documents rather than of their parts.
        """
        near = defaultdict[str, list[str]](list)
        for variant, beside in zip(query.variants, query.beside, strict=False):
            if len(variant) == len(beside) == 1:
                near[beside[0]] += variant
        among = [*numbers]
        if isinstance(index, PiecedNames):
            index.meet(among)
        if atoms:
            keys = index.keys
            among = [number for number in among if keys[number]]
        return Titles(index, among, rarity, wholes, near).named(atoms, query.phrasing.body or query.text)

    def _by_anchor(self, evidence: Bearing) -> dict[str, Scores]:
        """Return the strengths for candidates that contain an anchor, by reason."""
        query = evidence.plan.query
        words = [{*terms} for _, terms in query.tokens if terms]
        strengths = {}
        every = evidence.plan.evidence.holders(query.anchors, evidence.ids)
        for anchor, holding in zip(query.anchors, every, strict=True):
            holders = evidence.ids[holding]
            facts = evidence.plan.evidence.facts(holders)
            name = " ".join(anchor)
            # A leading space separates the anchors `rank` and `score` from the columns of these names.
            # A word has the terms of all its spellings: `Hahn-Banach` is one, and two.
            is_whole_query = all(not word.isdisjoint(anchor) for word in words)
            sureness = 1.0 if is_whole_query else AMID
            strengths[f" {name}"] = evidence.strength(anchor, holders, sureness)
            strengths[f"{IN_TITLE}{name}"] = evidence.strength(anchor, list(self._titled(query, anchor, facts)))
            bearing: list[int] = []
            for id, each in facts.items():
                if anchor in [self.analyzer.of_word(identifier.value) for identifier in each.identifiers]:
                    bearing.append(id)
            strengths[f"{IDENTIFIED}: {name}"] = evidence.strength(anchor, bearing)
        return {name: values for name, values in strengths.items() if values.any()}

    def _titled(self, query: Query, anchor: Clause, facts: Mapping[int, ChunkFacts]) -> Iterator[int]:
        """Yield the ids of chunks with the anchor in their title or headings."""
        for id, each in facts.items():
            analyzer = self.analyzer.beside(query.languages.stands_for, each.language)
            if _contains(_terms_of(analyzer, each.title, each.headings), anchor):
                yield id


def explained_share(
    words: Iterable[tuple[str, Clause]],
    weights: Mapping[Clause, float],
    terms: Collection[str],
    rivals: Callable[[], Scores] = lambda: np.ones(1),
) -> float:
    """Return the share of a query's words that some terms explain, weighted by idf, in [0, 1].

    `words` are the query's words with their terms. A word counts once. It is explained by all of its terms, and, as the
    analyzer puts the joined spelling before the parts, by that one or the others: `WebSocket`, `web socket`.
    `rivals` returns the shares of the query found in candidates without the evidence; it is called only if the evidence
    alone does not explain the query.
    """
    total = 0.0
    held = 0.0
    terms = {*terms}
    for word, spelled in dict.fromkeys(words):
        weight = max([weights.get((term,), 0.0) for term in spelled], default=0.0)
        total += weight
        # A word with an apostrophe has no joined spelling.
        if len(spelled) < 2 or "'" in word:
            held += weight * terms.issuperset(spelled)
        else:
            held += weight * (spelled[0] in terms or terms.issuperset(spelled[1:]))
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
    """Return the strength of evidence for each candidate, in [0, 1]; `sureness` is 0 for those without it."""
    if not len(sureness):
        return sureness
    counted = np.where(sureness < 1, explained**2, explained**0.25)
    sharing = float(np.count_nonzero(sureness)) / len(sureness)
    separating = 1 - sharing * (1 - explained)
    return np.asarray(counted * separating * sureness)


def factor(greatest: float, strengths: Scores) -> Scores:
    """Return the factors for evidence of the given strengths, from 1 to `greatest`; NaN without evidence."""
    return np.where(strengths > 0, 1 + (greatest - 1) * strengths, np.nan)


def boosted(table: Candidates, factors: Scores) -> Candidates:
    """Return the table with additional factors in the column of boosts that a reranker weights itself."""
    return table.with_column(BOOSTED, np.nan_to_num(table[BOOSTED], nan=1.0) * np.nan_to_num(factors, nan=1.0))


@dataclass(frozen=True)
class Bearing:
    """The basis for measuring evidence: the query's clauses by idf, and the other candidates."""

    plan: Plan
    ids: Ids
    weights: Mapping[Clause, float]

    @cached_property
    def _coverage(self) -> Scores:
        """Return the share of the query's terms that each candidate contains."""
        return self.plan.evidence.coverage(self.ids)

    def strength(self, terms: Collection[str], holders: Ids | Sequence[int], sureness: float = 1.0) -> Scores:
        """Return the strength, for the candidates in `holders`, of evidence that explains the given terms."""
        if not len(holders):
            return np.zeros(len(self.ids))
        holding = np.isin(self.ids, holders)
        if not holding.any():
            return np.zeros(len(holding))
        if any(self.weights.values()):
            tokens = self.plan.query.tokens
            explained = explained_share(tokens, self.weights, terms, lambda: self._coverage[~holding])
        else:
            explained = 1.0  # nothing but beginnings of words was asked: there is nothing else to explain
        return strength(explained, np.where(holding, sureness, 0.0))


def is_of_another_time(times: Sequence[Moment], names: ChunkFacts) -> bool:
    """Return True if a document's title or key has a date, but none of the query's times.

    `Roof committee April 2013` does not name the file `2013-11-24 Roof committee`.
    """
    dates = [*dates_in(f"{names.key}\n{names.title}")]
    return bool(dates) and not any(moment.covers(since, until) for moment in times for since, until in dates)


@dataclass(frozen=True, slots=True)
class NamesRead:
    """The names of some candidates by their numbers in an index.

    `there` are the places of those that still exist, whose `ids` follow. `titles` are the numbers of titles and further
    names, `bearers` the position of each one's candidate. `headings` are those of last headings by candidate, -1 for
    none. `marks` are those of the first words of title and key, and 0 unless there are further names. `any_language`
    and `any_path` are True if some candidate has a language of its own, or a key that is a path. `analyzers` are those
    of the candidates. Where the engine has names as numbers, it tells `keys`, and who is `titled` by some terms.
    """

    index: NameIndex
    there: Ids
    ids: Ids
    titles: Sequence[int]
    bearers: Sequence[int]
    headings: Sequence[int]
    marks: Ids
    any_language: bool
    any_path: bool
    analyzers: Sequence[Analyzer]
    keys: Ids | None = None
    titled: Callable[[Collection[str]], Collection[int]] | None = None


#: The index of the names that questions met, by analyzer: the candidates of questions are often the same.
_known_names: dict[Hashable, NameIndex] = {}


def _names(analyzer: Analyzer, table: NameTable | None = None) -> NameIndex:
    """Return the index of names as atoms by an analyzer, of a table's or of any; a new one if it has too many."""
    every = _known_names if table is None else table.derived
    known: NameIndex | None = every.get(analyzer)
    if known is None or len(known.keys) >= MOST_NAMES:
        if len(every) >= MOST_ANALYZERS:
            every.clear()
        words = Memo(partial(of_word, analyzer.of_word))
        if table is None:
            known = NameIndex(words.__getitem__, analyzer.first_term)
        else:
            known = PiecedNames(table, words.__getitem__, analyzer.of_words)
        every[analyzer] = known
    return known


def _read(analyzer: Analyzer, known: IndexFacts, ids: Ids, *, by_facts: bool = False) -> NamesRead:
    """Return the names of candidates in the index of an analyzer.

    Where the engine has names as numbers, nothing is read. Otherwise a row of whole numbers is made of the names of
    each candidate when it is first looked at, and cached with its facts: the numbers of its title and of its last
    heading or -1, what it has of its own, and its `marks`.
    """
    table = known.chunks
    names: ChunkNames | None = None
    keys: Ids | None = None
    titled: Callable[[Collection[str]], Collection[int]] | None = None
    if table.names and not by_facts:
        names = table.names(ids)
    aliases: Mapping[int, Sequence[int]]
    if names:
        index = _names(analyzer, names.table)
        there = np.arange(len(ids))
        titles = names.titles.tolist()
        headings = names.headings
        marks = names.marks
        aliases = names.aliases
        any_language = names.in_language
        any_path = names.by_path
        keys = names.keys
        titled = names.titled
    else:
        numbers = known.numbers(ids)
        there = np.flatnonzero(numbers >= 0)
        ids = ids[there]
        numbers = numbers[there]
        table = known.chunks
        index = _names(analyzer)
        with table.lock:
            values, is_known = table.columns.get(index, (np.empty((0, 6), np.int64), np.empty(0, np.bool_)))
            if len(values) < len(table.every):
                more = len(values) + len(table.every)
                # In this order: another thread notes what it made when it has written it.
                is_known = np.concatenate([is_known, np.zeros(more, np.bool_)])
                values = np.concatenate([values, np.zeros((more, 6), np.int64)])
                if len(table.columns) >= MOST_ANALYZERS:
                    table.columns.clear()
                table.columns[index] = values, is_known
        missing = numbers[~is_known[numbers]]
        made: list[tuple[int, ...]] = []
        for number in missing.tolist():
            facts = table.every[number]
            called = [facts.title, *facts.headings[-1:]]
            numbered = [index.numbers[name] if name in index.numbers else index.number(name) for name in called]
            title, heading = (*numbered, -1)[:2]
            own = _IN_LANGUAGE * (facts.language != "") | _BY_PATH * facts.is_path
            made.append((title, heading, own, first_marks[facts.title], first_marks[facts.key], len(facts.aliases)))
        if made:
            values[missing] = made
            is_known[missing] = True
        columns = values[numbers]
        titles = columns[:, 0].tolist()
        headings = columns[:, 1]
        marks = columns[:, 3:]
        aliased = {place: table.every[numbers[place]].aliases for place in np.flatnonzero(columns[:, 5]).tolist()}
        aliases = {place: [index.number(alias) for alias in every] for place, every in aliased.items()}
        any_language = bool((columns[:, 2] & _IN_LANGUAGE).any())
        any_path = bool((columns[:, 2] & _BY_PATH).any())
    bearers = [*range(len(titles))]
    for place in sorted(aliases, reverse=True):
        titles[place + 1 : place + 1] = aliases[place]
        bearers[place + 1 : place + 1] = [place] * len(aliases[place])
    return NamesRead(
        index=index,
        there=there,
        ids=ids,
        titles=titles,
        bearers=bearers,
        headings=headings.tolist(),
        marks=marks,
        any_language=any_language,
        any_path=any_path,
        analyzers=[analyzer] * len(ids),
        keys=keys,
        titled=titled,
    )


def _made_of(wanted: Collection[str], read: NamesRead) -> list[int]:
    """Return the chunks with a title or alias of exactly the given terms."""
    index = read.index
    # Few names begin with a term of the query, and fewer consist of them.
    if read.titled:
        likely = {*read.titled(wanted), *np.flatnonzero(read.marks[:, 2]).tolist()}
        begun = {number for number, place in zip(read.titles, read.bearers, strict=True) if place in likely}
    else:
        begun = {number for number in {*read.titles} if index.firsts[number] in wanted}
    names = {number for number in begun if read.analyzers[0].is_made_of(index.texts[number], wanted)}
    if not names:
        return []
    return [int(read.ids[place]) for number, place in zip(read.titles, read.bearers, strict=True) if number in names]


def _together(names: Sequence[ChunkFacts], ids: Ids, read: Sequence[NamesRead]) -> NamesRead:
    """Return the names of all candidates, which several analyzers have read, in one index."""
    read_by = {id: (each, place) for each in read for place, id in enumerate(each.ids.tolist())}
    every: dict[str, Title] = {}
    for id, facts in zip(ids.tolist(), names, strict=True):
        known, place = read_by[id]
        if facts.headings:
            every.setdefault(facts.headings[-1], known.index.title(known.headings[place]))
    for id, facts in zip(ids.tolist(), names, strict=True):
        known, _ = read_by[id]
        for name in (facts.title, *facts.aliases):
            every[name] = known.index.title(known.index.number(name))
    index = NameIndex(lambda _: ())
    for name, title in every.items():
        index.number(name, title)
    titles = [(index.number(name), place) for place, each in enumerate(names) for name in (each.title, *each.aliases)]
    return NamesRead(
        index=index,
        there=np.arange(len(ids)),
        ids=ids,
        titles=[number for number, _ in titles],
        bearers=[place for _, place in titles],
        headings=[index.number(each.headings[-1]) if each.headings else -1 for each in names],
        marks=np.empty((0, 3), np.int64),
        any_language=True,
        any_path=any(each.is_path for each in names),
        analyzers=[read_by[id][0].analyzers[0] for id in ids.tolist()],
    )


@lru_cache(maxsize=1 << 12)
def _terms_of(analyzer: Analyzer, title: str, headings: tuple[str, ...]) -> tuple[str, ...]:
    """Return the terms of a title and of headings, with an empty one between them."""
    return (*analyzer.terms(title), "", *analyzer.terms(" ".join(headings)))


def _contains(terms: Sequence[str], clause: Clause) -> bool:
    """Return True if the clause's terms are adjacent in `terms`."""
    if clause[0] not in terms:
        return False
    width = len(clause)
    return clause in [tuple(terms[start : start + width]) for start in range(len(terms) - width + 1)]


def checked_boosts(boosts: Mapping[str, float]) -> Mapping[str, float]:
    """Return the factors of `Anchors` by name. Raises `InvalidArgument` for unknown names and invalid values."""
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
