"""The transparent reranker: a weighted sum of components that anyone can verify by looking at the hit."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

import numpy as np
from numpy.typing import NDArray

from rifflux import kernels
from rifflux.errors import Cure, InvalidArgument
from rifflux.retrieve.fuse.base import Weights, weighed
from rifflux.retrieve.pipeline import Plan
from rifflux.retrieve.steps.calibrate import Array, PassageTerms, summed, terms_of
from rifflux.retrieve.steps.rerank.stage import Rerank, Resources, Scored
from rifflux.retrieve.table import BOOSTED, LEXICAL, MOMENT, NAMED, SCORE, SEMANTIC, Candidates, filled
from rifflux.text.analyzer import fold, tokens
from rifflux.text.dates import timestamp
from rifflux.types import Ids, Scores

Mask = NDArray[np.bool_]
_DAY = 86_400.0
_JOINTS = frozenset("._/:")
#: The number of best candidates that model an answer, and the number of words in that model.
BEST = 5
WORDS = 20
#: The minimum share of a word in other texts that is not a rounding residue.
LEFT = 1e-12
#: The decimals to which shares of words are compared.
DECIMALS = 12
#: The bit position of a passage in the number of one of its terms, and the bits of the term.
_ROW = 40
_NUMBER = (1 << _ROW) - 1
#: A passage shorter than this, in characters, and than the median is a stub, whose score is reduced by up to that
#: share.
STUB = 100.0
LOWERED = 0.3


#: The weight of each component, fitted to all judged collections on top of the default fusion: see
#: `bench/results/tried.md`. Fits on other candidates, as in `bench/results/features.md`, differ by up to .2.
#: `identifier` is off: anchors have counted a code in the fused score already.
WEIGHTS = Weights(
    {
        "fused": 1.0,
        "semantic": 0.15,
        "coverage": 0.7,
        "phrase": 0.7,
        "title": 0.2,
        "identifier": 0.0,
        "named": 4.0,
        "moment": 1.0,
        "centroid": 0.15,
        "expansion": 0.3,
        "lexical": 0.0,
        "freshness": 0.0,
    }
)


@dataclass(frozen=True)
class Features:
    """Scores a hit by the weighted mean of its components, each in [0, 1], so that the score is too.

    `fused`       the min-max scaled score of the hit so far, without the factors for `named` and `moment`; that of a
                  passage of a few words is lowered first
    `lexical`     BM25 as a share of the greatest score
    `semantic`    the min-max scaled cosine; a hit without a vector counts as the lowest
    `coverage`    the idf-weighted share of the query's terms that the hit contains
    `phrase`      the idf-weighted share of the query's adjacent term pairs that are adjacent in the hit
    `title`       the share of the terms of title and headings that are in the query
    `identifier`  the share of the query's codes (`D40`, `250.1725`, `cache_ttl`) in the hit, as whole tokens
    `named`       how far the query is a name of the hit: its title, last heading or identifier
    `moment`      how far the query asks for the hit's time, less if only its text names it
    `centroid`    the min-max scaled mean cosine with the best of the other candidates
    `expansion`   the min-max scaled share of the other best candidates' words, except the query's
    `freshness`   1, halved with every `half_life_days` since the hit was created or changed

    Components without a weight are not computed. Each addend is a column. `now` is the clock, in seconds since 1970.
    """

    resources: Resources
    weights: Weights = WEIGHTS
    half_life_days: float = 90.0
    now: Callable[[], float] = time.time
    name: str = "features"

    def __call__(self, plan: Plan, table: Candidates) -> Scored:
        """Score the candidates; the parts are the addends of each score."""
        asked = feature_input(plan, table, self.resources, self.now(), self.half_life_days)
        # If no name or time is in the query, the scores must not be lowered for it.
        left_out = [name for name, column in (("named", NAMED), ("moment", MOMENT)) if not (table[column] > 0).any()]
        weights = {name: weight for name, weight in self.weights.by_name.items() if weight and name not in left_out}
        if not weights:
            return Scored(np.zeros(len(table)))
        total = sum(weights.values())
        shares = {name: weight / total for name, weight in weights.items()}
        components: dict[str, Scores] = {}
        for name in shares:
            components[name] = COMPONENTS[name](asked)
        scores, parts = weighed(components, shares)
        if "code" in (each.kind for each in table.passages):
            from rifflux.retrieve.steps.code import led_by_signatures

            scores = led_by_signatures(table, scores)
        return Scored(scores, parts)


@dataclass(frozen=True, slots=True)
class FeatureInput:
    """The query and its candidates, with terms computed once for all components.

    `terms` are the query's terms in order, without excluded ones, and `idf` their rarity. `passages` are the terms of
    the hits, and `numbers` those of the query's terms among them. `trust` are the weights of the first few hits as
    answers.
    """

    plan: Plan
    table: Candidates
    resources: Resources
    terms: Sequence[str]
    idf: Mapping[str, float]
    passages: PassageTerms
    numbers: Sequence[int]
    trust: Scores
    now: float
    half_life_days: float


def feature_input(
    plan: Plan, table: Candidates, resources: Resources, now: float = 0.0, half_life_days: float = 90.0
) -> FeatureInput:
    """Return the shared input of the components."""
    analyzer = resources.analyzer
    terms = resources.terms(plan.query)
    passages = terms_of(plan, table, analyzer)
    return FeatureInput(
        plan=plan,
        table=table,
        resources=resources,
        terms=terms,
        idf=resources.idf(plan),
        passages=passages,
        numbers=[number for term in terms if (number := passages.number_of(term)) is not None],
        trust=trust(table[SCORE], BEST),
        now=now,
        half_life_days=half_life_days,
    )


def fused(inputs: FeatureInput) -> Scores:
    """Return the min-max scaled score so far, lowered for stubs.

    A passage of a few words among longer ones answers little, and ranks high where titles are short records or section
    headings. Hits that the query names are not lowered: someone who requests an entry wants it, however short it is.
    """
    lengths = [len(hit.text) for hit in inputs.table.passages]
    if lengths:
        usual = max(1.0, min(STUB, median(lengths)))
    else:
        usual = STUB
    short = np.maximum(0.0, 1 - np.array(lengths, np.float64) / usual) * (filled(inputs.table[NAMED]) == 0)
    own = inputs.table[SCORE] / filled(inputs.table[BOOSTED], 1.0)
    return spread(own * (1 - LOWERED * short))


def lexical(inputs: FeatureInput) -> Scores:
    """Return BM25 as a share of the greatest score; zero for a hit found by meaning alone."""
    scores = filled(inputs.table[f"{LEXICAL}/score"])
    return scores / (scores.max(initial=0.0) or 1.0)


def semantic(inputs: FeatureInput) -> Scores:
    """Return the min-max scaled cosine."""
    cosines = inputs.table[f"{SEMANTIC}/score"].copy()
    unranked = np.flatnonzero(np.isnan(cosines))
    cosines[unranked] = inputs.plan.evidence.cosines(inputs.table.ids[unranked])
    missing = np.isnan(cosines)
    if missing.all():
        return np.zeros(len(cosines))
    return spread(np.where(missing, np.nanmin(cosines), cosines))


def coverage(inputs: FeatureInput) -> Scores:
    """Return the idf-weighted share of the query's terms that each hit contains."""
    idf = inputs.idf
    holders = inputs.passages.holders([(term,) for term in idf])
    return summed([*idf.values()], holders) / (sum(idf.values()) or 1.0)


def phrase(inputs: FeatureInput) -> Scores:
    """Return the share of the query's adjacent term pairs, weighted by idf, that are adjacent in a hit."""
    idf = inputs.idf
    pairs = [*dict.fromkeys(pairwise(inputs.terms))]
    weights = [idf[one] + idf[two] for one, two in pairs]
    return summed(weights, inputs.passages.holders(pairs, own=True)) / (sum(weights) or 1.0)


def title(inputs: FeatureInput) -> Scores:
    """Return the share of the terms of the title and headings that are in the query; zero without any."""
    passages = inputs.passages
    shares = shares_of_names(passages.numbers, passages.rows, passages.naming, inputs.numbers, len(passages.ids))
    return np.asarray(shares[passages.at])


def identifier(inputs: FeatureInput) -> Scores:
    """Return the share of the query's codes that each hit contains as whole tokens: `D4` does not match `D40`.

    The year of a time is excluded: the component `moment` covers it.
    """
    typed = [token for token, _ in inputs.plan.query.tokens] or tokens(
        inputs.plan.query.semantic_text or inputs.plan.query.text
    )
    times = {fold(token) for each in inputs.plan.query.times for token in tokens(each.words)}
    codes = {fold(each) for each in filter(is_code, typed)} - times
    holders = inputs.passages.holders([(code,) for code in codes])
    return np.asarray(holders.sum(axis=0) / max(1, len(codes)))


def named(inputs: FeatureInput) -> Scores:
    """Return how far the query is a name of each hit: a query that is a name means nothing else."""
    return filled(inputs.table[NAMED])


def moment(inputs: FeatureInput) -> Scores:
    """Return how far the query asks for the time of each hit."""
    return filled(inputs.table[MOMENT])


def centroid(inputs: FeatureInput) -> Scores:
    """Return the min-max scaled mean cosine with the best of the other candidates."""
    ids = inputs.table.ids.tolist()
    known = inputs.plan.evidence.vectors(inputs.table.ids)
    if not known:
        return np.zeros(len(ids))
    missing = np.zeros_like(next(iter(known.values())))
    vectors = np.concatenate([known.get(id, missing) for id in ids]).reshape(len(ids), -1)
    cosines = vectors @ vectors[: len(inputs.trust)].T
    weights = np.empty_like(cosines, np.float64)
    weights[:] = inputs.trust
    # No candidate is compared with itself.
    np.fill_diagonal(weights, 0.0)
    total = weights.sum(axis=1)
    return spread((cosines * weights).sum(axis=1) / np.where(total > 0, total, 1.0))


def expansion(inputs: FeatureInput) -> Scores:
    """Return the min-max scaled share of the best other candidates' words that a hit contains."""
    passages = inputs.passages
    numbers = passages.numbers[: passages.own]
    shares = words_of_the_best(numbers, passages.rows, inputs.trust, inputs.numbers, len(passages.ids))
    return spread(shares[passages.at])


def freshness(inputs: FeatureInput) -> Scores:
    """Return 1, halved with every half-life of age; zero without a date, one for future dates."""
    times = [timestamp(hit.updated_at) or timestamp(hit.created_at) for hit in inputs.table.passages]
    ages = [math.inf if moment is None else max(0.0, inputs.now - moment) / _DAY for moment in times]
    return np.asarray(np.exp2(-np.array(ages) / inputs.half_life_days))


#: The function of each component, by the name of its weight.
COMPONENTS: Mapping[str, Callable[[FeatureInput], Scores]] = {
    "fused": fused,
    "semantic": semantic,
    "coverage": coverage,
    "phrase": phrase,
    "title": title,
    "identifier": identifier,
    "named": named,
    "moment": moment,
    "centroid": centroid,
    "expansion": expansion,
    "lexical": lexical,
    "freshness": freshness,
}


def spread(values: Scores) -> Scores:
    """Return min-max scaled values; all zero if they are equal."""
    least = values.min(initial=math.inf)
    greatest = values.max(initial=-math.inf)
    if not greatest > least:
        return np.zeros(len(values))
    return np.asarray((values - least) / (greatest - least))


def is_code(token: str) -> bool:
    """Return True if a token is a code rather than a word: it contains a digit, a dot or a similar sign."""
    return len(token) > 1 and (any(each.isdigit() for each in token) or not _JOINTS.isdisjoint(token))


def reranker(resources: Resources) -> Rerank:
    """Return the step with the weights of the profile."""
    weights = WEIGHTS
    if resources.features:
        weights = WEIGHTS.but(**resources.features)
    return Rerank(Features(resources, weights))


def trust(scores: Scores, best: int) -> Scores:
    """Return the normalized weights of the first `best` candidates by score, summing to 1."""
    head = np.maximum(scores[:best], 0.0)
    total = head.sum()
    return np.asarray(head / total if total > 0 else np.full(len(head), 1 / max(1, len(head))))


def shares_of_names(numbers: Array, rows: Ids, naming: Mask, known: Sequence[int], count: int) -> Scores:
    """Return the share of the distinct terms of each of `count` names that are `known`; zero for an empty one.

    The names are those `numbers` that are `naming`, each with its name in `rows`; both may be longer than `naming`.
    """
    if kernels.compiled:
        found = np.empty(count)
        kernels.compiled.asked(numbers, rows, naming, np.array(known, np.int32), found)
        return found
    places = np.flatnonzero(naming)
    names = np.unique((rows[places] << _ROW) | numbers[places].astype(np.int64))
    rows = names >> _ROW
    counts = np.bincount(rows, minlength=count)
    return np.asarray(np.bincount(rows, np.isin(names & _NUMBER, known), count) / np.maximum(counts, 1))


def words_of_the_best(
    numbers: Array, rows: Ids, weights: Scores, known: Sequence[int], count: int, words: int = WORDS
) -> Scores:
    """Return the share of the other best candidates' relevance model that each of `count` texts contains, in [0, 1].

    The texts are the `numbers` of their terms, each with its text in `rows`; numbers below zero are none. The model is
    the weighted mean of the term distributions of the first texts, as many as there are weights, without the `known`
    terms; its likeliest terms count, in ascending order on ties. Lavrenko and Croft, "Relevance-Based Language Models",
    SIGIR 2001.
    """
    if kernels.compiled:
        found = np.empty(count)
        kernels.compiled.likely(numbers, rows, weights, np.array(known, np.int32), words, found)
        return found
    best = len(weights)
    terms_at = np.flatnonzero(numbers >= 0)
    numbers, rows = numbers[terms_at], rows[terms_at]
    first = rows < best
    lengths = np.bincount(rows[first], minlength=best)
    counted = first & ~np.isin(numbers, known)
    terms, places = np.unique(numbers[counted], return_inverse=True)
    counts = np.bincount(rows[counted] * len(terms) + places, minlength=best * len(terms))
    shares = counts.reshape(best, len(terms)) * (weights / np.maximum(lengths, 1))[:, None]
    whole = np.zeros(len(terms))
    for share in shares:
        whole += share
    # A rounding residue of a term that only this text contains is not in the others.
    others = np.where(whole - shares > LEFT, whole - shares, 0.0)
    # Candidates below the best use the model of all of them. Values that differ only by rounding are ties: otherwise
    # the processor would decide.
    models = np.concatenate([others, whole[None]])
    order = np.argsort(-np.round(models, DECIMALS), axis=1, kind="stable")[:, :words]
    values = np.take_along_axis(models, order, axis=1)
    present = np.zeros((count, len(terms) + 1), np.bool_)
    within = np.minimum(np.searchsorted(terms, numbers), max(len(terms) - 1, 0))
    present[rows, np.where(terms[within] == numbers, within, len(terms)) if len(terms) else 0] = True
    # Sums of the first values to the last one, added one after another.
    model_of = np.minimum(np.arange(count), best)
    contained = np.where(present[np.arange(count)[:, None], order[model_of]], values[model_of], 0.0)
    if not order.shape[1]:
        return np.zeros(count)
    found = np.cumsum(contained, axis=1)[:, -1]
    totals = np.cumsum(values, axis=1)[:, -1]
    return np.asarray(found / np.where(totals > 0, totals, 1.0)[model_of])


def dump_weights(weights: Weights) -> str:
    """Return weights as a JSON object by component, summing to 1."""
    return json.dumps({name: round(share, 6) for name, share in weights.shares().items()}, sort_keys=True)


def load_weights(text: str, known: Weights = WEIGHTS) -> Mapping[str, float]:
    """Return the weights that `dump_weights` serialized. Raises `InvalidArgument` for unknown or invalid content."""
    try:
        weights = {str(name): float(weight) for name, weight in json.loads(text).items()}
        known.but(**weights)
    except (ValueError, TypeError, AttributeError, InvalidArgument) as error:
        raise InvalidArgument(
            f"the index was tuned to weights that cannot be used ({error})", cure=Cure.UNTUNE
        ) from None
    return weights
