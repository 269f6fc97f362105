"""What every store does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from rifflux.errors import ModelMismatch
from rifflux.store import (
    VARIANT,
    DocumentChange,
    Edge,
    Event,
    FileState,
    ModelInfo,
    Placed,
    Store,
)
from rifflux.testing.making import MODEL, WEIGHTS, change, number_of, vector_of, words
from rifflux.types import Document, Filter, Identifier, Link, Part, Query, Ranking, Tag, Why

__all__ = ["StoreContract"]


def _keys(store: Store, ranking: Ranking) -> list[str]:
    return [hit.document for hit in store.catalog.hydrate(ranking)]


class StoreContract:
    """What every Store does. Needs a fixture `store`: an empty, writable one."""

    @pytest.fixture
    def store(self) -> Store:
        """An empty, writable store."""
        raise NotImplementedError("give a fixture named store")

    def _match(self, store: Store, text: str, limit: int = 10, **fields: object) -> list[str]:
        return _keys(store, store.lexical.match(words(text, **fields), limit, WEIGHTS))

    def _embedded(self, store: Store, vectors: dict[str, Sequence[float]]) -> None:
        store.semantic.use_model(MODEL)
        for number, (key, vector) in enumerate(vectors.items()):
            put = change(key, f"text of {key}", first_id=100 + number)
            store.catalog.put("c", put)
            store.semantic.put_vectors([put.chunks[0].chunk.id], [put.chunks[0].hash], vector_of(*vector)[None])

    def test_what_is_put_is_found_by_its_words(self, store: Store) -> None:
        store.catalog.put("c", change("a", "the cache expires"))
        store.catalog.put("c", change("b", "the queue grows"))
        assert self._match(store, "cache") == ["a"]

    def test_a_title_counts_more_than_a_body(self, store: Store) -> None:
        store.catalog.put("c", change("body", "about the cache and many other things"))
        store.catalog.put("c", change("title", "about the queue and many other things", title="cache"))
        assert self._match(store, "cache")[0] == "title"

    def test_scores_are_positive_and_descend(self, store: Store) -> None:
        for number in range(5):
            store.catalog.put("c", change(f"d{number}", "cache " * (number + 1) + "filler words follow here"))
        store.catalog.put("c", change("other", "nothing of the kind"))
        ranking = store.lexical.match(words("cache"), 10, WEIGHTS)
        assert len(ranking) == 5
        assert all(ranking.scores[:-1] >= ranking.scores[1:])

    def test_equal_scores_are_ordered_by_id(self, store: Store) -> None:
        for id in (30, 10, 20):
            store.catalog.put("c", change(f"d{id}", "same words here", first_id=id))
        assert self._match(store, "words") == ["d10", "d20", "d30"]

    def test_a_limit_keeps_the_best(self, store: Store) -> None:
        store.catalog.put("c", change("weak", "cache and a great many other words that dilute it"))
        store.catalog.put("c", change("strong", "cache cache"))
        assert self._match(store, "cache", limit=1) == ["strong"]

    def test_putting_again_replaces(self, store: Store) -> None:
        store.catalog.put("c", change("a", "old words"))
        store.catalog.put("c", change("a", "new text"))
        assert self._match(store, "old") == []
        assert self._match(store, "new") == ["a"]
        assert store.counts()["documents"] == 1
        assert store.counts()["chunks"] == 1

    def test_a_new_title_is_searched_and_the_old_one_is_not(self, store: Store) -> None:
        store.catalog.put("c", change("a", "body", title="former", first_id=1))
        store.catalog.put("c", change("a", "body", title="current", first_id=1))
        assert self._match(store, "former") == []
        assert self._match(store, "current") == ["a"]

    def test_unchanged_chunks_keep_their_vectors(self, store: Store) -> None:
        store.semantic.use_model(MODEL)
        put = change("a", "first", "second", first_id=1)
        store.catalog.put("c", put)
        store.semantic.put_vectors([1, 2], [each.hash for each in put.chunks], np.eye(2, dtype=np.float32))
        edited = change("a", "first", "other", first_id=1)
        store.catalog.put("c", edited)
        assert [chunk.id for batch in store.semantic.pending(10) for chunk in batch] == [2]

    def test_vectors_of_an_outdated_text_are_refused(self, store: Store) -> None:
        store.semantic.use_model(MODEL)
        store.catalog.put("c", change("a", "text", first_id=1))
        assert store.semantic.put_vectors([1], [12345], vector_of(1, 0)[None]) == 0

    def test_equal_keys_in_two_collections_are_two_documents(self, store: Store) -> None:
        store.catalog.put("one", change("README.md", "first words", first_id=1))
        store.catalog.put("two", change("README.md", "second words", first_id=2))
        assert store.catalog.find_documents("README.md") == [("one", "README.md"), ("two", "README.md")]
        store.catalog.remove("one", ["README.md"])
        assert store.catalog.find_documents("README.md") == [("two", "README.md")]

    def test_many_at_once_are_as_one_after_the_other(self, store: Store) -> None:
        store.catalog.put("c", change("known", "old words", "kept", first_id=1))
        texts = {"known": ("fresh", "kept"), "new": ("first",), "twice": ("former",)}
        changes = [change(key, *each) for key, each in texts.items()]
        store.catalog.put_all(Placed("c", each) for each in [*changes, change("twice", "latter", title="again")])
        assert [hit.content for hit in store.catalog.chunks_of("c", "known")] == ["fresh", "kept"]
        assert self._match(store, "old former") == []
        assert sorted(self._match(store, "fresh first latter again")) == ["known", "new", "twice"]
        assert store.counts()["documents"] == 3

    def test_removed_documents_are_gone_from_every_channel(self, store: Store) -> None:
        self._embedded(store, {"a": (1, 0), "b": (0, 1)})
        assert store.catalog.remove("c", ["a", "unknown"]) == 1
        assert self._match(store, "text") == ["b"]
        assert _keys(store, store.semantic.nearest(Query("", vector=vector_of(1, 0)), 10)) == ["b"]

    def test_nearest_ranks_by_cosine_whatever_the_length(self, store: Store) -> None:
        self._embedded(store, {"east": (1, 0), "north": (0, 1), "between": (0.6, 0.8)})
        ranking = store.semantic.nearest(Query("", vector=vector_of(5, 0)), 10)
        assert _keys(store, ranking) == ["east", "between", "north"]
        assert ranking.scores == pytest.approx([1, 0.6, 0], abs=1e-6)

    def test_scores_of_chosen_chunks_are_those_of_the_ranking_whatever_the_filter(self, store: Store) -> None:
        self._embedded(store, {"east cache": (1, 0), "north": (0, 1), "between cache": (0.6, 0.8)})
        store.catalog.put("c", change("bare", "cache cache", first_id=900))
        query = words("cache", vector=vector_of(5, 0))
        ranking, nearest = store.lexical.match(query, 10, WEIGHTS), store.semantic.nearest(query, 10)
        ids = np.array([*ranking.ids.tolist(), 12345], np.int64)
        assert store.lexical.bm25_of(replace(query, filter=Filter(kinds=("none",))), ids, WEIGHTS) == pytest.approx(
            [*ranking.scores, 0]
        )
        cosines = store.semantic.cosines_of(query, np.array([*nearest.ids, 900, 12345], np.int64))
        assert cosines[:3] == pytest.approx(nearest.scores, abs=5e-5)
        assert np.isnan(cosines[3:]).all()
        assert np.isnan(store.semantic.cosines_of(replace(query, vector=None), ids)).all()

    @pytest.mark.parametrize("vector", [None, (0, 0)])
    def test_no_vector_or_one_of_length_zero_ranks_nothing(
        self, store: Store, vector: tuple[float, float] | None
    ) -> None:
        self._embedded(store, {"a": (1, 0)})
        query = Query("", vector=None if vector is None else vector_of(*vector))
        assert len(store.semantic.nearest(query, 10)) == 0

    def test_filters_narrow_before_ranking(self, store: Store) -> None:
        for number in range(20):
            store.catalog.put(
                "c", change(f"x/{number}.txt", f"cache number {number}", kind="text", metadata={"year": number})
            )
        store.catalog.put("c", change("y/1.md", "cache and much else that makes it rank last of all", kind="markdown"))
        for narrow in (Filter(kinds=("markdown",)), Filter(paths=("y/**",)), Filter(documents=("y/1.md",))):
            assert self._match(store, "cache", limit=1, filter=narrow) == ["y/1.md"]
        years = self._match(store, "cache", filter=Filter(metadata={"year": [3, 4]}))
        assert set(years) == {"x/3.txt", "x/4.txt"}

    @pytest.mark.parametrize(
        ("narrow", "found"),
        [
            (Filter(since="2024-05-02"), {"new"}),
            (Filter(until="2024-05-01"), {"old", "day"}),
            (Filter(since="2024-05-01", until="2024-05-01"), {"day"}),
            (Filter(since="2024"), {"day", "new"}),
        ],
    )
    def test_dates_include_both_ends_and_either_may_be_missing(
        self, store: Store, narrow: Filter, found: set[str]
    ) -> None:
        store.catalog.put("c", change("old", "words", created_at="2023-12-31"))
        store.catalog.put("c", change("day", "words", created_at="2024-05-01T23:59:00+00:00"))
        store.catalog.put("c", change("new", "words", updated_at="2024-05-02T00:00:00Z"))
        assert set(self._match(store, "words", filter=narrow)) == found

    def test_a_list_in_metadata_matches_by_any_item(self, store: Store) -> None:
        store.catalog.put("c", change("a", "words", metadata={"tags": ["red", "blue"]}))
        store.catalog.put("c", change("b", "words", metadata={"tags": "green"}))
        assert self._match(store, "words", filter=Filter(metadata={"tags": "blue"})) == ["a"]

    def test_filters_narrow_vectors_too(self, store: Store) -> None:
        self._embedded(store, {"a": (1, 0), "b": (0.9, 0.1)})
        query = Query("", vector=vector_of(1, 0), filter=Filter(documents=("b",)))
        assert _keys(store, store.semantic.nearest(query, 1)) == ["b"]

    def test_phrases_and_exclusions_hold_in_both_channels(self, store: Store) -> None:
        self._embedded(store, {"alpha": (1, 0), "beta": (0, 1)})
        only_beta = Query("", excluded=(("alpha",),), vector=vector_of(1, 0), clauses=(("text",),))
        assert _keys(store, store.semantic.nearest(only_beta, 10)) == ["beta"]
        assert _keys(store, store.lexical.match(only_beta, 10, WEIGHTS)) == ["beta"]
        must = Query("", required=(("beta",),), vector=vector_of(1, 0))
        assert _keys(store, store.semantic.nearest(must, 10)) == ["beta"]
        assert _keys(store, store.lexical.match(must, 10, WEIGHTS)) == ["beta"]

    def test_a_phrase_needs_its_words_next_to_each_other(self, store: Store) -> None:
        store.catalog.put("c", change("apart", "red car and blue house"))
        store.catalog.put("c", change("together", "a blue car"))
        assert _keys(store, store.lexical.match(Query("", required=(("blue", "car"),)), 10, WEIGHTS)) == ["together"]

    def test_prefixes_match_the_starts_of_terms(self, store: Store) -> None:
        store.catalog.put("c", change("a", "configuration"))
        store.catalog.put("c", change("b", "figures"))
        assert _keys(store, store.lexical.match(Query("", prefixes=("config",)), 10, WEIGHTS)) == ["a"]

    @pytest.mark.parametrize(
        "term", ['a"b', "or", "and", "not", "near(", "c++", "*", "^a", "title", "\\o_x", "é", "🚀"]
    )
    def test_no_term_is_read_as_syntax(self, store: Store, term: str) -> None:
        assert len(store.lexical.match(Query("", ((term,),), excluded=((term,),)), 10, WEIGHTS)) == 0

    def test_a_transaction_happens_whole_or_not_at_all(self, store: Store) -> None:
        def interrupted() -> None:
            with store.transaction():
                store.catalog.put("c", change("a", "words"))
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            interrupted()
        assert store.counts()["documents"] == 0
        assert self._match(store, "words") == []

    def test_files_hold_documents_and_take_them_along(self, store: Store) -> None:
        store.catalog.put_file("/root", FileState("f.jsonl", 10, 1, "h"), keep=None)
        store.catalog.put("/root/f.jsonl", change("r1", "one", first_id=1), file=("/root", "f.jsonl"))
        store.catalog.put("/root/f.jsonl", change("r2", "two", first_id=2), file=("/root", "f.jsonl"))
        assert store.catalog.put_file("/root", FileState("f.jsonl", 11, 2, "h2"), keep=["r2"]) == 1
        assert store.catalog.files("/root") == {"f.jsonl": FileState("f.jsonl", 11, 2, "h2")}
        assert self._match(store, "one") == []
        assert store.catalog.roots() == ["/root"]
        assert store.catalog.remove_files("/root", ["f.jsonl"]) == 1
        assert store.counts()["chunks"] == 0
        assert store.catalog.files("/root") == {}

    def test_a_document_comes_back_as_it_was_put(self, store: Store) -> None:
        put = change(
            "a", "some text", title="T", kind="note", created_at="2024-01-01", updated_at="2024-01-02",
            metadata={"n": 1, "tags": ["x"]}, links=(Link("b", "cites", 0.5),), license="CC0",
        )  # fmt: skip
        store.catalog.put("c", put)
        assert store.catalog.document("c", "a") == put.document
        assert store.catalog.document("c", "b") is None

    def test_identifiers_tags_and_parts_come_back_and_are_replaced(self, store: Store) -> None:
        doi, arxiv = Identifier("doi", "10.1/a"), Identifier("arxiv", "math/0102001")
        tags = (Tag("arxiv", "math.AG"), Tag("msc", "14F05"))
        parts = (Part("abstract", (0, 4)), Part("theorem", (5, 9), ("Schemes", "Theorem 1"), "thm:one"))
        put = change("a", "some text", identifiers=(arxiv, doi), tags=tags, parts=parts)
        store.catalog.put("c", put)
        assert store.catalog.document("c", "a") == put.document
        id = put.chunks[0].chunk.id
        assert dict(store.catalog.tags_of(np.array([id, 5]))) == {id: list(tags)}
        assert dict(store.catalog.identifiers_of(np.array([id, 5]))) == {id: [arxiv, doi]}
        assert dict(store.catalog.identified(["doi:10.1/a", "doi:10.1/b"])) == {"doi:10.1/a": [("c", "a")]}
        store.catalog.put("c", change("a", "some text", identifiers=(arxiv,)))
        assert list(store.catalog.identified(["doi:10.1/a", "arxiv:math/0102001"])) == ["arxiv:math/0102001"]
        store.catalog.remove("c", ["a"])
        assert dict(store.catalog.identified(["arxiv:math/0102001"])) == {}

    def test_two_documents_may_claim_one_identifier(self, store: Store) -> None:
        for key in ("b", "a"):
            store.catalog.put("c", change(key, "text", identifiers=(Identifier("doi", "10.1/a"),)))
        assert dict(store.catalog.identified(["doi:10.1/a"])) == {"doi:10.1/a": [("c", "a"), ("c", "b")]}

    def test_links_are_followed_both_ways_by_any_identifier_and_by_key(self, store: Store) -> None:
        names = (Identifier("doi", "10.1/t"), Identifier("arxiv", "2101.00001"))
        store.catalog.put("c", change("target", "one", "two", first_id=1, identifiers=names))
        store.catalog.put("c", change("by-doi", "x", first_id=10, links=(Link("doi:10.1/t"), Link("doi:10.1/nowhere"))))
        store.catalog.put("d", change("by-arxiv", "y", first_id=20, links=(Link("arxiv:2101.00001", "cites", 0.5),)))
        store.catalog.put("c", change("by-key", "z", first_id=30, links=(Link("target", "refers"), Link("by-key"))))
        store.catalog.put("d", change("elsewhere", "z", first_id=40, links=(Link("target"),)))
        assert store.catalog.linked(np.array([10, 20, 30, 40])) == [
            Edge(10, 1, "cites", 1.0), Edge(20, 1, "cites", 0.5), Edge(30, 1, "refers", 1.0)
        ]  # fmt: skip
        assert store.catalog.linked(np.array([2]), incoming=True) == [
            Edge(2, 10, "cites", 1.0), Edge(2, 20, "cites", 0.5), Edge(2, 30, "refers", 1.0)
        ]  # fmt: skip
        assert dict(store.catalog.citations(np.array([2, 10]))) == {2: 2}
        assert dict(store.catalog.citations(np.array([2]), "refers")) == {2: 1}

    def test_records_of_sources_are_kept_until_the_document_goes(self, store: Store) -> None:
        store.catalog.put("c", change("a", "text"))
        store.catalog.keep_records("c", "a", {"one": "1", "two": "2"})
        store.catalog.keep_records("c", "a", {"two": "3", "six": "6"})
        store.catalog.put("c", change("a", "other"))
        assert dict(store.catalog.records("c", "a")) == {"six": "6", "two": "3"}
        store.catalog.remove("c", ["a"])
        store.catalog.put("c", change("a", "text"))
        assert dict(store.catalog.records("c", "a")) == {}

    def test_links_are_found_whichever_end_is_stored_first(self, store: Store) -> None:
        store.catalog.put("c", change("citing", "x", first_id=1, links=(Link("doi:10.1/t"),)))
        assert store.catalog.linked(np.array([1])) == []
        store.catalog.put("c", change("cited", "y", first_id=2, identifiers=(Identifier("doi", "10.1/t"),)))
        assert [edge.chunk for edge in store.catalog.linked(np.array([1]))] == [2]
        store.catalog.remove("c", ["citing"])
        assert dict(store.catalog.citations(np.array([2]))) == {}

    def test_a_chunk_comes_back_by_its_public_id(self, store: Store) -> None:
        store.catalog.put("c", change("a", "first", "second", first_id=0xABC))
        hit = store.catalog.chunk(f"{0xABD:016x}")
        assert hit is not None
        assert (hit.document, hit.content, hit.chunk_index) == ("a", "second", 1)
        assert [hit.content for hit in store.catalog.chunks_of("c", "a")] == ["first", "second"]
        for unknown in ("", "zz", "f" * 16, "0" * 16, "'; drop table chunk"):
            assert store.catalog.chunk(unknown) is None

    def test_kinds_names_and_terms_of_chunks_are_looked_up_by_id(self, store: Store) -> None:
        store.catalog.put("c", change("a", "red car", "blue car", title="Cars", kind="text", first_id=1))
        ids = np.array([1, 2, 99])
        assert store.catalog.kinds(ids) == {1: "text", 2: "text"}
        assert store.catalog.names(ids) == {1: ("Cars", ()), 2: ("Cars", ())}
        assert store.lexical.holding(("blue", "car"), ids).tolist() == [2]
        assert sorted(store.lexical.holding(("car",), ids).tolist()) == [1, 2]
        assert store.lexical.holding(("boat",), ids).tolist() == []

    def test_chunks_are_found_by_the_whole_title_of_their_document(self, store: Store) -> None:
        store.catalog.put("c", change("a", "one", "two", title="The Red Car, red", first_id=1))
        store.catalog.put("c", change("b", "three", title="Red cars and boats", first_id=3))
        long = "alpha beta gamma delta epsilon zeta theta iota kappa"
        store.catalog.put("c", change("long", "four", title=long, first_id=4))
        ids = np.array([3, 2, 1, 4, 99])
        assert store.catalog.titled(("red", "car"), ids).tolist() == [2, 1]
        assert store.catalog.titled(("car", "red"), ids[:2]).tolist() == [2]
        assert store.catalog.titled(("red",), ids).tolist() == store.catalog.titled((), ids).tolist() == []
        assert store.catalog.titled(long.split(), ids).tolist() == []
        store.catalog.put("c", change("a", "one", "two", title="Boats", first_id=1))
        assert store.catalog.titled(("red", "car"), ids).tolist() == []
        assert store.catalog.titled(("boat",), ids).tolist() == [2, 1]

    def test_hydrating_keeps_order_and_scores_and_leaves_out_what_is_gone(self, store: Store) -> None:
        store.catalog.put("c", change("a", "one", "two", first_id=1))
        ranking = Ranking(np.array([2, 99, 1]), np.array([3.0, 2.0, 1.0]))
        trails = [(Why(f"stage of {id}"),) for id in (2, 99, 1)]
        assert [hit.why for hit in store.catalog.hydrate(ranking, trails)] == [trails[0], trails[2]]
        assert [(hit.content, hit.score) for hit in store.catalog.hydrate(ranking)] == [("two", 3.0), ("one", 1.0)]

    def test_pending_chunks_can_be_embedded_while_they_are_listed(self, store: Store) -> None:
        store.semantic.use_model(MODEL)
        for number in range(7):
            store.catalog.put("c", change(f"d{number}", f"text {number}"))
        seen = 0
        for batch in store.semantic.pending(3):
            vectors = np.ones((len(batch), 2), np.float32)
            seen += store.semantic.put_vectors([c.id for c in batch], [c.hash for c in batch], vectors)
        assert seen == 7
        assert store.counts()["embedded_chunks"] == 7
        assert list(store.semantic.pending(3)) == []

    def test_a_vector_is_known_by_the_hash_of_its_text(self, store: Store) -> None:
        self._embedded(store, {"a": (0.6, 0.8)})
        (hash,) = [each.hash for each in change("a", "text of a", first_id=100).chunks]
        known = store.semantic.vectors_by_hash([hash, 42])
        assert list(known) == [hash]
        assert known[hash] == pytest.approx([0.6, 0.8])

    def test_vectors_are_read_by_chunk(self, store: Store) -> None:
        self._embedded(store, {"a": (0.6, 0.8), "b": (0, 1)})
        known = store.semantic.vectors_of(np.array([101, 99, 100]))
        assert {id: pytest.approx(vector.tolist()) for id, vector in known.items()} == {100: [0.6, 0.8], 101: [0, 1]}
        assert store.semantic.vectors_of(np.empty(0, np.int64)) == {}
        exact = store.semantic.vectors_of(np.array([101, 100]), exact=True)
        assert {id: vector.tolist() for id, vector in exact.items()} == {
            100: np.array([0.6, 0.8], np.float32).tolist(),
            101: [0, 1],
        }

    def test_a_text_that_is_known_elsewhere_takes_over_itsvector_of(self, store: Store) -> None:
        self._embedded(store, {"a": (0.6, 0.8)})
        same = change("a", "text of a", first_id=500)
        store.catalog.put("moved", same)
        assert store.counts()["embedded_chunks"] == 2
        assert list(store.semantic.pending(10)) == []

    def test_another_model_is_refused_with_the_cure(self, store: Store) -> None:
        store.semantic.use_model(MODEL)
        store.semantic.use_model(MODEL)
        with pytest.raises(ModelMismatch, match="tiny"):
            store.semantic.use_model(ModelInfo("other", "hash", 2, "f2", "other"))
        assert store.semantic.model() == MODEL

    def test_document_frequencies_count_each_chunk_once_and_forget_what_is_removed(self, store: Store) -> None:
        store.catalog.put("c", change("a", "red red blue", "red", first_id=1))
        store.catalog.put("c", change("b", "blue", first_id=3))
        wanted = ["red", "blue", "green", 'quo"te']
        assert dict(store.lexical.document_frequencies(wanted)) == {"red": 2, "blue": 2}
        store.catalog.remove("c", ["b"])
        assert dict(store.lexical.document_frequencies(wanted)) == {"red": 2, "blue": 1}
        assert dict(store.lexical.document_frequencies([])) == {}

    def test_the_vocabulary_is_told_by_beginning_and_length(self, store: Store) -> None:
        store.catalog.put("c", change("a", "river river rivers", first_id=1))
        store.catalog.put("c", change("b", "river rapid ravine re'd écluse", first_id=2))
        assert dict(store.lexical.vocabulary("r", 5, 5)) == {"river": 2, "rapid": 1, "ravin": 1}
        assert dict(store.lexical.vocabulary("ri", 1, 9)) == {"river": 2}
        assert dict(store.lexical.vocabulary("x", 1, 9)) == {}

    def test_variants_are_alternatives_too(self, store: Store) -> None:
        store.catalog.put("c", change("a", "the river"))
        store.catalog.put("c", change("b", "the brook"))
        both = Query("", (("river",),), variants=(("brook",),))
        assert set(_keys(store, store.lexical.match(both, 10, WEIGHTS))) == {"a", "b"}

    def test_variants_count_less_than_what_was_asked(self, store: Store) -> None:
        for number, text in enumerate(("the river", "the brook", "a brook by the river", "a sea", "a lake", "a pond")):
            store.catalog.put("c", change(str(number), text, first_id=number))
        scores = {
            query: dict(zip(*(each.tolist() for each in (found.ids, found.scores)), strict=True))
            for query, found in ((each, store.lexical.match(words(each), 10, WEIGHTS)) for each in ("river", "brook"))
        }
        found = store.lexical.match(Query("", (("river",),), variants=(("brook",),)), 10, WEIGHTS)
        expected = {id: scores["river"].get(id, 0.0) + VARIANT * scores["brook"].get(id, 0.0) for id in range(3)}
        assert dict(zip(found.ids.tolist(), found.scores.tolist(), strict=True)) == pytest.approx(expected, rel=1e-5)

    def test_chunks_pass_a_filter_by_their_document(self, store: Store) -> None:
        store.catalog.put("c", change("a", "one", "two", first_id=1, kind="note"))
        store.catalog.put("c", change("b", "three", first_id=3, kind="mail", created_at="2024-05-01"))
        ids = np.array([1, 2, 3, 99])
        assert store.catalog.passing(Filter(), ids).tolist() == [1, 2, 3]
        assert store.catalog.passing(Filter(kinds=("note",)), ids).tolist() == [1, 2]
        assert store.catalog.passing(Filter(since="2024"), ids).tolist() == [3]
        assert store.catalog.any_passes(Filter(kinds=("mail",), since="2024"))
        assert not store.catalog.any_passes(Filter(kinds=("note",), since="2024"))

    def test_subjects_are_filtered_whatever_their_case(self, store: Store) -> None:
        store.catalog.put("c", change("a", "some text", first_id=1, tags=(Tag("arxiv", "math.AG"),)))
        for name, passes in (("math.ag", True), ("arXiv:math.AG", True), ("msc:math.AG", False), ("math", False)):
            assert store.catalog.any_passes(Filter(tags=(name,))) == passes
            assert len(store.catalog.passing(Filter(tags=(name,)), np.array([1]))) == passes

    def test_a_collection_is_read_by_date_and_among_equals_as_added(self, store: Store) -> None:
        for key, date in (("none", None), ("late", "2024-05-02"), ("early", "2024-05-01"), ("early2", "2024-05-01")):
            store.catalog.put("talk", change(key, f"words {key}", created_at=date))
        store.catalog.put("other", change("early", "words", first_id=7))
        assert store.catalog.collections() == {"talk": 4, "other": 1}
        found = store.catalog.in_order("talk")
        assert [each.key for each in found] == ["early", "early2", "late", "none"]
        assert found[0] == store.catalog.document("talk", "early")

        def around(key: str, before: int, after: int | None) -> list[str]:
            return [each.key for each in store.catalog.in_order("talk", key, before=before, after=after)]

        assert around("early2", 1, 1) == ["early", "early2", "late"]
        assert around("early2", 5, 0) == ["early", "early2"]
        assert around("none", 2, None) == ["early2", "late", "none"]
        assert around("unknown", 2, None) == []

    def test_new_words_leave_the_vector_and_a_new_vector_the_words(self, store: Store) -> None:
        store.semantic.use_model(MODEL)

        def put(body: str, embedded: str) -> None:
            plain = change("a", "text", first_id=1).chunks[0]
            said = replace(
                plain, body=body, embedded=embedded, hash=number_of(embedded), words=number_of("words", body)
            )
            store.catalog.put("c", DocumentChange(Document("a", "text"), "a", (said,)))

        put("red", "ann says")
        assert [chunk.embedded for batch in store.semantic.pending(5) for chunk in batch] == ["ann says"]
        store.semantic.put_vectors([1], [number_of("ann says")], vector_of(1, 0)[None])
        put("blue", "ann says")
        assert (self._match(store, "red"), self._match(store, "blue")) == ([], ["a"])
        assert store.counts()["embedded_chunks"] == 1
        put("blue", "bob says")
        assert store.counts()["embedded_chunks"] == 0
        assert self._match(store, "blue") == ["a"]

    def test_a_filter_narrows_to_collections(self, store: Store) -> None:
        store.catalog.put("one", change("a", "words", first_id=1))
        store.catalog.put("two", change("a", "words", first_id=2))
        assert store.lexical.match(words("words", filter=Filter(collections=("two",))), 5, WEIGHTS).ids.tolist() == [2]

    def test_settings_are_remembered(self, store: Store) -> None:
        assert store.registry.setting("name") is None
        store.registry.set("name", "value")
        store.registry.set("name", "newer")
        assert store.registry.setting("name") == "newer"

    def test_events_are_recorded_in_order_and_outlive_their_document(self, store: Store) -> None:
        judged = Event("judgement", "how long", "c", "a", "0" * 16, grade=2, user="ann", time=1.5)
        clicked = Event("click", "how long", "c", "gone")
        store.catalog.put("c", change("a", "words"))
        for event in (judged, clicked, judged):
            store.registry.record(event)
        store.catalog.remove("c", ["a"])
        assert store.registry.events() == [judged, clicked, judged]
        assert store.registry.events("judgement") == [judged, judged]
        assert store.registry.events("unknown") == []

    def test_a_store_in_use_is_sound(self, store: Store) -> None:
        self._embedded(store, {"a": (1, 0), "b": (0, 1)})
        store.catalog.remove("c", ["a"])
        assert store.check() == []
