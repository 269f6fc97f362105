"""What an embedder gives, checked: a vector that cannot be compared is the embedder's failure, never a result."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from rifflux.errors import ModelError, RiffluxError
from rifflux.models.embedder import Embedder
from rifflux.types import Vectors

__all__ = ["called", "checked_vectors", "passage_vectors", "question_vector"]


def question_vector(embedder: Embedder, text: str, dimension: int) -> Vectors:
    """Return the vector of a question. Raises `ModelError` for none that can be compared, whatever went wrong."""
    given = called(embedder.name, embedder.embed_query, text)
    vector = checked_vectors(embedder.name, given, (dimension,))
    if not vector.any():
        raise ModelError(f"{embedder.name} finds nothing in the question to compare by meaning: say it in other words")
    return vector


def passage_vectors(embedder: Embedder, texts: Sequence[str]) -> Vectors:
    """Return the vectors of passages. Raises `ModelError` where one cannot be compared, whatever went wrong."""
    given = called(embedder.name, embedder.embed_documents, texts)
    return checked_vectors(embedder.name, given, (len(texts), embedder.dimension))


def called(name: str, embed: Callable[[Any], Any], given: object) -> object:
    """Return what a model gives. Raises `ModelError`, also for errors of other kinds: models of one's own raise any."""
    try:
        return embed(given)
    except RiffluxError:
        raise
    except Exception as error:
        raise ModelError(
            f"{name} failed ({type(error).__name__}: {error}): mend it, or open the index with another model"
        ) from error


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
