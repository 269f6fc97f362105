"""What several owners have is searched as an index that holds nothing else: equal in every digit."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import rifflux
from rifflux import Document
from rifflux.session.reading import Reader
from rifflux.session.searching import Searcher
from rifflux.session.session import IndexView
from rifflux.session.writing import Writer
from rifflux.store import PART, find_documents
from rifflux.store.sqlite import SqliteStore
from rifflux.store.sqlite.lexical import words_index
from tests.support.exploring import examples

WORDS = ("cache", "caches", "river", "tidal", "tides", "kingfisher", "lock", "parse_url", "ledger", "red car", "E-102")
OWNERS = ("", "ann", f"ann{PART}@notes", "bob", f"bob{PART}@wiki", "eve")
QUESTIONS = (
    "cache river",
    '"red car" tidal',
    "kingfishr -lock",
    "parse_url",
    "+cache tides",
    "what is a ledger of the river",
    "tid*",
    "kind:note cache",
    "E-102",
)

texts = st.lists(st.sampled_from(WORDS), min_size=1, max_size=9).map(" ".join)
#: A document: its key, which others may have too, its text, its title and its kind.
documents = st.tuples(st.sampled_from("abcd"), texts, st.sampled_from(("", *WORDS)), st.sampled_from(("note", "text")))
worlds = st.dictionaries(st.sampled_from(OWNERS), st.lists(documents, max_size=5), min_size=1)

Written = tuple[str, tuple[str, str, str, str]]


@contextmanager
def index_of(written: Sequence[Written], path: str | Path = ":memory:") -> Iterator[IndexView]:
    """Open an index in which owners wrote documents in this order."""
    with rifflux.open(path, model="hash") as index:
        view = index.admin.searcher.view
        for owner, (key, text, title, kind) in written:
            theirs = replace(view, store=view.store.of(owner))
            Writer(theirs).add(Document(key, text, title, kind, created_at=f"2024-05-0{ord(key) - 96}"))
        yield view


def told(view: IndexView, owners: Sequence[str], ids: Sequence[str]) -> dict[Any, Any]:
    """Return all that a view of several owners answers, but for how long it took."""
    store = view.store.of(*owners)
    united = replace(view, store=store)
    searcher, reader = Searcher(united), Reader(united)
    found: dict[Any, Any] = {"totals": store.totals(), "documents": find_documents(store.catalog, "a")}
    for start in "cktrlp":
        found["vocabulary", start] = dict(store.lexical.vocabulary(start, 1, 12))
    for question in QUESTIONS:
        found["sort", question] = searcher.classify(question)
        for mode in ("lexical", "semantic", "hybrid", "hybrid-rerank"):
            results = searcher.search(question, mode=mode, top_k=5)
            trace = replace(results.trace, milliseconds={})
            found["search", mode, question] = results.hits, trace
        for hit in results.hits[:2]:
            verdict = searcher.why(question, hit.id)
            found["why", question, hit.id] = replace(verdict, trace=replace(verdict.trace, milliseconds={}))
        found["filtered", question] = searcher.search(question, filter={"since": "2024-05-02", "kinds": ["note"]}).hits
    for id in ids:
        try:
            found["get", id] = reader.get(id)
        except rifflux.RiffluxError as error:
            found["get", id] = str(error)
    return found


@pytest.mark.slow
@examples(20)
@given(worlds, st.sets(st.sampled_from(OWNERS), min_size=1, max_size=4), st.randoms(use_true_random=False))
def test_what_is_beside_changes_no_digit(
    world: Mapping[str, Sequence[tuple[str, str, str, str]]], visible: set[str], chance: Any
) -> None:
    written = [(owner, each) for owner, given in world.items() for each in given]
    # Others come first, last and between, so that the rows and numbers of those who are seen are other ones.
    chance.shuffle(written)
    kept = {(owner, each[0]): each for owner, each in written}
    seen = [(owner, each) for (owner, _), each in kept.items() if owner in visible]
    with index_of([(owner, each) for (owner, _), each in kept.items()]) as everything, index_of(seen) as alone:
        ids = [hit.id for owner in OWNERS for key in "abcd" for hit in _chunks(everything, owner, key)]
        owners = sorted(visible)
        assert told(everything, owners, ids) == told(alone, owners, ids)


def test_the_words_file_changes_no_digit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(words_index, "LEAST", 1)
    chance = random.Random(5)
    written: list[Written] = []
    for owner in OWNERS:
        for key in "abcd":
            text, title = (" ".join(chance.choices(WORDS, k=chance.randint(1, 9))) for _ in range(2))
            written.append((owner, (key, text, title, chance.choice(("note", "text")))))
    seen = [each for each in written if each[0] in OWNERS[:4]]
    with index_of(written, tmp_path / "all.db") as everything, index_of(seen) as alone:
        store = everything.store
        assert isinstance(store, SqliteStore)
        told(everything, OWNERS[:4], [])
        store.local.build()
        assert (tmp_path / "all.db.words").exists()
        ids = [hit.id for owner in OWNERS for key in "abcd" for hit in _chunks(everything, owner, key)]
        assert told(everything, OWNERS[:4], ids) == told(alone, OWNERS[:4], ids)


def _chunks(view: IndexView, owner: str, key: str) -> Sequence[Any]:
    places = find_documents(view.store.of(owner).catalog, key)
    return [hit for place in places for hit in view.store.of(owner).catalog.chunks_of(*place)]
