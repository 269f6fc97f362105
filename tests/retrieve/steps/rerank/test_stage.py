"""The stage: what it does to hits, and what it does when its scorer can't."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rifflux import Hit
from rifflux.errors import InvalidArgument, ModelError
from rifflux.models.workers import Late, Workers
from rifflux.retrieve.pipeline import Plan, StepSkipped
from rifflux.retrieve.steps.rerank import Rerank, Scored
from rifflux.retrieve.table import Candidates, page
from tests.support.commands import PATIENCE
from tests.support.hits import asked, hit, stepped, table

SCORES = st.floats(-1e6, 1e6)


@dataclass
class Given:
    """Scores hits as it is told."""

    scores: list[float]
    parts: dict[str, Any] = field(default_factory=dict)
    name: str = "given"

    def __call__(self, plan: Plan, table: Candidates) -> Scored:
        return Scored(np.array(self.scores[: len(table)]), self.parts)


@dataclass
class Doing:
    """Does something when it should score."""

    work: Callable[[Plan, Candidates], Any]
    name: str = "doing"

    def __call__(self, plan: Plan, table: Candidates) -> Scored:
        scored: Scored = self.work(plan, table)
        return scored


def ids(hits: Sequence[Hit]) -> list[str]:
    return [each.id for each in hits]


@given(st.lists(SCORES, max_size=30), st.integers(1, 30))
def test_a_rerank_is_a_permutation_of_the_top_and_leaves_the_order_of_the_rest(scores: list[float], top: int) -> None:
    hits = [hit(number) for number in range(1, len(scores) + 1)]
    found = stepped(Rerank(Given(scores), top), asked("q"), hits)
    assert sorted(ids(found[:top])) == sorted(ids(hits[:top]))
    assert ids(found[top:]) == ids(hits[top:])


@given(st.lists(SCORES, min_size=1, max_size=30), st.integers(1, 30))
def test_scores_fall_along_the_list(scores: list[float], top: int) -> None:
    hits = [hit(number) for number in range(1, len(scores) + 1)]
    found = [each.score for each in stepped(Rerank(Given(scores), top), asked("q"), hits)]
    assert all(one >= two for one, two in pairwise(found))


def test_equal_scores_keep_the_fused_order() -> None:
    hits = [hit(number) for number in (3, 1, 2)]
    assert ids(stepped(Rerank(Given([1.0, 1.0, 1.0])), asked("q"), hits)) == ids(hits)


def test_a_moved_hit_tells_of_it() -> None:
    found = stepped(Rerank(Given([0.1, 0.9], {"a": np.array([0.1, 0.9])})), asked("q"), [hit(1), hit(2)])
    why = found[0].because("rerank:given")
    assert (found[0].key, found[0].score) == ("d2", 0.9)
    assert (why.rank, why.score, why.detail) == (1, 0.9, {"a": 0.9})


def test_the_tail_is_lowered_by_one_amount_where_it_is_above_the_head() -> None:
    hits = [hit(1, score=9.0), hit(2, score=8.0), hit(3, score=7.0), hit(4, score=5.0)]
    found = stepped(Rerank(Given([0.2, 0.5]), top=2), asked("q"), hits)
    assert [each.score for each in found] == pytest.approx([0.5, 0.2, 0.2, -1.8])
    assert found[3].because("rerank:given").detail == {"lowered": pytest.approx(6.8)}
    untouched = [hit(1), hit(2, score=0.1)]
    assert (stepped(Rerank(Given([0.2]), top=1), asked("q"), untouched)[1]).why == page(table(untouched))[1].why


def test_nothing_is_reranked_to_nothing() -> None:
    assert stepped(Rerank(Given([])), asked("q"), []) == []


@pytest.mark.parametrize("scores", [[1.0], [1.0, float("nan")], [1.0, float("inf")]])
def test_scores_that_are_none_are_refused(scores: list[float]) -> None:
    with pytest.raises(StepSkipped, match="finite score"):
        stepped(Rerank(Given(scores)), asked("q"), [hit(1), hit(2)])


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (ModelError("the server is gone"), "doing failed: the server is gone"),
        (ZeroDivisionError(), "doing failed: ZeroDivisionError"),
        (StepSkipped("no vectors"), "no vectors"),
    ],
)
@pytest.mark.parametrize("deadline_ms", [None, 5000])
def test_a_failure_is_not_applied(error: Exception, said: str, deadline_ms: float | None) -> None:
    def fail(plan: Plan, hits: Candidates) -> None:
        raise error

    with pytest.raises(StepSkipped, match=said):
        stepped(Rerank(Doing(fail), deadline_ms=deadline_ms), asked("q"), [hit(1)])


@pytest.mark.parametrize(("own", "query"), [(50, None), (None, 0.05), (50, 60.0), (60_000, 0.05)])
def test_the_tighter_deadline_holds(own: float | None, query: float | None) -> None:
    release = threading.Event()
    stage = Rerank(Doing(lambda query, hits: release.wait(PATIENCE)), deadline_ms=own)
    start = time.perf_counter()
    # On a busy machine the time may be up before the work begins.
    with pytest.raises(StepSkipped, match=r"did not finish in time|no time was left"):
        stepped(stage, asked("q", None if query is None else start + query), [hit(1)])
    release.set()
    assert time.perf_counter() - start > 0.045


def test_the_scorer_knows_its_deadline() -> None:
    seen: list[Any] = []
    scorer = Doing(lambda plan, hits: seen.append(plan.execution.deadline) or Scored(np.zeros(1)))
    stage = Rerank(scorer, deadline_ms=60_000)
    start = time.perf_counter()
    stepped(stage, asked("q", start + PATIENCE), [hit(1)])
    assert start + 60 <= seen[0] <= time.perf_counter() + 60


def test_no_time_left_is_said_at_once() -> None:
    with pytest.raises(StepSkipped, match="no time was left"):
        stepped(Rerank(Given([1.0])), asked("q", time.perf_counter() - 1), [hit(1)])


def test_hanging_work_is_bounded_and_starts_again_when_it_ends() -> None:
    release = threading.Event()
    workers = Workers(most_abandoned=2)
    for _ in range(2):
        with pytest.raises(Late, match="did not finish in time"):
            workers(release.wait, time.perf_counter() + 0.5, "hanging")
    for _ in range(20):
        with pytest.raises(Late, match="still busy with 2"):
            workers(release.wait, time.perf_counter() + PATIENCE, "hanging")
    hanging = {thread for thread in threading.enumerate() if thread.name == "hanging"}
    assert len(hanging) == 2
    release.set()
    for thread in hanging:
        thread.join(PATIENCE)
    assert workers(lambda: "again", time.perf_counter() + PATIENCE) == "again"


def test_the_interpreter_does_not_wait_for_what_hangs() -> None:
    script = """if True:
        import threading, time
        from rifflux.models.workers import Late, Workers
        try:
            Workers()(threading.Event().wait, time.perf_counter() + 0.5)
        except Late:
            print("left", threading.active_count())
    """
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=PATIENCE, check=True)
    assert done.stdout == "left 2\n"


def test_without_a_deadline_no_thread_is_needed() -> None:
    assert Workers()(threading.current_thread, None) is threading.current_thread()


def test_a_thread_works_again_unless_its_work_was_overdue() -> None:
    workers = Workers()
    first = workers(threading.current_thread, time.perf_counter() + PATIENCE)
    assert workers(threading.current_thread, time.perf_counter() + PATIENCE) is first
    assert first is not threading.current_thread()
    with pytest.raises(ZeroDivisionError):
        workers(lambda: 1 / 0, time.perf_counter() + PATIENCE)
    release = threading.Event()
    hung: list[threading.Thread] = []

    def hang() -> None:
        hung.append(threading.current_thread())
        release.wait(PATIENCE)

    with pytest.raises(Late, match="did not finish in time"):
        workers(hang, time.perf_counter() + 0.5)
    assert workers(threading.current_thread, time.perf_counter() + PATIENCE) not in hung
    release.set()
    hung[0].join(PATIENCE)
    assert not hung[0].is_alive()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks")
def test_a_fork_waits_for_no_thread_of_its_parent() -> None:
    script = """if True:
        import os, time
        from rifflux.models.workers import Workers
        workers = Workers()
        workers(int, time.perf_counter() + 60)
        child = os.fork()
        if child:
            print(os.waitpid(child, 0)[1])
        else:
            os._exit(workers(int, time.perf_counter() + 60))
    """
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=PATIENCE, check=True)
    assert done.stdout == "0\n"


@pytest.mark.parametrize("wrong", [{"top": 0}, {"deadline_ms": 0}, {"deadline_ms": -5}, {"deadline_ms": float("nan")}])
def test_settings_that_cannot_be_meant(wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidArgument):
        Rerank(Given([]), **wrong)
