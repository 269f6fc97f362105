"""The service as its clients know it: a real process, real tokens, real requests."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import httpx2 as httpx
import pytest

from rifflux.index import open_index
from rifflux.requests import MODES
from tests.support.commands import PATIENCE
from tests.support.embedding_server import embedding_server
from tests.support.server import Running, serving

#: They start processes.
pytestmark = pytest.mark.slow

NOTES = {"cache.md": "# Caching\n\nCache entries live for ten minutes.\n", "fruit.md": "# Fruit\n\nApples ripen.\n"}


SORTS = "one worker", "two workers, a model that fails"
#: For what is asked of a service of the test's own, or of vectors.
ONE_WORKER = pytest.mark.parametrize("run", SORTS[:1], indirect=True)


@pytest.fixture(scope="module", params=SORTS)
def run(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, command_line: Any) -> Iterator[Any]:
    """The command line in a folder with notes that are indexed, and settings for a service of this sort."""
    folder = tmp_path_factory.mktemp("service")
    for name, text in NOTES.items():
        (folder / name).write_text(text)
    with embedding_server() as endpoint:
        fails = request.param != SORTS[0]
        run = command_line(folder, {"RIFFLUX_MODEL": endpoint.spec} if fails else {})
        run.json("index", folder, "--db", "index.db")
        endpoint.mode = "fails"
        yield run


@pytest.fixture
def answered(run: Any) -> str:
    """How a hybrid question is answered: by words alone where the model fails."""
    return "lexical" if "RIFFLUX_MODEL" in run.settings else "hybrid"


def workers(run: Any) -> int:
    """How many workers a service of this sort has."""
    return 2 if "RIFFLUX_MODEL" in run.settings else 1


@pytest.fixture(scope="module")
def service(run: Any, tokens: dict[str, str]) -> Iterator[Running]:
    """A service with tokens."""
    with serving(run, "--db", "index.db", "--rate", 100_000, "--workers", workers(run)) as service:
        yield service


@pytest.fixture(scope="module")
def open_service(run: Any) -> Iterator[Running]:
    """A service that asks for no token."""
    limits = "--rate", 100_000, "--max-body-kb", 4
    with serving(run, "--db", "index.db", "--open", "--workers", workers(run), *limits) as service:
        yield service


def ask(service: Running, **asked: Any) -> Any:
    with service.client() as client:
        return client.post("/search", json={"query": "how long do cache entries live", **asked})


class TestSearch:
    def test_finds_the_best_passage_first(self, open_service: Running, answered: str) -> None:
        reply = ask(open_service).json()
        assert reply["results"][0]["path"] == "cache.md"
        assert reply["diagnostics"]["effective_mode"] == answered
        assert reply["results"][0]["why"] is None

    @pytest.mark.parametrize("route", ["/search", "/everything"])
    def test_tells_the_place_and_the_words(self, open_service: Running, route: str) -> None:
        with open_service.client() as client:
            hit = client.post(route, json={"query": "how long do cache entries live"}).json()["results"][0]
            text = client.get(f"/documents/{hit['document']}").json()["text"]
        first, last = hit["span"]
        assert text[first:last] == hit["text"]
        words = {hit["text"][start:end].lower() for start, end in hit["highlights"]}
        assert words
        assert all(word.startswith(("cach", "entr", "li", "long")) for word in words)

    def test_tells_the_lines_and_gives_some_of_them(self, open_service: Running) -> None:
        hit = ask(open_service).json()["results"][0]
        first, last = hit["lines"]
        assert hit["page"] is None
        with open_service.client() as client:
            some = client.get(f"/documents/{hit['document']}:{first}-{last}").json()["text"]
            assert some == hit["text"]
            assert some == "\n".join(NOTES["cache.md"].split("\n")[first - 1 : last])
            assert client.get(f"/documents/{hit['root']}/{hit['path']}").json()["text"] == NOTES["cache.md"]
            assert client.get(f"/chunks/{hit['id']}").json()["root"] == hit["root"]

    def test_leaves_what_defines_a_symbol(self, open_service: Running) -> None:
        assert ask(open_service, symbol="nowhere").json()["results"] == []

    def test_explains_where_asked(self, open_service: Running, answered: str) -> None:
        stages = [step["stage"] for step in ask(open_service, explain=True).json()["results"][0]["why"]]
        assert stages[:2] == ["lexical", "semantic" if answered == "hybrid" else "adaptive"]

    def test_ranks_as_it_is_asked_to(self, open_service: Running) -> None:
        def diagnostics(**asked: Any) -> Any:
            return ask(open_service, **asked).json()["diagnostics"]

        assert diagnostics(fusion="linear:by-specificity")["fusion"] == "linear"
        found = diagnostics(fusion="rrf:k=5:semantic=2", mode="hybrid-rerank", rerank_top=2)
        assert (found["fusion"], found["reranker"]) == ("rrf", "features")
        assert diagnostics(mode="lexical", fusion="rrf")["notes"][0]["code"] == "fusion.ignored"

    @ONE_WORKER
    def test_gives_pages(self, open_service: Running) -> None:
        first, second = (ask(open_service, top_k=1, offset=offset).json()["results"] for offset in (0, 1))
        both = ask(open_service, top_k=2).json()["results"]
        assert [hit["id"] for hit in first + second] == [hit["id"] for hit in both]
        assert ask(open_service, offset=1000).json()["results"] == []
        assert len(ask(open_service, cutoff=True, sort="date").json()["results"]) == 1
        assert len(ask(open_service, cutoff=0.0).json()["results"]) > 1

    @pytest.mark.parametrize(
        ("wrong", "told"),
        [
            ({"fusion": "magic"}, "choose one of rrf"),
            ({"fusion": "rrf:k=nan"}, "finite"),
            ({"fusion": "rrf:titles=1"}, "lexical=NUMBER, semantic=NUMBER"),
            ({"boosts": {"magic": 2}}, "no boost 'magic'"),
            ({"rerank": "magic"}, "rerank"),
            ({"offset": 10_001}, "offset"),
            ({"cutoff": 2}, "cutoff"),
            ({"sort": "size"}, "sort"),
        ],
    )
    def test_refuses_what_cannot_be_meant(self, open_service: Running, wrong: Any, told: str) -> None:
        reply = ask(open_service, **wrong)
        assert reply.status_code == 422
        assert told in reply.text

    def test_why_and_classify(self, open_service: Running) -> None:
        with open_service.client() as client:
            asked = {"query": "cache entries", "document": "cache.md", "fusion": "rrf"}
            verdict = client.post("/why", json=asked).json()
            assert (verdict["found"], verdict["rank"], verdict["diagnostics"]["fusion"]) == (True, 1, "rrf")
            assert client.post("/why", json={**asked, "document": "none.md"}).status_code == 404
            assert client.post("/classify", json={"query": "what is E404"}).json()["kind"] == "identifier"

    def test_reads_what_it_found(self, open_service: Running) -> None:
        hit = ask(open_service).json()["results"][0]
        with open_service.client() as client:
            assert client.get(f"/chunks/{hit['id']}").json()["text"] == hit["text"]
            assert client.get(f"/documents/{hit['document']}").json()["text"] == NOTES["cache.md"]

    def test_feedback_is_kept(self, open_service: Running, run: Any) -> None:
        with open_service.client() as client:
            told = {"kind": "click", "query": "cache", "document": "cache.md"}
            assert client.post("/feedback", json=told).status_code == 204
            assert 'rifflux_feedback_events_total{kind="click"} 1.0' in client.get("/metrics").text

    @pytest.mark.parametrize("path", ["/search", "/everything", "/why"])
    @pytest.mark.parametrize("name", MODES)
    def test_every_name_of_a_mode_is_taken(self, open_service: Running, path: str, name: str) -> None:
        asked = {"query": "cache", "mode": name} | ({"document": "cache.md"} if path == "/why" else {})
        with open_service.client() as client:
            reply = client.post(path, json=asked)
            published = client.get("/openapi.json").json()["components"]["schemas"]
        assert reply.status_code == 200, reply.text
        assert reply.json()["mode"] == MODES[name]
        schema = {"/search": "SearchRequest", "/everything": "EverythingRequest", "/why": "WhyRequest"}[path]
        assert name in published[schema]["properties"]["mode"]["enum"]

    @pytest.mark.parametrize(
        ("asked", "told"),
        [
            ({"query": ""}, "query"),
            ({"query": "x" * 2001}, "query"),
            ({"top_k": 0}, "top_k"),
            ({"mode": "psychic"}, "mode"),
            ({"wrong": 1}, "wrong"),
            ({"filter": {"since": "yesterday"}}, "yesterday"),
            ({"filter": {"metadata": {"year": [1] * 1001}}}, "1000"),
            ({"explain": 0}, "explain is true or false, not 0"),
            ({"user": "bob"}, "user"),
        ],
    )
    def test_what_cannot_be_meant_is_refused(self, open_service: Running, asked: dict[str, Any], told: str) -> None:
        reply = ask(open_service, **asked)
        assert reply.status_code == 422
        assert told in reply.json()["detail"]

    def test_what_is_not_there_is_not_found(self, open_service: Running) -> None:
        with open_service.client() as client:
            for path in ("/chunks/0000000000000000", "/chunks/x", "/documents/none.md"):
                assert client.get(path).status_code == 404


class TestTokens:
    def test_without_a_valid_token_nothing_is_told(self, service: Running, tokens: dict[str, str]) -> None:
        for token in ("", "rfx_0_0", tokens["ann"][:-1]):
            with service.client(token) as client:
                for reply in (
                    client.post("/search", json={"query": "cache"}),
                    client.get("/stats"),
                    client.get("/documents/cache.md"),
                    client.get("/metrics"),
                ):
                    assert reply.status_code == 401
                    assert reply.json()["code"] == "no_token"

    def test_a_revoked_token_is_refused_at_once(self, service: Running, run: Any) -> None:
        made = run.json("tokens", "create", "--user", "eve", "--db", "index.db")
        with service.client(made["token"]) as client:
            assert client.get("/stats").status_code == 200
            assert run("tokens", "revoke", made["id"], "--db", "index.db").returncode == 0
            assert client.get("/stats").status_code == 401

    def test_metrics_are_the_administrators(self, service: Running, tokens: dict[str, str]) -> None:
        with service.client(tokens["ann"]) as client:
            assert client.get("/metrics").status_code == 403
        with service.client(tokens["root"]) as client:
            assert "rifflux_request_seconds" in client.get("/metrics").text

    def test_secrets_are_neither_listed_nor_logged(self, service: Running, run: Any, tokens: dict[str, str]) -> None:
        listed = run("tokens", "list", "--db", "index.db").stdout
        assert "ann" in listed
        with service.client(tokens["ann"]) as client:
            client.post("/search", json={"query": "a very private question"})
        for text in (listed, service.log.read_text()):
            assert not any(token in text or token.split("_", 2)[2] in text for token in tokens.values())
            assert "private" not in text


class TestUsers:
    def test_each_sees_their_own(self, service: Running, tokens: dict[str, str], run: Any) -> None:
        with service.client(tokens["ann"]) as ann:
            answer = ann.post("/search", json={"query": "cache"}).json()
            assert answer["results"] == []
            assert "ask an administrator" in answer["diagnostics"]["notes"][-1]["text"]
            assert ann.get("/documents/cache.md").status_code == 404
            nothing = dict.fromkeys(("documents", "chunks", "embedded_chunks", "files"), 0)
            assert ann.get("/stats").json().items() >= nothing.items()

    def test_what_is_nobodys_is_the_administrators(self, service: Running, tokens: dict[str, str]) -> None:
        with service.client(tokens["root"]) as root:
            found = root.post("/search", json={"query": "cache", "mode": "lexical"}).json()["results"]
            assert {hit["collection"] for hit in found} == {"/library"}
            assert root.get("/documents/cache.md").status_code == 200
            assert root.get("/stats").json()["documents"] > 0

    def test_a_collection_is_read_while_it_is_shared(self, service: Running, tokens: dict[str, str]) -> None:
        library = "/collections/%2Flibrary/readers/ann"
        with service.client(tokens["ann"]) as ann, service.client(tokens["root"]) as root:
            assert root.put(library).json()["readers"] == [{"who": "ann", "write": False}]
            (found, *_) = ann.post("/search", json={"query": "cache", "mode": "lexical"}).json()["results"]
            assert found["collection"] == "/library"
            listed = {each["name"]: each["readers"] for each in ann.get("/collections").json()["collections"]}
            assert listed == {"library": [], "/library": []}
            assert ann.get(f"/documents/{found['document']}").status_code == 200
            assert ann.delete("/collections/%2Flibrary").status_code == 403
            assert ann.put("/collections/%2Flibrary/readers/bob").status_code == 403
            assert root.delete(library).status_code == 200
            assert ann.post("/search", json={"query": "cache"}).json()["results"] == []
            assert ann.get("/collections/%2Flibrary").json() == ann.get("/collections/%2Fnone").json() | {
                "code": "not_found",
                "detail": "no collection '/library': choose from library",
            }

    def test_groups_are_for_administrators(self, service: Running, tokens: dict[str, str]) -> None:
        with service.client(tokens["ann"]) as ann, service.client(tokens["root"]) as root:
            assert ann.get("/groups").status_code == 403
            assert root.put("/groups/design", json={"members": ["ann"]}).json()["members"] == ["ann"]
            assert root.put("/groups/design", json={"members": ["nobody"]}).status_code == 404
            assert root.get("/groups").json()["groups"] == [{"name": "design", "members": ["ann"]}]
            assert root.delete("/groups/design").status_code == 204

    def test_usage_is_summed_and_private(
        self, open_service: Running, service: Running, tokens: dict[str, str], answered: str
    ) -> None:
        ask(open_service)
        with open_service.client() as client:
            (row,) = client.get("/usage", params={"by": "model"}).json()["rows"]
        assert row["model"] == ("hash" if answered == "hybrid" else "text-embed")
        assert row["tokens"] >= 6
        with service.client(tokens["ann"]) as client:
            assert client.get("/usage").json()["rows"] == []
            for asked in ({"user": "bob"}, {"everybody": True}):
                assert client.get("/usage", params=asked).status_code == 403
            assert client.get("/usage", params={"by": "colour"}).status_code == 422

    @ONE_WORKER
    def test_a_spent_budget_leaves_the_words(self, run: Any) -> None:
        costly = run.__class__(run.folder, {"RIFFLUX_PRICES": "hash=1000000", "RIFFLUX_BUDGET": "7"})
        with serving(costly, "--db", "index.db", "--open") as service:
            first, second = ask(service).json(), ask(service).json()
            with service.client() as client:
                assert 'rifflux_embedder_failures_total{cause="refused"} 1.0' in client.get("/metrics").text
            ask(service)
        assert first["diagnostics"]["effective_mode"] == "hybrid"
        assert second["diagnostics"]["effective_mode"] == "lexical"
        assert any("budget" in reason["text"] for reason in second["diagnostics"]["degraded"])
        assert second["results"][0]["path"] == "cache.md"
        assert [line["sort"] for line in service.lines if line["event"] == "model"] == ["refused"]
        assert "hash" in run("usage", "--by", "model", "--db", "index.db").stdout


class TestConversations:
    def test_written_read_searched_changed_deleted(self, service: Running, tokens: dict[str, str]) -> None:
        with service.client(tokens["ann"]) as ann, service.client(tokens["bob"]) as bob:
            made = ann.post("/conversations", json={"title": "Caching", "project": "web"})
            assert made.status_code == 201
            id = made.json()["id"]
            for number, text in enumerate(("how long do entries live", "ten minutes, kingfisher")):
                asked = {"text": text, "role": ("user", "assistant")[number], "created_at": f"2026-01-0{number + 1}"}
                assert ann.post(f"/conversations/{id}/messages", json=asked).status_code == 201
            more = ann.post("/messages", json={"conversation_id": id, "text": "thank you", "created_at": "2026-01-03"})
            narrowed: dict[str, Any] = {
                "query": "kingfisher",
                "neighbors": 1,
                "since": "2026-01-02",
                "explain": True,
            }
            (first, *_) = ann.post("/conversations/search", json=narrowed).json()["results"]
            assert first["message"]["text"] == "ten minutes, kingfisher"
            assert (first["title"], first["before"][0]["text"]) == ("Caching", "how long do entries live")
            grouped = ann.post("/conversations/search", json=narrowed | {"grouped": True}).json()["groups"]
            assert [group["conversation_id"] for group in grouped] == [id]
            assert ann.post("/conversations/search", json=narrowed | {"role": "user"}).json()["results"] == []
            assert ann.get(f"/conversations/{id}").json()["messages"] == 3
            changed = ann.patch(f"/conversations/{id}", json={"archived": True}).json()
            assert (changed["archived"], changed["title"]) == (True, "Caching")
            message = f"/conversations/{id}/messages/{more.json()['id']}"
            assert ann.patch(message, json={"text": "thanks"}).json()["text"] == "thanks"
            for path in (f"/conversations/{id}", f"/conversations/{id}/messages", message):
                assert bob.get(path).status_code == 404
            assert bob.post("/messages", json={"conversation_id": id, "text": "x"}).status_code == 404
            assert bob.post("/conversations/search", json={"query": "kingfisher"}).json()["results"] == []
            (found,) = ann.post("/everything", json={"query": "kingfisher"}).json()["results"]
            assert ann.get(f"/chunks/{found['id']}").json()["text"] == found["text"]
            assert bob.get(f"/chunks/{found['id']}").status_code == 404
            clicked = {"kind": "click", "query": "kingfisher", "document": found["id"]}
            assert (
                ann.post("/feedback", json=clicked).status_code,
                bob.post("/feedback", json=clicked).status_code,
            ) == (
                204,
                404,
            )
            assert bob.delete(f"/conversations/{id}").status_code == 404
            assert ann.delete(message).status_code == 204
            assert ann.delete(f"/conversations/{id}").status_code == 204
            assert ann.get("/conversations").json() == {"conversations": [], "next": None}

    def test_the_administrator_decides_whether_meaning_is_searched(
        self, service: Running, tokens: dict[str, str], answered: str
    ) -> None:
        with service.client(tokens["ann"]) as ann, service.client(tokens["root"]) as root:
            assert ann.get("/admin/settings").json()["hybrid_search"] is False
            assert ann.put("/admin/settings", json={"hybrid_search": True}).status_code == 403
            assert root.put("/admin/settings", json={"hybrid_search": True}).json()["hybrid_search"] is True
            id = ann.post("/conversations", json={}).json()["id"]
            ann.post("/messages", json={"conversation_id": id, "text": "cache entries"})
            found = ann.post("/conversations/search", json={"query": "cache"}).json()
            assert found["diagnostics"]["effective_mode"] == answered
            chosen = ann.post("/conversations/search", json={"query": "cache", "fusion": "rrf:k=10"}).json()
            assert chosen["diagnostics"]["fusion"] == "rrf"
            backwards = {"query": "cache", "since": "2024-05-02", "until": "2024-05-01"}
            assert ann.post("/conversations/search", json=backwards).status_code == 422
            assert ann.get("/stats").json().items() >= {"conversations": 1, "messages": 1}.items()
            assert ann.post("/conversations/search", json={"query": "cache", "fusion": "guess"}).status_code == 422
            assert ann.post("/admin/messages/vectors").status_code == 403
            for path, client in (("/conversations/vectors", ann), ("/admin/messages/vectors", root)):
                made = client.post(path)
                assert (made.status_code, made.json().keys()) == (200, {"embedded", "waiting", "degraded"})
            root.put("/admin/settings", json={"hybrid_search": False})
            assert ann.post("/conversations/vectors").status_code == 422
            found = ann.post("/conversations/search", json={"query": "cache"}).json()
            assert found["diagnostics"]["effective_mode"] == "lexical"
            ann.delete(f"/conversations/{id}")


class TestMemories:
    def test_remembered_recalled_superseded_forgotten(self, service: Running, tokens: dict[str, str]) -> None:
        with service.client(tokens["ann"]) as ann, service.client(tokens["bob"]) as bob:
            saved = ann.post("/memories", json={"text": "Ann lives in Oslo"}).json()["memory"]
            moved = {"text": "Ann lives in Bergen", "supersedes": saved["id"]}
            assert ann.post("/memories", json=moved).json()["outcome"] == "saved"
            asked = {"query": "where does Ann live", "explain": True}
            (found,) = ann.post("/memories/search", json=asked).json()["memories"]
            assert found["memory"]["text"] == "Ann lives in Bergen"
            assert found["why"][-1]["stage"] == "rerank:recall"
            assert bob.post("/memories/search", json=asked).json()["memories"] == []
            for path in (f"/memories/{saved['id']}/history", "/memories/none/history"):
                assert bob.get(path).status_code == 404
            assert bob.delete(f"/memories/{saved['id']}").status_code == 404
            assert bob.post("/memories", json=moved).status_code == 404
            id = found["memory"]["id"]
            assert [each["version"] for each in ann.get(f"/memories/{id}/history").json()["memories"]] == [2, 1]
            assert ann.delete(f"/memories/{id}").status_code == 204
            assert [each["text"] for each in ann.get("/memories").json()["memories"]] == ["Ann lives in Oslo"]
            assert ann.delete(f"/memories/{saved['id']}").status_code == 204
            assert ann.get("/memories").json()["memories"] == []

    def test_read_edited_and_narrowed(self, service: Running, tokens: dict[str, str]) -> None:
        with service.client(tokens["ann"]) as ann, service.client(tokens["bob"]) as bob:
            saved = ann.post("/memories", json={"text": "Ann rows a boat", "category": "task"}).json()["memory"]
            path = f"/memories/{saved['id']}"
            assert ann.get(path).json() == saved
            assert bob.get(path).status_code == bob.patch(path, json={"importance": 9}).status_code == 404
            edited = ann.patch(path, json={"text": "Ann rows a red boat", "expires_at": "never"}).json()
            assert (edited["text"], edited["expires_at"], edited["version"]) == ("Ann rows a red boat", None, 2)
            assert ann.patch(path, json={"importance": 11}).status_code == 422
            for narrow, count in (({"min_importance": 8}, 0), ({"min_importance": 7, "min_confidence": 1}, 1)):
                asked = {"query": "boat", **narrow}
                assert len(ann.post("/memories/search", json=asked).json()["memories"]) == count
                assert len(ann.get("/memories", params=narrow).json()["memories"]) == count
            ann.delete(path)


class TestDeletingAUser:
    def test_an_administrator_deletes_all_that_is_kept(
        self, service: Running, tokens: dict[str, str], run: Any
    ) -> None:
        gone = run.json("tokens", "create", "--user", "gone/by", "--db", "index.db")["token"]
        with service.client(gone) as user, service.client(tokens["root"]) as root, service.client(tokens["ann"]) as ann:
            id = user.post("/conversations", json={"title": "talk"}).json()["id"]
            assert user.post("/messages", json={"conversation_id": id, "text": "kingfisher"}).status_code == 201
            assert user.post("/memories", json={"text": "Watches kingfishers"}).json()["outcome"] == "saved"
            assert ann.delete("/admin/users/gone/by").status_code == 403
            told = root.delete("/admin/users/gone%2Fby").json()
            assert (told["documents"], told["tokens"]) == ({"conversation": 1, "memory": 1, "message": 1}, 1)
            assert user.get("/conversations").status_code == 401
            assert root.delete("/admin/users/gone/by").status_code == 404

    def test_so_does_the_command_line_if_it_is_meant(self, run: Any) -> None:
        run.json("tokens", "create", "--user", "leaving", "--db", "index.db")
        assert run("users", "delete", "leaving", "--db", "index.db", cwd=run.folder).returncode != 0
        assert run.json("users", "delete", "leaving", "--yes", "--db", "index.db") == {
            "user": "leaving",
            "tokens": 1,
            "log": 1,
        }
        assert "nothing is kept" in run.refusal("users", "delete", "leaving", "--yes", "--db", "index.db")


def test_all_sources_are_asked_at_once(open_service: Running) -> None:
    with open_service.client() as client:
        reply = client.post("/everything", json={"query": "cache entries", "explain": True}).json()
    assert reply["results"][0]["path"] == "cache.md"
    assert reply["results"][0]["why"][-1]["stage"] == "sources"
    assert set(reply["diagnostics"]["counts"]) == {"knowledge", "files", "notes", "tasks", "conversations"}


class TestLimits:
    def test_other_hosts_and_pages_are_refused(self, open_service: Running) -> None:
        with open_service.client() as client:
            assert client.get("/health", headers={"Host": "evil.example"}).status_code == 421
            assert client.get("/stats", headers={"Origin": "https://evil.example"}).status_code == 403
            assert client.get("/stats", headers={"Origin": open_service.url}).status_code == 200

    def test_large_requests_are_refused(self, open_service: Running) -> None:
        def pieces() -> Iterator[bytes]:
            yield b'{"query": "'
            for _ in range(100):
                yield b"x" * 100
            yield b'"}'

        with open_service.client() as client:
            assert client.post("/search", content=b"x" * 4001).status_code == 413
            assert client.post("/search", content=pieces()).status_code == 413
            assert client.get("/documents/" + "x" * 33_000).status_code == 414

    @ONE_WORKER
    def test_too_many_requests_wait(self, run: Any, tokens: dict[str, str]) -> None:
        with serving(run, "--db", "index.db", "--rate", 1) as service, service.client(tokens["bob"]) as client:
            replies = [client.get("/stats") for _ in range(62)]
        assert [reply.status_code for reply in replies[:60]] == [200] * 60
        assert replies[-1].status_code == 429
        assert 1 <= int(replies[-1].headers["Retry-After"]) <= 60

    @ONE_WORKER
    def test_more_tokens_of_a_user_make_no_more_requests(self, run: Any, tokens: dict[str, str]) -> None:
        with serving(run, "--db", "index.db", "--rate", 1) as service:
            with service.client(tokens["bob"]) as client:
                made = [client.post("/tokens", json={}).json()["token"] for _ in range(5)]
            statuses = []
            for token in made:
                with service.client(token) as client:
                    statuses += [client.get("/me").status_code for _ in range(20)]
            with service.client(tokens["ann"]) as client:
                assert client.get("/me").status_code == 200
        # Five requests made the tokens. At one a minute, a slow machine may let one or two more through.
        assert statuses[:55] == [200] * 55
        assert statuses.count(429) >= 40

    @ONE_WORKER
    def test_a_user_has_as_many_tokens_as_the_setting_says(self, run: Any, tokens: dict[str, str]) -> None:
        with serving(run, "--db", "index.db", "--user-tokens", 2) as service:
            with service.client(tokens["root"]) as root:
                made = [root.post("/tokens", json={"user": "eve"}) for _ in range(3)]
            assert [reply.status_code for reply in made] == [201, 201, 409]
            assert "revoke one" in made[-1].json()["detail"]
            with service.client(made[0].json()["token"]) as eve:
                assert eve.post("/tokens", json={}).status_code == 409
                assert eve.delete(f"/tokens/{made[1].json()['id']}").status_code == 204
                assert eve.post("/tokens", json={}).status_code == 201
        bounded = run.__class__(run.folder, run.settings | {"RIFFLUX_USER_TOKENS": "2"})
        assert "revoke one" in bounded.refusal("tokens", "create", "--user", "eve", "--db", "index.db")

    @ONE_WORKER
    def test_open_services_stay_on_this_machine(self, run: Any) -> None:
        assert "this machine only" in run.refusal("serve", "--open", "--host", "0.0.0.0", "--db", "index.db")


@ONE_WORKER
def test_a_refused_request_is_no_question(run: Any) -> None:
    def questions(client: httpx.Client) -> int:
        return sum(row["questions"] for row in client.get("/online").json()["rows"])

    # Of its own: another service or worker may write a second later what it was asked before.
    with serving(run, "--db", "asked.db", "--open") as service, service.client() as client:
        before = questions(client)
        refused = {"filter": {"date_range": {"start": "yesterday"}}}
        assert client.post("/retrieve", json={"query": "a refused one", **refused}).status_code == 422
        for path in ("/search", "/everything"):
            asked = {"query": f"refused by {path}", "filter": {"since": "yesterday"}}
            assert client.post(path, json=asked).status_code == 422
        assert questions(client) == before
        assert client.post("/search", json={"query": "one that is answered"}).status_code == 200
        assert questions(client) == before + 1


def test_every_request_is_logged_by_its_route(open_service: Running) -> None:
    with open_service.client() as client:
        reply = client.get("/documents/cache.md")
    # It is logged once it is answered.
    line = open_service.awaited(lambda line: line.get("id") == reply.headers["X-Request-Id"])
    assert (line["route"], line["status"], line["event"]) == ("/documents/{document:path}", 200, "request")
    assert "cache.md" not in str(line)


def test_no_acknowledged_message_is_lost_with_a_worker(run: Any, tokens: dict[str, str]) -> None:
    with serving(run, "--db", "index.db", "--workers", 2, "--rate", 100_000) as service:
        kept = []
        with service.client(tokens["bob"]) as bob:
            talk = bob.post("/conversations", json={}).json()["id"]
            for number in range(40):
                if number == 20:
                    os.kill(service.workers[0], signal.SIGKILL)
                with suppress(httpx.TransportError):
                    reply = bob.post(f"/conversations/{talk}/messages", json={"text": f"number {number}"})
                    kept += [reply.json()["id"]] * (reply.status_code == 201)
            there = {message["id"] for message in bob.get(f"/conversations/{talk}/messages").json()["messages"]}
    assert len(kept) >= 38
    assert there >= set(kept)


def test_a_service_ends_when_it_is_told_to(run: Any) -> None:
    with serving(run, "--db", "index.db", "--open", "--workers", 2) as service:
        assert ask(service).status_code == 200
        service.process.send_signal(signal.SIGTERM)
        assert service.process.wait(PATIENCE) == 128 + signal.SIGTERM


class TestWorks:
    def test_a_caller_removes_a_work(self, service: Running, tokens: dict[str, str]) -> None:
        with service.client(tokens["ann"]) as ann:
            ann.post("/works", json={"records": [{"_id": "gone", "title": "Ephemera"}], "source": "brief"})
            assert ann.delete("/works/brief:gone").status_code == 204
            assert ann.get("/works/brief:gone").status_code == ann.delete("/works/brief:gone").status_code == 404

    def test_a_caller_finds_works_by_their_authors(self, service: Running, tokens: dict[str, str]) -> None:
        with service.client(tokens["ann"]) as ann:
            for key, name, year in (
                ("one", "Xaver Quarl", 1974),
                ("two", "X. Quarl", 1980),
                ("three", "Y. Other", 1974),
            ):
                record = {"_id": key, "title": f"Title {key}", "text": "A text.", "authors": [name], "year": year}
                ann.post("/works", json={"records": [record], "source": "who", "license": "CC0-1.0"})
            by_name = {"query": "text", "filter": {"authors": ["Quarl, X."]}}
            found = ann.post("/retrieve", json=by_name).json()["reranked"]
            assert {work["title"] for work in found} == {"Title one", "Title two"}
            by_year = {"query": "text", "filter": {"authors": ["quarl"], "year": "1970-1979"}}
            assert [work["title"] for work in ann.post("/retrieve", json=by_year).json()["reranked"]] == ["Title one"]
            found = ann.post("/search", json={"query": "text", "filter": {"authors": ["Quarl"], "year": 1980}}).json()
            assert [hit["title"] for hit in found["results"]] == ["Title two"]
            asked = ann.post("/retrieve", json={"query": "papers by Quarl"}).json()
            assert {work["title"] for work in asked["reranked"]} == {"Title one", "Title two"}
            assert asked["reranked"][0]["components"]["by: Quarl"] == 1
            for key in ("one", "two", "three"):
                ann.delete(f"/works/who:{key}")

    def test_a_caller_decides_on_pairs_of_works(self, service: Running, tokens: dict[str, str]) -> None:
        with service.client(tokens["ann"]) as ann:
            for key, year in (("old", 1955), ("new", 1999)):
                record = {"_id": key, "title": "On doubtful sheaves", "authors": ["J.-P. Zweifel"], "year": year}
                ann.post("/works", json={"records": [record], "source": "doubt"})
            (doubt,) = [each for each in ann.get("/works/doubts").json()["doubts"] if each["one"].startswith("doubt:")]
            assert {doubt["one"], doubt["other"]} == {"doubt:old", "doubt:new"}
            decided = ann.post(
                "/works/doubts", json={"one": doubt["one"], "other": doubt["other"], "same": True}
            ).json()
            assert doubt not in decided["doubts"]
            assert ann.get("/works/doubt:old").json()["document"] == ann.get("/works/doubt:new").json()["document"]
            apart = {"one": "doubt:old", "other": "doubt:new", "same": False}
            assert ann.post("/works/doubts", json=apart).status_code == 200
            assert ann.get("/works/doubt:old").json()["document"] != ann.get("/works/doubt:new").json()["document"]
            assert ann.post("/works/doubts", json=apart | {"one": "doubt:none"}).status_code == 404
            for key in ("old", "new"):
                ann.delete(f"/works/doubt:{key}")

    def test_a_caller_brings_works_reads_and_cites_them(self, service: Running, tokens: dict[str, str]) -> None:
        record = {"_id": "a", "title": "Open cohomology", "text": "Of things.", "doi": "10.1000/A", "cites": ["b"]}
        with service.client(tokens["ann"]) as ann:
            told = ann.post("/works", json={"records": [record, {}], "source": "mine", "license": "CC0-1.0"}).json()
            assert (told["added"], told["dangling"], told["sources"], told["doubts"]) == (1, 1, ["mine"], [])
            (failure,) = told["failed"]
            assert (failure["path"], failure["code"]) == ("mine.jsonl:2", "unreadable")
            assert failure["reason"] == "it has neither a title nor a text"
            bib = "@book{b, title={Closed cohomology}, author={Able, Ann}, year={2001}}"
            told = ann.post("/works", json={"content": bib, "format": "bibtex", "source": "mine"}).json()
            assert (told["added"], told["unlicensed"]) == (1, 1)
            work = ann.get("/works/doi:10.1000/a").json()
            assert (work["abstract"], work["license"], work["withheld"]) == ("Of things.", "CC0-1.0", False)
            cited = {"namespace": "works/mine", "collection": "library", "document": "b", "title": "Closed cohomology"}
            assert work["cites"] == [cited]
            closed = ann.get("/works/mine:b").json()
            assert (closed["title"], closed["withheld"], closed["year"]) == ("Closed cohomology", True, 2001)
            asked = {"works": ["mine:b", "doi:10.1000/a"], "format": "csl"}
            assert [item["DOI"] for item in ann.post("/works/export", json=asked).json()["bibliography"][1:]] == [
                "10.1000/a"
            ]
            found = ann.post("/retrieve", json={"query": "open cohomology"}).json()
            for name in found["reranked"][0]["identifiers"]:
                event = {"kind": "click", "query": "open cohomology", "document": name}
                assert ann.post("/feedback", json=event).status_code == 204, name
                assert ann.get(f"/documents/{name}").json()["text"] == "Of things."
        with service.client(tokens["bob"]) as bob:
            assert bob.delete("/works/mine:a").status_code == 404
            assert bob.get("/works/mine:a").status_code == bob.get("/documents/doi:10.1000/a").status_code == 404

    @pytest.mark.parametrize(
        ("body", "told"),
        [
            ({}, "either as records, or as content"),
            ({"records": [{"title": "x"}], "content": "x"}, "either as records, or as content"),
            ({"records": [{"title": "x"}], "format": "csl"}, "as content"),
            ({"records": [{"title": "x"}], "source": "doi"}, "scheme of identifiers"),
            ({"records": [{"title": "x"}], "source": "../x"}, "cannot be a source's name"),
            ({"records": [{"title": "x"}] * 1001}, "records"),
            ({"content": "x", "format": "pdf"}, "format"),
        ],
    )
    def test_works_that_cannot_be_meant_are_refused(
        self, service: Running, tokens: dict[str, str], body: dict[str, Any], told: str
    ) -> None:
        with service.client(tokens["ann"]) as ann:
            reply = ann.post("/works", json={"source": "mine"} | body)
        assert reply.status_code == 422
        assert told in reply.json()["detail"]

    def test_too_many_works_at_once_are_refused(self, open_service: Running) -> None:
        with open_service.client() as client:
            reply = client.post("/works", json={"source": "mine", "content": "x" * 5000})
            assert (reply.status_code, reply.json()["code"]) == (413, "too_large")

    def test_an_identifier_that_no_work_has_is_told_with_the_nearest_titles_and_intents_can_be_asked_for(
        self, service: Running, tokens: dict[str, str]
    ) -> None:
        told = "no work here has the identifier doi:10.5555/absent: the nearest titles here are "
        record = {"_id": "mine", "title": "On coherent sheaves", "license": "CC0-1.0"}
        asked = {"query": "doi:10.5555/absent on coherent sheaves"}
        with service.client(tokens["ann"]) as ann:
            assert ann.post("/works", json={"source": "lacking", "records": [record]}).status_code == 200
            (note,) = [
                each["text"]
                for each in ann.post("/retrieve", json=asked).json()["diagnostics"]["notes"]
                if told in each["text"]
            ]
            assert "'On coherent sheaves'" in note
            for mode in ("generic", "keywords"):
                assert ann.post("/retrieve", json=asked | {"mode": mode}).json()["mode"] == mode
            assert ann.delete("/works/lacking:mine").status_code == 204

    @ONE_WORKER
    def test_retrieve_has_its_four_parts_and_withholds_what_has_no_license(
        self, run: Any, tokens: dict[str, str]
    ) -> None:
        lines = [
            {
                "_id": "a",
                "title": "Open cohomology",
                "text": "Cohomology of open things.",
                "license": "CC-BY-4.0",
                "year": 2001,
            },
            {"_id": "b", "title": "Closed cohomology", "text": "Cohomology of zyzzyva things.", "year": 2002},
        ]
        (run.folder / "works.jsonl").write_text("\n".join(map(json.dumps, lines)))
        with open_index(run.folder / "works.db", model="hash") as index:
            assert index.works.import_files(run.folder / "works.jsonl").added == 2
        with serving(run, "--db", "works.db", "--open") as service, service.client() as client:
            asked = {"query": "cohomology of things", "filter": {"date_range": {"end": "2030"}}, "mode": "survey"}
            reply = client.post("/retrieve", json=asked)
            found = reply.json()
            early = {"filter": {"date_range": {"end": "2001"}}}
            titles = [
                [each["title"] for each in client.post("/retrieve", json=asked | filters).json()["reranked"]]
                for filters in (early, {"filter": {"until": "2001"}})
            ]
            assert titles[0] == titles[1]
            assert len(titles[0]) == 1
            both = {"filter": {"date_range": {"end": "2001"}, "since": "1990"}}
            assert client.post("/retrieve", json=asked | both).status_code == 422
            assert set(found) == {"query", "mode", "candidates", "reranked", "evidence_pack", "diagnostics"}
            assert found["candidates"][0]["scores"]
            assert {"milliseconds", "counts", "confidence", "degraded"} <= set(found["diagnostics"])
            withheld = {item["title"]: item["withheld"] for item in found["evidence_pack"]["items"]}
            assert withheld == {"Open cohomology": False, "Closed cohomology": True}
            assert client.post("/retrieve", json=asked | {"mode": "psychic"}).status_code == 422
            cited = client.post("/retrieve", json=asked | {"cite": "csl"})
            assert {item["title"] for item in cited.json()["evidence_pack"]["bibliography"].values()} == set(withheld)
        pack = run("retrieve", "cohomology of things", "--json", "--db", "works.db")
        (run.folder / "pack.json").write_text(pack.stdout)
        assert run.json("verify", "pack.json", "--db", "works.db")["sound"]
        (run.folder / "pack.json").write_text(
            pack.stdout.replace("Cohomology of open things.", "Cohomology of shut things.")
        )
        assert run("verify", "pack.json", "--offline").returncode == 1
        cited = run("retrieve", "cohomology of things", "--cite", "bibtex", "--db", "works.db").stdout
        assert "@misc{2001open," in cited


class TestChats:
    def test_recorded_read_renamed_exported_deleted(self, service: Running, tokens: dict[str, str]) -> None:
        with service.client(tokens["ann"]) as ann, service.client(tokens["bob"]) as bob:
            asked = {"question": "how long do cache entries live", "chat": "new", "stream": False}
            first = ann.post("/chat", json=asked).json()
            path = f"/chats/{first['chat']}"
            second = ann.post("/chat", json={**asked, "question": "and the queue?", "chat": first["chat"]}).json()
            assert second["chat"] == first["chat"]
            chat = ann.get(path).json()
            assert [each["text"] for each in chat["answers"]] == [first["text"], second["text"]]
            (listed,) = ann.get("/chats").json()["chats"]
            assert (listed["id"], listed["count"], listed["answers"]) == (first["chat"], 2, [])
            assert ann.patch(path, json={"title": "Of caches"}).json()["title"] == "Of caches"
            assert ann.patch(path, json={"title": ""}).status_code == 422
            exported = ann.get(f"{path}/markdown")
            assert exported.headers["content-type"] == "text/markdown; charset=utf-8"
            assert exported.text.startswith("# Of caches\n\n## how long do cache entries live\n\n")
            assert bob.get("/chats").json()["chats"] == []
            assert [bob.get(each).status_code for each in (path, f"{path}/markdown")] == [404, 404]
            assert bob.patch(path, json={"title": "Mine"}).status_code == 404
            assert bob.delete(path).status_code == 404
            assert bob.post("/chat", json={**asked, "chat": first["chat"]}).status_code == 404
            assert ann.delete(path).status_code == 204
            assert ann.get(path).status_code == 404
            assert ann.get("/chats").json() == {"chats": [], "next": None}
