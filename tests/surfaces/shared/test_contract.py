"""The search and tool contract: each acceptance criterion, edge case and validation has a test naming it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest

import rifflux
from rifflux import Document, Index, SearchService
from rifflux.errors import InvalidArgument, ModelError
from rifflux.surfaces.mcp import Workspace, server
from rifflux.types import Vectors
from tests.support.agents import Agent, Chosen, agent_of, at

BREAKDOWN = {
    "lexical": {"bm25"},
    "semantic": {"cosine"},
    "hybrid": {"rrf", "lexical_rank", "semantic_rank"},
}
MODES = list(BREAKDOWN)
#: The cosine of each document with any question, by the word that gives it its vector.
COSINES = {"near": 0.9, "far": 0.8, "farther": 0.7}
MODEL = Chosen({"cache": (1.0, 0.0)} | {word: at(cosine) for word, cosine in COSINES.items()})


def made(path: Path, model: Any, *, embedded: dict[str, str], plain: dict[str, str]) -> Index:
    """An index of documents with vectors and of others without, and of enough filler for terms to be rare."""
    index = rifflux.open(path, model=model)
    index.add(*(Document(key, text) for key, text in embedded.items()))
    filler = {f"filler{n}": f"Nothing to see here, number {n}." for n in range(20)}
    index.add(*(Document(key, text) for key, text in (plain | filler).items()), embed=False)
    return index


@pytest.fixture
def index(tmp_path: Path) -> Iterator[Index]:
    """By words `cache ttl`: c1, c2. By meaning: c2, c3."""
    embedded = {"c2": "near the cache it is", "c3": "far away"}
    plain = {"c1": "ttl of the cache, the cache ttl"}
    with made(tmp_path / "index.db", MODEL, embedded=embedded, plain=plain) as index:
        yield index


@pytest.fixture
def service(index: Index) -> SearchService:
    return SearchService(index)


def keys_of(index: Index, results: list[dict[str, Any]]) -> list[str]:
    """The documents of results, best first."""
    return [index.get(result["chunk_id"]).key for result in results]


class TestAcceptanceCriteria:
    def test_ac_001_lexical_breakdown_without_semantic_fields(self, service: SearchService) -> None:
        results = service.search("cache ttl", mode="lexical")
        assert len(results) == 2
        assert all(set(result["score_breakdown"]) == {"bm25"} for result in results)

    def test_ac_001_lexical_works_without_any_vector(self, tmp_path: Path) -> None:
        with rifflux.open(tmp_path / "index.db", model=Broken()) as index:
            index.add(Document("a", "the cache"), embed=False)
            assert len(SearchService(index).search("cache", mode="lexical")) == 1

    def test_ac_002_semantic_breakdown(self, service: SearchService) -> None:
        results = service.search("cache ttl", mode="semantic")
        assert [result["score_breakdown"] for result in results] == [
            {"cosine": pytest.approx(0.9, abs=1e-6)},
            {"cosine": pytest.approx(0.8, abs=1e-6)},
        ]

    def test_ac_003_hybrid_breakdown(self, index: Index, service: SearchService) -> None:
        results = service.search("cache ttl")
        ranks = {
            key: (result["score_breakdown"]["lexical_rank"], result["score_breakdown"]["semantic_rank"])
            for key, result in zip(keys_of(index, results), results, strict=True)
        }
        assert ranks == {"c2": (2, 1), "c1": (1, None), "c3": (None, 2)}

    @pytest.mark.parametrize("model", ["none", "broken"])
    def test_ac_004_semantic_without_a_query_vector_is_empty(self, tmp_path: Path, model: str) -> None:
        embedder = {"none": Speechless, "broken": Broken}[model](MODEL.vectors)
        with made(tmp_path / "index.db", embedder, embedded={"a": "near the cache"}, plain={}) as index:
            assert SearchService(index).search("cache ttl", top_k=5, mode="semantic") == []

    @pytest.mark.parametrize("mode", MODES)
    @pytest.mark.parametrize("top_k", [1, 2, 3, 1000])
    def test_ac_005_at_most_top_k(self, service: SearchService, mode: str, top_k: int) -> None:
        assert len(service.search("cache ttl", top_k=top_k, mode=mode)) <= top_k

    def test_ac_006_tool_output(self, connected: Connected, files: Path) -> None:
        with connected(files) as agent:
            agent.ask("reindex", path=str(files))
            answer = agent.ask("search_rifflux", query="river")
        assert set(answer) == {"query", "mode", "count", "embedding_model", "results", "notes", "locations"}
        assert (answer["query"], answer["mode"], answer["embedding_model"]) == ("river", "hybrid", "hash")

    def test_ac_007_order_is_descending_rrf(self, index: Index, service: SearchService) -> None:
        """The checked vectors: c2 1/62 + 1/61, c1 1/61, c3 1/62."""
        results = service.search("cache ttl")
        assert keys_of(index, results) == ["c2", "c1", "c3"]
        scores = [result["score_breakdown"]["rrf"] for result in results]
        assert scores == pytest.approx([0.0325225, 0.0163934, 0.0161290], abs=1e-7)

    def test_ac_007_longer_lists(self, tmp_path: Path) -> None:
        """By words a, b, c; by meaning b, d, a."""
        embedded = {"b": "near ttl cache of six words", "d": "far away", "a": "farther ttl cache lifetime"}
        plain = {"c": "a cache is mentioned in this one, which is by a good deal longer"}
        with made(tmp_path / "index.db", MODEL, embedded=embedded, plain=plain) as index:
            results = SearchService(index).search("cache ttl lifetime")
            assert keys_of(index, results) == ["b", "a", "d", "c"]
        scores = [result["score_breakdown"]["rrf"] for result in results]
        assert scores == pytest.approx([0.0325225, 0.0322665, 0.0161290, 0.0158730], abs=1e-7)

    def test_ac_008_paths_are_aggregated(self, connected: Connected, files: Path) -> None:
        places = [str(files / "alpha"), str(files / "beta")]
        with connected(files) as agent:
            report = agent.ask("reindex", paths=places)
            assert (report["indexed_files"], report["skipped_files"]) == (3, 0)
            assert report["indexed_paths"] == places
            again = agent.ask("reindex", paths=places)
        assert (again["indexed_files"], again["skipped_files"]) == (0, 3)

    def test_ac_009_paths_win_over_path(self, connected: Connected, files: Path) -> None:
        """Edge case: `reindex` called with both `path` and `paths` populated."""
        with connected(files) as agent:
            report = agent.ask("reindex", path=str(files / "alpha"), paths=[str(files / "beta")])
            assert report["indexed_files"] == 1
            assert agent.ask("search_rifflux", query="heron", mode="lexical")["count"] == 0

    @pytest.mark.parametrize("arguments", [{}, {"path": None}, {"paths": None}, {"paths": []}])
    def test_ac_010_working_directory(
        self, connected: Connected, files: Path, monkeypatch: pytest.MonkeyPatch, arguments: dict[str, Any]
    ) -> None:
        monkeypatch.chdir(files / "alpha")
        with connected(files) as agent:
            report = agent.ask("reindex", **arguments)
        assert report["indexed_files"] == 2
        assert "indexed_paths" not in report


class TestEdgeCases:
    """Section 9."""

    def test_example_of_an_unavailable_query_embedding(self, tmp_path: Path) -> None:
        with made(tmp_path / "i.db", Speechless(), embedded={"a": "the cache ttl"}, plain={}) as index:
            service = SearchService(index)
            assert service.search("cache ttl", top_k=5, mode="semantic") == []
            assert [r["score_breakdown"]["semantic_rank"] for r in service.search("cache ttl")] == [None]

    def test_example_of_hybrid_composition(self, index: Index) -> None:
        for k in (1, 60, 100):
            results = SearchService(index, k=k).search("cache ttl")
            found = dict(zip(keys_of(index, results), results, strict=True))
            assert {key: result["score_breakdown"]["rrf"] for key, result in found.items()} == {
                "c2": pytest.approx(1 / (k + 2) + 1 / (k + 1)),
                "c1": pytest.approx(1 / (k + 1)),
                "c3": pytest.approx(1 / (k + 2)),
            }

    def test_empty_lexical_set_with_semantic_candidates(self, index: Index, service: SearchService) -> None:
        """The question's only known word stands in no document, and still has a vector."""
        index.remove("c1", "c2")
        (result,) = service.search("cache")
        assert result["score_breakdown"] == {
            "rrf": pytest.approx(1 / 61), "lexical_rank": None, "semantic_rank": 1
        }  # fmt: skip

    def test_empty_semantic_set_with_lexical_candidates(self, tmp_path: Path) -> None:
        with made(tmp_path / "i.db", MODEL, embedded={}, plain={"a": "the cache"}) as index:
            service = SearchService(index)
            assert service.search("cache", mode="semantic") == []
            (result,) = service.search("cache")
        assert result["score_breakdown"] == {
            "rrf": pytest.approx(1 / 61), "lexical_rank": 1, "semantic_rank": None
        }  # fmt: skip

    @pytest.mark.parametrize("mode", MODES)
    def test_both_sets_empty(self, tmp_path: Path, mode: str) -> None:
        with rifflux.open(tmp_path / "index.db", model=MODEL) as index:
            assert SearchService(index).search("cache ttl", mode=mode) == []

    def test_chunk_in_both_modalities_comes_once(self, service: SearchService) -> None:
        """Duplicate chunk ID; CON-003: its metadata is that of one row."""
        results = service.search("cache ttl")
        assert len({result["chunk_id"] for result in results}) == len(results) == 3
        alone = [service.search("cache ttl", mode=mode) for mode in ("lexical", "semantic")]
        shared = results[0]["chunk_id"]
        one, other = (next(each for each in found if each["chunk_id"] == shared) for found in alone)
        for key in ("path", "heading_path", "chunk_index", "content"):
            assert results[0][key] == one[key] == other[key]

    def test_query_vector_of_zero_norm(self, service: SearchService) -> None:
        """It ranks nothing: no chunk earns a semantic rank by it."""
        assert service.search("ttl", mode="semantic") == []
        assert [result["score_breakdown"]["semantic_rank"] for result in service.search("ttl")] == [None]

    def test_chunk_vector_of_zero_norm(self, tmp_path: Path) -> None:
        """SEM-002: a cosine with a zero denominator is 0.0."""
        embedded = {"a": "near it is", "zero": "without a word it knows"}
        with made(tmp_path / "i.db", MODEL, embedded=embedded, plain={}) as index:
            results = SearchService(index).search("cache", mode="semantic")
            assert keys_of(index, results) == ["a", "zero"]
        assert results[1]["score_breakdown"] == {"cosine": 0.0}

    def test_reindex_with_empty_paths(self, connected: Connected, files: Path) -> None:
        with connected(files) as agent:
            report = agent.ask("reindex", path=str(files / "beta"), paths=[])
        assert report["indexed_files"] == 1
        assert "indexed_paths" not in report


class TestValidation:
    """Section 10."""

    @pytest.mark.parametrize("mode", MODES)
    def test_all_outputs_conform_to_section_4(self, service: SearchService, mode: str) -> None:
        for result in service.search("cache ttl", mode=mode):
            kinds = {key: type(value) for key, value in result.items()}
            assert kinds == {
                "chunk_id": str,
                "path": str,
                "heading_path": str,
                "chunk_index": int,
                "content": str,
                "score_breakdown": dict,
            }

    @pytest.mark.parametrize("mode", MODES)
    def test_breakdown_keys_by_mode_exactly(self, service: SearchService, mode: str) -> None:
        results = service.search("cache ttl", mode=mode)
        assert results
        assert all(set(result["score_breakdown"]) == BREAKDOWN[mode] for result in results)

    def test_metadata_of_a_file(self, tmp_path: Path, files: Path) -> None:
        with rifflux.open(tmp_path / "index.db", model="hash") as index:
            index.add(files)
            (result,) = SearchService(index).search("evicted", mode="lexical")
        assert (result["path"], result["heading_path"], result["chunk_index"]) == (
            "cache.md",
            "Cache > Eviction",
            1,
        )
        assert result["content"] == "Old entries are evicted."

    def test_lexical_order_is_that_of_bm25(self, index: Index, service: SearchService) -> None:
        """LEX-002: ascending bm25(), which SQLite makes lower for better."""
        results = service.search("cache ttl", mode="lexical")
        scores = [result["score_breakdown"]["bm25"] for result in results]
        assert keys_of(index, results) == ["c1", "c2"]
        assert scores == sorted(scores)
        assert scores[-1] < 0

    def test_fused_order_is_computed_from_ranks(self, tmp_path: Path) -> None:
        with many(tmp_path / "index.db") as index:
            results = SearchService(index).search("cache item 7", top_k=20)
        scores = [result["score_breakdown"]["rrf"] for result in results]
        assert len(results) == 20
        assert scores == sorted(scores, reverse=True)
        for result in results:
            seen = result["score_breakdown"]
            ranks = [seen[name] for name in ("lexical_rank", "semantic_rank") if seen[name] is not None]
            assert seen["rrf"] == pytest.approx(sum(1 / (60 + rank) for rank in ranks))

    def test_count_is_the_number_of_results(self, connected: Connected, files: Path) -> None:
        with connected(files) as agent:
            agent.ask("reindex", path=str(files))
            for query in ("river", "walrus", "xylophone"):
                for mode in MODES:
                    for max_tokens in (1, 100, 8000):
                        answer = agent.ask("search_rifflux", query=query, mode=mode, max_tokens=max_tokens)
                        assert answer["count"] == len(answer["results"])

    def test_no_raw_scores_are_averaged(self, tmp_path: Path) -> None:
        """RRF-004: other cosines of the same order leave every hybrid score as it was."""
        answers = []
        for scale in (1.0, 0.1):
            vectors = {"cache": (1.0, 0.0)} | {word: at(scale * cosine) for word, cosine in COSINES.items()}
            embedded = {"b": "near the cache it is", "d": "far away", "a": "farther off, cache ttl"}
            path = tmp_path / f"{scale}.db"
            with made(path, Chosen(vectors), embedded=embedded, plain={}) as index:
                results = SearchService(index).search("cache ttl")
                cosines = [
                    r["score_breakdown"]["cosine"] for r in SearchService(index).search("cache", mode="semantic")
                ]
                assert cosines == pytest.approx([scale * cosine for cosine in COSINES.values()], abs=5e-5)  # of 16 bits
                answers.append(
                    [(key, r["score_breakdown"]) for key, r in zip(keys_of(index, results), results, strict=True)]
                )
        assert answers[0] == answers[1]

    def test_one_code_is_searched_by_words_with_the_keys_of_hybrid(self, tmp_path: Path) -> None:
        with rifflux.open(tmp_path / "index.db", model="hash") as index:
            index.add(
                *(Document(f"r{n}", f"Region D{n} holds a chest, and a door to D{n + 1}.") for n in range(30, 50))
            )
            service = SearchService(index)
            results = service.results("D40")
            (first, *_) = service.search("D40")
            assert first["content"].startswith("Region D")
            assert first["score_breakdown"] == {"rrf": 1 / 61, "lexical_rank": 1, "semantic_rank": None}
            assert (results.trace.mode, results.trace.effective_mode) == ("hybrid", "lexical")
            assert any("identifier" in note.text for note in results.trace.notes)
            assert service.results("chest").trace.effective_mode == "hybrid"

    @pytest.mark.parametrize("mode", MODES)
    @pytest.mark.parametrize("top_k", [1, 7])
    def test_truncation_of_over_complete_sets(self, tmp_path: Path, mode: str, top_k: int) -> None:
        """REQ-006 and REQ-007: `2 * top_k` candidates per channel, `top_k` results."""
        with many(tmp_path / "index.db") as index:
            results = SearchService(index).results("cache item", top_k=top_k, mode=mode)
        channels = ["lexical", "semantic"] if mode == "hybrid" else [mode]
        assert {name: results.trace.counts[name] for name in channels} == dict.fromkeys(channels, 2 * top_k)
        assert len(results) == top_k

    @pytest.mark.parametrize("mode", ["fuzzy", "", "HYBRID", None])
    def test_unknown_mode_is_refused(self, service: SearchService, mode: Any) -> None:
        with pytest.raises(InvalidArgument, match="choose one of lexical, semantic, hybrid") as refused:
            service.search("cache", mode=mode)
        offered = str(refused.value).partition("choose one of ")[2].split(", ")
        for each in offered:
            service.search("cache", mode=each)

    @pytest.mark.parametrize("top_k", [0, -1, 1001, 2.5, True, None])
    def test_impossible_top_k_is_refused(self, service: SearchService, top_k: Any) -> None:
        with pytest.raises(InvalidArgument, match="from 1 to 1000"):
            service.search("cache", top_k=top_k)

    @pytest.mark.parametrize("query", [None, 5, b"x"])
    def test_a_query_that_is_no_text_is_refused(self, service: SearchService, query: Any) -> None:
        with pytest.raises(InvalidArgument, match=f"must be text, not {type(query).__name__}"):
            service.search(query)

    def test_a_mode_that_would_rerank_is_refused(self, service: SearchService) -> None:
        with pytest.raises(InvalidArgument, match="never reranks"):
            service.search("cache", mode="hybrid-rerank")
        with pytest.raises(InvalidArgument, match="never reranks"):
            service.why("cache", "cache.md", mode="hybrid-rerank")

    @pytest.mark.parametrize("query", ["", " \n"])
    def test_empty_query_is_refused(self, service: SearchService, query: Any) -> None:
        with pytest.raises(InvalidArgument, match="the query is empty"):
            service.search(query)

    def test_retrieval_knows_nothing_of_mcp(self) -> None:
        """CON-001."""
        source = Path(rifflux.__file__).parent
        below = [path for path in source.rglob("*.py") if "surfaces" not in path.relative_to(source).parts]
        assert len(below) > 20
        assert not any("import mcp" in text or "from mcp" in text for text in map(Path.read_text, below))


def many(path: Path) -> Index:
    """Fifty documents that match `cache item` by words, all with a vector."""
    index = rifflux.open(path, model="hash")
    index.add(*(Document(f"d{n}", f"The cache holds item {n}" + " and more" * (n % 5)) for n in range(50)))
    return index


class Speechless(Chosen):
    """An embedder that has no vector for questions."""

    def embed_query(self, _text: str) -> Vectors:
        return None  # type: ignore[return-value]


class Broken(Chosen):
    """An embedder that fails at questions."""

    def embed_query(self, _text: str) -> Vectors:
        raise ModelError("the endpoint does not answer: try again")


Connected = Callable[[Path], AbstractContextManager[Agent]]


@pytest.fixture
def connected(tmp_path: Path) -> Iterator[Connected]:
    """Connects an agent to a server in this process that has one root."""
    with Workspace(tmp_path / "index.db", roots=[tmp_path], model="hash") as workspace:
        yield lambda root: agent_of(server(workspace), root)
