"""The contract of owners: a view behaves as if no one else existed, whatever others do."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from inspect import signature
from typing import Any

import numpy as np
import pytest

from rifflux.errors import OutOfScope
from rifflux.service.nouns import Event
from rifflux.service.registry import Registry
from rifflux.store import (
    KEY,
    LEXICAL,
    SEMANTIC,
    CandidateRequest,
    Catalog,
    Delete,
    DocumentUses,
    FileRemoval,
    FileState,
    FileUpdate,
    Lexical,
    Placed,
    Put,
    Record,
    Records,
    Removal,
    Selection,
    Semantic,
    SourceData,
    Store,
    Where,
    by_words_each,
)
from rifflux.testing.making import MODEL, WEIGHTS, NeedsOpened, change, part, vector_of, words
from rifflux.types import Execution, Filter, Identifier, Ids, Link, Query, Ranking, Tag, Vectors

_WORD = "kingfisher"
_KEYS = ("a", "b", "a.txt", "/root/a.txt")

_FIELDS = ("kind", "namespace", "folder", "tags")
_SELECTIONS = (
    Selection(),
    Selection("c"),
    Selection(words="a"),
    Selection(filter=Filter(kinds=("note",))),
    *(Selection(name=key) for key in _KEYS),
)

#: Every method that reads, called with everyone's ids and keys. New methods belong here, or in a list below.
_READ: Mapping[str, Callable[[Store, Ids], Any]] = {
    "probe": lambda store, ids: store.probe(),
    "owner": lambda store, ids: store.owner,
    "owners": lambda store, ids: store.owners,
    "hydrate": lambda store, ids: store.catalog.hydrate(Ranking(ids, np.ones(len(ids)))),
    "document": lambda store, ids: [store.catalog.document("c", key) for key in _KEYS],
    "documents_at": lambda store, ids: dict(store.catalog.documents_at([("c", key) for key in _KEYS])),
    "code_of": lambda store, ids: dict(store.catalog.code_of(ids)),
    "stored": lambda store, ids: _plain_documents(store) if len(store.owners) == 1 else [],
    "chunks_of": lambda store, ids: [store.catalog.chunks_of("c", key) for key in _KEYS],
    "around": lambda store, ids: dict(store.catalog.around([("c", key) for key in _KEYS], 5, 3)),
    "files": lambda store, ids: [*store.catalog.files("/root")],
    "some_files": lambda store, ids: store.catalog.some_files(1000),
    "roots": lambda store, ids: store.catalog.roots(),
    "pending": lambda store, ids: [chunk for batch in store.semantic.pending(3) for chunk in batch],
    "vectors_by_hash": lambda store, ids: _plain(store.semantic.vectors_by_hash(_hashes())),
    "vectors_of": lambda store, ids: _plain(store.semantic.vectors_of(ids)),
    "sample": lambda store, ids: _plain(dict(zip(*store.semantic.sample(100), strict=True))),
    "facts": lambda store, ids: dict(store.catalog.facts(ids)),
    "search": lambda store, ids: [_searched(store, query) for query in _queries()],
    "search_each": lambda store, ids: [_listed(each) for each in by_words_each(store, _queries(), 10, WEIGHTS)],
    "values": lambda store, ids: [store.catalog.values(field, Selection(), 10) for field in _FIELDS],
    "passing": lambda store, ids: store.catalog.passing(Filter(since="2024"), ids).tolist(),
    "any_passes": lambda store, ids: [store.catalog.any_passes(Filter(tags=(tag,))) for tag in ("T", "s:t", "none")],
    "identified": lambda store, ids: dict(store.catalog.identified(["doi:10.1/a"])),
    "linked": lambda store, ids: [store.catalog.linked(ids), store.catalog.linked(ids, incoming=True)],
    "citations": lambda store, ids: dict(store.catalog.citations(ids)),
    "tags_of": lambda store, ids: dict(store.catalog.tags_of(ids)),
    "records": lambda store, ids: [dict(store.catalog.records("c", key)) for key in _KEYS],
    "holders": lambda store, ids: store.lexical.holders([(_WORD,), ("cach", "river")], ids).tolist(),
    "occurring": lambda store, ids: store.lexical.occurring([(_WORD,), ("cach", "river"), ("river",)], 3),
    "best_with": lambda store, ids: [
        _listed(each) for each in store.lexical.best_with([(_WORD,), ("river",)], WEIGHTS)
    ],
    "sequences": lambda store, ids: store.lexical.sequences(ids),
    "document_frequencies": lambda store, ids: dict(store.lexical.document_frequencies([_WORD, "cach", "river"])),
    "vocabulary": lambda store, ids: [
        dict(store.lexical.vocabulary(start, 1, 20)) for start in ("", "k", "c", "|", "1")
    ],
    "documents": lambda store, ids: [[*store.catalog.documents(where, with_text=True)] for where in _SELECTIONS],
    "uses": lambda store, ids: dict(store.catalog.uses("c", _KEYS)),
    "contents": lambda store, ids: store.contents(),
    "credited": lambda store, ids: store.catalog.credited("author", ["cache", "river"]),
    "totals": lambda store, ids: store.totals(),
    "first_of": lambda store, ids: store.catalog.first_of(Filter(kinds=("note",)), 100).tolist(),
    "setting": lambda store, ids: store.records.setting("mine"),
    "settings": lambda store, ids: dict(store.records.settings()),
    # Records of the unnamed owner concern everybody: collections, tokens and more.
    "kinds": lambda store, ids: {"note", "event"} & {*store.records.kinds()},
    "get": lambda store, ids: _plain_records([store.records.get("note", "mine") or Record("", "")]),
    "scan": lambda store, ids: [_plain_records(store.records.scan(Where(kind))) for kind in ("note", "event")],
    "sum": lambda store, ids: store.records.sum(Where("note"), ("user",), ("amount",)),
}
#: The methods that write, called by `filled` and `test_no_write_reaches_anothers_rows`.
_WRITE = frozenset(("transaction", "put_vectors", "set", "write", "reserve", "drop"))
#: Methods that are the same for everyone, are refused to a named owner, or concern views themselves.
_SHARES = (
    "of views memoized moment model use_model lease check generations mend erase "
    "schema_version capabilities local read_only close catalog lexical semantic"
)
_SHARED = frozenset(_SHARES.split())
#: Methods that concern everyone: a named owner's view refuses them with any arguments.
_ACCOUNTS = (
    "put_token token tokens mark_used revoke erase log spend reserve settle spent ask questions reactions "
    "begin_answer end_answer begin_job put_jobs stop_jobs job jobs"
)
_REFUSED = frozenset(_ACCOUNTS.split())


def _plain_records(records: Iterable[Record]) -> list[Any]:
    """Return records without what is drawn by chance, and what counts those of others: numbers and versions."""
    return [replace(each, key=each.key.partition(KEY)[0], number=0, version="") for each in records]


def _plain_documents(store: Store) -> list[Any]:
    """Return all that is stored of documents, without their numbers, which count those of others."""
    return [replace(each, number=0) for each in store.catalog.stored()]


def _vector(store: Store) -> Vectors:
    known = store.semantic.model()
    return vector_of(0.6, 0.8, *[0.0] * (known.dimension - 2 if known else 0))


def _queries() -> list[Query]:
    return [
        words("cache rivers"),
        words(f"cache {_WORD}", filter=Filter(kinds=("note",))),
        Query("", required=(("red", "car"),), excluded=((_WORD,),), prefixes=("riv", "1")),
        Query("", (("|1|cach",), ("|2|cach",), ('x" OR "|1|cach',))),
    ]


def _listed(ranking: Ranking) -> list[tuple[int, float]]:
    return list(zip(ranking.ids.tolist(), ranking.scores.tolist(), strict=True))


def _searched(store: Store, query: Query) -> tuple[object, ...]:
    found = store.search(CandidateRequest(query, Execution(vector=_vector(store), limit=50), WEIGHTS))
    rankings = [found.rankings[name] for name in (LEXICAL, SEMANTIC)]
    facts = found.facts.facts()
    return [*map(_listed, rankings)], [[facts.get(id) for id in ranking.ids.tolist()] for ranking in rankings]


def _plain(vectors: Mapping[int, Any]) -> dict[int, list[float]]:
    """Return vectors as lists, by id; their order may depend on when others wrote theirs."""
    return {id: vectors[id].tolist() for id in sorted(vectors)}


def _given(method: Callable[..., object]) -> list[object]:
    """Return a value for each required parameter of a method."""
    _itself, *parameters = signature(method).parameters.values()
    return ["" for each in parameters if each.default is each.empty]


def _hashes() -> list[int]:
    return [each.hash for each in change("a", *_texts("")).chunks]


def _texts(own: str) -> tuple[str, ...]:
    return ("red car, the cache of rivers", "cache cache and river banks", f"text {own}")


def everything(store: Store, ids: Sequence[int]) -> dict[str, Any]:
    """Return the results of each reading method of a view for these chunk ids and for keys that everyone has."""
    chunk_ids = np.array(ids, np.int64)
    return {name: read(store, chunk_ids) for name, read in _READ.items()}


def ranked_by_words(everything: Mapping[str, Any]) -> list[Any]:
    """Return what a view's searches found by words."""
    return [rankings[0] for rankings, _ in everything["search"]]


def filled(store: Store, first_id: int, own: str = "", times: int = 3) -> list[int]:
    """Add documents to a view with keys, texts, files, names and vectors that others have too; return chunk ids."""
    ids: list[int] = []
    store.semantic.use_model(MODEL)
    for number in range(times):
        if number < 2:
            key = ("a", "b")[number]
        else:
            key = f"{own}{number}"
        put = change(
            key, *_texts(own), title="cache", first_id=first_id + 10 * number, kind="note", created_at="2024-05-01",
            identifiers=(Identifier("doi", "10.1/a"),), tags=(Tag("s", own or "t"),),
            links=(Link("doi:10.1/a"), Link("b")),
        )  # fmt: skip
        store.catalog.write(FileUpdate("/root", FileState(f"{key}.txt", 1, number, own), keep=None))
        store.catalog.write(Placed("c", put, ("/root", f"{key}.txt")))
        store.catalog.write(SourceData("c", key, {"source": own}))
        Registry(store).record(Event("judgement", f"query {own}", "c", key))
        store.records.write(Put(Record("note", "mine", {"text": own}, own)))
        store.records.reserve(Record("note", key, {"text": own}, own, amount=number), Where("note"), 100)
        store.records.set("mine", own)
        store.catalog.write(DocumentUses("c", [key], number))
        chunks = [each.chunk.id for each in put.chunks]
        if number != 1:
            vectors = np.stack(
                [vector_of(0.6, 0.8), vector_of(0, 1), vector_of(1, number) / np.float32(np.hypot(1, number))]
            )
            store.semantic.put_vectors(chunks, [each.hash for each in put.chunks], vectors)
        ids += chunks
    return ids


class OwnerContract(NeedsOpened):
    """The behaviour of the views of a store."""

    def test_every_method_has_its_promise(self) -> None:
        roles = (Store, Catalog, Lexical, Semantic, Records)
        methods = {name for role in roles for name in (*vars(role), *role.__annotations__) if not name.startswith("_")}
        assert methods == set(_READ) | _WRITE | _SHARED
        rules = {name for name in (*vars(Registry), *Registry.__annotations__) if not name.startswith("_")}
        assert rules == _REFUSED | {"store", "read_only", "sharing", "set", "record", "events"}

    @pytest.mark.parametrize(("mine", "others"), [("ann", ("", "bob")), ("", ("ann", "bob"))])
    def test_a_view_tells_the_same_whatever_others_store_and_drop(
        self, opened: Store, mine: str, others: tuple[str, ...]
    ) -> None:
        ann = opened.of(mine)
        ids = [*filled(ann, 1), *range(10_000, 10_040), *range(20_000, 20_040)]
        before = everything(ann, ids)
        assert before["totals"].embedded
        assert all(len(ranking) for ranking in ranked_by_words(before)[:3])
        for number, other in enumerate(others, 1):
            filled(opened.of(other), number * 10_000, _WORD, times=4)
            assert everything(ann, ids) == before
        for other in others:
            opened.of(other).catalog.write(Removal("c", ["a"]))
            opened.of(other).catalog.write(FileRemoval("/root", ["b.txt"]))
            assert everything(ann, ids) == before

    def test_no_write_reaches_anothers_rows(self, opened: Store) -> None:
        ann = opened.of("ann")
        bob = opened.of("bob")
        ids = filled(ann, 1)
        hashes = _hashes()
        before = everything(ann, ids)
        with bob.transaction():
            assert bob.catalog.write(Removal("c", ["a", "b"])) == 0
            assert bob.catalog.write(FileRemoval("/root", ["a.txt", "b.txt"])) == 0
            assert bob.semantic.put_vectors(ids[:2], hashes[:2], np.eye(2, dtype=np.float32)) == 0
            assert bob.catalog.write(FileUpdate("/root", FileState("a.txt", 9, 9, "other"), keep=[])) == 0
            bob.catalog.write(Placed("c", change("a", "other", first_id=500)))
            bob.catalog.write(SourceData("c", "b", {"source": "other"}))
            bob.records.set("mine", "other")
            bob.records.write(Put(Record("note", "mine", {"text": "other"})), Delete("note", "b"))
            bob.records.drop(Where("note", users=(ann.owner,)))
            bob.catalog.write(DocumentUses("c", ["b"], 99.0))
        assert everything(ann, ids) == before

    def test_equal_texts_of_two_owners_share_no_vector(self, opened: Store) -> None:
        filled(opened.of("ann"), 1)
        bob = opened.of("bob")
        bob.catalog.write(Placed("c", change("a", *_texts(""), title="cache", first_id=100)))
        assert bob.totals().embedded == 0
        assert len([chunk for batch in bob.semantic.pending(10) for chunk in batch]) == 3

    def test_a_named_view_leads_to_no_other(self, opened: Store) -> None:
        ann = opened.of("ann")
        assert ann.of("ann").owner == "ann"
        refused: list[Callable[[], object]] = [
            lambda: ann.of("bob"),
            lambda: ann.of(""),
            ann.check,
            lambda: ann.semantic.generations,
            lambda: Registry(ann).sharing,
            *(partial(getattr(Registry(ann), name), *_given(getattr(Registry, name))) for name in _REFUSED),
        ]
        for forbidden in refused:
            with pytest.raises(OutOfScope):
                forbidden()
        assert [view.owner for view in ann.views()] == ["ann"]

    def test_the_opened_store_knows_the_views_that_hold_something(self, opened: Store) -> None:
        assert opened.of("nobody").totals().chunks == 0
        filled(opened.of("ann"), 1)
        assert [view.owner for view in opened.views()] == ["", "ann"]

    def test_a_policy_is_read_by_all_and_set_where_the_store_was_opened(self, opened: Store) -> None:
        ann = opened.of("ann")
        ann.records.set("rule", "mine")
        assert ann.records.setting("rule", of_index=True) is None
        opened.records.set("rule", "ours")
        assert (
            ann.records.setting("rule", of_index=True),
            ann.records.setting("rule"),
            opened.records.setting("rule"),
        ) == (
            "ours",
            "mine",
            "ours",
        )

    def test_a_part_is_apart_and_its_owners_own(self, opened: Store) -> None:
        ann = opened.of("ann")
        ids = [*filled(ann, 1), *range(5_000, 5_040)]
        before = everything(ann, ids)
        filled(part(ann, "messages"), 5_000, _WORD)
        assert everything(ann, ids) == before
        filled(opened.of("ann2"), 6_000)
        assert [view.owner for view in ann.views()] == ["ann", part(ann, "messages").owner]
        with pytest.raises(OutOfScope):
            part(ann, "messages").of("ann")

    def test_closing_a_view_closes_nothing(self, opened: Store) -> None:
        opened.of("ann").close()
        filled(opened, 1)
        assert opened.totals().documents == 3

    def test_scores_are_those_of_a_store_of_ones_own(self, opened: Store) -> None:
        ids = filled(opened.of("ann"), 1)
        filled(opened.of("bob"), 1_000, _WORD, times=9)
        alone = ranked_by_words(everything(opened.of("ann"), ids))
        filled(opened, 2_000)
        plain = [[(id - 1_999, score) for id, score in found] for found in ranked_by_words(everything(opened, ids))]
        assert alone[:3] == [[(id, pytest.approx(score)) for id, score in found] for found in plain[:3]]
