"""Every surface shows of each work what its license permits, by a hundred licenses as sources write them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import starmap
from typing import Any

import httpx2 as httpx
import pytest

from rifflux.index import Index, open_index
from rifflux.surfaces.shared.packs import retrieval_json
from rifflux.types import Identifier, Scope
from rifflux.works import Passage, Work
from tests.support.agents import Agent, over_stdio
from tests.support.licenses import WILD
from tests.support.server import serving

#: They start processes.
pytestmark = pytest.mark.slow

QUERY = "quokka"
MOST = 100
LICENSES = [*WILD, "opened by rule", "CC-BY-NC-SA-2.0"]
#: The rules of the administrator: one opens, one closes.
RULES = {"opened by rule": "text", "CC-BY-NC-SA-2.0": "nothing"}
SHOWN = [*WILD.values(), *RULES.values()]
IDS = [f"10.1/n{number}n" for number in range(len(LICENSES))]
NAMES = [f"doi:{id}" for id in IDS]


def work(number: int, license: str) -> Work:
    """A work whose abstract, passage, heading and author are all its own."""
    passage = Passage(f"A quokka is textof{number}n.", headings=(f"headof{number}n",))
    names, note = (Identifier("doi", IDS[number]),), {"note": f"textof{number}n"}
    abstract, authors = f"The quokka of abstractof{number}n.", (f"Ann Author{number}n",)
    return Work(
        f"Title {number}n", abstract, authors, identifiers=names, passages=(passage,), license=license, metadata=note
    )


@dataclass
class Surfaces:
    """The same works by each way to ask for them."""

    index: Index
    run: Any
    agent: Agent
    client: httpx.Client

    def command(self, *words: str) -> str:
        """What a command prints."""
        done = self.run(*words, "--db", "works.db")
        assert done.returncode == 0, done.stderr
        return str(done.stdout)


@pytest.fixture(scope="module")
def surfaces(tmp_path_factory: pytest.TempPathFactory, command_line: Any) -> Iterator[Surfaces]:
    run = command_line(tmp_path_factory.mktemp("wild"))
    with open_index(run.folder / "works.db", model="hash", profile="works") as index:
        index.policies.set("licenses", RULES)
        index.works.add(*starmap(work, enumerate(LICENSES)))
        index.scoped(Scope("ann")).works.add(*starmap(work, enumerate(LICENSES)))
        with (
            over_stdio(run.folder, run.folder / "works.db") as agent,
            serving(run, "--db", "works.db", "--open", "--rate", 100_000) as service,
            service.client() as client,
        ):
            yield Surfaces(index, run, agent, client)


WAYS: dict[str, Callable[[Surfaces], object]] = {
    "search": lambda on: [[*on.index.search(QUERY, top_k=300, mode=mode)] for mode in ("lexical", "hybrid")],
    "search of a user": lambda on: [*on.index.scoped(Scope("ann")).search(QUERY, top_k=300)],
    "everything of a user": lambda on: [*on.index.scoped(Scope("ann")).everything(QUERY, top_k=300)],
    "document": lambda on: [on.index.document(f"doi:{id}") for id in IDS],
    "get": lambda on: [on.index.get(f"doi:{id}") for id in IDS],
    "chunks": lambda on: [on.index.chunks(f"doi:{id}") for id in IDS],
    "why": lambda on: [on.index.why(QUERY, f"doi:{id}", filter={"metadata": {"note": "other"}}) for id in IDS[::9]],
    "work": lambda on: [on.index.works.get(f"doi:{id}") for id in IDS],
    "list": lambda on: on.index.works.all(),
    "export": lambda on: [on.index.works.export(*NAMES, format=style) for style in ("bibtex", "csl")],
    "retrieve": lambda on: [retrieval_json(on.index.retrieve(f"{QUERY} {id}", top_k=9, cite="csl")) for id in IDS[::5]],
    "search over HTTP": lambda on: on.client.post("/search", json={"query": QUERY, "top_k": MOST}).text,
    "document over HTTP": lambda on: [on.client.get(f"/documents/doi:{id}").text for id in IDS],
    "work over HTTP": lambda on: [on.client.get(f"/works/doi:{id}").text for id in IDS],
    "export over HTTP": lambda on: on.client.post("/works/export", json={"works": NAMES[:99]}).text,
    "retrieve over HTTP": lambda on: on.client.post("/retrieve", json={"query": QUERY, "top_k": 50}).text,
    "an agent's search": lambda on: on.agent.call("search_rifflux", query=QUERY, top_k=50),
    "an agent's document": lambda on: [on.agent.call("get_document", document=f"doi:{id}") for id in IDS],
    "an agent's evidence": lambda on: on.agent.call("retrieve", query=QUERY, top_k=50, candidates=True),
    "search of the command line": lambda on: on.command("search", QUERY, "--full", "--top-k", "300"),
    "search as JSON": lambda on: on.command("search", QUERY, "--json", "--explain", "--top-k", "300"),
    "evidence as JSON": lambda on: on.command("retrieve", QUERY, "--json", "--top-k", "50", "--max-tokens", "9000"),
    "list of the command line": lambda on: on.command("works", "list", "--json"),
    "export of the command line": lambda on: on.command("works", "export", "--csl", *NAMES),
}  # fmt: skip
#: The ways that give texts: there, what may be shown of all works is.
WHOLE = ("document", "get", "chunks", "document over HTTP", "an agent's document")


@pytest.mark.parametrize("way", WAYS)
def test_each_license_shows_what_it_permits(surfaces: Surfaces, way: str) -> None:
    told = str(WAYS[way](surfaces))
    assert "n" in told
    for number, (license, shown) in enumerate(zip(LICENSES, SHOWN, strict=True)):
        abstract, text = (f"{part}of{number}n" in told for part in ("abstract", "text"))
        assert not text or shown == "text", license
        assert not abstract or shown != "nothing", license
        assert not (f"headof{number}n" in told and shown != "text"), license
        if way in WHOLE:
            assert (abstract, text) == (shown != "nothing", shown == "text"), license


@pytest.mark.parametrize("way", ["search", "document", "work over HTTP", "retrieve over HTTP", "search as JSON"])
def test_facts_are_the_owners_until_they_are_nobodys(surfaces: Surfaces, way: str) -> None:
    closed = [number for number, shown in enumerate(SHOWN) if shown == "nothing"]
    told = str(WAYS[way](surfaces))
    assert any(f"Author{number}n" in told for number in closed)
    surfaces.index.policies.set("facts", "nobody")
    try:
        told = str(WAYS[way](surfaces))
    finally:
        surfaces.index.policies.set("facts", "owner")
    assert not [number for number in closed if f"Author{number}n" in told]


def test_an_owner_may_see_their_own_texts_and_nobody_else_does(surfaces: Surfaces) -> None:
    ann, closed = surfaces.index.scoped(Scope("ann")), SHOWN.index("nothing")
    surfaces.command("config", "set", "own_texts", "on", "--user", "ann")
    try:
        assert f"textof{closed}n" in ann.document(f"doi:{IDS[closed]}").text
        assert f"textof{closed}n" not in surfaces.index.document(f"doi:{IDS[closed]}").text
        pack = ann.retrieve(f"quokka doi:{IDS[closed]}").evidence
        assert "license.shown_to_owner" in {notice.code for notice in pack.notes}
        assert ann.works.verify(pack) == []
        assert any(
            "it has a text that no recorded license permits" in each for each in surfaces.index.works.verify(pack)
        )
    finally:
        ann.policies.set("own_texts", False)
    assert f"textof{closed}n" not in ann.document(f"doi:{IDS[closed]}").text


def test_the_pack_says_what_a_rule_opened(surfaces: Surfaces) -> None:
    pack = surfaces.index.retrieve(f"quokka doi:{IDS[LICENSES.index('opened by rule')]}").evidence
    (notice,) = [each for each in pack.notes if each.code == "license.opened_by_rule"]
    assert notice.data == {"license": "opened by rule"}


def test_the_abstract_alone_is_quoted_and_verified(surfaces: Surfaces) -> None:
    id = IDS[SHOWN.index("abstract")]
    pack = surfaces.index.retrieve(f"quokka doi:{id}", top_k=1).evidence
    assert [item.text for item in pack.items if f"doi:{id}" in item.identifiers] == [
        f"The quokka of abstractof{SHOWN.index('abstract')}n."
    ]
    assert surfaces.index.works.verify(pack) == []


class TestSettings:
    def test_on_the_command_line(self, surfaces: Surfaces) -> None:
        told = json.loads(surfaces.command("config", "get", "licenses", "--json"))
        assert told == {"licenses": {name.lower(): shown for name, shown in RULES.items()}}
        done = surfaces.run("config", "set", "licenses", "other-oa=all", "--db", "works.db")
        assert done.returncode == 2
        assert "write a license and text, abstract or nothing" in " ".join(done.stderr.split())

    def test_over_http(self, surfaces: Surfaces) -> None:
        settings = surfaces.client.get("/admin/settings").json()
        assert (settings["facts"], settings["own_texts"], "opened by rule" in settings["licenses"]) == (
            "owner",
            False,
            True,
        )
        assert surfaces.client.put("/admin/settings", json={"licenses": {"x": "all"}}).status_code in (400, 422)
        assert surfaces.client.put("/admin/settings/own", json={"own_texts": False}).json()["own_texts"] is False

    def test_in_the_configuration(self, surfaces: Surfaces) -> None:
        closed = LICENSES.index("other-oa")
        given = surfaces.run.folder / "rules.toml"
        given.write_text('[licenses]\n"other-oa" = "text"\n')
        asked = type(surfaces.run)(surfaces.run.folder, {"RIFFLUX_CONFIG": str(given)})
        assert f"textof{closed}n" in asked("get", f"doi:{IDS[closed]}", "--db", "works.db").stdout
        given.write_text('[licenses]\n"*" = "text"\n')
        refused = asked("get", f"doi:{IDS[closed]}", "--db", "works.db")
        assert refused.returncode == 2
        assert "rules.toml" in refused.stderr
