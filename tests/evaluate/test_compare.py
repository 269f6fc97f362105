"""Runs are compared on indexes that are built once."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import rifflux
from rifflux.errors import InvalidArgument, UnusableIndex
from rifflux.evaluate import STANDARD, Cache, Collection, Run, RunOutcome, ablation, compare, parse_run, read_beir
from rifflux.evaluate import build as building
from rifflux.models import load_embedder
from rifflux.store.sqlite.connection.connect import connect
from tests.support.collection import DOCUMENTS, write_collection

LEXICAL = Run("lexical", {"mode": "lexical"})
KEYS = ["collection", "qrels", "run", "queries", "ndcg@10", "recall@20", "mrr@10", "p@5", "p50_ms", "p95_ms", "p_value"]


@pytest.fixture
def cache(tmp_path: Path) -> Iterator[Cache]:
    with Cache(tmp_path / "cache", model="hash:32") as cache:
        yield cache


def _compared(collection: Collection, cache: Cache, *runs: Run, **options: Any) -> list[RunOutcome]:
    return compare(collection, runs, cache.opener(collection, runs), **options)


def _built(cache: Cache) -> list[str]:
    return sorted(path.name for path in cache.folder.glob("*.db"))


# Comparing


def test_known_answers_give_known_values(folder: Path, cache: Cache) -> None:
    (outcome,) = _compared(read_beir(folder), cache, LEXICAL)
    # q1 finds cache before lock, q2 finds queue first, and q3's word is in no document.
    assert outcome.values["ndcg@10"].tolist() == [1, 1, 0]
    assert outcome.row() | {"p50_ms": 0, "p95_ms": 0} == {
        "collection": "small", "qrels": "test", "run": "lexical", "queries": 3, "ndcg@10": 0.666667,
        "recall@20": 0.666667, "mrr@10": 0.666667, "p@5": 0.2, "p50_ms": 0, "p95_ms": 0, "p_value": None,
    }  # fmt: skip
    assert list(outcome.row()) == KEYS
    assert 0 < outcome.percentile(50) <= outcome.percentile(95)


def test_a_cached_index_of_another_schema_is_left_alone(folder: Path, cache: Cache) -> None:
    collection = read_beir(folder)
    cache.index(collection)
    (name,) = _built(cache)
    cache.close()
    family = name.rpartition("-")[0]
    former = (cache.folder / name).rename(cache.folder / f"{family}-former.db")
    connection, _ = connect(str(former), create=False)
    connection.pragma("user_version", 1)
    connection.close()
    with Cache(cache.folder, model="hash:32") as again:
        assert again.index(collection).status().embedded_chunks
    assert _built(cache) == sorted([name, former.name])


def test_identical_runs_do_not_differ(folder: Path, cache: Cache) -> None:
    first, second = _compared(read_beir(folder), cache, LEXICAL, replace(LEXICAL, name="again"))
    assert (first.p_value, second.p_value) == (None, 1.0)
    assert second.differences is not None
    assert not second.differences.any()


def test_clearly_different_runs_differ_significantly(tmp_path: Path, cache: Cache) -> None:
    documents = [{"_id": f"d{n}", "title": "", "text": f"word{n} and more"} for n in range(20)]
    queries = [{"_id": f"q{n}", "text": f"word{n}"} for n in range(20)]
    judgements = [(f"q{n}", f"d{n}", 1) for n in range(20)]
    folder = write_collection(tmp_path / "many", documents=documents, queries=queries, judgements=judgements)
    nothing = Run("nothing", {"mode": "lexical", "min_score": 1e9})
    _, found = _compared(read_beir(folder), cache, LEXICAL, nothing)
    assert found.p_value is not None
    assert found.p_value < 0.05


def test_a_document_counts_at_its_best_chunk_and_once(tmp_path: Path, cache: Cache) -> None:
    long = "\n\n".join(f"Cache paragraph {number}. " + "filler words here " * 60 for number in range(300))
    documents = [{"_id": "long", "title": "", "text": long}, {"_id": "short", "title": "", "text": "A cache of maps."}]
    folder = write_collection(
        tmp_path / "long", documents=documents, queries=[{"_id": "q", "text": "cache"}], judgements=[("q", "short", 1)]
    )
    (outcome,) = _compared(read_beir(folder), cache, LEXICAL)
    assert outcome.mean("recall@20") == 1
    assert outcome.mean("mrr@10") in (0.5, 1.0)


def test_a_scope_keeps_other_documents_out(folder: Path, cache: Cache) -> None:
    documents = [*DOCUMENTS, {"_id": "rival", "text": "How long do cache entries live?", "metadata": {"team": "jobs"}}]
    write_collection(folder, documents=documents)
    (open_to_all,) = _compared(read_beir(folder), cache, LEXICAL)
    (scoped,) = _compared(read_beir(folder, scope="team"), cache, LEXICAL)
    assert open_to_all.values["mrr@10"][0] == 0.5
    assert scoped.values["mrr@10"][0] == 1


def test_a_querys_own_document_can_be_left_out(tmp_path: Path, cache: Cache) -> None:
    queries = [{"_id": "cache", "text": "cache entries live for an hour"}]
    folder = write_collection(tmp_path / "self", queries=queries, judgements=[("cache", "lock", 1)])
    (with_own,) = _compared(read_beir(folder), cache, LEXICAL)
    (without,) = _compared(read_beir(folder), cache, LEXICAL, ignore_identical=True)
    assert (with_own.mean("mrr@10"), without.mean("mrr@10")) == (0.5, 1.0)


def test_what_degraded_is_counted(folder: Path, cache: Cache) -> None:
    collection = read_beir(folder)
    index = cache.index(collection, embed=False)
    (outcome,) = compare(collection, [Run("hybrid")], lambda _: index)
    ((reason, count),) = outcome.degraded.items()
    assert "no chunk has a vector" in reason
    assert count == 3


def test_an_optional_run_that_is_refused_is_left_out_and_told(folder: Path, cache: Cache) -> None:
    refused = Run("best", {"rerank": "no such reranker"}, optional=True)
    told: list[str] = []
    collection = read_beir(folder)
    outcomes = compare(collection, [LEXICAL, refused], cache.opener(collection, [LEXICAL]), left_out=told.append)
    assert [outcome.run for outcome in outcomes] == ["lexical"]
    assert told[0].startswith("small: left out best: ")
    with pytest.raises(InvalidArgument):
        _compared(collection, cache, replace(refused, optional=False))


def test_runs_need_different_names(folder: Path, cache: Cache) -> None:
    for runs in ((), (LEXICAL, LEXICAL)):
        with pytest.raises(InvalidArgument, match="different names"):
            _compared(read_beir(folder), cache, *runs)


def test_progress_is_told(folder: Path, cache: Cache) -> None:
    told: list[tuple[str, int, int | None]] = []
    collection = read_beir(folder)
    compare(collection, [LEXICAL], cache.opener(collection, [LEXICAL]), progress=lambda *each: told.append(each))
    assert told[-1] == ("small: lexical", 3, 3)


# Runs


def test_an_ablation_names_each_channel_and_fusion_once() -> None:
    from rifflux.retrieve.fuse import FUSIONS
    from rifflux.retrieve.steps.rerank import RERANKERS

    names = [run.name for run in ablation()]
    assert names == ["lexical", "semantic", *FUSIONS, *(f"hybrid+{name}" for name in RERANKERS)]
    assert len(set(names)) == len(names)
    assert [run.name for run in STANDARD] == ["lexical", "semantic", "hybrid"]


@pytest.mark.parametrize(
    ("text", "run"),
    [
        ("lexical", LEXICAL),
        ("bm25", Run("bm25", {"mode": "lexical"})),
        ("hybrid,fusion=rrf", Run("hybrid,fusion=rrf", {"mode": "hybrid", "fusion": "rrf"})),
        ("fusion=adaptive:0.6", Run("fusion=adaptive:0.6", {"fusion": "adaptive:0.6"})),
        ("hybrid-rerank", Run("hybrid-rerank", {"mode": "hybrid-rerank"})),
        ("keyword", Run("keyword", {"mode": "lexical"})),
        ("name=best, mode=vec, min_score=0.5", Run("best", {"mode": "semantic", "min_score": 0.5})),
        ("name=a,profile=files", Run("a", {}, "files")),
    ],
)
def test_a_run_is_read_from_an_option(text: str, run: Run) -> None:
    assert parse_run(text) == run


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no mode ''"),
        ("telepathic", "choose one of lexical, semantic, hybrid"),
        ("fusion=none", "no fusion 'none'; choose one of rrf"),
        ("rerank=magic", "no reranker 'magic'; choose one of features"),
        ("profile=none", "no profile 'none'; choose one of files"),
        ("depth=3", "unknown option 'depth'; choose from name, mode"),
        ("lexical,mode=hybrid", "sets mode twice"),
        ("name=,mode=lexical", "empty"),
        ("min_score=high", "'high' is not a number"),
    ],
)
def test_a_bad_run_names_what_is_allowed(text: str, message: str) -> None:
    with pytest.raises(InvalidArgument, match=message):
        parse_run(text)


# The cache


def test_an_index_is_built_once(folder: Path, tmp_path: Path) -> None:
    collection = read_beir(folder)
    for _ in range(2):
        with Cache(tmp_path / "cache", model="hash:32") as cache:
            index = cache.index(collection)
            assert index.status().embedded_chunks == 4
            modified = Path(index.path).stat().st_mtime_ns
    assert len(_built(cache)) == 1
    with Cache(tmp_path / "cache", model="hash:32") as cache:
        assert Path(cache.index(collection, embed=False).path).stat().st_mtime_ns == modified
    assert len(_built(cache)) == 1


def test_vectors_are_made_only_when_a_run_needs_them(folder: Path, cache: Cache) -> None:
    collection = read_beir(folder)
    assert cache.opener(collection, [LEXICAL])(LEXICAL).status().embedded_chunks == 0
    assert cache.opener(collection, STANDARD)(LEXICAL).status().embedded_chunks == 4


def test_other_documents_models_and_code_have_indexes_of_their_own(
    folder: Path, cache: Cache, monkeypatch: pytest.MonkeyPatch
) -> None:
    collection = read_beir(folder)
    cache.index(collection)
    with Cache(cache.folder, model="hash:16") as other:
        other.index(collection)
    assert len(_built(cache)) == 2
    monkeypatch.setattr(building, "_code", lambda: "changed")
    cache.index(collection)
    assert len(_built(cache)) == 3
    write_collection(folder, documents=[*DOCUMENTS, {"_id": "new", "text": "One more."}])
    assert cache.index(read_beir(folder)).status().documents == 5
    assert len(_built(cache)) == 4


def test_vectors_of_equal_texts_are_taken_over(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    collection = read_beir(folder)
    with Cache(tmp_path / "cache", model="hash:32") as cache:
        cache.index(collection)
    monkeypatch.setattr(building, "_code", lambda: "changed")
    model = load_embedder("hash:32")

    def refuse(texts: object) -> None:
        raise AssertionError(f"embedded again: {texts}")

    monkeypatch.setattr(type(model), "embed_documents", lambda self, texts: refuse(texts))
    with Cache(tmp_path / "cache", model=model) as cache:
        assert cache.index(collection).status().embedded_chunks == 4


def test_an_interrupted_build_leaves_nothing_behind(
    folder: Path, cache: Cache, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(rifflux.Index, "add", interrupted)
    with pytest.raises(KeyboardInterrupt):
        cache.index(read_beir(folder))
    assert [each.suffix for each in cache.folder.iterdir()] == [".lock"]


def test_two_builders_of_an_index_share_what_one_of_them_builds(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    collection, fill, built = read_beir(folder), building._fill, list[int]()
    both = threading.Barrier(2)

    def slow(*given: Any, **options: Any) -> None:
        built.append(threading.get_ident())
        fill(*given, **options)

    def build() -> int | None:
        with Cache(tmp_path / "cache", model="hash:32") as cache:
            both.wait()
            return cache.index(collection).status().embedded_chunks

    monkeypatch.setattr(building, "_fill", slow)
    with ThreadPoolExecutor(2) as pool:
        assert [each.result() for each in [pool.submit(build) for _ in range(2)]] == [4, 4]
    assert len(built) == 1


def test_a_document_that_cannot_be_indexed_is_an_error(folder: Path, cache: Cache) -> None:
    write_collection(folder, documents=[*DOCUMENTS, {"_id": "broken", "text": 7}])
    with pytest.raises(InvalidArgument, match=r"corpus\.jsonl:5"):
        cache.index(read_beir(folder))


def test_a_folder_that_cannot_be_made_is_an_error(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(UnusableIndex, match="another cache folder"), Cache(tmp_path / "file", model="hash:32") as cache:
        cache.index(read_beir(folder))
