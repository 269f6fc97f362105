"""An endpoint that hangs, lies or breaks: words answer, text is kept, and what it says stays in the log."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import rifflux
from rifflux import Document, Index, InvalidArgument, OutOfScope, RerankSettings, Scope
from rifflux.models import endpoint
from rifflux.models.guarded import Guard
from rifflux.session.policies import HYBRID_SEARCH
from rifflux.surfaces.shared.nouns import search_json
from tests.support.embedding_server import SECRET, EmbeddingServer, embedding_server

TEXTS = (Document("heron", "A heron stands in the river."), Document("egret", "An egret flies."))
#: What an endpoint does, and what the log has of it.
MODES = {
    "hangs": "given up|in time",
    "drips": "given up|too slowly",
    "fails": SECRET,
    "garbage": "something other than",
    "NaN": "not finite|something other than",
    "another dimension": "shape|33 numbers",
    "zeros": "zero vector",
}
#: Seconds for a question where the endpoint hangs, and where it shall answer however busy this machine is.
HANGING, ANSWERING = 1.0, 60.0


@pytest.fixture
def server() -> Iterator[EmbeddingServer]:
    with embedding_server() as server:
        yield server


@pytest.fixture
def path(server: EmbeddingServer, tmp_path: Path) -> Path:
    """An index of the endpoint's vectors."""
    with opened(tmp_path / "index.db", server) as index:
        assert index.add(*TEXTS).embedded_chunks == len(TEXTS)
    return tmp_path / "index.db"


def opened(path: Path, server: EmbeddingServer, **more: Any) -> Index:
    seconds = HANGING if server.mode in ("hangs", "drips") else ANSWERING
    return rifflux.open(path, model=server.spec, embed_timeout=seconds, **more)


def untold(*answers: object) -> None:
    """No answer tells what the server said, nor where it is."""
    for answer in answers:
        assert SECRET not in str(answer)
        assert "127.0.0.1" not in str(answer)


@pytest.mark.parametrize("mode", MODES)
def test_words_answer_and_the_cause_is_in_the_log(
    path: Path, server: EmbeddingServer, mode: str, caplog: pytest.LogCaptureFixture
) -> None:
    server.mode, asked = mode, server.asked
    with opened(path, server) as index, caplog.at_level(logging.WARNING):
        found = index.search("heron")
        assert [hit.key for hit in found] == ["heron"]
        assert found.trace.effective_mode == "lexical"
        assert len(found.trace.degraded) == 1
        untold(json.dumps(search_json(found)), repr(found))
        assert server.asked - asked == 1
    assert any(word in caplog.text for word in MODES[mode].split("|"))


def test_everything_and_works_wait_once(path: Path, server: EmbeddingServer) -> None:
    server.mode, asked = "hangs", server.asked
    with opened(path, server) as index:
        assert len(index.everything("heron or egret")) == 2
        assert server.asked - asked == 1
        untold(index.retrieve("compare herons with egrets").trace)
        assert server.asked - asked == 2


@pytest.mark.parametrize("mode", MODES)
def test_text_is_indexed_while_the_endpoint_fails_and_vectors_follow(
    path: Path, server: EmbeddingServer, mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(endpoint, "RETRIED", frozenset())
    server.mode = mode
    with opened(path, server) as index:
        if mode in ("hangs", "drips"):
            vars(index.admin.view.session)["guard"] = Guard(HANGING, batch_s=HANGING)
        report = index.add(*(Document(f"ibis {number}", f"An ibis wades, number {number}.") for number in range(3)))
        assert (report.indexed_files, report.embedded_chunks) == (3, 0)
        assert "text is kept" in report.degraded[0].text
        untold(report)
        assert len(index.search("ibis", mode="lexical")) == 3
        if mode == "hangs":
            added = index.scoped(Scope("ann")).memories.add("Ann watches the ibis")
            assert added.outcome == "saved"
            assert "no vectors for now" in added.degraded[0].text
            untold(added)
    server.mode = "well"
    with opened(path, server) as index:
        index.admin.embed()
        counts = index.status()
        assert counts.chunks == counts.embedded_chunks
        assert index.search("ibis wades").trace.degraded == ()


def test_a_new_index_has_its_words_though_the_endpoint_never_answered(
    server: EmbeddingServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(endpoint, "RETRIED", frozenset())
    server.mode = "fails"
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "heron.md").write_text("# Herons\n\nA heron stands in the river.\n")
    with opened(tmp_path / "index.db", server) as index:
        report = index.add(tmp_path / "notes")
        assert (report.indexed_files, report.embedded_chunks, len(report.degraded)) == (1, 0, 1)
        untold(report)
        assert len(index.search("heron")) == 1


@pytest.mark.parametrize("mode", ["hangs", "fails"])
def test_a_message_is_stored_and_says_that_it_has_no_vector(path: Path, server: EmbeddingServer, mode: str) -> None:
    server.mode = mode
    with opened(path, server) as index:
        index.policies.set(HYBRID_SEARCH, True)
        talks = index.scoped(Scope("ann")).conversations
        talk = talks.add("birds")
        written = talks.add_message(talk.id, "I saw a bittern")
        assert "no vectors for now" in written.degraded[0].text
        untold(written)
        assert talks.message(talk.id, written.id) == written
        assert [hit.message.id for hit in talks.search("bittern")] == [written.id]
        edited = talks.edit_message(talk.id, written.id, text="I saw a crane")
        assert edited.degraded
        talks.delete_message(talk.id, written.id)
        assert talks.messages(talk.id) == []


def test_a_message_in_an_index_of_another_model_is_stored_and_says_so(tmp_path: Path) -> None:
    with rifflux.open(tmp_path / "index.db", model="hash:32") as index:
        index.add(*TEXTS)
    with rifflux.open(tmp_path / "index.db", model="hash:64") as index:
        index.policies.set(HYBRID_SEARCH, True)
        talks = index.scoped(Scope("ann")).conversations
        written = talks.add_message(talks.add("birds").id, "I saw a bittern")
        assert "hash:32" in written.degraded[0].text
        assert talks.edit_message(written.conversation_id, written.id, text="I saw a crane").degraded
        talks.delete_message(written.conversation_id, written.id)


@pytest.mark.parametrize("mode", ["fails", "garbage"])
def test_a_chat_model_that_fails_leaves_the_order_and_is_left_alone(
    server: EmbeddingServer, tmp_path: Path, mode: str, caplog: pytest.LogCaptureFixture
) -> None:
    settings = RerankSettings(llm_url=server.url, llm_model="chat")
    server.mode = mode
    with rifflux.open(tmp_path / "index.db", model="hash", rerankers=settings) as index:
        index.add(*TEXTS)
        with caplog.at_level(logging.WARNING):
            traces = [index.search("heron", rerank="llm").trace for _ in range(5)]
        assert server.asked == 3
        assert all("rerank: llm failed" in trace.degraded[0].text for trace in traces)
        assert "retried" in traces[-1].degraded[0].text
        untold(*traces)
        assert server.url in caplog.text


def test_what_every_call_cost_is_recorded_whoever_calls(server: EmbeddingServer, tmp_path: Path) -> None:
    settings = RerankSettings(llm_url=server.url, llm_model="chat")
    with opened(tmp_path / "index.db", server, rerankers=settings, prices={"text-embed": 10.0, "chat": 20.0}) as index:
        index.add(*TEXTS)
        mine = index.scoped(Scope("ann"))
        mine.add(Document("own", "The heron of Ann."))
        mine.search("heron", rerank="llm")
        rows = {(row.user, row.feature): row for row in index.registry.spent()}
    assert {key: row.calls for key, row in rows.items()} == {
        ("", "store"): 2,  # with the probe of the model
        ("ann", "store"): 1,
        ("ann", "search"): 1,
        ("ann", "rerank"): 1,
    }
    assert rows["ann", "rerank"].tokens == 777
    assert rows["ann", "rerank"].cost == pytest.approx(777 * 20 / 1e6)


def test_storing_beyond_the_budget_keeps_the_text(server: EmbeddingServer, tmp_path: Path) -> None:
    with opened(tmp_path / "index.db", server, prices={"text-embed": 1e6}, budget=20.0) as index:
        mine = index.scoped(Scope("ann"))
        assert mine.add(Document("a", "one heron")).embedded_chunks == 1
        report = mine.add(Document("b", "the egret " * 40))
        assert (report.indexed_files, report.embedded_chunks) == (1, 0)
        assert "this month's budget is spent" in report.degraded[0].text
        assert "later" in report.degraded[0].text
        assert mine.search("heron").trace.effective_mode == "hybrid"
        assert [hit.key for hit in mine.search("egret", mode="lexical")] == ["b"]
        assert sum(each.cost for each in index.registry.spent("ann")) <= 20.0


def test_vectors_made_later_are_paid_by_whose_texts_they_are(server: EmbeddingServer, tmp_path: Path) -> None:
    with opened(tmp_path / "index.db", server, prices={"text-embed": 10.0}) as index:
        index.scoped(Scope("ann")).add(Document("own", "The heron of Ann."), embed=False)
        index.scoped(Scope("ben")).memories.add("Ben watches egrets by the river")
        index.add(Document("common", "A heron stands in the river."), embed=False)
        before = {(row.user, row.feature): row.calls for row in index.registry.spent()}
        assert index.admin.embed() == 2
        after = {(row.user, row.feature): row.calls for row in index.registry.spent()}
    assert {key: calls - before.get(key, 0) for key, calls in after.items() if calls > before.get(key, 0)} == {
        ("", "store"): 1,
        ("ann", "store"): 1,
    }


def test_a_spent_budget_keeps_no_other_user_from_vectors(server: EmbeddingServer, tmp_path: Path) -> None:
    with opened(tmp_path / "index.db", server, prices={"text-embed": 1e6}, budget=40.0) as index:
        index.scoped(Scope("ann")).add(Document("a", "the egret " * 80), embed=False)
        index.scoped(Scope("ben")).add(Document("b", "one heron"), embed=False)
        report = index.sync()
        assert "budget" in report.degraded[0].text
        assert index.scoped(Scope("ann")).status().embedded_chunks == 0
        assert index.scoped(Scope("ben")).status().embedded_chunks == 1
        assert sum(each.cost for each in index.registry.spent("ann")) == 0.0


def test_messages_from_before_the_switch_get_vectors_on_request(server: EmbeddingServer, tmp_path: Path) -> None:
    with opened(tmp_path / "index.db", server, prices={"text-embed": 10.0}) as index:
        for user in ("ann", "ben"):
            talk = index.scoped(Scope(user)).conversations
            talk.add(id="c")
            talk.add_message("c", f"The heron of {user} stands in the river")
        assert server.asked == 0
        with pytest.raises(InvalidArgument, match="hybrid_search"):
            index.admin.embed_messages()
        index.policies.set(HYBRID_SEARCH, True)
        made = index.scoped(Scope("ann")).conversations.embed()
        assert (made.embedded, made.waiting) == (1, 0)
        assert index.scoped(Scope("ann")).conversations.search("heron").trace.effective_mode == "hybrid"
        assert index.scoped(Scope("ben")).conversations.search("heron").trace.effective_mode == "lexical"
        with pytest.raises(OutOfScope):
            index.scoped(Scope("ann")).admin.embed_messages()
        made = index.admin.embed_messages()
        assert (made.embedded, made.waiting) == (1, 0)
        assert index.scoped(Scope("ben")).conversations.search("heron").trace.effective_mode == "hybrid"
        spent = {row.user for row in index.registry.spent() if row.feature == "store"}
    assert {"ann", "ben"} <= spent
