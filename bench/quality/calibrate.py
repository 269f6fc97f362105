"""Fit the relevance of hits on judged collections, and measure it on those left out.

    python -m bench calibrate FOLDER_OF_COLLECTIONS FOLDER_OF_INDEXES [NAME ...] [--questions 150] [--write]

The indexes are those of `bench ranking --keep`; what is missing is built. Every collection is asked

    its own questions        a hit whose document is judged relevant is an answer; of the others nobody knows for sure
    questions of the others  no hit is an answer (collections on neighbouring subjects are not asked each other's)
    nonsense                 made-up words, placeholder text, real words at random: no hit is an answer

and the first ten hits are looked at. Answers weigh as much as all the rest together, and all collections weigh alike.
Of the rest, hits for questions that have an answer weigh `UNJUDGED`: few passages are judged, so a hit without a
judgement is hardly evidence against itself. Words alone take more questions of other collections for their own, and
need what evidence there is. What is fitted is how likely a hit is for a question that has its answer here, where that
is as likely as not. Errors and Brier scores are those of an even mix, half of it hits without an answer that were found
for own questions.

Printed is first how well that holds which users see: by collection, the Brier score of the hits of a default search,
ten equal bins of relevance (its mean, the share of answers, how many hits there are), and how many of the answers, of
the other hits of its own questions, and of the hits of the rest are called high, medium and low.

Then follow, for each collection with the coefficients fitted on the others: the expected calibration error (ten bins,
in that even mix), the share of answers among the hits of its own questions by level (a lower bound: most collections
judge only few documents a question), the share of its answers above low, and the share of questions without an answer
that have any hit above low. Brier score and bins follow as above. `--write` stores the coefficients beside the bundled
model; those for words alone, and those for cosines by the scale of any model, are printed, and stand in
rifflux/retrieve/steps/calibrate.py.
"""

from __future__ import annotations

import argparse
import json
import random
import string
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rifflux.evaluate import Cache, Collection, JudgedQuestion, read_beir
from rifflux.index import Index
from rifflux.models.embedder import BUNDLED
from rifflux.models.onnx import OnnxEmbedder
from rifflux.models.scale import stored_scale
from rifflux.retrieve.steps.calibrate import MEANING as ANY_MODEL
from rifflux.retrieve.steps.calibrate import STORED, WORDS, Calibration, Relevance
from rifflux.retrieve.steps.rerank import Rerank, Scored
from rifflux.retrieve.table import HIGH, MEDIUM, Candidates
from rifflux.types import Hit, Query, Scores

NAMES = ("scifact", "nfcorpus", "cacm", "cosqa", "locomo", "cfr30", "srd5e", "stacks", "stacks:terms")
SCOPES = {"locomo": "conversation"}
#: Collections about the same things, whose questions may well have answers in each other.
NEIGHBOURS = ({"scifact", "nfcorpus"}, {"cacm", "cosqa"}, {"stacks", "stacks:terms"})
PAGE, FOREIGN, NONSENSE, BINS = 10, 25, 60, 10
MEANING = ("cosine", "coverage", "length", "named", "title")
#: What hits of a collection's own questions that nobody judged weigh, where answers weigh .5: by meaning, by words.
UNJUDGED, UNJUDGED_BY_WORDS = 0.07, 0.25
LOREM = ["lorem", "ipsum", "dolor", "sit", "amet", "consectetur", "adipiscing", "elit", "sed", "do", "eiusmod"]
Mask = NDArray[np.bool_]
OWN, OTHERS, MADE_UP = "own", "others", "made up"


@dataclass
class Sample:
    """Hits with their features or relevance: whose question found them, which, and whether they answer it."""

    origin: list[str] = field(default_factory=list)
    question: list[str] = field(default_factory=list)
    answer: list[bool] = field(default_factory=list)
    values: list[Scores] = field(default_factory=list)
    relevance: list[float] = field(default_factory=list)

    def add(self, origin: str, question: JudgedQuestion, documents: Iterable[str]) -> None:
        """Add the hits of a question by their documents."""
        answers = [question.grades.get(document, 0) > 0 for document in documents]
        self.origin += [origin] * len(answers)
        self.question += [question.text] * len(answers)
        self.answer += answers

    def features(self) -> Mapping[str, Scores]:
        """All features, one array each."""
        return dict(zip(MEANING, np.concatenate(self.values, axis=1), strict=True))

    def weights(self, unjudged: float = 0.25) -> Scores:
        """Half of the weight on answers, `unjudged` on other hits of own questions, what is left on the others."""
        own, answer = np.array(self.origin) == OWN, np.array(self.answer)
        weights = np.zeros(len(own))
        for which, share in ((own & answer, 0.5), (own & ~answer, unjudged), (~own, 0.5 - unjudged)):
            weights[which] = share / max(1, which.sum())
        return weights


@dataclass
class Recorder:
    """Looks at the first page as a reranker does, notes its features, and leaves the order as it is."""

    relevance: Relevance
    name: str = "recorder"
    _seen: list[Mapping[str, Scores]] = field(default_factory=list)

    def __call__(self, query: Query, table: Candidates) -> Scored:
        """Note the features of the hits."""
        self._seen.append(self.relevance.features(query, table))
        return Scored(-np.arange(len(table), dtype=np.float64))

    def seen(self) -> Mapping[str, Scores] | None:
        """The features noted last, once; None where there was no hit."""
        return self._seen.pop() if self._seen else None


def main() -> None:
    """Print how the calibrations hold on what they were not fitted to, and their coefficients fitted to all."""
    arguments = _arguments()
    collections = {name: _read(arguments.data, name) for name in arguments.names or NAMES}
    with Cache(arguments.indexes) as cache:
        shown = {name: _shown(name, collections, arguments.questions, cache) for name in collections}
        samples = {name: _sampled(name, collections, arguments.questions, cache) for name in collections}
    seen = {name: np.array(sample.relevance) for name, sample in shown.items()}
    print("\n".join(["as users see it", *_reliability(shown, seen), *_called(shown, seen)]))
    for title, names in (("meaning and words", MEANING), ("words alone", MEANING[1:])):
        print(f"\n{title}\n{'left out':<13} {'error':>6} {'high':>11} {'medium':>11} {'low':>11} {'found':>6}"
              f" {'others':>7} {'made up':>7}")  # fmt: skip
        relevance = {name: _left_out(name, samples, names) for name in samples}
        for name, sample in samples.items():
            print(f"{name:<13} {_told(sample, relevance[name])}")
        print("\n".join(_reliability(samples, relevance)))
        found = fit(list(samples.values()), names)
        print(f"fitted to all: {_spelled(found)}")
        if names == MEANING:
            print(f"the same by the scale of a model: {_spelled(_scaled(found))}")
            if arguments.write:
                _write(found)
    print(f"in use: {_spelled(ANY_MODEL)} by the scale of a model, {_spelled(WORDS)} by words alone")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("indexes", type=Path)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--questions", type=int, default=150, help="of each collection, at most")
    parser.add_argument("--write", action="store_true", help="store what was fitted beside the bundled model")
    return parser.parse_args()


def _read(data: Path, name: str) -> Collection:
    folder, _, qrels = name.partition(":")
    return read_beir(data / folder, qrels or "test", scope=SCOPES.get(folder))


# What is looked at


def _sampled(name: str, collections: Mapping[str, Collection], most: int, cache: Cache) -> Sample:
    """The hits of a collection for its own questions, for those of others, and for nonsense."""
    collection, sample = collections[name], Sample()
    index = cache.index(collection)
    # Asked by words alone, identifiers would have no cosine.
    index = index.using(replace(index.profile, shortcut=False))
    recorder = Recorder(Relevance(index.admin.store, index.profile.analyzer))
    for origin, question in _questions(name, collections, most):
        hits = _ask(index, collection, question, rerank=Rerank(recorder, top=PAGE))
        found = recorder.seen()
        if found is not None:
            sample.values.append(np.stack([found[feature] for feature in MEANING]))
            sample.add(origin, question, map(collection.identify, hits))
    return sample


def _shown(name: str, collections: Mapping[str, Collection], most: int, cache: Cache) -> Sample:
    """The hits that users see for the same questions, with their relevance."""
    collection, sample = collections[name], Sample()
    index = cache.index(collection)
    for origin, question in _questions(name, collections, most):
        hits = _ask(index, collection, question)
        sample.relevance += [hit.relevance or 0.0 for hit in hits]
        sample.add(origin, question, map(collection.identify, hits))
    return sample


def _questions(name: str, collections: Mapping[str, Collection], most: int) -> Iterator[tuple[str, JudgedQuestion]]:
    """A collection's own questions, and those that it has no answer to, asked where one of its own is."""
    choice, collection = random.Random(name), collections[name]
    own = _some(collection.questions, most, choice)
    yield from ((OWN, question) for question in own)
    for origin, text in unanswerable(name, collections, choice):
        yield origin, JudgedQuestion("", text, {}, choice.choice(own).metadata)


def _ask(index: Index, collection: Collection, question: JudgedQuestion, **options: Any) -> Sequence[Hit]:
    return index.search(question.text, top_k=PAGE, filter=collection.filter(question), **options).hits


def _some(questions: Sequence[JudgedQuestion], most: int, choice: random.Random) -> list[JudgedQuestion]:
    return choice.sample(list(questions), min(most, len(questions)))


def unanswerable(name: str, collections: Mapping[str, Collection], choice: random.Random) -> Iterator[tuple[str, str]]:
    """Questions that a collection has no answer to, and where they come from."""
    near = set().union({name}, *(group for group in NEIGHBOURS if name in group))
    for other, collection in collections.items():
        if other not in near:
            yield from ((OTHERS, each.text) for each in _some(collection.questions, FOREIGN, choice))
    words = sorted({word for each in collections.values() for asked in each.questions for word in asked.text.split()})
    for _ in range(NONSENSE // 3):
        yield MADE_UP, " ".join("".join(choice.choices(string.ascii_lowercase, k=6)) for _ in range(3))
        yield MADE_UP, " ".join(choice.sample(LOREM, choice.randint(3, 7)))
        yield MADE_UP, " ".join(choice.sample(words, choice.randint(3, 7)))


# What is fitted


def fit(samples: Sequence[Sample], names: Sequence[str], ridge: float = 1e-4) -> Calibration:
    """Weighted logistic regression by Newton's method; `ridge` keeps coefficients finite where a feature decides."""
    columns = [
        np.stack([np.ones(len(sample.answer))] + [sample.features()[name] for name in names], axis=1)
        for sample in samples
    ]
    matrix = np.concatenate(columns)
    answer = np.concatenate([sample.answer for sample in samples])
    unjudged = UNJUDGED if "cosine" in names else UNJUDGED_BY_WORDS
    weights = np.concatenate([sample.weights(unjudged) for sample in samples]) / len(samples)
    penalty = ridge * np.diag([0.0] + [1.0] * len(names))
    found = np.zeros(matrix.shape[1])
    for _ in range(50):
        likely = 1 / (1 + np.exp(-matrix @ found))
        slope = matrix.T @ (weights * (likely - answer)) + penalty @ found
        curve = (matrix * (weights * likely * (1 - likely))[:, None]).T @ matrix + penalty
        step = np.linalg.solve(curve, slope)
        found -= step
        if np.abs(step).max() < 1e-9:
            break
    intercept, *rest = found.tolist()
    return Calibration(intercept, dict(zip(names, rest, strict=True)))


def _left_out(name: str, samples: Mapping[str, Sample], names: Sequence[str]) -> Scores:
    """The relevance of a collection's hits, by what was fitted on the others."""
    rest = [samples[other] for other in samples if other.partition(":")[0] != name.partition(":")[0]]
    return fit(rest, names)(samples[name].features())


def _told(sample: Sample, relevance: Scores) -> str:
    """The figures of one collection, as a row."""
    origin, answer = np.array(sample.origin), np.array(sample.answer)
    own = origin == OWN
    levels = (relevance >= HIGH, (relevance >= MEDIUM) & (relevance < HIGH), relevance < MEDIUM)
    told = [f"{calibration_error(relevance, answer, sample.weights()):6.3f}"]
    told += [
        f"{answer[own & level].mean() if (own & level).any() else 0:5.2f}/{(own & level).sum():<5}" for level in levels
    ]
    told.append(f"{(relevance[own & answer] >= MEDIUM).mean():6.2f}")
    told += [f"{_fooled(sample, relevance, origin == each):7.3f}" for each in (OTHERS, MADE_UP)]
    return " ".join(told)


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


def _reliability(samples: Mapping[str, Sample], relevance: Mapping[str, Scores]) -> Iterator[str]:
    """A row for each collection: its Brier score, and each bin as mean relevance, share of answers and hits."""
    yield f"\n{'collection':<13} {'brier':>6} " + " ".join(f"{f'{each / BINS:.1f}':>14}" for each in range(BINS))
    for name, sample in samples.items():
        given = relevance[name], np.array(sample.answer), sample.weights()
        bins = (f"{mean:.2f} {share:.2f} {hits:<4}" if hits else "-" for mean, share, hits in reliability(*given))
        yield f"{name:<13} {brier(*given):6.3f} " + " ".join(f"{each:>14}" for each in bins)


def _called(samples: Mapping[str, Sample], relevance: Mapping[str, Scores]) -> Iterator[str]:
    """A row for each collection: the shares called high, medium and low of its answers, and of what is none."""
    groups = ("answers", "others of its questions", "without an answer")
    yield f"\n{'high, medium, low of':<21}" + " ".join(f"{group:>24}" for group in groups)
    for name, sample in samples.items():
        own, answer, seen = np.array(sample.origin) == OWN, np.array(sample.answer), relevance[name]
        cells = []
        for group in (own & answer, own & ~answer, ~own):
            high, above = (float((seen[group] >= level).mean()) for level in (HIGH, MEDIUM))
            cells.append(f"{high:.3f} {above - high:.3f} {1 - above:.3f} of {group.sum():<4}")
        yield f"{name:<21}" + " ".join(f"{cell:>24}" for cell in cells)


def _fooled(sample: Sample, relevance: Scores, which: Mask) -> float:
    """The share of some questions that have a hit above low."""
    asked = np.array(sample.question)
    return len(set(asked[which & (relevance >= MEDIUM)])) / max(1, len(set(asked[which])))


def _rounded(weights: Mapping[str, float]) -> dict[str, float]:
    return {name: round(weight, 2) for name, weight in weights.items()}


def _spelled(found: Calibration) -> str:
    return f"{found.intercept:.2f}, {_rounded(found.weights)}"


def _scaled(found: Calibration) -> Calibration:
    """A calibration of the bundled model for cosines told by its scale: for any model."""
    scale = stored_scale(OnnxEmbedder.load(BUNDLED))
    assert scale
    cosine, missed, found_at = found.weights["cosine"], scale.missed, scale.found
    return Calibration(found.intercept + cosine * missed, {**found.weights, "cosine": cosine * (found_at - missed)})


def _write(found: Calibration) -> None:
    content = {
        "fingerprint": OnnxEmbedder.load(BUNDLED).fingerprint,
        "intercept": round(found.intercept, 2),
        "weights": _rounded(found.weights),
    }
    (BUNDLED / STORED).write_text(json.dumps(content, indent=2) + "\n", "utf-8")
