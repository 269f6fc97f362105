"""Fit when a question is answered, on sets of questions with a gold; measure it on each set by a fit on the others.

    python -m bench sufficiency QUESTIONS INDEX [QUESTIONS INDEX ...]

QUESTIONS is a set as `bench answers` reads it, INDEX one that holds its documents (made by `bench answers --keep`).
Each question is answered with nothing refused. What is right is told from what is wrong and what has no answer by a
logistic regression over the signals of `rifflux/answer/sufficient.py`: right answers weigh as much as the other two
together, these alike, and every set as much as another. Printed are, as tables in Markdown, the areas under the ROC
curve of each set by a fit on the others (right answers against questions without one, and against wrong ones), what the
weights in use refuse of it, the shares that are refused where so many questions without an answer are refused, and the
weights fitted on all sets.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, repeat
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import rifflux
from bench.quality.answers import RIGHT, UNANSWERABLE, GoldQuestion, read_questions
from bench.quality.kept import markdown
from rifflux import Index
from rifflux.answer import Answerer
from rifflux.answer.extract import chosen, compares
from rifflux.answer.sufficient import CLOSEST, Signals
from rifflux.index.sources import of_answers
from rifflux.requests import QuestionRequest
from rifflux.types import Scores, Vectors
from rifflux.works.export import CITING

#: The signals that are fitted where there are vectors of tokens.
SIGNALS = ("relevance", "fit", "lead")
#: Shares of the questions without an answer that are refused.
REFUSED = (0.7, 0.75, 0.8, 0.85, 0.9)
#: The columns of what is refused.
SHARES = ("unanswerable refused", "answerable refused", "right answers refused", "wrong answers refused")
#: What right answers weigh, and all others together, against a penalty of 1 for the square of a standardized weight.
WEIGHT = 300.0


@dataclass(frozen=True)
class JudgedSignals:
    """The signals of a question, whether its answer is right, and whether it has none."""

    signals: Signals
    is_right: bool
    is_answerable: bool

    @property
    def is_wrong(self) -> bool:
        """Return True for a question that has an answer and does not get it."""
        return self.is_answerable and not self.is_right


@dataclass(frozen=True)
class Fitted:
    """A logistic regression: the weights of standardized signals, the constant first."""

    mean: Scores
    deviation: Scores
    weights: Scores

    def odds(self, signals: Vectors) -> Scores:
        """Return the log odds of an answer for each row."""
        odds: Scores = self.weights[0] + (signals - self.mean) / self.deviation @ self.weights[1:]
        return odds

    @property
    def plain(self) -> Mapping[str, float]:
        """Return the constant and the weights of the signals as they are."""
        weights = self.weights[1:] / self.deviation
        constant = float(self.weights[0] - weights @ self.mean)
        return {"constant": constant, **dict(zip(SIGNALS, weights.tolist(), strict=True))}


def main() -> None:
    """Print how well questions with an answer are told from those without, and the weights that do so."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="+", type=Path, metavar="QUESTIONS INDEX")
    paths: list[Path] = parser.parse_args().sets
    sets: dict[str, list[JudgedSignals]] = {}
    for questions, path in zip(paths[::2], paths[1::2], strict=True):
        with rifflux.open(path) as index:
            sets[f"{questions.parent.name}/{questions.stem}"] = [*_judged(index, read_questions(questions))]
    every = [each for own in sets.values() for each in own]
    if any(each.is_right for each in every) and not all(each.is_answerable for each in every):
        print("\n".join(_report(sets)))
    else:
        print("no right answers, or no questions without one: there is nothing to tell apart")


def _judged(index: Index, questions: Sequence[GoldQuestion]) -> Iterator[JudgedSignals]:
    answerer = Answerer([*of_answers(index.admin.view)], CITING)
    for each in questions:
        history: list[tuple[str, str]] = []
        if each.previous:
            before = index.answer(each.previous)
            history = [("user", each.previous), ("assistant", before.text or before.reason)]
        found = answerer.look_up(QuestionRequest(question=each.question, history=history))
        if found.enough.signals and found.enough.signals.fit is not None:
            quotations = chosen(found.ranking, given=found.given, comparing=compares(each.question))
            text = "\n\n".join(quotation.labelled for quotation in quotations)
            is_answerable = each.kind != UNANSWERABLE
            yield JudgedSignals(found.enough.signals, is_answerable and each.verdict(text) == RIGHT, is_answerable)


def fitted(sets: Sequence[Sequence[JudgedSignals]]) -> Fitted:
    """Return the regression that tells right answers from others and from questions without one, by Newton's method."""
    right_of = [[each for each in own if each.is_right] for own in sets]
    wrong_of = [[each for each in own if each.is_wrong] for own in sets]
    others_of = [[each for each in own if not each.is_answerable] for own in sets]
    rows = [*chain.from_iterable((*right_of, *wrong_of, *others_of))]
    signals = _values(rows)
    right = np.array([each.is_right for each in rows], float)
    weight = np.array([*_weights(right_of, WEIGHT), *_weights(wrong_of, WEIGHT / 2), *_weights(others_of, WEIGHT / 2)])
    mean = signals.mean(axis=0)
    deviation = signals.std(axis=0) + 1e-9
    design = np.hstack([np.ones((len(rows), 1)), (signals - mean) / deviation])
    penalty = np.diag([0.0, *np.ones(len(SIGNALS))])
    weights = np.zeros(design.shape[1])
    for _ in range(50):
        likely = 1 / (1 + np.exp(-design @ weights))
        gradient = design.T @ (weight * (right - likely)) - penalty @ weights
        curvature = (design * (weight * likely * (1 - likely))[:, None]).T @ design + penalty
        weights += np.linalg.solve(curvature, gradient)
    return Fitted(mean, deviation, weights)


def _weights(sets: Sequence[Sequence[JudgedSignals]], weight: float) -> Iterator[float]:
    """Yield the weight of each question of one class: sets that have any share the weight of the class."""
    filled = [own for own in sets if own]
    for own in filled:
        yield from repeat(weight / len(filled) / len(own), len(own))


def _values(judged: Sequence[JudgedSignals]) -> Vectors:
    return np.array([[getattr(each.signals, name) for name in SIGNALS] for each in judged])


def _report(sets: Mapping[str, Sequence[JudgedSignals]]) -> Iterator[str]:
    odds: dict[str, Scores] = {}
    rows: list[tuple[str, ...]] = []
    for name, own in sets.items():
        others = [judged for other, judged in sets.items() if other != name]
        odds[name] = fitted(others or [own]).odds(_values(own))
        refused = np.array([each.signals.probability < CLOSEST for each in own])
        unanswerable_of = np.array([not each.is_answerable for each in own])
        wrong_of = np.array([each.is_wrong for each in own])
        areas = (_area(odds[name], own, unanswerable_of), _area(odds[name], own, wrong_of))
        rows.append((name, *(f"{area:.3f}" for area in areas), *_shares(refused, own)))
    yield from markdown(("set", "area", "area, wrong", *SHARES), rows)
    every = [each for own in sets.values() for each in own]
    together = np.concatenate([*odds.values()])
    unanswerable = np.array([not each.is_answerable for each in every])
    wrong = np.array([each.is_wrong for each in every])
    areas = (_area(together, every, unanswerable), _area(together, every, wrong))
    yield f"\nAll sets, each by a fit on the others: area {areas[0]:.3f}, against wrong answers {areas[1]:.3f}\n"
    limits = [float(np.quantile(together[unanswerable], share)) for share in REFUSED]
    table = [(f"{1 / (1 + np.exp(-limit)):.3f}", *_shares(together < limit, every)) for limit in limits]
    yield from markdown(("refused below", *SHARES), table)
    yield "\n" + ", ".join(f"{name} {value:.2f}" for name, value in fitted([*sets.values()]).plain.items())


def _shares(refused: NDArray[np.bool_], judged: Sequence[JudgedSignals]) -> tuple[str, ...]:
    """Return what is refused of the questions without an answer, of those with one, and of right and wrong answers."""
    kinds = (
        [not each.is_answerable for each in judged],
        [each.is_answerable for each in judged],
        [each.is_right for each in judged],
        [each.is_wrong for each in judged],
    )
    return tuple(f"{refused[np.array(kind)].mean():.3f}" if any(kind) else "" for kind in kinds)


def _area(odds: Scores, judged: Sequence[JudgedSignals], against: NDArray[np.bool_]) -> float:
    """Return the share of pairs of a right answer and one of those `against` it that the odds order rightly."""
    right = odds[np.array([each.is_right for each in judged])]
    others = odds[against]
    if not right.size or not others.size:
        return float("nan")
    return float((right[:, None] > others[None]).mean())


if __name__ == "__main__":
    main()
