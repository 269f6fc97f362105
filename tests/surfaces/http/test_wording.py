"""Clients of a service are told of no commands: they cannot run any."""

from __future__ import annotations

import ast
import re
from dataclasses import replace
from pathlib import Path

import pytest

import rifflux
from rifflux import Done, Sources
from rifflux.surfaces.http.chat import told_to_clients
from rifflux.surfaces.http.wording import error_for_clients, for_clients


@pytest.mark.parametrize(
    ("for_people", "told"),
    [
        ("3 of 9 chunks have no vector yet: run 'rifflux index'", "ask an administrator to index again"),
        ("no chunk has a vector: run 'rifflux index' without --no-embed to search by meaning", "to search by meaning"),
        ("no vectors for now: late; text is kept, and 'rifflux index' makes its vectors later", "late; text is kept"),
        ("its vectors are still to come (late): 'rifflux works import PATHS' makes them", "still to come (late)"),
        (
            "the vectors are of a, not of b: name no model to search by meaning, or run 'rifflux models switch b' to "
            "make vectors of it",
            "ask an administrator to switch the index to it",
        ),
        ("no memory 'x': take an id from 'rifflux memories list'", "an id from GET /memories"),
        ("nothing of ours: 5 results", "nothing of ours: 5 results"),
        ("the reranker r needs a model: set rerank_model to a folder", "the reranker r needs a model: ask an adm"),
        ("it is not on this disk: 'rifflux models fetch x' gets it; another way", "ask an administrator; another way"),
        ("reading x needs a parser: pip install 'rifflux[works]'", "needs a parser: ask an administrator"),
        ("wiki is to be read only: ask bob for more, who says 'rifflux collections share'", "only: ask bob for more"),
        ("no group 'x': 'rifflux groups list' names them", "GET /groups names them"),
        ("save one with --json", "as POST /retrieve gives it"),
    ],
)
def test_commands_are_not_told(for_people: str, told: str) -> None:
    worded = error_for_clients(for_people)
    assert told in worded
    assert "rifflux" not in worded
    assert "--" not in worded


#: What only whoever runs the service can do.
COMMAND = r"'rifflux [a-z]|\bRIFFLUX_[A-Z]+\b|pip install '"


def text_of(node: ast.AST) -> str:
    """The text that an expression is, with something in place of what is put into it; empty for what is no text."""
    if isinstance(node, ast.JoinedStr):
        return "".join(text_of(part) or "x" for part in node.values)
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def messages() -> list[str]:
    """Texts of the package that name a command or a variable."""
    found = []
    for path in Path(rifflux.__file__).parent.rglob("*.py"):
        if "cli" not in path.parts:
            nodes = [*ast.walk(ast.parse(path.read_text("utf-8")))]
            pieces = {id(part) for node in nodes if isinstance(node, ast.JoinedStr) for part in node.values}
            found += [text_of(node) for node in nodes if id(node) not in pieces]
    return [text for text in found if re.search(COMMAND, text)]


def test_no_message_of_the_package_brings_a_command_to_clients() -> None:
    """Whatever is said where, also by what is written later."""
    found = messages()
    left = [text for text in map(error_for_clients, found) if re.search(COMMAND, text)]
    assert left == []


def test_a_note_that_quotes_a_question_stays_as_it_is() -> None:
    note = "'--amend' occurs nowhere: also searched '--append' and set cache_ttl"
    assert for_clients(note) == note


def test_no_event_of_an_answer_tells_a_command() -> None:
    stale = "about 1 of 64 files changed since they were read: run 'rifflux index'"
    with rifflux.open(":memory:", model="hash") as index:
        index.add(rifflux.Document("heron", "Herons stand in shallow water."))
        events = [*index.answering("where do herons stand")]
    sources, done = (next(each for each in events if isinstance(each, kind)) for kind in (Sources, Done))
    assert isinstance(sources, Sources)
    assert isinstance(done, Done)
    answer = replace(done.answer, notes=(stale,), degraded=(stale,))
    for event in (replace(sources, notes=(stale,)), Done(answer)):
        assert stale in str(event)
        assert stale not in str(told_to_clients(event))
        assert "ask an administrator" in str(told_to_clients(event))
