"""Verdicts: they agree with the search, their numbers add up, and what they advise does help."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

import rifflux
from rifflux import Document, Index, InvalidArgument, NotFound, SearchService, Verdict
from rifflux.retrieve.fuse import ReciprocalRank
from rifflux.text.numbers import ordinal
from rifflux.types import Bound
from tests.support.exploring import examples

WORDS = [
    "cache",
    "entry",
    "river",
    "heron",
    "cliff",
    "otter",
    "queue",
    "minute",
    "D40",
    "lock",
    "page",
    "index",
    "term",
    "score",
    "rank",
]
MODES = ("lexical", "semantic", "hybrid")
FUSIONS = ("rrf", "linear", "balanced", "adaptive")


def _texts(many: int) -> Iterator[Document]:
    draw = random.Random(4)
    for number in range(many):
        words = draw.choices(WORDS, weights=range(1, len(WORDS) + 1), k=draw.randint(3, 40))
        kind = ("note", "mail")[number % 2]
        date = f"2024-01-{number % 28 + 1:02}"
        yield Document(f"d{number}", " ".join(words), kind=kind, created_at=date, metadata={"n": number})


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Index]:
    """Fewer chunks than a pool, so that all that match are candidates."""
    with rifflux.open(tmp_path_factory.mktemp("small") / "index.db", model="hash") as index:
        index.add(*_texts(60))
        index.add(Document("bare", "an otter without a vector"), embed=False)
        index.add(Document("long", "# One\n\n" + "otter river " * 300 + "\n\n# Two\n\nheron"), embed=False)
        yield index


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Index]:
    """More chunks than a pool."""
    with rifflux.open(tmp_path_factory.mktemp("large") / "index.db", model="hash") as index:
        index.add(*_texts(400))
        yield index


class TestAgreement:
    @pytest.mark.parametrize("mode", MODES)
    @pytest.mark.parametrize("query", ["cache entry", "D40", "otter -river", '"heron cliff"', "quue kind:mail", "ott*"])
    def test_every_document_has_the_rank_and_score_of_the_search(self, small: Index, query: str, mode: str) -> None:
        results = small.search(query, top_k=1000, mode=mode)
        ranks = {hit.key: rank for rank, hit in reversed([*enumerate(results, 1)])}
        # Each question and mode judges other thirds of the documents: all of them are judged.
        first = (len(query) + len(mode)) % 3
        for key in [f"d{number}" for number in range(first, 60, 3)] + ["bare", "long"]:
            verdict = small.why(query, key, mode=mode)
            assert verdict.rank == ranks.get(key)
            assert verdict.found == ((verdict.rank or 99) <= 10)
            assert verdict.reason
            if verdict.rank:
                assert verdict.score == results[verdict.rank - 1].score
                assert verdict.hit is not None
                assert verdict.hit.id == results[verdict.rank - 1].id

    @pytest.mark.parametrize("rerank", ["features", "maxsim"])
    def test_also_after_reranking(self, small: Index, rerank: str) -> None:
        results = small.search("otter cache", top_k=1000, rerank=rerank)
        for rank, hit in enumerate(results, 1):
            verdict = small.why("otter cache", hit.id, rerank=rerank)
            assert (verdict.rank, verdict.score) == (rank, hit.score)
            assert sum(verdict.contributions.values()) == pytest.approx(hit.score, abs=1e-9)

    @given(
        st.lists(st.sampled_from(WORDS), min_size=1, max_size=5).map(" ".join),
        st.sampled_from(FUSIONS),
        st.integers(0, 59),
    )
    @examples(60, suppress_health_check=[HealthCheck.function_scoped_fixture])
    def test_contributions_add_up(self, small: Index, query: str, fusion: str, number: int) -> None:
        verdict = small.why(query, f"d{number}", fusion=fusion)
        if verdict.rank:
            assert sum(verdict.contributions.values()) == pytest.approx(verdict.score, abs=1e-9)
        else:
            assert verdict.contributions == {}

    def test_ranks_in_channels_are_exact_below_the_pool(self, large: Index) -> None:
        query, fusion = "cache entry river", ReciprocalRank()
        everything = {mode: large.search(query, top_k=1000, mode=mode) for mode in ("lexical", "semantic")}
        lost = 0
        for number in range(0, 400, 7):
            verdict = large.why(query, f"d{number}", fusion=fusion)
            lost += verdict.rank is None
            for mode, results in everything.items():
                ranks: list[int | None] = [rank for rank, hit in enumerate(results, 1) if hit.key == verdict.document]
                why = verdict.hit.because(mode)
                assert [why.rank] == (ranks or [None])
        assert lost > 5

    def test_the_contract_search_is_judged_by_its_own_rules(self, large: Index) -> None:
        service = SearchService(large)
        for rank, result in enumerate(service.search("cache entry", top_k=5), 1):
            assert service.why("cache entry", result["chunk_id"], top_k=5).rank == rank


class TestReasons:
    def test_no_term_occurs(self, small: Index) -> None:
        verdict = small.why("zebra giraffe", "d1", mode="lexical")
        assert (verdict.stage, verdict.rank) == ("lexical", None)
        assert verdict.reason == "lexical: none of the query's terms occur: zebra, giraffe"

    def test_not_embedded(self, small: Index) -> None:
        assert small.why("otter", "bare", mode="semantic").reason == "semantic: not embedded yet"

    @pytest.mark.parametrize(
        ("filter", "reason"),
        [
            ({"kinds": "pdf"}, "its kind is note, but the filter requires pdf"),
            ({"paths": ["x/**", "*.md"]}, "its path is d2, but the filter requires x/** or *.md"),
            ({"documents": "d3"}, "its key is d2, but the filter requires d3"),
            ({"since": "2025"}, "it is dated 2024-01-03, but the filter requires 2025 or later"),
            ({"until": "2023"}, "it is dated 2024-01-03, but the filter requires 2023 or earlier"),
            ({"metadata": {"year": 2024}}, "it has no year, but the filter requires 2024"),
            ({"not_kinds": ("note",)}, "its kind is note, which is excluded"),
            ({"bounds": (Bound("n", 5),)}, "its n is 2, outside the requested range"),
            ({"without": ("n",)}, "it must not have n"),
            ({"tags": ("msc:14",)}, "it has none of the subjects msc:14"),
        ],
    )
    def test_each_part_of_a_filter(self, small: Index, filter: dict[str, object], reason: str) -> None:
        verdict = small.why("cache", "d2", filter=filter | {"kinds": filter.get("kinds", "note")})
        assert (verdict.stage, verdict.rank, verdict.contributions) == ("filter", None, {})
        assert verdict.reason == f"excluded by the filter: {reason}"

    def test_excluded_and_required_are_told_in_the_words_that_were_typed(self, small: Index) -> None:
        verdict = small.why("otter -entries", small.search("entry", mode="lexical")[0].key)
        assert (verdict.stage, verdict.reason) == ("excluded", "excluded by -entries")
        verdict = small.why('"herons caches queues"', "d3")
        assert verdict.reason == 'the required phrase "herons caches queues" does not occur'

    def test_below_the_pool(self, large: Index) -> None:
        verdicts = [large.why("cache entry river", f"d{n}", fusion="rrf") for n in range(0, 400, 20)]
        reasons = [verdict.reason for verdict in verdicts if verdict.stage == "pool"]
        assert any(reason.startswith("below the pool of 100 in both channels (lexical ") for reason in reasons)

    def test_anchors_and_reranking_that_move_a_hit_are_named(self, small: Index) -> None:
        verdicts = [small.why("otter near D40", f"d{n}", top_k=3, rerank="features") for n in range(60)]
        moved = {verdict.stage for verdict in verdicts if " moved it from " in verdict.reason}
        assert moved & {"anchors", "rerank"}

    def test_the_stage_that_is_named_is_the_one_that_moved_it(self, small: Index) -> None:
        """Also where a hit was on the page before and after: a stage "put" a hit only where it stayed."""
        verdicts = [small.why("otter near D40", f"d{n}", top_k=60, fusion="linear", rerank="none") for n in range(60)]
        put = {verdict.rank: verdict.reason for verdict in verdicts if verdict.rank and " ranked it " in verdict.reason}
        assert all(f" ranked it {ordinal(rank)}" in reason for rank, reason in put.items())
        (named,) = [verdict for verdict in verdicts if verdict.rank == 1]
        assert named.stage == "anchors"
        assert "×" in named.reason

    def test_terms_held_and_missed(self, small: Index) -> None:
        terms = {term.word: term for term in small.why("otters zebras", "bare").terms}
        assert (terms["otters"].matched, terms["otters"].term, terms["zebras"].matched) == (True, "otter", False)
        assert terms["zebras"].frequency == 0 < terms["otters"].frequency
        assert terms["zebras"].idf > terms["otters"].idf

    def test_a_document_without_text(self, tmp_path: Path) -> None:
        with rifflux.open(tmp_path / "i.db", model="hash") as index:
            index.add(Document("empty", ""))
            verdict = index.why("cache", "empty")
            assert (verdict.found, verdict.rank) == (False, None)


class TestChanges:
    def lost(self, index: Index, query: str, **options: object) -> Iterator[Verdict]:
        for number in range(0, 400, 9):
            verdict = index.why(query, f"d{number}", **options)  # type: ignore[arg-type]
            if not verdict.found:
                yield verdict

    @pytest.mark.slow
    @pytest.mark.parametrize("fusion", FUSIONS)
    def test_a_longer_page_holds_it(self, large: Index, fusion: str) -> None:
        tried = 0
        for verdict in self.lost(large, "cache lock page", fusion=fusion):
            for change in verdict.changes:
                if change.what.startswith("ask for "):
                    length = int(change.what.split()[2])
                    hits = large.search("cache lock page", top_k=length, fusion=fusion)
                    assert [hit.key for hit in hits].index(verdict.document) + 1 == change.rank
                    tried += 1
        assert tried

    def test_another_weight_brings_it_onto_the_page(self, large: Index) -> None:
        tried = 0
        for verdict in self.lost(large, "cache lock page", fusion="rrf"):
            for change in verdict.changes:
                if change.what.startswith("weigh meaning "):
                    weight = float(change.what.split()[2])
                    fusion = ReciprocalRank(weights={"semantic": weight, "lexical": 1 - weight})
                    hits = large.search("cache lock page", fusion=fusion)
                    assert verdict.document in [hit.key for hit in hits]
                    tried += 1
        assert tried

    def test_without_the_obstacle_it_has_the_rank_that_is_told(self, small: Index) -> None:
        key = small.search("otter", filter={"kinds": "mail"})[0].key
        verdict = small.why("otter", key, filter={"kinds": "note"})
        (change,) = verdict.changes
        assert change.what.startswith("leave out the filter on kind")
        assert small.why("otter", key).rank == change.rank

    def test_the_smallest_comes_first_and_none_where_it_is_found(self, large: Index) -> None:
        for verdict in self.lost(large, "cache lock page"):
            sizes = [change.size for change in verdict.changes]
            assert sizes == sorted(sizes)
            assert verdict.change == (verdict.changes[0] if verdict.changes else None)
        assert large.why("cache", large.search("cache")[0].key).changes == ()

    def test_a_mention_of_a_missing_term_may_do(self, large: Index) -> None:
        changes = [change for verdict in self.lost(large, "cache entry river") for change in verdict.changes]
        assert any(change.what.startswith("a mention of ") and change.rank <= 10 for change in changes)


class TestRefusals:
    def test_unknown_documents_and_wrong_arguments(self, small: Index) -> None:
        with pytest.raises(NotFound):
            small.why("otter", "nowhere")
        with pytest.raises(InvalidArgument):
            small.why(" ", "d1")
        with pytest.raises(InvalidArgument):
            small.why("otter", "d1", fusion="magic")


@pytest.mark.parametrize(
    ("number", "said"),
    [(1, "1st"), (2, "2nd"), (3, "3rd"), (11, "11th"), (13, "13th"), (22, "22nd"), (112, "112th"), (5000, "5,000th")],
)
def test_ordinals(number: int, said: str) -> None:
    assert ordinal(number) == said
