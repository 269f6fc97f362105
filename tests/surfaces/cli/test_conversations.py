"""The commands of conversations, and of what an administrator decides for everybody."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

#: They start processes.
pytestmark = pytest.mark.slow

TALK = [
    {"role": "user", "content": "How long do cache entries live?", "created_at": "2024-05-01T12:00:00Z"},
    {"role": "assistant", "content": "Ten minutes.", "created_at": "2024-05-01T12:01:00Z"},
]


@pytest.fixture
def talk(tmp_path: Path) -> Path:
    path = tmp_path / "talk.json"
    path.write_text(json.dumps({"id": "t1", "title": "Caches", "messages": TALK}))
    return path


@pytest.fixture
def ask(run: Any, talk: Path) -> Any:
    """The command line, with ann's conversation imported."""
    run("conversations", "import", talk, "--user", "ann")
    return run


def test_importing_tells_what_it_did_and_what_it_could_not_read(run: Any, talk: Path, tmp_path: Path) -> None:
    first = run.json("conversations", "import", talk, "--user", "ann")
    assert (first["conversations"], first["added"], first["embedded"]) == (1, 2, 0)
    broken = tmp_path / "broken.jsonl"
    broken.write_text("{")
    again = run.json("conversations", "import", talk, broken, "--user", "ann", "--embed", status=1)
    assert (again["unchanged"], again["embedded"]) == (2, 2)
    assert again["failed"][0]["path"].endswith("broken.jsonl:1")
    assert "2 unchanged" in run("conversations", "import", talk, "--user", "ann").stdout


def test_messages_are_found_with_their_neighbours(ask: Any) -> None:
    found = ask.json("conversations", "search", "cache entries", "--user", "ann", "--role", "assistant")
    (hit,) = found["results"]
    assert (hit["message"]["text"], hit["title"], hit["before"][0]["role"]) == ("Ten minutes.", "Caches", "user")
    shown = ask("conversations", "search", "cache", "--user", "ann", "--grouped", "--explain").stdout
    assert "Caches" in shown
    assert " 1  user (2024-05-01T12:00): How long" in shown
    assert "lexical" in shown
    nothing = ask("conversations", "search", "cache", "--user", "ann", "--until", "2024-04-30")
    assert (nothing.stdout, nothing.stderr) == ("", "nothing found\nnote: nothing is from 2024-04-30 or before\n")


def test_the_status_counts_what_users_said_and_what_is_remembered(ask: Any) -> None:
    ask("memories", "add", "Ann drinks tea without milk", "--user", "ann")
    counts = {"conversations": 1, "messages": 2, "memories": 1}
    for whose in ([], ["--user", "ann"]):
        assert ask.json("status", *whose).items() >= counts.items()
        assert "2 in 1 conversation\n" in ask("status", *whose).stdout
    assert ask.json("status", "--user", "bob").items() >= dict.fromkeys(counts, 0).items()


def test_conversations_are_listed_and_shown(ask: Any) -> None:
    (listed,) = ask.json("conversations", "list", "--user", "ann")
    assert (listed["id"], listed["messages"]) == ("t1", 2)
    shown = ask.json("conversations", "show", "t1", "--user", "ann")
    assert [message["text"] for message in shown["messages"]] == [turn["content"] for turn in TALK]
    assert "assistant (2024-05-01T12:01): Ten minutes." in ask("conversations", "show", "t1", "--user", "ann").stdout


def test_another_user_sees_nothing_and_none_must_be_said_who(ask: Any) -> None:
    assert ask.json("conversations", "search", "cache", "--user", "bob")["results"] == []
    assert ask.json("conversations", "list", "--user", "bob") == []
    assert "no conversation 't1'" in ask.refusal("conversations", "show", "t1", "--user", "bob")
    assert "--user" in ask.refusal("conversations", "list")


def test_an_administrator_turns_hybrid_search_on_and_off(ask: Any) -> None:
    search = ("conversations", "search", "cache entries", "--user", "ann")
    assert ask.json("config", "list")["hybrid_search"] is False
    assert ask("config", "set", "hybrid_search", "on").stdout.split()[:2] == ["hybrid_search", "on"]
    assert ask.json("config", "get", "hybrid_search") == {"hybrid_search": True}
    ask("index", ".")
    assert ask.json(*search)["diagnostics"]["effective_mode"] == "hybrid"
    chosen = ask.json(*search, "--fusion", "rrf:k=10")
    assert chosen["diagnostics"]["fusion"] == "rrf"
    ask("config", "set", "hybrid_search", "off")
    assert ask.json(*search)["diagnostics"]["effective_mode"] == "lexical"
    assert "hybrid_search" in ask.refusal("config", "set", "hybrid", "on")
    assert "on or off" in ask.refusal("config", "set", "hybrid_search", "maybe")


def test_messages_from_before_the_switch_get_vectors(ask: Any) -> None:
    assert "hybrid_search" in ask.refusal("conversations", "embed", "--user", "ann")
    ask("config", "set", "hybrid_search", "on")
    assert ask.json("conversations", "embed", "--user", "bob")["embedded"] == 0
    assert ask.json("conversations", "embed") == {"embedded": 2, "waiting": 0, "degraded": []}
    found = ask.json("conversations", "search", "how long are results kept", "--user", "ann")
    assert found["diagnostics"]["effective_mode"] == "hybrid"


def test_a_message_among_all_sources_names_its_conversation_speaker_and_date(ask: Any) -> None:
    shown = ask("everything", "cache entries", "--user", "ann").stdout
    assert "Caches (t1)" in shown
    assert "user, 2024-05-01" in shown


def test_what_is_deleted_is_counted_in_words(ask: Any) -> None:
    for memory in ("Ann drinks tea without milk", "Ann lives at a lake in the north"):
        ask("memories", "add", memory, "--user", "ann")
    told = ask("users", "delete", "ann", "--yes").stdout
    assert "1 conversation, " in told
    assert "2 messages" in told
    assert "2 memories" in told
