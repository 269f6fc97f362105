"""Two worlds that differ only in what a user may not see, and requests to send to both of them.

Ann owns documents, conversations, memories and works, and reads a collection that Sam shares with her. The second world
is a copy of the first in which Eve and Sam also have private content, made of words that nobody else has, of words that
Ann misspells or shortens, and of Ann's own words. Whatever Ann sends must be answered alike in both.
"""

from __future__ import annotations

import asyncio
import hashlib
import io
import json
import os
import random
import re
import shutil
import signal
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any
from unittest.mock import patch

import httpx2 as httpx
from anyio.from_thread import BlockingPortal, start_blocking_portal
from fastapi import FastAPI
from mcp import Client
from mcp.types import TextContent
from structlog.testing import capture_logs

import rifflux
from rifflux import Document, Hit, Index, Scope
from rifflux.conversations import Conversation, Message, Thread
from rifflux.memories import Memories
from rifflux.service.accounts import Accounts
from rifflux.session.policies import HYBRID_SEARCH
from rifflux.store.sqlite.connection.derived import BackgroundBuilder
from rifflux.surfaces.cli import main
from rifflux.surfaces.http.app import create_app
from rifflux.surfaces.http.service import Service, ServiceSettings
from rifflux.surfaces.mcp.server import server
from rifflux.surfaces.mcp.workspace import Workspace
from rifflux.text.analyzer import analyzer
from rifflux.works.retrieval.stages import RetrievalSettings

__all__ = [
    "ANN",
    "STATES",
    "SURFACES",
    "Request",
    "Words",
    "World",
    "asked_of",
    "built_in",
    "comparable",
    "drawn",
    "misspelt",
    "terms_of",
    "worlds",
]

ANN, SAM, EVE = "ann", "sam", "eve"
MODEL = "hash:64"
#: What becomes of the derived files before requests are sent.
STATES = ("missing", "built", "stale")
SURFACES = ("http", "page", "mcp", "cli")
#: The clock of memories, which fade with time.
NOW = 1_767_225_600.0
#: JSON keys that say when or how fast something was done, or that cover such a value, like a pack's digest.
TIMES = frozenset(
    (
        *("milliseconds", "latency_ms", "seconds", "created_at", "updated_at", "created", "updated", "digest"),
        *("requested_at", "used_at", "expires_at", "synced_at"),
    )
)
#: A folder beside both indexes with files to import, and one in it with texts; what stands for the outer one's place.
NOTES, TEXTS = "notes", "texts"
HERE = "FOLDER"
#: The share of requests over HTTP and MCP that change something.
WRITES = 0.2
#: Letters that begin a code.
_CODE = 3
_CONSONANTS, _VOWELS = "bcdfghjklmnprstvz", "aeiou"


@dataclass(frozen=True)
class Words:
    """Words by who has them: `visible` are Ann's and Sam's shared ones, `foreign` those of Eve's private texts."""

    visible: tuple[str, ...]
    foreign: tuple[str, ...]

    @classmethod
    def drawn(cls, seed: int, number: int = 400) -> Words:
        """Draw visible words, and foreign ones that misspell, shorten and continue them, or are unlike them."""
        chance = random.Random(seed)
        visible = tuple(dict.fromkeys(_word(chance) for _ in range(number)))
        foreign: dict[str, None] = {}
        for word in visible:
            foreign[misspelt(word, chance)] = None
            foreign[misspelt(misspelt(word, chance), chance)] = None
            foreign[word[: chance.randint(2, 4)] + _word(chance)] = None
            foreign[_word(chance)] = None
        # What the analyzer takes for the same term would be visible too, and so would the letters of a code.
        terms = terms_of(visible)
        return cls(visible, tuple(each for each in foreign if len(each) > _CODE and not terms_of([each]) & terms))


def terms_of(words: Sequence[str]) -> set[str]:
    """Return the terms that the analyzer makes of some texts."""
    return {term for word in words for term in analyzer().terms(word)}


def _word(chance: random.Random) -> str:
    syllables = (chance.choice(_CONSONANTS) + chance.choice(_VOWELS) for _ in range(chance.randint(2, 4)))
    last: str = chance.choice(("", *_CONSONANTS))
    return "".join(syllables) + last


def misspelt(word: str, chance: random.Random) -> str:
    """Return a word with one letter behind the first changed, left out, added, or swapped with its neighbour."""
    place = chance.randrange(1, len(word))
    letter = chance.choice(_CONSONANTS + _VOWELS)
    ways = [
        word[:place] + letter + word[place + 1 :],
        word[:place] + word[place + 1 :],
        word[:place] + letter + word[place:],
        word[: place - 1] + word[place] + word[place - 1] + word[place + 1 :] if place > 1 else word + letter,
    ]
    return chance.choice(ways)


# Worlds


@dataclass(frozen=True)
class World:
    """An index in a file, open, with its surfaces as Ann meets them."""

    path: Path
    index: Index
    app: FastAPI
    portal: BlockingPortal
    token: str
    agent: Client
    state: str
    sent: Iterator[int] = field(default_factory=count)

    def ask(self, request: Request) -> Any:
        """Return the answer to a request, without times; ids that are drawn are the same in all worlds."""
        ids = (f"{self.state} {next(self.sent)} {number}" for number in count())

        def drawn_id(size: int) -> str:
            return hashlib.sha256(next(ids).encode()).hexdigest()[: 2 * size]

        with patch.multiple("secrets", token_hex=drawn_id, token_urlsafe=drawn_id):
            answer = getattr(self, f"_{request.surface}")(request)
        return comparable(answer, str(self.path))

    def _http(self, request: Request) -> Any:
        async def send() -> httpx.Response:
            transport = httpx.ASGITransport(self.app, client=("127.0.0.1", 1))
            headers = {"Authorization": f"Bearer {self.token}"}
            async with httpx.AsyncClient(transport=transport, base_url="http://localhost", headers=headers) as client:
                call = partial(client.request, request.method, request.target, params=request.query)
                if request.file:
                    return await call(data=request.body, files={"file": request.file})
                if request.name != "verify":
                    return await call(json=request.body)
                found = await client.post("/retrieve", json=request.body)
                if not found.is_success:
                    return found
                return await call(json={"evidence_pack": found.json()["evidence_pack"], "replay": True})

        answer = asyncio.run(send())
        headers = {name: value for name, value in answer.headers.items() if name not in _VARYING}
        if request.target == "/metrics" and answer.is_success:
            return {"status": answer.status_code, "headers": headers}
        is_json = "json" in answer.headers.get("content-type", "")
        body = json.loads(answer.content) if answer.content and is_json else answer.text
        return {"status": answer.status_code, "headers": headers, "body": body}

    def _page(self, request: Request) -> Any:
        async def send() -> httpx.Response:
            transport = httpx.ASGITransport(self.app, client=("127.0.0.1", 1))
            async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
                headers = {"Authorization": f"Bearer {self.token}"}
                return await client.get("/", params=request.query, headers=headers)

        answer = asyncio.run(send())
        return {"status": answer.status_code, "text": answer.text}

    def _mcp(self, request: Request) -> Any:
        given = {**request.body}
        if "path" in given:
            given["path"] = str(self.path.parent.parent / given["path"])
        result = self.portal.call(partial(self.agent.call_tool, request.target, given))
        texts = [block.text for block in result.content if isinstance(block, TextContent)]
        text = "\n".join(texts)
        if text.startswith("{"):
            return {"error": bool(result.is_error), "structured": json.loads(text)}
        return {"error": bool(result.is_error), "structured": result.structured_content, "text": text}

    def _cli(self, request: Request) -> Any:
        if request.words[0] == "usage":
            # What a service counts is written a little later, but for whom it shows it.
            self._http(Request("http", "read", "GET", "/usage"))
        words = ["rifflux", *(each.replace(HERE, str(self.path.parent.parent)) for each in request.words)]
        words += ["--db", str(self.path)]
        out, errors = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8") for _ in range(2))
        status: Any = 0
        # A command ends its process: it ignores signals from its end on.
        with patch.object(signal, "signal"), patch.multiple(sys, argv=words, stdout=out, stderr=errors):
            try:
                main()
            except SystemExit as end:
                status = end.code or 0
        printed, complained = (_read(stream) for stream in (out, errors))
        found = json.loads(printed) if "--json" in words and printed.startswith(("{", "[")) else printed
        return {"status": status, "out": found, "errors": complained}


_VARYING = frozenset(("x-request-id", "content-length", "date", "set-cookie"))


def _read(stream: io.TextIOWrapper) -> str:
    stream.flush()
    stream.seek(0)
    return stream.read()


def comparable(value: Any, path: str = "", key: str = "") -> Any:
    """Return an answer without what depends on the time or on where the index lies; numbers stay as they are."""
    if key in TIMES and not isinstance(value, Mapping | list):
        return None
    if isinstance(value, Mapping):
        if key in TIMES:
            return sorted(value)
        return {name: comparable(each, path, name) for name, each in value.items()}
    if isinstance(value, list):
        return [comparable(each, path) for each in value]
    if isinstance(value, str):
        text = value.replace(str(Path(path).parent), "(folder)")
        return _MOMENTS.sub("(time)", text)
    return value


#: Times in texts for people, and the digest of a pack.
_MOMENTS = re.compile(
    r"\b\d+(\.\d+)? (ms|s|milliseconds|seconds)\b|\bin \d+(\.\d+)? ?m?s\b|"
    r'"(milliseconds|latency_ms|seconds)": ?[\d.]+|\d{4}-\d\d-\d\dT[\d:.+]+Z?|'
    r'(?<=<untrusted )\w+|(?<=</untrusted )\w+|(?<=digest[" :=])[ "]*\w+'
)


@dataclass(frozen=True)
class Built:
    """The two files, a token of Ann's for both, their words, and ids of chunks and memories, hers and others'."""

    alone: Path
    crowded: Path
    token: str
    words: Words
    ids: tuple[str, ...]
    memories: tuple[str, ...]
    seed: int


def built_in(folder: Path, *, visible: int, foreign: int, seed: int = 1) -> Built:
    """Write both worlds to a folder: `visible` chunks that Ann may read, and in the second one `foreign` ones more."""
    words = Words.drawn(seed)
    alone, crowded = folder / "alone" / "index.db", folder / "crowded" / "index.db"
    for path in (alone, crowded):
        path.parent.mkdir(parents=True)
    _write_notes(folder / NOTES, words)
    with _still(), _opened(alone) as index:
        _fill_visible(index, words, visible, random.Random(seed))
        _, token = Accounts(index.registry).create(ANN)
    shutil.copyfile(alone, crowded)
    with _still(), _opened(crowded) as index:
        _fill_foreign(index, words, foreign, random.Random(seed + 1))
        ids = tuple(hit.id for user in (ANN, SAM, EVE) for hit in _sample(index.scoped(Scope(user)), words))
        memories = tuple(each.id for user in (ANN, EVE) for each in index.scoped(Scope(user)).memories.all())
    return Built(alone, crowded, token, words, ids, memories, seed)


def _write_notes(folder: Path, words: Words) -> None:
    """Write a few files that can be imported, and texts that can be indexed."""
    folder.mkdir()
    texts = folder / TEXTS
    texts.mkdir()
    for number, word in enumerate(words.visible[:3]):
        (texts / f"{word}.md").write_text(f"# {word.title()}\n\n{' '.join(words.visible[number : number + 12])}\n")
    chance = random.Random(0)
    (folder / "list.jsonl").write_text(_works("nk", 3, words.visible, chance))
    (folder / "talk.json").write_text(json.dumps([{"role": "user", "content": _text(words.visible, chance)}]))


def _sample(index: Index, words: Words) -> Sequence[Hit]:
    """Return some passages of a user."""
    question = " ".join((*words.visible[:8], *words.foreign[:8]))
    return index.search(question, mode="lexical", top_k=30)


@contextmanager
def _still() -> Iterator[None]:
    """Stop the clock of memories, build nothing in the background, and let works take all the time they need."""
    patient = (60_000.0, 60_000.0, None, ())
    with (
        patch.object(BackgroundBuilder, "require", lambda self: None),
        patch.object(BackgroundBuilder, "suggest", lambda self: None),
        patch.object(RetrievalSettings.__init__, "__defaults__", patient),
        patch.object(Memories.__init__, "__defaults__", (None, lambda: NOW)),
    ):
        yield


@contextmanager
def _opened(path: Path) -> Iterator[Index]:
    with rifflux.open(path, model=MODEL) as index:
        yield index


def _text(words: Sequence[str], chance: random.Random, length: int = 12) -> str:
    text = chance.choices(words, k=length)
    if chance.random() < 0.2:
        text.insert(chance.randrange(len(text)), f"{chance.choice(words)} {chance.randint(1, 30)}")
    if chance.random() < 0.1:
        text.insert(chance.randrange(len(text)), f"{chance.choice(words)[:_CODE].upper()}-{chance.randint(100, 999)}")
    return " ".join(text)


def _documents(prefix: str, amount: int, words: Sequence[str], chance: random.Random) -> Iterator[Document]:
    for number in range(amount):
        tags = chance.choice(words[:20])
        yield Document(
            f"{prefix}{number}",
            _text(words, chance),
            " ".join(chance.choices(words, k=3)).title(),
            chance.choice(("note", "page", "task")),
            f"2024-{chance.randint(1, 12):02}-{chance.randint(1, 28):02}",
            metadata={"tags": tags, "team": chance.choice(words[:10])},
        )


def _works(prefix: str, amount: int, words: Sequence[str], chance: random.Random) -> str:
    records = []
    for number in range(amount):
        record = {
            "_id": f"{prefix}{number}",
            "title": " ".join(chance.choices(words, k=4)).capitalize(),
            "abstract": _text(words, chance, 20),
            "authors": [f"{chance.choice(words[:40]).title()}, {chance.choice(words[:40]).title()}"],
            "year": chance.randint(1960, 2020),
            "venue": f"Journal of {chance.choice(words[:15]).title()}",
            "doi": f"10.1000/{prefix}{number}",
            "license": "CC-BY-4.0",
            "cites": [f"{prefix}{chance.randrange(amount)}" for _ in range(2)],
        }
        records.append(json.dumps(record))
    return "\n".join(records)


def _talk(id: str, words: Sequence[str], chance: random.Random) -> Thread:
    messages = tuple(
        Message(f"{id}-{turn}", id, _text(words, chance), role=("user", "assistant")[turn % 2], created_at="2024-05-01")
        for turn in range(4)
    )
    return Thread(Conversation(id, _text(words, chance, 3), chance.choice(words)), messages)


def _fill_person(
    index: Index, user: str, prefix: str, words: Sequence[str], documents: int, chance: random.Random
) -> None:
    mine = index.scoped(Scope(user))
    mine.admin.declare_facets("tags", "team")
    mine.add(*_documents(prefix, documents, words, chance))
    mine.works.import_text(_works(f"{prefix}k", 20, words, chance), source="shelf", format="jsonl")
    for number in range(4):
        mine.conversations.put(_talk(f"{prefix}talk{number}", words, chance), embed=True)
    for _ in range(8):
        mine.memories.add(f"{user} likes {_text(words, chance, 6)}", importance=chance.randint(1, 9))


def _fill_visible(index: Index, words: Words, chunks: int, chance: random.Random) -> None:
    """Give Ann documents of her own, and a shared collection of Sam's with most of the chunks."""
    index.policies.set(HYBRID_SEARCH, True)
    own = min(60, chunks // 2)
    _fill_person(index, ANN, "n", words.visible, own, chance)
    sam = index.scoped(Scope(SAM))
    sam.add(*_documents("w", chunks - own, words.visible, chance), collection="wiki")
    sam.collections.share("wiki", ANN)


def _fill_foreign(index: Index, words: Words, chunks: int, chance: random.Random) -> None:
    """Give Eve and Sam what Ann may not read: words of their own, and hers too, under the same keys."""
    mixed = (*words.foreign, *words.visible[:60])
    _fill_person(index, EVE, "n", mixed, chunks, chance)
    sam = index.scoped(Scope(SAM))
    sam.add(*_documents("w", 40, mixed, chance), collection="plans")
    sam.add(*_documents("n", 20, mixed, chance))
    index.collections.set_group("strangers", [EVE])
    eve = index.scoped(Scope(EVE))
    eve.add(*_documents("w", 20, mixed, chance), collection="wiki")
    for number in range(40):
        eve.judge(_text(words.visible, chance, 2), f"n{number}", chance.randint(0, 3))


@contextmanager
def worlds(built: Built, state: str) -> Iterator[tuple[World, World]]:
    """Open both worlds, with every derived file missing, built, or behind what changed since."""
    with ExitStack() as stack:
        stack.enter_context(_still())
        stack.enter_context(capture_logs())
        stack.enter_context(_without_settings(built.alone.parent.parent))
        portal = stack.enter_context(start_blocking_portal())
        both = []
        for path in (built.alone, built.crowded):
            _remove_derived(path)
            index = stack.enter_context(_opened(path))
            if state != "missing":
                index.admin.accelerate()
            if state == "stale":
                _change(index, path == built.crowded, built)
            service = Service(ServiceSettings(rate=1e9, burst=10**9, timeout_s=600), index)
            stack.callback(service.close)
            workspace = stack.enter_context(Workspace(path, roots=[path.parent.parent / NOTES]))
            agent = stack.enter_context(portal.wrap_async_context_manager(Client(server(workspace, user=ANN))))
            both.append(World(path, index, create_app(service), portal, built.token, agent, state))
        yield both[0], both[1]


def _remove_derived(path: Path) -> None:
    for each in path.parent.glob(f"{path.name}.*"):
        shutil.rmtree(each) if each.is_dir() else each.unlink()


def _change(index: Index, crowded: bool, built: Built) -> None:
    """Change, add and remove documents, so that derived files are behind."""
    chance = random.Random(built.seed + 2)
    mine, sam = index.scoped(Scope(ANN)), index.scoped(Scope(SAM))
    mine.add(*_documents("n", 10, built.words.visible, chance))
    sam.add(*_documents("w", 20, built.words.visible, chance), collection="wiki")
    for number in range(30, 36):
        sam.documents.remove(f"w{number}", collection="wiki")
    if crowded:
        eve = index.scoped(Scope(EVE))
        eve.add(*_documents("late", 60, (*built.words.foreign, *built.words.visible[:60]), chance))
        for number in range(30):
            eve.documents.remove(f"n{number}")


@contextmanager
def _without_settings(folder: Path) -> Iterator[None]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("RIFFLUX_")}
    ours = {"HOME": str(folder), "XDG_CONFIG_HOME": str(folder), "COLUMNS": "120", "NO_COLOR": "1"}
    before = Path.cwd()
    os.chdir(folder)
    try:
        with patch.dict(os.environ, kept | ours, clear=True):
            yield
    finally:
        os.chdir(before)


# Requests


@dataclass(frozen=True)
class Request:
    """What is sent: `target` is a path or a tool, `body` JSON or a tool's arguments, `words` those of a command.

    With a `file`, its name and content, `body` holds the other fields of a form.
    """

    surface: str
    name: str
    method: str = "POST"
    target: str = ""
    body: Any = None
    file: tuple[str, str] | None = None
    query: Mapping[str, Any] = field(default_factory=dict)
    words: tuple[str, ...] = ()


def asked_of(words: Words, chance: random.Random) -> str:
    """Draw a question: visible, misspelt, shortened and foreign words, phrases, beginnings, codes and limits."""
    sorts = chance.choices(
        ("visible", "misspelt", "foreign", "near foreign", "short", "prefix", "phrase", "code", "without", "name"),
        weights=(6, 4, 4, 2, 4, 2, 1, 2, 1, 2),
        k=chance.randint(1, 4),
    )
    parts = []
    for sort in sorts:
        seen, other = chance.choice(words.visible), chance.choice(words.foreign)
        any_word = chance.choice((seen, other))
        parts.append(
            {
                "visible": seen,
                "misspelt": misspelt(seen, chance),
                "foreign": other,
                "near foreign": misspelt(other, chance),
                "short": f"{any_word[: chance.randint(1, 4)]}{chance.choice(('', '.'))} {chance.randint(1, 30)}",
                "prefix": f"{any_word[: chance.randint(2, 4)]}*",
                "phrase": f'"{seen} {any_word}"',
                "code": f"{any_word[:_CODE].upper()}{chance.choice('- ')}{chance.randint(100, 999)}",
                "without": f"-{any_word}",
                "name": any_word.title(),
            }[sort]
        )
    if chance.random() < 0.1:
        parts.append(f"tags:{chance.choice((*words.visible[:20], *words.foreign[:20]))}")
    if chance.random() < 0.1:
        parts.append(f"by {chance.choice((words.visible, words.foreign))[chance.randrange(40)].title()}")
    if chance.random() < 0.1:
        parts.append(f"collection:{chance.choice(('wiki', 'sam/wiki', 'library', 'sam/plans', 'eve/wiki', 'nothing'))}")
    return " ".join(parts)


def _filter(words: Words, chance: random.Random) -> dict[str, Any] | None:
    any_words = (*words.visible[:20], *words.foreign[:20])
    return chance.choice(
        (
            *[None] * 6,
            {"collections": ["sam/wiki"]},
            {"collections": ["library"]},
            {"collections": ["sam/plans"]},
            {"kinds": ["note"]},
            {"since": "2024-06"},
            {"metadata": {"tags": chance.choice(any_words)}},
            {"authors": [chance.choice(any_words).title()]},
            {"venues": [f"Journal of {chance.choice(any_words).title()}"]},
        )
    )


def _key(chance: random.Random) -> str:
    return f"{chance.choice('nw')}{chance.randrange(60)}"


def drawn(built: Built, number: int, seed: int) -> Iterator[Request]:
    """Draw so many requests over all surfaces, always the same for a seed."""
    chance = random.Random(seed)
    for _ in range(number):
        surface = chance.choices(SURFACES, weights=(6, 1, 3, 2))[0]
        if surface == "page":
            yield _drawn_page(built.words, chance)
        elif surface == "cli":
            yield _drawn_cli(built, chance)
        elif chance.random() < WRITES:
            yield (_drawn_write if surface == "http" else _drawn_mcp_write)(built, chance)
        else:
            yield (_drawn_http if surface == "http" else _drawn_mcp)(built, chance)


def _search_options(chance: random.Random) -> dict[str, Any]:
    return {
        "mode": chance.choice(("lexical", "semantic", "hybrid", "hybrid", "hybrid-rerank")),
        "top_k": chance.choice((1, 5, 10)),
    }


def _drawn_http(built: Built, chance: random.Random) -> Request:
    words = built.words
    query, filter = asked_of(words, chance), _filter(words, chance)
    name = chance.choices(
        (
            *("search", "everything", "why", "classify", "chat", "retrieve", "messages", "recall", "read", "feedback"),
            *("verify", "export"),
        ),
        weights=(8, 3, 3, 3, 3, 4, 3, 2, 12, 1, 1, 1),
    )[0]
    post = partial(Request, "http", name, "POST")
    if name == "search":
        more = chance.choice(
            (
                {},
                {},
                {"rerank": "maxsim"},
                {"fusion": "linear:by-specificity"},
                {"one_per_document": True},
                {"typing": True},
                {"cutoff": 0.5},
                {"min_score": 0.5},
                {"symbol": chance.choice((*words.visible, *words.foreign))},
                {"sort": "date", "offset": 2},
            )
        )
        return post("/search", {"query": query, "explain": True, "filter": filter, **_search_options(chance), **more})
    if name == "everything":
        return post("/everything", {"query": query, "filter": filter, "explain": True})
    if name == "why":
        return post("/why", {"query": query, "document": _key(chance), **_search_options(chance)})
    if name == "classify":
        return post("/classify", {"query": query})
    if name == "chat":
        return post("/chat", {"question": query, "stream": False, "filter": filter})
    if name == "retrieve":
        mode = chance.choice((None, "lookup", "survey", "compare", "related", "generic", "keywords"))
        return post("/retrieve", {"query": query, "mode": mode, "top_k": 5, "cite": chance.choice((None, "bibtex"))})
    if name == "messages":
        return post("/conversations/search", {"query": query, "explain": True, "neighbors": 1})
    if name == "recall":
        return post("/memories/search", {"query": query, "explain": True})
    if name == "feedback":
        return post("/feedback", {"kind": "click", "query": query, "document": _key(chance)})
    if name == "verify":
        return post("/verify", {"query": query, "top_k": 3})
    if name == "export":
        return post("/works/export", {"works": [_work(chance), _work(chance)], "format": "bibtex"})
    number = chance.randrange(30)
    memory = chance.choice((*built.memories, f"m{_hexadecimal(chance)}"))
    target = chance.choice(
        (
            *(
                "/facets",
                "/collections",
                "/groups",
                "/documents",
                "/stats",
                "/status",
                "/me",
                "/usage",
                "/works/doubts",
            ),
            *("/conversations", "/memories", "/chats", "/tokens", "/online", "/log", "/nothing"),
            *(f"/chats/chat{_hexadecimal(chance)}", f"/chats/chat{_hexadecimal(chance)}/markdown"),
            *("/jobs", f"/jobs/{_hexadecimal(chance)}", "/version", "/health", "/ready", "/metrics", "/dashboard/data"),
            *("/admin/settings", f"/chunks/{chance.choice(built.ids)}", f"/chunks/{_hexadecimal(chance)}"),
            *(f"/memories/{memory}", f"/memories/{memory}/history"),
            *(f"/conversations/ntalk{number % 6}/messages/ntalk{number % 6}-{number % 5}",),
            *(f"/documents/{_key(chance)}", f"/documents/sam%2Fwiki%2Fw{number}", f"/documents/late{number}"),
            *(f"/works/shelf:nk{number}", f"/works/doi:10.1000%2Fnk{number}", f"/works/shelf:w{number}"),
            *(f"/conversations/ntalk{number % 6}", f"/conversations/ntalk{number % 6}/messages"),
            *("/collections/sam%2Fwiki", "/collections/sam%2Fplans", "/collections/eve%2Fwiki", "/collections/wiki"),
        )
    )
    return Request("http", "read", "GET", target)


def _hexadecimal(chance: random.Random) -> str:
    return f"{chance.getrandbits(64):016x}"


def _work(chance: random.Random) -> str:
    """Draw the name of a work, of Ann's or of nobody's that she may see."""
    return chance.choice((f"shelf:nk{chance.randrange(30)}", f"doi:10.1000/nk{chance.randrange(30)}", "shelf:w1"))


def _drawn_write(built: Built, chance: random.Random) -> Request:
    """Draw a change of what Ann has, in words that she has, or one that is not hers to make."""
    words = built.words.visible
    text, number = _text(words, chance), chance.randrange(8)
    user = chance.choice((EVE, SAM, "strangers", "nobody-known", "everyone"))
    collection = chance.choice(("plans", "own", "wiki", "sam%2Fwiki", "sam%2Fplans", "eve%2Fwiki"))
    talk = f"ntalk{number}"
    send = partial(Request, "http", "write")
    record = json.loads(_works("nk", 25, words, chance).splitlines()[number])
    return chance.choice(
        (
            partial(send, "PUT", f"/documents/{_key(chance)}", {"text": text}),
            partial(send, "PUT", f"/documents/n{number}", {"text": text, "collection": collection.replace("%2F", "/")}),
            partial(send, "POST", "/documents", {"text": text, "title": text[:20]}),
            partial(send, "POST", "/documents", {}, ("late0.md", text)),
            partial(send, "DELETE", f"/documents/{chance.choice(('n', 'late', 'w'))}{number}"),
            partial(send, "POST", "/memories", {"text": f"{ANN} likes {text}", "importance": chance.randint(1, 10)}),
            partial(send, "PATCH", f"/memories/{chance.choice(built.memories)}", {"importance": 9}),
            partial(send, "DELETE", f"/memories/{chance.choice(built.memories)}"),
            partial(send, "POST", "/conversations", {"title": text[:20], "id": f"fresh{number}"}),
            partial(send, "PATCH", f"/conversations/{talk}", {"title": text[:20]}),
            partial(send, "DELETE", f"/conversations/fresh{number}"),
            partial(send, "PATCH", f"/chats/chat{_hexadecimal(chance)}", {"title": text[:20]}),
            partial(send, "DELETE", f"/chats/chat{_hexadecimal(chance)}"),
            partial(send, "POST", "/chat", {"question": text[:200], "stream": False, "chat": "new"}),
            partial(send, "POST", "/messages", {"text": text, "conversation_id": talk}),
            partial(send, "POST", f"/conversations/{talk}/messages", {"text": text}),
            partial(send, "PATCH", f"/conversations/{talk}/messages/{talk}-{number % 5}", {"text": text}),
            partial(send, "DELETE", f"/conversations/{talk}/messages/{talk}-4"),
            partial(send, "POST", "/conversations/vectors"),
            partial(
                send,
                "POST",
                "/conversations/import",
                {},
                ("talk.json", json.dumps([{"role": "user", "content": text}])),
            ),
            partial(send, "POST", "/works", {"source": "shelf", "records": [record]}),
            partial(send, "POST", "/works/import", {"source": "list"}, ("list.jsonl", json.dumps(record))),
            partial(send, "POST", "/works/doubts", {"one": _work(chance), "other": _work(chance), "same": False}),
            partial(send, "DELETE", f"/works/{_work(chance).replace('/', '%2F')}"),
            partial(send, "POST", "/collections", {"name": collection.rpartition("%2F")[2]}),
            partial(send, "PATCH", f"/collections/{collection}", {"description": text}),
            partial(send, "DELETE", f"/collections/{chance.choice(('plans', 'sam%2Fplans', 'eve%2Fwiki'))}"),
            partial(send, "PUT", f"/collections/{collection}/readers/{user}", {"write": False}),
            partial(send, "DELETE", f"/collections/{collection}/readers/{user}"),
            partial(send, "PUT", f"/groups/{user}", {"members": [ANN, user]}),
            partial(send, "DELETE", f"/groups/{user}"),
            partial(send, "POST", "/tokens", {"label": text[:10]}),
            partial(send, "POST", "/tokens", {"user": user}),
            partial(send, "DELETE", f"/tokens/{_hexadecimal(chance)[:12]}"),
            partial(send, "DELETE", f"/jobs/{_hexadecimal(chance)}"),
            partial(send, "PUT", "/admin/settings", {"hybrid_search": False}),
            partial(send, "PUT", "/admin/settings/own", {"own_texts": chance.random() < 0.5}),
            partial(send, "DELETE", f"/admin/users/{user}"),
            partial(send, "POST", "/admin/messages/vectors"),
        )
    )()


def _drawn_page(words: Words, chance: random.Random) -> Request:
    return Request("page", "page", "GET", "/", query={"q": asked_of(words, chance)})


def _drawn_mcp(built: Built, chance: random.Random) -> Request:
    query = asked_of(built.words, chance)
    tool, given = chance.choice(
        (
            ("search_rifflux", {"query": query}),
            ("search", {"query": query, **_search_options(chance)}),
            ("search", {"query": query, "collections": ["sam/wiki"]}),
            ("everything", {"query": query}),
            ("why", {"query": query, "document": _key(chance)}),
            ("classify_query", {"query": query}),
            ("index_status", {}),
            ("retrieve", {"query": query}),
            ("recall", {"query": query}),
            ("get_document", {"document": _key(chance)}),
            ("search_conversations", {"query": query}),
            ("get_chunk", {"chunk_id": chance.choice((*built.ids, _hexadecimal(chance)))}),
            ("get_memory", {"id": chance.choice(built.memories)}),
            ("reindex_job", {"action": "status", "job": _hexadecimal(chance)[:8]}),
            ("verify", {"evidence_pack": {"query": query, "items": []}}),
        )
    )
    return Request("mcp", tool, target=tool, body=given)


def _drawn_mcp_write(built: Built, chance: random.Random) -> Request:
    """Draw a change that an agent makes for Ann, in words that she has."""
    text = f"{ANN} likes {_text(built.words.visible, chance, 6)}"
    tool, given = chance.choice(
        (
            ("remember", {"text": text, "importance": chance.randint(6, 10)}),
            ("edit_memory", {"id": chance.choice(built.memories), "text": text}),
            ("forget", {"ids": [chance.choice(built.memories)]}),
            ("reindex", {"path": f"{NOTES}/{TEXTS}"}),
            ("reindex", {"path": ".."}),
        )
    )
    return Request("mcp", tool, target=tool, body=given)


def _drawn_cli(built: Built, chance: random.Random) -> Request:
    query = asked_of(built.words, chance).lstrip("-")
    command = chance.choice(
        (
            *(("search", query, "--explain"), ("search", query, "--mode", "lexical"), ("search", query, "--json")),
            *(("everything", query, "--json"), ("ask", query), ("why", query, _key(chance)), ("retrieve", query)),
            *(("conversations", "search", query), ("memories", "search", query), ("status",), ("works", "list")),
            *(("collections", "list"), ("get", _key(chance)), ("memories", "list"), ("conversations", "list")),
            *(
                ("get", chance.choice(built.ids)),
                ("works", "show", _work(chance)),
                ("works", "review"),
                ("works", "export", _work(chance)),
            ),
            *(("conversations", "show", "ntalk1"), ("memories", "show", chance.choice(built.memories)), ("usage",)),
            *(
                ("tokens", "list"),
                ("config", "list"),
                ("judge", query, _key(chance)),
                ("search", query, "--rerank", "maxsim"),
            ),
            *(("index", f"{HERE}/{NOTES}/{TEXTS}"), ("works", "import", f"{HERE}/{NOTES}/list.jsonl")),
            *(
                ("conversations", "import", f"{HERE}/{NOTES}/talk.json"),
                ("memories", "add", _text(built.words.visible, chance, 6)),
            ),
            *(("search", query, "--mode", "semantic"), ("conversations", "embed"), ("collections", "share", "plans")),
        )
    )
    return Request("cli", command[0], words=(*command, "--user", ANN))
