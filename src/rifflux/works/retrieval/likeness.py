"""Intents of questions by their likeness to examples, for wordings that no rule foresees.

An example is a wording with gaps for what it is about (`examples.txt`). Vectors of a model tell more of the subject of
a question than of its wording, so they are projected: to where questions of one wording about anything lie together,
and wordings apart. There a question is compared with all examples, and what is near says how probable each intent is.
Words and pairs of words that it shares with examples are evidence besides (naive Bayes), of less weight: they say much
of wordings that the examples have, and vectors of others.

Projection and examples (`examples.npz`) are of the model in the package, whatever embeds an index: they are fitted to
its vectors, and another one would be asked for thousands of texts first. `python -m bench intents --fit` makes them.
"""

from __future__ import annotations

import hashlib
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import pairwise
from pathlib import Path

import numpy as np

from rifflux.text.analyzer import fold
from rifflux.types import Scores, Vectors

__all__ = ["EXAMPLES", "FITTED", "Example", "Likeness", "Wording", "digest_of", "fitted", "read_examples", "unit"]

#: The examples as they were written, and what was fitted to them.
EXAMPLES, FITTED = (Path(__file__).with_name(f"examples.{suffix}") for suffix in ("txt", "npz"))


@dataclass(frozen=True, slots=True)
class Example:
    """A wording of an intent, with `{x}` and the like in its gaps; `way` is a direction of citations, if any."""

    intent: str
    way: str
    text: str

    @property
    def shown(self) -> str:
        """Return the wording as it is told."""
        return _GAP.sub("…", self.text)


_GAP = re.compile(r"\{\w\}")
_QUOTED = re.compile(r"\"[^\"]*\"|“[^”]*”")
#: A gap, which is no word, or a word.
_WORDS = re.compile(r"\{\w\}|([^\W\d_]+(?:['’][^\W\d_]+)*)")
#: Where a text begins, so that its first word is another one than the same in its midst.
START = "^"
#: What words count next to vectors, and how many examples more every word is taken to be in.
WORDS, SMOOTHING = 0.15, 0.2


@dataclass(frozen=True, slots=True)
class Likeness:
    """How probable each intent of a question is, the directions of citations, and the nearest example of each."""

    shares: Mapping[str, float]
    ways: Mapping[str, float]
    nearest: Mapping[str, str]


@dataclass(frozen=True)
class Wording:
    """Examples in the space of their wordings: `points` are rows of unit length.

    A vector v is at v @ `projection` - `origin`. An example says less with its distance, by exp(`nearness` * cosine).
    `fingerprint` is of the model that the vectors are by.
    """

    examples: Sequence[Example]
    points: Vectors
    projection: Vectors
    origin: Vectors
    nearness: float
    fingerprint: str

    def __call__(self, vector: Vectors, text: str) -> Likeness:
        """Return what a question is like, by its vector and its words, as it was typed."""
        weights = self.weighed(vector) * np.exp(WORDS * self.words(text))[self.words.groups]
        weights /= weights.sum()
        shares, ways, nearest = dict[str, float](), dict[str, float](), dict[str, str]()
        order = np.argsort(-weights * self._fellows, kind="stable")
        for example, weight in zip(map(self.examples.__getitem__, order), weights[order].tolist(), strict=True):
            shares[example.intent] = shares.get(example.intent, 0.0) + weight
            nearest.setdefault(example.intent, example.shown)
            if example.way:
                ways[example.way] = ways.get(example.way, 0.0) + weight
        return Likeness(shares, ways, nearest)

    def weighed(self, vectors: Vectors) -> Scores:
        """Return what each example says of vectors, as shares of one: (..., examples)."""
        cosines = unit(vectors @ self.projection - self.origin) @ self.points.T
        weights = np.exp(self.nearness * cosines.astype(np.float64)) / self._fellows
        return np.asarray(weights / weights.sum(axis=-1, keepdims=True))

    @cached_property
    def words(self) -> Words:
        """Return what words say of intents."""
        return Words(self.examples)

    @cached_property
    def _fellows(self) -> Scores:
        """Return the root of how many examples there are of each one's intent: many are not as much more evidence."""
        groups = [(example.intent, example.way) for example in self.examples]
        return np.sqrt(np.array([*map(groups.count, groups)], np.float64))


class Words:
    """How much more usual the words of a text are in the examples of each intent: logarithms of odds.

    Words of no example say nothing: they are what a question is about. What is quoted is a title. `intents` are in the
    order of the answers, `groups` the place in it of each example.
    """

    def __init__(self, examples: Sequence[Example]) -> None:
        self.intents = tuple(dict.fromkeys(example.intent for example in examples))
        self.groups = np.array([self.intents.index(example.intent) for example in examples])
        counts = defaultdict[str, Scores](lambda: np.zeros(len(self.intents)))
        for example, group in zip(examples, self.groups.tolist(), strict=True):
            for piece in _pieces(example.text):
                counts[piece][group] += 1
        totals = np.bincount(self.groups) + 2 * SMOOTHING
        logs = {piece: np.log((count + SMOOTHING) / totals) for piece, count in counts.items()}
        self._odds = {piece: values - values.mean() for piece, values in logs.items()}

    def __call__(self, text: str) -> Scores:
        """Return the evidence of a text, by intent."""
        known = sorted(self._odds.keys() & _pieces(text))
        return np.asarray(np.sum([np.zeros(len(self.intents)), *map(self._odds.__getitem__, known)], axis=0))


def _pieces(text: str) -> set[str]:
    """Return the words of a text, and the pairs that stand side by side; what is in a gap or quoted is none."""
    words = [START, *(word and fold(word) for word in _WORDS.findall(_QUOTED.sub(" {w} ", text)))]
    pairs = (f"{one} {other}" for one, other in pairwise(words) if one and other)
    return {*filter(None, words[1:]), *pairs}


def unit(vectors: Vectors) -> Vectors:
    """Return vectors at unit length; zeros stay."""
    lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return np.asarray(vectors / np.where(lengths > 0, lengths, 1.0))


def read_examples(text: str) -> Iterator[Example]:
    """Yield the examples of a text: `[intent]` or `[intent way]`, and a wording a line below."""
    intent = way = ""
    for line in filter(None, map(str.strip, text.splitlines())):
        if line.startswith("["):
            intent, _, way = line.strip("[]").partition(" ")
        elif not line.startswith("#"):
            yield Example(intent, way, line)


def digest_of(text: str) -> str:
    """Return what tells one text of examples from another."""
    return hashlib.sha256(text.encode()).hexdigest()


@cache
def fitted() -> Wording:
    """Return the examples of the package, read once."""
    with np.load(FITTED, allow_pickle=False) as kept:
        points, projection, origin = (kept[name].astype(np.float32) for name in ("points", "projection", "origin"))
        nearness, fingerprint = float(kept["nearness"]), str(kept["fingerprint"])
    examples = tuple(read_examples(EXAMPLES.read_text("utf-8")))
    return Wording(examples, points, projection, origin, nearness, fingerprint)
