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
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import chain, repeat
from operator import contains
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from rifflux.models.folder import model_error
from rifflux.retrieve.fuse.base import weighed, weights_of
from rifflux.retrieve.pipeline import Plan
from rifflux.retrieve.table import HIGH, MEDIUM, MOMENT, NAMED, RELEVANCE, SEMANTIC, Candidates
from rifflux.store import VARIANT
from rifflux.text.analyzer import Analyzer
from rifflux.text.properties import beside, searchable_properties
from rifflux.types import Clause, Hit, Query, Results, Scores

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


@dataclass(frozen=True, slots=True)
class PassageTerms:
    """The terms of a passage, read once for all that compares it with a query.

    `spelled` has spaces around each term and gaps between title, headings and text, so that adjacent terms are
    neighbours in it. `aliases` are additional searchable phrases of the passage. `words` are the terms of `spelled` in
    order and `bag` the same as a set; `naming` are those of title and headings, and `names` those of the title and of
    each further name of the document.
    """

    spelled: str
    aliases: str
    words: tuple[str, ...]
    bag: frozenset[str]
    naming: frozenset[str]
    names: tuple[frozenset[str], ...]


def terms_of(analyzer: Analyzer, hit: Hit) -> PassageTerms:
    """Return the terms of a hit."""
    return _terms_of(
        analyzer,
        hit.title,
        hit.heading_path,
        hit.text,
        beside(hit),
        searchable_properties(hit.kind, hit.metadata).names,
    )


@lru_cache(maxsize=512)
def _terms_of(
    analyzer: Analyzer, title: str, headings: str, content: str, phrases: tuple[str, ...], aliases: tuple[str, ...]
) -> PassageTerms:
    """Return the terms of a passage; cached, because queries often share passages."""
    title = analyzer.joined(title)
    headings = analyzer.joined(headings)
    spelled = f" {title} \n {headings} \n {analyzer.joined(content)} "
    more = "".join(f"\n {analyzer.joined(each)} " for each in phrases)
    words = tuple(spelled.split())
    naming = frozenset([*title.split(), *headings.split()])
    names = tuple([frozenset(each.split()) for each in (title, *(analyzer.joined(alias) for alias in aliases))])
    return PassageTerms(spelled, more, words, frozenset(words), naming, names)


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
        named = np.nan_to_num(table[NAMED]) > 0
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
        texts: list[str] = []
        titled: list[bool] = []
        asked = frozenset(chain.from_iterable(weights))
        # A passage of a given time need not name it as the query does.
        times = "".join(f" \n {self.analyzer.joined(each.words)} " for each in query.times)
        for hit, dated in zip(table.passages, (table[MOMENT] > 0).tolist(), strict=True):
            passage = terms_of(self.analyzer.beside(query.languages.stands_for, hit.language), hit)
            titled.append(bool(asked) and asked in passage.names)
            # A clause matches where its terms are adjacent.
            texts.append(passage.spelled + passage.aliases + times * dated)
        if query.variants:
            stand_ins = _stand_ins(query)
        else:
            stand_ins = {}
        numbered = [clause for clause in weights if any(each.isdecimal() for term in clause for each in term)]
        return {
            "cosine": self._cosines(plan, table),
            "coverage": _shares(weights, texts, stand_ins),
            "length": np.full(len(table), math.log1p(len(weights))),
            "named": query.specificity * _shares(dict.fromkeys(query.anchors, 1.0), texts),
            "title": np.array(titled, np.float64),
            "lacking": _lacking(numbered, texts, stand_ins),
        }

    def _cosines(self, plan: Plan, table: Candidates) -> Scores:
        """Return each candidate's cosine from the semantic channel, or else from its stored vector."""
        vector = plan.execution.vector
        if vector is None:
            return np.full(len(table), np.nan)
        cosines = table[f"{SEMANTIC}/score"].copy()
        missing = np.flatnonzero(np.isnan(cosines))
        if len(missing):
            cosines[missing] = plan.evidence.cosines(table.ids[missing])
        cosines = np.maximum(cosines, 0.0)
        if self.scale:
            return self.scale.relative(cosines)
        return cosines


def at_least(least: float, results: Results) -> Results:
    """Return the results without hits below a relevance, or below a score if they have no relevance."""
    worth = ((hit.score if hit.relevance is None else hit.relevance, hit) for hit in results)
    return replace(results, hits=tuple(hit for value, hit in worth if value >= least))


def _stand_ins(query: Query) -> Mapping[Clause, Sequence[str]]:
    """Return the variants of each term of the query, padded for matching in texts."""
    found: dict[Clause, list[str]] = {}
    for variant, terms in zip(query.variants, query.beside, strict=False):
        for term in terms:
            found.setdefault((term,), []).append(_padded(variant))
    return found


def _shares(
    weights: Mapping[Clause, float], texts: Sequence[str], stand_ins: Mapping[Clause, Sequence[str]] | None = None
) -> Scores:
    """Return the weighted share of the clauses that each text contains; a variant counts `VARIANT`."""
    total = sum(weights.values())
    if not total:
        return np.zeros(len(texts))
    found = np.zeros(len(texts))
    for clause, weight in weights.items():
        found += weight * np.array([*map(contains, texts, repeat(_padded(clause)))], np.float64)
    for clause, others in (stand_ins or {}).items():
        weight = VARIANT * weights.get(clause, 0.0)
        missing = [_padded(clause) not in text and any(other in text for other in others) for text in texts]
        found += weight * np.array(missing)
    return np.asarray(found / total)


def _lacking(clauses: Sequence[Clause], texts: Sequence[str], stand_ins: Mapping[Clause, Sequence[str]]) -> Scores:
    """Return 1 for each text that lacks some clause in every spelling."""
    if not clauses:
        return np.zeros(len(texts))
    forms = [(_padded(clause), *stand_ins.get(clause, ())) for clause in clauses]
    return np.array([float(any(not any(form in text for form in each) for each in forms)) for text in texts])


def _padded(clause: Clause) -> str:
    """Return a clause padded with spaces, for matching in joined terms."""
    return f" {' '.join(clause)} "
