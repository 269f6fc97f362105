"""How relevant a hit is, in [0, 1] and on one scale for all questions, modes and indexes.

The score that a hit is ranked by compares it with the other candidates of its question; it says nothing of whether the
question has an answer here at all. The relevance does: it looks only at what the hit has in common with the question,
by logistic regression (Platt, "Probabilistic Outputs for Support Vector Machines", 1999) on a few features:

    cosine    of question and passage, never below 0. Without a calibration of the model's own it is told by the scale
              of the model (`rifflux.models.scale`): 0 as near as what is found where nothing answers, 1 as an answer
    coverage  the share of the question's terms, weighted by idf, that the passage, its title or headings hold; other
              spellings and synonyms count three quarters
    length    log(1 + the number of the question's terms): of a long question no passage holds everything
    named     the share of its identifiers that the passage holds, times how much of the question they are
    title     1 if the question is the whole title of the passage

What it estimates: were as many questions asked that have an answer here as questions that have none, what share of
hits like this one would be for the former? Which of several passages on the subject answers best is for the order to
tell; since these features do not, the odds rise less from medium on than up to there. `bench/quality/calibrate.py` fits
it on judged collections and tells how well it holds on those left out. A model may have coefficients of its own;
without them those of any model are used, and where nothing is known of the vectors, or there are none, words alone are
judged. A hit that a cross-encoder read has the relevance that the model gives it, by a calibration of its own.
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
#: The most that a hit may have which lacks a number or code of the question.
BELOW_HIGH = HIGH - 0.0001
#: The features by name, in the order they are told in.
FEATURES = ("cosine", "coverage", "length", "named", "title")


@dataclass(frozen=True, slots=True)
class Calibration:
    """The coefficients of a logistic regression on `FEATURES`, by name; what is not named does not count.

    Of what the logarithm of the odds is more than that of `MEDIUM`, the share `above` counts.
    """

    intercept: float
    weights: Mapping[str, float]
    above: float = 1.0

    def __post_init__(self) -> None:
        if unknown := sorted(self.weights.keys() - set(FEATURES)):
            raise ValueError(f"no feature {unknown[0]!r}; choose from {', '.join(sorted(FEATURES))}")
        if not 0 < self.above <= 1:
            raise ValueError(f"above must be a share, more than 0 and at most 1, not {self.above}")

    def __call__(self, features: Mapping[str, Scores]) -> Scores:
        """Return the relevance of each candidate."""
        ones = np.ones(len(features["cosine"]))
        odds, _ = weighed({"": ones, **features}, {"": self.intercept, **self.weights})
        odds = odds - (1 - self.above) * np.maximum(odds - _MEDIUM_ODDS, 0)
        return np.asarray(1 / (1 + np.exp(-odds)))


_MEDIUM_ODDS = math.log(MEDIUM / (1 - MEDIUM))
#: For cosines by the scale of a model. Printed by bench/quality/calibrate.py.
MEANING = Calibration(-7.18, {"cosine": 5.41, "coverage": 5.5, "length": 1.45, "named": 3.66, "title": 2.44}, 0.5)
#: For hits that have no cosine, or one that nothing is known of. Printed by bench/quality/calibrate.py.
WORDS = Calibration(-5.34, {"coverage": 5.12, "length": 1.5, "named": 2.26, "title": 3.66})


def calibration_of(embedder: Embedder) -> Calibration | None:
    """Return the calibration stored with a model: `relevance.json` in its folder. None without one for its fingerprint.

    Raises `ModelError` for a file that is not what `bench/quality/calibrate.py` writes.
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
        raise model_error(path, "is no calibration: remove it, or fetch the model again", error) from None


@dataclass(frozen=True, slots=True)
class PassageTerms:
    """The terms of a passage with single spaces between: those of its title, of its headings, and all.

    In `spelled` are spaces around each term and gaps between title, headings and text: neighbors stand side by side.
    In `said` is what the passage is searched by besides, and in `aliases` what its document is also called.
    """

    title: str
    headings: str
    spelled: str
    said: str = ""
    aliases: tuple[str, ...] = ()


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


@lru_cache(maxsize=4096)
def _terms_of(
    analyzer: Analyzer, title: str, headings: str, content: str, phrases: tuple[str, ...], aliases: tuple[str, ...]
) -> PassageTerms:
    """Return the terms of a passage; those that answer are often the same."""
    title = analyzer.joined(title)
    headings = analyzer.joined(headings)
    spelled = f" {title} \n {headings} \n {analyzer.joined(content)} "
    more = "".join(f"\n {analyzer.joined(each)} " for each in phrases)
    return PassageTerms(title, headings, spelled, more, tuple(analyzer.joined(aliase) for aliase in aliases))


@dataclass(frozen=True)
class Relevance:
    """Gives candidates their relevance. Meant for a page: it reads every passage it is given.

    `meaning` is the calibration for cosines of the question, None where there is none; with a `scale` for those that it
    tells. A candidate without a vector, and every one of a question without one, is judged by `words`.
    """

    analyzer: Analyzer
    meaning: Calibration | None = None
    words: Calibration = field(default=WORDS)
    scale: ModelScale | None = None

    def __call__(self, plan: Plan, table: Candidates) -> Candidates:
        """Return the candidates, in their order, with their relevance."""
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
        # What read question and passage together knows more than what they have in common.
        judged = table[RELEVANCE]
        relevance = np.where(np.isnan(judged), relevance, judged)
        # Of two versions or paragraphs the wrong one has all but the number in common with the question.
        named = np.nan_to_num(table[NAMED]) > 0
        relevance = np.where((features["lacking"] > 0) & ~named, np.minimum(relevance, BELOW_HIGH), relevance)
        # What was asked for by name is meant, whatever else the question says.
        relevance = np.where(named, np.maximum(relevance, MEDIUM), relevance)
        return table.with_column(RELEVANCE, np.array([*map(round, relevance.tolist(), repeat(4))]))

    def features(self, plan: Plan, table: Candidates) -> Mapping[str, Scores]:
        """Return what each candidate has in common with the question; the cosine is NaN where there is no vector.

        Besides the features, `lacking` is 1 for a candidate without some number or code of the question.
        """
        query = plan.query
        weights = weights_of(plan)
        texts: list[str] = []
        titled: list[bool] = []
        asked = frozenset(chain.from_iterable(weights))
        # What is of a time need not name it as the question does.
        times = "".join(f" \n {self.analyzer.joined(each.words)} " for each in query.times)
        for hit, dated in zip(table.passages, (table[MOMENT] > 0).tolist(), strict=True):
            passage = terms_of(self.analyzer.beside(query.languages.stands_for, hit.language), hit)
            names = (passage.title, *passage.aliases)
            titled.append(bool(asked) and any(asked == frozenset(name.split()) for name in names))
            # A clause is held where its terms stand side by side.
            texts.append(passage.spelled + passage.said + times * dated)
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
        """Return the cosine that the semantic channel gave a candidate, or else that of its vector."""
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
    """Return the results without hits of less relevance, or of a lower score where there is no relevance."""
    worth = ((hit.score if hit.relevance is None else hit.relevance, hit) for hit in results)
    return replace(results, hits=tuple(hit for value, hit in worth if value >= least))


def _stand_ins(query: Query) -> Mapping[Clause, Sequence[str]]:
    """Return the variants that a term of the question may stand for, as texts hold them."""
    found: dict[Clause, list[str]] = {}
    for variant, terms in zip(query.variants, query.beside, strict=False):
        for term in terms:
            found.setdefault((term,), []).append(_padded(variant))
    return found


def _shares(
    weights: Mapping[Clause, float], texts: Sequence[str], stand_ins: Mapping[Clause, Sequence[str]] | None = None
) -> Scores:
    """Return the share of the clauses that each text holds, by weight; what stands in for one counts `VARIANT`."""
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
    """Return a clause as it stands in the terms of a text."""
    return f" {' '.join(clause)} "
