"""The contract of views of several owners: an index of what those owners have, and of nothing else."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from rifflux.errors import OutOfScope
from rifflux.store import FileRemoval, Placed, Removal, Selection, Store, by_words, find_documents
from rifflux.testing.making import MODEL, WEIGHTS, NeedsOpened, change, part, vector_of, words
from rifflux.testing.owners import everything, filled, ranked_by_words
from rifflux.types import Ranking, of_owner, parted

#: The first chunk id of each owner: mine, shared with me, and others.
_MINE = 1
_SHARED = 10_000
_OTHERS = 20_000
_IDS = [*range(_MINE, _MINE + 40), *range(_SHARED, _SHARED + 40), *range(_OTHERS, _OTHERS + 40)]


class UnitedContract(NeedsOpened):
    """The behaviour of a view of several owners. Needs a fixture `opened`: an empty, writable store, not a view."""

    @pytest.mark.parametrize(("mine", "shared", "other"), [("ann", "bob", ""), ("", "ann", "bob"), ("ann", "", "bob")])
    def test_it_tells_the_same_whatever_others_store_and_drop(
        self, opened: Store, mine: str, shared: str, other: str
    ) -> None:
        filled(opened.of(mine), _MINE, "mine")
        filled(opened.of(shared), _SHARED, "shared")
        both = opened.of(mine, shared)
        before = everything(both, _IDS)
        assert before["totals"].embedded
        assert all(map(len, ranked_by_words(before)[:3]))
        filled(opened.of(other), _OTHERS, "kingfisher", times=4)
        assert everything(both, _IDS) == before
        _build(opened)
        assert everything(both, _IDS) == before
        opened.of(other).catalog.write(Removal("c", ["a"]))
        assert everything(both, _IDS) == before

    def test_it_ranks_as_one_owner_who_has_all_of_it(self, opened: Store) -> None:
        filled(opened.of("ann"), _MINE, "mine")
        filled(opened, _SHARED, "shared", times=5)
        one = opened.of("one")
        one.semantic.use_model(MODEL)
        for number, key in enumerate(("a", "b", "mine2"), 1):
            one.catalog.write(
                Placed("first", change(key, *_texts("mine"), title="cache", first_id=_OTHERS + 100 * number))
            )
        for number, key in enumerate(("a", "b", "2", "3", "4"), 4):
            one.catalog.write(
                Placed("second", change(key, *_texts("shared"), title="cache", first_id=_OTHERS + 100 * number))
            )
        both = opened.of("ann", "")
        for query in ("cache rivers", "mine", "text shared banks"):
            found, expected = (by_words(view, words(query), 50, WEIGHTS) for view in (both, one))
            assert sorted(found.scores.tolist()) == sorted(expected.scores.tolist())
        assert both.lexical.document_frequencies(["cach", "mine", "none"]) == {"cach": 24, "mine": 3}

    def test_the_vocabulary_is_that_of_its_owners_alone_whatever_is_built(self, opened: Store) -> None:
        filled(opened.of("ann"), _MINE, "minq")
        filled(opened.of("bob"), _SHARED, "minqa", times=2)
        both = opened.of("ann", "bob")
        steps: list[Callable[[], object]] = [
            lambda: None,
            lambda: filled(opened.of("eve"), _OTHERS, "minx"),
            lambda: _build(opened),
            lambda: filled(opened, _OTHERS + 1000, "minz"),
            lambda: opened.of("eve").catalog.write(Removal("c", ["a"])),
            lambda: _build(opened),
        ]
        for step in steps:
            step()
            assert dict(both.lexical.vocabulary("min", 1, 9)) == {"minq": 3, "minqa": 2}
            assert dict(both.lexical.vocabulary("m", 1, 4, lambda term: term != "minqa")) == {"minq": 3}
            assert dict(opened.of("ann").lexical.vocabulary("min", 1, 9)) == {"minq": 3}

    def test_the_vocabulary_forgets_what_its_owners_remove(self, opened: Store) -> None:
        filled(opened.of("ann"), _MINE, "minq")
        filled(opened.of("bob"), _SHARED, "minqa")
        both = opened.of("ann", "bob")
        _build(opened)
        for _ in range(2):
            opened.of("bob").catalog.write(Removal("c", ["a", "b", "minqa2"]))
            assert dict(both.lexical.vocabulary("min", 1, 9)) == {"minq": 3}
            opened.of("bob").catalog.write(Placed("c", change("a", "minqb", first_id=_SHARED + 100)))
            assert dict(both.lexical.vocabulary("min", 1, 9)) == {"minq": 3, "minqb": 1}
            _build(opened)
            assert dict(both.lexical.vocabulary("min", 1, 9)) == {"minq": 3, "minqb": 1}

    def test_counts_are_summed(self, opened: Store) -> None:
        filled(opened.of("ann"), _MINE)
        filled(opened.of("bob"), _SHARED, times=4)
        both = opened.of("bob", "ann", "nobody")
        own = [opened.of(owner).totals() for owner in ("ann", "bob")]
        for name in ("documents", "chunks", "files", "embedded"):
            assert getattr(both.totals(), name) == sum(getattr(each, name) for each in own)
        filled(opened.of("nobody"), _OTHERS)
        assert both.totals().documents == own[0].documents + own[1].documents + 3

    def test_equal_keys_stay_two_documents_and_say_whose_they_are(self, opened: Store) -> None:
        filled(opened.of("ann"), _MINE, "mine")
        filled(opened.of("bob"), _SHARED, "shared")
        both = opened.of("ann", "bob")
        ranking = Ranking(np.array([_MINE, _SHARED]), np.ones(2))
        hits = both.catalog.hydrate(ranking)
        assert [hit.owner for hit in hits] == ["ann", "bob"]
        places = [(of_owner("c", owner), "a") for owner in ("ann", "bob")]
        assert [hit.place for hit in hits] == places == find_documents(both.catalog, "a")
        assert both.catalog.identified(["doi:10.1/a"])["doi:10.1/a"][:2] == [places[0], (places[0][0], "b")]
        # Nobody is hidden behind what another owner has many of.
        one_each = both.catalog.identified(["doi:10.1/a"], 1)["doi:10.1/a"]
        assert len(one_each) == len({parted(namespace)[1] for namespace, _ in one_each}) == 2
        alone = [opened.of(owner).catalog.document("c", "a") for owner in ("ann", "bob")]
        assert [both.catalog.documents_at(places)[place] for place in places] == alone
        listed = [(row.namespace, row.document.key) for row in both.catalog.documents(Selection())]
        for number, place in enumerate(listed):
            following = both.catalog.documents(Selection(), after=place)
            assert [(row.namespace, row.document.key) for row in following] == listed[number + 1 :]
        for place, owner in zip(places, ("ann", "bob"), strict=True):
            assert {hit.owner for hit in both.catalog.chunks_of(*place)} == {owner}
        assert both.catalog.document(of_owner("c", "eve"), "a") is None
        assert both.catalog.chunks_of(of_owner("c", "eve"), "a") == []
        assert opened.of("ann").catalog.hydrate(ranking)[0].owner is None

    def test_a_link_leads_to_documents_of_its_own_owner_and_to_names_of_all(self, opened: Store) -> None:
        filled(opened.of("ann"), _MINE)
        filled(opened.of("bob"), _SHARED)
        edges = opened.of("ann", "bob").catalog.linked(np.array([_MINE], np.int64))
        assert [edge.chunk for edge in edges] == [_MINE + 10, _MINE + 20, _SHARED, _SHARED + 10, _SHARED + 20]

    def test_it_is_only_read(self, opened: Store) -> None:
        filled(opened.of("ann"), _MINE)
        both = opened.of("ann", "bob")
        vectors = vector_of(1, 0)[None]
        writes: list[Callable[[], object]] = [
            lambda: both.catalog.write(Placed("c", change("a", "text"))),
            lambda: both.catalog.write(Removal("c", ["a"])),
            lambda: both.catalog.write(FileRemoval("/root", ["a.txt"])),
            lambda: both.records.set("mine", "other"),
            lambda: both.semantic.put_vectors([1], [1], vectors),
            lambda: both.transaction().__enter__(),
            lambda: both.semantic.generations,
            both.check,
        ]
        for refused in writes:
            with pytest.raises(OutOfScope):
                refused()

    def test_it_leads_to_its_owners_and_their_parts_alone(self, opened: Store) -> None:
        for number, owner in enumerate(("ann", "bob", "eve"), 1):
            filled(opened.of(owner), number * 1000)
            filled(part(opened.of(owner), "messages"), number * 1000 + 500)
        both = opened.of("ann", "bob", "ann")
        parts = [part(opened.of(owner), "messages").owner for owner in ("ann", "bob")]
        assert [both.of(each).owner for each in both.owners] == ["ann", "bob"]
        assert [view.owner for view in both.views()] == [both.owner, *parts]
        assert part(both, "messages").totals() == opened.of(*parts).totals()
        assert opened.of("ann").owner == "ann" == both.of("ann").owner
        with pytest.raises(OutOfScope):
            both.of("eve")
        with pytest.raises(OutOfScope):
            opened.of("ann").of("ann", "bob")
        assert opened.of("ann").of("ann", parts[0]).totals().documents == 6
        assert opened.of().totals().documents == 0
        assert [view.owner for view in opened.of("", "ann").views()][1:] == [parts[0]]


def _build(opened: Store) -> None:
    """Build what an engine has beside the index, if it has any."""
    if opened.local:
        opened.local.build()


def _texts(own: str) -> tuple[str, ...]:
    return ("red car, the cache of rivers", "cache cache and river banks", f"text {own}")
