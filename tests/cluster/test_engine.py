"""The engine on a cluster beside SQLite's: the same answers, requests bound to owners, and errors with their cure."""

from __future__ import annotations

import json
import shutil
import ssl
import subprocess
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

import rifflux
from rifflux.errors import Busy, NewerIndex, NotAnIndex, NotFound, OutsideRoots, UnusableIndex
from rifflux.index.cluster import cluster_of
from rifflux.store import REQUESTS
from rifflux.store.opensearch import OpenSearchStore
from rifflux.store.opensearch.engine import WORLD, ClusterIndex, owner_key
from rifflux.surfaces.mcp.workspace import Workspace
from rifflux.types import Filter
from tests.conftest import CommandLine

TEXTS = {
    "heron": "The heron stands in the river and waits for fish.",
    "cache": "A cache entry expires after its time to live; the cache is then filled again.",
    "queue": "The queue grows while the workers are busy. A heron would not mind.",
    "river": "River banks, stones and the slow water of the river.",
}


def filled(location: str) -> rifflux.Index:
    """Return an index of some documents of nobody, of ann and of bob."""
    index = rifflux.open(location, model="hash:64")
    for number, user in enumerate(("", "ann", "bob")):
        view = index.scoped(rifflux.Scope(user)) if user else index
        view.add(
            *(
                rifflux.Document(key, f"{text} {user}", key.title(), metadata={"year": 2000 + place, "tags": ["wild"]})
                for place, (key, text) in enumerate(TEXTS.items())
                if place != number
            )
        )
    return index


QUESTIONS = ("heron river", '"slow water"', "cache -queue", "herron", "time to live", "worker*")


FILTERS = (None, Filter(metadata={"year": [2001, 2003]}))


def pages(
    index: rifflux.Index,
    modes: Sequence[str] = ("lexical", "semantic", "hybrid"),
    filters: Sequence[Filter | None] = FILTERS,
) -> list[Any]:
    """Return what some questions find in each mode, for each user, with a filter and without."""
    found = []
    for user in ("", "ann", "bob"):
        view = index.scoped(rifflux.Scope(user)) if user else index
        for question in QUESTIONS:
            for mode in modes:
                for narrow in filters:
                    hits = view.search(question, mode=mode, filter=narrow)
                    found.append([(hit.id, pytest.approx(hit.score, abs=1e-4)) for hit in hits])
    return found


@pytest.mark.parametrize(("shards", "spread"), [(1, 1), (3, 2)])
def test_its_pages_are_sqlites(shards: int, spread: int, location: Callable[[], str], tmp_path: Path) -> None:
    place = f"opensearch://{location()}"
    assert cluster_of(place).init(shards, replicas=0, spread=spread).spread == spread
    with filled(place) as ours, filled(str(tmp_path / "plain.db")) as plain:
        assert pages(ours) == pages(plain)
        for index in (ours, plain):
            index.remove("queue")
            assert index.status().documents == len(TEXTS) - 2
        assert pages(ours) == pages(plain)


@contextmanager
def recorded(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[tuple[str, dict[str, Any]]]]:
    """Record the requests that are made within the block, by name and with their arguments."""
    requests: list[tuple[str, dict[str, Any]]] = []
    call = ClusterIndex.call

    def recording(self: ClusterIndex, request: Callable[..., Any], **arguments: Any) -> Any:
        requests.append((request.__name__, arguments))
        return call(self, request, **arguments)

    with monkeypatch.context() as patched:
        patched.setattr(ClusterIndex, "call", recording)
        yield requests


def test_every_request_of_a_users_calls_names_its_owner(
    location: Callable[[], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The index itself looks up which collections a user may read, among the rows that no owner has."""
    allowed = {"ann", "", WORLD}
    keys = {owner_key(owner) for owner in allowed}
    with filled(f"opensearch://{location()}") as index:
        view = index.scoped(rifflux.Scope("ann"))
        with recorded(monkeypatch) as requests:
            view.add(rifflux.Document("own", "Ann's own heron"))
            for question in QUESTIONS:
                for hit in view.search(question):
                    view.get(hit.id)
                    view.why(question, hit.id)
            view.status()
            view.remove("own")
        read = 0
        for name, arguments in requests:
            body: Any = arguments.get("body")
            if name == "msearch":
                for header, search in zip(body[::2], body[1::2], strict=True):
                    read += 1
                    assert {*header["routing"].split(",")} <= keys
                    assert {*_owners(search)} <= allowed
                    assert _owners(search)
            elif name == "mget":
                for each in body["docs"]:
                    read += 1
                    assert each["routing"] in keys
                    assert each["_id"].startswith(each["routing"])
            elif name == "bulk":
                for line in body:
                    ((action, header),) = line.items() if len(line) == 1 else (("", {}),)
                    if action in ("index", "create", "update", "delete"):
                        assert header["routing"] in keys
                        assert header["_id"].startswith(header["routing"])
        assert read > 20


def _owners(search: dict[str, Any]) -> list[str]:
    """Return the owners that a search is bound to: in its query, or in the filter of the vectors."""
    query = search["query"]
    if "knn" in query:
        ((_, wanted),) = query["knn"].items()
        query = wanted["filter"]
    (bound,) = [each["terms"]["owner"] for each in query["bool"]["filter"] if "owner" in each.get("terms", {})]
    return list(bound)


def test_what_another_process_wrote_is_found_within_a_second(location: Callable[[], str]) -> None:
    place = f"opensearch://{location()}"
    with rifflux.open(place, model="hash:64") as one, rifflux.open(place, model="hash:64") as other:
        one.add(rifflux.Document("a", "The heron stands in the river."))
        for state in other._view.session.store.engine.states.values():  # type: ignore[attr-defined]
            state.known_until = 0.0
        assert [hit.key for hit in other.search("heron")] == ["a"]


def test_what_is_no_index_of_ours_is_refused(location: Callable[[], str], cluster: str) -> None:
    from opensearchpy import OpenSearch

    names = [location() for _ in range(3)]
    with OpenSearch([f"http://{cluster}"]) as client:
        client.indices.create(index=names[0].partition("/")[2])
        newer = {"mappings": {"_meta": {"rifflux": {"schema": 999}}}}
        client.indices.create(index=names[1].partition("/")[2], body=newer)
        with pytest.raises(NotAnIndex, match="another name"):
            rifflux.open(f"opensearch://{names[0]}")
        with pytest.raises(NewerIndex, match="upgrade"):
            rifflux.open(f"opensearch://{names[1]}")
        with pytest.raises(NotFound, match="index something"):
            rifflux.open(f"opensearch://{names[2]}", create=False)
        assert not client.indices.exists(index=names[2].partition("/")[2])


class _Refusing(BaseHTTPRequestHandler):
    """A server that repeats the secret of each request in an answer of the status in its path's index name."""

    def do_GET(self) -> None:
        status = int(self.path.strip("/").split("/")[0].removeprefix("status-"))
        body = json.dumps({"error": {"type": "x", "reason": self.headers.get("Authorization", "")}, "status": status})
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, *arguments: object) -> None:
        """Print nothing."""


@pytest.mark.parametrize(
    ("status", "kind", "cure"),
    [
        (401, UnusableIndex, "RIFFLUX_OPENSEARCH_PASSWORD"),
        (403, rifflux.RiffluxError, "give that user the right"),
        (429, Busy, "try again"),
        (503, Busy, "health"),
    ],
)
def test_a_refusal_names_its_cure_and_no_secret(
    status: int, kind: type[Exception], cure: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    pytest.importorskip("opensearchpy")
    monkeypatch.setenv("RIFFLUX_OPENSEARCH_USER", "ann")
    monkeypatch.setenv("RIFFLUX_OPENSEARCH_PASSWORD", "hunter2")
    with ThreadingHTTPServer(("127.0.0.1", 0), _Refusing) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            with pytest.raises(kind, match=cure) as refused:
                rifflux.open(f"opensearch://127.0.0.1:{server.server_port}/status-{status}")
        finally:
            server.shutdown()
    for text in (str(refused.value), caplog.text):
        assert "hunter2" not in text
        assert "YW5u" not in text


def test_a_certificate_is_checked_and_its_authority_can_be_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("opensearchpy")
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not installed")
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    command = (
        "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost -addext subjectAltName=DNS:localhost"
    )
    subprocess.run(
        [*command.split(), "-keyout", key, "-out", certificate], check=True, capture_output=True, timeout=180
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    with ThreadingHTTPServer(("127.0.0.1", 0), _Refusing) as server:
        server.socket = context.wrap_socket(server.socket, server_side=True)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            place = f"localhost:{server.server_port}/status-401"
            with pytest.raises(UnusableIndex, match="certificate"):
                rifflux.open(f"opensearch+https://{place}")
            monkeypatch.setenv("RIFFLUX_OPENSEARCH_CA", str(certificate))
            with pytest.raises(UnusableIndex, match="RIFFLUX_OPENSEARCH_PASSWORD"):
                rifflux.open(f"opensearch+https://{place}")
            with pytest.raises(UnusableIndex, match="certificate"):
                rifflux.open(f"opensearch+https://127.0.0.1:{server.server_port}/status-401")
        finally:
            server.shutdown()


def test_the_command_line_works_on_a_cluster(location: Callable[[], str], run: CommandLine) -> None:
    (run.folder / "notes.md").write_text("# Herons\n\nThe heron stands in the river.\n")
    place = f"opensearch://{location()}"
    done = run("index", "notes.md", "--no-embed", "--db", place)
    assert done.returncode == 0, done.stderr
    found = json.loads(run("search", "heron", "--json", "--db", place).stdout)
    assert [hit["path"] for hit in found["results"]] == ["notes.md"]
    done = run("status", "--json", "--db", place, RIFFLUX_OPENSEARCH_USER="ann", RIFFLUX_OPENSEARCH_PASSWORD="hunter2")
    assert json.loads(done.stdout)["path"] == place
    assert "hunter2" not in done.stdout + done.stderr


def test_tools_work_on_a_cluster_and_open_no_other(location: Callable[[], str], tmp_path: Path) -> None:
    (tmp_path / "notes.md").write_text("# Herons\n\nThe heron stands in the river.\n")
    place = f"opensearch://{location()}"
    with rifflux.open(place, model="hash:64") as index:
        index.add(tmp_path)
    with Workspace(place, roots=[tmp_path], model="hash:64") as workspace:
        assert [hit.path for hit in workspace.open().index.search("heron")] == ["notes.md"]
        with pytest.raises(OutsideRoots, match="leave it out"):
            workspace.open("opensearch://127.0.0.1:1/other")


def test_a_search_makes_at_most_four_requests(location: Callable[[], str], tmp_path: Path) -> None:
    (tmp_path / "river.md").write_text(f"# Rivers\n\n{TEXTS['river']}\n\n{TEXTS['heron']}\n")
    (tmp_path / "river.py").write_text(f"def wait_for_fish():\n    return {TEXTS['heron']!r}\n")
    several = 'in ch. 7 or p. 9 on "slow water" and the herron'
    with filled(f"opensearch://{location()}") as index:
        index.add(tmp_path, rifflux.Document("book", "Chapter 7, page 9: on slow water. Page 7 follows."))
        index.search("queue")  # statistics are read once for each state of the index
        for question in (*QUESTIONS, "hern", "how long do cache entries live", "ch. 7", "a 12 b 34 c 56", several):
            for mode in ("lexical", "hybrid"):
                found = index.search(question, mode=mode)
                # Besides, the state of the index is read once a second, and what is shared twice a minute.
                assert found.trace.counts[REQUESTS] <= 4 + 2
        (hit,) = [hit for hit in index.search("slow water") if hit.path == "river.md"]
        assert hit.lines == (3, 5)


def test_the_totals_of_many_owners_take_few_requests_once_they_are_not_recent(
    location: Callable[[], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with rifflux.open(f"opensearch://{location()}", model="hash:64") as index:
        store = index.admin.store
        assert isinstance(store, OpenSearchStore)
        for number in range(40):
            store.of(f"user{number}").records.set("color", "blue")
        assert [each.totals().chunks for each in store.views()] == [0] * 41
        call = ClusterIndex.call
        made: list[str] = []

        def noting(self: ClusterIndex, request: Callable[..., Any], **arguments: Any) -> Any:
            made.append(request.__name__)
            return call(self, request, **arguments)

        for state in store.engine.states.values():
            state.known_until = 0.0
        with monkeypatch.context() as patched:
            patched.setattr(ClusterIndex, "call", noting)
            assert [each.totals().chunks for each in store.views()] == [0] * 41
        assert len(made) < 20, made
