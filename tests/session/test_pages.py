"""Pages beyond the first, their order, and where they end."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import rifflux
from rifflux import Document, Index, InvalidArgument
from rifflux.models.hashing import HashEmbedder

WORDS = ["heron", "river", "reed", "bank", "water", "fish", "marsh", "egret", "stork", "flight", "nest", "wing"]


def text(number: int) -> str:
    """A text that is unlike its neighbours', and holds the question's words in different measure."""
    chosen = [WORDS[(number * step + step) % len(WORDS)] for step in range(1, 2 + number % 7)]
    return f"Note {number}. {' '.join(chosen)} heron {' '.join(chosen[::-1])} {number * 37 % 101}."


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Index]:
    """More documents than the first page's search has candidates."""
    with rifflux.open(tmp_path_factory.mktemp("pages") / "index.db", model=HashEmbedder(64)) as index:
        days = [f"20{number % 20:02}-0{1 + number % 9}-11" for number in range(700)]
        index.add(*(Document(f"{number:03}", text(number), created_at=day) for number, day in enumerate(days)))
        yield index


@pytest.mark.parametrize(
    "asked",
    [
        {"mode": "hybrid"},
        {"mode": "lexical"},
        {"mode": "semantic"},
        {"fusion": "rrf"},
        {"rerank": "features"},
        {"collapse": True},
        {"diversify": 0.5},
        {"one_per_document": True},
    ],
)
def test_pages_continue_each_other_down_to_the_last(many: Index, asked: dict[str, Any]) -> None:
    pages = [many.search("heron river", top_k=50, offset=offset, **asked) for offset in range(0, 800, 50)]
    ids = [hit.id for page in pages for hit in page]
    assert len(ids) == len(set(ids))
    assert len(ids) == 700 or "collapse" in asked
    again = many.search("heron river", top_k=50, offset=350, **asked)
    assert list(again) == list(pages[7])


def test_shorter_pages_are_pieces_of_longer_ones_within_one_search(many: Index) -> None:
    whole = [hit.id for hit in many.search("heron river", top_k=40)]
    pieces = [hit.id for offset in range(0, 40, 10) for hit in many.search("heron river", offset=offset)]
    assert pieces == whole


def test_a_later_page_tells_relevance_and_reasons(many: Index) -> None:
    found = many.search("heron river", top_k=10, offset=600)
    assert len(found) == 10
    assert all(hit.relevance is not None and hit.because("lexical") and hit.because("semantic") for hit in found)


def test_beyond_the_last_hit_is_an_empty_page(many: Index) -> None:
    assert not many.search("heron river", offset=5000)
    assert not many.search("zebra", offset=10, mode="lexical")


def test_by_date_is_the_same_page_with_the_newest_first(many: Index) -> None:
    page, dated = (many.search("heron river", top_k=20, sort=sort) for sort in ("relevance", "date"))
    assert {hit.id for hit in page} == {hit.id for hit in dated}
    days = [hit.created_at or "" for hit in dated]
    assert days == sorted(days, reverse=True) != [hit.created_at for hit in page]


def test_what_has_no_date_comes_last() -> None:
    with rifflux.open(":memory:", model=HashEmbedder(64)) as index:
        index.add(
            Document("none", "A heron."),
            Document("old", "A heron there.", created_at="1999"),
            Document("new", "A heron here.", updated_at="2026-05"),
        )
        assert [hit.key for hit in index.search("heron", sort="date")] == ["new", "old", "none"]


def test_a_page_ends_where_relevance_falls_off(many: Index) -> None:
    # So many that the words of the question, which relevance is judged by, run out.
    page = many.search("river stork 5", top_k=100)
    relevances = [hit.relevance or 0 for hit in page]
    # Halfway between the best and the least of them, as a share of the best.
    share = (1 + min(relevances) / max(relevances)) / 2
    least = share * max(relevances)
    end = max(place for place, value in enumerate(relevances, 1) if value >= least)
    assert end < 100
    short = many.search("river stork 5", top_k=100, cutoff=share)
    assert [hit.id for hit in short] == [hit.id for hit in page][:end]
    assert short.trace.dropped["cutoff"] == 100 - end
    usual = many.search("river stork 5", top_k=100, cutoff=True)
    assert list(usual) == list(many.search("river stork 5", top_k=100, cutoff=0.5))
    assert len(many.search("river stork 5", top_k=100, cutoff=0)) == 100


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ({"offset": -1}, "offset must be a whole number from 0"),
        ({"offset": 1.5}, "offset"),
        ({"offset": 10_000}, "to 9990"),
        ({"sort": "size"}, "relevance, date"),
        ({"cutoff": 1.5}, "from 0 to 1"),
        ({"cutoff": float("nan")}, "from 0 to 1"),
        ({"cutoff": "half"}, "from 0 to 1"),
        ({"rerank": "features", "rerank_top": 0}, "rerank_top"),
    ],
)
def test_what_cannot_be_meant_is_refused(many: Index, asked: dict[str, Any], told: str) -> None:
    with pytest.raises(InvalidArgument, match=told):
        many.search("heron", **asked)


class TestRankedAsOpened:
    """The fusion and the reranker that an index is opened with."""

    @pytest.fixture
    def path(self, tmp_path: Path) -> Path:
        with rifflux.open(tmp_path / "index.db", model=HashEmbedder(64)) as index:
            index.add(*(Document(str(number), text(number)) for number in range(30)))
        return tmp_path / "index.db"

    def test_are_those_of_a_search_that_names_none(self, path: Path) -> None:
        with rifflux.open(path, fusion="linear:by-specificity", reranker="features", rerank_top=3) as index:
            trace = index.search("heron").trace
            assert (trace.fusion, trace.reranker) == ("linear", "features")
            ranks = [why.rank for hit in index.search("heron") if (why := hit.because("rerank:features"))]
            assert sorted(filter(None, ranks)) == [1, 2, 3]
            assert index.search("heron", fusion="rrf").trace.fusion == "rrf"
            assert index.search("heron", rerank="none").trace.reranker is None
            assert index.search("heron", rerank="features").trace.reranker == "features"
            assert index.search("heron", mode="lexical").trace.reranker is None
            assert rifflux.SearchService(index).results("heron").trace.reranker is None
            assert rifflux.SearchService(index).results("heron").trace.fusion == "rrf"

    def test_hybrid_rerank_is_by_what_is_configured(self, path: Path) -> None:
        with rifflux.open(path, reranker="maxsim") as index:
            (degraded,) = index.search("heron", mode="hybrid-rerank").trace.degraded
            assert "tokens" in degraded.text  # the hash embedder has no vectors of tokens, which maxsim compares

    def test_hybrid_rerank_is_by_features_where_nothing_is_configured(self, path: Path) -> None:
        with rifflux.open(path, reranker="none") as index:
            assert index.search("heron", mode="hybrid-rerank").trace.reranker == "features"

    @pytest.mark.parametrize(
        "wrong",
        [
            {"fusion": "magic"},
            {"reranker": "magic"},
            {"rerank_top": -1},
            {"boosts": {"magic": 2}},
            {"boosts": {"cap": 0}},
        ],
    )
    def test_unknown_ones_are_refused(self, path: Path, wrong: dict[str, Any]) -> None:
        with pytest.raises(InvalidArgument):
            rifflux.open(path, **wrong)

    def test_other_boosts_lift_otherwise(self, path: Path) -> None:
        def lifted(**chosen: Any) -> Any:
            with rifflux.open(path, **chosen) as index:
                index.add(Document("room", "D40 is a room."))
                trail = index.search("D40", rerank="none")[0].because("anchors")
                assert trail is not None
                return dict(trail.detail)

        usual, more = lifted(), lifted(boosts={"boost": 2.5})
        assert usual["d40"] == 1.5
        assert more == usual | {"d40": 2.5}

    def test_a_fusion_that_is_ignored_is_told(self, path: Path) -> None:
        with rifflux.open(path) as index:
            found = index.search("heron", mode="lexical", fusion="rrf").trace
            assert any("the fusion rrf was ignored: a lexical search" in note.text for note in found.notes)
            assert not any("ignored" in note.text for note in index.search("heron", mode="lexical").trace.notes)

    def test_an_unknown_mode_is_answered_with_all(self, path: Path) -> None:
        with rifflux.open(path) as index, pytest.raises(InvalidArgument, match=r"hybrid, .*lex, .*vector"):
            index.search("heron", mode="psychic")
        with rifflux.open(path) as index, pytest.raises(InvalidArgument, match="never reranks"):
            rifflux.SearchService(index).search("heron", mode="hybrid-rerank")
