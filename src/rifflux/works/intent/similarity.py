"""Intents of questions by their similarity to examples, for wordings that no rule covers.

An example is a wording with gaps for its subject (`examples.txt`). Vectors of a model say more about the subject of a
question than about its wording, so they are projected to a space in which questions of one wording about anything lie
together, and wordings apart. A logistic regression on the examples gives the probability of each intent, from the place
in that space and the features of the wording (`features_of`). The nearest example of an intent is the reason given.

Everything in `examples.npz` belongs to the model in the package, whichever model embeds an index: it is fitted to that
model's vectors, and another one would first have to embed thousands of texts. `python -m bench intents --fit` makes it.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

import numpy as np

from rifflux.models import load_embedder
from rifflux.models.guarded import GuardedEmbedder
from rifflux.session.session import IndexView
from rifflux.text.analyzer import fold
from rifflux.types import Vectors

#: The examples as written, and the model fitted to them.
EXAMPLES, FITTED = (Path(__file__).with_name(f"examples.{suffix}") for suffix in ("txt", "npz"))
#: The stored arrays of an `ExampleModel`, besides its features and the fingerprint.
ARRAYS = ("points", "projection", "origin", "of_place", "of_pieces", "bias")


@dataclass(frozen=True, slots=True)
class Example:
    """A wording of an intent, with `{x}` and the like in its gaps; `direction` is that of citations, if any."""

    intent: str
    direction: str
    text: str
    writer: str = ""

    @property
    def label(self) -> tuple[str, str]:
        """Return the class that the regression predicts: an intent, with its direction if it has one."""
        return self.intent, self.direction


@dataclass(frozen=True, slots=True)
class Similarity:
    """The probability of each intent and direction of citations, and the nearest example of each intent."""

    shares: Mapping[str, float]
    directions: Mapping[str, float]
    nearest: Mapping[str, str]


@dataclass(frozen=True)
class ExampleModel:
    """Examples in the space of their wordings, and a regression that predicts their intents.

    A vector v is at v @ `projection` - `origin`, normalized to unit length, as are the rows of `points`. The odds of
    each of `labels` are `bias`, plus the place times `of_place`, plus the rows of `of_pieces` for the features of the
    text. `fingerprint` identifies the model that made the vectors.
    """

    examples: Sequence[Example]
    points: Vectors
    projection: Vectors
    origin: Vectors
    of_place: Vectors
    of_pieces: Vectors
    bias: Vectors
    features: Sequence[str]
    fingerprint: str

    def __call__(self, vector: Vectors, text: str) -> Similarity:
        """Compare a question with the examples, by its vector and its words as typed."""
        place = self.places(vector)
        shares: dict[str, float] = {}
        directions: dict[str, float] = {}
        nearest: dict[str, str] = {}
        rows = [self._rows[name] for name in sorted(features_of(text, self.known) & self._rows.keys())]
        odds = (self.bias + place @ self.of_place + self.of_pieces[rows].sum(axis=0)).astype(np.float64)
        probabilities = np.exp(odds - odds.max())
        probabilities /= probabilities.sum()
        for (intent, direction), share in zip(self.labels, probabilities.tolist(), strict=True):
            shares[intent] = shares.get(intent, 0.0) + share
            if direction:
                directions[direction] = share
        for row in np.argsort(-(self.points @ place), kind="stable").tolist():
            example = self.examples[row]
            if example.intent not in nearest:
                nearest[example.intent] = GAP.sub("…", example.text)
            if len(nearest) == len(shares):
                break
        return Similarity(shares, directions, nearest)

    def places(self, vectors: Vectors) -> Vectors:
        """Project vectors to the space of wordings."""
        return unit(vectors @ self.projection - self.origin)

    @cached_property
    def labels(self) -> Sequence[tuple[str, str]]:
        """Return the classes of the regression, in the order of the examples."""
        return tuple(dict.fromkeys(example.label for example in self.examples))

    @cached_property
    def known(self) -> frozenset[str]:
        """Return the words that belong to wordings, not to subjects."""
        return known_words(example.text for example in self.examples)

    @cached_property
    def _rows(self) -> Mapping[str, int]:
        return {name: row for row, name in enumerate(self.features)}


def unit(vectors: Vectors) -> Vectors:
    """Normalize vectors to unit length; zeros stay."""
    lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return np.asarray(vectors / np.where(lengths > 0, lengths, 1.0))


def read_examples(text: str) -> Iterator[Example]:
    """Yield the examples of a text: `== writer ==`, then `[intent]` or `[intent direction]`, then a wording a line."""
    writer = intent = direction = ""
    for line in filter(None, (each.strip() for each in text.splitlines())):
        if line.startswith("=="):
            writer = line.strip("= ")
        elif line.startswith("["):
            intent, _, direction = line.strip("[]").partition(" ")
        elif not line.startswith("#"):
            yield Example(intent, direction, line, writer)


def digest_of(text: str) -> str:
    """Return a digest of a text of examples."""
    return hashlib.sha256(text.encode()).hexdigest()


@cache
def fitted() -> ExampleModel:
    """Return the fitted examples of the package, read once."""
    with np.load(FITTED, allow_pickle=False) as stored:
        arrays = {name: stored[name].astype(np.float32) for name in ARRAYS}
        names = str(stored["pieces"]).split("\n")
        fingerprint = str(stored["fingerprint"])
    arrays["points"] = unit(arrays["points"])
    examples = tuple(read_examples(EXAMPLES.read_text("utf-8")))
    return ExampleModel(examples, **arrays, features=names, fingerprint=fingerprint)


def similarity_of(text: str, view: IndexView, deadline: float | None) -> Similarity | None:
    """Compare a question with the examples; None for an index without vectors. Raises `ModelError`.

    An index that another model embeds still compares by the model in the package, to which the examples are fitted. An
    index without vectors is searched by words, and its questions are read by rules.
    """
    if not view.store.totals().embedded:
        return None
    model = fitted()
    embedder = view.embedder
    if embedder.fingerprint != model.fingerprint:
        embedder = GuardedEmbedder(load_embedder(), view.calls)
    return model(embedder.question_vector(text, deadline=deadline), text)


# Features of a wording: its words, neighboring words and shape, without its subjects. Words that no example contains
# are the subject of a question. A run of them becomes one gap, as do titles and identifiers, so `Adam vs SGD` and
# `Lebesgue vs Riemann integration` have the same features: a gap, `vs`, a gap.


#: A gap of an example.
GAP = re.compile(r"\{\w\}")
#: Stand for a run of subject words, and for the beginning and end of a question.
SUBJECT = "_"
START = "^"
END = "$"
#: A word in fewer examples is a subject.
LEAST_EXAMPLES = 2
#: The first letters of a longer word are a feature: `compar`, `prereq`.
PREFIX = 5
#: More gaps than this are counted as this many; lengths are counted in steps of `STRIDE` words, at most `LONGEST`.
MOST_GAPS = 3
STRIDE = 3
LONGEST = 6

_QUOTED = re.compile(r"\"[^\"]*\"|“[^”]*”|‘[^’]{6,}’(?!\w)|(?<!\w)'[^']{6,}'(?!\w)")
_TITLE = re.compile(
    r"(?<![\w'’-])(?:[A-Z][\w'’-]*)(?:\s+(?:(?:of|the|and|in|on|for|to|a|an|with|from|by|under)\s+)*[A-Z][\w'’-]*){2,}"
)
_TOKEN = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*|\d[\w.:/-]*|[?,:;/&]")
_MARKS = frozenset("?,:;/&")
#: Shapes that are features, whatever the words are.
_SHAPES = (
    ("identifier", re.compile(r"\b10\.\d{4,}/|\b(?:arxiv|doi|pmid|isbn)\b|\bW\d{6,}", re.I)),
    ("year", re.compile(r"\b(?:1[4-9]|20)\d\d\b")),
    ("quoted", _QUOTED),
    ("title", _TITLE),
    ("owner", re.compile(r"\w['’]s? [\"“]?[A-Z]")),
)


def untitled(text: str, *, other: str = " _ ") -> str:
    """Return a text with `other` for each quotation and each run of three or more words capitalized like a title."""

    def replaced(title: re.Match[str]) -> str:
        # The first word of a text is capitalized anyway.
        if title.string[: title.start()].strip():
            return other
        return title[0].partition(" ")[0] + other

    return _TITLE.sub(replaced, _QUOTED.sub(other, text))


def known_words(texts: Iterable[str]) -> frozenset[str]:
    """Return the words that several examples contain outside of their gaps."""
    counts = Counter(word for text in texts for word in {*_tokens(GAP.sub(" ", text))})
    return frozenset(word for word, count in counts.items() if count >= LEAST_EXAMPLES and word[0].isalpha())


def features_of(text: str, known: frozenset[str]) -> set[str]:
    """Return the features of a text: words, pairs and triples of words and gaps, beginnings of words, and its shape."""
    tokens = [*_tokens(untitled(text))]
    masked = [*_masked(tokens, known)]
    row = [START, *masked, END]
    found = {token for token in masked if token != SUBJECT}
    for length in (2, 3):
        found |= {" ".join(row[start : start + length]) for start in range(len(row) - length + 1)}
    found |= {f"{token[:PREFIX]}~" for token in tokens if len(token) > PREFIX and token[0].isalpha()}
    found |= {f"#{name}" for name, shape in _SHAPES if shape.search(text)}
    gaps = min(masked.count(SUBJECT), MOST_GAPS)
    words = min(len(text.split()) // STRIDE, LONGEST)
    return found | {f"#{gaps} gaps", f"#{words * STRIDE} words"}


def _tokens(text: str) -> Iterator[str]:
    for token in _TOKEN.findall(text):
        yield fold(token.replace("’", "'"))


def _masked(tokens: Iterable[str], known: frozenset[str]) -> Iterator[str]:
    """Yield the known words and marks, and one gap for each run of other words."""
    last = ""
    for token in tokens:
        bare = token.removesuffix("'s")
        if token in _MARKS or token in known:
            current = token
        elif bare in known:
            current = bare
        else:
            current = SUBJECT
        if current != SUBJECT or last != SUBJECT:
            yield current
        last = current
