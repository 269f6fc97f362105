"""How well relevance holds: hits with what is known of them, Brier score, reliability by bins, levels, as tables."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from bench.quality.kept import markdown
from rifflux.evaluate import JudgedQuestion
from rifflux.retrieve.table import HIGH, MEDIUM
from rifflux.types import Scores

__all__ = [
    "FEATURES",
    "MADE_UP",
    "OTHERS",
    "OWN",
    "Mask",
    "Sample",
    "brier",
    "calibration_error",
    "reliability",
    "summed_up",
]

FEATURES = ("cosine", "coverage", "length", "named", "title")
OWN, OTHERS, MADE_UP = "own", "others", "made up"
BINS = 10
Mask = NDArray[np.bool_]


@dataclass
class Sample:
    """Hits with their features or relevance: whose question found them, at which place, and whether they answer it."""

    origin: list[str] = field(default_factory=list)
    question: list[str] = field(default_factory=list)
    place: list[int] = field(default_factory=list)
    answer: list[bool] = field(default_factory=list)
    values: list[Scores] = field(default_factory=list)
    relevance: list[float] = field(default_factory=list)

    def add(self, origin: str, question: JudgedQuestion, documents: Iterable[str]) -> None:
        """Add the hits of a question by their documents."""
        answers = [question.grades.get(document, 0) > 0 for document in documents]
        self.origin += [origin] * len(answers)
        self.question += [question.text] * len(answers)
        self.place += range(len(answers))
        self.answer += answers

    def features(self) -> Mapping[str, Scores]:
        """All features, one array each."""
        return dict(zip(FEATURES, np.concatenate(self.values, axis=1), strict=True))

    def weights(self, unjudged: float = 0.25) -> Scores:
        """Half of the weight on answers, `unjudged` on other hits of own questions, what is left on the others."""
        answer, others, without = self.groups()
        weights = np.zeros(len(answer))
        for which, share in ((answer, 0.5), (others, unjudged), (without, 0.5 - unjudged)):
            weights[which] = share / max(1, which.sum())
        return weights

    def groups(self) -> tuple[Mask, Mask, Mask]:
        """Which hits are answers, other hits of the collection's own questions, and hits of questions without one."""
        own, answer = np.array(self.origin) == OWN, np.array(self.answer, np.bool_)
        return own & answer, own & ~answer, ~own

    def fooled(self, relevance: Scores, origin: str) -> float:
        """The share of the questions of an origin that have any hit above low."""
        asked, which = np.array(self.question), np.array(self.origin) == origin
        return len(set(asked[which & (relevance >= MEDIUM)])) / max(1, len(set(asked[which])))


def calibration_error(relevance: Scores, answer: Mask, weights: Scores) -> float:
    """The expected calibration error: how far the share of answers in each bin is from what it should be.

    Naeini, Cooper and Hauskrecht, "Obtaining Well Calibrated Probabilities Using Bayesian Binning", AAAI 2015.
    """
    place = np.minimum((relevance * BINS).astype(int), BINS - 1)
    errors = [abs(float((weights * (relevance - answer))[place == each].sum())) for each in range(BINS)]
    return sum(errors) / float(weights.sum())


def brier(relevance: Scores, answer: Mask, weights: Scores) -> float:
    """The mean square of how far relevance is from the truth: 0 for an oracle, 0.25 for always one half.

    Brier, "Verification of Forecasts Expressed in Terms of Probability", Monthly Weather Review 78, 1950.
    """
    return float((weights * (relevance - answer) ** 2).sum() / weights.sum())


def reliability(relevance: Scores, answer: Mask, weights: Scores) -> Iterator[tuple[float, float, int]]:
    """For each of ten equal bins: the mean relevance, the share of answers, how many hits; nan where there is none."""
    place = np.minimum((relevance * BINS).astype(int), BINS - 1)
    for each in range(BINS):
        here = place == each
        weight = float(weights[here].sum()) or np.nan
        mean, share = (float((weights * values)[here].sum()) / weight for values in (relevance, answer))
        yield mean, share, int(here.sum())


# The tables


def summed_up(samples: Mapping[str, Sample], relevance: Mapping[str, Scores]) -> Iterator[str]:
    """Yield the lines of three tables by collection: Brier score and bins, first hits, and the levels of all hits."""
    bins = [f"from {each / BINS:.1f}" for each in range(BINS)]
    yield from _by_collection(("Brier", "error", *bins), samples, relevance, _curve)
    yield from ("", "First hits, and questions without an answer that have a hit above low:", "")
    heads = ("right: low", "right: high", "of", "wrong: high", "of", "other collections'", "made up")
    yield from _by_collection(heads, samples, relevance, _firsts)
    yield from ("", "All hits, high, medium, low:", "")
    groups = ("answers", "others of its questions", "without an answer")
    yield from _by_collection(groups, samples, relevance, _levels)


def _by_collection(
    heads: Sequence[str],
    samples: Mapping[str, Sample],
    relevance: Mapping[str, Scores],
    told: Callable[[Sample, Scores], Iterator[str]],
) -> Iterator[str]:
    rows = ([name, *told(sample, relevance[name])] for name, sample in samples.items())
    return markdown(("collection", *heads), rows)


def _curve(sample: Sample, relevance: Scores) -> Iterator[str]:
    given = relevance, np.array(sample.answer), sample.weights()
    yield from (f"{brier(*given):.3f}", f"{calibration_error(*given):.3f}")
    yield from (f"{share:.2f} ({hits})" if hits else "" for _, share, hits in reliability(*given))


def _firsts(sample: Sample, relevance: Scores) -> Iterator[str]:
    answer, others, _ = sample.groups()
    first = np.array(sample.place) == 0
    right, wrong = relevance[first & answer], relevance[first & others]
    yield from (_share(right < MEDIUM), _share(right >= HIGH), str(len(right)), _share(wrong >= HIGH), str(len(wrong)))
    yield from (f"{sample.fooled(relevance, origin):.3f}" for origin in (OTHERS, MADE_UP))


def _levels(sample: Sample, relevance: Scores) -> Iterator[str]:
    for group in sample.groups():
        high, above = (float((relevance[group] >= level).mean()) for level in (HIGH, MEDIUM))
        yield f"{high:.3f} {above - high:.3f} {1 - above:.3f} of {group.sum()}"


def _share(which: Mask) -> str:
    return f"{which.mean():.3f}" if len(which) else ""
