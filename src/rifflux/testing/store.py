"""The contract of stores: those of their roles, and of what connects them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rifflux.store import Capability, DocumentChange, Placed, Removal, Store
from rifflux.testing.catalog import CatalogContract
from rifflux.testing.lexical import LexicalContract
from rifflux.testing.making import MODEL, change, embedded, needs, number_of, vector_of
from rifflux.testing.records import RecordsContract
from rifflux.testing.registry import RegistryContract
from rifflux.testing.semantic import SemanticContract
from rifflux.types import Document


class StoreContract(CatalogContract, LexicalContract, SemanticContract, RecordsContract, RegistryContract):
    """The behaviour of every Store. Needs a fixture `store`: an empty, writable one."""

    def test_a_transaction_happens_whole_or_not_at_all(self, store: Store) -> None:
        needs(store, Capability.TRANSACTIONS)

        def interrupted() -> None:
            with store.transaction():
                store.catalog.write(Placed("c", change("a", "words")))
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            interrupted()
        assert store.totals().documents == 0
        assert self._match(store, "words") == []

    def test_the_contents_are_others_after_a_change_and_only_then(self, store: Store) -> None:
        store.catalog.write(Placed("c", change("a", "words")))
        before = store.contents()
        store.records.set("x", "y", content=False)
        assert store.contents() == before
        store.catalog.write(Placed("c", change("b", "words")))
        assert store.contents() != before
        assert int(store.contents().partition("-")[0]) > int(before.partition("-")[0])

    def test_new_words_leave_the_vector_and_a_new_vector_the_words(self, store: Store) -> None:
        store.semantic.use_model(MODEL)

        def put(body: str, embedded: str) -> None:
            plain = change("a", "text", first_id=1).chunks[0]
            chunk = replace(
                plain, body=body, embedded=embedded, hash=number_of(embedded), words=number_of("words", body)
            )
            store.catalog.write(Placed("c", DocumentChange(Document("a", "text"), "a", (chunk,))))

        put("red", "ann says")
        assert [chunk.embedded for batch in store.semantic.pending(5) for chunk in batch] == ["ann says"]
        store.semantic.put_vectors([1], [number_of("ann says")], vector_of(1, 0)[None])
        put("blue", "ann says")
        assert (self._match(store, "red"), self._match(store, "blue")) == ([], ["a"])
        assert store.totals().embedded == 1
        put("blue", "bob says")
        assert store.totals().embedded == 0
        assert self._match(store, "blue") == ["a"]

    def test_a_store_in_use_is_sound(self, store: Store) -> None:
        embedded(store, {"a": (1, 0), "b": (0, 1)})
        store.catalog.write(Removal("c", ["a"]))
        assert store.check() == []
