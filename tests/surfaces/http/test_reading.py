"""What the page asks besides searches: who asks, facets, status, a document at a passage, a pack that is checked."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2 as httpx
import pytest

import rifflux
from rifflux import Document, Scope
from rifflux.service.accounts import Accounts
from rifflux.surfaces.http.app import create_app
from rifflux.surfaces.http.service import Caller, Service, ServiceSettings, Visit
from rifflux.works import Work

LONG = "\n\n".join(f"# Part {number}\n\nThe otter 🦦 of part {number} swims. " + "x" * 3_000 for number in range(120))


class Asker:
    """Asks a service as a user."""

    def __init__(self, path: Path) -> None:
        self.index = rifflux.open(path / "index.db", model="hash:64")
        accounts = Accounts(self.index.registry)
        self.tokens = {user: accounts.create(user)[1] for user in ("ann", "ben")}
        self.visit = Visit(Caller("", "admin"))
        self.app = create_app(Service(ServiceSettings(), self.index, self.visit))

    def __call__(self, method: str, path: str, user: str = "ann", **sent: Any) -> httpx.Response:
        """The answer to a request."""

        async def ask() -> httpx.Response:
            transport = httpx.ASGITransport(self.app)
            headers = {"Authorization": f"Bearer {self.tokens[user]}"} if user else {}
            headers |= sent.pop("headers", {})
            async with httpx.AsyncClient(transport=transport, base_url="http://localhost", headers=headers) as client:
                return await client.request(method, path, **sent)

        return asyncio.run(ask())


@pytest.fixture(scope="module")
def ask(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Asker]:
    """Asks about a few documents of ann's, and one of ben's."""
    asker = Asker(tmp_path_factory.mktemp("reading"))
    ann, ben = (asker.index.scoped(Scope(name)) for name in ("ann", "ben"))
    asker.index.admin.declare_facets("team")
    ann.add(
        Document(
            "notes/a.md", "# A\n\nThe heron stands.\n\n## B\n\nThe heron flies.", "A", "markdown", metadata={"team": 7}
        )
    )
    ann.add(Document("notes/long.md", LONG, "Long", "markdown", metadata={"team": ["x", 7]}))
    ben.add(Document("bens.md", "A heron of his.", "Ben", "text", metadata={"team": "secret"}))
    ann.works.add(Work("Herons", "Herons stand.", license="CC0-1.0"), Work("Closed", "Herons fly.", venue="Birds"))
    yield asker
    asker.index.close()


def test_who_asks_is_told(ask: Asker) -> None:
    told = ask("GET", "/me").json()
    assert (told["user"], told["role"], told["expires_at"]) == ("ann", "user", None)
    assert told["token"] in ask.tokens["ann"]


def test_facets_count_what_the_caller_reads(ask: Asker) -> None:
    facets = {each["name"]: each for each in ask("GET", "/facets").json()["facets"]}
    assert [*facets] == ["collection", "kind", "folder", "team"]
    assert facets["collection"]["values"] == [{"value": "library", "documents": 4}]
    assert facets["kind"]["values"] == [{"value": "markdown", "documents": 2}]
    assert facets["folder"]["values"] == [{"value": "notes", "documents": 2}]
    assert facets["team"]["values"] == [{"value": 7, "documents": 2}, {"value": "x", "documents": 1}]
    (one,) = (each for each in ask("GET", "/facets?limit=1").json()["facets"] if each["name"] == "team")
    assert (len(one["values"]), one["more"]) == (1, True)
    assert ask("GET", "/facets?limit=0").status_code == 422


def test_status_tells_counts_and_what_is_stale(ask: Asker) -> None:
    told = ask("GET", "/status").json()
    assert told["documents"] == 4
    assert told["freshness"]["missing_roots"] == []
    assert "path" not in told


def test_results_have_a_snippet_with_most_of_the_highlights(ask: Asker) -> None:
    (found,) = ask("POST", "/search", json={"query": "otter 77", "top_k": 1, "typing": True}).json()["results"]
    start, end = found["snippet_span"]
    assert "otter 🦦 of part 77" in found["text"][start:end]
    assert end - start < 400 < len(found["text"])


class TestAround:
    def test_a_document_opens_at_a_passage(self, ask: Asker) -> None:
        (found,) = ask("POST", "/search", json={"query": "heron flies", "top_k": 1}).json()["results"]
        told = ask("GET", f"/documents/notes/a.md?around={found['id']}&query=heron+flies").json()
        around, text = told["around"], told["text"]
        assert text[slice(*around["span"])] == found["text"] == around["passage"]["text"]
        assert [text[slice(*each)] for each in around["highlights"]] == ["heron", "flies"]
        assert [(each["title"], each["depth"]) for each in around["outline"]] == [("A", 1), ("B", 2)]
        assert (around["text_span"], around["length"]) == ([0, len(text)], len(text))

    def test_of_a_long_one_there_is_the_part_around(self, ask: Asker) -> None:
        (found,) = ask("POST", "/search", json={"query": '"otter" "part 77"', "top_k": 1}).json()["results"]
        told = ask("GET", f"/documents/notes/long.md?around={found['id']}&query=otter").json()
        around = told["around"]
        first, last = around["text_span"]
        assert (last - first, around["length"]) == (200_000, len(LONG)) == (len(told["text"]), len(LONG))
        start, end = around["span"]
        assert first < start < end < last
        assert told["text"][start - first : end - first] == LONG[start:end]
        assert len(around["outline"]) == 120

    def test_without_a_passage_it_opens_at_its_beginning(self, ask: Asker) -> None:
        around = ask("GET", "/documents/notes/long.md?around=").json()["around"]
        assert around["passage"]["chunk_index"] == 0
        assert around["highlights"] == []
        assert "around" not in ask("GET", "/documents/notes/long.md").json()

    def test_a_work_without_a_license_shows_nothing(self, ask: Asker) -> None:
        (closed,) = (each for each in ask("GET", "/documents").json()["documents"] if each["title"] == "Closed")
        told = ask("GET", f"/documents/{closed['document']}?around=").json()
        assert "fly" not in str(told)
        assert told["around"]["span"] == [0, 0]

    def test_what_is_another_document_or_user_is_not_there(self, ask: Asker) -> None:
        (found,) = ask("POST", "/search", json={"query": "heron flies", "top_k": 1}).json()["results"]
        assert ask("GET", f"/documents/notes/long.md?around={found['id']}").status_code == 404
        assert ask("GET", f"/documents/notes/a.md?around={found['id']}", "ben").status_code == 404
        assert ask("GET", "/documents/notes/a.md?around=", "ben").status_code == 404


def test_a_pack_is_checked(ask: Asker) -> None:
    answer = ask("POST", "/retrieve", json={"query": "herons", "cite": "bibtex"}).json()
    assert answer["evidence_pack"]["items"]
    told = ask("POST", "/verify", json={"evidence_pack": answer["evidence_pack"]}).json()
    assert (told["sound"], told["problems"]) == (True, [])
    assert ask("POST", "/verify", json={"evidence_pack": answer}).json() == told
    assert ask("POST", "/verify", json={"evidence_pack": answer, "replay": True}).json() == told | {
        "replayed": "agrees"
    }
    forged = {**answer, "reranked": answer["reranked"][::-1], "mode": "survey"}
    assert ask("POST", "/verify", json={"evidence_pack": forged}).json()["sound"]
    assert not ask("POST", "/verify", json={"evidence_pack": forged, "replay": True}).json()["sound"]
    answer["evidence_pack"]["items"][0]["text"] += "!"
    assert not ask("POST", "/verify", json={"evidence_pack": answer}).json()["sound"]
    assert ask("POST", "/verify", json={"evidence_pack": {"items": 3}}).status_code == 422


class TestVisit:
    def test_its_pass_opens_once(self, ask: Asker) -> None:
        visit = Visit(Caller("", "admin"))
        shown = visit.unused_pass
        key = visit.enter(shown)
        assert key
        assert visit.caller(key) == Caller("", "admin")
        assert visit.caller(shown) is None
        assert visit.enter(shown) is None
        assert visit.enter("") is None
        assert visit.unused_pass == ""

    def test_it_is_exchanged_for_a_cookie(self, ask: Asker) -> None:
        given = {"pass": ask.visit.unused_pass}
        entered = ask("POST", "/session", "", json=given)
        cookie = entered.headers["Set-Cookie"].partition(";")[0]
        assert ask("GET", "/me", "", headers={"Cookie": cookie}).json()["role"] == "admin"
        assert ask("POST", "/session", "", json=given).status_code == 401
        assert ask("GET", "/me", "").status_code == 401
