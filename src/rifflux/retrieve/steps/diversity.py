"""Steps against repetition on a page.

They process the whole ordered pool of candidates before the page is cut, so they never shorten a page while candidates
remain.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from rifflux.errors import InvalidArgument
from rifflux.retrieve.pipeline import Plan, Stage
from rifflux.retrieve.table import OTHERS, RANK, SCORE, Candidates, declare
from rifflux.types import Hit, Scores, Vectors

#: The grouping of a page: every chunk by itself, or the best chunk of each document.
CHUNK = "chunk"
DOCUMENT = "document"
declare("mmr/relevance", "share of the score", "the min-max scaled score, times lambda")
declare("mmr/redundancy", "share of the score", "the similarity to a better candidate, times 1 - lambda, negated")

_WORD = re.compile(r"\w+")
_WIDTH = 3


def one_per_document(plan: Plan, table: Candidates) -> Candidates:
    """Keep the best candidate of each document, and count the others."""
    del plan
    best: dict[tuple[str, str], int] = {}
    stands_for = [best.setdefault(hit.place, place) for place, hit in enumerate(table.passages)]
    return _representatives(table, stands_for, "one per document")


@dataclass(frozen=True, slots=True)
class NearDuplicates:
    """Collapses hits with nearly identical texts into the best of them, and counts the others.

    Two texts are near-duplicates if their resemblance is at least `threshold`: the Jaccard similarity of their runs of
    three words (Broder, "On the resemblance and containment of documents", 1997). Computed exactly: a pool is too small
    to need sketches.
    """

    threshold: float = 0.8

    def __post_init__(self) -> None:
        if not 0 < self.threshold <= 1:
            raise InvalidArgument(
                f"the threshold of near-duplicates must be above 0 and at most 1, not {self.threshold}"
            )

    def __call__(self, plan: Plan, table: Candidates) -> Candidates:
        """Keep the best candidate of each group of near-duplicates, in order, and count the others."""
        del plan
        shingles = [_shingles(hit.text) for hit in table.passages]
        holders: dict[tuple[str, ...], list[int]] = defaultdict(list)
        stands_for = []
        for place, own in enumerate(shingles):
            common = Counter(other for shingle in own for other in holders[shingle])
            alike = (
                other
                for other in sorted(common)
                if common[other] >= self.threshold * (len(own) + len(shingles[other]) - common[other])
            )
            stands_for.append(next(alike, place))
            if stands_for[-1] == place:
                for shingle in own:
                    holders[shingle].append(place)
        return _representatives(table, stands_for, "collapse")


def _shingles(text: str) -> set[tuple[str, ...]]:
    """Return the runs of three adjacent words of a text, or all words of a shorter one."""
    words = _WORD.findall(text.casefold())
    runs = range(max(1, len(words) - _WIDTH + 1))
    if words:
        return {tuple(words[start : start + _WIDTH]) for start in runs}
    return set()


def resemblance(one: str, other: str) -> float:
    """Return the Jaccard similarity of two texts' runs of three words; 0 if one has no words."""
    first = _shingles(one)
    second = _shingles(other)
    if first and second:
        return len(first & second) / len(first | second)
    return 0.0


def _representatives(table: Candidates, stands_for: Sequence[int], stage: str) -> Candidates:
    """Return the representative candidates, with the number of others that each stands for."""
    counts = Counter(stands_for)
    table = table.take(list(counts))
    others = np.array(list(counts.values()), np.float64) - 1
    others[others == 0] = np.nan
    ranks, scores = (np.where(np.isnan(others), np.nan, values) for values in (table.ranks(), table[SCORE]))
    return table.with_stage(stage, {RANK: ranks, "score": scores, OTHERS: others})


@dataclass(frozen=True, slots=True)
class Mmr:
    """Reorders hits by maximal marginal relevance: relevant ones first, but each unlike those above it.

    Repeatedly takes the hit that maximises `lambda_` · relevance − (1 − `lambda_`) · similarity to the most similar hit
    already taken (Carbonell and Goldstein, "The Use of MMR, Diversity-Based Reranking for Reordering Documents and
    Producing Summaries", SIGIR 1998). Relevance is the min-max scaled score; similarity is the cosine of the vectors,
    or of the words if a vector is missing. The value becomes the hit's score. Only the first `pool` hits are reordered,
    because the cost is quadratic.
    """

    lambda_: float = 0.7
    pool: int = 200

    def __post_init__(self) -> None:
        if not 0 <= self.lambda_ <= 1:
            raise InvalidArgument(f"lambda must be from 0 to 1, not {self.lambda_}")

    def __call__(self, plan: Plan, table: Candidates) -> Candidates:
        """Return the candidates in their new order; the first remains first."""
        if not len(table):
            return table
        head = table.head(self.pool)
        relevance = self.lambda_ * _scaled(head[SCORE])
        taken, penalties = _greedy(relevance, (1 - self.lambda_) * self._similarities(plan, head))
        scores = relevance[taken] - penalties
        ranks = head.ranks()
        table = table.take([*taken, *range(len(head), len(table))])
        parts = {RANK: ranks, "score": scores, "relevance": relevance[taken], "redundancy": 0.0 - penalties}
        # The remaining candidates are on another scale and go below.
        below = np.full(len(table) - len(head), scores[-1])
        return table.with_stage("mmr", parts).with_column(SCORE, np.concatenate([scores, below]))

    def _similarities(self, plan: Plan, table: Candidates) -> Scores:
        """Return the pairwise similarity of candidates, in [0, 1]: (candidates, candidates)."""
        known = plan.evidence.vectors(table.ids)
        ids = table.ids.tolist()
        if len(known) == len(ids):
            vectors = np.stack([known[id] for id in ids])
        else:
            vectors = _bags(table.passages)
        return np.asarray(np.clip(vectors @ vectors.T, 0.0, 1.0), np.float64)


def _greedy(relevance: Scores, similarity: Scores) -> tuple[list[int], Scores]:
    """Return positions in order of marginal relevance, with each one's maximum similarity to those before it."""
    penalties = np.zeros(len(relevance))
    left = np.ones(len(relevance), bool)
    taken = []
    paid = []
    for _ in relevance:
        best = int(np.argmax(np.where(left, relevance - penalties, -np.inf)))
        taken.append(best)
        paid.append(float(penalties[best]))
        left[best] = False
        penalties = np.maximum(penalties, similarity[best])
    return taken, np.array(paid)


def _scaled(scores: Scores) -> Scores:
    """Return min-max scaled scores; all 1 if they are equal."""
    spread = scores.max() - scores.min()
    return np.asarray((scores - scores.min()) / spread if spread else np.ones(len(scores)))


def _bags(hits: Sequence[Hit]) -> Vectors:
    """Return the words of each text as unit vectors: (hits, words)."""
    texts = [set(_WORD.findall(f"{hit.title} {hit.text}".casefold())) for hit in hits]
    places: Mapping[str, int] = {word: place for place, word in enumerate(sorted(set().union(*texts)))}
    bags = np.zeros((len(texts), max(1, len(places))), np.float32)
    for row, words in enumerate(texts):
        if words:
            bags[row, [places[word] for word in words]] = 1 / np.sqrt(len(words))
    return bags


@dataclass(frozen=True, slots=True)
class Diversity:
    """The settings against repetition; all off by default.

    `group` is `document` for one hit per document, or `chunk`. `diversify` weights novelty against relevance, from 0
    (off) to 1; True is .3. `collapse` drops near-duplicates.
    """

    group: str = CHUNK
    diversify: float = 0.0
    collapse: bool = False

    def __post_init__(self) -> None:
        if self.group not in (CHUNK, DOCUMENT):
            raise InvalidArgument(f"cannot group by {self.group!r}; choose {DOCUMENT!r} or {CHUNK!r}")
        if isinstance(self.diversify, bool):
            object.__setattr__(self, "diversify", 0.3 * self.diversify)
        if not isinstance(self.diversify, int | float) or not 0 <= self.diversify <= 1:
            raise InvalidArgument(f"diversify must be True, False or a number from 0 to 1, not {self.diversify!r}")

    def but(self, *, one_per_document: bool | None, diversify: bool | float | None, collapse: bool | None) -> Diversity:
        """Return a copy with the given values changed; None leaves a value."""
        group = self.group
        if one_per_document is not None:
            group = DOCUMENT if one_per_document else CHUNK
        return Diversity(
            group,
            self.diversify if diversify is None else diversify,
            self.collapse if collapse is None else collapse,
        )

    @property
    def stages(self) -> list[Stage]:
        """Return the stages in order: near-duplicates, then documents, then similar hits."""
        stages: list[Stage] = []
        if self.collapse:
            stages.append(Stage("collapse", NearDuplicates()))
        if self.group == DOCUMENT:
            stages.append(Stage("one per document", one_per_document))
        if self.diversify:
            stages.append(Stage("mmr", Mmr(1 - self.diversify)))
        return stages


#: No settings against repetition.
REPEATING = Diversity()
