"""The contract of semantic roles."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from rifflux.errors import ModelMismatch
from rifflux.store import ModelInfo, Placed, Removal, Store, by_meaning
from rifflux.testing.making import MODEL, NeedsStore, change, embedded, keys_of, vector_of
from rifflux.types import Filter, Query


class SemanticContract(NeedsStore):
    """The behaviour of every Semantic. The store's catalog is filled.

    An engine with only this role is combined with another's catalog, and with its lexical role for words that a query
    requires or excludes.
    """

    def test_unchanged_chunks_keep_their_vectors(self, store: Store) -> None:
        store.semantic.use_model(MODEL)
        put = change("a", "first", "second", first_id=1)
        store.catalog.write(Placed("c", put))
        store.semantic.put_vectors([1, 2], [each.hash for each in put.chunks], np.eye(2, dtype=np.float32))
        edited = change("a", "first", "other", first_id=1)
        store.catalog.write(Placed("c", edited))
        assert [chunk.id for batch in store.semantic.pending(10) for chunk in batch] == [2]

    def test_vectors_of_an_outdated_text_are_refused(self, store: Store) -> None:
        store.semantic.use_model(MODEL)
        store.catalog.write(Placed("c", change("a", "text", first_id=1)))
        assert store.semantic.put_vectors([1], [12345], vector_of(1, 0)[None]) == 0

    def test_nearest_ranks_by_cosine_whatever_the_length(self, store: Store) -> None:
        embedded(store, {"east": (1, 0), "north": (0, 1), "between": (0.6, 0.8)})
        ranking = by_meaning(store, Query(""), vector_of(5, 0), 10)
        assert keys_of(store, ranking) == ["east", "between", "north"]
        assert ranking.scores == pytest.approx([1, 0.6, 0], abs=5e-5)

    def test_vectors_of_chosen_chunks_give_the_cosines_of_the_ranking(self, store: Store) -> None:
        embedded(store, {"east": (1, 0), "north": (0, 1), "between": (0.6, 0.8)})
        store.catalog.write(Placed("c", change("bare", "no vector", first_id=900)))
        nearest = by_meaning(store, Query(""), vector_of(5, 0), 10)
        ids = np.array([*nearest.ids, 900, 12345], np.int64)
        known = store.semantic.vectors_of(ids)
        assert [known[id] @ vector_of(1, 0) for id in nearest.ids.tolist()] == pytest.approx(nearest.scores, abs=5e-5)
        assert known.keys() == {*nearest.ids.tolist()}

    def test_a_sample_holds_the_lowest_ids_that_have_a_vector_until_something_changes(self, store: Store) -> None:
        assert [len(each) for each in store.semantic.sample(4)] == [0, 0]
        embedded(store, {"east": (1, 0), "north": (0, 1), "between": (0.6, 0.8)})
        store.catalog.write(Placed("c", change("bare", "no vector", first_id=900)))
        ids, vectors = store.semantic.sample(2)
        every, all_vectors = store.semantic.sample(10)
        assert every.tolist() == sorted(every.tolist())
        assert (len(every), ids.tolist()) == (3, every[:2].tolist())
        assert vectors == pytest.approx(all_vectors[:2])
        known = store.semantic.vectors_of(every)
        assert all_vectors == pytest.approx(np.stack([known[id] for id in every.tolist()]), abs=1e-4)
        assert store.semantic.sample(10)[1] is all_vectors
        store.catalog.write(Removal("c", ["east"]))
        assert len(store.semantic.sample(10)[0]) == 2

    def test_what_is_near_holds_required_words_and_no_excluded_ones(self, store: Store) -> None:
        embedded(store, {"alpha": (1, 0), "beta": (0, 1)})
        for query in (Query("", excluded=(("alpha",),)), Query("", required=(("beta",),))):
            found = by_meaning(store, query, vector_of(1, 0), 10)
            assert keys_of(store, found) == ["beta"]

    def test_removed_documents_are_near_nothing(self, store: Store) -> None:
        embedded(store, {"a": (1, 0), "b": (0, 1)})
        store.catalog.write(Removal("c", ["a"]))
        assert keys_of(store, by_meaning(store, Query(""), vector_of(1, 0), 10)) == ["b"]

    @pytest.mark.parametrize("vector", [None, (0, 0)])
    def test_no_vector_or_one_of_length_zero_ranks_nothing(
        self, store: Store, vector: tuple[float, float] | None
    ) -> None:
        embedded(store, {"a": (1, 0)})
        given = None if vector is None else vector_of(*vector)
        assert len(by_meaning(store, Query(""), given, 10)) == 0

    def test_filters_narrow_vectors_too(self, store: Store) -> None:
        embedded(store, {"a": (1, 0), "b": (0.9, 0.1)})
        query = Query("", filter=Filter(documents=("b",)))
        assert keys_of(store, by_meaning(store, query, vector_of(1, 0), 1)) == ["b"]

    def test_pending_chunks_can_be_embedded_while_they_are_listed(self, store: Store) -> None:
        store.semantic.use_model(MODEL)
        for number in range(7):
            store.catalog.write(Placed("c", change(f"d{number}", f"text {number}")))
        seen = 0
        for batch in store.semantic.pending(3):
            vectors = np.ones((len(batch), 2), np.float32)
            seen += store.semantic.put_vectors([c.id for c in batch], [c.hash for c in batch], vectors)
        assert seen == 7
        assert store.totals().embedded == 7
        assert list(store.semantic.pending(3)) == []

    def test_a_document_that_has_only_a_title_waits_without_a_text(self, store: Store) -> None:
        store.semantic.use_model(MODEL)
        put = change("a", "Only a title", title="Only a title", first_id=1)
        (each,) = put.chunks
        put = replace(put, chunks=(replace(each, chunk=replace(each.chunk, span=(0, 0))),))
        store.catalog.write(Placed("c", put), Placed("c", change("b", "text", title="Title", first_id=2)))
        waiting = [chunk for batch in store.semantic.pending(10) for chunk in batch]
        assert [(each.id, each.title, each.text) for each in waiting] == [(1, "Only a title", ""), (2, "Title", "text")]

    def test_a_chunk_that_is_stored_again_while_its_vector_is_made_gets_it(self, store: Store) -> None:
        store.semantic.use_model(MODEL)
        store.catalog.write(Placed("c", change("a", "text", first_id=1)))
        ((waiting,),) = store.semantic.pending(10)
        store.catalog.write(Placed("c", change("a", "text", first_id=1, metadata={"year": 3})))
        assert store.semantic.put_vectors([1], [waiting.hash], vector_of(1, 0)[None]) == 1
        assert list(store.semantic.pending(10)) == []
        assert list(store.semantic.vectors_of(np.array([1], np.int64))) == [1]

    def test_a_vector_is_known_by_the_hash_of_its_text(self, store: Store) -> None:
        embedded(store, {"a": (0.6, 0.8)})
        (hash,) = [each.hash for each in change("a", "text of a", first_id=100).chunks]
        known = store.semantic.vectors_by_hash([hash, 42])
        assert list(known) == [hash]
        assert known[hash] == pytest.approx([0.6, 0.8], abs=5e-5)

    def test_vectors_are_read_by_chunk(self, store: Store) -> None:
        embedded(store, {"a": (0.6, 0.8), "b": (0, 1)})
        known = store.semantic.vectors_of(np.array([101, 99, 100]))
        assert {id: pytest.approx(vector.tolist(), abs=5e-5) for id, vector in known.items()} == {
            100: [0.6, 0.8],
            101: [0, 1],
        }
        assert store.semantic.vectors_of(np.empty(0, np.int64)) == {}

    def test_a_vector_that_was_read_and_stored_again_is_the_same(self, store: Store) -> None:
        embedded(store, {"a": (0.6, 0.8), "b": (-1 / 3, 0.1)})
        ids = np.array([100, 101])
        known = store.semantic.vectors_of(ids)
        embedded(store, dict(zip("ab", [known[id].tolist() for id in ids.tolist()], strict=True)))
        again = store.semantic.vectors_of(ids)
        assert {id: each.tolist() for id, each in again.items()} == {id: each.tolist() for id, each in known.items()}

    def test_a_text_that_is_known_elsewhere_takes_over_its_vector(self, store: Store) -> None:
        embedded(store, {"a": (0.6, 0.8)})
        same = change("a", "text of a", first_id=500)
        store.catalog.write(Placed("moved", same))
        assert store.totals().embedded == 2
        assert list(store.semantic.pending(10)) == []

    def test_another_model_is_refused_with_the_cure(self, store: Store) -> None:
        store.semantic.use_model(MODEL)
        store.semantic.use_model(MODEL)
        with pytest.raises(ModelMismatch, match="tiny"):
            store.semantic.use_model(ModelInfo("other", "hash", 2, "f2", "other"))
        assert store.semantic.model() == MODEL
