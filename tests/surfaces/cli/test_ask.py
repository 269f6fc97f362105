"""Answers on the command line: quoted, refused, verified, and one question after the other."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

#: They start processes.
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory, command_line: Any) -> Any:
    """The command line in a folder with two notes."""
    folder: Path = tmp_path_factory.mktemp("ask")
    (folder / "cache.md").write_text("# Caching\n\n## Time to live\n\nCache entries live for ten minutes.\n")
    (folder / "jobs.md").write_text("# Jobs\n\n## Retries\n\nJobs that fail are tried again three times.\n")
    run = command_line(folder, {"RIFFLUX_MODEL": "", "RIFFLUX_DB": "index.db"})
    run.json("index", folder)
    return run


def test_an_answer_is_printed_with_its_sources(run: Any) -> None:
    done = run("ask", "how long do cache entries live")
    lines = done.stdout.splitlines()
    assert lines[0] == "**Caching > Time to live**"
    assert lines[2] == "Cache entries live for ten minutes. [1]"
    assert "[1] cache.md  Caching > Time to live" in done.stdout


def test_what_an_answer_stood_on_can_be_verified(run: Any) -> None:
    answer = run.json("ask", "how long do cache entries live")
    assert answer["by"] == "extract"
    (run.folder / "answer.json").write_text(json.dumps(answer))
    assert run.json("verify", "answer.json") == {
        "sound": True,
        "items": len(answer["pack"]["items"]),
        "problems": [],
        "replayed": "",
        "note": "",
    }
    unsealed = json.loads(json.dumps(answer))
    del unsealed["pack"]["digest"]
    (run.folder / "answer.json").write_text(json.dumps(unsealed))
    assert not run.json("verify", "answer.json", status=1)["sound"]
    answer["pack"]["items"][0]["text"] = "Cache entries live for ever."
    (run.folder / "answer.json").write_text(json.dumps(answer))
    assert not run.json("verify", "answer.json", status=1)["sound"]


def test_events_are_a_line_each(run: Any) -> None:
    lines = [json.loads(line) for line in run("ask", "how long do cache entries live", "--events").stdout.splitlines()]
    assert [line["event"] for line in lines] == ["sources", "delta", "cited", "done"]
    assert lines[1]["text"] == lines[3]["text"]


def test_what_nothing_answers_is_refused_with_the_nearest_passages(run: Any) -> None:
    done = run("ask", "what is the capital of France")
    assert "these passages are the nearest" in done.stdout
    assert "[1] " in done.stdout
    assert run.json("ask", "what is the capital of France", "--fail-empty", status=1)["refused"]


def test_a_conversation_goes_on(run: Any) -> None:
    typed = "how long do cache entries live\nand jobs that fail?\n\n/new\n/quit\nnever read\n"
    done = subprocess.run(
        run.command("chat", "--json"),
        input=typed,
        cwd=run.folder,
        env=run.environment,
        capture_output=True,
        text=True,
        check=True,
    )
    first, second = map(json.loads, done.stdout.splitlines())
    assert first["searched"] == first["question"]
    assert "tried again three times" in second["text"]


def test_a_chat_model_without_an_endpoint_is_refused(run: Any) -> None:
    assert "set chat_url and chat_model" in run.refusal("ask", "x", RIFFLUX_CHAT_MODEL="gpt")
