"""The reference as Markdown, read off the code: commands, settings, columns, Python, HTTP, tools."""

from __future__ import annotations

import json
import os
import pkgutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any
from urllib.error import URLError

__all__ = [
    "PAGES",
    "columns",
    "commands",
    "interfaces",
    "routes",
    "settings",
    "tools",
    "values",
    "write_reference",
]

PATIENCE = 60.0


def write_reference(folder: Path) -> None:
    """Write every page of the reference; one that is as it was stays untouched."""
    for name, page in PAGES.items():
        path, text = folder / f"{name}.md", page()
        if not path.exists() or path.read_text("utf-8") != text:
            path.write_text(text, "utf-8")


# Commands


def commands() -> str:
    """Return a page with every command of the command line."""
    body = "\n\n".join(_command(words, command) for words, command in _commands("rifflux", _application()))
    return (
        "# Commands\n\nData goes to stdout, everything else to stderr. Exit status: 0 done, 1 done with failures "
        "(or nothing found, with `--fail-empty`), 2 wrong usage or an unusable index, 128 and the number of the "
        "signal that ended it (130 for Ctrl-C).\n\n"
        f"The index is `--db FILE`, else `RIFFLUX_DB`, else the nearest `.rifflux/index.db` here or above.\n\n{body}\n"
    )


def _application() -> Any:
    """Return the command line's application with all commands."""
    import typer

    caught: list[typer.Typer] = []
    called, arguments = typer.Typer.__call__, sys.argv
    typer.Typer.__call__ = lambda self, *_, **__: caught.append(self)  # type: ignore[method-assign]
    sys.argv = ["rifflux"]
    try:
        import_module("rifflux.surfaces.cli.main").main()
    finally:
        typer.Typer.__call__, sys.argv = called, arguments  # type: ignore[method-assign]
    return typer.main.get_command(caught[0])


def _commands(words: str, command: Any) -> Iterator[tuple[str, Any]]:
    for name, each in command.commands.items():
        if hasattr(each, "commands"):
            yield from _commands(f"{words} {name}", each)
        else:
            yield f"{words} {name}", each


def _command(words: str, command: Any) -> str:
    context = command.make_context(words, [], resilient_parsing=True)
    usage = " ".join(command.collect_usage_pieces(context))
    epilog = f"\n```text\n{_clean(command.epilog)}\n```\n" if command.epilog else ""
    rows = [
        _parameter(parameter, context) for parameter in command.get_params(context) if "--help" not in parameter.opts
    ]
    table = "\n".join(["| | |", "| --- | --- |", *rows]) if rows else ""
    return f"## {words}\n\n`{words} {usage}`\n\n{_clean(command.help)}\n{epilog}\n{table}"


def _parameter(parameter: Any, context: Any) -> str:
    name, text = parameter.get_help_record(context) or (parameter.human_readable_name, parameter.help or "")
    return f"| {_code(name)} | {_cell(text)} |"


def _clean(text: str | None) -> str:
    return (text or "").replace("\b", "").replace("\f", "").strip()


def _code(text: str) -> str:
    return f"`{' '.join(text.split())}`".replace("|", "\\|")


def _cell(text: str) -> str:
    escaped = " ".join(text.split()).replace("<", "&lt;")
    for sign in "|*[":
        escaped = escaped.replace(sign, f"\\{sign}")
    return escaped


# Settings and columns


def settings() -> str:
    """Return a page with every setting, its default and its variable."""
    from dataclasses import MISSING, fields

    from rifflux.surfaces.shared.config import Settings

    rows = []
    for field in fields(Settings):
        if "help" in field.metadata:
            default = field.default if field.default_factory is MISSING else field.default_factory()
            shown = "" if default in ("", (), {}) else f"`{json.dumps(default)}`"
            rows.append(
                f"| `{field.name}` | {shown} | {_cell(field.metadata['help'])} | `RIFFLUX_{field.name.upper()}` |"
            )
    return (
        "# Settings\n\nDefaults, then `.rifflux/config.toml` (here or above) or `~/.config/rifflux/config.toml`, then "
        "variables `RIFFLUX_*`, then flags. `rifflux config` shows each setting and its origin. An unknown key is an "
        'error.\n\n```toml\nexclude = ["drafts/", "*.log"]\nfacets = ["author", "project"]\nthreads = 2\n```\n\n'
        "| Setting | Default | | Variable |\n| --- | --- | --- | --- |\n" + "\n".join(rows) + "\n\n"
        "`RIFFLUX_CONFIG` names another file. What holds for everybody who uses an index, such as `hybrid_search`, is "
        "kept in the index: `rifflux config set hybrid_search on`.\n"
    )


def columns() -> str:
    """Return a page with every declared column of the candidate table."""
    import rifflux

    for module in pkgutil.walk_packages(rifflux.__path__, "rifflux."):
        if module.name.startswith(("rifflux.retrieve", "rifflux.works", "rifflux.session")):
            import_module(module.name)
    from rifflux.retrieve.table import columns as declared

    rows = [f"| {_code(each.name)} | {_cell(each.unit)} | {_cell(each.about)} |" for each in declared()]
    return (
        "# Columns\n\nThe candidate table of a search: rows are chunks, columns are what the steps found out. "
        "`--explain`, `why` and the score breakdowns of JSON are written from these columns. A column is named "
        "`stage/part`; `*` stands for any stage or part. Absent values are NaN.\n\n"
        "| Column | Unit | |\n| --- | --- | --- |\n" + "\n".join(rows) + "\n"
    )


# Python

#: The public classes that are interfaces; the others are values or errors.
_INTERFACES = ("Index", "Conversations", "Memories", "WorksCatalog")
#: The classes behind attributes of an index, documented under their names.
_PARTS = {
    "Index.chats": "rifflux.answer.chats:Chats",
    "Index.collections": "rifflux.index.collections:Collections",
    "Index.documents": "rifflux.index.documents:Documents",
    "Index.admin": "rifflux.index.admin:Admin",
}
#: Values that few programs name, by their modules: what calls of public classes take and return.
SPECIAL = {
    "rifflux.answer.chats": "Chat ChatAnswer ChatSource",
    "rifflux.conversations": "Group VectorsMade WrittenMessage",
    "rifflux.evidence.pack": "PackRequest",
    "rifflux.index.documents": "DocumentPage Stored",
    "rifflux.index.extract": "Extracted Issued",
    "rifflux.index.facets": "Facet FacetValue",
    "rifflux.index.federated": "Everything",
    "rifflux.index.places": "DocumentAt Heading",
    "rifflux.index.status": "VectorReport",
    "rifflux.ingest.walk.find": "FoundFile Skipped",
    "rifflux.models.loading": "KnownModel",
    "rifflux.models.guarded": "ModelCallFailed",
    "rifflux.requests": "SearchRequest WhyRequest",
    "rifflux.retrieve.explain.verdict": "Change QueryTerm",
    "rifflux.retrieve.fuse": "Fuse",
    "rifflux.retrieve.steps.rerank": "Rerank",
    "rifflux.service.nouns": "Erased Event Grant LogEntry",
    "rifflux.service.registry": "Registry",
    "rifflux.service.usage": "Ledger",
    "rifflux.session.intake": "Intake",
    "rifflux.session.license_policy": "LicensePolicy",
    "rifflux.index.salvage": "Restored",
    "rifflux.session.maintenance": "Copied Repaired Switched",
    "rifflux.session.policies": "Policies",
    "rifflux.session.removing": "Removed",
    "rifflux.session.profile": "Profile",
    "rifflux.store": "Generation ModelInfo Problem Records State Store",
    "rifflux.works": "Passage",
    "rifflux.works.report": "Doubt",
    "rifflux.works.intent.classify": "IntentDecision",
    "rifflux.works.intent.intents": "Intent",
    "rifflux.works.retrieval.retriever": "WorksRetriever",
}


def interfaces() -> str:
    """Return a page with the public functions and the classes that programs call."""
    import rifflux

    functions = ["open", *(name for name, each in _public(rifflux) if not isinstance(each, type) and name != "open")]
    parts = [
        "# Python\n\nAll public names are attributes of `rifflux`, loaded when they are first used.\n\n## Functions",
        *(_documented(f"rifflux.{name}", getattr(rifflux, name)) for name in functions),
    ]
    for name in _INTERFACES:
        parts += [f"## {name}", *_members(name, getattr(rifflux, name))]
    for name, place in _PARTS.items():
        module, _, kind = place.partition(":")
        parts += [f"## {name}", *_members(name, getattr(import_module(module), kind))]
    return "\n\n".join(parts) + "\n"


def values() -> str:
    """Return a page with the public values, protocols and errors."""
    import rifflux

    classes = [(name, each) for name, each in _public(rifflux) if isinstance(each, type) and name not in _INTERFACES]
    parts = ["# Python: values and errors\n\n## Values"]
    parts += [_documented(f"rifflux.{name}", each) for name, each in classes if not issubclass(each, Exception)]
    parts.append("## Values that few programs name")
    for module, names in SPECIAL.items():
        parts += [_documented(f"{module}.{name}", getattr(import_module(module), name)) for name in names.split()]
    errors = sorted((each for _, each in classes if issubclass(each, Exception)), key=lambda each: len(each.__mro__))
    return (
        "\n\n".join([*parts, "## Errors", *(_documented(f"rifflux.{each.__name__}", each) for each in errors)]) + "\n"
    )


def _public(package: Any) -> list[tuple[str, Any]]:
    """Return the public names whose values are documented: functions and classes."""
    named = [(name, getattr(package, name)) for name in package.__all__]
    return [(name, each) for name, each in named if hasattr(each, "__qualname__")]


def _members(name: str, owner: type) -> list[str]:
    """Return the public members of a class; a method of a part that it delegates to is documented where it stands."""
    shown = [_documented(name, owner, members=False)]
    for member, each in vars(owner).items():
        if not member.startswith("_"):
            path = f"{owner.__module__}.{owner.__qualname__}.{member}"
            found = each if hasattr(each, "__qualname__") else None
            shown.append(_documented(f"{name}.{member}", found, path=path))
    return shown


def _documented(heading: str, found: Any, *, path: str = "", members: bool = True) -> str:
    path = f"{found.__module__}.{found.__qualname__}" if found is not None else path
    options = [f"heading: {heading}", f"toc_label: {heading.removeprefix('rifflux.')}", "show_root_heading: true"]
    options += [] if members else ["members: false", "show_signature: false", "merge_init_into_class: false"]
    return "\n".join([f"::: {path}", "    options:", *(f"      {option}" for option in options)])


# HTTP


def routes() -> str:
    """Return a page with every route of the service, from the OpenAPI document that it publishes."""
    with tempfile.TemporaryDirectory() as folder, _served(Path(folder)) as address:
        document = json.loads(urllib.request.urlopen(f"{address}/openapi.json", timeout=10).read())
    body = "\n\n".join(
        _route(method, path, route) for path, methods in document["paths"].items() for method, route in methods.items()
    )
    shapes = "\n\n".join(_shape(name, shape) for name, shape in document["components"]["schemas"].items())
    return (
        f"# HTTP\n\n{document['info']['description']}\n\nA running service publishes this as OpenAPI at "
        f"`/openapi.json`.\n\n## Routes\n\n{body}\n\n## Shapes\n\n{shapes}\n"
    )


@contextmanager
def _served(folder: Path) -> Iterator[str]:
    """Serve an empty index on a free port."""
    import rifflux

    rifflux.open(folder / "index.db", model="hash").close()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [*_rifflux(), "serve", "--open", "--db", str(folder / "index.db"), "--port", str(port), "--model", "hash"]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(command, env=_environment(), stdout=log, stderr=log)
    address = f"http://127.0.0.1:{port}"
    try:
        _wait(f"{address}/openapi.json", process, folder / "log")
        yield address
    finally:
        process.terminate()
        process.wait(PATIENCE)


def _wait(address: str, process: subprocess.Popen[bytes], log: Path) -> None:
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until and process.poll() is None:
        try:
            urllib.request.urlopen(address, timeout=10)
            return
        except (URLError, ConnectionError):
            time.sleep(0.05)
    raise RuntimeError(f"the service did not start: {log.read_text('utf-8')}")


def _rifflux() -> list[str]:
    return [sys.executable, "-m", "rifflux"]


def _environment() -> dict[str, str]:
    import rifflux

    kept = {name: value for name, value in os.environ.items() if not name.startswith("RIFFLUX_")}
    return kept | {"PYTHONPATH": str(Path(rifflux.__file__).parents[1])}


def _route(method: str, path: str, route: Mapping[str, Any]) -> str:
    rows = [
        f"| `{each['name']}` | {each['in']} | {_type(each['schema'])} | {_cell(each.get('description', ''))} |"
        for each in route.get("parameters", [])
        if each["in"] != "header"
    ]
    table = "\n".join(["", "| Parameter | in | | |", "| --- | --- | --- | --- |", *rows, ""]) if rows else ""
    sent, answered = (
        _content(route.get("requestBody", {})),
        [f"{status} {_content(answer)}".strip() for status, answer in route["responses"].items() if status < "300"],
    )
    body = f"Body: {sent}. " if sent else ""
    about = route.get("description") or route.get("summary", "")
    return f"### {method.upper()} {path}\n\n{about}\n{table}\n{body}Answers {', '.join(answered)}."


def _content(part: Mapping[str, Any]) -> str:
    return " or ".join(_type(each["schema"]) for each in part.get("content", {}).values() if each.get("schema"))


def _type(schema: Mapping[str, Any]) -> str:
    """Return a type in a few words; shapes are links."""
    if "$ref" in schema:
        name = schema["$ref"].rsplit("/", 1)[1]
        return f"[{name}](#{name.lower()})"
    if choices := schema.get("anyOf"):
        return " or ".join(_type(each) for each in choices)
    if values := schema.get("enum"):
        return ", ".join(f"`{value}`" for value in values)
    if schema.get("type") == "array":
        return f"list of {_type(schema.get('items', {}))}"
    return str(schema.get("type", "any"))


def _shape(name: str, shape: Mapping[str, Any]) -> str:
    required = set(shape.get("required", []))
    rows = [
        f"| `{key}`{' (required)' if key in required else ''} | {_type(each)} | {_cell(each.get('description', ''))} |"
        for key, each in shape.get("properties", {}).items()
    ]
    table = "\n".join(["| Key | | |", "| --- | --- | --- |", *rows]) if rows else _type(shape)
    return f"### {name}\n\n{shape.get('description', '')}\n\n{table}"


# Agents


def tools() -> str:
    """Return a page with every tool that agents are offered."""
    import anyio
    from mcp import Client, StdioServerParameters

    async def listed(folder: str) -> list[Any]:
        command = [*_rifflux(), "mcp", "--db", str(Path(folder, "index.db")), "--model", "hash"]
        server = StdioServerParameters(command=command[0], args=command[1:], env=_environment(), cwd=folder)
        async with Client(server) as client:
            return list((await client.list_tools()).tools)

    with tempfile.TemporaryDirectory() as folder:
        found = anyio.run(listed, folder)
    return (
        "# Tools for agents\n\nWhat `rifflux mcp` offers over the Model Context Protocol. Texts in answers are fenced "
        "and labelled as data.\n\n" + "\n\n".join(map(_tool, found)) + "\n"
    )


def _tool(tool: Any) -> str:
    required = set(tool.input_schema.get("required", []))
    rows = [
        f"| `{key}`{' (required)' if key in required else ''} | {_type(each)} | {_cell(each.get('description', ''))} |"
        for key, each in tool.input_schema.get("properties", {}).items()
    ]
    table = "\n".join(["| Input | | |", "| --- | --- | --- |", *rows]) if rows else ""
    return f"## {tool.name}\n\n{_clean(tool.description)}\n\n{table}"


#: The pages by name, and what makes each.
PAGES: Mapping[str, Callable[[], str]] = {
    "cli": commands,
    "settings": settings,
    "columns": columns,
    "python": interfaces,
    "values": values,
    "http": routes,
    "mcp": tools,
}
