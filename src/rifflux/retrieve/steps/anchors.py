"""Anchors: what a question names to the letter lifts the chunks that hold it, by a bounded, explained factor."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
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
from rifflux.retrieve.steps.moments import is_of_another_time
from rifflux.retrieve.table import LEXICAL, LIFT, NAMED, OUTRIGHT, SCORE, Candidates, declare, product
from rifflux.store import ChunkNames, Store
from rifflux.text.analyzer import Analyzer, Memo
from rifflux.text.properties import key_names
from rifflux.types import Clause, Ids, Query, Scores

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

    store: Store
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
        names = self.store.catalog.names(table.ids[near])
        # On a long page, the place by words of those further down matters too.
        further = ranks > LOOKED_AT
        if np.count_nonzero(further) > len(ranks) / 2:
            table = begun(query, table, {**names, **self.store.catalog.names(table.ids[further])})
        else:
            table = begun(query, table, names)
        factors = {**self._by_title(plan, table.ids, names), **self._factors(query, table.ids)}
        if any(name.startswith(f"{IDENTIFIED}: ") and name != BY_TITLE for name in factors):
            factors.pop(BY_TITLE, None)
        if not factors:
            return table
        lift = product([values for name, values in factors.items() if name != BY_TITLE], len(table))
        bearing = [values for name, values in factors.items() if name.startswith(IDENTIFIED)]
        named = np.isfinite(np.fmax.reduce([np.full(len(table), np.nan), *bearing])) * 1.0
        outright = [
            values for name, values in factors.items() if name.startswith(f"{IDENTIFIED}: ") and name != BY_TITLE
        ]
        if outright:
            table = table.with_column(OUTRIGHT, np.isfinite(np.fmax.reduce(outright)) * 1.0)
        table = table.with_column(LIFT, lift).with_column(NAMED, named)
        return table.factored(STAGE, factors, table[SCORE] * self._lift(factors, len(table)))

    def _by_title(self, plan: Plan, ids: Ids, names: Mapping[int, ChunkNames]) -> Mapping[str, Scores]:
        """Return the factors of candidates that the question names, or whose title it is as a whole.

        It names them by title, alias or last heading, or else by key.
        """
        query = plan.query
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
            if wanted and any(_says(analyzer, name, wanted) for name in (each.title, *each.aliases)):
                whole.append(id)
        rarity = {clause[0]: value for clause, value in weights_of(self.store, plan).items() if len(clause) == 1}
        found = self._named({**headings, **titles}, rarity, asked, query, titles, languages)
        named: Sequence[int] = [id for name in found for id in (titles if name in titles else headings)[name]]
        if asked and not named and any(each.is_path for each in names.values()):
            named = self._by_key(names, rarity, query)
        if query.times:
            named = [id for id in named if not is_of_another_time(query.times, names[id])]
        factors = {"whole title": (whole, self.exact_title), BY_TITLE: (named, self.identified)}
        return {name: _where(ids, holders, factor) for name, (holders, factor) in factors.items() if holders}

    def _by_key(self, names: Mapping[int, ChunkNames], rarity: Mapping[str, float], query: Query) -> Sequence[int]:
        """Return the chunks of files that the question names by their folder and name, or else by name."""
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
            if named := self._named(keys, rarity, asked, query):
                return [*chain(*(keys[each] for each in named))]
        return ()

    def _named(
        self,
        names: Collection[str],
        rarity: Mapping[str, float],
        atoms: Sequence[Atom],
        query: Query,
        wholes: Collection[str] = (),
        languages: Mapping[str, str] = MappingProxyType({}),
    ) -> Collection[str]:
        """Return the names that the question says; `wholes` are those of documents, not of their parts.

        `languages` are those of the names, as far as they are not in that of the index.
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

    def _lift(self, factors: Mapping[str, Scores], rows: int) -> Scores:
        """Return the factor of each candidate's score."""
        bearing = [values for name, values in factors.items() if name.startswith(IDENTIFIED)]
        others = [values for name, values in factors.items() if not name.startswith(IDENTIFIED)]
        greatest = np.fmax.reduce([np.ones(rows), *bearing])
        return np.asarray(np.minimum(self.cap, product(others, rows)) * greatest)

    def _factors(self, query: Query, ids: Ids) -> Mapping[str, Scores]:
        """Return the factors of the candidates by the reason for them; NaN where it does not hold."""
        anchors = query.anchors
        if not anchors:
            return {}
        found: dict[str, tuple[Ids | Sequence[int], float]] = {}
        for anchor in anchors:
            holders = self.store.lexical.holding(anchor, ids)
            name = " ".join(anchor)
            # A leading space keeps the anchors `rank` and `score` apart from the columns of these names.
            found[f" {name}"] = holders, self.boost
            found[f"title: {name}"] = list(self._titled(query, anchor, holders)), self.title_boost
            found[f"{IDENTIFIED}: {name}"] = list(self._bearing(anchor, holders)), self.identified
        return {name: _where(ids, holders, factor) for name, (holders, factor) in found.items() if len(holders)}

    def _titled(self, query: Query, anchor: Clause, holders: Ids) -> Iterator[int]:
        """Yield those that hold the anchor in their title or headings."""
        for id, each in self.store.catalog.names(holders).items() if len(holders) else ():
            analyzer = self.analyzer.beside(query.languages.stands_for, each.language)
            terms = [*analyzer.terms(each.title), "", *analyzer.terms(" ".join(each.headings))]
            if _contains(terms, anchor):
                yield id

    def _bearing(self, anchor: Clause, holders: Ids) -> Iterator[int]:
        """Yield those whose document has the anchor as an identifier."""
        for id, names in self.store.catalog.identifiers_of(holders).items() if len(holders) else ():
            if any(self.analyzer.of_word(name.value) == anchor for name in names):
                yield id


def _says(analyzer: Analyzer, name: str, wanted: Collection[str]) -> bool:
    """Return True if a name has the terms that are wanted and no others."""
    terms = analyzer.of_word(name)
    return len(terms) >= len(wanted) and all(term in wanted for term in terms) and {*terms} == wanted


@lru_cache(maxsize=8192)
def _read(analyzer: Analyzer, title: str) -> Title:
    """Return the atoms of a title; the candidates of questions are often the same."""
    return Title(atoms(title, _words(analyzer).__getitem__))


@lru_cache(maxsize=8)
def _words(analyzer: Analyzer) -> Memo[str, tuple[Atom, ...]]:
    """Return what remembers the atoms of words."""
    return Memo(partial(of_word, analyzer.of_word))


def _where(ids: Ids, holders: Ids | Sequence[int], factor: float) -> Scores:
    return np.where(np.isin(ids, holders), factor, np.nan)


def _contains(terms: Sequence[str], clause: Clause) -> bool:
    """Return True if the clause's terms stand in `terms` next to each other."""
    width = len(clause)
    return any(tuple(terms[start : start + width]) == clause for start in range(len(terms) - width + 1))


def checked_boosts(boosts: Mapping[str, float]) -> Mapping[str, float]:
    """Return factors of `Anchors` by their names. Raises `InvalidArgument` for what cannot be meant."""
    if not isinstance(boosts, Mapping):
        raise InvalidArgument(f"boosts must be a mapping of names to factors, not {boosts!r}")
    known = [each.name for each in fields(Anchors) if each.name not in ("store", "analyzer")]
    for name, value in boosts.items():
        if name not in known:
            raise InvalidArgument(f"no boost {name!r}; choose from {', '.join(known)}")
        number = isinstance(value, int | float) and not isinstance(value, bool)
        if not number or not 1 <= value <= MOST:
            raise InvalidArgument(f"the boost {name} must be a number from 1 to {MOST:,.0f}, not {value!r}")
    return dict(boosts)
