"""Embedders that give nonsense: words answer, the reason is told, and no number is NaN."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rifflux
from rifflux import Document, ModelError
from rifflux.models.hashing import HashEmbedder
from rifflux.surfaces.shared.nouns import search_json

GIVES: dict[str, tuple[Callable[[], object], str]] = {
    "NaN": (lambda: np.full(256, np.nan, np.float32), "not finite"),
    "infinity": (lambda: np.full(256, np.inf, np.float32), "not finite"),
    "zeros": (lambda: np.zeros(256, np.float32), "nothing in the question to compare"),
    "another dimension": (lambda: np.ones(5, np.float32), "shape"),
    "two vectors": (lambda: np.ones((2, 256), np.float32), "shape"),
    "nothing": (lambda: None, "shape ()"),
    "words": (lambda: "heron", "no vectors but str"),
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
