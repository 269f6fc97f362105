"""Intents of questions by their likeness to examples, for wordings that no rule foresees.

An example is a wording with gaps for what it is about (`examples.txt`). Vectors of a model tell more of the subject of
a question than of its wording, so they are projected: to where questions of one wording about anything lie together,
and wordings apart. How probable each intent is of a place there, and of the pieces of a wording (`pieces`), is a
logistic regression on the examples. The nearest example of an intent is the reason that is told.

Everything in `examples.npz` is of the model in the package, whatever embeds an index: it is fitted to its vectors, and
another one would be asked for thousands of texts first. `python -m bench intents --fit` makes it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

import numpy as np

from rifflux.types import Scores, Vectors
from rifflux.works.retrieval.pieces import GAP, known_words, pieces

#: The examples as they were written, and what was fitted to them.
EXAMPLES, FITTED = (Path(__file__).with_name(f"examples.{suffix}") for suffix in ("txt", "npz"))
#: What is stored of a `Wording`, besides its pieces and the model.
ARRAYS = ("points", "projection", "origin", "of_place", "of_pieces", "bias")


@dataclass(frozen=True, slots=True)
class Example:
    """A wording of an intent, with `{x}` and the like in its gaps; `way` is a direction of citations, if any."""

    intent: str
    way: str
    text: str
    writer: str = ""

    @property
    def shown(self) -> str:
        """Return the wording as it is told."""
        return GAP.sub("…", self.text)

    @property
    def kind(self) -> tuple[str, str]:
        """Return what the regression tells apart: an intent, with its direction if it has one."""
        return self.intent, self.way


@dataclass(frozen=True, slots=True)
class Likeness:
    """How probable each intent of a question is, the directions of citations, and the nearest example of each."""

    shares: Mapping[str, float]
    ways: Mapping[str, float]
    nearest: Mapping[str, str]


@dataclass(frozen=True)
class Wording:
    """Examples in the space of their wordings, and what tells their intents.

    A vector v is at v @ `projection` - `origin`, taken to unit length, as are the rows of `points`. The odds of each of
    `kinds` are `bias`, the place times `of_place`, and the rows of `of_pieces` whose pieces a text has, added up.
    `fingerprint` is of the model that the vectors are by.
    """

    examples: Sequence[Example]
    points: Vectors
    projection: Vectors
    origin: Vectors
    of_place: Vectors
    of_pieces: Vectors
    bias: Vectors
    pieces: Sequence[str]
    fingerprint: str

    def __call__(self, vector: Vectors, text: str) -> Likeness:
        """Return what a question is like, by its vector and its words, as it was typed."""
        place = self.places(vector)
        shares: dict[str, float] = {}
        ways: dict[str, float] = {}
        nearest: dict[str, str] = {}
        for (intent, way), share in zip(self.kinds, self.probable(place, text).tolist(), strict=True):
            shares[intent] = shares.get(intent, 0.0) + share
            if way:
                ways[way] = share
        for row in np.argsort(-(self.points @ place), kind="stable").tolist():
            nearest.setdefault(self.examples[row].intent, self.examples[row].shown)
            if len(nearest) == len(shares):
                break
        return Likeness(shares, ways, nearest)

    def places(self, vectors: Vectors) -> Vectors:
        """Return where vectors lie among wordings."""
        return unit(vectors @ self.projection - self.origin)

    def probable(self, place: Vectors, text: str) -> Scores:
        """Return how probable each kind is of a text at a place."""
        rows = [self._rows[piece] for piece in sorted(pieces(text, self.known) & self._rows.keys())]
        odds = (self.bias + place @ self.of_place + self.of_pieces[rows].sum(axis=0)).astype(np.float64)
        shares = np.exp(odds - odds.max())
        return np.asarray(shares / shares.sum())

    @cached_property
    def kinds(self) -> Sequence[tuple[str, str]]:
        """Return what is told apart, in the order of the examples."""
        return tuple(dict.fromkeys(example.kind for example in self.examples))

    @cached_property
    def known(self) -> frozenset[str]:
        """Return the words that are wording and no subject."""
        return known_words(example.text for example in self.examples)

    @cached_property
    def _rows(self) -> Mapping[str, int]:
        return {piece: row for row, piece in enumerate(self.pieces)}


def unit(vectors: Vectors) -> Vectors:
    """Return vectors at unit length; zeros stay."""
    lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return np.asarray(vectors / np.where(lengths > 0, lengths, 1.0))


def read_examples(text: str) -> Iterator[Example]:
    """Yield the examples of a text: `== writer ==`, then `[intent]` or `[intent way]`, and a wording a line below."""
    writer = intent = way = ""
    for line in filter(None, (each.strip() for each in text.splitlines())):
        if line.startswith("=="):
            writer = line.strip("= ")
        elif line.startswith("["):
            intent, _, way = line.strip("[]").partition(" ")
        elif not line.startswith("#"):
            yield Example(intent, way, line, writer)


def digest_of(text: str) -> str:
    """Return what tells one text of examples from another."""
    return hashlib.sha256(text.encode()).hexdigest()


@cache
def fitted() -> Wording:
    """Return the examples of the package, read once."""
    with np.load(FITTED, allow_pickle=False) as kept:
        arrays = {name: kept[name].astype(np.float32) for name in ARRAYS}
        names = str(kept["pieces"]).split("\n")
        fingerprint = str(kept["fingerprint"])
    arrays["points"] = unit(arrays["points"])
    return Wording(tuple(read_examples(EXAMPLES.read_text("utf-8"))), **arrays, pieces=names, fingerprint=fingerprint)
