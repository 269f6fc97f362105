"""Tokens and the log of decisions over HTTP, by two workers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from typing import Any

import apsw
import pytest

from tests.support.server import Running, serving

#: They start processes.
pytestmark = pytest.mark.slow

#: Requests after which each of two workers has answered some, whichever takes them.
MANY = 12


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory, command_line: Any, failing: dict[str, str]) -> Any:
    """The command line in a folder with an index, and with a model that fails."""
    run = command_line(tmp_path_factory.mktemp("accounts"), failing)
    (run.folder / "note.md").write_text("The heron stands in the river.")
    run.json("index", "note.md", "--collection", "wiki", "--no-embed", "--db", "index.db")
    return run


@pytest.fixture(scope="module")
def service(run: Any, tokens: dict[str, str]) -> Iterator[Running]:
    """A service of two workers."""
    with serving(run, "--db", "index.db", "--rate", 100_000, "--workers", 2) as service:
        yield service


class Caller:
    """Sends requests with a token, each over a connection of its own, so that both workers get some."""

    def __init__(self, service: Running, token: str) -> None:
        self.service, self.token = service, token

    def __call__(self, method: str, path: str, **more: Any) -> Any:
        with self.service.client(self.token) as client:
            return client.request(method, path, **more)


@pytest.fixture
def ann(service: Running, tokens: dict[str, str]) -> Caller:
    return Caller(service, tokens["ann"])


@pytest.fixture
def root(service: Running, tokens: dict[str, str]) -> Caller:
    return Caller(service, tokens["root"])


def day(days: int) -> str:
    return (datetime.now(UTC) + timedelta(days=days)).isoformat(timespec="seconds")


class TestTokens:
    def test_a_user_makes_lists_and_revokes_tokens_that_all_workers_know(self, service: Running, ann: Caller) -> None:
        reply = ann("POST", "/tokens", json={"label": "laptop", "expires_at": day(90)})
        made = reply.json()
        assert (reply.status_code, made["user"], made["role"], made["label"]) == (201, "ann", "user", "laptop")
        assert reply.headers["cache-control"] == "no-store"
        new = Caller(service, made["token"])
        assert {new("GET", "/stats").status_code for _ in range(MANY)} == {200}
        listed = ann("GET", "/tokens").json()["tokens"]
        assert {each["user"] for each in listed} == {"ann"}
        (told,) = [each for each in listed if each["id"] == made["id"]]
        assert told["expires_at"] == made["expires_at"]
        assert "token" not in told
        assert ann("DELETE", f"/tokens/{made['id']}").status_code == 204
        refused = [new("GET", "/stats") for _ in range(MANY)]
        assert {(each.status_code, each.json()["code"]) for each in refused} == {(401, "no_token")}
        assert ann("DELETE", f"/tokens/{made['id']}").status_code == 404

    @pytest.mark.parametrize(
        "given", [{"user": "bob"}, {"role": "admin"}, {"user": "root", "role": "admin"}, {"user": "everyone"}]
    )
    def test_a_users_token_grants_no_more_than_it_has(self, ann: Caller, given: dict[str, str]) -> None:
        reply = ann("POST", "/tokens", json=given)
        assert (reply.status_code, reply.json()["code"]) == (403, "out_of_scope")

    def test_it_is_not_outlived_by_those_it_makes(self, service: Running, ann: Caller) -> None:
        asks = Caller(service, ann("POST", "/tokens", json={"expires_at": day(2)}).json()["token"])
        assert asks("POST", "/tokens", json={"expires_at": day(3)}).status_code == 403
        assert asks("POST", "/tokens", json={}).json()["expires_at"].startswith(day(2)[:10])

    def test_an_administrator_makes_and_revokes_anybodys(
        self, service: Running, root: Caller, tokens: dict[str, str]
    ) -> None:
        made = root("POST", "/tokens", json={"user": "carl", "role": "admin"}).json()
        carl = Caller(service, made["token"])
        assert {each["user"] for each in carl("GET", "/tokens").json()["tokens"]} > {"ann", "bob", "carl"}
        assert [each["id"] for each in root("GET", "/tokens?user=carl").json()["tokens"]] == [made["id"]]
        bobs = tokens["bob"].split("_")[1]
        assert carl("DELETE", f"/tokens/{bobs}").status_code == 204
        assert Caller(service, tokens["bob"])("GET", "/stats").status_code == 401

    def test_another_users_tokens_are_not_there(self, ann: Caller, tokens: dict[str, str]) -> None:
        roots, unknown = tokens["root"].split("_")[1], "0" * 12
        there, nowhere = (ann("DELETE", f"/tokens/{id}") for id in (roots, unknown))
        assert there.status_code == nowhere.status_code == 404
        assert there.text.replace(roots, unknown) == nowhere.text
        assert ann("GET", "/tokens?user=root").status_code == 403

    @pytest.mark.parametrize("given", [{"expires_at": "2001-01-01"}, {"expires_at": "soon"}, {"label": "x" * 201}])
    def test_what_cannot_be_meant_is_refused(self, ann: Caller, given: dict[str, str]) -> None:
        assert ann("POST", "/tokens", json=given).status_code == 422

    def test_pages_follow_each_other(self, root: Caller) -> None:
        whole = [each["id"] for each in root("GET", "/tokens").json()["tokens"]]
        found, page = list[str](), root("GET", "/tokens?limit=2").json()
        while page["next"]:
            found += [each["id"] for each in page["tokens"]]
            page = root("GET", "/tokens", params={"limit": 2, "after": page["next"]}).json()
        assert [*found, *(each["id"] for each in page["tokens"])] == whole

    def test_one_that_expired_is_told_so_with_the_cure(self, service: Running, run: Any) -> None:
        made = run.json("tokens", "create", "--user", "dora", "--expires", "1h", "--db", "index.db")
        dora = Caller(service, made["token"])
        assert dora("GET", "/stats").status_code == 200
        with closing(apsw.Connection(str(run.folder / "index.db"))) as connection:
            connection.set_busy_timeout(10_000)
            connection.execute(
                "update service_record set value = json_set(value, '$.expires_at', 1e9) where key = ?", (made["id"],)
            )
        for reply in (dora("GET", "/stats") for _ in range(MANY)):
            assert (reply.status_code, reply.json()["code"]) == (401, "token_expired")
            assert "ask an administrator for another" in reply.json()["detail"]
            assert 'error="invalid_token"' in reply.headers["www-authenticate"]
        guessed = Caller(service, made["token"][:-2])("GET", "/stats")
        assert guessed.json()["code"] == "no_token"


class TestLog:
    def test_it_tells_who_decided_what(self, root: Caller, ann: Caller, run: Any) -> None:
        made = root("POST", "/tokens", json={"user": "emil", "label": "of emil"}).json()
        root("PUT", "/groups/design", json={"members": ["emil"]})
        root("PUT", "/collections/%2Fwiki/readers/design")
        root("DELETE", "/collections/%2Fwiki/readers/design")
        root("PUT", "/admin/settings", json={"hybrid_search": True})
        ann("POST", "/collections", json={"name": "diary"})
        ann("PATCH", "/collections/diary", json={"name": "secrets"})
        ann("PUT", "/collections/secrets/readers/bob")
        root("DELETE", f"/tokens/{made['id']}")
        entries = root("GET", "/log?limit=8").json()["entries"]
        told = [tuple(each[name] for name in ("user", "action", "target", "owner", "who")) for each in entries]
        assert told == [
            ("root", "token.revoke", made["id"], "emil", ""),
            ("ann", "collection.share", "secrets", "ann", "bob"),
            ("root", "setting.change", "hybrid_search", "", ""),
            ("root", "collection.unshare", "wiki", "", "design"),
            ("root", "collection.share", "wiki", "", "design"),
            ("root", "group.set", "design", "", "emil"),
            ("root", "token.create", made["id"], "emil", ""),
            *told[7:],
        ]
        assert made["token"].split("_", 2)[2] not in root("GET", "/log?limit=1000").text
        assert "diary" not in root("GET", "/log?limit=1000").text
        assert root("DELETE", "/admin/users/emil").json()["log"] == 3
        (first, *_), text = (root("GET", "/log").json()["entries"], root("GET", "/log?limit=1000").text)
        assert (first["action"], first["owner"]) == ("user.delete", f"deleted user {first['id']}")
        assert "emil" not in text
        assert run.json("log", "--limit", "3", "--db", "index.db") == root("GET", "/log?limit=3").json()["entries"]

    def test_pages_follow_each_other(self, root: Caller) -> None:
        whole = root("GET", "/log?limit=1000").json()
        first = root("GET", "/log?limit=2").json()
        rest = root("GET", "/log", params={"limit": 1000, "after": first["next"]}).json()
        assert first["entries"] + rest["entries"] == whole["entries"]
        assert whole["next"] is rest["next"] is None

    def test_it_is_for_administrators(self, ann: Caller) -> None:
        assert ann("GET", "/log").status_code == 403
