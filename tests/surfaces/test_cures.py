"""Every cure has words on every surface, and no message of the core names a command."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest

import rifflux
from rifflux import Cure, Document, NotFound, Notice, RiffluxError, Scope
from rifflux.errors import IN_PYTHON
from rifflux.surfaces.cli import cures as cli
from rifflux.surfaces.http import cures as http
from rifflux.surfaces.http import problems as http_problems
from rifflux.surfaces.mcp import cures as mcp
from rifflux.surfaces.shared.cures import cure_of
from rifflux.types.nouns import noun_json

TABLES = {"python": IN_PYTHON, "cli": cli.CURES, "http": http.CURES, "mcp": mcp.CURES, "mcp owner": mcp.WHO_MAY_INDEX}
#: What is typed into a shell or put into its environment.
COMMAND = re.compile(
    r"'rifflux [a-z]|\brifflux (?:config|index|models|doctor) [a-z-]|\bRIFFLUX_[A-Z]+\b|pip install|'--[a-z]"
)


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("cure", Cure)
def test_every_surface_has_words_for_every_cure(table: str, cure: Cure) -> None:
    assert cure.advice(TABLES[table], {})


@pytest.mark.parametrize("cure", Cure)
def test_a_client_of_the_service_gets_no_command(cure: Cure) -> None:
    assert not COMMAND.search(cure.advice(http.CURES, {}))


def text_of(node: ast.AST) -> str:
    """Return the text of an expression, with x in place of what is put into it; empty for what is no text."""
    if isinstance(node, ast.JoinedStr):
        return "".join(text_of(part) or "x" for part in node.values)
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def test_no_message_of_the_core_names_a_command() -> None:
    found = []
    package = Path(rifflux.__file__).parent
    for path in package.rglob("*.py"):
        if "surfaces" in path.parts or path.name == "errors.py":
            continue
        nodes = [*ast.walk(ast.parse(path.read_text("utf-8")))]
        docstrings = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
        pieces = {id(part) for node in nodes if isinstance(node, ast.JoinedStr) for part in node.values}
        texts = [text_of(node) for node in nodes if id(node) not in docstrings | pieces]
        found += [(path.name, text) for text in texts if COMMAND.search(text)]
    assert found == []


def test_an_error_prints_its_cure_for_programs() -> None:
    error = NotFound("no memory 'm'", cure=Cure.LIST, things="memories")
    assert (str(error), error.code, error.cure, error.data) == (
        "no memory 'm'", "not_found", Cure.LIST, {"things": "memories"}
    )  # fmt: skip
    assert error.__notes__ == ["list the memories"]
    assert RiffluxError("nothing to be done").cure is None


def test_a_note_that_quotes_a_question_stays_as_it_is() -> None:
    with rifflux.open(":memory:", model="hash") as index:
        index.add(Document("heron", "Herons stand in shallow water."))
        found = index.search('"{cure}" herns', mode="lexical")
    for notice in found.trace.notes:
        assert http.noticed(noun_json(notice))["text"].startswith(notice.text)


def curable(index: rifflux.Index) -> list[Any]:
    """Return notices and errors of several kinds, each with a cure."""
    found: list[Any] = [*index.search("heron").trace.degraded, *index.status().degraded]
    calls: tuple[Callable[[], object], ...] = (
        lambda: index.memories.get("none"),
        lambda: index.scoped(Scope("ann")).conversations.embed(),
        lambda: index.policies.set("none", 1),
        lambda: index.add("/no/such/place"),
    )
    for call in calls:
        with pytest.raises(RiffluxError) as refused:
            call()
        found.append(refused.value)
    return found


def test_surfaces_choose_their_cures_whatever_the_messages_say(monkeypatch: pytest.MonkeyPatch) -> None:
    notice, error, random = Notice.__init__, RiffluxError.__init__, Random(7)

    def reworded(text: str) -> str:
        words = text.split()
        random.shuffle(words)
        return f"{random.random()} {' '.join(words)}"

    def other_notice(self: Notice, code: str, text: str, cure: Cure | None = None, data: Any = None) -> None:
        notice(self, code, reworded(text), cure, data or {})

    def other_error(self: RiffluxError, message: str = "", *, cure: Cure | None = None, **data: object) -> None:
        error(self, reworded(message), cure=cure, **data)

    with rifflux.open(":memory:", model="hash") as index:
        index.add(Document("heron", "Herons stand in shallow water."), embed=False)
        before = curable(index)
        monkeypatch.setattr(Notice, "__init__", other_notice)
        monkeypatch.setattr(RiffluxError, "__init__", other_error)
        after = curable(index)
    assert {each.cure for each in before} >= {Cure.LIST, Cure.POLICY, Cure.INDEX}
    for one, other in zip(before, after, strict=True):
        assert one.code == other.code
        assert str(one) != str(other)
        for table in TABLES.values():
            assert cure_of(one, table) == cure_of(other, table)
        if isinstance(one, RiffluxError):
            refusals = [http_problems.refusal_of(each) for each in (one, other)]
            assert len({(each.status, each.code, each.cure) for each in refusals}) == 1
