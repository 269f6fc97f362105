"""Check the vectors of embedders: a vector that cannot be compared is an error, never a result."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from rifflux.errors import ModelError, RiffluxError
from rifflux.types import Vectors


def called(name: str, embed: Callable[[Any], Any], given: object) -> object:
    """Call an embedder; turn errors of other kinds, which custom models may raise, into `ModelError`."""
    try:
        return embed(given)
    except RiffluxError:
        raise
    except Exception as error:
        raise foreign(name, error) from error


def foreign(name: str, error: Exception) -> ModelError:
    """Wrap an error of another kind in a `ModelError`. Its message may contain anything and goes to the log only."""
    kind = type(error).__name__
    cure = "mend it, or open the index with another model"
    return ModelError(f"{name} failed ({kind}; the log says more): {cure}", cause=f"{kind}: {error}")


def checked_question(name: str, given: object, dimension: int) -> Vectors:
    """Return the vector of a question as float32, of this dimension. Raises `ModelError`."""
    return checked_vectors(name, given, (dimension,))


def checked_passages(name: str, given: object, texts: Sequence[str], dimension: int) -> Vectors:
    """Return the vectors of passages as float32, of this dimension. Raises `ModelError`, also if all are zeros.

    A single one may be zero: some texts have no word that a model knows.
    """
    vectors = checked_vectors(name, given, (len(texts), dimension))
    if len(texts) > 1 and not vectors.any() and all(any(each.isalnum() for each in text) for text in texts):
        raise ModelError(f"{name} gave nothing but zeros for {len(texts)} texts: mend it")
    return vectors


def checked_vectors(name: str, given: object, shape: tuple[int, ...]) -> Vectors:
    """Return the vectors that a model gave, as float32 of this shape, each number finite. Raises `ModelError`."""
    try:
        vectors = np.asarray(given, np.float32)
    except (TypeError, ValueError):
        raise ModelError(f"{name} gave no vectors but {type(given).__name__}: mend it") from None
    if vectors.shape != shape:
        raise ModelError(f"{name} gave vectors of shape {vectors.shape}, not {shape}: mend it, or index again with it")
    if not np.isfinite(vectors).all():
        raise ModelError(f"{name} gave vectors with numbers that are not finite: mend it")
    return vectors
