"""Fit the examples that intents are told by: where they lie among vectors, and what tells them apart.

Each example is filled with several subjects and embedded. Directions in which fills of one example differ are those of
subjects: they are whitened away (Fisher's discriminant), and of what is left, the directions are kept in which examples
differ most. On places there, and on the pieces of the wordings, a logistic regression is fitted, with a penalty for
each of both. How well it does on people it does not know is told by the examples of each writer, with only those of
the others fitted.
"""

from __future__ import annotations

import random
import re
import zlib
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import numpy as np

from rifflux.models import Embedder
from rifflux.types import Ids, Scores, Vectors
from rifflux.works.intent.similarity import (
    ARRAYS,
    EXAMPLES,
    FITTED,
    GAP,
    Example,
    ExampleModel,
    digest_of,
    features_of,
    known_words,
    read_examples,
    unit,
)

#: What fills the gaps of examples.
GAPS = Path(__file__).with_name("gaps.txt")
#: What stands for subjects in examples, and the gaps that are filled with forms.
SUBJECTS, FORMS = "xyz", "sw"
#: Fills of an example, the directions that are kept, and how much of the spread is taken for noise.
FILLS, DIMENSIONS, SHRINKAGE = 6, 128, 0.05
#: How large weights are penalised: of places, and of pieces.
OF_PLACE, OF_PIECES = 0.05, 0.3
#: In so many examples, a piece is kept; in such a share of the fills of an example, it is in that as a whole.
LEAST_EXAMPLES, MOST_OF_ONE = 2, 0.3
#: Steps of the minimisation, the steps that it remembers, and how little one may gain.
STEPS, REMEMBERED, LEAST_GAIN = 200, 10, 1e-6
#: Coordinates of the nearest examples are stored as whole numbers, of which one is so many.
STORED = 127
_ASKS = re.compile(
    r"(?:what|which|who|whom|whose|how|why|where|when|does|do|is|are|can|should|under|in|on|by|has|did)\b", re.I
)


# Examples as people type them

Gaps = Mapping[str, Sequence[str]]


def read_gaps() -> Gaps:
    """Return what fills each gap; a form is there as many times as it is drawn."""
    gaps = dict[str, Sequence[str]]()
    for section in GAPS.read_text("utf-8").split("\n[")[1:]:
        name, _, lines = section.partition("]")
        gaps[name] = [*filter(None, lines.split("\n"))]
    for name in FORMS:
        forms = (line.partition(" ") for line in gaps[name])
        gaps[name] = [*chain.from_iterable([form] * int(often) for often, _, form in forms)]
    return gaps


def filled(example: Example, gaps: Gaps) -> list[str]:
    """Return an example with what may stand in its gaps, as people type it; equal examples give equal texts."""
    draw = random.Random(zlib.crc32(example.text.encode()))
    return [_filled(example.text, gaps, draw) for _ in range(FILLS)] if GAP.search(example.text) else [example.text]


def _filled(text: str, gaps: Gaps, draw: random.Random) -> str:
    subjects = dict[str, str]()

    def plain(gap: re.Match[str]) -> str:
        name = gap[0][1]
        return str(draw.randint(1935, 2022)) if name == "d" else GAP.sub(plain, draw.choice(gaps[name]))

    def fill(gap: re.Match[str]) -> str:
        name = gap[0][1]
        if name not in SUBJECTS:
            return plain(gap)
        return subjects.setdefault(name, GAP.sub(plain, draw.choice(gaps["s"])))

    text = GAP.sub(fill, text)
    if _ASKS.match(text) and not text.endswith("?") and draw.random() < 0.5:
        text += "?"
    case = draw.random()
    if case < 0.15:
        return text.lower()
    return text[0].upper() + text[1:] if case < 0.5 else text[0].lower() + text[1:] if case < 0.65 else text


# Places of wordings


@dataclass(frozen=True)
class Filled:
    """Examples with their fills and the vectors of those; `of` is the example of each fill."""

    examples: Sequence[Example]
    texts: Sequence[str]
    vectors: Vectors
    of: Ids

    @classmethod
    def by(cls, embedder: Embedder, examples: Sequence[Example]) -> Filled:
        """Fill and embed examples."""
        gaps = read_gaps()
        fills = [filled(example, gaps) for example in examples]
        texts = [*chain.from_iterable(fills)]
        of = np.repeat(np.arange(len(fills)), [*map(len, fills)])
        return cls(examples, texts, embedder.embed_documents(texts), of)

    def only(self, chosen: Callable[[Example], bool]) -> Filled:
        """Return the examples that are chosen, with their fills."""
        kept = np.array([chosen(example) for example in self.examples])
        rows = np.flatnonzero(kept[self.of])
        numbers = np.cumsum(kept) - 1
        examples = [example for example, keep in zip(self.examples, kept, strict=True) if keep]
        return Filled(examples, [self.texts[row] for row in rows.tolist()], self.vectors[rows], numbers[self.of[rows]])

    @property
    def shares(self) -> Scores:
        """Return the share that each fill is of its example."""
        return np.asarray(1.0 / np.bincount(self.of)[self.of])


def fit(given: Filled, fingerprint: str) -> ExampleModel:
    """Return the fitted examples, with the digits that are stored."""
    points, projection, origin = _places(given)
    places = unit(given.vectors @ projection - origin)
    known = known_words(example.text for example in given.examples)
    found = [features_of(text, known) for text in given.texts]
    kept = _kept(found, given)
    number = {piece: row for row, piece in enumerate(kept)}
    rows = [sorted(number[piece] for piece in each & number.keys()) for each in found]
    kinds = [*dict.fromkeys(example.label for example in given.examples)]
    right = np.array([kinds.index(example.label) for example in given.examples])[given.of]
    of_place, of_pieces, bias = map(_rounded, _regression(places, rows, len(kept), right, given.shares))
    examples = tuple(given.examples)
    return ExampleModel(examples, points, projection, origin, of_place, of_pieces, bias, kept, fingerprint)


def _places(given: Filled) -> tuple[Vectors, Vectors, Vectors]:
    """Return the points of examples, and the projection and the origin of the space they are in."""
    means = np.zeros((len(given.examples), given.vectors.shape[1]))
    np.add.at(means, given.of, given.vectors * given.shares[:, None])
    spread = given.vectors - means[given.of]
    within = spread.T @ spread / len(spread)
    noise = np.trace(within) / len(within) * np.eye(len(within))
    whitening = np.linalg.cholesky(np.linalg.inv((1 - SHRINKAGE) * within + SHRINKAGE * noise))
    white = means @ whitening
    _, _, directions = np.linalg.svd(white - white.mean(axis=0), full_matrices=False)
    kept = directions[:DIMENSIONS].T
    projection, origin = _rounded(whitening @ kept), _rounded(white.mean(axis=0) @ kept)
    points = np.rint(STORED * unit(_rounded(means) @ projection - origin))
    return unit(points), projection, origin


def _kept(found: Sequence[set[str]], given: Filled) -> list[str]:
    """Return the pieces of several examples: one that few fills of an example have is of a subject."""
    counts = defaultdict[str, float](float)
    in_one = Counter((row, piece) for row, each in zip(given.of.tolist(), found, strict=True) for piece in each)
    fills = np.bincount(given.of)
    for (row, piece), count in in_one.items():
        counts[piece] += min(1.0, count / (MOST_OF_ONE * fills[row]))
    return sorted(piece for piece, count in counts.items() if count >= LEAST_EXAMPLES)


def _rounded(array: Vectors | Scores) -> Vectors:
    """Return an array with the digits that are stored."""
    return array.astype(np.float16).astype(np.float32)


# The regression


def _regression(
    places: Vectors, rows: Sequence[Sequence[int]], count: int, right: Ids, shares: Scores
) -> tuple[Scores, Scores, Scores]:
    """Return the weights of places and of pieces and the bias, by kind, that make the right kinds most likely."""
    kinds, dimensions = int(right.max()) + 1, places.shape[1]
    texts = np.repeat(np.arange(len(rows)), [*map(len, rows)])
    columns = np.array([*chain.from_iterable(rows)])
    by_column = np.argsort(columns, kind="stable")
    present, starts = np.unique(columns[by_column], return_index=True)
    first = np.cumsum([0, *map(len, rows)])[:-1]
    truth = np.eye(kinds)[right]
    penalty = np.repeat([OF_PLACE, OF_PIECES, 0.0], [dimensions, count, 1])[:, None]

    def loss(flat: Scores) -> tuple[float, Scores]:
        weights = flat.reshape(-1, kinds)
        odds = places @ weights[:dimensions] + weights[-1]
        # Each text has its length among its pieces, so none is without.
        odds += np.add.reduceat(weights[dimensions:-1][columns], first)
        odds -= odds.max(axis=1, keepdims=True)
        logs = odds - np.log(np.exp(odds).sum(axis=1, keepdims=True))
        off = (np.exp(logs) - truth) * shares[:, None]
        slope = penalty * weights
        slope[:dimensions] += places.T @ off
        slope[dimensions + present] += np.add.reduceat(off[texts[by_column]], starts)
        slope[-1] += off.sum(axis=0)
        return float(-(shares * logs[truth > 0]).sum() + (penalty * weights**2).sum() / 2), slope.ravel()

    found = _minimum(loss, np.zeros((dimensions + count + 1) * kinds)).reshape(-1, kinds)
    return found[:dimensions], found[dimensions:-1], found[-1]


def _minimum(loss: Callable[[Scores], tuple[float, Scores]], at: Scores) -> Scores:
    """Return where a smooth convex function is least, by limited-memory BFGS (Nocedal 1980)."""
    value, slope = loss(at)
    past = deque[tuple[Scores, Scores]](maxlen=REMEMBERED)
    for _ in range(STEPS):
        way = -_curved(slope, past)
        size, fall = (1.0 if past else 1.0 / float(np.abs(slope).sum())), float(way @ slope)
        while (new := loss(at + size * way))[0] > value + 1e-4 * size * fall:
            size /= 2
        gain, past_step = value - new[0], (size * way, new[1] - slope)
        if float(past_step[0] @ past_step[1]) > 0:
            past.append(past_step)
        at, (value, slope) = at + size * way, new
        if gain < LEAST_GAIN * abs(value):
            break
    return at


def _curved(slope: Scores, past: Sequence[tuple[Scores, Scores]]) -> Scores:
    """Return a slope, divided by the curvature that past steps have met."""
    result, parts = slope.copy(), list[float]()
    for step, change in reversed(past):
        parts.append(float(step @ result) / float(step @ change))
        result -= parts[-1] * change
    if past:
        step, change = past[-1]
        result *= float(step @ change) / float(change @ change)
    for step, change in past:
        result += step * (parts.pop() - float(change @ result) / float(step @ change))
    return result


# What is left out, and what is stored


def left_out(given: Filled, fingerprint: str) -> Iterator[tuple[str, Filled, ExampleModel]]:
    """Yield each writer with his fills, and what is fitted to all others."""
    for writer in dict.fromkeys(example.writer for example in given.examples):
        others, own = (given.only(lambda each, by=writer, wants=wants: (each.writer == by) is wants)  # type: ignore[misc]
                       for wants in (False, True))  # fmt: skip
        yield writer, own, fit(others, fingerprint)


def read() -> Sequence[Example]:
    """Return the examples of the package."""
    return [*read_examples(EXAMPLES.read_text("utf-8"))]


def write(wording: ExampleModel) -> None:
    """Store what was fitted in the package."""
    arrays = {name: getattr(wording, name).astype(np.float16) for name in ARRAYS}
    # The longest of them has most of one coordinate: all fit.
    arrays["points"] = np.rint(STORED * wording.points).astype(np.int8)
    np.savez_compressed(
        FITTED,
        **arrays,
        pieces="\n".join(wording.features),
        fingerprint=wording.fingerprint,
        digest=digest_of(EXAMPLES.read_text("utf-8")),
    )
