"""Ranking measures per question, and tests of the significance of differences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module

import numpy as np
from numpy.typing import NDArray

from rifflux.errors import Cure, MissingExtra
from rifflux.evaluate.collection import JudgedQuestion
from rifflux.types import Scores

#: Our names of the measures, and those of ir-measures: the gain of nDCG is linear, as in trec_eval and BEIR.
MEASURES: Mapping[str, str] = {"ndcg@10": "nDCG@10", "recall@20": "R@20", "mrr@10": "RR@10", "p@5": "P@5"}
#: The measure by which runs are compared.
PRIMARY = "ndcg@10"

#: Documents by question, best first.
Rankings = Mapping[str, Sequence[str]]


def measured(questions: Sequence[JudgedQuestion], rankings: Rankings) -> Mapping[str, Scores]:
    """Return every measure of `MEASURES` as an array with one value per question, in order.

    A question without a ranking counts zero. Raises `MissingExtra` if ir-measures is not installed.
    """
    try:
        ir_measures = import_module("ir_measures")
    except ImportError:
        raise MissingExtra("evaluation needs ir-measures", cure=Cure.INSTALL, package="rifflux[eval]") from None
    judged = {question.id: dict(question.grades) for question in questions}
    # Only the order matters; ranks as scores are exact where nearly tied scores would not be.
    run = {id: {document: float(-rank) for rank, document in enumerate(rankings.get(id, ()), 1)} for id in judged}
    names = {ir_measures.parse_measure(theirs): ours for ours, theirs in MEASURES.items()}
    place = {question.id: number for number, question in enumerate(questions)}
    values = {name: np.zeros(len(questions)) for name in MEASURES}
    for metric in ir_measures.iter_calc(list(names), judged, run):
        values[names[metric.measure]][place[metric.query_id]] = metric.value
    return values


@dataclass(frozen=True, slots=True)
class Bootstrap:
    """Bootstrap resampling of the questions, to generalize to other questions of the same kind.

    Efron and Tibshirani, "An Introduction to the Bootstrap", 1993, chapters 13 and 16; for retrieval see Smucker, Allan
    and Carterette, "A Comparison of Statistical Significance Tests for Information Retrieval Evaluation", CIKM 2007.
    The seed is fixed, so results are reproducible. P values are not corrected for the number of compared runs.
    """

    resamples: int = 10_000
    seed: int = 7

    def p_value(self, differences: Scores) -> float:
        """Return the two-sided p value of paired differences, one per question, for the null hypothesis of mean zero.

        The differences are shifted to mean zero, and p is the share of resampled means at least as far from zero as the
        observed one, which itself counts as one of them. All-zero differences give 1.
        """
        observed = differences.mean()
        means = self._means(differences - observed)
        # The margin prevents sums that differ only by rounding from counting as farther away.
        extreme = np.count_nonzero(np.abs(means) >= abs(observed) - 1e-12)
        return float((1 + extreme) / (1 + self.resamples))

    def interval(self, values: Scores, confidence: float = 0.95) -> tuple[float, float]:
        """Return the percentile interval of the mean of `values`, one per question."""
        tail = (1 - confidence) / 2
        low, high = np.quantile(self._means(values), [tail, 1 - tail])
        return float(low), float(high)

    def _means(self, values: Scores) -> NDArray[np.float64]:
        """Return the mean of each resample."""
        random = np.random.default_rng(self.seed)
        # In batches, because thousands of questions times ten thousand resamples need much memory.
        batch = max(1, 2_000_000 // len(values))
        starts = range(0, self.resamples, batch)
        sizes = [min(batch, self.resamples - start) for start in starts]
        picks = (random.integers(0, len(values), (size, len(values))) for size in sizes)
        return np.concatenate([values[pick].mean(axis=1) for pick in picks])
