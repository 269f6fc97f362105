"""Answers of a cluster that lacks nodes, hangs or is overloaded: in time, and saying so."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar

import pytest

import rifflux
from rifflux.errors import Busy
from rifflux.store.opensearch import OpenSearchStore
from rifflux.store.opensearch.engine import STATE_SECONDS, ClusterIndex, Unanswered
from tests.cluster.test_engine import TEXTS

SECONDS = 2.0


@pytest.fixture
def index(location: Callable[[], str]) -> Iterator[rifflux.Index]:
    with rifflux.open(f"opensearch://{location()}", model="hash:64") as index:
        index.add(*(rifflux.Document(key, text) for key, text in TEXTS.items()))
        index.search("heron")
        yield index


def notices(found: rifflux.Results) -> list[str]:
    """Return what a search says of the cluster; a step that was too slow is another matter."""
    return [notice.code for notice in found.trace.degraded if notice.code.startswith("cluster.")]


@contextmanager
def answered(monkeypatch: pytest.MonkeyPatch, change: Callable[[dict[str, Any]], None]) -> Iterator[None]:
    """Change the answers to searches within the block as a cluster in trouble would.

    What is shared is read before a search begins, if it was last read a second ago or more.
    """
    call = ClusterIndex.call

    def changed(self: ClusterIndex, request: Callable[..., Any], **arguments: Any) -> Any:
        answer = call(self, request, **arguments)
        if request.__name__ == "msearch" and self.bounds.reads is not None:
            for each in answer["responses"]:
                change(each)
        return answer

    with monkeypatch.context() as patched:
        patched.setattr(ClusterIndex, "call", changed)
        yield


def test_parts_that_do_not_answer_are_named_and_remembered_by_nobody(
    index: rifflux.Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lack(answer: dict[str, Any]) -> None:
        answer["_shards"].update(total=2, failed=1)

    with answered(monkeypatch, lack):
        found = index.search("river", deadline_ms=60_000)
    assert found.hits
    assert notices(found) == ["cluster.partial"]
    assert not notices(index.search("river"))


def test_a_search_that_is_cut_off_says_so(index: rifflux.Index, monkeypatch: pytest.MonkeyPatch) -> None:
    with answered(monkeypatch, lambda answer: answer.update(timed_out=True)):
        found = index.search("river", deadline_ms=60_000)
    assert notices(found) == ["cluster.late"]


def test_a_state_that_is_not_told_in_time_is_an_older_one(
    index: rifflux.Index, location: Callable[[], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    call = ClusterIndex.call

    def hanging(self: ClusterIndex, request: Callable[..., Any], **arguments: Any) -> Any:
        if request.__name__ in ("mget", "refresh"):
            raise Unanswered("the cluster did not answer in time")
        return call(self, request, **arguments)

    def expire() -> None:
        store = index.admin.store
        assert isinstance(store, OpenSearchStore)
        for state in store.engine.states.values():
            state.known_until = 0.0
            state.read_at -= 2 * STATE_SECONDS

    index.search("river")
    expire()
    with monkeypatch.context() as patched:
        patched.setattr(ClusterIndex, "call", hanging)
        found = index.search("river", deadline_ms=60_000)
        assert found.hits
        assert notices(found) == ["cluster.older"]
        expire()
        patched.setattr("rifflux.store.opensearch.engine._OLDER_SECONDS", 0.0)
        with pytest.raises(Busy):
            index.search("river", deadline_ms=60_000)


def test_a_search_goes_on_without_a_refresh_and_says_so(index: rifflux.Index, monkeypatch: pytest.MonkeyPatch) -> None:
    """A node that hangs keeps its copy from being refreshed."""
    call = ClusterIndex.call

    def hanging(self: ClusterIndex, request: Callable[..., Any], **arguments: Any) -> Any:
        if request.__name__ == "refresh":
            raise Unanswered("the cluster did not answer in time")
        return call(self, request, **arguments)

    index.add(rifflux.Document("new", "Another river."))
    with monkeypatch.context() as patched:
        patched.setattr(ClusterIndex, "call", hanging)
        found = index.search("river", deadline_ms=60_000)
    assert found.hits
    assert notices(found) == ["cluster.older"]
    assert "new" in [hit.key for hit in index.search("river", mode="lexical")]


class _Answering(BaseHTTPRequestHandler):
    """A node that passes requests on to a real one, hangs, or is overloaded for its next requests."""

    node: ClassVar[str]
    overloaded: ClassVar[int] = 0
    hanging: ClassVar[threading.Event | None] = None

    def _pass_on(self) -> None:
        import urllib.error
        import urllib.request

        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        kind = type(self)
        if kind.hanging:
            kind.hanging.wait(60)
        if kind.overloaded:
            kind.overloaded -= 1
            self._send(429, b'{"error": {"type": "x", "reason": "x"}, "status": 429}')
            return
        headers = {"Content-Type": self.headers.get("Content-Type") or "application/json"}
        request = urllib.request.Request(f"{self.node}{self.path}", body or None, headers, method=self.command)
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                self._send(answer.status, answer.read())
        except urllib.error.HTTPError as error:
            self._send(error.code, error.read())

    def __getattr__(self, name: str) -> Any:
        if name.startswith("do_"):
            return self._pass_on
        raise AttributeError(name)

    def _send(self, status: int, body: bytes) -> None:
        # The client may have gone meanwhile.
        with suppress(OSError):
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    def log_message(self, *arguments: object) -> None:
        """Print nothing."""


@contextmanager
def node_before(cluster: str) -> Iterator[tuple[str, type[_Answering]]]:
    """Start a node that passes requests on; yield its `HOST:PORT` and how it answers."""

    class Handler(_Answering):
        node = f"http://{cluster}"

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"127.0.0.1:{server.server_port}", Handler
        finally:
            if Handler.hanging:
                Handler.hanging.set()
            server.shutdown()


def test_an_overloaded_cluster_is_asked_again(location: Callable[[], str], cluster: str) -> None:
    name = location().partition("/")[2]
    with (
        node_before(cluster) as (address, node),
        rifflux.open(f"opensearch://{address}/{name}", model="hash:64") as one,
    ):
        one.add(rifflux.Document("a", TEXTS["heron"]))
        one.search("heron")
        node.overloaded = 1
        assert [hit.key for hit in one.search("heron fish", mode="lexical")] == ["a"]
        node.overloaded = 1_000
        with pytest.raises(Busy, match="overloaded"):
            one.search("heron water", mode="lexical", deadline_ms=1_000)


def test_a_node_that_hangs_is_left_out_and_a_cluster_that_hangs_is_reported_in_time(
    location: Callable[[], str], cluster: str
) -> None:
    name = location().partition("/")[2]
    with ExitStack() as stack:
        first, one = stack.enter_context(node_before(cluster))
        second, other = stack.enter_context(node_before(cluster))
        index = stack.enter_context(rifflux.open(f"opensearch://{first},{second}/{name}", model="hash:64"))
        index.add(rifflux.Document("a", TEXTS["heron"]))
        index.search("heron")
        one.hanging = threading.Event()
        for _ in range(2):
            found = index.search("heron fish", deadline_ms=20_000)
            assert [hit.key for hit in found] == ["a"]
        other.hanging = threading.Event()
        with pytest.raises(Busy):
            index.search("heron water", deadline_ms=1_000 * SECONDS)
        assert not other.hanging.is_set()
