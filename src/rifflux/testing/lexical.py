"""The contract of lexical roles."""

from __future__ import annotations

import numpy as np
import pytest

from rifflux.store import VARIANT, Placed, Removal, Store, by_words, by_words_each, holding
from rifflux.testing.making import WEIGHTS, NeedsStore, change, keys_of, words
from rifflux.text.analyzer import AnyOf, analyzer
from rifflux.types import Filter, Query, Ranking


class LexicalContract(NeedsStore):
    """The behaviour of every Lexical. The store's catalog is filled.

    An engine with only this role is combined with another's catalog.
    """

    def _match(self, store: Store, text: str, limit: int = 10, **fields: object) -> list[str]:
        return keys_of(store, by_words(store, words(text, **fields), limit, WEIGHTS))

    def test_what_is_put_is_found_by_its_words(self, store: Store) -> None:
        store.catalog.write(Placed("c", change("a", "the cache expires")))
        store.catalog.write(Placed("c", change("b", "the queue grows")))
        assert self._match(store, "cache") == ["a"]

    def test_a_title_counts_more_than_a_body(self, store: Store) -> None:
        store.catalog.write(Placed("c", change("body", "about the cache and many other things")))
        store.catalog.write(Placed("c", change("title", "about the queue and many other things", title="cache")))
        assert self._match(store, "cache")[0] == "title"

    def test_scores_are_positive_and_descend(self, store: Store) -> None:
        for number in range(5):
            store.catalog.write(Placed("c", change(f"d{number}", "cache " * (number + 1) + "filler words follow here")))
        store.catalog.write(Placed("c", change("other", "nothing of the kind")))
        ranking = by_words(store, words("cache"), 10, WEIGHTS)
        assert len(ranking) == 5
        assert all(ranking.scores[:-1] >= ranking.scores[1:])

    def test_equal_scores_are_ordered_by_id(self, store: Store) -> None:
        for id in (30, 10, 20):
            store.catalog.write(Placed("c", change(f"d{id}", "same words here", first_id=id)))
        assert self._match(store, "words") == ["d10", "d20", "d30"]

    def test_a_limit_keeps_the_best(self, store: Store) -> None:
        store.catalog.write(Placed("c", change("weak", "cache and a great many other words that dilute it")))
        store.catalog.write(Placed("c", change("strong", "cache cache")))
        assert self._match(store, "cache", limit=1) == ["strong"]

    def test_putting_again_replaces(self, store: Store) -> None:
        store.catalog.write(Placed("c", change("a", "old words")))
        store.catalog.write(Placed("c", change("a", "new text")))
        assert self._match(store, "old") == []
        assert self._match(store, "new") == ["a"]
        assert (store.totals().documents, store.totals().chunks) == (1, 1)

    def test_a_new_title_is_searched_and_the_old_one_is_not(self, store: Store) -> None:
        store.catalog.write(Placed("c", change("a", "body", title="former", first_id=1)))
        store.catalog.write(Placed("c", change("a", "body", title="current", first_id=1)))
        assert self._match(store, "former") == []
        assert self._match(store, "current") == ["a"]

    def test_the_terms_of_titles_and_texts_are_in_order_or_left_to_be_analyzed(self, store: Store) -> None:
        store.catalog.write(Placed("c", change("a", "cache of rivers, rivers of cache", title="one stone")))
        store.catalog.write(Placed("c", change("b", "a stone is a stone is a cache", first_id=77)))
        ids = by_words(store, words("cache"), 10, WEIGHTS).ids
        assert len(ids) == 2
        with store.memoized():
            hits = store.catalog.hydrate(Ranking(ids, np.zeros(2)))
        found = store.lexical.sequences(ids)
        if found is None:
            return
        for hit, (start, middle, end) in zip(hits, found.bounds.tolist(), strict=True):
            for field, numbers in ((hit.title, found.values[start:middle]), (hit.text, found.values[middle:end])):
                assert numbers.tolist() == [*map(found.number_of, analyzer().terms(field))]
        every = sorted({*analyzer().terms("one stone cache of rivers")})
        ascending = [number for term in every if (number := found.number_of(term)) is not None]
        assert len(ascending) == len(every)
        assert ascending == sorted(ascending)
        assert found.number_of("nowhere") is None
        assert store.lexical.sequences(np.array([*ids, 12345], np.int64)) is None

    def test_several_queries_rank_as_each_does_alone(self, store: Store) -> None:
        changes = [change(f"{number}", f"cache {'river ' * number} of stone {number % 7}") for number in range(30)]
        store.catalog.write(*(Placed("c", each) for each in changes))
        queries = [
            *(words(f"cache stone {number}") for number in range(9)),
            Query("", required=(("cach", "river"),), prefixes=("sto",)),
            words("cache river", filter=Filter(documents=("3", "4"))),
            words("nowhere"),
        ]
        together = by_words_each(store, queries, 5, WEIGHTS)
        alone = [by_words(store, query, 5, WEIGHTS) for query in queries]
        assert [each.ids.tolist() for each in together] == [each.ids.tolist() for each in alone]
        assert [each.scores.tolist() for each in together] == [each.scores.tolist() for each in alone]
        assert [len(each) for each in together[-3:]] == [5, 2, 0]

    def test_filters_narrow_before_ranking(self, store: Store) -> None:
        for number in range(20):
            store.catalog.write(
                Placed("c", change(f"x/{number}.txt", f"cache number {number}", kind="text", metadata={"year": number}))
            )
        store.catalog.write(
            Placed("c", change("y/1.md", "cache and much else that makes it rank last of all", kind="markdown"))
        )
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
        store.catalog.write(Placed("c", change("old", "words", created_at="2023-12-31")))
        store.catalog.write(Placed("c", change("day", "words", created_at="2024-05-01T23:59:00+00:00")))
        store.catalog.write(Placed("c", change("new", "words", updated_at="2024-05-02T00:00:00Z")))
        assert set(self._match(store, "words", filter=narrow)) == found

    def test_a_filter_takes_more_values_than_a_statement_has_parameters(self, store: Store) -> None:
        for year in (2000, 3_000_000):
            store.catalog.write(Placed("c", change(f"of {year}", "words", metadata={"year": year})))
        assert self._match(store, "words", filter=Filter(metadata={"year": [*range(40_000)]})) == ["of 2000"]

    def test_a_list_in_metadata_matches_by_any_item(self, store: Store) -> None:
        store.catalog.write(Placed("c", change("a", "words", metadata={"tags": ["red", "blue"]})))
        store.catalog.write(Placed("c", change("b", "words", metadata={"tags": "green"})))
        assert self._match(store, "words", filter=Filter(metadata={"tags": "blue"})) == ["a"]

    def test_required_and_excluded_words_hold(self, store: Store) -> None:
        for key in ("alpha", "beta"):
            store.catalog.write(Placed("c", change(key, f"text of {key}")))
        for query in (Query("", (("text",),), excluded=(("alpha",),)), Query("", required=(("beta",),))):
            assert keys_of(store, by_words(store, query, 10, WEIGHTS)) == ["beta"]

    def test_removed_documents_are_gone(self, store: Store) -> None:
        for key in ("alpha", "beta"):
            store.catalog.write(Placed("c", change(key, f"text of {key}")))
        assert store.catalog.write(Removal("c", ["alpha", "unknown"])) == 1
        assert self._match(store, "text") == ["beta"]

    def test_chunks_that_hold_a_term_or_phrase_are_looked_up_by_id(self, store: Store) -> None:
        store.catalog.write(Placed("c", change("a", "red car", "blue car", first_id=1)))
        ids = np.array([1, 2, 99])
        assert holding(store.lexical, ("blue", "car"), ids).tolist() == [2]
        assert sorted(holding(store.lexical, ("car",), ids).tolist()) == [1, 2]
        assert holding(store.lexical, ("boat",), ids).tolist() == []
        clauses = [("car",), ("blue", "car"), ("boat",)]
        assert [ids[each].tolist() for each in store.lexical.holders(clauses, ids)] == [
            holding(store.lexical, clause, ids).tolist() for clause in clauses
        ]

    def test_a_phrase_needs_its_words_next_to_each_other(self, store: Store) -> None:
        store.catalog.write(Placed("c", change("apart", "red car and blue house")))
        store.catalog.write(Placed("c", change("together", "a blue car")))
        assert keys_of(store, by_words(store, Query("", required=(("blue", "car"),)), 10, WEIGHTS)) == ["together"]

    def test_prefixes_match_the_starts_of_terms(self, store: Store) -> None:
        store.catalog.write(Placed("c", change("a", "configuration")))
        store.catalog.write(Placed("c", change("b", "figures")))
        assert keys_of(store, by_words(store, Query("", prefixes=("config",)), 10, WEIGHTS)) == ["a"]

    @pytest.mark.parametrize(
        "term", ['a"b', "or", "and", "not", "near(", "c++", "*", "^a", "title", "\\o_x", "é", "🚀"]
    )
    def test_no_term_is_read_as_syntax(self, store: Store, term: str) -> None:
        assert len(by_words(store, Query("", ((term,),), excluded=((term,),)), 10, WEIGHTS)) == 0

    def test_document_frequencies_count_each_chunk_once_and_forget_what_is_removed(self, store: Store) -> None:
        store.catalog.write(Placed("c", change("a", "red red blue", "red", first_id=1)))
        store.catalog.write(Placed("c", change("b", "blue", first_id=3)))
        terms = ["red", "blue", "green", 'quo"te']
        assert dict(store.lexical.document_frequencies(terms)) == {"red": 2, "blue": 2}
        store.catalog.write(Removal("c", ["b"]))
        assert dict(store.lexical.document_frequencies(terms)) == {"red": 2, "blue": 1}
        assert dict(store.lexical.document_frequencies([])) == {}

    def test_the_vocabulary_is_listed_by_beginning_and_length(self, store: Store) -> None:
        store.catalog.write(Placed("c", change("a", "river river rivers", first_id=1)))
        store.catalog.write(Placed("c", change("b", "river rapid ravine re'd écluse", first_id=2)))
        assert dict(store.lexical.vocabulary("r", 5, 5)) == {"river": 2, "rapid": 1, "ravin": 1}
        assert dict(store.lexical.vocabulary("ri", 1, 9)) == {"river": 2}
        assert dict(store.lexical.vocabulary("x", 1, 9)) == {}
        assert dict(store.lexical.vocabulary("r", 1, 9, lambda term: "v" in term)) == {"river": 2, "ravin": 1}
        some = AnyOf(("river", "ravin", "revir", "rapid", "cach"))
        assert dict(store.lexical.vocabulary("r", 5, 5, some)) == {"river": 2, "rapid": 1, "ravin": 1}
        assert dict(store.lexical.vocabulary("ri", 1, 4, some)) == {}

    def test_the_vocabulary_forgets_what_is_removed(self, store: Store) -> None:
        store.catalog.write(Placed("c", change("a", "river rapid", first_id=1)))
        store.catalog.write(Placed("c", change("b", "river ravine", first_id=2)))
        store.catalog.write(Removal("c", ["b"]))
        assert dict(store.lexical.vocabulary("r", 1, 9)) == {"river": 1, "rapid": 1}
        store.catalog.write(Placed("c", change("a", "rapid", first_id=3)))
        assert dict(store.lexical.vocabulary("r", 1, 9)) == {"rapid": 1}

    def test_variants_are_alternatives_too(self, store: Store) -> None:
        store.catalog.write(Placed("c", change("a", "the river")))
        store.catalog.write(Placed("c", change("b", "the brook")))
        both = Query("", (("river",),), variants=(("brook",),))
        assert set(keys_of(store, by_words(store, both, 10, WEIGHTS))) == {"a", "b"}

    def test_variants_count_less_than_the_words_of_the_query(self, store: Store) -> None:
        for number, text in enumerate(("the river", "the brook", "a brook by the river", "a sea", "a lake", "a pond")):
            store.catalog.write(Placed("c", change(str(number), text, first_id=number)))
        scores = {
            query: dict(zip(*(each.tolist() for each in (found.ids, found.scores)), strict=True))
            for query, found in ((each, by_words(store, words(each), 10, WEIGHTS)) for each in ("river", "brook"))
        }
        found = by_words(store, Query("", (("river",),), variants=(("brook",),)), 10, WEIGHTS)
        expected = {id: scores["river"].get(id, 0.0) + VARIANT * scores["brook"].get(id, 0.0) for id in range(3)}
        assert dict(zip(found.ids.tolist(), found.scores.tolist(), strict=True)) == pytest.approx(expected, rel=1e-5)

    def test_a_filter_narrows_to_namespaces(self, store: Store) -> None:
        store.catalog.write(Placed("one", change("a", "words", first_id=1)))
        store.catalog.write(Placed("two", change("a", "words", first_id=2)))
        assert by_words(store, words("words", filter=Filter(namespaces=("two",))), 5, WEIGHTS).ids.tolist() == [2]
