"""Asks the questions on every surface that they are for, and makes the answers comparable.

What differs from run to run or from machine to machine is taken out: times, sizes, places of files, the last digits of
numbers. Of long texts a beginning and a digest are kept.
"""

from __future__ import annotations

import asyncio
import hashlib
import io
import json
import os
import re
import signal
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, fields, is_dataclass
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

import httpx2 as httpx
from anyio.from_thread import BlockingPortal, start_blocking_portal
from fastapi import FastAPI
from mcp import Client
from mcp.types import TextContent
from structlog.testing import capture_logs

from rifflux import Hit, Results, RiffluxError
from rifflux.service.accounts import Accounts
from rifflux.surfaces.cli import main
from rifflux.surfaces.http.app import create_app
from rifflux.surfaces.http.service import Service, ServiceSettings
from rifflux.surfaces.mcp.server import server
from rifflux.surfaces.mcp.workspace import Workspace
from rifflux.works.retrieval.retriever import Retrieval
from tests.pinned.questions import CASES, Case
from tests.pinned.world import MAIN, WORKS, World, world

__all__ = ["SNAPSHOT", "SURFACES", "answers", "comparable", "written"]

SNAPSHOT = Path(__file__).with_name("snapshot.json")
SURFACES = ("python", "cli", "http", "mcp")
#: Values that are never twice the same, or not in every installation; of tables of times, the names are kept.
VOLATILE = frozenset(("seconds", "synced_at", "bytes", "kernels"))
TIMES = frozenset(("milliseconds",))
#: What a pack records of its own call.
PER_CALL = frozenset(("request", "digest"))
#: Longer texts are cut here, and get a digest.
LONGEST = 72
DIGITS = 9


# Python


def trail(hit: Hit) -> list[dict[str, Any]]:
    """Return what each stage made of a hit: the only place that knows how a hit explains itself."""
    return [{"stage": why.stage, "rank": why.rank, "score": why.score, "detail": dict(why.detail)} for why in hit.why]


def projected(value: Any) -> Any:
    """Return a value of the Python API as JSON would have it."""
    if isinstance(value, Hit):
        return {**_fields(value, but=("why",)), "why": projected(trail(value))}
    if isinstance(value, Results):
        return {"query": value.query, "hits": projected(value.hits), "trace": projected(value.trace)}
    if isinstance(value, Retrieval):
        asked = {"intent": value.decision.intent.name, "reason": value.decision.reason}
        return {**_fields(value, but=("decision",)), "asked": asked}
    if is_dataclass(value) and not isinstance(value, type):
        return _fields(value)
    if isinstance(value, Mapping):
        return {str(name): projected(each) for name, each in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [projected(each) for each in value]
    return value


def _fields(value: Any, but: Sequence[str] = ()) -> dict[str, Any]:
    names = [each.name for each in fields(value) if each.name not in but and not each.metadata.get("untold")]
    return {name: projected(getattr(value, name)) for name in names}


# Surfaces


@dataclass(frozen=True)
class Surfaces:
    """A world behind its surfaces; each method answers a case."""

    world: World
    portal: BlockingPortal
    apps: Mapping[str, FastAPI]
    tokens: Mapping[str, str]
    agents: dict[tuple[str, str], Client] = field(default_factory=dict)
    stack: ExitStack = field(default_factory=ExitStack)

    def python(self, case: Case) -> Any:
        try:
            return projected(case.python(self.world))
        except RiffluxError as error:
            return {"error": type(error).__name__, "message": str(error)}

    def cli(self, case: Case) -> Any:
        """Run a command in this process, as `rifflux` starts it."""
        assert case.cli is not None
        words = [word.replace("{folder}", str(self.world.folder)) for word in case.cli]
        asks_json = not {"--bibtex", "--csl"} & set(words)
        words += ["--db", str(self.world.path(case.db)), *(["--json"] if asks_json else [])]
        out, errors = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8") for _ in range(2))
        status: Any = 0
        # A command ends its process: it ignores signals from its end on.
        with patch.object(signal, "signal"), patch.multiple(sys, argv=["rifflux", *words], stdout=out, stderr=errors):
            try:
                main()
            except SystemExit as end:
                status = end.code or 0
        printed, complained = (_read(stream) for stream in (out, errors))
        told = json.loads(printed) if asks_json and printed else printed.splitlines()
        return {"status": status, "out": told, "errors": complained.splitlines()}

    def http(self, case: Case) -> Any:
        """Send a request as the case's user; nobody in particular needs no token."""
        assert case.http is not None
        method, target, body = case.http
        app = self.apps[case.db]
        headers = {"Authorization": f"Bearer {self.tokens[case.user]}"} if case.user else {}

        async def ask() -> httpx.Response:
            transport = httpx.ASGITransport(app, client=("127.0.0.1", 1))
            async with httpx.AsyncClient(transport=transport, base_url="http://localhost", headers=headers) as client:
                return await client.request(method, target, json=body)

        answer = asyncio.run(ask())
        return {"status": answer.status_code, "body": answer.json() if answer.content else None}

    def mcp(self, case: Case) -> Any:
        """Call a tool; the text for models is kept by lines, unless it is the structured answer again."""
        assert case.mcp is not None
        tool, arguments = case.mcp
        result = self.portal.call(partial(self._agent(case.db, case.user).call_tool, tool, dict(arguments)))
        (block,) = result.content
        assert isinstance(block, TextContent)
        told = {"error": bool(result.is_error), "structured": result.structured_content}
        if block.text.startswith("{") and json.loads(block.text) == result.structured_content:
            return told
        fence = re.search(r"<untrusted (\w+)>", block.text)
        text = block.text.replace(fence[1], "(digest)") if fence else block.text
        return told | {"text": text.splitlines()}

    def _agent(self, db: str, user: str) -> Client:
        if (db, user) not in self.agents:
            notes = self.world.folder / "notes"
            workspace = self.stack.enter_context(Workspace(self.world.path(db), roots=[notes]))
            client = Client(server(workspace, user=user))
            self.agents[db, user] = self.stack.enter_context(self.portal.wrap_async_context_manager(client))
        return self.agents[db, user]


@contextmanager
def surfaces(made: World) -> Iterator[Surfaces]:
    """The surfaces of a world."""
    register = made.index().registry
    tokens = {user: Accounts(register).create(user, "user")[1] for user in ("ann", "bob")}
    settings = ServiceSettings(open=True, rate=1e9, burst=10**9, timeout_s=600)
    apps = {name: create_app(Service(settings, made.index(name))) for name in (MAIN, WORKS)}
    with start_blocking_portal() as portal, ExitStack() as stack:
        yield Surfaces(made, portal, apps, tokens, stack=stack)


def _read(stream: io.TextIOWrapper) -> str:
    stream.flush()
    stream.seek(0)
    return stream.read()


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Work in a folder, with no settings of anybody."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("RIFFLUX_")}
    ours = {"HOME": str(folder), "XDG_CONFIG_HOME": str(folder), "COLUMNS": "120", "NO_COLOR": "1"}
    before = Path.cwd()
    os.chdir(folder)
    try:
        with patch.dict(os.environ, kept | ours, clear=True):
            yield
    finally:
        os.chdir(before)


def answers(folder: Path, moved: Callable[[Path], None] | None = None) -> dict[str, dict[str, Any]]:
    """Return the comparable answers to all cases, by name and surface. Asked in their order: recalling counts.

    `moved` may put another index in the place of each.
    """
    folder = folder.resolve()
    with capture_logs(), _alone(folder), world(folder, moved) as made, surfaces(made) as asked:
        return {
            case.name: {
                name: comparable(getattr(asked, name)(case), folder)
                for name in SURFACES
                if getattr(case, name) is not None
            }
            for case in CASES
        }


# Comparing


def comparable(value: Any, folder: Path, key: str = "") -> Any:
    """Return an answer without what may differ from run to run."""
    if key in VOLATILE and value is not None:
        return "(varies)"
    if isinstance(value, Mapping):
        if key in TIMES:
            return sorted(value)
        told = value.keys() - PER_CALL if value.keys() >= PER_CALL else value.keys()
        return {name: comparable(each, folder, name) for name, each in value.items() if name in told}
    if isinstance(value, list):
        return [comparable(each, folder) for each in value]
    if isinstance(value, float):
        return float(f"{value:.{DIGITS}g}") + 0.0
    return _shortened(value, folder) if isinstance(value, str) else value


def _shortened(text: str, folder: Path) -> str:
    text = text.replace(str(folder), "(folder)")
    if len(text) <= LONGEST:
        return text
    return f"{text[:LONGEST]}… ({len(text)} characters, {hashlib.sha256(text.encode()).hexdigest()[:12]})"


def written(value: Any, margin: str = "", width: int = 118) -> str:
    """Return JSON with sorted keys, what fits a line on one line."""
    flat = json.dumps(value, ensure_ascii=False, sort_keys=True)
    if len(margin) + len(flat) <= width or not isinstance(value, dict | list) or not value:
        return flat
    inner = margin + " "
    if isinstance(value, dict):
        each = [f"{json.dumps(name, ensure_ascii=False)}: {written(value[name], inner)}" for name in sorted(value)]
        return "{\n" + inner + f",\n{inner}".join(each) + f"\n{margin}}}"
    return "[\n" + inner + f",\n{inner}".join(written(item, inner) for item in value) + f"\n{margin}]"
