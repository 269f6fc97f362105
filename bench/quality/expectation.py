"""Fit what questions ask of a block, on sets of questions with a gold; measure it on each set by a fit on the others.

    python -m bench expectation QUESTIONS INDEX [QUESTIONS INDEX ...] [--write FILE]

QUESTIONS is a set as `bench answers` reads it, INDEX one that holds its documents (made by `bench answers --keep`). The
blocks of each question are compared as for an answer. A block of the gold's document that is right as it is quoted
should have the highest score; the weights of the features of blocks, by the question's place on the axes along which
questions differ most (`rifflux/answer/expectation.py`), are those that make it likely (a softmax over the blocks).
Printed is, as a table in Markdown, how many best blocks are right without these weights and with those fitted on the
other sets. `--write` writes the weights fitted on all sets.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import rifflux
from bench.quality.answers import RIGHT, UNANSWERABLE, WRONG, GoldQuestion, read_questions
from bench.quality.kept import markdown
from rifflux import Index
from rifflux.answer import Answerer
from rifflux.answer.expectation import Expectation, place_of, write_expectation
from rifflux.index.sources import of_answers
from rifflux.requests import QuestionRequest
from rifflux.types import Scores, Vectors
from rifflux.works.export import CITING

Flags = NDArray[np.bool_]
#: The axes along which questions are told apart, and half their standard deviations from the middle to the end of one.
AXES = 32
REACH = 2.0
#: How much a difference of scores tells: the log odds of two blocks are so many times it.
SHARPNESS = 14.0
#: What the square of a weight costs, and the share of that for a weight that all questions have.
PENALTY = 0.007
COMMON = 0.3
#: The share of the fitted weights that is used: what is held on other sets is less than what is fitted.
USED = 0.5
#: The steps of the fit, and the size of one.
STEPS = 400
STEP = 0.03


@dataclass(frozen=True)
class JudgedBlocks:
    """A question's vector with the features and former scores of its blocks.

    `is_right` is True for a block that answers, wherever it stands, `is_gold` for one in a document that answers.
    `is_known` is True for the latter and for blocks that are wrong; of others it cannot be said.
    """

    question: Vectors
    features: Scores
    scores: Scores
    is_right: Flags
    is_gold: Flags
    is_known: Flags


def main() -> None:
    """Print how many best blocks are right with and without the weights, and write these."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="+", type=Path, metavar="QUESTIONS INDEX")
    parser.add_argument("--write", type=Path, help="the file that the weights fitted on all sets are written to")
    arguments = parser.parse_args()
    paths: list[Path] = arguments.sets
    sets: dict[str, list[JudgedBlocks]] = {}
    fingerprint = ""
    for questions, path in zip(paths[::2], paths[1::2], strict=True):
        with rifflux.open(path) as index:
            fingerprint = index.admin.view.embedder.fingerprint
            sets[f"{questions.parent.name}/{questions.stem}"] = [*_judged(index, read_questions(questions))]
    if not any(each.is_gold.any() for own in sets.values() for each in own):
        print("no right blocks: there is nothing to fit")
        return
    print("\n".join(_report(sets)))
    if arguments.write:
        write_expectation(arguments.write, fingerprint, fitted([each for own in sets.values() for each in own]))


def _judged(index: Index, questions: Sequence[GoldQuestion]) -> Iterator[JudgedBlocks]:
    answerer = Answerer([*of_answers(index.admin.view)], CITING)
    for each in questions:
        if each.kind == UNANSWERABLE:
            continue
        history: list[tuple[str, str]] = []
        if each.previous:
            before = index.answer(each.previous)
            history = [("user", each.previous), ("assistant", before.text or before.reason)]
        ranking = answerer.look_up(QuestionRequest(question=each.question, history=history)).ranking
        if not ranking.question or not ranking.blocks:
            continue
        verdicts = [each.verdict(block.quotation().labelled) for block in ranking.blocks]
        stands = [not each.file or each.is_gold(block.passage.item.key) for block in ranking.blocks]
        both = [*zip(verdicts, stands, strict=True)]
        yield JudgedBlocks(
            ranking.question.mean,
            np.array([block.features for block in ranking.blocks]),
            np.array([block.score - block.expected for block in ranking.blocks]),
            np.array([verdict == RIGHT for verdict in verdicts]),
            np.array([verdict == RIGHT and is_gold for verdict, is_gold in both]),
            np.array([verdict == WRONG or (verdict == RIGHT and is_gold) for verdict, is_gold in both]),
        )


def fitted(judged: Sequence[JudgedBlocks]) -> Expectation:
    """Return the weights that make right blocks likely, by gradient descent (Adam)."""
    questions = np.array([each.question for each in judged], float)
    center = questions.mean(axis=0)
    _, deviations, directions = np.linalg.svd(questions - center, full_matrices=False)
    count = min(AXES, int((deviations > 1e-6).sum()))
    scale = np.sqrt(len(questions)) / deviations[:count, None]
    axes = directions[:count] * scale / REACH
    usable = [each for each in judged if each.is_gold.any()]
    longest = max(len(each.scores) for each in usable)
    places = np.array([place_of(each.question, center, axes) for each in usable])
    features = np.array([_padded(each.features - each.features.mean(axis=0), longest) for each in usable])
    scores = SHARPNESS * np.array([_padded(each.scores, longest) for each in usable])
    known = np.array([_padded(each.is_known, longest) for each in usable]) > 0
    right = np.array([_padded(each.is_gold, longest) for each in usable]) > 0
    penalty = PENALTY * np.array([COMMON, *np.ones(count)])[:, None]
    weights = np.zeros((1 + count, features.shape[2]))
    mean = np.zeros_like(weights)
    square = np.zeros_like(weights)
    for step in range(1, STEPS + 1):
        odds = scores + np.einsum("qbf,qf->qb", features, places @ weights)
        wrong_by = (_likely(odds, known) - _likely(odds, right)) / len(usable)
        gradient = places.T @ np.einsum("qb,qbf->qf", wrong_by, features) + 2 * penalty * weights
        mean += 0.1 * (gradient - mean)
        square += 0.001 * (gradient**2 - square)
        weights -= STEP * (mean / (1 - 0.9**step)) / (np.sqrt(square / (1 - 0.999**step)) + 1e-8)
    return Expectation(center, axes, weights * USED / SHARPNESS)


def _likely(odds: Scores, among: Flags) -> Scores:
    """Return the probability of each block, given that it is one of some."""
    raised = np.where(among, odds, -np.inf)
    likely: Scores = np.exp(raised - raised.max(axis=1, keepdims=True))
    likely /= likely.sum(axis=1, keepdims=True)
    return likely


def _padded(values: Scores | Flags, length: int) -> Scores:
    """Return values with rows of zeros behind them."""
    rows = np.zeros((length, *values.shape[1:]))
    rows[: len(values)] = values
    return rows


def _report(sets: Mapping[str, Sequence[JudgedBlocks]]) -> Iterator[str]:
    rows: list[tuple[str, ...]] = []
    totals = np.zeros(3, int)
    for name, own in sets.items():
        others = [judged for other, judged_of in sets.items() if other != name for judged in judged_of]
        if not any(each.is_gold.any() for each in others):
            others = [*own]
        expectation = fitted(others)
        before = sum(bool(each.is_right[each.scores.argmax()]) for each in own)
        scores = [each.scores + expectation.added(each.question, each.features) for each in own]
        after = sum(bool(each.is_right[new.argmax()]) for each, new in zip(own, scores, strict=True))
        figures = (len(own), before, after)
        totals += figures
        rows.append((name, *map(str, figures)))
    rows.append(("all", *map(str, totals.tolist())))
    yield from markdown(("set", "questions", "best block right, without", "with"), rows)


if __name__ == "__main__":
    main()
