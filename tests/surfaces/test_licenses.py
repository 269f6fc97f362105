"""Of a work without a license, every surface shows no text; where facts are nobody's, only title and identifiers."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import httpx2 as httpx
import pytest

from rifflux import SearchService
from rifflux.errors import NotFound
from rifflux.evidence.pack import digest
from rifflux.index import Index, open_index
from rifflux.surfaces.shared.packs import retrieval_json
from rifflux.text.names import title_keys
from rifflux.types import WITHHELD, Filter, Identifier, Link, Scope, Tag
from rifflux.works import Passage, Work
from tests.support.agents import Agent, over_stdio
from tests.support.server import serving

#: They start processes.
pytestmark = pytest.mark.slow

TITLE = "Closed cohomology"
DOI = "doi:10.1/closed"
QUERY = "closed cohomology of things"
#: Its text, its headings, its subjects, its people, its dates, where it was published, what it cites.
HIDDEN = ("zyzzyva", "Quillfeather", "Vexation", "99X42", "ombrophobe", "10.1/open")
YEAR = 1871
CLOSED = Work(
    TITLE,
    "Cohomology of zyzzyva things.",
    authors=("Ida Quillfeather",),
    year=YEAR,
    date=f"{YEAR}-05-06",
    updated=f"{YEAR}-06-07",
    venue="Annals of Vexation",
    kind="zyzzyva-article",
    tags=(Tag("term", "zyzzyva"), Tag("msc", "99X42"), Tag("keyword", "ombrophobe")),
    passages=(Passage("More on the zyzzyva.", "section", ("The zyzzyva",), "zyzzyva"),),
    citations=(Link("doi:10.1/open"),),
    identifiers=(Identifier("doi", "10.1/closed"), Identifier("arxiv", "math/0102001")),
    metadata={"note": "ombrophobe"},
)
OPEN = Work(
    "Open things",
    "Cohomology of open things.",
    authors=("Ann Able",),
    year=2001,
    identifiers=(Identifier("doi", "10.1/open"),),
    license="CC-BY-4.0",
)


@dataclass
class Surfaces:
    """The same works by each way to ask for them; `key` and `chunk` name the closed one."""

    index: Index
    run: Any
    agent: Agent
    client: httpx.Client
    key: str
    chunk: str


@pytest.fixture(scope="module")
def surfaces(tmp_path_factory: pytest.TempPathFactory, command_line: Any) -> Iterator[Surfaces]:
    run = command_line(tmp_path_factory.mktemp("licenses"))
    with open_index(run.folder / "works.db", model="hash", profile="works") as index:
        report = index.works.add(CLOSED, OPEN)
        assert (report.added, report.unlicensed) == (2, 1)
        index.scoped(Scope("ann")).works.add(CLOSED)
        index.policies.set("facts", "nobody")
        with (
            over_stdio(run.folder, run.folder / "works.db") as agent,
            serving(run, "--db", "works.db", "--open", "--rate", 100_000) as service,
            service.client() as client,
        ):
            (hit,) = [hit for hit in index.search(TITLE) if hit.title == TITLE][:1]
            yield Surfaces(index, run, agent, client, hit.key, hit.id)


def hidden(answer: object) -> list[str]:
    """What an answer tells that it must not."""
    text = str(answer)
    told = [each for each in HIDDEN if each in text]
    return told + re.findall(rf"(?<![\w.]){YEAR}(?!\w)", text)


def the_other(text: str) -> str:
    """An answer without what it says of the open work."""
    return text.replace("doi:10.1/open", "").replace("10.1/open", "")


PYTHON: dict[str, Callable[[Surfaces], object]] = {
    "search": lambda on: [[*on.index.search(QUERY, mode=mode)] for mode in ("lexical", "semantic", "hybrid")],
    "search with a reranker": lambda on: [[*on.index.search(QUERY, rerank=each)] for each in ("features", "maxsim")],
    "search of a user": lambda on: [*on.index.scoped(Scope("ann")).search(QUERY)],
    "everything": lambda on: [*on.index.everything(QUERY)],
    "everything of a user": lambda on: [*on.index.scoped(Scope("ann")).everything(QUERY)],
    "the contract": lambda on: SearchService(on.index).search(QUERY),
    "chunk": lambda on: on.index.get(on.chunk),
    "get": lambda on: on.index.get(on.key),
    "document": lambda on: on.index.document(on.key),
    "chunks": lambda on: on.index.chunks(on.key),
    "why": lambda on: [on.index.why(QUERY, each) for each in (on.key, on.chunk)],
    "why, of a filter": lambda on: [
        on.index.why(QUERY, on.key, filter=each)
        for each in (
            Filter(since="2000"), Filter(until="1500"), Filter(kinds=("note",)), Filter(tags=("msc:14",)),
            Filter(metadata={"authors": "Ann Able"}), Filter(metadata={"note": "other"}), Filter(without=("year",)),
        )
    ],
    "retrieve": lambda on: [on.index.retrieve(QUERY, mode=mode) for mode in (None, "survey", "related")],
    "retrieve about it": lambda on: [
        on.index.retrieve(f"{asked} {name}")
        for asked in ("papers similar to", "what to read before")
        for name in (DOI, TITLE)
    ],
    "retrieve as JSON": lambda on: retrieval_json(on.index.retrieve(QUERY)),
    "the evidence": lambda on: [on.index.retrieve(QUERY, cite=each).evidence for each in ("bibtex", "csl")],
    "work": lambda on: on.index.works.get(DOI),
    "export": lambda on: [on.index.works.export(DOI, format=each) for each in ("bibtex", "csl")],
    "list": lambda on: [on.index.works.all(), on.index.works.all(source="program", without_license=True)],
    "by its identifier": lambda on: [ask(DOI) for ask in (on.index.get, on.index.document, on.index.chunks)],
    "review": lambda on: [on.index.works.doubts(), TITLE],
    "importing what may be it": lambda on: [
        on.index.scoped(Scope("ann")).works.import_text(
            json.dumps({"title": TITLE, "authors": ["Ida Quillfeather"], "year": 1990}), source="other", format="jsonl"
        ),
        on.index.scoped(Scope("ann")).works.doubts(),
    ],
}  # fmt: skip
MCP: tuple[tuple[str, dict[str, Any]], ...] = (
    ("retrieve", {"query": QUERY}),
    ("retrieve", {"query": QUERY, "cite": "csl", "mode": "lookup"}),
    ("retrieve", {"query": QUERY, "cite": "bibtex", "mode": "related"}),
    ("search_rifflux", {"query": QUERY}),
    ("search_rifflux", {"query": QUERY, "mode": "lexical"}),
    ("get_chunk", {"chunk_id": "{chunk}"}),
    ("get_document", {"document": "{key}"}),
    ("get_document", {"document": DOI}),
    ("why", {"query": QUERY, "document": "{key}"}),
    ("index_status", {}),
)
HTTP: tuple[tuple[str, dict[str, Any] | None], ...] = (
    ("/retrieve", {"query": QUERY}),
    ("/retrieve", {"query": QUERY, "mode": "survey", "cite": "bibtex"}),
    ("/retrieve", {"query": f"papers similar to {DOI}"}),
    ("/retrieve", {"query": TITLE, "mode": "prereq"}),
    ("/retrieve", {"query": QUERY, "cite": "csl", "filter": {"date_range": {"end": "1900"}}}),
    ("/search", {"query": QUERY, "explain": True}),
    ("/search", {"query": QUERY, "explain": True, "mode": "lexical", "rerank": "features"}),
    ("/everything", {"query": QUERY, "explain": True}),
    ("/chunks/{chunk}", None),
    ("/documents/{key}", None),
    (f"/documents/{DOI}", None),
    ("/works/{key}", None),
    (f"/works/{DOI}", None),
    ("/works/export", {"works": [DOI]}),
    ("/works/export", {"works": [DOI], "format": "csl"}),
    ("/stats", None),
    ("/dashboard/data", None),
    ("/online", None),
)
COMMANDS: tuple[tuple[str, ...], ...] = (
    ("retrieve", QUERY),
    ("retrieve", QUERY, "--json"),
    ("retrieve", QUERY, "--cite", "bibtex"),
    ("retrieve", QUERY, "--cite", "csl"),
    ("search", QUERY, "--full", "--explain"),
    ("search", QUERY, "--json", "--explain"),
    ("get", "{chunk}"),
    ("get", "{key}", "--json"),
    ("why", QUERY, "{key}"),
    ("why", QUERY, "{key}", "--since", "2000", "--json"),
    ("get", DOI, "--json"),
    ("works", "list"),
    ("works", "list", "--json", "--without-license"),
    ("works", "show", "{key}"),
    ("works", "show", "{key}", "--json"),
    ("works", "export", "--bibtex", "{key}"),
    ("works", "export", "--csl", "{key}"),
    ("works", "review"),
)


@pytest.mark.parametrize("way", PYTHON)
def test_python_tells_no_more_than_title_and_identifiers(surfaces: Surfaces, way: str) -> None:
    told = str(PYTHON[way](surfaces))
    assert hidden(the_other(told)) == []
    assert "losed" in told  # in the title, or in its key


@pytest.mark.parametrize(("tool", "arguments"), MCP)
def test_agents_are_told_no_more(surfaces: Surfaces, tool: str, arguments: dict[str, Any]) -> None:
    asked: dict[str, Any] = {
        name: value.format(chunk=surfaces.chunk, key=surfaces.key) if isinstance(value, str) else value
        for name, value in arguments.items()
    }
    result = surfaces.agent.call(tool, **asked)
    assert not result.is_error, result.content
    assert hidden(the_other(str(result))) == []
    assert TITLE in str(result) or tool == "index_status" or "losed" in str(result)


@pytest.mark.parametrize(("path", "body"), HTTP)
def test_clients_are_told_no_more(surfaces: Surfaces, path: str, body: dict[str, Any] | None) -> None:
    path = path.format(chunk=surfaces.chunk, key=surfaces.key)
    reply = surfaces.client.get(path) if body is None else surfaces.client.post(path, json=body)
    assert reply.status_code == 200, reply.text
    assert hidden(the_other(reply.text)) == []


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_the_command_line_tells_no_more(surfaces: Surfaces, command: tuple[str, ...]) -> None:
    named = [each.format(chunk=surfaces.chunk, key=surfaces.key) for each in command]
    done = surfaces.run(*named, "--db", "works.db")
    assert done.returncode == 0, done.stderr
    assert hidden(the_other(done.stdout + done.stderr)) == []


def test_title_and_identifiers_are_told_and_that_nothing_else_is(surfaces: Surfaces) -> None:
    found = surfaces.client.post("/retrieve", json={"query": QUERY, "cite": "bibtex"}).json()
    for told in (*found["candidates"], *found["reranked"], *found["evidence_pack"]["items"]):
        assert told["withheld"] == (told["title"] == TITLE)
        assert ("arxiv:math/0102001" in told["identifiers"]) == (DOI in told["identifiers"]) == told["withheld"]
    (entry,) = [each for each in found["evidence_pack"]["bibliography"].values() if TITLE in each]
    for part in ("@misc{closed,", "title = {Closed cohomology}", "doi = {10.1/closed}", "annote = {No license is rec"):
        assert part in entry
    document = surfaces.client.get(f"/documents/{surfaces.key}").json()
    assert (document["title"], document["text"], DOI in document["identifiers"]) == (TITLE, WITHHELD, True)
    shown = surfaces.run("retrieve", QUERY, "--db", "works.db").stdout
    assert "arxiv:math/0102001" in shown
    assert WITHHELD in " ".join(shown.split())
    verdict = surfaces.index.why(QUERY, surfaces.key, filter={"since": "2000"})
    assert (
        verdict.reason
        == "excluded by the filter: its date does not pass and is not disclosed: no recorded license permits it"
    )


def test_what_it_cites_does_not_tell_so(surfaces: Surfaces) -> None:
    assert surfaces.index.works.get("doi:10.1/open").cited_by == ()
    assert "Closed" not in surfaces.run("works", "show", "doi:10.1/open", "--db", "works.db").stdout


def test_what_its_score_is_made_of_does_not_tell_the_year(surfaces: Surfaces) -> None:
    found = surfaces.index.retrieve(f"recent {QUERY}")
    made = {hit.title: hit.because("works").detail for hit in found.reranked}
    assert made[TITLE]["lexical"] > 0 == made[TITLE]["freshness"]
    assert made["Open things"]["freshness"] > 0


def test_guesses_at_its_authors_are_not_confirmed(surfaces: Surfaces) -> None:
    keys = title_keys(TITLE, CLOSED.authors)
    assert any("quillfeather" in key for key in keys)
    for key in keys:
        for ask in (surfaces.index.document, surfaces.index.get, surfaces.index.works.get):
            with pytest.raises(NotFound):
                ask(f"title:{key}")


def test_a_pack_that_claims_to_quote_it_is_not_told_whether_it_is_right(surfaces: Surfaces) -> None:
    pack = surfaces.agent.ask("retrieve", query=QUERY)["evidence_pack"]
    (item,) = [item for item in pack["items"] if item["title"] == TITLE]
    answers = []
    for guess in (CLOSED.abstract, "Something else altogether...."):
        item |= {"withheld": False, "text": guess, "hash": digest(guess), "span": [0, len(guess)]}
        answers.append(surfaces.agent.ask("verify", evidence_pack=pack)["problems"])
    assert (
        answers[0]
        == answers[1]
        == [
            f"[{item['number']}] closed: it has a text that no recorded license permits",
            "its digest does not match its content",
        ]
    )


def test_with_a_license_all_is_told(surfaces: Surfaces) -> None:
    told = json.dumps(retrieval_json(surfaces.index.retrieve("open things")))
    for part in ("Cohomology of open things.", "Ann Able", "2001"):
        assert part in told
