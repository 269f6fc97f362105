"""Embedders that give nonsense: words answer, the reason is told, and no number is NaN."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rifflux
from rifflux import Document, ModelError
from rifflux.models.folder import read_folder
from rifflux.models.hashing import HashEmbedder
from rifflux.retrieve.steps.rerank import RerankSettings
from rifflux.surfaces.shared.nouns import search_json
from tests.support.tiny_model import make_folder

GIVES: dict[str, tuple[Callable[[], object], str]] = {
    "NaN": (lambda: np.full(256, np.nan, np.float32), "not finite"),
    "infinity": (lambda: np.full(256, np.inf, np.float32), "not finite"),
    "zeros": (lambda: np.zeros(256, np.float32), "knows no word of the question"),
    "another dimension": (lambda: np.ones(5, np.float32), "shape"),
    "two vectors": (lambda: np.ones((2, 256), np.float32), "shape"),
    "nothing": (lambda: None, "shape ()"),
    "words": (lambda: "heron", "returned str instead of vectors"),
    "an error": (lambda: dict[str, object]()["missing"], "KeyError"),
}


@dataclass(frozen=True)
class Broken(HashEmbedder):
    """Gives something else for a question."""

    given: str = ""

    def embed_query(self, text: str) -> Any:
        return GIVES[self.given][0]()


@pytest.fixture
def made(tmp_path: Path) -> Path:
    with rifflux.open(tmp_path / "index.db", model=HashEmbedder(256)) as index:
        index.add(Document("heron", "A heron stands in the river."), Document("egret", "An egret flies."))
    return tmp_path / "index.db"


@pytest.mark.parametrize("given", sorted(GIVES))
def test_a_hybrid_search_is_answered_by_words(made: Path, given: str) -> None:
    with rifflux.open(made, model=Broken(256, given=given)) as index:
        found = index.search("heron")
        assert [hit.key for hit in found] == ["heron"]
        assert found.trace.effective_mode == "lexical"
        assert GIVES[given][1] in found.trace.degraded[0].text
        json.dumps(search_json(found), allow_nan=False)


@pytest.mark.parametrize("given", sorted(GIVES))
def test_a_semantic_search_is_empty_and_says_why(made: Path, given: str) -> None:
    with rifflux.open(made, model=Broken(256, given=given)) as index:
        found = index.search("heron", mode="semantic")
        assert not found
        assert GIVES[given][1] in found.trace.degraded[0].text


@dataclass(frozen=True)
class BrokenWriter(HashEmbedder):
    """Gives vectors of nothing for what is stored."""

    def embed_documents(self, texts: Sequence[str]) -> Any:
        return np.full((1, 256), np.nan, np.float32)


def test_what_cannot_be_compared_is_not_stored(tmp_path: Path) -> None:
    with rifflux.open(tmp_path / "index.db", model=BrokenWriter(256)) as index:
        report = index.add(Document("heron", "A heron."))
        assert (report.indexed_files, report.embedded_chunks) == (1, 0)
        assert "not finite" in report.degraded[0].text
        assert [hit.key for hit in index.search("heron")] == ["heron"]
        with pytest.raises(ModelError, match="not finite"):
            index.admin.embed()


BROKEN: dict[str, Callable[[Path], object]] = {
    "gone": lambda folder: folder.rename(folder.with_name("elsewhere")),
    "without its tokenizer": lambda folder: (folder / "tokenizer.json").unlink(),
    "with settings that cannot be read": lambda folder: (folder / "rifflux.json").write_text("{"),
    "with a graph that cannot be read": lambda folder: (folder / "model.onnx").write_bytes(b"no graph"),
}


@pytest.mark.parametrize("how", sorted(BROKEN))
def test_a_folder_whose_model_cannot_be_loaded_leaves_words_and_writes_and_is_not_placed(
    tmp_path: Path, how: str
) -> None:
    folder = make_folder(tmp_path / "models" / "tiny", name="tiny")
    make_folder(folder, name="tiny", digest=read_folder(folder).compute_digest())
    path = tmp_path / "index.db"
    with rifflux.open(path, model=folder) as index:
        index.add(Document("red", "A red heron."))
    shutil.copytree(folder, tmp_path / "copy")
    BROKEN[how](folder)
    with rifflux.open(path) as index:
        found = index.search("heron")
        stored = index.add(Document("blue", "A blue heron."))
        assert [hit.key for hit in found] == ["red"]
        assert stored.embedded_chunks == 0
        for notice in (*found.trace.degraded, *stored.degraded):
            assert "tiny" in notice.text
            assert str(tmp_path) not in json.dumps([notice.text, *notice.data.values()])
        assert index.retrieve("heron").trace.degraded
        assert index.answer("Which heron is red?").degraded
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(tmp_path / "copy", folder)
    with rifflux.open(path) as index:
        index.add(Document("green", "A green heron."))
        assert index.status().embedded_chunks == 3


def test_a_cross_encoder_that_cannot_be_loaded_is_left_out_and_not_placed(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    for folder in (tmp_path / "empty", tmp_path / "absent"):
        rerankers = RerankSettings(cross_encoder=str(folder))
        with rifflux.open(":memory:", model="hash", rerankers=rerankers) as index:
            index.add(Document("red", "A red heron."))
            found = index.search("heron", rerank="cross-encoder")
            assert [notice.code for notice in found.trace.degraded] == ["step.left_out"]
            assert str(tmp_path) not in found.trace.degraded[0].text
            assert len(found) == 1


def test_a_model_of_another_folder_is_named_without_its_place(tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "models" / "tiny", name="tiny")
    with rifflux.open(tmp_path / "index.db", model=folder) as index:
        index.add(Document("red", "A red heron."))
    with rifflux.open(tmp_path / "index.db", model="hash") as index:
        notice = index.search("heron").trace.degraded[0]
    assert "tiny" in notice.text
    assert str(tmp_path) not in json.dumps([notice.text, *notice.data.values()])
