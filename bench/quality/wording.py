"""Fit the examples that intents are told by: where they lie among vectors, and how fast they say less with distance.

Each example is filled with many subjects and embedded. Directions in which fills of one example differ are those of
subjects: they are whitened away (Fisher's discriminant), and of what is left, the directions are kept in which examples
differ most. How fast an example says less with its distance is what makes the intents of examples that are left out,
every eighth at a time, most likely.
"""

from __future__ import annotations

import random
import re
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from rifflux.models import Embedder
from rifflux.types import Ids, Scores, Vectors
from rifflux.works.retrieval.likeness import EXAMPLES, FITTED, Example, Wording, digest_of, read_examples, unit

#: What fills the gaps of examples.
GAPS = Path(__file__).with_name("gaps.txt")
#: Fills of an example, the directions that are kept, and how much of the spread is taken for noise.
FILLS, DIMENSIONS, SHRINKAGE = 20, 96, 0.05
#: The share of works that are not called by their title.
DESCRIBED = 0.35
FOLDS = 8
NEARNESSES = (6.0, 8.0, 10.0, 12.0, 14.0, 16.0, 18.0, 20.0, 24.0)
_GAP = re.compile(r"\{(\w)\}")
_ASKS = re.compile(
    r"(?:what|which|who|whom|whose|how|why|where|when|does|do|is|are|can|should|under|in|on|by|has|did)\b", re.I
)


def filled(example: Example, gaps: Mapping[str, Sequence[str]]) -> list[str]:
    """Return an example with what may stand in its gaps, as people type it; equal examples give equal texts."""
    draw = random.Random(zlib.crc32(example.text.encode()))
    if not _GAP.search(example.text):
        return [example.text]
    return [_typed(_with_subjects(example.text, gaps, draw), draw) for _ in range(FILLS)]


def _with_subjects(text: str, gaps: Mapping[str, Sequence[str]], draw: random.Random) -> str:
    x, y = draw.sample(gaps["x"], 2)
    author, work = draw.choice(gaps["a"]), draw.choice(gaps["w"])
    if draw.random() < DESCRIBED:
        forms = (
            "the paper on {x}",
            "the {x} paper",
            "{a}'s work on {x}",
            "the work of {a} on {x}",
            "{x}",
            "the one by {a}",
        )
        work = draw.choice(forms).format(x=draw.choice(gaps["x"]), a=draw.choice(gaps["a"]))
    if work[0].isupper() and " " in work and ":" not in work:
        forms = ('"{}"', '"{}"', "{}", "{}", f"{draw.choice(gaps['a'])}'s {{}}", 'the paper "{}"')
        work = draw.choice(forms).format(work)
    fills = {"x": x, "y": y, "a": author, "w": work}
    return _GAP.sub(lambda gap: fills[gap[1]], text)


def _typed(text: str, draw: random.Random) -> str:
    text += "?" if _ASKS.match(text) and draw.random() < 0.6 else ""
    return text[0].upper() + text[1:] if draw.random() < 0.5 else text


def fit(embedder: Embedder) -> tuple[Wording, Scores, Sequence[str]]:
    """Return the fitted examples; then, by fill of an example that had no say, the shares of intents, and its own."""
    gaps = {each: [*items] for each, items in _gaps()}
    examples = [*read_examples(EXAMPLES.read_text("utf-8"))]
    texts = [filled(example, gaps) for example in examples]
    vectors = [embedder.embed_documents(each) for each in texts]
    folds = np.random.default_rng(FOLDS).permutation(len(examples)) % FOLDS
    own = [example.intent for example, each in zip(examples, texts, strict=True) for _ in each]
    names = sorted(set(own))
    places = [names.index(each) for each in own]
    parts = [*_parts(examples, vectors, folds, embedder.fingerprint)]
    left_out = {value: _left_out(parts, names, len(own), value) for value in NEARNESSES}
    best = max(NEARNESSES, key=lambda value: _likelihood(left_out[value], places))
    return _fitted(examples, vectors, best, embedder.fingerprint), left_out[best], own


def _gaps() -> Iterator[tuple[str, Sequence[str]]]:
    for section in GAPS.read_text("utf-8").split("[")[1:]:
        name, _, lines = section.partition("]")
        yield name, [*filter(None, lines.split("\n"))]


def _likelihood(shares: Scores, places: Sequence[int]) -> float:
    return float(np.log(shares[np.arange(len(places)), places]).mean())


def _parts(
    examples: Sequence[Example], vectors: Sequence[Vectors], folds: Ids, fingerprint: str
) -> Iterator[tuple[Wording, Ids, Vectors]]:
    """Yield what is fitted without a fold, the rows of the fold's fills among all, and their vectors."""
    ends = np.cumsum([*map(len, vectors)])
    for fold in range(FOLDS):
        known, others = np.flatnonzero(folds != fold).tolist(), np.flatnonzero(folds == fold).tolist()
        wording = _fitted([examples[row] for row in known], [vectors[row] for row in known], 1.0, fingerprint)
        rows = np.concatenate([np.arange(ends[row] - len(vectors[row]), ends[row]) for row in others])
        yield wording, rows, np.concatenate([vectors[row] for row in others])


def _left_out(
    parts: Sequence[tuple[Wording, Ids, Vectors]], names: Sequence[str], count: int, nearness: float
) -> Scores:
    """Return the shares of intents, by name, of each fill, by what was fitted without its example."""
    shares = np.zeros((count, len(names)))
    for wording, rows, vectors in parts:
        weights = replace(wording, nearness=nearness).weighed(vectors)
        of = np.array([[example.intent == name for name in names] for example in wording.examples], np.float64)
        shares[rows] = weights @ of
    return shares


def _fitted(examples: Sequence[Example], vectors: Sequence[Vectors], nearness: float, fingerprint: str) -> Wording:
    means = np.stack([each.mean(axis=0) for each in vectors])
    spread = np.concatenate([each - mean for each, mean in zip(vectors, means, strict=True)])
    within = spread.T @ spread / len(spread)
    noise = np.trace(within) / len(within) * np.eye(len(within))
    whitening = np.linalg.cholesky(np.linalg.inv((1 - SHRINKAGE) * within + SHRINKAGE * noise))
    white = means @ whitening
    _, _, directions = np.linalg.svd(white - white.mean(axis=0), full_matrices=False)
    kept = directions[:DIMENSIONS].T
    projection, origin = whitening @ kept, white.mean(axis=0) @ kept
    points = unit(means @ projection - origin)
    points, projection, origin = map(_rounded, (points, projection, origin))
    return Wording(tuple(examples), points, projection, origin, nearness, fingerprint)


def _rounded(array: Vectors) -> Vectors:
    """Return an array with the digits that are stored."""
    return array.astype(np.float16).astype(np.float32)


def write(wording: Wording) -> None:
    """Store what was fitted in the package."""
    text = EXAMPLES.read_text("utf-8")
    arrays = {name: getattr(wording, name).astype(np.float16) for name in ("points", "projection", "origin")}
    np.savez_compressed(
        FITTED, **arrays, nearness=wording.nearness, fingerprint=wording.fingerprint, digest=digest_of(text)
    )
