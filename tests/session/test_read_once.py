"""A question is read once: checked, analyzed and classified, whatever is done with it."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import rifflux
from rifflux import Document, Index, session
from rifflux.index import federated
from rifflux.retrieve.query import reading
from rifflux.retrieve.steps.rerank import features
from rifflux.session import arguments, searching
from rifflux.text.analyzer import Analyzer
from rifflux.works.retrieval import retriever
from tests.support.statements import statements

#: A hybrid search of a page of ten may run so many statements besides the one that looks for changes.
MOST_STATEMENTS = 8
TEXTS = [f"Entry {number} of the cache lives for {number} minutes, then the queue drops it." for number in range(60)]


@pytest.fixture
def index(tmp_path: Path) -> Iterator[Index]:
    with rifflux.open(tmp_path / "index.db", model="hash:64") as index:
        index.add(*(Document(f"d{number}", text, f"Entry {number}") for number, text in enumerate(TEXTS)))
        yield index


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often a question is checked, analyzed and classified."""
    counted: Counter[str] = Counter()

    def counting(module: object, name: str) -> None:
        work: Callable[..., Any] = getattr(module, name)

        def counted_work(*given: Any, **named: Any) -> Any:
            counted[name] += 1
            return work(*given, **named)

        monkeypatch.setattr(module, name, counted_work)

    for module in (reading, searching):
        counting(module, "understand")
    for module in (reading, searching):
        counting(module, "classify")
    for module in (arguments, searching, session.reading, federated, retriever):
        counting(module, "checked_query")
    return counted


ONCE = {"checked_query": 1, "understand": 1, "classify": 1}


@pytest.fixture
def analyzed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """All texts that were taken apart into words, tokens or terms."""
    texts: list[str] = []
    inside = threading.local()

    def noting(owner: object, name: str) -> None:
        work: Callable[..., Any] = getattr(owner, name)

        def noted(*given: Any) -> Any:
            if getattr(inside, "is_noted", False):
                return work(*given)
            texts.append(given[-1])
            inside.is_noted = True
            try:
                return work(*given)
            finally:
                inside.is_noted = False

        monkeypatch.setattr(owner, name, noted)

    for name in ("terms", "words", "joined"):
        noting(Analyzer, name)
    noting(features, "tokens")
    return texts


def appearances(analyzed: list[str], words: str) -> set[int]:
    """Return in how many of the texts each of some words is."""
    return {sum(word in text for text in analyzed) for word in words.split()}


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"mode": "lexical"},
        {"mode": "semantic"},
        {"rerank": "features"},
        {"fusion": "linear", "min_score": 0.1},
        {"one_per_document": True, "diversify": True, "collapse": True},
    ],
)
def test_a_search_reads_its_question_once(index: Index, calls: Counter[str], options: dict[str, Any]) -> None:
    index.search('what drops an "entry" of the cahce -queue kind:note', **options)
    assert calls == ONCE


# The words below are in no text of the index: they are looked for in what was analyzed.


@pytest.mark.parametrize("options", [{}, {"mode": "lexical"}, {"rerank": "features"}, {"fusion": "linear"}])
def test_a_search_takes_each_word_apart_once(index: Index, analyzed: list[str], options: dict[str, Any]) -> None:
    index.search('queuing minutely, "dropped livings" of cahced pre-entering (Q77) -evicting', **options)
    assert appearances(analyzed, "queuing minutely dropped livings cahced pre-entering Q77 evicting") == {1}


@pytest.mark.parametrize(
    "question",
    ["cachings versus queuings", "compare cachings with queuings, more", "related to cachings, queuings"],
)
def test_a_retrieval_takes_each_word_apart_once(index: Index, analyzed: list[str], question: str) -> None:
    index.retrieve(question)
    assert appearances(analyzed, "cachings queuings") == {1}


def test_a_formula_is_taken_apart_once(tmp_path: Path, analyzed: list[str]) -> None:
    with rifflux.open(tmp_path / "works.db", profile="works", model="hash:64") as works:
        works.add(*(Document(f"d{number}", text) for number, text in enumerate(TEXTS)))
        works.retrieve("queuings of H^1(Xi, Hom_R) versus cachings of H^2(Xi, Ext_R)")
    assert appearances(analyzed, "queuings cachings Hom_R Ext_R") == {1}


def test_an_inquiry_takes_each_word_apart_once(index: Index, analyzed: list[str]) -> None:
    index.why("cachings queuings", "d7", rerank="features")
    assert appearances(analyzed, "cachings queuings") == {1}


def test_an_inquiry_reads_its_question_once(index: Index, calls: Counter[str]) -> None:
    index.why("cache entries", "d7", rerank="features")
    assert calls == ONCE


@pytest.mark.parametrize("question", ["caches and queues", "compare caches with queues", "what to read before caches"])
def test_a_retrieval_reads_its_question_once(index: Index, calls: Counter[str], question: str) -> None:
    index.retrieve(question)
    assert calls == ONCE


def test_all_sources_of_a_view_read_a_question_once(index: Index, calls: Counter[str]) -> None:
    results = index.everything("which entry of the cache drops -nothing")
    assert set(results.trace.counts) > {"knowledge", "files"}
    assert calls == ONCE


#: The statements of a search that looks for changes once, besides that look.
LOOK = "pragma data_version"
QUESTIONS = ("how long does entry 7 live", "what drops an entry of the cache", "which queue drops entry 31 first")


def _counted(run: list[str], search: Callable[[str], object]) -> list[int]:
    """Return how many statements each of some questions runs, none of which was there before."""
    search("minutes of the cache")
    counts = []
    for question in QUESTIONS:
        run.clear()
        search(question)
        assert run.count(LOOK) <= 1, run
        counts.append(len(run) - run.count(LOOK))
    return counts


@pytest.mark.parametrize("profile", ["files", "works"])
@pytest.mark.parametrize("built", [False, True])
def test_a_search_runs_few_statements(tmp_path: Path, profile: str, built: bool) -> None:
    with statements() as run, rifflux.open(tmp_path / "index.db", model="hash:64", profile=profile) as index:
        index.add(*(Document(f"d{number}", text, f"Entry {number}") for number, text in enumerate(TEXTS)))
        if built:
            index.admin.store.local.build()
        assert max(_counted(run, index.search)) <= MOST_STATEMENTS


def test_a_search_of_messages_runs_few_statements(tmp_path: Path) -> None:
    with statements() as run, rifflux.open(tmp_path / "index.db", model="hash:64") as index:
        index.policies.set("hybrid_search", "on")
        conversations = index.scoped(rifflux.Scope("ann")).conversations
        talk = conversations.add("Talk")
        for text in TEXTS:
            conversations.add_message(talk.id, text)
        for neighbors in (0, 2):
            counts = _counted(run, partial(conversations.search, neighbors=neighbors))
            assert max(counts) <= MOST_STATEMENTS
