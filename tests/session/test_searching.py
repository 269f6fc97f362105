"""What a search promises: modes, degradation, filters, refusals, the same answer every time."""

from __future__ import annotations

import datetime
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import rifflux
from rifflux import Document, Filter, Index
from rifflux.session.searching import Searcher
from rifflux.session.session import IndexView
from tests.support.commands import PATIENCE

DOCUMENTS = (
    Document(
        "notes/a.md", "The cache keeps entries.", kind="markdown", created_at="2023-12-31", metadata={"year": 2023}
    ),
    Document(
        "notes/b.txt", "The cache forgets.", kind="text", created_at="2024-05-01T23:30:00Z", metadata={"tags": ["x"]}
    ),
    Document("mail/c.md", "A cache, by mail.", kind="markdown", updated_at="2024-06-01", metadata={"year": 2024}),
    Document("mail/d.md", "Nothing of the kind.", kind="mail", metadata={"tags": ["x", "y"], "draft": True}),
)


@pytest.fixture
def library(index: Index) -> Index:
    """An index of `DOCUMENTS`."""
    index.add(*DOCUMENTS)
    return index


def names(results: Sequence[rifflux.Hit]) -> set[str]:
    """The documents of hits by the letter of their name."""
    return {Path(hit.key).stem for hit in results}


class TestTimes:
    """What a question says of when counts where documents have dates."""

    @pytest.fixture
    def minutes(self, index: Index) -> Index:
        """Minutes of three months that differ in nothing else: dated by their record, their path and their text."""
        held = "Minutes of the committee. The budget was approved."
        index.add(
            Document("a", held, created_at="2015-04-09"),
            Document("2015-05-12 minutes.md", held),
            Document("c", f"{held} Held on 3 June 2015."),
            Document("d", held, created_at="2016-05-12"),
        )
        return index

    @pytest.mark.parametrize(
        ("when", "first"), [("April 2015", "a"), ("2015-05", "2015-05-12 minutes.md"), ("Juni 2015", "c")]
    )
    def test_what_is_of_the_time_comes_first_and_the_answer_says_so(
        self, minutes: Index, when: str, first: str
    ) -> None:
        results = minutes.search(f"committee budget {when}", collapse=False)
        assert results[0].key == first
        assert results[0].because("moments").detail[when] > 1
        assert any(note.text.startswith(f"'{when}' is a time: documents of 2015-0") for note in results.trace.notes)

    def test_words_of_the_time_are_not_missing_in_what_is_of_it(self, minutes: Index) -> None:
        plain, dated = (minutes.search(text, collapse=False) for text in ("budget", "budget 2016-05"))
        best = {hit.key: hit for hit in dated}
        assert (best["d"].relevance or 0) > (best["a"].relevance or 0)
        assert not any("is a time" in note.text for note in plain.trace.notes)

    def test_a_mention_of_the_year_of_a_long_question_moves_next_to_nothing(self, minutes: Index) -> None:
        minutes.add(*(Document(f"report{number}", f"Report {number} of May 2014.") for number in range(3)))
        text = "which committee approved a budget for chairs, curtains, lamps and carpets in 2014?"
        factors = [why.detail["2014"] for hit in minutes.search(text) if (why := hit.because("moments"))]
        assert factors
        assert max(factors) < 1.15

    def test_a_document_of_another_time_is_not_named(self, index: Index) -> None:
        index.add(
            Document("2013-11-24 Roof committee.md", "The roof leaks.", title="Roof committee, 2013-11-24"),
            Document("Roof committee 2.md", "On 9 April 2013 the roof was mended.", title="Roof committee 2"),
        )
        assert index.search("Roof committee April 2013")[0].key == "Roof committee 2.md"

    @pytest.mark.parametrize("way", [{"fusion": "rrf"}, {"mode": "lexical"}, {"mode": "semantic"}])
    def test_ranks_alone_and_single_channels_stay_as_they_are(self, minutes: Index, way: dict[str, Any]) -> None:
        results = minutes.search("committee budget April 2015", **way)
        assert not any("is a time" in note.text for note in results.trace.notes)
        assert not any(why.stage == "moments" for hit in results for why in hit.why)


class TestModes:
    @pytest.mark.parametrize("mode", ["lexical", "lex", "keyword", "bm25"])
    def test_lexical_finds_only_what_holds_the_words(self, library: Index, mode: str) -> None:
        results = library.search("cache", mode=mode)
        assert names(results) == {"a", "b", "c"}
        assert (results.trace.mode, results.trace.fusion) == ("lexical", None)

    @pytest.mark.parametrize("mode", ["semantic", "vec", "vector"])
    def test_semantic_ranks_by_cosine(self, library: Index, mode: str) -> None:
        results = library.search("cache", mode=mode)
        scores = [hit.score for hit in results]
        assert scores == sorted(scores, reverse=True)
        assert max(scores) <= 1.0 + 1e-6
        assert results.trace.mode == "semantic"

    def test_hybrid_tells_the_rank_in_each_channel_and_the_sum(self, library: Index) -> None:
        for hit in library.search("cache", fusion="rrf"):
            ranks = [hit.because(channel).rank for channel in ("lexical", "semantic")]
            assert hit.score == pytest.approx(sum(1 / (60 + rank) for rank in ranks if rank))

    def test_top_k_cuts_the_same_ranking(self, library: Index) -> None:
        everything = library.search("cache", top_k=1000)
        assert [hit.id for hit in library.search("cache", top_k=2)] == [hit.id for hit in everything[:2]]

    @pytest.mark.parametrize("mode", ["lexical", "semantic", "hybrid"])
    def test_min_score_leaves_out_what_is_less_relevant_and_nothing_else(self, library: Index, mode: str) -> None:
        results = library.search("the cache keeps", mode=mode)
        relevances = sorted({hit.relevance for hit in results if hit.relevance is not None})
        assert len(relevances) > 1
        kept = library.search("the cache keeps", mode=mode, min_score=relevances[0]).hits
        assert kept == results.hits
        kept = library.search("the cache keeps", mode=mode, min_score=relevances[1]).hits
        assert kept == tuple(hit for hit in results if hit.relevance != relevances[0])

    def test_min_score_is_about_scores_where_the_profile_tells_no_relevance(self, library: Index) -> None:
        plain = library.using(library.profile.without("relevance"))
        results = plain.search("cache", mode="lexical")
        assert {(hit.relevance, hit.quality) for hit in results} == {(None, None)}
        worst = min(hit.score for hit in results)
        assert plain.search("cache", mode="lexical", min_score=worst).hits == results.hits
        assert names(plain.search("cache", mode="lexical", min_score=worst + 1e-9)) < names(results)

    def test_results_are_a_sequence(self, library: Index) -> None:
        results = library.search("cache", mode="lexical")
        assert [*results] == [results[position] for position in range(len(results))] == [*results[:]]


class TestWithoutVectors:
    @pytest.fixture
    def bare(self, index: Index) -> Index:
        index.add(*DOCUMENTS, embed=False)
        return index

    def test_semantic_finds_nothing_and_says_why(self, bare: Index) -> None:
        results = bare.search("cache", mode="semantic")
        assert list(results) == []
        assert [notice.code for notice in results.trace.degraded] == ["vectors.none"]

    def test_hybrid_becomes_lexical_and_says_so(self, bare: Index) -> None:
        results = bare.search("cache")
        assert names(results) == {"a", "b", "c"}
        assert (results.trace.mode, results.trace.effective_mode) == ("hybrid", "lexical")
        assert len(results.trace.degraded) == 1

    def test_lexical_lacks_nothing(self, bare: Index) -> None:
        assert bare.search("cache", mode="lexical").trace.degraded == ()

    def test_a_partly_embedded_index_says_how_much_is_missing(self, bare: Index) -> None:
        bare.add(Document("e", "An embedded cache."))
        bare.add(Document("f", "Another, not embedded."), embed=False)
        degraded = bare.search("cache").trace.degraded
        assert len(degraded) == 1
        assert degraded[0].code == "vectors.missing"
        assert (degraded[0].data["missing"], degraded[0].data["chunks"]) == (1, 6)

    def test_an_empty_index_answers_with_nothing(self, index: Index) -> None:
        for mode in ("lexical", "semantic", "hybrid"):
            assert list(index.search("cache", mode=mode)) == []


class TestFilters:
    @pytest.mark.parametrize(
        ("narrow", "kept"),
        [
            ({"paths": "notes/**"}, "ab"),
            ({"paths": ["notes/*.md", "mail/*"]}, "acd"),
            ({"paths": "*.md"}, "acd"),
            ({"kinds": "markdown"}, "ac"),
            ({"kinds": ("text", "mail")}, "bd"),
            ({"documents": ["mail/d.md"]}, "d"),
            ({"since": "2024"}, "bc"),
            ({"since": "2024-05-01", "until": "2024-05-01"}, "b"),
            ({"since": datetime.date(2024, 5, 2)}, "c"),
            ({"until": "2023"}, "a"),
            ({"until": datetime.datetime(2024, 5, 1, 12, tzinfo=datetime.UTC)}, "a"),
            ({"until": "9999"}, "abc"),
            ({"since": "0001-01-01"}, "abc"),
            ({"metadata": {"year": 2024}}, "c"),
            ({"metadata": {"year": [2023, 2024]}}, "ac"),
            ({"metadata": {"tags": "x"}}, "bd"),
            ({"metadata": {"tags": ["y", "z"]}}, "d"),
            ({"metadata": {"tags": "x", "draft": True}}, "d"),
            ({"metadata": {"absent": "x"}}, ""),
            ({"paths": "mail/*", "kinds": "markdown"}, "c"),
            ({"paths": (), "kinds": [], "since": None, "metadata": {}}, "abcd"),
            (None, "abcd"),
        ],
    )
    def test_only_what_satisfies_all_parts_is_found(self, library: Index, narrow: Any, kept: str) -> None:
        for filter in (narrow, Filter(**narrow) if narrow else Filter()):
            assert names(library.search("cache", mode="semantic", filter=filter)) == set(kept)
            assert names(library.search("cache kind", mode="lexical", filter=filter)) == set(kept)

    def test_a_filter_never_makes_a_page_short(self, index: Index) -> None:
        index.add(*(Document(f"x{number}", "cache " * 5, kind="loud") for number in range(50)))
        index.add(*(Document(f"y{number}", "a cache among many other words", kind="quiet") for number in range(5)))
        for mode in ("lexical", "semantic", "hybrid"):
            assert len(index.search("cache", top_k=5, mode=mode, filter={"kinds": "quiet"})) == 5

    def test_declared_facets_may_be_asked_for_in_the_query(self, library: Index, tmp_path: Path) -> None:
        assert names(library.search("cache year:2024", mode="lexical")) == {"a", "b", "c"}
        library.admin.declare_facets("year", "tags")
        library.add(Document("notes/e.md", "A cache.", metadata={"year": "2024"}))
        # A number is found as one and as a text: what was typed does not say which was meant.
        assert names(library.search("cache year:2024", mode="lexical")) == {"c", "e"}
        with rifflux.open(tmp_path / "index.db", model="hash") as again:
            assert again.status().facets == ("year", "tags")

    @pytest.mark.parametrize("query", ["cache kind:markdown", "kind:markdown cache", "cache path:mail/* kind:markdown"])
    def test_kind_and_path_always_may(self, library: Index, query: str) -> None:
        assert {hit.kind for hit in library.search(query)} == {"markdown"}


class TestWhatAFilterLeaves:
    @pytest.mark.parametrize(
        ("question", "filter", "told"),
        [
            ("cache", {"kinds": ["foo"]}, ["nothing is of the kind 'foo'"]),
            ("cache", {"paths": ["/nope/**"]}, ["nothing has a path like '/nope/**'"]),
            ("cache", {"metadata": {"nosuch": ["1", 1]}}, ["nothing has nosuch=1"]),
            ("cache", {"since": "2030-01-01"}, ["nothing is from 2030-01-01 or later"]),
            ("cache kind:foo", {}, ["nothing is of the kind 'foo'"]),
            ("cache", {"kinds": ["mail"], "paths": ["notes/*"]}, ["no document meets all conditions of the filter"]),
            ("cache", {"kinds": ["text"]}, []),
            ("kestrel", {"kinds": ["text"]}, []),
        ],
    )
    def test_what_emptied_an_answer_is_told(
        self, library: Index, question: str, filter: dict[str, Any], told: list[str]
    ) -> None:
        notes = library.search(question, filter=filter, mode="lexical").trace.notes
        assert [note.text for note in notes if note.code == "filter.unmatched"] == told


@pytest.mark.parametrize("sign", ["", "-", "+"])
def test_terms_that_are_not_looked_for_are_counted(library: Index, sign: str) -> None:
    def shortened(words: int) -> list[dict[str, Any]]:
        question = "kestrel " + " ".join(f"{sign}zor{'abcdefghij'[n // 26]}{chr(97 + n % 26)}k" for n in range(words))
        notes = library.search(question, mode="lexical").trace.notes
        return [dict(note.data) for note in notes if note.code == "query.shortened"]

    assert shortened(200) == []
    (data,) = shortened(259)
    assert data["terms"] > data["read"]


class TestRefusals:
    @pytest.mark.parametrize(
        ("arguments", "allowed"),
        [
            ({"mode": "magic"}, "lexical, semantic, hybrid"),
            ({"mode": None}, "lexical, semantic, hybrid"),
            ({"mode": ["lexical"]}, "lexical, semantic, hybrid"),
            *(({"top_k": top_k}, "1 to 1000") for top_k in (0, -1, 1001, True, "5", 2.0, None)),
            ({"query": ""}, "say what to look for"),
            ({"query": " \n"}, "say what to look for"),
            ({"query": None}, "say what to look for"),
            ({"fusion": "magic"}, "rrf"),
            ({"filter": {"colour": "red"}}, "paths, kinds, since, until, metadata, documents"),
            ({"filter": {"since": "yesterday"}}, "2024-05-01"),
            ({"filter": {"until": "2024-13-01"}}, "2024-05-01"),
            ({"filter": {"since": 2024}}, "2024-05-01"),
            ({"filter": Filter(since="never")}, "2024-05-01"),
            ({"filter": {"since": "2024-05-02", "until": "2024-05-01"}}, "give the earlier one first"),
            ({"filter": {"paths": 3}}, "sequence of strings"),
            ({"filter": {"metadata": "year"}}, "mapping"),
            ({"filter": {"metadata": {"year": {"from": 2020}}}}, "a number"),
            ({"filter": {"metadata": {"year": 2**64}}}, "a number"),
            ({"filter": "notes"}, "Filter"),
            ({"min_score": "high"}, "number"),
            ({"min_score": float("nan")}, "number"),
        ],
        ids=repr,
    )
    def test_a_wrong_argument_names_what_is_allowed(
        self, library: Index, arguments: dict[str, Any], allowed: str
    ) -> None:
        with pytest.raises(rifflux.InvalidArgument, match=allowed) as refused:
            library.search(**({"query": "cache"} | arguments))
        assert isinstance(refused.value, ValueError)

    @pytest.mark.parametrize("name", ["a b", "", "x-y", "1st", "a,b"])
    def test_a_facet_must_be_a_word(self, index: Index, name: str) -> None:
        with pytest.raises(rifflux.InvalidArgument, match="letters"):
            index.admin.declare_facets(name)

    @pytest.mark.parametrize("id", ["", "nope", "f" * 16, "a'; drop table chunk", "\x00", "é" * 300])
    def test_an_unknown_id_is_not_found(self, library: Index, id: str) -> None:
        with pytest.raises(rifflux.NotFound, match="no chunk or document"):
            library.get(id)


class TestAnotherModel:
    @pytest.fixture
    def other(self, library: Index) -> Iterator[Index]:
        """The library, opened with a model that its vectors are not of."""
        with rifflux.open(library.path, model="hash:32") as index:
            yield index

    def test_words_answer_in_place_of_meaning(self, other: Index, library: Index) -> None:
        found = other.search("cache")
        assert found.trace.effective_mode == "lexical"
        assert names(found) == names(library.search("cache", mode="lexical"))
        assert len(other.search("cache", mode="semantic")) == 0

    @pytest.mark.parametrize("mode", ["semantic", "hybrid"])
    def test_the_reason_names_both_models_and_the_cure(self, other: Index, mode: str) -> None:
        (reason,) = other.search("cache", mode=mode).trace.degraded
        assert "hash:64" in reason.text
        assert (reason.cure, reason.data) == (rifflux.Cure.SWITCH_MODEL, {"model": "hash:32"})

    @pytest.mark.parametrize("mode", ["semantic", "hybrid"])
    def test_the_contract_surface_degrades_too(self, other: Index, mode: str) -> None:
        found = rifflux.SearchService(other).search("cache", mode=mode)
        assert bool(found) == (mode == "hybrid")

    def test_after_the_switch_that_it_names_meaning_answers(self, other: Index) -> None:
        other.admin.switch("hash:32")
        assert other.search("cache").trace.effective_mode == "hybrid"

    def test_embedding_names_the_cure_and_changes_nothing(self, other: Index) -> None:
        with pytest.raises(rifflux.ModelMismatch, match="not of hash:32"):
            other.add(Document("z", "text"))
        assert other.status().documents == len(DOCUMENTS)

    def test_asking_by_words_needs_no_model(self, other: Index) -> None:
        assert names(other.search("cache", mode="lexical")) == {"a", "b", "c"}

    def test_without_a_choice_the_model_of_the_vectors_is_used(self, library: Index) -> None:
        with rifflux.open(library.path) as index:
            assert index.search("cache").trace.effective_mode == "hybrid"


class TestDeterminism:
    QUERIES = ("cache", "river heron", '"the cliff"', "oldest entry -falcon", "entr*")

    def test_the_same_question_gets_the_same_answer(self, index: Index, folder: Path) -> None:
        index.add(folder)
        for query in self.QUERIES:
            assert index.search(query).hits == index.search(query).hits

    def test_the_order_of_indexing_does_not_matter(self, tmp_path: Path) -> None:
        documents = [Document(f"d{number}", f"same words, and number {number % 3}") for number in range(30)]
        rankings = []
        for name, order in (("one", documents), ("two", documents[::-1])):
            with rifflux.open(tmp_path / f"{name}.db", model="hash") as index:
                for document in order:
                    index.add(document)
                rankings.append(
                    [[hit.id for hit in index.search("same number 1", top_k=7, mode=mode)]
                     for mode in ("lexical", "semantic", "hybrid")]
                )  # fmt: skip
        assert rankings[0] == rankings[1]


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Index]:
    """One index for all examples of a property."""
    with rifflux.open(tmp_path_factory.mktemp("shared") / "index.db", model="hash") as index:
        index.add(*DOCUMENTS)
        yield index


def test_nobody_waits_while_another_looks_up_what_a_caller_may_read(
    library: Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    look = IndexView.reading
    looking, ends = threading.Event(), threading.Event()
    one, other = (Searcher(library.admin.view) for _ in range(2))
    slow = threading.Thread(target=lambda: one.view)
    quick = threading.Thread(target=lambda: other.view)

    def reading(view: IndexView, *collections: Any) -> IndexView:
        if threading.current_thread() is slow:
            looking.set()
            ends.wait(PATIENCE)
        return look(view, *collections)

    monkeypatch.setattr(IndexView, "reading", reading)
    slow.start()
    looking.wait(PATIENCE)
    quick.start()
    quick.join(PATIENCE)
    waits = quick.is_alive()
    ends.set()
    slow.join()
    assert not waits


class TestAnyInput:
    @pytest.mark.parametrize(
        "query",
        ['C++ "quoted', "a/b:c@d", "AND OR NOT (", "🚀", "-", '"', '""', "*", "kind:", "-kind:x", "NEAR(a b)", "\x00",
         "\ud83d", "a" * 10_000, "word " * 2_000, "'; drop table chunk; --", "{title}: cache", "^cache", "cache^2"],
        ids=lambda query: ascii(query[:12]),
    )  # fmt: skip
    def test_a_query_is_never_read_as_syntax(self, shared: Index, query: str) -> None:
        for mode in ("lexical", "semantic", "hybrid"):
            assert len(shared.search(query, mode=mode)) <= len(DOCUMENTS)
        assert shared.admin.check() == []

    @given(query=st.text(min_size=1).filter(str.strip), top_k=st.integers(1, 5))
    def test_any_text_is_a_question(self, shared: Index, query: str, top_k: int) -> None:
        results = shared.search(query, top_k=top_k)
        assert len(results) <= top_k
        assert len({hit.id for hit in results}) == len(results)
        scores = [hit.score for hit in results]
        assert scores == sorted(scores, reverse=True)
