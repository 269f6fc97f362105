"""The retrievers against the frameworks themselves: what they find, what they pass on, and that no loop waits."""

from __future__ import annotations

import asyncio
import os
import re
import sys
import threading
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import rifflux
from rifflux import Document, Filter, Index, Scope
from rifflux.models.hashing import HashEmbedder
from tests.support.commands import PATIENCE

pytestmark = pytest.mark.slow
os.environ["HAYSTACK_TELEMETRY_ENABLED"] = "False"

NEEDED = "{} is in the extra 'integrations'"


@dataclass(frozen=True)
class Found:
    """A passage as a framework has it."""

    id: str
    text: str
    metadata: dict[str, Any]
    score: float | None = None


@dataclass(frozen=True)
class Adapter:
    """A retriever as its framework calls it, now and later."""

    now: Callable[..., list[Found]]
    later: Callable[..., Awaitable[list[Found]]]


def langchain(index: Index, **settled: Any) -> Adapter:
    pytest.importorskip("langchain_core", reason=NEEDED.format("langchain-core"))
    from rifflux.integrations.langchain import LangChainRetriever

    retriever = LangChainRetriever(index=index, **settled)

    def read(documents: Any) -> list[Found]:
        return [Found(each.id, each.page_content, each.metadata) for each in documents]

    async def later(query: str, **more: Any) -> list[Found]:
        return read(await retriever.ainvoke(query, **more))

    return Adapter(lambda query, **more: read(retriever.invoke(query, **more)), later)


def llama_index(index: Index, **settled: Any) -> Adapter:
    pytest.importorskip("llama_index.core", reason=NEEDED.format("llama-index-core"))
    from rifflux.integrations.llama_index import LlamaIndexRetriever

    def read(nodes: Any) -> list[Found]:
        return [Found(each.node.node_id, each.node.text, each.node.metadata, each.score) for each in nodes]

    def now(query: str, **more: Any) -> list[Found]:
        return read(LlamaIndexRetriever(index, **settled | more).retrieve(query))

    async def later(query: str, **more: Any) -> list[Found]:
        return read(await LlamaIndexRetriever(index, **settled | more).aretrieve(query))

    return Adapter(now, later)


def haystack(index: Index, **settled: Any) -> Adapter:
    pytest.importorskip("haystack", reason=NEEDED.format("haystack-ai"))
    from haystack import Pipeline

    from rifflux.integrations.haystack import HaystackRetriever

    def renamed(arguments: dict[str, Any]) -> dict[str, Any]:
        return {"filters" if name == "filter" else name: value for name, value in arguments.items()}

    def made() -> Any:
        pipeline = Pipeline()
        pipeline.add_component("retriever", HaystackRetriever(index, **renamed(settled)))
        return pipeline

    def read(answer: Any) -> list[Found]:
        return [Found(each.id, each.content, each.meta, each.score) for each in answer["retriever"]["documents"]]

    def now(query: str, **more: Any) -> list[Found]:
        return read(made().run({"retriever": {"query": query, **renamed(more)}}))

    async def later(query: str, **more: Any) -> list[Found]:
        return read(await made().run_async({"retriever": {"query": query, **renamed(more)}}))

    return Adapter(now, later)


ADAPTERS = {each.__name__: each for each in (langchain, llama_index, haystack)}


@pytest.fixture(params=ADAPTERS)
def adapt(request: pytest.FixtureRequest) -> Callable[..., Adapter]:
    """What makes the retriever of each framework."""
    return ADAPTERS[request.param]


@pytest.fixture
def index(tmp_path: Path) -> Iterator[Index]:
    (tmp_path / "heron.md").write_text("# Birds\n\nA heron stands in the river.\n")
    (tmp_path / "otter.md").write_text("# Mammals\n\nAn otter swims in the river.\n")
    with rifflux.open(tmp_path / "index.db", model=HashEmbedder(64)) as index:
        index.add(tmp_path / "heron.md", tmp_path / "otter.md")
        index.add(Document("ibis", "An ibis by the river.", metadata={"author": "Ann"}, created_at="2024-05-01"))
        yield index


def test_it_finds_what_a_search_finds(index: Index, adapt: Callable[..., Adapter]) -> None:
    wanted = index.search("heron in the river")
    found = adapt(index).now("heron in the river")
    assert [(each.id, each.text) for each in found] == [(hit.id, hit.text) for hit in wanted]
    assert {each.score for each in found} <= {None, *(hit.score for hit in wanted)}


def test_later_is_as_now(index: Index, adapt: Callable[..., Adapter]) -> None:
    retriever = adapt(index)
    assert asyncio.run(retriever.later("heron")) == retriever.now("heron")  # type: ignore[arg-type]


def test_the_metadata_is_that_of_the_hit(index: Index, adapt: Callable[..., Adapter]) -> None:
    (hit,) = index.search("heron", top_k=1)
    (found,) = adapt(index, top_k=1).now("heron")
    told = hit.lines, hit.page, hit.score, hit.relevance, hit.span
    assert found.metadata["document"] == hit.key
    assert found.metadata["collection"] == hit.collection
    lines, span = found.metadata["lines"], found.metadata["span"]
    assert (
        tuple(lines),
        found.metadata["page"],
        found.metadata["score"],
        found.metadata["relevance"],
        tuple(span),
    ) == told
    assert found.metadata["degraded"] == []


def test_the_metadata_of_a_document_is_passed_on(index: Index, adapt: Callable[..., Adapter]) -> None:
    (found,) = adapt(index, top_k=1).now("ibis")
    assert found.metadata["metadata"] == {"author": "Ann"}
    assert found.metadata["created_at"] == "2024-05-01"


@pytest.mark.parametrize("filter", [Filter(metadata={"author": "Ann"}), {"metadata": {"author": "Ann"}}])
def test_settings_hold_for_all_calls_and_arguments_for_one(
    index: Index, adapt: Callable[..., Adapter], filter: object
) -> None:
    settled = adapt(index, top_k=2, mode="lexical", filter=filter, options={"min_score": 0.0})
    assert [each.metadata["document"] for each in settled.now("river")] == ["ibis"]
    free = adapt(index)
    assert len(free.now("river")) == 3
    assert len(free.now("river", top_k=1)) == 1
    assert [each.metadata["document"] for each in free.now("river", filter=filter)] == ["ibis"]
    assert free.now("zebra", mode="lexical") == []


def test_what_degraded_is_told(adapt: Callable[..., Adapter]) -> None:
    with rifflux.open(":memory:", model=HashEmbedder(64)) as index:
        index.add(Document("heron", "A heron."), embed=False)
        (found,) = adapt(index).now("heron")
        assert "no chunk has a vector" in found.metadata["degraded"][0]


def test_a_wrong_argument_is_told_as_ever(index: Index, adapt: Callable[..., Adapter]) -> None:
    # Haystack wraps what a component raises, and quotes it.
    with pytest.raises(Exception, match="no mode 'fast'; choose one of"):
        adapt(index, mode="fast").now("heron")
    with pytest.raises(Exception, match="no filter 'operator'; choose from"):
        adapt(index).now("heron", filter={"operator": "=="})


def test_a_user_finds_what_is_the_users(index: Index, adapt: Callable[..., Adapter]) -> None:
    ann = index.scoped(Scope("ann"))
    ann.add(Document("diary", "A heron in my garden."))
    assert [each.metadata["document"] for each in adapt(ann).now("heron")] == ["diary"]


def test_the_loop_goes_on_meanwhile(
    index: Index, adapt: Callable[..., Adapter], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = threading.Event()
    embed = HashEmbedder.embed_query

    def waiting(self: HashEmbedder, text: str) -> Any:
        assert asked.wait(PATIENCE), "the loop waited for the search"
        return embed(self, text)

    monkeypatch.setattr(HashEmbedder, "embed_query", waiting)

    async def both() -> list[Found]:
        search = asyncio.ensure_future(adapt(index).later("heron"))
        await asyncio.sleep(0)
        asked.set()
        return await search

    assert asyncio.run(both())[0].metadata["document"].endswith("heron.md")


@pytest.mark.parametrize(
    ("module", "package", "told"),
    [
        ("langchain", "langchain_core", "langchain-core"),
        ("llama_index", "llama_index", "llama-index-core"),
        ("haystack", "haystack", "haystack-ai"),
    ],
)
def test_without_its_framework_the_error_names_it(
    monkeypatch: pytest.MonkeyPatch, module: str, package: str, told: str
) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == package]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, package, None)
    monkeypatch.delitem(sys.modules, f"rifflux.integrations.{module}", raising=False)
    with pytest.raises(rifflux.MissingExtra, match=f"pip install '{told}'"):
        import_module(f"rifflux.integrations.{module}")


def test_a_node_shows_a_model_only_where_it_is_from(index: Index) -> None:
    pytest.importorskip("llama_index.core", reason=NEEDED.format("llama-index-core"))
    from llama_index.core.schema import MetadataMode

    from rifflux.integrations.llama_index import LlamaIndexRetriever

    (found,) = LlamaIndexRetriever(index, top_k=1).retrieve("heron")
    shown = found.node.get_content(MetadataMode.LLM)
    assert "heading_path: Birds" in shown
    assert not re.search("^id: ", shown, re.M)
    assert found.node.get_content(MetadataMode.EMBED) == found.node.text
