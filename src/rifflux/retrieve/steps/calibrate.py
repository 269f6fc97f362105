"""How relevant a hit is, in [0, 1] and on one scale for all questions, modes and indexes.

The score that a hit is ranked by compares it with the other candidates of its question; it says nothing of whether the
question has an answer here at all. The relevance does: it looks only at what the hit has in common with the question,
by logistic regression (Platt, "Probabilistic Outputs for Support Vector Machines", 1999) on a few features:

    cosine    of question and passage; never below 0
    coverage  the share of the question's terms, weighted by idf, that the passage, its title or headings hold; other
              spellings and synonyms count three quarters
    length    log(1 + the number of the question's terms): of a long question no passage holds everything
    named     the share of its identifiers that the passage holds, times how much of the question they are
    title     1 if the question is the whole title of the passage

What it estimates: were as many questions asked that have an answer here as questions that have none, what share of
hits like this one would be answers? `bench/calibrate.py` fits it on judged collections and tells how well it holds on
those left out. A model has its own coefficients, for cosines differ between models; without them, or without vectors,
words alone are judged.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import lru_cache, partial
from pathlib import Path

import numpy as np

from rifflux.errors import ModelError
from rifflux.models.base import Embedder
from rifflux.retrieve.channels import SEMANTIC
from rifflux.retrieve.coverage import idf
from rifflux.store import VARIANT, Store
from rifflux.text.analyzer import Analyzer
from rifflux.types import Clause, Hit, Query, Results, Scores

__all__ = [
    "HIGH",
    "MEDIUM",
    "STORED",
    "WORDS",
    "Calibration",
    "Features",
    "Relevance",
    "at_least",
    "calibration_of",
    "quality",
]

#: The file of a model's calibration, in the model's folder.
STORED = "relevance.json"
#: From here on a hit is of high, or of medium, quality.
HIGH, MEDIUM = 0.85, 0.7


def quality(relevance: float) -> str:
    """The level of a relevance: `high` from .85, `medium` from .7, else `low`."""
    return "high" if relevance >= HIGH else "medium" if relevance >= MEDIUM else "low"


@dataclass(frozen=True, slots=True)
class Features:
    """What hits have in common with a question: one value each, in the order of the hits."""

    cosine: Scores
    coverage: Scores
    length: Scores
    named: Scores
    title: Scores


@dataclass(frozen=True, slots=True)
class Calibration:
    """The coefficients of a logistic regression on `Features`, by name; what is not named does not count."""

    intercept: float
    weights: Mapping[str, float]

    def __post_init__(self) -> None:
        known = {each.name for each in fields(Features)}
        if unknown := sorted(self.weights.keys() - known):
            raise ValueError(f"no feature {unknown[0]!r}; choose from {', '.join(sorted(known))}")

    def __call__(self, features: Features) -> Scores:
        """The relevance of each hit."""
        odds = np.full(len(features.cosine), self.intercept)
        for name, weight in self.weights.items():
            odds += weight * getattr(features, name)
        return np.asarray(1 / (1 + np.exp(-odds)))


#: For hits that have no cosine, or one of a model that nobody has calibrated. Printed by bench/calibrate.py.
WORDS = Calibration(-5.34, {"coverage": 5.12, "length": 1.5, "named": 2.26, "title": 3.66})


def calibration_of(embedder: Embedder) -> Calibration | None:
    """The calibration stored with a model: `relevance.json` in its folder. None without one for its fingerprint.

    Raises `ModelError` for a file that is not what `bench/calibrate.py` writes.
    """
    path = Path(getattr(embedder, "folder", "")) / STORED
    if not getattr(embedder, "folder", None) or not path.is_file():
        return None
    try:
        content = json.loads(path.read_text("utf-8"))
        found = Calibration(float(content["intercept"]), {name: float(w) for name, w in content["weights"].items()})
        return found if content["fingerprint"] == embedder.fingerprint else None
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ModelError(f"{path} is no calibration ({error!r}): remove it, or fetch the model again") from None


@dataclass(frozen=True)
class Relevance:
    """Gives hits their relevance and its level. Meant for a page: it reads every passage it is given.

    `meaning` is the calibration of the embedder that made the question's vector, None where there is none. A hit
    without a vector, and every hit of a question without one, is judged by `words`.
    """

    store: Store
    analyzer: Analyzer
    meaning: Calibration | None = None
    words: Calibration = field(default=WORDS)

    def __call__(self, query: Query, hits: Sequence[Hit]) -> list[Hit]:
        """The hits, in their order."""
        if not hits:
            return []
        features = self.features(query, hits)
        unseen = np.isnan(features.cosine)
        relevance = self.meaning(features) if self.meaning else self.words(features)
        if self.meaning and unseen.any():
            relevance = np.where(unseen, self.words(features), relevance)
        rated = [round(value, 4) for value in relevance.tolist()]
        return [hit.rated(value, quality(value)) for hit, value in zip(hits, rated, strict=True)]

    def features(self, query: Query, hits: Sequence[Hit]) -> Features:
        """What each hit has in common with the question; the cosine is NaN where there is no vector."""
        joined, weights = partial(_joined, self.analyzer), self._weights(query)
        titles = [joined(hit.title) for hit in hits]
        # Spaces around every term, and gaps between the fields: a clause is held where its terms stand side by side.
        texts = [
            f" {title} \n {joined(hit.heading_path)} \n {joined(hit.content)} "
            for title, hit in zip(titles, hits, strict=True)
        ]
        asked = frozenset(term for clause in weights for term in clause)
        return Features(
            cosine=self._cosines(query, hits),
            coverage=_shares(weights, texts, _stand_ins(query)),
            length=np.full(len(hits), math.log1p(len(weights))),
            named=query.specificity * _shares(dict.fromkeys(query.anchors, 1.0), texts),
            title=np.array([float(bool(asked) and asked == frozenset(title.split())) for title in titles]),
        )

    def _cosines(self, query: Query, hits: Sequence[Hit]) -> Scores:
        """The cosine that the semantic channel gave a hit, or else that of its vector."""
        if query.vector is None:
            return np.full(len(hits), np.nan)
        cosines = [why.score if (why := hit.because(SEMANTIC)) else None for hit in hits]
        if None in cosines:
            ids = [int(hit.chunk_id, 16) for hit in hits]
            missing = [id for id, cosine in zip(ids, cosines, strict=True) if cosine is None]
            known = self.store.semantic.vectors_of(np.array(missing, np.int64))
            others = {id: float(vector @ query.vector) for id, vector in known.items()}
            cosines = [
                others.get(id, math.nan) if each is None else each for id, each in zip(ids, cosines, strict=True)
            ]
        return np.maximum(np.array(cosines, np.float64), 0.0)

    def _weights(self, query: Query) -> Mapping[Clause, float]:
        """The idf of each clause of the question; a prefix stands for terms that are not known, and has none."""
        clauses = dict.fromkeys((*query.clauses, *query.required))
        terms = [term for clause in clauses for term in clause]
        known, total = self.store.lexical.document_frequencies(terms), self.store.counts()["chunks"]
        # A phrase is at most as frequent as its rarest word.
        return {clause: idf(total, min(known.get(term, 0) for term in clause)) for clause in clauses}


def at_least(least: float, results: Results) -> Results:
    """The results without hits of less relevance, or of a lower score where there is no relevance."""
    worth = ((hit.score if hit.relevance is None else hit.relevance, hit) for hit in results)
    return replace(results, hits=tuple(hit for value, hit in worth if value >= least))


def _stand_ins(query: Query) -> Mapping[Clause, Sequence[str]]:
    """The variants that a term of the question may stand for, as texts hold them."""
    found: dict[Clause, list[str]] = {}
    for variant, terms in zip(query.variants, query.beside, strict=False):
        for term in terms:
            found.setdefault((term,), []).append(_held(variant))
    return found


@lru_cache(maxsize=4096)
def _joined(analyzer: Analyzer, text: str) -> str:
    """The terms of a text; the passages that answer are often the same."""
    return analyzer.joined(text)


def _shares(
    weights: Mapping[Clause, float], texts: Sequence[str], stand_ins: Mapping[Clause, Sequence[str]] | None = None
) -> Scores:
    """The share of the clauses, by weight, that each text holds; 0 of none. What stands in for one counts `VARIANT`."""
    total = sum(weights.values())
    if not total:
        return np.zeros(len(texts))
    wanted = [(_held(clause), weight) for clause, weight in weights.items()]
    found = np.array([sum([weight for clause, weight in wanted if clause in text]) for text in texts], np.float64)
    for clause, others in (stand_ins or {}).items():
        weight = VARIANT * weights.get(clause, 0.0)
        missing = [_held(clause) not in text and any(other in text for other in others) for text in texts]
        found += weight * np.array(missing)
    return np.asarray(found / total)


def _held(clause: Clause) -> str:
    """A clause as it stands in the terms of a text."""
    return f" {' '.join(clause)} "
