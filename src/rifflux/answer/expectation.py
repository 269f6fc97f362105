"""What a question asks of a block, as it was learned from questions whose answers are known.

An amount, a reason, steps and the items of a list are asked for in more wordings than could be listed. The vector of a
question tells them apart: its place on the axes along which questions differ most decides what each feature of a block
weighs for it (its kind, a number in it, how well it matches). `bench expectation` fits these weights, and they are
stored with the model whose vectors they read. With another model, features weigh the same for all questions.
"""

from __future__ import annotations

import zipfile
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from rifflux.answer.blocks import CODE, DEFINITION, ITEM, LED, LIST, PROSE, REMARK, ROW, SECTION, TABLE, TURN
from rifflux.models.folder import model_error
from rifflux.types import Scores, Vectors

if TYPE_CHECKING:
    from rifflux.models import Embedder

#: The file of the weights, in the model's folder.
STORED = "expectation.npz"
#: The kinds of blocks, and the features of a block by name, in the order of their weights.
KINDS = (PROSE, ITEM, TURN, SECTION, CODE, DEFINITION, LIST, LED, ROW, TABLE, REMARK)
FEATURES = ("meaning", "fit", "worst", "covered", "place", "source", "number", *KINDS)


@dataclass(frozen=True, slots=True)
class Expectation:
    """What the features of blocks weigh for a question, by its place on some axes.

    `center` is the mean vector of questions, (dimension,), and `axes` are scaled so that a place is about 1,
    (axes, dimension). `weights` are those for every question and for each axis, (1 + axes, features).
    """

    center: Scores
    axes: Scores
    weights: Scores

    def __post_init__(self) -> None:
        dimension = self.center.shape[-1]
        count = len(self.axes)
        if self.axes.shape != (count, dimension) or self.weights.shape != (1 + count, len(FEATURES)):
            raise ValueError(f"axes {self.axes.shape} and weights {self.weights.shape} do not match")
        if not all(np.isfinite(each).all() for each in (self.center, self.axes, self.weights)):
            raise ValueError("not all numbers are finite")

    def added(self, question: Vectors, features: Scores) -> Scores:
        """Return what is added to the score of each block; `features` has a row for each."""
        weights = place_of(question, self.center, self.axes) @ self.weights
        found: Scores = (features - features.mean(axis=0)) @ weights
        return found


def place_of(question: Vectors, center: Scores, axes: Scores) -> Scores:
    """Return 1 and the place of a question's vector on each axis, between -1 and 1."""
    place: Scores = np.concatenate([np.ones(1), np.tanh(axes @ (question - center))])
    return place


def expectation_of(embedder: Embedder) -> Expectation | None:
    """Return the weights stored in a model's folder, or None without any for its fingerprint.

    Raises `ModelError` for an invalid file.
    """
    folder = getattr(embedder, "folder", None)
    path = Path(folder or "", STORED)
    if not folder or not path.is_file():
        return None
    return _read(path, embedder.fingerprint)


@lru_cache(maxsize=4)
def _read(path: Path, fingerprint: str) -> Expectation | None:
    try:
        with np.load(path, allow_pickle=False) as content:
            if str(content["fingerprint"]) != fingerprint:
                return None
            return Expectation(*(content[name].astype(np.float64) for name in ("center", "axes", "weights")))
    except (ValueError, KeyError, TypeError, EOFError, OSError, zipfile.BadZipFile) as error:
        problem = "does not say what questions ask for: remove it, or install the model again"
        raise model_error(path, problem, error) from None


def write_expectation(path: Path, fingerprint: str, expectation: Expectation) -> None:
    """Write weights as they are read."""
    numbers = {name: getattr(expectation, name).astype(np.float32) for name in ("center", "axes", "weights")}
    np.savez_compressed(path, fingerprint=np.array(fingerprint), **numbers)
