"""What a question asks of a block: weights that are stored with a model."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from rifflux.answer.expectation import FEATURES, STORED, Expectation, expectation_of, write_expectation
from rifflux.answer.extract import MARGIN
from rifflux.errors import ModelError
from rifflux.models.onnx import BUNDLED, bundled_embedder
from rifflux.types import Vectors


@pytest.fixture(scope="module")
def bundled() -> Expectation:
    found = expectation_of(bundled_embedder())
    assert found
    return found


def _mean(question: str) -> Vectors:
    (tokens,) = bundled_embedder().token_vectors([question])
    mean = tokens.mean(axis=0)
    return np.asarray(mean / np.linalg.norm(mean))


def test_the_same_blocks_differ_by_the_question(bundled: Expectation) -> None:
    blocks = np.eye(len(FEATURES))
    decided = bundled.added(_mean("Who decided about the roof"), blocks)
    again = bundled.added(_mean("Who decided about the roof"), blocks)
    options = bundled.added(_mean("What are the options of the command"), blocks)
    assert decided.tolist() == again.tolist()
    assert decided.tolist() != options.tolist()
    assert max(abs(decided).max(), abs(options).max()) < MARGIN


def test_blocks_without_a_difference_get_nothing(bundled: Expectation) -> None:
    alike = np.ones((3, len(FEATURES)))
    assert bundled.added(_mean("Where is the key"), alike) == pytest.approx([0.0, 0.0, 0.0])


def test_weights_are_read_as_they_are_written(tmp_path: Path, bundled: Expectation) -> None:
    write_expectation(tmp_path / STORED, "f1", bundled)
    read = expectation_of(SimpleNamespace(folder=tmp_path, fingerprint="f1"))
    assert read
    assert np.array_equal(read.weights, bundled.weights)


def test_another_model_has_none(tmp_path: Path, bundled: Expectation) -> None:
    write_expectation(tmp_path / STORED, "f1", bundled)
    assert expectation_of(SimpleNamespace(folder=tmp_path, fingerprint="f2")) is None
    assert expectation_of(SimpleNamespace(fingerprint="f1")) is None
    assert expectation_of(SimpleNamespace(folder=tmp_path / "none", fingerprint="f1")) is None


@pytest.mark.parametrize(
    "content", [b"", b"text", (BUNDLED / STORED).read_bytes()[:5_000]], ids=["empty", "text", "cut"]
)
def test_a_damaged_file_is_named(tmp_path: Path, content: bytes) -> None:
    (tmp_path / STORED).write_bytes(content)
    with pytest.raises(ModelError, match=STORED):
        expectation_of(SimpleNamespace(folder=tmp_path, fingerprint="f1"))


def test_weights_of_other_features_are_refused() -> None:
    with pytest.raises(ValueError, match="do not match"):
        Expectation(np.zeros(4), np.zeros((2, 4)), np.zeros((3, len(FEATURES) - 1)))
