"""The relevance of a hit, in [0, 1] and on one scale for all queries, modes and indexes.

The score that ranks a hit compares it with the other candidates of its query; it does not tell whether the query has
an answer here at all. The relevance does: it depends only on what the hit has in common with the query, by logistic
regression (Platt, "Probabilistic Outputs for Support Vector Machines", 1999) on a few features:

    cosine    of query and passage, at least 0. Without a calibration of its own, a model's cosines are converted by
              its scale (`rifflux.models.scale`): 0 is as near as hits of unanswered queries, 1 as near as an answer
    coverage  the idf-weighted share of the query's terms in the passage, its title or headings; other spellings and
              synonyms count three quarters
    length    log(1 + the number of the query's terms): no passage contains all of a long query
    named     the share of the query's identifiers in the passage, times their share of the query
    title     1 if the query is the whole title of the passage

It estimates the share of answerable queries among those with a hit like this one, if half of all queries had an
answer here. Which of several passages on the subject answers best is decided by the ranking and not by these
features, so the log-odds rise more slowly above medium. `bench/quality/calibrate.py` fits it on judged collections and
reports its accuracy on held-out ones. A model may have coefficients of its own; otherwise the general ones are used.
Without vectors, or with vectors on an unknown scale, only words are judged. A hit that a cross-encoder read gets that
model's relevance, by a calibration of its own.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import accumulate, chain, pairwise, repeat
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rifflux import kernels
from rifflux.models.folder import model_error
from rifflux.retrieve.fuse.base import weighed, weights_of
from rifflux.retrieve.pipeline import Plan
from rifflux.retrieve.table import HIGH, MEDIUM, MOMENT, NAMED, RELEVANCE, SEMANTIC, Candidates, filled
from rifflux.store import VARIANT, TermSequences
from rifflux.text.analyzer import Analyzer
from rifflux.text.properties import beside, searchable_properties
from rifflux.types import Clause, Ids, Query, Results, Scores

if TYPE_CHECKING:
    from rifflux.models import Embedder
    from rifflux.models.scale import ModelScale

#: The file of a model's calibration, in the model's folder.
STORED = "relevance.json"
#: The maximum relevance of a hit that lacks a number or code of the query.
BELOW_HIGH = HIGH - 0.0001
#: The features by name, in reporting order.
FEATURES = ("cosine", "coverage", "length", "named", "title")


@dataclass(frozen=True, slots=True)
class Calibration:
    """The coefficients of a logistic regression on `FEATURES`, by name; omitted features have none.

    Log-odds above that of `MEDIUM` are multiplied by `above`.
    """

    intercept: float
    weights: Mapping[str, float]
    above: float = 1.0

    def __post_init__(self) -> None:
        if unknown := sorted(self.weights.keys() - set(FEATURES)):
            raise ValueError(f"unknown feature {unknown[0]!r}; choose from {', '.join(sorted(FEATURES))}")
        if not 0 < self.above <= 1:
            raise ValueError(f"above must be a share, more than 0 and at most 1, not {self.above}")

    def __call__(self, features: Mapping[str, Scores]) -> Scores:
        """Return the relevance of each candidate, in [0, 1]."""
        ones = np.ones(len(features["cosine"]))
        odds, _ = weighed({"": ones, **features}, {"": self.intercept, **self.weights})
        odds = odds - (1 - self.above) * np.maximum(odds - _MEDIUM_ODDS, 0)
        return np.asarray(1 / (1 + np.exp(-odds)))


_MEDIUM_ODDS = math.log(MEDIUM / (1 - MEDIUM))
#: Coefficients for cosines on a model's scale. Printed by bench/quality/calibrate.py.
MEANING = Calibration(-7.18, {"cosine": 5.41, "coverage": 5.5, "length": 1.45, "named": 3.66, "title": 2.44}, 0.5)
#: Coefficients for hits without a cosine, or with one on an unknown scale. Printed by bench/quality/calibrate.py.
WORDS = Calibration(-5.34, {"coverage": 5.12, "length": 1.5, "named": 2.26, "title": 3.66})


def calibration_of(embedder: Embedder) -> Calibration | None:
    """Return the calibration in a model's folder, or None without one for its fingerprint.

    It is stored in `relevance.json`. Raises `ModelError` for a file of another format than `bench/quality/calibrate.py`
    writes.
    """
    path = Path(getattr(embedder, "folder", "")) / STORED
    if not getattr(embedder, "folder", None) or not path.is_file():
        return None
    try:
        content = json.loads(path.read_text("utf-8"))
        found = Calibration(
            float(content["intercept"]),
            dict(zip(content["weights"], map(float, content["weights"].values()), strict=True)),
            float(content.get("above", 1.0)),
        )
        if content["fingerprint"] == embedder.fingerprint:
            return found
        return None
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise model_error(path, "is not a calibration: remove it, or fetch the model again", error) from None


Array = NDArray[Any]
#: The number between fields and phrases, which no term has.
_GAP = -1


@dataclass(frozen=True, slots=True)
class PassageTerms:
    """The terms of some passages as numbers in order, read once for all that compares them with a query.

    `numbers` are the terms of all passages: those of title, headings and text, passage by passage, and after the first
    `own` of them those of further searchable phrases. A gap follows each field and phrase, so that adjacent terms are
    neighbours. `rows` has the passage of each, `naming` is True for title and headings. `names` are the terms of the
    title and of each further name of a document, by passage. Numbers ascend as terms do; `number_of` returns that of a
    term, or None for one in no passage. `ids` are the passages' chunks, `at` the positions of those to be compared, of
    which `dated` are of one of the `times` in the query.
    """

    ids: Ids
    numbers: Array
    own: int
    rows: Array
    naming: NDArray[np.bool_]
    names: Sequence[Sequence[Array]]
    number_of: Callable[[str], int | None]
    at: Array
    times: Sequence[Sequence[str]] = ()
    dated: NDArray[np.bool_] | None = None
    #: The passages that contain each clause, as far as somebody looked for it.
    found: dict[tuple[Clause, bool], NDArray[np.bool_]] = field(default_factory=dict)

    def holders(self, clauses: Sequence[Clause], *, own: bool = False) -> NDArray[np.bool_]:
        """Return for each clause the passages in which its terms are adjacent; with `own` not in further phrases.

        A passage of a given time need not name it as the query does.
        """
        missing = [clause for clause in clauses if (clause, own) not in self.found]
        if missing:
            numbers = self.numbers[: self.own] if own else self.numbers
            # A clause with a term of no passage is in none.
            numbered = [[self.number_of(term) for term in clause] for clause in missing]
            numbered = [[] if None in each else each for each in numbered]
            found = np.zeros((len(missing), len(self.ids)), np.bool_)
            if kernels.compiled:
                terms = np.array([*chain.from_iterable(numbered)], np.int32)
                ends = np.array([*accumulate(map(len, numbered))], np.int64)
                kernels.compiled.holders(numbers, self.rows, terms, ends, found)
                numbered = []
            for row, wanted in zip(found, numbered, strict=False):
                if not wanted:
                    continue
                places = np.flatnonzero(numbers == wanted[0])
                for further, number in enumerate(wanted[1:], 1):
                    # A gap follows the last term, so that no place is beyond the end.
                    places = places[numbers[places + further] == number]
                row[self.rows[places]] = True
            self.found.update(zip(zip(missing, repeat(own)), found, strict=False))
        holding = np.zeros((len(clauses), len(self.at)), np.bool_)
        for row, clause in zip(holding, clauses, strict=True):
            row[:] = self.found[clause, own][self.at]
            if self.dated is not None and not own and any(_is_within(clause, each) for each in self.times):
                row |= self.dated
        return holding


def summed(weights: Sequence[float], holders: NDArray[np.bool_]) -> Scores:
    """Return the sum of the weights of the rows that are True, for each column; added one after another."""
    if not weights:
        return np.zeros(holders.shape[1])
    return np.asarray(np.cumsum(np.array(weights)[:, None] * holders, axis=0)[-1])


def terms_of(plan: Plan, table: Candidates, analyzer: Analyzer) -> PassageTerms:
    """Return the terms of a table's passages: as they are indexed, or else by analyzing the texts."""
    query = plan.query
    found: PassageTerms | None = plan.evidence.passages.get(analyzer)
    at: Array = np.arange(len(table))
    if found:
        order = np.argsort(found.ids)
        at = order[np.minimum(np.searchsorted(found.ids, table.ids, sorter=order), len(order) - 1)]
        if not np.array_equal(found.ids[at], table.ids):
            found = None
            at = np.arange(len(table))
    if found is None:
        stands_for = query.languages.stands_for
        if not stands_for and (sequences := plan.evidence.sequences(table.ids)):
            found = _indexed(sequences, table, analyzer)
        if found is None:
            found = _analyzed(table, [analyzer.beside(stands_for, hit.language) for hit in table.passages])
        if len(table):
            plan.evidence.passages[analyzer] = found
    if not query.times:
        return replace(found, at=at)
    return replace(found, at=at, times=[analyzer.terms(each.words) for each in query.times], dated=table[MOMENT] > 0)


#: A run of terms: its start and end among the indexed or the analyzed ones, its passage, and its marks.
_Segment = tuple[int, int, int, int]
#: The marks of segments: of title and headings, and of terms that were analyzed.
_NAMING = 1
_FURTHER = 2


def _indexed(sequences: TermSequences, table: Candidates, analyzer: Analyzer) -> PassageTerms | None:
    """Return the terms of passages as they are indexed; headings and further names are analyzed.

    None if one of these was not indexed.
    """
    further: list[Any] = []

    def analyzed(words: str, language: str, row: int, marks: int = 0) -> _Segment:
        start = len(further)
        further.extend(map(sequences.number_of, analyzer.of(language).joined(words).split()))
        return start, len(further), row, marks | _FURTHER

    segments: list[_Segment] = []
    phrases: list[_Segment] = []
    names: list[list[_Segment]] = []
    for row, (hit, (start, middle, end)) in enumerate(zip(table.passages, sequences.bounds.tolist(), strict=True)):
        title = (start, middle, row, _NAMING)
        called = [title]
        if hit.metadata and (aliases := searchable_properties(hit.kind, hit.metadata).names):
            # The indexed title is followed by them.
            title = (start, min(start + len(analyzer.of(hit.language).terms(hit.title)), middle), row, _NAMING)
            called = [title, *(analyzed(each, hit.language, row) for each in aliases)]
        segments.append(title)
        if hit.heading_path:
            segments.append(analyzed(hit.heading_path, hit.language, row, _NAMING))
        # The text of a document that has none is its title.
        segments.append((*title[:2], row, 0) if hit.span == (0, 0) else (middle, end, row, 0))
        if hit.metadata or hit.path == hit.key:
            phrases += [analyzed(each, hit.language, row) for each in beside(hit)]
        names.append(called)
    if None in further:
        return None
    return _columns(table.ids, sequences.values, further, segments, phrases, names, sequences.number_of)


def _analyzed(table: Candidates, analyzers: Sequence[Analyzer]) -> PassageTerms:
    """Return the terms of passages, found in their texts."""
    spelled: list[Sequence[str]] = []
    segments: list[_Segment] = []
    phrases: list[_Segment] = []
    names: list[list[_Segment]] = []
    size = 0
    for row, (analyzer, hit) in enumerate(zip(analyzers, table.passages, strict=True)):
        aliases = searchable_properties(hit.kind, hit.metadata).names
        fields = _terms_of(analyzer, hit.title, hit.heading_path, hit.text, beside(hit), aliases)
        spelled += fields
        ends = [*accumulate(map(len, fields), initial=size)]
        size = ends[-1]
        title, headings, text, *others = (
            (*bounds, row, _FURTHER | _NAMING * (place < 2)) for place, bounds in enumerate(pairwise(ends))
        )
        segments += (title, headings, text)
        count = len(others) - len(aliases)
        phrases += others[:count]
        names.append([title, *others[count:]])
    every = [*chain.from_iterable(spelled)]
    numbers = {term: number for number, term in enumerate(sorted({*every}))}
    found = [numbers[term] for term in every]
    return _columns(table.ids, np.empty(0, np.int32), found, segments, phrases, names, numbers.get)


@lru_cache(maxsize=512)
def _terms_of(analyzer: Analyzer, *fields: str | tuple[str, ...]) -> tuple[Sequence[str], ...]:
    """Return the terms of fields and phrases; cached, because queries often share passages, and small indexes have no
    file.
    """
    texts = chain.from_iterable([each] if isinstance(each, str) else each for each in fields)
    return tuple(analyzer.joined(text).split() for text in texts)


def _columns(
    ids: Ids,
    values: Array,
    analyzed: Sequence[int],
    segments: Sequence[_Segment],
    phrases: Sequence[_Segment],
    names: Sequence[Sequence[_Segment]],
    number_of: Callable[[str], int | None],
) -> PassageTerms:
    """Return the columns of segments, followed by those of further phrases; `values` are the terms that are indexed."""
    every = np.array([*segments, *phrases], np.int64).reshape(-1, 4)
    further = np.array(analyzed, np.int32)
    sizes = every[:, 1] - every[:, 0] + 1
    own = int(sizes[: len(segments)].sum())
    size = int(sizes.sum())
    numbers = np.empty(size, np.int32)
    rows = np.empty(size, np.int64)
    naming = np.empty(size, np.bool_)
    sources = (values, values, further, further)
    if kernels.compiled:
        kernels.compiled.gather(values, further, every, numbers, rows, naming)
    else:
        numbers[:] = _GAP
        rows[:] = np.repeat(every[:, 2], sizes)
        naming[:] = np.repeat(every[:, 3] & _NAMING, sizes)
        last = 0
        for start, end, _, marks in every.tolist():
            numbers[last : last + end - start] = sources[marks][start:end]
            last += end - start + 1
        naming &= numbers != _GAP
    return PassageTerms(
        ids=ids,
        numbers=numbers,
        own=own,
        rows=rows,
        naming=naming[:own],
        names=[[sources[marks][start:end] for start, end, _, marks in each] for each in names],
        number_of=number_of,
        at=np.arange(len(ids)),
    )


@dataclass(frozen=True)
class Relevance:
    """Computes the relevance of candidates. Meant for a page, because it reads every passage.

    `meaning` is the calibration for queries with cosines, or None; `scale` converts cosines for it if given. A
    candidate without a vector, or with a query without one, is judged by `words`.
    """

    analyzer: Analyzer
    meaning: Calibration | None = None
    words: Calibration = field(default=WORDS)
    scale: ModelScale | None = None

    def __call__(self, plan: Plan, table: Candidates) -> Candidates:
        """Return the candidates in their order with a relevance column."""
        if not len(table):
            return table
        features = self.features(plan, table)
        unseen = np.isnan(features["cosine"])
        if self.meaning:
            relevance = self.meaning(features)
        else:
            relevance = self.words(features)
        if self.meaning and unseen.any():
            relevance = np.where(unseen, self.words(features), relevance)
        # A model that read query and passage together knows more than features of their overlap.
        judged = table[RELEVANCE]
        relevance = np.where(np.isnan(judged), relevance, judged)
        # Of two versions or paragraphs, the wrong one shares everything with the query except the number.
        named = filled(table[NAMED]) > 0
        relevance = np.where((features["lacking"] > 0) & ~named, np.minimum(relevance, BELOW_HIGH), relevance)
        # A candidate asked for by name is meant, whatever else the query contains.
        relevance = np.where(named, np.maximum(relevance, MEDIUM), relevance)
        return table.with_column(RELEVANCE, np.array([*map(round, relevance.tolist(), repeat(4))]))

    def features(self, plan: Plan, table: Candidates) -> Mapping[str, Scores]:
        """Return the features of each candidate; the cosine is NaN without a vector.

        The additional feature `lacking` is 1 for a candidate without some number or code of the query.
        """
        query = plan.query
        weights = weights_of(plan)
        passages = terms_of(plan, table, self.analyzer)
        stand_ins = _stand_ins(query) if query.variants else {}
        clauses = dict.fromkeys((*weights, *query.anchors, *chain.from_iterable(stand_ins.values())))
        holders = dict(zip(clauses, passages.holders([*clauses]), strict=True))
        lacking = np.zeros(len(table), np.bool_)
        for clause in weights:
            if any(each.isdecimal() for term in clause for each in term):
                lacking |= ~np.logical_or.reduce([holders[each] for each in (clause, *stand_ins.get(clause, ()))])
        wanted = {passages.number_of(term) for term in chain.from_iterable(weights)}
        names = [passages.names[row] for row in passages.at.tolist()] if wanted and None not in wanted else []
        titled = [any(len(name) >= len(wanted) and wanted == {*name.tolist()} for name in each) for each in names]
        cosines = np.full(len(table), np.nan)
        if plan.execution.vector is not None:
            # From the semantic channel, or else from the stored vector.
            cosines = table[f"{SEMANTIC}/score"].copy()
            missing = np.flatnonzero(np.isnan(cosines))
            if len(missing):
                cosines[missing] = plan.evidence.cosines(table.ids[missing])
            cosines = np.maximum(cosines, 0.0)
            if self.scale:
                cosines = self.scale.relative(cosines)
        return {
            "cosine": cosines,
            "coverage": _shares(len(table), weights, holders, stand_ins),
            "length": np.full(len(table), math.log1p(len(weights))),
            "named": query.specificity * _shares(len(table), dict.fromkeys(query.anchors, 1.0), holders),
            "title": np.array(titled or [False] * len(table), np.float64),
            "lacking": lacking.astype(np.float64),
        }


def at_least(least: float, results: Results) -> Results:
    """Return the results without hits below a relevance, or below a score if they have no relevance."""
    worth = ((hit.score if hit.relevance is None else hit.relevance, hit) for hit in results)
    return replace(results, hits=tuple(hit for value, hit in worth if value >= least))


def _stand_ins(query: Query) -> Mapping[Clause, Sequence[Clause]]:
    """Return the variants of each term of the query."""
    found: dict[Clause, list[Clause]] = {}
    for variant, terms in zip(query.variants, query.beside, strict=False):
        for term in terms:
            found.setdefault((term,), []).append(variant)
    return found


def _shares(
    count: int,
    weights: Mapping[Clause, float],
    holders: Mapping[Clause, NDArray[np.bool_]],
    stand_ins: Mapping[Clause, Sequence[Clause]] | None = None,
) -> Scores:
    """Return the weighted share of the clauses that each passage contains; a variant counts `VARIANT`.

    `holders` are the passages that contain a clause.
    """
    total = sum(weights.values())
    found = np.zeros(count)
    if not total:
        return found
    for clause, weight in weights.items():
        found += weight * holders[clause]
    for clause, others in (stand_ins or {}).items():
        if weight := VARIANT * weights.get(clause, 0.0):
            found += weight * (np.logical_or.reduce([holders[other] for other in others]) & ~holders[clause])
    return found / total


def _is_within(clause: Clause, terms: Sequence[str]) -> bool:
    """Return True if the terms of a clause are adjacent among others."""
    width = len(clause)
    return any(tuple(terms[start : start + width]) == clause for start in range(len(terms) - width + 1))
