"""Which node of a cluster is asked, and what becomes of those that hang or fail."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

from rifflux.store.opensearch import nodes as module
from rifflux.store.opensearch.nodes import Nodes

errors = pytest.importorskip("opensearchpy.exceptions", reason="opensearch-py is not installed")
SECONDS = 60.0


class Node:
    """A client of a node that does what it is answers, and counts how often it is asked."""

    def __init__(self, answer: Callable[[], Any]) -> None:
        self.answer = answer
        self.asked = 0

    def mget(self, **arguments: Any) -> Any:
        assert 0 < arguments["params"]["request_timeout"] <= SECONDS
        self.asked += 1
        return self.answer()

    def close(self) -> None:
        """Close nothing."""


class Held(Node):
    """A node that hangs until it is released, and then answers or fails."""

    def __init__(self, answer: Callable[[], Any]) -> None:
        super().__init__(self._wait)
        self.then = answer
        self.released = threading.Event()

    def _wait(self) -> Any:
        assert self.released.wait(SECONDS)
        return self.then()


def refuse() -> None:
    raise errors.ConnectionError("N/A", "refused", None)


def overload() -> None:
    raise errors.TransportError(429, "busy", {})


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ask another node soon."""
    monkeypatch.setattr(module, "_PATIENCE", 1e-3)


def ask(nodes: Nodes) -> Any:
    return nodes.request("mget", SECONDS)(body={})


def test_nodes_take_turns() -> None:
    all = [Node(lambda: "answer") for _ in range(3)]
    nodes = Nodes(all)
    for _ in range(6):
        ask(nodes)
    assert [each.asked for each in all] == [2, 2, 2]


def test_while_a_node_hangs_another_one_answers_and_is_asked_first_from_then_on() -> None:
    held = Held(lambda: "late")
    well = Node(lambda: "answer")
    nodes = Nodes([held, well])
    assert [ask(nodes) for _ in range(5)] == ["answer"] * 5
    assert held.asked == 1
    assert nodes.in_order() == nodes.in_order() == [1, 0]
    held.released.set()


def test_a_node_that_answers_late_takes_its_turn_again() -> None:
    held = Held(lambda: "late")
    nodes = Nodes([held, Node(lambda: "answer")])
    ask(nodes)
    held.released.set()
    for thread in threading.enumerate():
        if thread.name == module.THREAD:
            thread.join()
    assert sorted([nodes.in_order()[0], nodes.in_order()[0]]) == [0, 1]


def test_a_slow_answer_counts_where_the_others_fail() -> None:
    held = Held(lambda: "slow")

    def release() -> None:
        held.released.set()
        refuse()

    nodes = Nodes([held, Node(release)])
    assert ask(nodes) == "slow"


@pytest.mark.parametrize("fail", [refuse, overload])
def test_where_one_node_fails_another_one_is_asked_at_once(
    fail: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_PATIENCE", 1.0)
    all = [Node(fail), Node(fail), Node(lambda: "answer")]
    assert ask(Nodes(all)) == "answer"
    assert [each.asked for each in all] == [1, 1, 1]


def test_each_node_is_asked_once_before_an_error_is_raised() -> None:
    all = [Node(refuse) for _ in range(3)]
    nodes = Nodes(all)
    for number in (1, 2):
        with pytest.raises(errors.ConnectionError, match="refused"):
            ask(nodes)
        assert [each.asked for each in all] == [number] * 3


def test_what_another_node_cannot_improve_is_raised_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_PATIENCE", 1.0)

    def forbid() -> None:
        raise errors.AuthorizationException(403, "forbidden", {})

    all = [Node(forbid), Node(lambda: "answer")]
    with pytest.raises(errors.AuthorizationException):
        ask(Nodes(all))
    assert not all[1].asked


def test_where_all_hang_the_time_is_kept_and_said_to_be_over() -> None:
    all = [Held(lambda: "late") for _ in range(2)]
    with pytest.raises(errors.ConnectionTimeout):
        Nodes([*all, Node(refuse)]).request("mget", 0.2)(body={})
    for each in all:
        each.released.set()
