"""The transparent reranker: a weighted sum of a few things that anybody can check by looking at the hit."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from itertools import pairwise

import numpy as np

from rifflux.errors import InvalidArgument
from rifflux.retrieve.channels import LEXICAL, SEMANTIC
from rifflux.retrieve.steps.rerank.feedback import near_the_best, trust, words_of_the_best
from rifflux.retrieve.steps.rerank.resources import Resources
from rifflux.retrieve.steps.rerank.stage import Rerank, Scored
from rifflux.text.analyzer import fold, tokens
from rifflux.text.dates import timestamp
from rifflux.types import Hit, Query, Scores

__all__ = ["COMPONENTS", "Features", "Weights", "reranker"]

_DAY = 86_400.0
#: How many of the best candidates tell what an answer looks like, and by how many words.
BEST, WORDS = 5, 20


@dataclass(frozen=True, slots=True)
class Weights:
    """How much each component counts; only the proportions matter.

    The defaults are those that `bench/fit_features.py` finds on top of the default fusion, give or take .05: that much
    its choice moves with every small change of the candidates. `identifier` is not fitted: where the fusion's anchors
    work, they leave it nothing to do.
    """

    fused: float = 1.0
    semantic: float = 0.15
    coverage: float = 0.6
    phrase: float = 0.5
    title: float = 0.2
    identifier: float = 0.3
    centroid: float = 0.15
    expansion: float = 0.25
    lexical: float = 0.0
    freshness: float = 0.0

    def __post_init__(self) -> None:
        values = self.shares(1.0).values()
        if any(not math.isfinite(value) or value < 0 for value in values) or not any(values):
            raise InvalidArgument("feature weights must be finite and not negative, and some above zero")

    @classmethod
    def of(cls, weights: Mapping[str, float]) -> Weights:
        """The defaults with some others in their place. Raises `InvalidArgument` for a component that is none."""
        if unknown := sorted(weights.keys() - {each.name for each in fields(cls)}):
            allowed = ", ".join(each.name for each in fields(cls))
            raise InvalidArgument(f"no component {unknown[0]!r} to weigh; choose from {allowed}")
        return cls(**weights)

    def shares(self, total: float | None = None) -> dict[str, float]:
        """The weights divided by `total`, or by their sum."""
        weights = {each.name: float(getattr(self, each.name)) for each in fields(self)}
        total = total or sum(weights.values())
        return {name: weight / total for name, weight in weights.items()}


@dataclass(frozen=True)
class Features:
    """Scores a hit by the weighted mean of its components, each in [0, 1]; so the score is too.

    `fused`       the score that the hit came with, scaled from the least to the greatest of the candidates
    `lexical`     BM25, as a share of the greatest
    `semantic`    cosine, scaled as `fused` is; a hit that the semantic channel did not rank counts as the least
    `coverage`    how much of the question the hit holds, each term counted by how rare it is (idf)
    `phrase`      how many pairs of neighbouring terms of the question are neighbours in the hit, by idf too
    `title`       how much of the title and headings is in the question
    `identifier`  how many codes of the question (`D40`, `250.1725`, `cache_ttl`) the hit holds, whole
    `centroid`    cosine with the best of the other candidates, scaled as `fused` is
    `expansion`   how much it holds of what the best of the other candidates say besides the question, scaled likewise
    `freshness`   halved with every `half_life_days` since the hit was made or changed

    Components without a weight are not computed. What each adds to the score is in the hit's trail. `now` (seconds
    since 1970) is the clock, for tests.
    """

    resources: Resources
    weights: Weights = Weights()
    half_life_days: float = 90.0
    now: Callable[[], float] = time.time
    name: str = "features"

    def __call__(self, query: Query, hits: Sequence[Hit]) -> Scored:
        """Score the hits; the details are the addends of each score."""
        candidates = Candidates(query, hits, self.resources, self.now(), self.half_life_days)
        shares = {name: share for name, share in self.weights.shares().items() if share}
        parts = {name: share * COMPONENTS[name](candidates) for name, share in shares.items()}
        scores = np.sum(list(parts.values()), axis=0)
        details = [{name: float(part[place]) for name, part in parts.items()} for place in range(len(hits))]
        return Scored(scores, details)


@dataclass(frozen=True)
class Candidates:
    """The question and the hits, their terms worked out once for all components."""

    query: Query
    hits: Sequence[Hit]
    resources: Resources
    now: float = 0.0
    half_life_days: float = 90.0

    @cached_property
    def asked(self) -> list[str]:
        """The question's terms in order; what it excludes is not among them."""
        return self.resources.analyzer.terms(self.text)

    @property
    def text(self) -> str:
        """The question without operators."""
        return self.query.semantic_text or self.query.text

    @cached_property
    def idf(self) -> Mapping[str, float]:
        """The rarity of each of the question's terms."""
        return self.resources.idf(self.asked)

    @cached_property
    def titles(self) -> list[list[list[str]]]:
        """For each hit the terms of its title and of its breadcrumb."""
        terms = self.resources.analyzer.terms
        return [[terms(hit.title), terms(hit.heading_path)] for hit in self.hits]

    @cached_property
    def fields(self) -> list[list[list[str]]]:
        """For each hit the terms of its title, breadcrumb and text."""
        bodies = (self.resources.analyzer.terms(hit.content) for hit in self.hits)
        return [[*titles, body] for titles, body in zip(self.titles, bodies, strict=True)]

    @cached_property
    def held(self) -> list[set[str]]:
        """For each hit all terms that it holds."""
        return [set().union(*fields) for fields in self.fields]

    @cached_property
    def trust(self) -> Scores:
        """How much each of the first few hits is taken to be an answer."""
        return trust(np.array([hit.score for hit in self.hits], np.float64), BEST)

    def channel(self, name: str) -> Scores:
        """Each hit's score in a channel; not a number where the channel did not rank it."""
        trails = (hit.because(name) for hit in self.hits)
        scores = [math.nan if trail is None or trail.score is None else trail.score for trail in trails]
        return np.array(scores, np.float64)


def fused(candidates: Candidates) -> Scores:
    """The score so far, from the least (0) to the greatest (1) of the candidates."""
    return spread(np.array([hit.score for hit in candidates.hits], np.float64))


def lexical(candidates: Candidates) -> Scores:
    """BM25 as a share of the greatest; zero for a hit found by meaning alone."""
    scores = np.nan_to_num(candidates.channel(LEXICAL))
    return scores / (scores.max(initial=0.0) or 1.0)


def semantic(candidates: Candidates) -> Scores:
    """The cosine, from the least (0) to the greatest (1) of the candidates."""
    cosines = candidates.channel(SEMANTIC)
    missing = np.isnan(cosines)
    if missing.all():
        return np.zeros(len(cosines))
    # A channel ranks the best so many of all chunks: what is missing there is no nearer than what is not.
    return spread(np.where(missing, np.nanmin(cosines), cosines))


def coverage(candidates: Candidates) -> Scores:
    """The share of the question's terms, weighted by idf, that each hit holds."""
    idf = candidates.idf
    held = [sum(value for term, value in idf.items() if term in terms) for terms in candidates.held]
    return np.array(held) / (sum(idf.values()) or 1.0)


def phrase(candidates: Candidates) -> Scores:
    """The share of the question's pairs of neighbours, weighted by the idf of both, that are neighbours in a hit."""
    idf = candidates.idf
    weights = {(one, two): idf[one] + idf[two] for one, two in pairwise(candidates.asked)}
    held = [{pair for field in fields for pair in pairwise(field)} for fields in candidates.fields]
    found = [sum(weight for pair, weight in weights.items() if pair in pairs) for pairs in held]
    return np.array(found) / (sum(weights.values()) or 1.0)


def title(candidates: Candidates) -> Scores:
    """The share of the terms of the title and headings that are in the question; zero without any."""
    asked = set(candidates.asked)
    named = [set().union(*titles) for titles in candidates.titles]
    return np.array([len(terms & asked) / (len(terms) or 1) for terms in named])


def identifier(candidates: Candidates) -> Scores:
    """The share of the question's codes that each hit holds on token boundaries: `D4` is not in `D40`."""
    codes = {fold(token) for token in tokens(candidates.text) if is_code(token)}
    return np.array([len(codes & terms) / (len(codes) or 1) for terms in candidates.held])


def centroid(candidates: Candidates) -> Scores:
    """The mean cosine with the best of the other hits, from the least (0) to the greatest (1) of the candidates."""
    ids = [int(hit.chunk_id, 16) for hit in candidates.hits]
    known = candidates.resources.vectors(np.array(ids, np.int64))
    if not known:
        return np.zeros(len(ids))
    missing = np.zeros_like(next(iter(known.values())))
    return spread(near_the_best(np.stack([known.get(id, missing) for id in ids]), candidates.trust))


def expansion(candidates: Candidates) -> Scores:
    """What a hit holds of the words of the best of the others, from the least (0) to the greatest (1)."""
    texts = [[term for field in fields for term in field] for fields in candidates.fields]
    return spread(words_of_the_best(texts, candidates.trust, frozenset(candidates.asked), WORDS))


def freshness(candidates: Candidates) -> Scores:
    """Halved with every half-life of age; zero without a date, one for dates to come."""
    times = [timestamp(hit.updated_at) or timestamp(hit.created_at) for hit in candidates.hits]
    ages = [math.inf if moment is None else max(0.0, candidates.now - moment) / _DAY for moment in times]
    return np.asarray(np.exp2(-np.array(ages) / candidates.half_life_days))


#: What each component is computed by; the names are those of the weights.
COMPONENTS: Mapping[str, Callable[[Candidates], Scores]] = {
    "fused": fused,
    "semantic": semantic,
    "coverage": coverage,
    "phrase": phrase,
    "title": title,
    "identifier": identifier,
    "centroid": centroid,
    "expansion": expansion,
    "lexical": lexical,
    "freshness": freshness,
}


def spread(values: Scores) -> Scores:
    """Values moved and scaled to reach from 0 to 1; all zero where they are equal."""
    least, greatest = values.min(initial=math.inf), values.max(initial=-math.inf)
    if not greatest > least:
        return np.zeros(len(values))
    return np.asarray((values - least) / (greatest - least))


def is_code(token: str) -> bool:
    """Whether a token is a name of something rather than a word: it holds a digit, a dot or the like."""
    return len(token) > 1 and any(char.isdigit() or char in "._/:" for char in token)


def reranker(resources: Resources) -> Rerank:
    """The stage with the weights of the profile."""
    return Rerank(Features(resources, Weights.of(resources.features)))
