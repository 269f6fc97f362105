"""Nothing of one user shows to another over HTTP: not in an answer, a count, a suggestion, an error or a header.

Ann sends the same requests to two services. In one she is alone; in the other there are bob and what is nobody's, with
keys, titles and words like hers, and with some that she does not have. What she is answered must be the same in both,
and nothing that she sends may change what the others have. Requests are made from the OpenAPI document, so that a new
route is tried without anybody thinking of it.
"""

from __future__ import annotations

import asyncio
import hashlib
import itertools
import json
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx2 as httpx
import pytest
import structlog
from fastapi import FastAPI
from hypothesis import Phase, given
from hypothesis import strategies as st

import rifflux
from rifflux import EvidencePack, Index, Scope
from rifflux.service.accounts import Accounts
from rifflux.session.policies import HYBRID_SEARCH
from rifflux.store import PART
from rifflux.surfaces.http.app import create_app
from rifflux.surfaces.http.service import Service, ServiceSettings
from rifflux.testing import everything
from rifflux.types.nouns import noun_json
from rifflux.works.retrieval.stages import RetrievalSettings
from tests.support.exploring import examples
from tests.support.reading import read_here
from tests.support.users import KEYS, QUESTIONS, SECRETS, TEXTS, fill, hide, ids_of, share

#: They start processes.
pytestmark = pytest.mark.slow

JSON, FORM = "application/json", "multipart/form-data"
#: Files to send: a text, records with keys that others have, a conversation, and what cannot be read.
FILES = (
    ("n0.txt", f"# River\n\n{TEXTS[0]}".encode()),
    ("bobs-n0.jsonl", json.dumps({"_id": "bobs-n0", "text": TEXTS[1], "license": "CC0-1.0"}).encode()),
    ("talk.json", json.dumps([{"role": "user", "content": TEXTS[2]}]).encode()),
    ("n0.pdf", b"no PDF"),
)
METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS")
#: What tells the time, or a number that was drawn.
VOLATILE = frozenset(
    (
        *("milliseconds", "latency_ms", "seconds", "day", "created_at", "updated_at", "created", "updated"),
        *("used_at", "expires_at", "revoked_at", "requested_at", "answered_at", "ended_at", "seen_at", "digest"),
    )
)
DATES = ("2024", "2024-05-02", "2030-01-01", "yesterday")
WORDS = ("own", "bobs-", "bob", "ann", "user", "fact", "note", "math.AG", "reads quokkas", "**", "day,user,model")
#: Identifiers of works: ann's, others', and those that both have.
NAMES = ("own:w0", "own:w1", "own:w2", "doi:10.1000/w0", "doi:10.1000/bobs", "bobs:w0")
RECORDS: tuple[dict[str, Any], ...] = (
    {"_id": "w0", "title": "On rivers and caches", "text": TEXTS[0], "doi": "10.1000/w0", "license": "CC0-1.0"},
    {"_id": "w1", "title": "On rivers and caches", "text": TEXTS[1], "authors": ["Able, Ann"], "year": 1990},
    {"_id": "w2", "title": "Herons", "text": TEXTS[3], "cites": ["w0", "doi:10.1000/bobs"], "license": "CC-BY-4.0"},
    {"_id": "w3", "title": "Herons", "categories": "math.AG", "doi": "10.1000/bobs", "year": 2999},
    {"_id": "w4"},
)
PACK = noun_json(EvidencePack("herons", "generic", (), tokens=0, max_tokens=100, confidence=0.0, uncertain=True))
BIBTEX = "@article{w0, title={Herons}, doi={10.1000/bobs}, license={CC0-1.0}}\n@book{w1, title={Never"
#: Names of collections that ann has or reads, and of others.
COLLECTIONS = ("library", "wiki", "carl/wiki", "dora/plans", "/atlas", "carl/plans", "bob/wiki", "/bobs-wiki")
#: Ways to name another user that a body or a query might be believed to have.
NAMING = ("user", "user_id", "owner", "scope", "as_user", "tenant")


@dataclass
class World:
    """A service, with tokens for its users, and the ids of chunks and memories that somebody may have told ann."""

    index: Index
    app: FastAPI
    tokens: Mapping[str, str]
    ids: list[str] = field(default_factory=list)
    before: str = ""

    @classmethod
    def of(cls, path: Path) -> World:
        """A service over a new index."""
        index = rifflux.open(path, model="hash:64")
        index.policies.set(HYBRID_SEARCH, True)
        accounts = Accounts(index.registry)
        with pytest.MonkeyPatch.context() as patch:
            drawn_alike(patch, "tokens")
            tokens = {user: accounts.create(user, role)[1] for user, role in (("ann", "user"), ("root", "admin"))}
        return cls(index, create_app(Service(ServiceSettings(rate=1e9, burst=10**9), index)), tokens)

    def of_others(self) -> str:
        """All that the store tells of everybody but ann."""
        views = [view for view in self.index.admin.store.views() if view.owner.partition(PART)[0] != "ann"]
        ids = [int(id, 16) for id in self.ids if not id.startswith(("m", "chat"))]
        return repr([everything(view, ids) for view in views])

    def ask(self, requests: Sequence[Request], user: str = "ann") -> list[httpx.Response]:
        """The answers to requests, one after the other."""

        async def ask() -> list[httpx.Response]:
            transport = httpx.ASGITransport(self.app)
            headers = {"Authorization": f"Bearer {self.tokens[user]}"}
            async with httpx.AsyncClient(transport=transport, base_url="http://localhost", headers=headers) as client:
                return [
                    await client.request(each.method, each.target, params=each.query, headers=each.headers, **each.sent)
                    for each in requests
                ]

        return asyncio.run(ask())


@dataclass(frozen=True)
class Request:
    """A request, and the operation of the OpenAPI document that it is made for."""

    operation: str
    method: str
    target: str
    query: Mapping[str, Any] = field(default_factory=dict)
    body: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)
    form: Mapping[str, Any] | None = None

    @property
    def sent(self) -> dict[str, Any]:
        """The body as the client takes it: JSON, or a form with a file."""
        if self.form is None:
            return {"json": self.body}
        fields = {name: value for name, value in self.form.items() if name != "file"}
        return {"data": fields, "files": {"file": self.form["file"]}}


@pytest.fixture(scope="module", params=["owned", "shared"])
def worlds(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[World, World]]:
    """Ann alone, and ann among others; some of their rows are older than hers, and some younger."""
    folder = tmp_path_factory.mktemp("worlds")
    worlds = alone, crowded = World.of(folder / "alone.db"), World.of(folder / "crowded.db")
    patch = pytest.MonkeyPatch()
    # What is ready in time depends on how busy the machine is, not on others.
    patch.setattr(RetrievalSettings.__init__, "__defaults__", (60_000.0, 60_000.0, None, ()))
    read_here(patch)
    with alone.index, crowded.index:
        for user in ("bob", ""):
            fill(crowded.index, user, SECRETS, "bobs-")
            bring(crowded.index, user, SECRETS[0])
        if request.param == "shared":
            for world in worlds:
                share(world.index)
            hide(crowded.index)
        for world in worlds:
            drawn_alike(patch, "ann")
            fill(world.index, "ann", TEXTS)
            bring(world.index, "ann")
            for what in ("rivers", "old violins", "the price of tea", "sailing to Iceland"):
                world.index.scoped(Scope("ann")).memories.add(f"ann reads about {what}")
            world.index.scoped(Scope("ann")).answer(TEXTS[0], chat="new")
        fill(crowded.index, "bob", (*SECRETS, *TEXTS), "bobs-")
        bob = crowded.index.scoped(Scope("bob"))
        bob.answer(SECRETS[0], chat="new")
        whose = (bob, *(world.index.scoped(Scope("ann")) for world in worlds))
        memories = {memory.id for each in whose for memory in each.memories.all(everything=True)}
        chats = {chat.id for each in whose for chat in each.chats.list()}
        ids = sorted({*ids_of(crowded.index), *memories, *chats})
        alone.ids = crowded.ids = ids
        crowded.before = crowded.of_others()
        yield worlds
    patch.undo()


def bring(index: Index, user: str, text: str = "") -> None:
    """Give a user works of two sources under names that others have too; with a text, all are about that."""
    mine = index.scoped(Scope(user)) if user else index
    records = [{**each, **({"title": f"{text} works", "text": text} if text else {})} for each in RECORDS[:3]]
    mine.works.import_text("\n".join(map(json.dumps, records)), source="own", format="jsonl")
    if text:
        secret = {"_id": "w0", "title": text, "text": text, "doi": "10.1000/bobs", "license": "CC0-1.0"}
        mine.works.import_text(json.dumps({**secret, "cites": ["own:w0"]}), source="bobs", format="jsonl")


def drawn_alike(patch: pytest.MonkeyPatch, seed: str) -> None:
    """Let ids that are drawn by chance be the same in both worlds."""
    count = itertools.count()

    def token_hex(size: int) -> str:
        return hashlib.sha256(f"{seed} {next(count)}".encode()).hexdigest()[: 2 * size]

    patch.setattr("secrets.token_hex", token_hex)
    patch.setattr("secrets.token_urlsafe", token_hex)


# Requests of all sorts, from what the OpenAPI document says


def operations(app: FastAPI) -> dict[str, Mapping[str, Any]]:
    """Every operation by its method and path."""
    paths = app.openapi()["paths"]
    return {f"{method.upper()} {path}": told for path, methods in paths.items() for method, told in methods.items()}


@dataclass(frozen=True)
class Made:
    """Makes requests: `ids` are everybody's, `own` ann's, and the components of the document say what bodies are."""

    components: Mapping[str, Any]
    ids: Sequence[str]
    own: Sequence[str]

    def request(self, name: str, operation: Mapping[str, Any]) -> st.SearchStrategy[Request]:
        """Requests of an operation."""
        method, path = name.split(" ", 1)
        asked = {
            sort: {each["name"]: each for each in operation.get("parameters", ()) if each["in"] == sort}
            for sort in ("path", "query")
        }
        content = operation.get("requestBody", {}).get("content", {})
        bodies = [self.value(content[JSON]["schema"])] if JSON in content else []
        forms = [self.form(content[FORM]["schema"])] if FORM in content else []
        return st.builds(
            lambda target, query, sent: Request(name, method, target, query, **sent),
            st.fixed_dictionaries({each: self.names(each, path) for each in asked["path"]}).map(
                lambda given: re.sub(r"\{(\w+)\}", lambda found: quote(given[found[1]], safe=""), path)
            ),
            st.fixed_dictionaries(
                {}, optional={each: self.field(each, told["schema"]) for each, told in asked["query"].items()}
            ),
            st.one_of(
                *(each.map(lambda body: {"body": body}) for each in bodies),
                *(each.map(lambda form: {"form": form}) for each in forms),
                *([] if bodies or forms else [st.just({})]),
            ),
        )

    def form(self, schema: Mapping[str, Any]) -> st.SearchStrategy[dict[str, Any]]:
        """The fields of a form, as text, with a file."""
        others = {**schema, "properties": {**schema["properties"]}, "required": []}
        del others["properties"]["file"]
        text = self.object(others).map(lambda given: {name: _as_text(value) for name, value in given.items()})
        return st.builds(lambda given, file: {**given, "file": file}, text, st.sampled_from(FILES))

    def names(self, name: str = "", path: str = "") -> st.SearchStrategy[str]:
        """What may be the name of something: ann's, another user's, nobody's; mostly of what a path is about."""
        anything = st.one_of(st.sampled_from(KEYS), st.sampled_from(NAMES), st.sampled_from(self.ids), st.just("none"))
        fitting = {
            "identifier": NAMES,
            "chunk_id": self.own,
            "name": (*["library"] * len(COLLECTIONS), *COLLECTIONS),
            "who": ("bob", "root", "everyone"),
            "message": ("m0", "m1", "m3", "bobs-m0"),
            "id": [id for id in self.ids if id.startswith("m")] if "memories" in path else ("talk", "bobs-talk"),
        }
        return st.one_of(st.sampled_from(fitting[name]), anything) if name in fitting else anything

    def value(self, schema: Mapping[str, Any]) -> st.SearchStrategy[Any]:
        """Values of a schema, or near it."""
        if "$ref" in schema:
            return self.value(self.components[schema["$ref"].rsplit("/", 1)[1]])
        if "anyOf" in schema:
            return st.one_of(*map(self.value, schema["anyOf"]))
        if "enum" in schema:
            return st.sampled_from(schema["enum"])
        match schema.get("type"):
            case "object" if "properties" in schema:
                return self.object(schema)
            case "object":
                return st.dictionaries(st.sampled_from(("tags", "bobs", "kind")), st.sampled_from(WORDS), max_size=1)
            case "array":
                return st.lists(self.value(schema["items"]), max_size=1)
            case "integer" | "number":
                return st.integers(int(schema.get("minimum", 1)), int(schema.get("maximum", 20)))
            case "boolean":
                return st.booleans()
            case "null":
                return st.none()
            case _:
                return st.one_of(
                    st.sampled_from(QUESTIONS), self.names(), st.sampled_from(DATES), st.sampled_from(WORDS)
                )

    def object(self, schema: Mapping[str, Any]) -> st.SearchStrategy[dict[str, Any]]:
        """An object with the fields that it needs, and others. Deadlines are left out: what is ready by then varies."""
        required = set(schema.get("required", ()))
        fields = {name: self.field(name, told) for name, told in schema["properties"].items() if name != "deadline_ms"}
        if {"records", "content"} <= fields.keys():  # one of them is meant
            ways = (("records", "content"), ("content", "records"))
            return st.one_of(
                *(
                    some_of({name: values for name, values in fields.items() if name != left}, required | {sent})
                    for left, sent in ways
                )
            )
        return some_of(fields, required)

    def field(self, name: str, schema: Mapping[str, Any]) -> st.SearchStrategy[Any]:
        """Values of a field: questions for what is asked, names for what is named, else what the schema says."""
        if name == "query":
            return st.sampled_from(QUESTIONS)
        if name == "records":
            return st.lists(st.sampled_from(RECORDS), min_size=1, max_size=3)
        if name == "evidence_pack":
            return st.sampled_from((PACK, {"items": [{"document": "bobs:w0"}]}))
        if name == "license":
            return st.sampled_from(("CC0-1.0", "CC-BY-4.0"))
        if name == "format":
            return st.sampled_from(("jsonl", "bibtex"))
        if name == "content":
            return st.sampled_from((BIBTEX, *map(json.dumps, RECORDS)))
        if name in ("collection", "collections", "name"):
            collection = st.sampled_from((*COLLECTIONS, "mine", "notes", "talks", "drafts", "plans"))
            return st.lists(collection, min_size=1, max_size=1) if name == "collections" else collection
        if name in ("created_at", "updated_at"):
            return st.sampled_from(DATES)
        if name == "source":
            return st.sampled_from(("own", "bobs"))
        if name == "works":
            return st.lists(st.sampled_from(NAMES), min_size=1, max_size=2)
        if name == "conversation_id":
            return self.names("id")
        if name.endswith("_id") or name in ("id", "document", "supersedes"):
            return self.names()
        return self.value(schema)


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def some_of(fields: Mapping[str, st.SearchStrategy[Any]], required: Set[str]) -> st.SearchStrategy[dict[str, Any]]:
    """Objects with the required fields, and some of the others."""
    return st.fixed_dictionaries(
        {name: values for name, values in fields.items() if name in required},
        optional={name: values for name, values in fields.items() if name not in required},
    )


def told(response: httpx.Response) -> str:
    """All that an answer says, without times."""
    headers = {
        name: value for name, value in response.headers.items() if name not in ("x-request-id", "content-length")
    }
    events = [line.removeprefix("data: ") for line in response.text.splitlines() if line.startswith("data: ")]
    try:
        body = plain([json.loads(each) for each in events] if events else response.json())
    except ValueError:
        body = response.text
    return json.dumps([response.status_code, headers, body], ensure_ascii=False)


def plain(value: Any) -> Any:
    """A JSON value without times, and with rounded numbers: memories fade a little from one moment to the next."""
    match value:
        case dict():
            return {name: plain(each) for name, each in value.items() if name not in VOLATILE}
        case list():
            return [plain(each) for each in value]
        case float():
            return round(value, 4)
        case _:
            return value


@pytest.fixture(autouse=True)
def _unlogged() -> Iterator[None]:
    """A service logs every request."""
    with structlog.testing.capture_logs():
        yield


#: With which statuses each operation was answered, by its name.
answered: dict[str, set[int]] = defaultdict(set)
#: Numbers the examples that were drawn.
drawn = itertools.count()


@examples(3, phases=(Phase.generate,))
@given(data=st.data())
def test_what_ann_is_answered_does_not_depend_on_others(data: st.DataObject, worlds: tuple[World, World]) -> None:
    alone, crowded = worlds
    found = operations(crowded.app)
    for world in worlds:
        fill(world.index, "ann", TEXTS)  # again, where an earlier example removed something
    own = [hit.id for hit in alone.index.admin.store.of("ann").catalog.chunks_of("documents", "n0")]
    made = Made(crowded.app.openapi()["components"]["schemas"], crowded.ids, own)
    kept = [name for name in sorted(found) if not name.startswith("DELETE")]
    names = [*data.draw(st.permutations(kept * 2)), *data.draw(st.permutations(sorted(found)))]
    requests = [data.draw(made.request(name, found[name])) for name in names]
    # What is drawn seldom names a memory and a change of it that are both there.
    for memory in alone.index.scoped(Scope("ann")).memories.all()[:1]:
        changed = Request("PATCH /memories/{id}", "PATCH", f"/memories/{memory.id}", body={"importance": 9})
        history = Request("GET /memories/{id}/history", "GET", f"{changed.target}/history")
        requests[:0] = [Request("GET /memories/{id}", "GET", changed.target), history, changed]
    for chat in alone.index.scoped(Scope("ann")).chats.list()[:1]:
        requests.append(Request("GET /chats/{id}", "GET", f"/chats/{chat.id}"))
        requests.append(Request("GET /chats/{id}/markdown", "GET", f"/chats/{chat.id}/markdown"))
        requests.append(Request("PATCH /chats/{id}", "PATCH", f"/chats/{chat.id}", body={"title": "Of rivers"}))
    others = [Request(each.operation, method, each.target) for each in requests[:3] for method in METHODS]
    requests += [each for each in others if f"{each.method} {each.operation.split(' ', 1)[1]}" not in found]
    # Of the many settings of a search or an answer, some are refused nearly always when all are drawn.
    requests.append(Request("POST /search", "POST", "/search", body={"query": "kestrel"}))
    requests.append(Request("POST /chat", "POST", "/chat", body={"question": "kestrel", "stream": False}))
    # Ids and names that an example made before are taken.
    seed = f"example {next(drawn)}"
    requests.append(Request("POST /collections", "POST", "/collections", body={"name": seed.replace(" ", "-")}))
    answers = []
    for world in worlds:
        patch = pytest.MonkeyPatch()
        drawn_alike(patch, seed)
        answers.append(world.ask(requests))
        patch.undo()
    for request, here, there in zip(requests, *answers, strict=True):
        assert told(there) == told(here), request
        answered[request.operation].add(here.status_code)


def test_every_operation_was_tried_and_answered(worlds: tuple[World, World]) -> None:
    if not answered:  # it runs alone, or another process has the test above
        test_what_ann_is_answered_does_not_depend_on_others(worlds=worlds)
    assert set(answered) == set(operations(worlds[1].app))
    for name, statuses in answered.items():
        is_the_administrators = 403 in statuses and statuses <= {403, 404, 405, 422}
        # Nobody has two works that may be one.
        is_of_what_is_not_there = name.startswith("DELETE") or name in ("POST /works/doubts", "GET /jobs/{id}")
        assert min(statuses) < 400 or is_the_administrators or is_of_what_is_not_there, (name, statuses)


def test_nothing_that_ann_sent_reached_others(worlds: tuple[World, World]) -> None:
    crowded = worlds[1]
    assert "kestrel" in crowded.before
    assert crowded.of_others() == crowded.before


@pytest.mark.parametrize("name", NAMING)
def test_no_request_can_say_whose_it_is(name: str, worlds: tuple[World, World]) -> None:
    """A body or query that names a user is refused, a header is ignored; usage and tokens alone may be asked for."""
    crowded = worlds[1]
    told_by_path = operations(crowded.app)
    bodies = {each: told["requestBody"]["content"] for each, told in told_by_path.items() if "requestBody" in told}
    sent: tuple[tuple[str, Any, Any], ...] = (
        (JSON, {name: "bob"}, None),
        (FORM, None, {"file": FILES[0], name: "bob"}),
    )
    requests = []
    for each, content in bodies.items():
        method, path = each.replace("{id}", "talk").split(" ", 1)
        asked = [(body, form) for kind, body, form in sent if kind in content]
        requests += [Request(each, method, path, body=body, form=form) for body, form in asked]
    for request, reply in zip(requests, crowded.ask(requests), strict=True):
        assert reply.status_code in ({422, 403} if request.target.startswith(("/admin", "/tokens")) else {422}), request
        assert reply.status_code == 403 or name in reply.json()["detail"]
    read = [each.split(" ", 1)[1] for each in told_by_path if each.startswith("GET") and "{" not in each]
    plainly, naming, headed = (
        crowded.ask([Request(each, "GET", each, query, headers=headers) for each in read])
        for query, headers in (({}, {}), ({name: "bob"}, {}), ({}, {f"X-{name}": "bob", "X-Forwarded-User": "bob"}))
    )
    for path, reply, other, third in zip(read, plainly, naming, headed, strict=True):
        assert told(third) == told(reply)
        if name == "user" and path in ("/usage", "/tokens", "/jobs"):
            assert other.status_code == 403
        else:
            assert other.status_code == 422
            assert f"no parameter '{name}'" in other.json()["detail"]
