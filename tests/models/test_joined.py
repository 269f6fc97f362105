"""Two models as one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from rifflux.errors import ModelError
from rifflux.models import load_embedder
from rifflux.models.hashing import HashEmbedder
from rifflux.models.joined import JoinedEmbedder
from rifflux.types import Vectors

TEXTS = ["Herons stand in the reeds.", "The reeds grow at the lake.", "A hash table keeps keys in buckets.", ""]


@dataclass(frozen=True)
class Narrow(HashEmbedder):
    """The hash embedder with all cosines above .7."""

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        vectors = HashEmbedder(self.dimension).embed_documents(texts)
        common = np.full((len(texts), 1), np.sqrt(0.7), np.float32)
        return np.concatenate([np.sqrt(0.3) * vectors, common], axis=1, dtype=np.float32)

    def embed_query(self, text: str) -> Vectors:
        return np.asarray(self.embed_documents([text])[0])


def test_a_cosine_is_the_weighed_mean_of_both() -> None:
    first, second = load_embedder("hash:64"), load_embedder("hash:128")
    joined = load_embedder("hash:64+hash:128")
    assert isinstance(joined, JoinedEmbedder)
    vectors, question = joined.embed_documents(TEXTS), joined.embed_query("reeds")
    assert vectors.shape == (4, 192) == (4, joined.dimension)
    assert np.linalg.norm(vectors, axis=1) == pytest.approx([1, 1, 1, 0], abs=1e-5)
    expected = joined.share * (first.embed_documents(TEXTS) @ first.embed_query("reeds"))
    expected += (1 - joined.share) * (second.embed_documents(TEXTS) @ second.embed_query("reeds"))
    assert vectors @ question == pytest.approx(expected, abs=1e-5)


def test_the_model_whose_cosines_differ_less_weighs_more() -> None:
    joined = JoinedEmbedder(HashEmbedder(64), Narrow(64))
    assert joined.share == pytest.approx(0.3 / 1.3, abs=0.01)


def test_it_is_made_again_from_its_spec_and_depends_on_both_models() -> None:
    joined = load_embedder("hash:64+hash:128")
    again = load_embedder(joined.spec)  # type: ignore[attr-defined]
    assert (again.name, again.fingerprint) == (joined.name, joined.fingerprint)
    others = {load_embedder(spec).fingerprint for spec in ("hash:64", "hash:128+hash:64", "hash:64+hash:64")}
    assert joined.fingerprint not in others


def test_a_folder_may_have_a_plus_in_its_name(tmp_path: Path) -> None:
    folder = tmp_path / "a+b"
    folder.mkdir()
    with pytest.raises(ModelError, match=r"no model\.onnx"):
        load_embedder(str(folder))
    with pytest.raises(ModelError, match=r"no model\.onnx"):
        load_embedder(f"hash:64+{folder}")


def test_an_unknown_part_is_refused() -> None:
    with pytest.raises(ModelError, match=r"minilm\+nothing"):
        load_embedder("minilm+nothing")
