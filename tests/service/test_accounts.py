"""Tokens: shown once, kept as a digest, useless once revoked."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from rifflux.errors import Conflict, InvalidArgument, NotFound, OutOfScope, TokenExpired
from rifflux.service.accounts import Accounts
from rifflux.service.registry import Registry
from rifflux.store import open_store
from rifflux.types.nouns import iso_time


@pytest.fixture
def accounts(tmp_path: Path) -> Iterator[Accounts]:
    store = open_store(tmp_path / "index.db")
    yield Accounts(Registry(store))
    store.close()


def test_a_token_names_its_user(accounts: Accounts) -> None:
    token, text = accounts.create("ann", "admin", "laptop")
    found = accounts.check(text)
    assert (found.id, found.user, found.role, found.label) == (token.id, "ann", "admin", "laptop")


def test_no_other_text_is_a_token(accounts: Accounts) -> None:
    token, text = accounts.create("ann")
    for wrong in ("", "rfx", f"rfx_{token.id}_", f"rfx_{token.id}_{'x' * 43}", text[:-1], text + "x", "rfx_0_" + text):
        assert accounts.check(wrong) is None


def test_a_secret_is_in_no_file(accounts: Accounts, tmp_path: Path) -> None:
    _, text = accounts.create("ann")
    secret = text.split("_", 2)[2].encode()
    assert all(secret not in file.read_bytes() for file in tmp_path.iterdir())


def test_a_revoked_token_is_none(accounts: Accounts) -> None:
    (one, first), (_, second) = accounts.create("ann"), accounts.create("ann")
    accounts.revoke(one.id)
    assert accounts.check(first) is None
    assert accounts.check(second).user == "ann"
    with pytest.raises(NotFound, match="no valid token"):
        accounts.revoke(one.id)


class Clock:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.moment = 1_700_000_000.0

    def __call__(self) -> float:
        return self.moment


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def timed(accounts: Accounts, clock: Clock) -> Accounts:
    return replace(accounts, now=clock)


class TestExpiry:
    @pytest.mark.parametrize(
        ("expires", "seconds"),
        [("90d", 90 * 86_400.0), ("12h", 43_200.0), ("2w", 14 * 86_400.0), ("2023-11-15", 6_400.0)],
    )
    def test_a_token_is_valid_until_it_expires(
        self, timed: Accounts, clock: Clock, expires: str, seconds: float
    ) -> None:
        token, text = timed.create("ann", expires=expires)
        assert token.expires_at == iso_time(clock.moment + seconds, "auto")
        clock.moment += seconds - 1
        assert timed.check(text).id == token.id
        clock.moment += 1
        with pytest.raises(TokenExpired, match="another token for ann"):
            timed.check(text)
        assert timed.check(text[:-1]) is None
        timed.revoke(token.id)
        assert timed.check(text) is None

    @pytest.mark.parametrize("wrong", ["0d", "-1d", "2001-01-01", "soon", "90", "90m", "9999999d", " "])
    def test_what_can_be_no_end_is_refused(self, timed: Accounts, wrong: str) -> None:
        with pytest.raises(InvalidArgument, match="valid"):
            timed.create("ann", expires=wrong)
        assert timed.list() == []

    def test_a_token_that_never_ends_is_the_default(self, timed: Accounts, clock: Clock) -> None:
        _, text = timed.create("ann")
        clock.moment += 1e9
        assert timed.check(text).expires_at is None

    def test_the_end_of_the_calendar_is_an_end(self, timed: Accounts) -> None:
        token, text = timed.create("ann", expires="999999w")
        assert timed.check(text) == replace(token, used_at=iso_time(timed.now(), "auto"))


class TestWhoAsks:
    def test_a_user_makes_lists_and_revokes_their_own_alone(self, accounts: Accounts) -> None:
        (anns, _), (bobs, _), (roots, _) = (
            accounts.create(user, role) for user, role in (("ann", "user"), ("bob", "user"), ("ann", "admin"))
        )
        ann = replace(accounts, by=anns)
        made, _ = ann.create("ann", label="laptop")
        assert ann.list() == ann.list("ann") == [each for each in accounts.list() if each.user == "ann"]
        for user, role in (("bob", "user"), ("ann", "admin"), ("root", "admin")):
            with pytest.raises(OutOfScope, match="alone"):
                ann.create(user, role)
        with pytest.raises(OutOfScope, match="administrator"):
            ann.list("bob")
        with pytest.raises(NotFound) as unknown:
            ann.revoke("0" * 12)
        with pytest.raises(NotFound) as anothers:
            ann.revoke(bobs.id)
        assert str(anothers.value).replace(bobs.id, "0" * 12) == str(unknown.value)
        with pytest.raises(OutOfScope, match="administrator"):
            ann.revoke(roots.id)
        with pytest.raises(OutOfScope, match="administrators"):
            ann.delete("ann")
        ann.revoke(made.id)
        ann.revoke(anns.id)
        assert [each.id for each in accounts.list() if each.revoked_at is None] == [bobs.id, roots.id]

    def test_an_administrator_does_so_for_anybody(self, accounts: Accounts) -> None:
        root = replace(accounts, by=accounts.create("root", "admin", expires="1h")[0])
        made, _ = root.create("bob", "admin")
        assert made.expires_at is None
        assert [each.user for each in root.list()] == ["root", "bob"]
        root.revoke(made.id)
        assert root.delete("bob").tokens == 1

    def test_no_token_makes_one_that_is_valid_for_longer(self, timed: Accounts) -> None:
        asks, _ = timed.create("ann", expires="2h")
        assert asks.expires_at
        ann = replace(timed, by=asks)
        assert ann.create("ann")[0].expires_at == asks.expires_at
        assert ann.create("ann", expires="1h")[0].expires_at == iso_time(timed.now() + 3600, "auto")
        with pytest.raises(OutOfScope, match="no other can be valid for longer"):
            ann.create("ann", expires="3h")

    @pytest.mark.parametrize("maker", ["ann", "root", None])
    def test_the_valid_tokens_of_a_user_are_bounded_whoever_makes_them(
        self, timed: Accounts, clock: Clock, maker: str | None
    ) -> None:
        timed = replace(timed, most_tokens=3)
        asks = timed.create("ann")[0] if maker == "ann" else timed.create("root", "admin")[0]
        others = timed if maker is None else replace(timed, by=asks)
        made = [others.create("ann", expires="1h")[0] for _ in range(2)]
        if maker != "ann":
            timed.create("ann")
        for accounts in (others, timed):
            with pytest.raises(Conflict, match="revoke one"):
                accounts.create("ann")
        assert timed.create("bob")[0].user == "bob"
        others.revoke(made[0].id)
        others.create("ann")
        with pytest.raises(Conflict, match="revoke one"):
            others.create("ann")
        clock.moment += 3600
        others.create("ann")


class TestLog:
    def test_it_names_who_decided_and_no_secret(self, accounts: Accounts) -> None:
        root, text = accounts.create("root", "admin", "laptop", "1h")
        acting = replace(accounts, by=root)
        anns, _ = acting.create("ann")
        acting.revoke(anns.id)
        acting.delete("ann")
        with pytest.raises(NotFound):
            acting.delete("ann")
        entries = accounts.register.log()
        assert [(each.user, each.action) for each in reversed(entries)] == [
            ("", "token.create"),
            ("root", "token.create"),
            ("root", "token.revoke"),
            ("root", "user.delete"),
        ]
        assert entries[-1].detail.startswith("role admin, until 20")
        assert text.split("_", 2)[2] not in repr(entries)
        assert "ann" not in {name for each in entries for name in (each.user, each.owner, each.who)}


def used_at(accounts: Accounts, id: str) -> str | None:
    found = accounts.register.token(id)
    assert found
    return found[0].used_at


def test_using_a_token_is_noted_once_a_minute(accounts: Accounts) -> None:
    moment = 1000.0
    accounts = Accounts(accounts.register, lambda: moment)
    token, text = accounts.create("ann")
    accounts.check(text)
    moment = 1030.0
    accounts.check(text)
    assert used_at(accounts, token.id) == iso_time(1000.0)
    moment = 1061.0
    accounts.check(text)
    assert used_at(accounts, token.id) == iso_time(1061.0)


@pytest.mark.parametrize(("user", "role"), [("", "user"), (" ann", "user"), ("a\nb", "user"), ("ann", "root")])
def test_a_user_and_a_role_must_be_possible(accounts: Accounts, user: str, role: str) -> None:
    with pytest.raises(InvalidArgument):
        accounts.create(user, role)
