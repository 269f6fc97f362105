"""Reranking as users meet it: through Index.search."""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rifflux
from rifflux import Index
from rifflux.errors import InvalidArgument
from rifflux.models.hashing import HashEmbedder
from rifflux.retrieve.pipeline import Plan
from rifflux.retrieve.steps.rerank import DEFAULT_RERANKER, RERANKERS, Rerank, RerankSettings, Scored, reranker_of
from rifflux.retrieve.steps.rerank.features import Features
from rifflux.retrieve.table import Candidates
from rifflux.types import Document
from tests.models.test_cross_encoder import make_cross_encoder
from tests.support.commands import PATIENCE


@pytest.fixture
def index() -> Iterator[Index]:
    with rifflux.open(":memory:", model=HashEmbedder()) as index:
        index.add(*(Document(f"d{number}", f"cache entry {number} of {number * 7 % 30}") for number in range(40)))
        yield index


def test_by_name(index: Index) -> None:
    found = index.search("cache entry 7", rerank="features")
    assert found.trace.reranker == "features"
    assert found[0].because("rerank:features").rank == 1
    assert "rerank" in found.trace.milliseconds
    assert index.search("cache entry 7").hits == found.hits
    plain = index.search("cache entry 7", rerank="none")
    assert plain.trace.reranker is None
    assert {each.id for each in index.search("cache entry 7", top_k=20, rerank="features")} == {
        each.id for each in index.search("cache entry 7", top_k=20, rerank="none")
    }
    assert plain[0].because("rerank:features") is None


def test_a_fusion_by_ranks_is_not_reranked_unless_asked(index: Index) -> None:
    assert index.search("cache entry 7", fusion="rrf").trace.reranker is None
    assert index.search("cache entry 7", fusion="rrf", rerank="features").trace.reranker == "features"
    assert index.search("cache entry 7", mode="lexical").trace.reranker is None


def test_the_same_search_has_the_same_result(index: Index) -> None:
    one, two = (index.search("cache entry 3", rerank="features").hits for _ in range(2))
    assert one == two


def test_by_mode(index: Index) -> None:
    found = index.search("cache entry", mode="hybrid-rerank")
    assert (found.trace.mode, found.trace.reranker) == ("hybrid", DEFAULT_RERANKER)
    other = index.search("cache", mode="hybrid-rerank", rerank="maxsim").trace
    assert other.degraded[0].text.startswith("rerank: maxsim")


@pytest.mark.parametrize("mode", ["lexical", "semantic"])
def test_in_a_single_channel(index: Index, mode: str) -> None:
    found = index.search("cache entry 7", mode=mode, rerank="features", top_k=30)
    scores = [each.score for each in found]
    assert scores == sorted(scores, reverse=True)
    assert len(scores) == 30


def test_by_value(index: Index) -> None:
    class Backwards:
        name = "backwards"

        def __call__(self, plan: Plan, table: Candidates) -> Scored:
            return Scored(np.arange(len(table), dtype=np.float64))

    plain = index.search("cache", top_k=20, rerank="none")
    turned = index.search("cache", top_k=20, rerank=Rerank(Backwards()))
    assert [each.key for each in turned] == [each.key for each in plain][::-1]


def test_no_more_rows_are_read_than_the_page_and_the_reranker_need(
    index: Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[int] = []
    hydrate = index.admin.store.catalog.hydrate

    def counted(ranking: Any, *trails: Any) -> Any:
        read.append(len(ranking))
        return hydrate(ranking, *trails)

    monkeypatch.setattr(type(index.admin.store.catalog), "hydrate", lambda _, *given: counted(*given))
    for top_k, single in ((3, None), (12, None), (3, True)):
        rerank = Rerank(Features(index.admin.view.resources), top=7)
        index.search("cache", top_k=top_k, rerank=rerank, one_per_document=single)
    # What groups looks at everything that was found.
    assert read[:2] == [7, 12]
    assert read[2] == 40


def test_a_reranker_that_cannot_leaves_the_order_and_says_so(index: Index) -> None:
    plain, tried = index.search("cache entry 7", rerank="none"), index.search("cache entry 7", rerank="maxsim")
    assert tried.hits == plain.hits
    assert tried.trace.reranker is None
    (notice,) = tried.trace.degraded
    assert (notice.code, notice.data) == ("step.left_out", {"step": "rerank"})
    assert "maxsim" in notice.text


@pytest.mark.parametrize("name", ["", "nosuch", "Features"])
def test_an_unknown_reranker(index: Index, name: str) -> None:
    if name:
        with pytest.raises(InvalidArgument, match=", ".join(RERANKERS)):
            index.search("cache", rerank=name)


@pytest.mark.parametrize(("name", "missing"), [("cross-encoder", "rerank_model"), ("llm", "llm_url")])
def test_a_reranker_without_its_settings(index: Index, name: str, missing: str) -> None:
    with pytest.raises(InvalidArgument, match=missing):
        index.search("cache", rerank=name)


@pytest.mark.parametrize("deadline", [0, -1, float("nan"), "200", True])
def test_deadlines_that_cannot_be_meant(index: Index, deadline: Any) -> None:
    with pytest.raises(InvalidArgument, match="deadline_ms"):
        index.search("cache", deadline_ms=deadline)


def test_a_hanging_reranker_is_left_out(index: Index) -> None:
    release = threading.Event()

    class Hanging:
        name = "hanging"

        def __call__(self, plan: Plan, table: Candidates) -> Scored:
            release.wait(PATIENCE)
            return Scored(np.zeros(len(table)))

    stage = Rerank(Hanging(), deadline_ms=100)
    plain = index.search("cache entry 7", rerank="none")
    reasons: list[str] = []
    while len(reasons) < 12:
        found = index.search("cache entry 7", rerank=stage)
        assert found.trace.reranker is None
        assert found.hits == plain.hits
        (notice,) = found.trace.degraded
        # On a busy machine the time may be up before the work begins.
        if "no time was left" not in notice.text:
            reasons.append(notice.text)
    release.set()
    assert reasons[:4] == ["rerank: hanging was left out: it did not finish in time"] * 4
    assert reasons[4:] == ["rerank: hanging was left out: still busy with 4 earlier requests"] * 8


def test_where_models_are_is_told_when_opening(tmp_path: Path) -> None:
    settings = RerankSettings(cross_encoder=str(tmp_path / "nowhere"), llm_key="secret")
    assert "secret" not in repr(settings)
    with rifflux.open(":memory:", model=HashEmbedder(), rerankers=settings) as index:
        index.add(Document("d", "cache"))
        (reason,) = index.search("cache", rerank="cross-encoder").trace.degraded
    assert "nowhere" in reason.text


class TestLevels:
    """A cross-encoder reads question and passage together: what it finds decides how relevant a hit is."""

    @pytest.fixture
    def model(self, tmp_path: Path) -> Path:
        return make_cross_encoder(tmp_path / "tiny")

    @staticmethod
    def found(model: Path, **asked: Any) -> dict[str, Any]:
        settings = RerankSettings(cross_encoder=str(model))
        with rifflux.open(":memory:", model=HashEmbedder(), rerankers=settings) as index:
            index.add(Document("good", "the colour is red red red"), Document("bad", "the colour is blue blue blue"))
            return {hit.key: hit for hit in index.search("colour is", **asked)}

    def test_its_score_decides_the_level(self, model: Path) -> None:
        found = self.found(model, rerank="cross-encoder")
        assert (found["good"].quality, found["bad"].quality) == ("high", "low")
        for hit in found.values():
            assert hit.relevance == pytest.approx(1 / (1 + math.exp(-hit.score)), abs=1e-4)
        assert list(self.found(model, rerank="cross-encoder", min_score=0.5)) == ["good"]

    def test_a_calibration_beside_the_model_is_used(self, model: Path) -> None:
        (model / "relevance.json").write_text('{"intercept": -20, "slope": 1}')
        assert {hit.quality for hit in self.found(model, rerank="cross-encoder").values()} == {"low"}

    @pytest.mark.parametrize("content", ["{}", "[]", '{"intercept": 0, "slope": -1}', '{"intercept": 0, "slope": NaN}'])
    def test_a_file_that_is_no_calibration_is_named(self, model: Path, content: str) -> None:
        (model / "relevance.json").write_text(content)
        settings = RerankSettings(cross_encoder=str(model))
        with rifflux.open(":memory:", model=HashEmbedder(), rerankers=settings) as index:
            index.add(Document("good", "the colour is red"))
            (reason,) = index.search("colour", rerank="cross-encoder").trace.degraded
        assert "relevance.json" in reason.text

    def test_hits_that_it_did_not_read_keep_theirs(self, model: Path) -> None:
        plain = self.found(model, rerank="none")
        found = self.found(model, rerank="cross-encoder", rerank_top=1)
        *_, last = found.values()
        assert last.relevance == plain[last.key].relevance

    def test_other_rerankers_change_no_level(self, model: Path) -> None:
        plain, reranked = self.found(model, rerank="none"), self.found(model, rerank="features")
        assert {key: hit.relevance for key, hit in plain.items()} == {
            key: hit.relevance for key, hit in reranked.items()
        }


def test_a_model_that_was_not_fetched_is_not_downloaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    settings = RerankSettings(cross_encoder="owner/tiny")
    with rifflux.open(":memory:", model=HashEmbedder(), rerankers=settings) as index:
        index.add(Document("d", "red"))
        (reason,) = index.search("red", rerank="cross-encoder").trace.degraded
        assert (reason.cure, reason.data["model"]) == (rifflux.Cure.FETCH_MODEL, "owner/tiny")
        make_cross_encoder(tmp_path / "cache" / "rifflux" / "models" / "owner--tiny")
        found = index.search("red", rerank="cross-encoder")
        assert (found.trace.reranker, found.trace.degraded) == ("cross-encoder", ())


@pytest.mark.parametrize("name", ["maxsim", "cross-encoder", "llm"])
def test_what_may_hang_has_a_deadline_of_its_own(name: str) -> None:
    settings = RerankSettings("folder", "http://127.0.0.1:9/v1", "model")
    with rifflux.open(":memory:", model=HashEmbedder(), rerankers=settings) as index:
        step = reranker_of(name, index._view.resources)
    assert 0 < (step.deadline_ms or 0) <= 10_000
