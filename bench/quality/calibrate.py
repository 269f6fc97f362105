"""Fit the relevance of hits on judged collections, and measure it on those left out.

    python -m bench calibrate DATA [MODEL ...] [--names scifact,nfcorpus] [--keep FOLDER] [--questions 150] [--write]

A model is anything that `--model` takes, by default `minilm`, which comes with the package. Every collection is asked

    its own questions        a hit whose document is judged relevant is an answer; of the others nobody knows for sure
    questions of the others  no hit is an answer (collections on neighbouring subjects are not asked each other's)
    nonsense                 made-up words, placeholder text, real words at random: no hit is an answer

and the first ten hits are looked at. Answers weigh as much as all the rest together. Of the rest, hits for questions
that have an answer count `UNJUDGED`: few passages are judged, so a hit without a judgement is hardly evidence against
itself. Words alone mistake more questions of other collections, and need what evidence there is. All collections weigh
alike. What is fitted is how likely a hit is for a question that has its answer here, where that is as likely as not.

Three calibrations are fitted: on cosines told by the scale of the model, for any; on the bundled model's own
cosines; on words alone. Printed are, for each model and collection with the coefficients fitted on the other
collections: the expected calibration error (ten bins, in an even mix), the share of answers among the hits of its own
questions by level (a lower bound: most collections judge only few documents a question), the share of right first hits
that are called low, and the share of questions without an answer that have no hit above low. In the same mix follow the
Brier score, and ten equal bins of relevance: its mean, the share of answers, and how many hits there are. `--write`
stores the coefficients of the bundled model beside it; the others stand in rifflux/retrieve/steps/calibrate.py.
"""

from __future__ import annotations

import argparse
import json
import random
import string
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rifflux.evaluate import Cache, Collection, JudgedQuestion, read_beir
from rifflux.index import Index
from rifflux.models.embedder import BUNDLED
from rifflux.models.onnx import OnnxEmbedder
from rifflux.retrieve.steps.calibrate import MEANING, STORED, WORDS, Calibration, Relevance, calibration_of
from rifflux.retrieve.steps.rerank import Rerank, Scored
from rifflux.retrieve.table import HIGH, MEDIUM, Candidates
from rifflux.session.vectors import ScaleCache
from rifflux.types import Query, Scores

NAMES = ("scifact", "nfcorpus", "cacm", "cosqa", "locomo", "cfr30", "srd5e", "stacks", "stacks:terms")
SCOPES = {"locomo": "conversation"}
#: Collections about the same things, whose questions may well have answers in each other.
NEIGHBOURS = ({"scifact", "nfcorpus"}, {"cacm", "cosqa"}, {"stacks", "stacks:terms"})
PAGE, FOREIGN, NONSENSE, BINS = 10, 25, 60, 10
FEATURES = ("cosine", "coverage", "length", "named", "title")
BUNDLED_NAME = "minilm"
#: What hits of a collection's own questions that nobody judged weigh, where answers weigh .5: by meaning, by words.
UNJUDGED, UNJUDGED_BY_WORDS = 0.08, 0.25
LOREM = ["lorem", "ipsum", "dolor", "sit", "amet", "consectetur", "adipiscing", "elit", "sed", "do", "eiusmod"]
Mask = NDArray[np.bool_]
OWN, OTHERS, MADE_UP = "own", "others", "made up"


@dataclass
class Sample:
    """Hits with their features: whose question found them, at which place, which, and whether they answer it.

    The features are a row for the cosine, a row for the cosine by the scale of the model, then the others.
    """

    origin: list[str] = field(default_factory=list)
    question: list[str] = field(default_factory=list)
    place: list[int] = field(default_factory=list)
    answer: list[bool] = field(default_factory=list)
    values: list[Scores] = field(default_factory=list)

    def features(self, *, scaled: bool) -> Mapping[str, Scores]:
        """All features, one array each."""
        own, relative, *others = np.concatenate(self.values, axis=1)
        return dict(zip(FEATURES, (relative if scaled else own, *others), strict=True))

    def weights(self, unjudged: float = 0.25) -> Scores:
        """Half of the weight on answers, `unjudged` on other hits of own questions, what is left on the others."""
        own, answer = np.array(self.origin) == OWN, np.array(self.answer)
        weights = np.zeros(len(own))
        for which, share in ((own & answer, 0.5), (own & ~answer, unjudged), (~own, 0.5 - unjudged)):
            weights[which] = share / max(1, which.sum())
        return weights


@dataclass(frozen=True)
class Way:
    """A calibration to fit: its features, those of which cosines, and what unjudged hits weigh."""

    title: str
    names: Sequence[str]
    scaled: bool
    unjudged: float

    def fitted(self, samples: Sequence[Sample]) -> Calibration:
        """Fit it to some samples."""
        features = [sample.features(scaled=self.scaled) for sample in samples]
        weights = [sample.weights(self.unjudged) for sample in samples]
        return fit(features, [sample.answer for sample in samples], weights, self.names)


ANY_MODEL = Way("meaning and words, by the scale of the model", FEATURES, True, UNJUDGED)
OWN_MODEL = Way("meaning and words, by the bundled model's own cosines", FEATURES, False, UNJUDGED)
BY_WORDS = Way("words alone", FEATURES[1:], False, UNJUDGED_BY_WORDS)
#: The samples by model and collection.
Samples = Mapping[tuple[str, str], Sample]


@dataclass
class Recorder:
    """Looks at the first page as a reranker does, notes its features, and leaves the order as it is."""

    plain: Relevance
    scaled: Relevance
    name: str = "recorder"
    _seen: list[Scores] = field(default_factory=list)

    def __call__(self, query: Query, table: Candidates) -> Scored:
        """Note the features of the hits."""
        features = self.plain.features(query, table)
        relative = self.scaled.features(query, table)["cosine"]
        self._seen.append(np.stack([features["cosine"], relative, *(features[name] for name in FEATURES[1:])]))
        return Scored(-np.arange(len(table), dtype=np.float64))

    def seen(self) -> Scores | None:
        """The features noted last, once; None where there was no hit."""
        return self._seen.pop() if self._seen else None


def main() -> None:
    """Print how the calibrations hold on what they were not fitted to, and their coefficients fitted to all."""
    arguments = _arguments()
    collections = {name: _read(arguments.data, name) for name in arguments.names}
    samples: dict[tuple[str, str], Sample] = {}
    with tempfile.TemporaryDirectory() as temporary:
        for model in arguments.models:
            spec = None if model == BUNDLED_NAME else model
            with Cache(arguments.keep or temporary, model=spec) as cache:
                for name in collections:
                    index = cache.index(collections[name])
                    samples[Path(model).name, name] = _sampled(name, collections, index, arguments.questions)
    _shown(ANY_MODEL, samples, MEANING)
    if bundled := {key: sample for key, sample in samples.items() if key[0] == BUNDLED_NAME}:
        found = _shown(OWN_MODEL, bundled, _stored())
        _shown(BY_WORDS, bundled, WORDS)
        if arguments.write:
            _write(found)


def _shown(way: Way, samples: Samples, in_use: Calibration) -> Calibration:
    """Print how a calibration holds on collections left out; return the one fitted to all."""
    print(f"\n{way.title}\n{'left out':<30} {'error':>6} {'high':>11} {'medium':>11} {'low':>11} {'right low':>9}"
          f" {'others':>7} {'made up':>7}")  # fmt: skip
    relevance = {key: _left_out(way, key, samples) for key in samples}
    for key, sample in samples.items():
        print(f"{' '.join(key):<30} {_told(sample, relevance[key])}")
    print("\n".join(_reliability(samples, relevance)))
    found = way.fitted(list(samples.values()))
    for told, each in (("fitted to all", found), ("in use", in_use)):
        print(f"{told}: {each.intercept:.2f}, {_rounded(each.weights)}", flush=True)
    return found


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("models", nargs="*", default=[BUNDLED_NAME])
    parser.add_argument("--names", type=lambda text: text.split(","), default=list(NAMES))
    parser.add_argument("--keep", type=Path, help="where the indexes stay between runs")
    parser.add_argument("--questions", type=int, default=150, help="of each collection, at most")
    parser.add_argument("--write", action="store_true", help="store what was fitted beside the bundled model")
    return parser.parse_args()


def _read(data: Path, name: str) -> Collection:
    folder, _, qrels = name.partition(":")
    return read_beir(data / folder, qrels or "test", scope=SCOPES.get(folder))


# What is looked at


def _sampled(name: str, collections: Mapping[str, Collection], index: Index, questions: int) -> Sample:
    """The hits of a collection for its own questions, for those of others, and for nonsense."""
    choice, collection, sample = random.Random(name), collections[name], Sample()
    # Asked by words alone, identifiers would have no cosine.
    index = index.using(replace(index.profile, shortcut=False))
    store, analyzer = index.admin.store, index.profile.analyzer
    scale = ScaleCache(store)(lambda: index.admin.embedder)
    scaled = Relevance(store, analyzer, scale=scale.model if scale else None)
    recorder = Recorder(Relevance(store, analyzer), scaled)
    own = _some(collection.questions, questions, choice)
    for question in own:
        _ask(index, recorder, collection, question, OWN, sample)
    for origin, text in unanswerable(name, collections, choice):
        scope = choice.choice(own)
        _ask(index, recorder, collection, JudgedQuestion("", text, {}, scope.metadata), origin, sample)
    return sample


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


def _ask(
    index: Index, recorder: Recorder, collection: Collection, question: JudgedQuestion, origin: str, sample: Sample
) -> None:
    filter = collection.filter(question)
    hits = index.search(question.text, top_k=PAGE, filter=filter, rerank=Rerank(recorder, top=PAGE)).hits
    found = recorder.seen()
    if found is None:
        return
    sample.values.append(found)
    sample.place += range(len(hits))
    sample.origin += [origin] * len(hits)
    sample.question += [question.text] * len(hits)
    sample.answer += [question.grades.get(collection.identify(hit), 0) > 0 for hit in hits]


# What is fitted


def fit(
    features: Sequence[Mapping[str, Scores]],
    answers: Sequence[Sequence[bool]],
    weights: Sequence[Scores],
    names: Sequence[str],
    ridge: float = 1e-4,
) -> Calibration:
    """Weighted logistic regression by Newton's method; `ridge` keeps coefficients finite where a feature decides."""
    columns = [np.stack([np.ones(len(each[names[0]]))] + [each[name] for name in names], axis=1) for each in features]
    matrix, answer = np.concatenate(columns), np.concatenate(answers)
    weight = np.concatenate(weights) / len(weights)
    penalty = ridge * np.diag([0.0] + [1.0] * len(names))
    found = np.zeros(matrix.shape[1])
    for _ in range(50):
        likely = 1 / (1 + np.exp(-matrix @ found))
        slope = matrix.T @ (weight * (likely - answer)) + penalty @ found
        curve = (matrix * (weight * likely * (1 - likely))[:, None]).T @ matrix + penalty
        step = np.linalg.solve(curve, slope)
        found -= step
        if np.abs(step).max() < 1e-9:
            break
    intercept, *rest = found.tolist()
    return Calibration(intercept, dict(zip(names, rest, strict=True)))


def _left_out(way: Way, key: tuple[str, str], samples: Samples) -> Scores:
    """The relevance of a collection's hits, by what was fitted on the other collections, with any model."""
    home = key[1].partition(":")[0]
    rest = [sample for (_, name), sample in samples.items() if name.partition(":")[0] != home]
    return way.fitted(rest)(samples[key].features(scaled=way.scaled))


def _told(sample: Sample, relevance: Scores) -> str:
    """The figures of one collection, as a row."""
    origin, answer = np.array(sample.origin), np.array(sample.answer)
    own, first = origin == OWN, np.array(sample.place) == 0
    levels = (relevance >= HIGH, (relevance >= MEDIUM) & (relevance < HIGH), relevance < MEDIUM)
    told = [f"{calibration_error(relevance, answer, sample.weights()):6.3f}"]
    told += [
        f"{answer[own & level].mean() if (own & level).any() else 0:5.2f}/{(own & level).sum():<5}" for level in levels
    ]
    told.append(f"{(relevance[own & answer & first] < MEDIUM).mean():9.2f}")
    told += [f"{_low(sample, relevance, origin == each):7.3f}" for each in (OTHERS, MADE_UP)]
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


def _reliability(samples: Samples, relevance: Mapping[tuple[str, str], Scores]) -> Iterator[str]:
    """A row for each collection: its Brier score, and each bin as mean relevance, share of answers and hits."""
    yield f"\n{'left out':<30} {'brier':>6} " + " ".join(f"{f'{each / BINS:.1f}':>14}" for each in range(BINS))
    for key, sample in samples.items():
        given = relevance[key], np.array(sample.answer), sample.weights()
        bins = (f"{mean:.2f} {share:.2f} {hits:<4}" if hits else "-" for mean, share, hits in reliability(*given))
        yield f"{' '.join(key):<30} {brier(*given):6.3f} " + " ".join(f"{each:>14}" for each in bins)


def _low(sample: Sample, relevance: Scores, which: Mask) -> float:
    """The share of some questions that have no hit above low."""
    asked = np.array(sample.question)
    return 1 - len(set(asked[which & (relevance >= MEDIUM)])) / max(1, len(set(asked[which])))


def _rounded(weights: Mapping[str, float]) -> dict[str, float]:
    return {name: round(weight, 2) for name, weight in weights.items()}


def _stored() -> Calibration:
    """The calibration in use with the bundled model."""
    return calibration_of(OnnxEmbedder.load(BUNDLED)) or MEANING


def _write(found: Calibration) -> None:
    content = {
        "fingerprint": OnnxEmbedder.load(BUNDLED).fingerprint,
        "intercept": round(found.intercept, 2),
        "weights": _rounded(found.weights),
    }
    (BUNDLED / STORED).write_text(json.dumps(content, indent=2) + "\n", "utf-8")
