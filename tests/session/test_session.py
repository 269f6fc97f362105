"""What an open index shares is made once, whatever views of it are taken and however often it is asked."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import rifflux
from rifflux import Document, Index, OutOfScope, Scope
from rifflux.index import open_index
from rifflux.memories import memories as memories_module
from rifflux.models import load_embedder
from rifflux.models.cross_encoder import LogitCalibration
from rifflux.models.guarded import ModelCallFailed
from rifflux.retrieve.steps import rerank as rerankers
from rifflux.retrieve.steps.rerank import RerankSettings, cross_encoder, llm
from rifflux.session import freshness
from rifflux.session import session as session_module
from rifflux.session.session import ValueCache
from rifflux.works import Work
from tests.support.chat_server import ChatServer, chat_server
from tests.support.commands import PATIENCE

ANN = Scope("ann")
DOMAINS = ("works", "conversations", "memories", "collections", "documents", "admin")


class Scores:
    """A cross-encoder that finds everything equally good."""

    calibration = LogitCalibration()

    def __call__(self, question: str, passages: list[str], deadline: float | None = None) -> Any:
        import numpy as np

        return np.zeros(len(passages))


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with chat_server() as server:
        yield server


@pytest.fixture
def index(server: ChatServer) -> Iterator[Index]:
    settings = RerankSettings(cross_encoder="small", llm_url=server.url, llm_model="m")
    with open_index(":memory:", model="hash", rerankers=settings) as index:
        for view in (index, index.scoped(ANN)):
            view.add(Document("heron", "A heron stands in the reeds"), Document("egret", "An egret stands beside"))
            view.works.add(Work("On herons", "Herons stand in the reeds.", license="CC0-1.0"))
            view.memories.add("Ann saw a heron in the reeds")
        talk = index.scoped(ANN).conversations.add("Birds")
        index.scoped(ANN).conversations.add_message(talk.id, "the heron stands in the reeds")
        yield index


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> Counter[Any]:
    """How often each of what is costly was made, by what it is and for whom."""
    counts: Counter[Any] = Counter()

    def count(module: Any, name: str, key: Callable[..., Any], value: Callable[..., Any] | None = None) -> None:
        original = value or getattr(module, name)

        def counted(*given: Any, **named: Any) -> Any:
            counts[name, key(*given)] += 1
            return original(*given, **named)

        monkeypatch.setattr(module, name, counted)

    count(rerankers, "reranker_of", lambda choice, resources: (choice, resources.guard.user))
    count(memories_module, "Recall", lambda resources, *_: resources.guard.user)
    count(llm, "ChatModel", lambda *_: "")
    count(cross_encoder, "load_cross_encoder", lambda choice: choice, lambda choice: Scores())
    count(session_module, "calibration_of", lambda embedder: embedder.fingerprint)
    count(freshness, "look", lambda store, _: store.owner)
    return counts


def ask(index: Index) -> None:
    """Ask everything of an index, and of ann's view of it."""
    guarded = index.using(stopped=ignored)
    for view in (index, index.scoped(ANN), guarded, guarded.scoped(ANN)):
        for rerank in ("features", "maxsim", "cross-encoder", "llm"):
            view.search("heron in the reeds", rerank=rerank)
        view.memories.search("heron", rerank="features")
        view.everything("heron")
        view.retrieve("herons in the reeds")
        view.using(view.profile).search("heron", rerank="features")
    index.scoped(ANN).conversations.search("heron")


def ignored(_: ModelCallFailed) -> None:
    """Nothing came to nothing."""


FINGERPRINT = load_embedder("hash").fingerprint


def test_five_calls_make_everything_once(index: Index, made: Counter[Any]) -> None:
    start = time.monotonic()
    for _ in range(5):
        ask(index)
    looks = 1 + (time.monotonic() - start) // freshness.PAUSE
    assert {name for name, _ in made} >= {"reranker_of", "ChatModel", "load_cross_encoder", "calibration_of", "look"}
    # Once for each guard: its limits are part of what a reranker does.
    most = {"reranker_of": 2, "Recall": 2, "look": looks}
    assert {key: times for key, times in made.items() if times > most.get(key[0], 1)} == {}


def test_two_threads_make_it_once(index: Index, made: Counter[Any]) -> None:
    together, failed = threading.Barrier(4), []

    def run() -> None:
        together.wait()
        try:
            ask(index)
        except Exception as error:
            failed.append(error)

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    assert {made["ChatModel", ""], made["load_cross_encoder", "small"], made["calibration_of", FINGERPRINT]} == {1}
    assert {times for (name, _), times in made.items() if name in ("reranker_of", "Recall")} <= {1, 2}


def test_a_relevance_is_the_same_behind_a_guard_and_among_everything() -> None:
    with rifflux.open(":memory:") as index:
        index.add(Document("heron", "A heron stands in the reeds", kind="knowledge"), Document("tax", "Pay by March"))
        question = "where does the heron stand"
        (plain, *_), (guarded, *_) = index.search(question), index.using(stopped=ignored).search(question)
        among = index.everything(question)[0]
    assert plain.relevance == guarded.relevance == among.relevance is not None


@pytest.mark.parametrize("scope", [None, ANN])
def test_domains_are_made_once(index: Index, scope: Scope | None) -> None:
    view = index.scoped(scope) if scope else index
    for name in (*DOMAINS, "retrieve", "everything"):
        if name == "conversations" and scope is None:
            with pytest.raises(OutOfScope):
                _ = view.conversations
        else:
            assert getattr(view, name) is getattr(view, name)
    assert index.scoped(ANN) is index.scoped(ANN)


class TestFacets:
    """Facets are declared for an index, whichever view of it is at hand."""

    def test_all_views_see_them(self, index: Index) -> None:
        index.add(Document("a", "A kingfisher", metadata={"place": "pond"}), Document("b", "A kingfisher"))
        other, ann = index.using(index.profile), index.scoped(ANN)
        other.admin.declare_facets("place")
        for view in (index, other, ann, index.using(other.profile)):
            assert view.profile.facets == view.status().facets == ("place",)
        assert [hit.key for hit in index.search("kingfisher place:pond")] == ["a"]

    def test_declaring_again_and_going_back(self, index: Index) -> None:
        former = index.profile.facets
        for names in (("place",), former, ("place", "time")):
            index.admin.declare_facets(*names)
            assert index.profile.facets == index.using(index.profile).profile.facets == names

    def test_those_of_another_profile_stay(self, index: Index) -> None:
        conversations = index.scoped(ANN).admin.view.part("conversations", memories_profile())
        index.admin.declare_facets("place")
        assert conversations.facets == memories_profile().facets

    def test_those_of_one_user_are_not_anothers(self, index: Index) -> None:
        before = index.profile.facets
        index.scoped(ANN).admin.declare_facets("place")
        assert index.scoped(ANN).profile.facets == ("place",)
        assert index.scoped(Scope("bob")).profile.facets == index.profile.facets == before


def memories_profile() -> Any:
    from rifflux.memories.profile import MEMORIES

    return MEMORIES


class TestKept:
    """A value is made once for each key, and the least recently used is forgotten."""

    def test_an_error_is_not_kept(self) -> None:
        kept, answers = ValueCache(), iter((ZeroDivisionError("once"), 7))

        def make() -> int:
            answer = next(answers)
            if isinstance(answer, Exception):
                raise answer
            return answer

        with pytest.raises(ZeroDivisionError):
            kept("key", make)
        assert kept("key", make) == kept("key", make) == 7

    def test_the_least_recently_used_goes(self) -> None:
        kept, made = ValueCache(2), Counter[str]()

        def value(key: str) -> str:
            made[key] += 1
            return key

        for key in "abacaba":
            assert kept(key, lambda key=key: value(key)) == key  # type: ignore[misc]
        assert made == {"a": 1, "b": 3, "c": 1} or made == {"a": 1, "b": 2, "c": 1}

    def test_other_keys_are_not_held_up(self) -> None:
        kept, slow = ValueCache(), threading.Event()
        thread = threading.Thread(target=lambda: kept("slow", lambda: slow.wait(PATIENCE)))
        thread.start()
        try:
            assert kept("fast", lambda: 1) == 1
        finally:
            slow.set()
            thread.join()


def test_a_search_of_everything_embeds_once_and_makes_no_index(index: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    built: list[Any] = []
    original = Index.__init__
    everything = index.scoped(ANN).everything
    monkeypatch.setattr(Index, "__init__", lambda self, view: built.append(view) or original(self, view))
    everything("heron")
    assert built == []
