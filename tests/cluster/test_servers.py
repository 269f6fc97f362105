"""Two servers without a shared disk, on one index of a cluster: what one of them decides, the other knows at once.

What has to be known within a second is asked for a second later: a busy machine only gives it more time.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import pytest

import rifflux
from rifflux.service.nouns import Spending
from rifflux.service.registry import Registry
from tests.conftest import CommandLine
from tests.support.server import serving

#: Seconds after which a server knows what another one decided.
SOON = 1.0


@pytest.fixture
def place(location: Callable[[], str]) -> str:
    return f"opensearch://{location()}"


def test_two_servers_agree_on_tokens_rights_repeats_and_usage(run: CommandLine, place: str) -> None:
    run.settings["RIFFLUX_PRICES"] = "hash=1"
    (run.folder / "note.md").write_text("# Herons\n\nThe heron stands in the river.\n")
    run.json("index", "note.md", "--collection", "wiki", "--user", "ann", "--db", place)
    tokens = {user: run.json("tokens", "create", "--user", user, "--db", place)["token"] for user in ("ann", "bob")}
    with (
        serving(run, "--db", place) as one,
        serving(run, "--db", place) as other,
        one.client(tokens["ann"]) as ann,
        other.client(tokens["ann"]) as ann_there,
        other.client(tokens["bob"]) as bob,
    ):

        def found() -> int:
            return len(bob.post("/search", json={"query": "heron", "mode": "lexical"}).json()["results"])

        # What is shared.
        assert found() == 0
        assert ann.put("/collections/wiki/readers/bob").status_code < 300
        time.sleep(SOON)
        assert found() == 1
        assert ann.delete("/collections/wiki/readers/bob").status_code < 300
        time.sleep(SOON)
        assert found() == 0
        # A request that is repeated at the other server.
        key = {"Idempotency-Key": "one"}
        assert ann.post("/conversations", json={"id": "talk"}).status_code == 201
        said = [
            client.post("/conversations/talk/messages", json={"text": "Herons fish."}, headers=key)
            for client in (ann, ann_there)
        ]
        assert [each.status_code for each in said] == [201, 201]
        assert said[0].content == said[1].content
        assert "idempotent-replayed" in said[1].headers
        # A new token, which is revoked.
        new = ann.post("/tokens", json={"label": "phone"}).json()
        with other.client(new["token"]) as phone:
            assert phone.get("/stats").status_code == 200
            assert ann.delete(f"/tokens/{new['id']}").status_code == 204
            time.sleep(SOON)
            assert phone.get("/stats").status_code == 401
        for client in (ann, ann_there):
            assert client.post("/search", json={"query": "how do herons fish"}).status_code == 200
    # What a server kept in memory of it is written when it ends.
    spent = run.json("usage", "--by", "user,feature", "--user", "ann", "--db", place)
    assert {each["feature"]: each["calls"] for each in spent}["search"] == 2


def test_two_machines_keep_one_budget(place: str) -> None:
    reserved: list[str] = []
    failed: list[BaseException] = []

    def spend(index: rifflux.Index) -> None:
        try:
            registry = Registry(index.admin.store)
            for _ in range(4):
                spending = Spending("ann", "search", "m", 2, 0.3, time.time())
                if id := registry.reserve(spending, 1.0, since=0.0):
                    reserved.append(id)
        except BaseException as error:
            failed.append(error)

    with rifflux.open(place, model="hash:64") as one, rifflux.open(place, model="hash:64") as other:
        threads = [threading.Thread(target=spend, args=(index,)) for index in (one, other)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not failed
        assert len(reserved) == 3
