"""Engines of one role that only name candidates, composed with the rest of SQLite's."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rifflux
from rifflux.store import STORES, AnalyzedChunk, Catalog, FieldWeights, Lexical, Placed, Store, Write
from rifflux.store.sqlite import SqliteStore
from rifflux.store.sqlite.query import best
from rifflux.testing import LexicalContract, SemanticContract
from rifflux.types import Document, Filter, Ids, Query, Ranking, Vectors

#: Chunk ids by term.
Postings = defaultdict[str, set[int]]


class _Fed:
    """A catalog that hands the terms of what is put to an engine beside it."""

    def __init__(self, catalog: Catalog, postings: Postings) -> None:
        self._catalog, self._postings = catalog, postings

    def write(self, *changes: Write) -> int:
        placed = [each for each in changes if isinstance(each, Placed)]
        for each in (chunk for one in placed for chunk in one.change.chunks):
            for term in _terms(each):
                self._postings[term].add(each.chunk.id)
        return self._catalog.write(*changes)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._catalog, name)


def _terms(chunk: AnalyzedChunk) -> set[str]:
    return {*chunk.title.split(), *chunk.headings.split(), *chunk.body.split()}


class _Postings:
    """A lexical role that names chunks from sets in memory; what they score is left to the tables."""

    asked = 0

    def __init__(self, store: Store, postings: Postings) -> None:
        self._catalog, self._lexical, self._postings = store.catalog, store.lexical, postings

    def match(self, query: Query, limit: int, weights: FieldWeights, **options: Any) -> Ranking:
        type(self).asked += 1
        terms = {term for clause in (*query.clauses, *query.variants, *query.required) for term in clause}
        terms |= {term for term in self._postings if term.startswith(query.prefixes)} if query.prefixes else set()
        named = sorted({id for term in terms for id in self._postings.get(term, ())})
        ids = _left(self._catalog, self._lexical, query, np.array(named, np.int64))
        scores = self._lexical.bm25_of(query, ids, weights)
        return best(ids[scores > 0], scores[scores > 0], limit)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._lexical, name)


class _Vectors:
    """A semantic role that names chunks from a dictionary of vectors in memory."""

    asked = 0

    def __init__(self, store: Store, vectors: dict[int, Vectors]) -> None:
        self._catalog, self._lexical, self._semantic, self._vectors = (
            store.catalog, store.lexical, store.semantic, vectors
        )  # fmt: skip

    def put_vectors(self, ids: Sequence[int], hashes: Sequence[int], vectors: Vectors, model: str | None = None) -> int:
        self._vectors.update(zip(ids, vectors, strict=True))
        return self._semantic.put_vectors(ids, hashes, vectors, model)

    def nearest(self, query: Query, vector: Vectors | None, limit: int, **options: Any) -> Ranking:
        type(self).asked += 1
        named = _left(self._catalog, self._lexical, query, np.array(sorted(self._vectors), np.int64))
        known = self._semantic.vectors_of(named)
        if vector is None or not np.linalg.norm(vector) or not known:
            return Ranking.empty()
        ids = np.array([*known], np.int64)
        return best(
            ids, np.vecdot(np.stack([*known.values()]), vector / np.linalg.norm(vector)).astype(np.float64), limit
        )

    def __getattr__(self, name: str) -> Any:
        return getattr(self._semantic, name)


def _left(catalog: Catalog, lexical: Lexical, query: Query, ids: Ids) -> Ids:
    """What a query's filter, and what it requires and excludes, leave of some chunks."""
    ids = catalog.passing(query.filter or Filter(), ids)
    for clause in query.required:
        ids = ids[np.isin(ids, lexical.holding(clause, ids))]
    for clause in query.excluded:
        ids = ids[~np.isin(ids, lexical.holding(clause, ids))]
    return ids


def _named(opened: SqliteStore) -> SqliteStore:
    """Compose a store of SQLite's roles and engines in memory, each view with its own."""
    postings: defaultdict[str, Postings] = defaultdict(lambda: defaultdict(set))
    vectors: defaultdict[str, dict[int, Vectors]] = defaultdict(dict)
    return opened.with_roles(
        catalog=lambda store: _Fed(store.catalog, postings[store.owner]),
        lexical=lambda store: _Postings(store, postings[store.owner]),
        semantic=lambda store: _Vectors(store, vectors[store.owner]),
    )


class TestNamedByPostings(LexicalContract):
    @pytest.fixture
    def store(self) -> Iterator[Store]:
        store = _named(SqliteStore.open(":memory:"))
        yield store
        store.close()


class TestNamedByVectors(SemanticContract):
    @pytest.fixture
    def store(self) -> Iterator[Store]:
        store = _named(SqliteStore.open(":memory:"))
        yield store
        store.close()


class Tiny:
    """An engine as it is found by its scheme."""

    @staticmethod
    def open(location: str, **options: Any) -> Store:
        return _named(SqliteStore.open(location, **options))


def test_an_index_answers_from_an_engine_that_only_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = {"heron": "The heron stands in the river.", "cache": "A cache expires.", "river": "River banks and stones."}
    found = []
    monkeypatch.setitem(STORES, "tiny", f"{__name__}:Tiny")
    for location in (f"{tmp_path}/plain.db", f"tiny://{tmp_path}/named.db"):
        with rifflux.open(location, model="hash:64") as index:
            index.add(*(Document(key, text) for key, text in texts.items()))
            hits = [hit for mode in ("lexical", "semantic", "hybrid") for hit in index.search("heron river", mode=mode)]
            assert isinstance(index._view.store.semantic, _Vectors) == location.startswith("tiny")
        found.append(([hit.key for hit in hits], pytest.approx([hit.score for hit in hits], abs=5e-5)))
    assert found[0][0][0] == "heron"
    assert found[0][0] == found[1][0]
    assert found[0][1] == found[1][1].expected
    assert min(_Postings.asked, _Vectors.asked) >= 2
