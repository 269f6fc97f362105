"""Answers of a cluster that lacks nodes, hangs or is overloaded: in time, and saying so."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar

import pytest

import rifflux
from rifflux.errors import Busy, DiskFull, ModelMismatch, NotFound, UnusableIndex
from rifflux.index.cluster import cluster_of
from rifflux.store.opensearch import OpenSearchStore
from rifflux.store.opensearch.engine import STATE_SECONDS, ClusterIndex, Unanswered
from rifflux.store.opensearch.mapping import index_body
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


def test_a_row_of_a_part_that_does_not_answer_is_not_a_missing_one(
    index: rifflux.Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without the row that says what is visible, nothing would be."""
    store = index.admin.store
    assert isinstance(store, OpenSearchStore)
    call = ClusterIndex.call
    lacking = [1]

    def changed(self: ClusterIndex, request: Callable[..., Any], **arguments: Any) -> Any:
        answer = call(self, request, **arguments)
        if request.__name__ == "mget" and threading.current_thread() is threading.main_thread() and lacking[0]:
            lacking[0] -= 1
            error = {"type": "no_shard_available_action_exception", "reason": "x"}
            answer["docs"] = [{"_id": each["_id"], "error": error} for each in answer["docs"]]
        return answer

    with monkeypatch.context() as patched:
        patched.setattr(ClusterIndex, "call", changed)
        store.engine.forget_states()
        assert index.search("river", deadline_ms=60_000).hits
        assert not lacking[0]
        lacking[0] = 1_000
        store.engine.forget_states()
        with pytest.raises(Busy, match="look at the cluster's health"):
            index.search("river", deadline_ms=1_000 * SECONDS)


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


def test_one_search_alone_waits_for_a_refresh_that_hangs(index: rifflux.Index, monkeypatch: pytest.MonkeyPatch) -> None:
    call = ClusterIndex.call
    waited: list[object] = []
    over = threading.Event()

    def hanging(self: ClusterIndex, request: Callable[..., Any], **arguments: Any) -> Any:
        if request.__name__ == "refresh":
            if threading.current_thread() is not threading.main_thread():
                over.wait(600)
            else:
                waited.append(arguments)
            raise Unanswered("the cluster did not answer in time")
        return call(self, request, **arguments)

    index.add(rifflux.Document("new", "Another river."))
    with monkeypatch.context() as patched:
        patched.setattr(ClusterIndex, "call", hanging)
        for _ in range(3):
            assert index.search("river", deadline_ms=600_000).hits
        # None, if the thread that looks whether files changed was the first.
        assert len(waited) <= 1
        over.set()


def test_a_search_answers_while_another_threads_refresh_hangs(
    index: rifflux.Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = index.admin.store
    assert isinstance(store, OpenSearchStore)
    call = ClusterIndex.call
    began = threading.Event()
    over = threading.Event()

    def hanging(self: ClusterIndex, request: Callable[..., Any], **arguments: Any) -> Any:
        if request.__name__ == "refresh":
            began.set()
            over.wait(600)
            raise Unanswered("the cluster did not answer in time")
        return call(self, request, **arguments)

    def refresh() -> None:
        with suppress(Busy):
            store.engine.refresh()

    index.add(rifflux.Document("new", "Another river."))
    other = threading.Thread(target=refresh)
    with monkeypatch.context() as patched:
        patched.setattr(ClusterIndex, "call", hanging)
        other.start()
        assert began.wait(600)
        found = index.search("river", deadline_ms=20_000)
        over.set()
        other.join()
    assert found.hits
    assert "cluster.older" in notices(found)


def test_where_nothing_can_be_refreshed_searches_find_what_nodes_refreshed_by_themselves(
    index: rifflux.Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = index.admin.store
    assert isinstance(store, OpenSearchStore)
    call = ClusterIndex.call

    def hanging(self: ClusterIndex, request: Callable[..., Any], **arguments: Any) -> Any:
        if request.__name__ == "refresh" and self is store.engine:
            raise Unanswered("the cluster did not answer in time")
        return call(self, request, **arguments)

    with rifflux.open(str(store.engine.address), model="hash:64") as other:
        other.add(rifflux.Document("new", "Another river."))
    # Nobody has searched for a while.
    monkeypatch.setattr("rifflux.store.opensearch.engine._OLDER_SECONDS", 20.0)
    for state in (*store.engine.states.values(), *store.engine.settled.values()):
        state.read_at -= 60.0
        state.known_until = 0.0
    end = time.monotonic() + 120.0
    with monkeypatch.context() as patched:
        patched.setattr(ClusterIndex, "call", hanging)
        while "new" not in [hit.key for hit in index.search("river", mode="lexical", deadline_ms=600_000)]:
            assert time.monotonic() < end
            time.sleep(0.1)


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


def test_while_the_disk_is_nearly_full_nothing_is_written_and_searches_go_on(index: rifflux.Index) -> None:
    store = index.admin.store
    assert isinstance(store, OpenSearchStore)
    settings = store.engine.client.indices.put_settings
    name = store.engine.address.name
    settings(index=name, body={"index.blocks.read_only_allow_delete": True})
    with pytest.raises(DiskFull, match="make room"):
        index.add(rifflux.Document("new", "Another river."))
    assert index.search("river").hits
    settings(index=name, body={"index.blocks.read_only_allow_delete": None})
    index.add(rifflux.Document("new", "Another river."))
    assert "new" in [hit.key for hit in index.search("river", mode="lexical")]


def test_an_index_whose_parts_are_on_no_node_is_reported_and_not_taken_for_empty(
    location: Callable[[], str], cluster: str
) -> None:
    from opensearchpy import OpenSearch

    place = location()
    name = place.partition("/")[2]
    body = index_body(shards=1, replicas=0)
    nowhere = "index.routing.allocation.require._name"
    body["settings"][nowhere] = "nobody"
    with OpenSearch([f"http://{cluster}"]) as client:
        client.indices.create(index=name, body=body, params={"wait_for_active_shards": "0"})
        assert cluster_of(f"opensearch://{place}").status().health == "red"
        with (
            pytest.raises(Busy, match="look at the cluster's health"),
            rifflux.open(f"opensearch://{place}", model="hash:64") as index,
        ):
            index.search("heron", deadline_ms=1_000 * SECONDS)
        client.indices.put_settings(index=name, body={nowhere: None})
        client.cluster.health(index=name, params={"wait_for_status": "green", "timeout": "60s", "request_timeout": 60})
    with rifflux.open(f"opensearch://{place}", model="hash:64") as index:
        index.add(rifflux.Document("heron", TEXTS["heron"]))
        assert index.search("heron").hits


def test_a_cluster_without_the_plugin_is_refused_and_nothing_is_made(
    location: Callable[[], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    call = ClusterIndex.call

    def lacking(self: ClusterIndex, request: Callable[..., Any], **arguments: Any) -> Any:
        if request.__name__ == "plugins":
            return [{"component": "another-plugin"}]
        return call(self, request, **arguments)

    place = f"opensearch://{location()}"
    with monkeypatch.context() as patched:
        patched.setattr(ClusterIndex, "call", lacking)
        with pytest.raises(UnusableIndex, match="lacks the plugin opensearch-knn"):
            rifflux.open(place, model="hash:64")
    with pytest.raises(NotFound):
        rifflux.open(place, model="hash:64", create=False)


def test_vectors_of_another_dimension_are_refused(index: rifflux.Index) -> None:
    store = index.admin.store
    assert isinstance(store, OpenSearchStore)
    with (
        rifflux.open(str(store.engine.address), model="hash:32") as other,
        pytest.raises(ModelMismatch, match="vectors of"),
    ):
        other.add(rifflux.Document("new", "Another river."))
    assert "new" not in [hit.key for hit in index.search("river", mode="lexical")]
