"""Tokens: shown once, kept as a digest, useless once revoked."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from rifflux.errors import InvalidArgument, NotFound
from rifflux.service.accounts import Accounts
from rifflux.store import open_store


@pytest.fixture
def accounts(tmp_path: Path) -> Iterator[Accounts]:
    store = open_store(tmp_path / "index.db")
    yield Accounts(store.registry)
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
    with pytest.raises(NotFound, match="tokens list"):
        accounts.revoke(one.id)


def used_at(accounts: Accounts, id: str) -> float | None:
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
    assert used_at(accounts, token.id) == 1000.0
    moment = 1061.0
    accounts.check(text)
    assert used_at(accounts, token.id) == 1061.0


@pytest.mark.parametrize(("user", "role"), [("", "user"), (" ann", "user"), ("a\nb", "user"), ("ann", "root")])
def test_a_user_and_a_role_must_be_possible(accounts: Accounts, user: str, role: str) -> None:
    with pytest.raises(InvalidArgument):
        accounts.create(user, role)
