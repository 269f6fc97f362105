"""A server that asks for tokens: each agent sees what is its user's, and nobody without a token sees a thing."""

from __future__ import annotations

import json
import re
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

import rifflux
from rifflux import Document, Scope
from rifflux.service.accounts import ADMIN, Accounts
from rifflux.surfaces.mcp import serve
from tests.support.agents import Agent, served_http, with_token, write_files
from tests.support.commands import PATIENCE

#: They start processes.
pytestmark = pytest.mark.slow

USERS = {"ann": "The heron stands in the river.", "bob": "The otter swims in the river."}


@pytest.fixture(scope="module")
def tokens(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """The tokens by user, the address, and the folder of a server on an index of two users and of nobody."""
    place = tmp_path_factory.mktemp("tokens")
    files = place / "files"
    write_files(files)
    with rifflux.open(place / "index.db", model="hash") as index:
        index.add(Document("nobody.md", "A kite over the river, which is nobody's."))
        index.add(files / "beta", collection="birds")
        for user, text in USERS.items():
            index.scoped(Scope(user)).add(Document("own.md", text))
            talk = index.scoped(Scope(user)).conversations
            talk.add("Rivers", id="c")
            talk.add_message("c", f"{user} asks where herons stand", created_at="2024-05-01T12:00:00Z")
            talk.add_message("c", "Herons stand in rivers", role="assistant", created_at="2024-05-02T12:00:00Z")
            index.scoped(Scope(user)).memories.add(f"{user} likes the river best of all", importance=9)
        accounts = Accounts(index.registry)
        made = {user: accounts.create(user)[1] for user in USERS} | {"root": accounts.create("root", ADMIN)[1]}
        gone, made["gone"] = accounts.create("ann")
        accounts.revoke(gone.id)
        _, made["expired"] = replace(accounts, now=lambda: 1e9).create("ann", expires="1h")
        made["carl"] = accounts.create("carl")[1]
        index.collections.share("birds", "ann")
    with served_http(files, place / "index.db", "--tokens") as url:
        yield made | {"url": url, "files": str(files)}


def agent(tokens: dict[str, str], user: str) -> Iterator[Agent]:
    with with_token(tokens["url"], tokens[user], Path(tokens["files"])) as found:
        yield found


@pytest.fixture(scope="module")
def ann(tokens: dict[str, str]) -> Iterator[Agent]:
    yield from agent(tokens, "ann")


@pytest.fixture(scope="module")
def bob(tokens: dict[str, str]) -> Iterator[Agent]:
    yield from agent(tokens, "bob")


@pytest.fixture(scope="module")
def root(tokens: dict[str, str]) -> Iterator[Agent]:
    yield from agent(tokens, "root")


@pytest.fixture(scope="module")
def carl(tokens: dict[str, str]) -> Iterator[Agent]:
    """A user who has nothing and is shown nothing."""
    yield from agent(tokens, "carl")


def _held(agent: Agent) -> dict[str, tuple[int, list[str]]]:
    """How many documents each collection that an agent reads holds, and of which roots."""
    return {each["name"]: (each["documents"], each["roots"]) for each in agent.ask("index_status")["collections"]}


class TestTwoUsers:
    @pytest.mark.parametrize(("tool", "key"), [("search_rifflux", "content"), ("search", "text")])
    def test_each_finds_what_is_theirs(self, ann: Agent, bob: Agent, tool: str, key: str) -> None:
        for each, text in zip((ann, bob), USERS.values(), strict=True):
            results = each.ask(tool, query="river", mode="lexical")["results"]
            assert [result[key] for result in results] == [text]

    def test_each_counts_what_is_theirs(self, ann: Agent) -> None:
        told = ann.ask("index_status")
        assert (told["documents"], told["allowed_roots"]) == (2, [])

    def test_a_chunk_of_another_is_not_found(self, ann: Agent, bob: Agent) -> None:
        (result,) = bob.ask("search_rifflux", query="river", mode="lexical")["results"]
        assert "no chunk or document" in ann.refusal("get_chunk", chunk_id=result["chunk_id"])
        assert ann.ask("get_document", document="own.md")["text"] == USERS["ann"]
        assert "no chunk or document 'nobody.md'" in ann.refusal("get_document", document="nobody.md")

    def test_memories_are_of_the_user(self, ann: Agent, bob: Agent) -> None:
        for each, user in ((ann, "ann"), (bob, "bob")):
            (memory,) = each.ask("recall", query="likes the river")["memories"]
            assert memory["text"].startswith(user)

    def test_messages_are_of_the_user_and_narrowed_by_role_and_date(self, ann: Agent, carl: Agent) -> None:
        found = ann.ask("search_conversations", query="herons stand")["messages"]
        assert {each["role"] for each in found} == {"user", "assistant"}
        assert not any("bob" in each["text"] for each in found)
        (answer,) = ann.ask("search_conversations", query="herons", role="assistant")["messages"]
        assert (answer["title"], answer["conversation_id"], answer["created_at"][:10]) == ("Rivers", "c", "2024-05-02")
        (question,) = ann.ask("search_conversations", query="herons", until="2024-05-01")["messages"]
        assert question["role"] == "user"
        assert carl.ask("search_conversations", query="herons")["count"] == 0

    def test_another_index_is_refused(self, ann: Agent) -> None:
        assert "leave db_path out" in ann.refusal("search_rifflux", query="x", db_path="other.db")

    def test_files_of_the_server_are_read_for_administrators_alone(self, ann: Agent, root: Agent) -> None:
        assert "administrators only" in ann.refusal("reindex", path="alpha")
        assert root.ask("reindex", path="alpha")["indexed_files"] == 2
        assert root.ask("search_rifflux", query="heron", mode="lexical")["count"] == 1
        assert ann.ask("search_rifflux", query="heron", mode="lexical")["count"] == 1
        assert ann.ask("search_rifflux", query="otter", mode="lexical")["count"] == 0
        assert _held(root)["/library"] == (3, [f"{root.files}/alpha"])

    def test_what_is_known_is_read_again_where_it_lies(self, root: Agent, tokens: dict[str, str]) -> None:
        (root.files / "beta" / "four.txt").write_text("The petrel soars over the sea.")
        assert root.ask("reindex", path="beta")["indexed_files"] == 1
        assert _held(root)["/birds"] == (2, [f"{root.files}/beta"])
        (place,) = root.ask("search_rifflux", query="petrel", mode="lexical")["locations"]
        assert (place["collection"], place["root"]) == ("/birds", f"{root.files}/beta")

    def test_who_reads_what_others_share_is_not_told_where_it_lies(self, ann: Agent, root: Agent) -> None:
        (place,) = ann.ask("search_rifflux", query="falcon", mode="lexical")["locations"]
        assert (place["collection"], place["root"]) == ("/birds", "beta")
        assert "falcon" in ann.ask("get_document", document=place["document"], root=place["root"])["text"]
        assert str(root.files) not in json.dumps([ann.ask("index_status")["roots"], ann.ask("search", query="falcon")])

    def test_nobody_is_sent_to_a_tool_that_is_not_theirs(self, carl: Agent, root: Agent) -> None:
        told = carl.read("search", query="falcon") + carl.read("search_rifflux", query="falcon")
        assert "ask an administrator" in told
        assert "reindex" not in told + json.dumps(carl.ask("index_status"))
        assert "administrators only" in carl.refusal("reindex_job", action="start", path="alpha")
        assert "reindex" not in carl.refusal("get_document", document="x")
        for each in (carl, root):
            assert "Only administrators" in (each.client.instructions or "")

    def test_a_session_is_of_the_user_who_began_it(self, tokens: dict[str, str]) -> None:
        client = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
        hello = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": client}
        status, session = _post(tokens["url"], hello, Authorization=f"Bearer {tokens['ann']}")
        assert status == 200
        ask = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}
        named = {"Mcp-Session-Id": session, "MCP-Protocol-Version": "2025-06-18"}
        assert _post(tokens["url"], ask, **named, Authorization=f"Bearer {tokens['ann']}")[0] == 200
        assert _post(tokens["url"], ask, **named, Authorization=f"Bearer {tokens['bob']}")[0] == 404


class TestWithoutAToken:
    @pytest.mark.parametrize("header", ["", "Bearer nonsense", "Bearer rfx_000000000000_x", "Basic YTpi", "gone"])
    def test_nothing_is_told(self, tokens: dict[str, str], header: str) -> None:
        sent = f"Bearer {tokens['gone']}" if header == "gone" else header
        headers = {"Authorization": sent} if sent else {}
        assert _post(tokens["url"], {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}, **headers)[0] == 401

    def test_one_that_expired_is_told_so_with_the_cure(self, tokens: dict[str, str]) -> None:
        request = urllib.request.Request(tokens["url"], b"{}", {"Authorization": f"Bearer {tokens['expired']}"})
        with pytest.raises(urllib.error.HTTPError) as refused, urllib.request.urlopen(request, timeout=PATIENCE):
            pass
        told = json.loads(refused.value.read())
        assert (refused.value.code, told["error"], told["code"]) == (401, "invalid_token", "token_expired")
        assert "ask an administrator for another" in told["error_description"]
        assert 'error="invalid_token"' in refused.value.headers["WWW-Authenticate"]

    def test_any_address_but_this_machine_asks_for_one(self, tmp_path: Path) -> None:
        (tmp_path / "files").mkdir()
        with served_http(tmp_path / "files", tmp_path / "index.db", "--http", "0.0.0.0:0") as url:
            here = re.sub(r"0\.0\.0\.0", "127.0.0.1", url)
            assert _post(here, {"jsonrpc": "2.0", "id": 1, "method": "tools/list"})[0] == 401

    def test_what_goes_with_tokens(self, tmp_path: Path) -> None:
        with pytest.raises(rifflux.InvalidArgument, match="add --http"):
            serve(tmp_path / "index.db", tokens=True)
        with pytest.raises(rifflux.InvalidArgument, match="leave out --user"):
            serve(tmp_path / "index.db", http=("0.0.0.0", 0), user="ann")


def _post(url: str, message: object, **headers: str) -> tuple[int, str]:
    """The status of a request, and the session that its answer names."""
    kinds = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    request = urllib.request.Request(url, json.dumps(message).encode(), kinds | headers)
    try:
        with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
            return int(answer.status), answer.headers.get("mcp-session-id", "")
    except urllib.error.HTTPError as error:
        return error.code, ""
