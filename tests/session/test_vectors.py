"""What is read of an index's vectors, and what follows from it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from itertools import product
from pathlib import Path

import numpy as np
import pytest

import rifflux
from rifflux import Document, Index
from rifflux.models.embedder import fingerprint_of
from rifflux.models.hashing import HashEmbedder
from rifflux.retrieve.scale import SAMPLE
from rifflux.session.vectors import SETTING, stored_reading
from rifflux.types import Vectors

BIRDS = ["heron", "egret", "stork", "crane", "swallow", "kestrel", "owl", "wren", "robin", "finch"]
PLACES = ["reeds", "lake", "barn", "roof", "forest", "meadow", "harbor", "island", "tower", "garden"]
DEEDS = ["nests", "feeds", "sleeps", "sings"]
TEXTS = [
    f"The {bird} {deed} near the {place}. It was seen with a {place} and a {bird}."
    for bird, deed, place in product(BIRDS, DEEDS, PLACES)
]
QUESTIONS = ["where does the heron sleep", "owl tower", "singing robin of the garden", "qwzx plmk"]


@dataclass(frozen=True)
class Raised(HashEmbedder):
    """The hash embedder with a component in common: of a cosine c it makes share · c + 1 - share."""

    share: float = 0.25

    @property
    def fingerprint(self) -> str:
        return fingerprint_of("raised", self.dimension, self.share)

    def _raised(self, vectors: Vectors) -> Vectors:
        common = np.full((*vectors.shape[:-1], 1), np.sqrt(1 - self.share), np.float32)
        return np.concatenate([np.sqrt(self.share, dtype=np.float32) * vectors, common], axis=-1, dtype=np.float32)

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        return self._raised(replace(self, dimension=self.dimension - 1).plain(texts))

    def embed_query(self, text: str) -> Vectors:
        return self.embed_documents([text])[0]

    def plain(self, texts: Sequence[str]) -> Vectors:
        return super().embed_documents(texts)


def filled(path: Path, model: str | HashEmbedder, count: int = len(TEXTS)) -> Index:
    index = rifflux.open(path, model=model)
    index.add(*(Document(f"d{number}", text) for number, text in enumerate(TEXTS[:count])))
    return index


@pytest.mark.parametrize("count", [100, len(TEXTS)])
def test_a_model_whose_cosines_are_an_affine_function_ranks_and_rates_alike(tmp_path: Path, count: int) -> None:
    found = []
    for name, model in (("plain", HashEmbedder(96)), ("raised", Raised(97))):
        with filled(tmp_path / f"{name}.db", model, count) as index:
            found.append([index.search(question).hits for question in QUESTIONS])
    for one, other in zip(*found, strict=True):
        assert [hit.key for hit in one] == [hit.key for hit in other]
        assert [hit.relevance for hit in one] == pytest.approx([hit.relevance for hit in other], abs=0.01)


def test_it_is_read_after_embedding_and_shown(tmp_path: Path) -> None:
    with filled(tmp_path / "index.db", "hash:96") as index:
        shown, reading = index.status().vectors, stored_reading(index.admin.store)
        assert shown
        assert reading
        assert shown.agreement
        assert (shown.sampled, reading.vectors) == (SAMPLE, len(TEXTS))
        assert shown.agreement == pytest.approx(reading.agreement, abs=1e-4)
        assert 0.5 < shown.agreement < 1
        assert shown.noise < shown.noise + shown.spread < shown.noise + shown.reach < 1
        assert shown.weight is not None
        index.add(Document("one more", "An egret."))
        assert stored_reading(index.admin.store) == reading, "one more changes next to nothing"


def test_it_follows_a_switch_to_another_model(tmp_path: Path) -> None:
    with filled(tmp_path / "index.db", "hash:96") as index:
        before = index.status().vectors
    with rifflux.open(tmp_path / "index.db") as index:
        index.admin.switch("hash:32")
        after, reading = index.status().vectors, stored_reading(index.admin.store)
        assert before
        assert after
        assert reading
        assert after.spread > before.spread, "fewer numbers, more chance"
        assert reading.fingerprint == index.admin.embedder.fingerprint


def test_a_few_passages_of_an_unknown_model_say_nothing(tmp_path: Path) -> None:
    with filled(tmp_path / "index.db", "hash:96", 5) as index:
        assert index.status().vectors is None
        assert index.search("heron reeds").hits


def test_levels_come_from_the_scale_of_the_model_however_large_the_index_is(tmp_path: Path) -> None:
    scales = []
    for count in (40, len(TEXTS)):
        with filled(tmp_path / f"{count}.db", "hash:96", count) as index:
            reading = stored_reading(index.admin.store)
            assert reading
            scales.append(reading.model)
    assert scales[0] is not None
    assert scales[0] == scales[1]


def test_a_reading_that_lacks_the_scale_of_the_model_is_made_again(tmp_path: Path) -> None:
    with filled(tmp_path / "index.db", "hash:96") as index:
        store = index.admin.store
        whole = stored_reading(store)
        assert whole
        store.records.set(SETTING, json.dumps(asdict(replace(whole, model=None))))
        index.add(Document("one more", "An egret."), embed=True)
        again = stored_reading(store)
        assert again
        assert (again.vectors, again.model) == (len(TEXTS) + 1, whole.model)


def test_the_bundled_model_says_what_it_is_like_for_any_texts(tmp_path: Path) -> None:
    with filled(tmp_path / "index.db", "minilm", 5) as index:
        shown = index.status().vectors
        assert shown
        assert shown.agreement is None
        assert shown.reach == pytest.approx(0.292)
        assert shown.sampled == 5
