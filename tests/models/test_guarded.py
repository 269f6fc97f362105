"""A guarded embedder gives the vectors of the one inside, or says why it gives none."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from rifflux.errors import ModelError
from rifflux.index import open_index
from rifflux.models.guarded import Guard, GuardedEmbedder
from rifflux.models.hashing import HashEmbedder
from rifflux.types import Document, Vectors


class Hanging(HashEmbedder):
    """An embedder that answers questions only once it is let go."""

    def embed_query(self, text: str) -> Vectors:
        LET_GO.wait(20)
        return super().embed_query(text)


LET_GO = threading.Event()


def test_vectors_are_those_of_the_model_and_their_tokens_are_counted() -> None:
    model, spent = HashEmbedder(), []
    guarded = GuardedEmbedder(model, Guard(spent=lambda *what: spent.append(what)))
    assert np.array_equal(guarded.embed_query("two words"), model.embed_query("two words"))
    assert np.array_equal(guarded.embed_documents(["a b c"]), model.embed_documents(["a b c"]))
    assert spent == [("hash", 2, "search"), ("hash", 3, "store")]
    assert (guarded.fingerprint, guarded.spec) == (model.fingerprint, model.spec)


def test_a_refused_question_is_searched_by_words_alone() -> None:
    failed = []
    guard = Guard(refusal=lambda: "the budget is spent", failed=lambda *why: failed.append(why))
    with open_index(":memory:", model="hash") as index:
        index.add(Document("a", "cache entries"), Document("b", "apples"))
        results = index.using(guard=guard).search("cache entries")
    assert [hit.document for hit in results] == ["a"]
    assert results.trace.effective_mode == "lexical"
    assert any("the budget is spent" in reason for reason in results.trace.degraded)
    assert failed == [("refused", "the budget is spent")]


def test_a_question_that_hangs_is_given_up() -> None:
    failed = []
    guarded = GuardedEmbedder(Hanging(), Guard(seconds=0.05, failed=lambda *why: failed.append(why)))
    try:
        for _ in range(6):
            with pytest.raises(ModelError, match="given up"):
                guarded.embed_query("cache")
        # Four hang; for the others no thread was started.
        assert sum(thread.name == "embed" for thread in threading.enumerate()) == 4
        assert [sort for sort, _ in failed] == ["late"] * 6
    finally:
        LET_GO.set()
