"""From a name to an embedder."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from rifflux.errors import ModelError
from rifflux.models import Embedder, cores, load_embedder
from rifflux.models.cores import available_cores
from rifflux.models.hashing import HashEmbedder
from rifflux.models.http import HttpEmbedder


@pytest.mark.parametrize("spec", [None, "minilm", "all-MiniLM-L6-v2", "sentence-transformers/all-MiniLM-L6-v2"])
def test_the_bundled_model(spec: str | None) -> None:
    embedder = load_embedder(spec)
    assert isinstance(embedder, Embedder)
    assert (embedder.name, embedder.backend) == ("all-MiniLM-L6-v2", "onnx")


@pytest.mark.parametrize(("spec", "dimension"), [("hash", 64), ("hash:128", 128)])
def test_hashing(spec: str | None, dimension: int) -> None:
    assert load_embedder(spec) == HashEmbedder(dimension)


def test_http() -> None:
    embedder = load_embedder("openai:text-embedding-3-small", api_key="secret")
    assert isinstance(embedder, HttpEmbedder)
    assert (embedder.model, embedder.api_key) == ("text-embedding-3-small", "secret")
    assert embedder.base_url.startswith("https://")
    assert load_embedder("http://localhost:8080/v1#nomic") == HttpEmbedder("nomic", "http://localhost:8080/v1")
    assert load_embedder("openai:nomic", base_url="http://box/v1") == HttpEmbedder("nomic", "http://box/v1")


def test_an_embedder_is_itself() -> None:
    embedder = HashEmbedder(8)
    assert load_embedder(embedder) is embedder


@pytest.mark.parametrize("spec", ["no-such-model", "hash:many", "hash:0", "./nowhere", "http://host/v1", "openai:"])
def test_wrong_names(spec: str | None) -> None:
    with pytest.raises(ModelError, match=r"hash|allowed|name the model"):
        load_embedder(spec)


def test_an_unknown_name_lists_what_is_allowed() -> None:
    with pytest.raises(ModelError, match=r"no-such-model.*all-MiniLM-L6-v2.*openai:MODEL.*hash:DIMENSION"):
        load_embedder("no-such-model")


def test_threads_must_be_positive() -> None:
    with pytest.raises(ModelError, match="at least 1"):
        load_embedder(threads=0)


class TestCores:
    def test_there_is_one_at_least_and_no_more_than_we_may_use(self) -> None:
        assert 1 <= available_cores() <= len(os.sched_getaffinity(0))

    def test_two_threads_of_a_core_count_once(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1, 2, 3})
        monkeypatch.setattr(cores, "_siblings", lambda number: f"{number % 2},{number % 2 + 2}")
        monkeypatch.setattr(cores, "_quota", lambda: None)
        assert available_cores() == 2

    @pytest.mark.parametrize(("limit", "expected"), [("150000 100000", 1), ("300000 100000", 3), ("max 100000", 4)])
    def test_a_quota_counts(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, limit: str, expected: int) -> None:
        (tmp_path / "cpu.max").write_text(limit)
        monkeypatch.setattr(cores, "QUOTA", tmp_path / "cpu.max")
        monkeypatch.setattr(cores, "_siblings", str)
        monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1, 2, 3})
        assert available_cores() == expected
