"""The embedder without a model."""

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rifflux.errors import ModelError
from rifflux.models.hashing import HashEmbedder


def test_texts_that_share_words_are_alike() -> None:
    embedder = HashEmbedder(256)
    query = embedder.embed_query("cache expiry")
    near, far = embedder.embed_documents(["Cache expiry is set in minutes", "Bake the bread until golden"]) @ query
    assert near > 0.4 > 0.2 > far


def test_forms_of_a_word_are_somewhat_alike() -> None:
    embedder = HashEmbedder(256)
    found = embedder.embed_documents(["configuration", "configurations", "zebra"])
    assert found[0] @ found[1] > 0.3 > found[0] @ found[2]


def test_an_empty_text_has_the_zero_vector() -> None:
    assert not HashEmbedder().embed_documents(["", " \n", "!?"]).any()


@given(st.lists(st.text()))
def test_vectors_are_unit_or_zero(texts: list[str]) -> None:
    vectors = HashEmbedder(16).embed_documents(texts)
    assert vectors.shape == (len(texts), 16)
    norms = np.linalg.norm(vectors, axis=1)
    assert np.all((norms == 0) | np.isclose(norms, 1, atol=1e-5))


def test_vectors_are_the_same_in_every_process() -> None:
    script = """
from rifflux.models.hashing import HashEmbedder
print(HashEmbedder(8).embed_query("red").tobytes().hex())
"""
    found = {
        subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True).stdout.strip()
        for _ in range(2)
    }
    assert found == {HashEmbedder(8).embed_query("red").tobytes().hex()}


def test_it_counts_words_and_marks() -> None:
    assert HashEmbedder().count_tokens("Yes, C++ it is.") == 8


def test_it_needs_a_dimension() -> None:
    with pytest.raises(ModelError, match="at least 1"):
        HashEmbedder(0)
