"""Commands that look after an index on a cluster: each works, and refuses what it cannot do with the cure."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import rifflux
from rifflux.errors import Busy, Conflict, Cure, InvalidArgument, NotFound
from rifflux.index.cluster import cluster_of
from rifflux.store.opensearch.engine import ClusterIndex
from tests.cluster.test_engine import filled
from tests.cluster.test_engine import pages as all_pages
from tests.conftest import CommandLine


def pages(index: rifflux.Index) -> list[Any]:
    """Return what some questions find by words and by meaning, for each user."""
    return all_pages(index, ("hybrid",), (None,))


def test_a_reindexed_index_answers_as_before_and_a_new_one_has_the_wanted_shards(location: Callable[[], str]) -> None:
    place = f"opensearch://{location()}"
    made = cluster_of(place).init(shards=3, replicas=0, spread=2)
    assert (made.shards, made.spread, made.rows) == (3, 2, 0)
    with filled(place) as index:
        before = pages(index)
        done = cluster_of(place).reindex(shards=4)
        assert pages(index) == before
        index.add(rifflux.Document("new", "A new heron"))
        assert [hit.key for hit in index.search("new", mode="lexical")] == ["new"]
    found = cluster_of(place).status()
    assert (found.shards, found.spread, found.index, found.is_blocked) == (4, 2, done.index, False)
    with rifflux.open(place, model="hash:64") as again:
        assert again.search("new", mode="lexical")
        again.remove("new")
        cluster_of(place).reindex()
        assert pages(again) == before


def test_an_interrupted_copy_changes_nothing_and_goes_on(
    location: Callable[[], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    place = f"opensearch://{location()}"
    with filled(place) as index:
        before = pages(index)
        call = ClusterIndex.call
        ended: list[str] = []

        def interrupted(self: ClusterIndex, request: Callable[..., Any], **arguments: Any) -> Any:
            if request.__name__ in ended:
                raise KeyboardInterrupt
            return call(self, request, **arguments)

        with monkeypatch.context() as patched:
            patched.setattr(ClusterIndex, "call", interrupted)
            ended.append("update_aliases")
            with pytest.raises(KeyboardInterrupt):
                cluster_of(place).reindex(shards=2)
            index.add(rifflux.Document("new", "A new heron"))
            index.remove("new")
            assert pages(index) == before
            # Killed, it cannot clean up either.
            ended.append("delete")
            with pytest.raises(KeyboardInterrupt):
                cluster_of(place).reindex(shards=2)
        assert pages(index) == before
        with pytest.raises(Busy) as refused:
            index.add(rifflux.Document("new", "A new heron"))
        assert refused.value.cure is Cure.COPY_SHARDS
        cluster_of(place).reindex(shards=2)
        assert pages(index) == before
        index.add(rifflux.Document("new", "A new heron"))


def test_a_snapshot_is_restored_to_another_address(
    location: Callable[[], str], cluster_folder: Path, run: CommandLine
) -> None:
    place, other = (f"opensearch://{location()}" for _ in range(2))
    repository = place.rpartition("/")[2]
    with filled(place) as index:
        before = pages(index)
        with pytest.raises(NotFound, match="--folder"):
            cluster_of(place).snapshot(repository, "monday")
        made = cluster_of(place).snapshot(repository, "monday", str(cluster_folder))
        with pytest.raises(Conflict, match="another name"):
            cluster_of(place).restore(repository, "monday")
    with pytest.raises(NotFound, match="tuesday"):
        cluster_of(other).restore(repository, "tuesday")
    done = run("cluster", "restore", repository, "monday", "--json", "--db", other)
    assert json.loads(done.stdout)["rows"] == made.rows
    with rifflux.open(other, model="hash:64") as index:
        assert pages(index) == before


def test_what_cannot_be_done_is_refused_with_the_cure(location: Callable[[], str], run: CommandLine) -> None:
    place = f"opensearch://{location()}"
    with pytest.raises(NotFound, match="index something"):
        cluster_of(place).status()
    with pytest.raises(InvalidArgument, match="shards"):
        cluster_of(place).init(shards=0)
    with pytest.raises(InvalidArgument, match="opensearch://"):
        cluster_of("notes.db")
    done = run("cluster", "init", "--shards", "2", "--json", "--db", place)
    assert "owner" in json.loads(done.stdout)["role"]["index_permissions"][0]["dls"]
    done = run("cluster", "status", "--db", place)
    assert "2, with" in done.stdout
    with pytest.raises(Conflict, match="reindex"):
        cluster_of(place).init()
    with pytest.raises(InvalidArgument, match="lower-case"):
        cluster_of(place).snapshot("backups", "Monday")
