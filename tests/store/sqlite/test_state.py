"""A state file keeps what users do, and the index beside it is only read."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from hashlib import sha256
from pathlib import Path

import pytest

import rifflux
from rifflux import Document, InvalidArgument, NotFound, ReadOnlyIndex, Scope
from rifflux.service.accounts import Accounts
from rifflux.service.nouns import EVERYONE, Event, QuestionDigest, Token
from rifflux.store import Store, open_store
from rifflux.testing import AccountsContract
from rifflux.types.nouns import iso_time
from tests.support.places import read_only_view

CLICK = Event("click", "herons", "documents", "heron", created_at=iso_time(1))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """An index that ann may read as everyone does, and of which she has a token."""
    path = tmp_path / "index.db"
    with rifflux.open(path, model="hash:16") as index:
        index.add(Document("heron", "Herons stand in shallow water."))
        index.scoped(Scope("bob")).add(Document("kestrel", "Kestrels hover."))
        registry = index.registry
        registry.put_token(Token("1", "ann", "user", created_at=iso_time(1)), b"one")
        registry.put_token(Token("2", "ann", "user", created_at=iso_time(2), revoked_at=iso_time(3)), b"two")
        index.collections.share("library", EVERYONE)
    return path


@pytest.fixture
def state(tmp_path: Path) -> Path:
    return tmp_path / "elsewhere" / "state.db"


@pytest.fixture
def opened(path: Path, state: Path) -> Iterator[Store]:
    store = open_store(path, state=state)
    yield store
    store.close()


class TestStateOfNothing(AccountsContract):
    """What holds for every registry holds for one that lies apart."""

    @pytest.fixture
    def opened(self, tmp_path: Path) -> Iterator[Store]:
        open_store(tmp_path / "index.db").close()
        store = open_store(tmp_path / "index.db", state=tmp_path / "state.db")
        yield store
        store.close()


def digest(path: Path) -> str:
    return sha256(path.read_bytes()).hexdigest()


def test_what_users_do_is_kept_in_the_state_and_the_index_is_not_written(path: Path, state: Path) -> None:
    before = digest(path)
    for _ in range(2):
        with rifflux.open(path, state=state) as index:
            accounts = Accounts(index.registry)
            _, text = accounts.create("carl")
            assert accounts.check(text)
            index.scoped(Scope("ann")).judge("herons", "heron", 2)
            index.registry.ask([QuestionDigest("ann", b"1", 1.0)], 0.0)
    with rifflux.open(path, state=state) as index:
        registry = index.registry
        assert [each.user for each in registry.tokens()] == ["ann", "carl", "carl"]
        assert [each.action for each in registry.log()] == ["token.create"] * 2
        assert len(registry.questions()) == 2
        assert len(index.scoped(Scope("ann")).registry.events()) == 2
        assert {"ann", "bob", "carl"} <= registry.sharing.users()
    assert digest(path) == before
    with rifflux.open(path) as index:
        assert [each.id for each in index.registry.tokens()] == ["1", "2"]
        assert index.scoped(Scope("ann")).registry.events() == []


def test_a_new_state_begins_with_the_valid_tokens_and_no_later_ones(path: Path, state: Path) -> None:
    with rifflux.open(path, state=state) as index:
        registry = index.registry
        assert [(each.id, registry.token(each.id)[1]) for each in registry.tokens()] == [("1", b"one")]  # type: ignore[index]
        registry.revoke("1", 5.0)
    with rifflux.open(path) as index:
        index.registry.put_token(Token("3", "ann", "user"), b"three")
    with rifflux.open(path, state=state) as index:
        assert [(each.id, each.revoked_at) for each in index.registry.tokens()] == [("1", iso_time(5))]


def test_many_who_open_a_new_state_at_once_begin_it_once(path: Path, state: Path) -> None:
    def look(_: int) -> list[str]:
        with rifflux.open(path, state=state) as index:
            return [each.id for each in index.registry.tokens()]

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(look, range(16))) == [["1"]] * 16


def test_who_may_read_what_stays_with_the_contents(path: Path, state: Path) -> None:
    with rifflux.open(path, state=state) as index:
        ann = index.scoped(Scope("ann"))
        assert [hit.key for hit in ann.search("herons kestrels", mode="lexical")] == ["heron"]
        for change in (
            lambda: index.collections.share("library", "ann"),
            lambda: index.add(Document("new", "Late.")),
            lambda: index.admin.declare_facets("tags"),
            lambda: index.policies.set("facts", "nobody"),
            lambda: index.collections.set_group("birders", ["ann"]),
        ):
            with pytest.raises(ReadOnlyIndex, match="Beside a state file"):
                change()
        assert index.registry.log() == []


def test_a_user_is_deleted_in_one_transaction_or_not_at_all(path: Path, state: Path) -> None:
    with rifflux.open(path, state=state) as index:
        accounts = Accounts(index.registry)
        for user in ("bob", "carl"):
            accounts.create(user)
            index.scoped(Scope(user)).registry.record(replace(CLICK, user=user))
        erased = accounts.delete("carl")
        assert (erased.tokens, erased.events) == (1, 1)
        with pytest.raises(ReadOnlyIndex, match="where it can be written"):
            accounts.delete("bob")
        assert accounts.list("bob")
        with pytest.raises(NotFound):
            accounts.delete("carl")


def test_what_is_no_state_is_refused(path: Path, state: Path, tmp_path: Path) -> None:
    before = digest(path)
    other = tmp_path / "other.db"
    with rifflux.open(other) as index:
        index.add(Document("new", "Late."))
    for place, given, told in (
        (path, path, "the index itself"),
        (path, other, "with documents"),
        (":memory:", state, "in memory"),
    ):
        with pytest.raises(InvalidArgument, match=told):
            rifflux.open(place, state=given)
    with pytest.raises(NotFound, match="no index"):
        rifflux.open(tmp_path / "none.db", state=state)
    assert digest(path) == before


def test_a_copy_has_both_and_both_are_checked(path: Path, state: Path, tmp_path: Path) -> None:
    with rifflux.open(path, state=state) as index:
        index.judge("herons", "heron", 2)
        status = index.status()
        assert (status.state, status.read_only) == (str(state), True)
        assert index.scoped(Scope("ann")).status().state == ""
        copied = index.admin.backup(tmp_path / "copy.db")
    assert copied.state == str(tmp_path / "copy.db.state")
    with rifflux.open(copied.path, state=copied.state) as index:
        assert len(index.registry.events()) == 1
    assert rifflux.diagnose(path, state=state) == []
    state.chmod(0o604)
    (problem,) = rifflux.diagnose(path, state=state)
    assert problem.what.startswith(f"{state}: everybody")
    assert (problem.cure, problem.data) == (rifflux.Cure.REPAIR_FILE, {"file": str(state)})


def test_an_index_where_nobody_can_write_keeps_what_users_do(path: Path, tmp_path: Path) -> None:
    with read_only_view(tmp_path, tmp_path / "view") as view:
        with rifflux.open(view / "index.db") as index:
            assert index.registry.read_only
            with pytest.raises(ReadOnlyIndex):
                index.judge("herons", "heron", 2)
        opened = partial(rifflux.open, view / "index.db", state=tmp_path / "state.db")
        with opened() as one, opened() as two:
            one.judge("herons", "heron", 2)
            two.judge("herons", "heron", 1)
            assert len(one.registry.events()) == 2
