"""Fit the relevance of hits on judged collections, and measure it on those left out.

    python -m bench calibrate FOLDER_OF_COLLECTIONS FOLDER_OF_INDEXES [NAME ...] [--questions 150] [--write]
        [--markdown FILE]

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

Printed are, as tables in Markdown, first how well that holds which users see: by collection, Brier score, expected
calibration error and ten equal bins of the relevance of the hits of a default search (the share of answers, how many
hits there are); how many first hits are low that are right, and high that are not judged right, and how many questions
without an answer have any hit above low; and how many of the answers, of the other hits of its own questions, and of
the hits of the rest are called high, medium and low. Then follow the same of words with cosines and of words alone,
each collection by coefficients fitted on the others.

From medium on, of what the logarithm of the odds is more, only a share counts (`above`): hits are told from what is
found where nothing answers, and of hits on the subject the features know less. Printed is which share has the least
logarithmic loss, in the even mix, for each collection; the one in use lies amid them.

`--write` stores the coefficients beside the bundled model; those for words alone, and those for cosines by the scale of
any model, are printed, and stand in rifflux/retrieve/steps/calibrate.py.
"""

from __future__ import annotations

import argparse
import json
import random
import string
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from bench.quality.reliability import FEATURES, MADE_UP, OTHERS, OWN, Sample, summed_up
from rifflux.evaluate import Cache, Collection, JudgedQuestion, read_beir
from rifflux.index import Index
from rifflux.models.onnx import BUNDLED, OnnxEmbedder
from rifflux.models.scale import stored_scale
from rifflux.retrieve.pipeline import Plan
from rifflux.retrieve.steps.calibrate import MEANING as ANY_MODEL
from rifflux.retrieve.steps.calibrate import STORED, WORDS, Calibration, Relevance
from rifflux.retrieve.steps.rerank import Rerank, Scored
from rifflux.retrieve.table import Candidates
from rifflux.types import Hit, Scores

NAMES = ("scifact", "nfcorpus", "cacm", "cosqa", "locomo", "cfr30", "srd5e", "stacks", "stacks:terms")
SCOPES = {"locomo": "conversation"}
#: Collections about the same things, whose questions may well have answers in each other.
NEIGHBOURS = ({"scifact", "nfcorpus"}, {"cacm", "cosqa"}, {"stacks", "stacks:terms"})
PAGE, FOREIGN, NONSENSE = 10, 25, 60
MEANING = FEATURES
#: What hits of a collection's own questions that nobody judged weigh, where answers weigh .5: by meaning, by words.
UNJUDGED, UNJUDGED_BY_WORDS = 0.07, 0.25
LOREM = ["lorem", "ipsum", "dolor", "sit", "amet", "consectetur", "adipiscing", "elit", "sed", "do", "eiusmod"]
#: Shares of the odds above medium that are tried.
SHARES = (0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 1.0)


@dataclass
class Recorder:
    """Looks at the first page as a reranker does, notes its features, and leaves the order as it is."""

    relevance: Relevance
    name: str = "recorder"
    _seen: list[Mapping[str, Scores]] = field(default_factory=list)

    def __call__(self, plan: Plan, table: Candidates) -> Scored:
        """Note the features of the hits."""
        self._seen.append(self.relevance.features(plan, table))
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
    lines = [*_report(shown, samples)]
    print("\n".join(lines))
    if arguments.markdown:
        arguments.markdown.write_text("\n".join([*lines, ""]), "utf-8")
    if arguments.write:
        _write(fit([*samples.values()], MEANING))


def _report(shown: Mapping[str, Sample], samples: Mapping[str, Sample]) -> Iterator[str]:
    yield from ("## As users see it", "")
    yield from summed_up(shown, {name: np.array(sample.relevance) for name, sample in shown.items()})
    for title, names in (("Meaning and words", MEANING), ("Words alone", MEANING[1:])):
        yield from ("", f"## {title}, fitted on the other collections", "")
        yield from summed_up(samples, {name: _left_out(name, samples, names) for name in samples})
        found = fit([*samples.values()], names)
        yield from ("", f"Fitted to all: {_spelled(found)}.")
        if names == MEANING:
            yield f"The same by the scale of a model: {_spelled(_scaled(found))}."
            least = (f"{name} {_best_share(found, sample)}" for name, sample in samples.items())
            yield f"The best share above medium: {', '.join(least)}."
    yield f"In use: {_spelled(ANY_MODEL)} by the scale of a model, {_spelled(WORDS)} by words alone."


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("indexes", type=Path)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--questions", type=int, default=150, help="of each collection, at most")
    parser.add_argument("--write", action="store_true", help="store what was fitted beside the bundled model")
    parser.add_argument("--markdown", type=Path)
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
    index = index.using(index.profile.without("shortcut"))
    recorder = Recorder(Relevance(index.profile.analyzer))
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
    above = ANY_MODEL.above if "cosine" in names else WORDS.above
    return Calibration(intercept, dict(zip(names, rest, strict=True)), above)


def _best_share(found: Calibration, sample: Sample) -> float:
    """The share of the odds above medium that has the least logarithmic loss, in an even mix."""
    features, weights, answer = sample.features(), sample.weights(), np.array(sample.answer)

    def loss(share: float) -> float:
        likely = replace(found, above=share)(features)
        return float(-(weights * np.log(np.where(answer, likely, 1 - likely))).sum())

    return min(SHARES, key=loss)


def _left_out(name: str, samples: Mapping[str, Sample], names: Sequence[str]) -> Scores:
    """The relevance of a collection's hits, by what was fitted on the others."""
    rest = [samples[other] for other in samples if other.partition(":")[0] != name.partition(":")[0]]
    return fit(rest, names)(samples[name].features())


def _rounded(weights: Mapping[str, float]) -> dict[str, float]:
    return {name: round(weight, 2) for name, weight in weights.items()}


def _spelled(found: Calibration) -> str:
    return f"{found.intercept:.2f}, {_rounded(found.weights)}, {found.above}"


def _scaled(found: Calibration) -> Calibration:
    """A calibration of the bundled model for cosines told by its scale: for any model."""
    scale = stored_scale(OnnxEmbedder.load(BUNDLED))
    assert scale
    cosine, missed, found_at = found.weights["cosine"], scale.missed, scale.found
    weights = {**found.weights, "cosine": cosine * (found_at - missed)}
    return replace(found, intercept=found.intercept + cosine * missed, weights=weights)


def _write(found: Calibration) -> None:
    content = {
        "fingerprint": OnnxEmbedder.load(BUNDLED).fingerprint,
        "intercept": round(found.intercept, 2),
        "weights": _rounded(found.weights),
        "above": found.above,
    }
    (BUNDLED / STORED).write_text(json.dumps(content, indent=2) + "\n", "utf-8")
