"""Switching to another model: searches go on, nothing is made twice, and everybody notices."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any

import pytest

import rifflux
from rifflux import Document, Index, InvalidArgument
from rifflux.models.hashing import HashEmbedder
from rifflux.models.scale import TOPICS
from rifflux.store import State
from rifflux.store.sqlite.semantic.semantic import SqliteSemantic
from rifflux.types import Vectors
from tests.support.places import word

#: They start processes.
pytestmark = pytest.mark.slow

CHUNKS = 300


WORD = word(7)


#: What the scale of a model is measured on, which is none of the index's texts.
MEASURED = tuple(chain.from_iterable(TOPICS))


@dataclass(frozen=True)
class Watched(HashEmbedder):
    """The hash embedder, which does something before every batch and keeps what it embedded."""

    before: Callable[[int], None] = field(default=lambda done: None, compare=False)
    seen: list[str] = field(default_factory=list, compare=False)

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        self.before(len(self.seen))
        self.seen.extend(text for text in texts if not any(each in text for each in MEASURED))
        return super().embed_documents(texts)


@pytest.fixture
def db(tmp_path: Path) -> Path:
    """An index of `CHUNKS` documents with vectors of hash:128."""
    path = tmp_path / "index.db"
    with rifflux.open(path, model="hash:128") as index:
        index.add(
            *(Document(f"d{number}", f"the heron {word(number)} stands in the river") for number in range(CHUNKS))
        )
    return path


@pytest.fixture
def index(db: Path) -> Iterator[Index]:
    """That index, opened without naming a model."""
    with rifflux.open(db) as index:
        yield index


def held(index: Index) -> dict[str, tuple[State, int]]:
    return {each.model.spec: (each.state, each.vectors) for each in index.admin.models()}


def test_after_a_switch_the_new_vectors_answer_and_the_old_are_gone(index: Index) -> None:
    before = index.search(WORD, mode="semantic")
    done = index.admin.switch("hash:256")
    assert (done.embedded_chunks, done.dropped_vectors) == (CHUNKS, CHUNKS)
    assert held(index) == {"hash:256": (State.ACTIVE, CHUNKS)}
    assert index.admin.embedder.dimension == 256
    after = index.search(WORD, mode="semantic")
    assert before[0].key == after[0].key == "d7"
    assert index.status().switching is None
    assert index.admin.check() == []


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux knows priorities of threads")
def test_a_switch_computes_at_the_lowest_priority_and_indexing_does_not(index: Index, db: Path) -> None:
    priorities: list[int] = []

    def note(_: int) -> None:
        priorities.append(os.getpriority(os.PRIO_PROCESS, threading.get_native_id()))

    usual = os.getpriority(os.PRIO_PROCESS, threading.get_native_id())
    index.admin.switch(Watched(256, before=note))
    assert set(priorities) == {19}
    assert os.getpriority(os.PRIO_PROCESS, threading.get_native_id()) == usual
    priorities.clear()
    with rifflux.open(db, model=Watched(256, before=note)) as opened:
        opened.add(Document("new", "a kingfisher"))
    assert set(priorities) == {usual}


def test_searches_go_on_and_what_is_added_meanwhile_is_found_before_and_after(index: Index, db: Path) -> None:
    states: list[Any] = []

    def meanwhile(done: int) -> None:
        found = index.search(WORD, mode="semantic")
        assert (found[0].key, found.trace.degraded) == ("d7", ())
        states.append(index.status().switching)
        if len(states) == 2:
            index.add(Document("late", "a late kingfisher"))
            index.remove("d9")
            assert index.search("a late kingfisher", mode="semantic")[0].key == "late"

    with rifflux.open(db) as other:
        other.admin.switch(Watched(256, before=meanwhile))
    # After the switch the scale of the model is measured.
    done = states.index(None) if None in states else len(states)
    assert all(states[:done])
    assert not any(states[done:])
    assert states[0].vectors < states[2].vectors < CHUNKS
    assert index.search("a late kingfisher", mode="semantic")[0].key == "late"
    assert held(index) == {"hash:256": (State.ACTIVE, CHUNKS)}
    assert index.admin.check() == []


def test_an_interrupted_switch_goes_on_where_it_was(index: Index) -> None:
    def interrupt(done: int) -> None:
        if done >= 200:
            raise KeyboardInterrupt

    first, second = Watched(256, before=interrupt), Watched(256)
    with pytest.raises(KeyboardInterrupt):
        index.admin.switch(first)
    assert held(index) == {"hash:128": (State.ACTIVE, CHUNKS), "hash:256": (State.BUILDING, 256)}
    assert index.search(WORD, mode="semantic")[0].key == "d7"
    assert index.admin.check() == []
    with pytest.raises(InvalidArgument, match="abort"):
        index.admin.switch("hash:8")
    assert index.admin.switch(second).embedded_chunks == len(second.seen) == CHUNKS - 256
    assert not set(first.seen) & set(second.seen)


def test_an_interrupted_switch_can_be_given_up(index: Index) -> None:
    def interrupt(done: int) -> None:
        if done:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        index.admin.switch(Watched(256, before=interrupt))
    ended = index.admin.abort_switch()
    assert ended is not None
    assert ended.dimension == 256
    assert held(index) == {"hash:128": (State.ACTIVE, CHUNKS)}
    assert index.admin.abort_switch() is None


def test_a_switch_that_another_process_gives_up_ends(index: Index, db: Path) -> None:
    with rifflux.open(db) as other, pytest.raises(rifflux.ModelError, match="aborted"):
        other.admin.switch(Watched(256, before=lambda done: [index.admin.abort_switch()].clear()))
    assert held(index) == {"hash:128": (State.ACTIVE, CHUNKS)}


def test_the_model_in_use_is_refused(index: Index) -> None:
    with pytest.raises(InvalidArgument, match="already"):
        index.admin.switch("hash:128")


def test_a_model_that_was_chosen_does_not_fit_afterwards_and_the_trace_says_so(index: Index, db: Path) -> None:
    with rifflux.open(db, model="hash:128") as chosen:
        chosen.search("heron")
        index.admin.switch("hash:256")
        found = chosen.search("heron")
        assert found.trace.effective_mode == "lexical"
        assert any("hash:256" in reason.text for reason in found.trace.degraded)


def test_a_question_that_is_embedded_when_the_switch_happens_is_embedded_again(
    index: Index, db: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nearest, switches = SqliteSemantic.nearest, ["hash:256"]

    def late(*arguments: Any, **settings: Any) -> Any:
        if switches:
            with rifflux.open(db) as other:
                other.admin.switch(switches.pop())
        return nearest(*arguments, **settings)

    monkeypatch.setattr(SqliteSemantic, "nearest", late)
    assert index.search(WORD, mode="semantic")[0].key == "d7"
    assert index.admin.embedder.dimension == 256


def test_indexing_goes_on_with_the_new_model_when_the_switch_happens_meanwhile(
    index: Index, db: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put, switches = index.admin.store.semantic.put_vectors, ["hash:256"]

    def late(*arguments: Any) -> Any:
        if switches:
            with rifflux.open(db) as other:
                other.admin.switch(switches.pop())
        return put(*arguments)

    monkeypatch.setattr(type(index.admin.store.semantic), "put_vectors", lambda _, *given: late(*given))
    index.add(Document("new", "a kingfisher"))
    assert held(index) == {"hash:256": (State.ACTIVE, CHUNKS + 1)}
    assert index.search("a kingfisher", mode="semantic")[0].key == "new"


def test_the_commands_list_switch_and_tell_who_names_the_former_model(run: Any, tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("The heron stands in the river.")
    run.json("index", "a.md")
    assert "no model or folder called" in run.refusal("models", "switch", "no-such-model")
    done = run("models", "switch", "hash:256", "--json")
    assert (done.returncode, '"embedded_chunks": 1' in done.stdout) == (0, True)
    assert "names hash" in done.stderr
    found = run("search", "heron")
    assert found.returncode == 0
    assert "'rifflux models switch" in found.stderr
    listed = run.json("models", "list", RIFFLUX_MODEL="")
    assert [(each["spec"], each["state"], each["vectors"]) for each in listed["index"]] == [("hash:256", "active", 1)]
    assert "all-MiniLM-L6-v2" in [each["spec"] for each in listed["known"]]
    assert run.json("models", "abort") == {"aborted": None}
