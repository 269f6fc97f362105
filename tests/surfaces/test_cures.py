"""Every cure has words on every surface, and no message of the core names a command."""

from __future__ import annotations

import ast
import re
import shlex
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from random import Random
from types import ModuleType
from typing import Any

import pytest
from starlette.routing import Match, Route
from typer.main import get_command

import rifflux
from rifflux import Cure, Document, NotFound, Notice, RiffluxError, Scope
from rifflux.errors import IN_PYTHON
from rifflux.surfaces.cli import cures as cli
from rifflux.surfaces.cli.app import app
from rifflux.surfaces.cli.main import COMMANDS
from rifflux.surfaces.http import cures as http
from rifflux.surfaces.http import problems as http_problems
from rifflux.surfaces.http.app import ROUTES
from rifflux.surfaces.mcp import cures as mcp
from rifflux.surfaces.mcp.server import TOOLS
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


#: Values for the words of all cures.
VALUES = {
    "path": "/notes",
    "place": "/notes/all.db",
    "file": "notes.db",
    "root": "/notes",
    "package": "rifflux[eval]",
    "model": "minilm",
    "settings": "chat_url",
    "policy": "facts",
    "user": "ann",
    "owner": "bob",
    "collection": "wiki",
    "who": "the user",
}
#: What `Cure.LIST` lists.
THINGS = ("collections", "groups", "memories", "tokens")


def advice(table: str) -> Iterator[str]:
    """All that a surface says: each cure, for each sort of things that it is about."""
    for cure in Cure:
        for things in THINGS if cure is Cure.LIST else ("",):
            yield cure.advice(TABLES[table], VALUES | {"things": things})


def test_what_can_be_listed_is_known() -> None:
    named = re.compile(r"things=\"(\w+)\"")
    package = Path(rifflux.__file__).parent
    assert {each for path in package.rglob("*.py") for each in named.findall(path.read_text("utf-8"))} == {*THINGS}


@pytest.mark.parametrize("table", ["cli", "mcp", "mcp owner", "python"])
def test_a_command_that_a_cure_names_is_there(table: str) -> None:
    for name in COMMANDS:
        import_module(f"rifflux.surfaces.cli.{name}")
    commands = [words for text in advice(table) for words in re.findall(r"'rifflux ([^']*)'", text)]
    assert commands
    for command in commands:
        found: Any = get_command(app)
        words = shlex.split(command)
        while words and words[0] in getattr(found, "commands", ()):
            found = found.commands[words.pop(0)]
        assert not hasattr(found, "commands") or found.invoke_without_command, command
        options = {"--help", *(each for parameter in found.params for each in parameter.opts)}
        assert {word for word in words if word.startswith("-")} <= options, command


def test_an_option_that_a_cure_names_is_there() -> None:
    for name in COMMANDS:
        import_module(f"rifflux.surfaces.cli.{name}")
    options = {each for command in leaves_of(get_command(app)) for part in command.params for each in part.opts}
    named = {each for text in advice("cli") for each in re.findall(r"(?<!\S)--[a-z-]+", text)}
    assert named - options - {"--help"} == set()


def leaves_of(command: Any) -> Iterator[Any]:
    """A command and all below it."""
    yield command
    for each in getattr(command, "commands", {}).values():
        yield from leaves_of(each)


def test_a_request_that_a_cure_names_is_answered() -> None:
    named = [each for text in advice("http") for each in re.findall(r"\b([A-Z]{3,6}) (/[\w/]+)", text)]
    assert named
    routes = [route for module in ROUTES for route in module.router.routes if isinstance(route, Route)]
    for method, path in named:
        scope = {"type": "http", "method": method, "path": path, "root_path": "", "headers": []}
        assert any(route.matches(scope)[0] is Match.FULL for route in routes), (method, path)


@pytest.mark.parametrize("table", ["mcp", "mcp owner"])
def test_a_tool_that_a_cure_names_is_there(table: str) -> None:
    tools = {function.__name__ for function, *_ in TOOLS}
    texts = [*advice(table), *mcp.LISTS.values()]
    named = {each for text in texts for each in re.findall(r"\bcall (\w+)|^(\w+) lists them|as (\w+) returns", text)}
    assert {name for names in named for name in names if name} <= tools


def test_what_a_cure_calls_in_python_is_there() -> None:
    named = {each for text in advice("python") for each in re.findall(r"\b((?:index|rifflux)\.[\w.]*\w)", text)}
    assert named
    with rifflux.open(":memory:", model="hash") as whole:
        index = whole.scoped(Scope("ann"))
        for name in named:
            first, *parts = name.split(".")
            found: Any = index if first == "index" else rifflux
            for place, part in enumerate(parts):
                if isinstance(found, ModuleType) and not hasattr(found, part):
                    import_module(".".join((first, *parts[: place + 1])))
                found = getattr(found, part)


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
        # A name alone, such as that of a variable of the environment, is no message.
        found += [(path.name, text) for text in texts if COMMAND.search(text) and not text.isidentifier()]
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
