"""What comes before a request is understood: connections, heads, bodies, tokens."""

from __future__ import annotations

import os
import re
import socket
from collections.abc import Iterator
from contextlib import ExitStack, closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rifflux.surfaces.http.connections import MOST_CONNECTIONS
from tests.support.server import Running, serving

pytestmark = pytest.mark.slow

#: A module that a process loads when it starts, after which a route fails.
HOSTILE = """
import rifflux.surfaces.shared.nouns


def fails():
    raise RuntimeError("nobody foresaw this")


rifflux.surfaces.shared.nouns.version_json = fails
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory, command_line: Any) -> Any:
    """The command line in a folder with a note that is indexed."""
    run = command_line(tmp_path_factory.mktemp("service"))
    (run.folder / "note.md").write_text("Herons fish.")
    run.json("index", run.folder, "--db", "index.db")
    return run


@pytest.fixture(scope="module")
def service(run: Any) -> Iterator[Running]:
    """Two workers that leave a request two seconds, and answer three a minute without a token."""
    with serving(run, "--db", "index.db", "--workers", 2, "--timeout", 2, "--rate", 100_000) as service:
        yield service


def raw(service: Running, sent: bytes) -> bytes:
    """Send bytes on a connection of their own, and read until the service closes it."""
    host, _, port = service.url.removeprefix("http://").partition(":")
    with closing(socket.create_connection((host, int(port)), timeout=30)) as connection:
        connection.sendall(sent)
        read = b""
        while some := connection.recv(65_536):
            read += some
        return read


def test_a_body_that_does_not_come_gets_an_answer_and_an_end(service: Running, run: Any) -> None:
    token = run.json("tokens", "create", "--user", "ann", "--db", "index.db")["token"]
    head = f"POST /search HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n"
    told = raw(service, f"{head}Content-Type: application/json\r\nContent-Length: 400\r\n\r\n{{".encode())
    assert b" 503 " in told.splitlines()[0]
    assert b"connection: close" in told.lower()


def test_a_body_that_is_too_large_ends_the_connection(service: Running) -> None:
    told = raw(service, b"POST /search HTTP/1.1\r\nHost: localhost\r\nContent-Length: 40000000\r\n\r\n")
    assert b" 413 " in told.splitlines()[0]


LONG = b"x" * 2_500_000


@pytest.mark.parametrize(
    ("head", "sent"),
    [
        (b"Content-Length: 2500000", LONG),
        (b"Transfer-Encoding: chunked", b"%x\r\n%b\r\n0\r\n\r\n" % (len(LONG), LONG)),
        (b"Content-Length: 2500000\r\nOrigin: null", LONG),
    ],
    ids=["told", "in pieces", "from elsewhere"],
)
def test_who_sends_a_body_that_is_refused_reads_why(service: Running, run: Any, head: bytes, sent: bytes) -> None:
    token = run.json("tokens", "create", "--user", "ann", "--db", "index.db")["token"].encode()
    first = b"POST /search HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " + token
    told = raw(service, first + b"\r\n" + head + b"\r\n\r\n" + sent)
    assert told.startswith(b"HTTP/1.1 403 " if b"Origin" in head else b"HTTP/1.1 413 ")
    assert told.endswith(b"}}")


def test_a_body_that_is_refused_beforehand_is_not_asked_for(service: Running) -> None:
    head = b"POST /search HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2500000\r\nExpect: 100-continue\r\n\r\n"
    assert raw(service, head).startswith(b"HTTP/1.1 413 ")


def test_a_head_that_does_not_end_is_given_up(service: Running) -> None:
    assert raw(service, b"GET /health HTTP/1.1\r\nHost: localhost\r\n") == b""


@pytest.mark.parametrize("origin", ["http://[", "null", "http://", "\xff", "http://a:b:c"])
def test_an_origin_of_any_form_is_refused(service: Running, origin: str) -> None:
    with service.client() as client:
        reply = client.get("/health", headers={b"Origin": origin.encode("latin-1")})
    assert reply.status_code == 403
    assert reply.json()["error"]["code"] == "wrong_origin"
    assert reply.headers["x-request-id"]


def test_the_token_is_looked_at_before_the_body(service: Running) -> None:
    with service.client() as client:
        reply = client.post("/search", content=b"{bad", headers={"Content-Type": "application/json"})
    assert reply.status_code == 401


def test_parameters_that_nobody_knows_are_refused(service: Running, run: Any) -> None:
    token = run.json("tokens", "create", "--user", "ann", "--db", "index.db")["token"]
    with service.client(token) as client:
        reply = client.get("/usage", params={"sinse": "2026-01-01"})
    assert reply.status_code == 422
    assert "do you mean since?" in reply.json()["error"]["message"]


def test_more_connections_than_a_worker_holds_are_refused(run: Any) -> None:
    with serving(run, "--db", "index.db") as service, ExitStack() as open_ones:
        host, _, port = service.url.removeprefix("http://").partition(":")
        held = [socket.create_connection((host, int(port)), timeout=30) for _ in range(MOST_CONNECTIONS + 1)]
        for each in held:
            open_ones.enter_context(closing(each))
        assert held[-1].recv(100).startswith(b"HTTP/1.1 503 ")
        held[0].close()
        assert service.client().get("/ready").json()["status"] == "ok"


def test_what_nobody_foresaw_is_found_in_the_log(run: Any, tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(HOSTILE)
    path = f"{tmp_path}{os.pathsep}{run.environment['PYTHONPATH']}"
    with serving(replace(run, settings={"PYTHONPATH": path}), "--db", "index.db") as service:
        with service.client() as client:
            reply = client.get("/version")
        assert reply.status_code == 500
        (line,) = [line for line in service.lines if line["event"] == "failed"]
    assert reply.headers["x-request-id"] == line["id"]
    assert line["id"] in reply.json()["error"]["message"]
    assert "raise RuntimeError" in line["exception"]


def test_the_page_to_try_it_asks_no_other_host(service: Running) -> None:
    with service.client() as client:
        page = client.get("/docs")
        loaded = re.findall(r'(?:src|href)="([^"]+)"', page.text)
        assert loaded
        assert all(client.get(each).status_code == 200 for each in loaded)
        assert client.get("/docs/other.js").status_code == 404
    assert "default-src 'none'" in page.headers["content-security-policy"]


def test_a_proxy_that_is_named_is_believed(run: Any) -> None:
    options = "--db", "index.db", "--proxy", "127.0.0.1", "--root-path", "/rifflux", "--rate", 1
    with serving(run, *options) as service, service.client() as client:
        assert "url: '/rifflux/openapi.json'" in client.get("/docs").text
        assert client.get("/openapi.json").json()["servers"] == [{"url": "/rifflux"}]
        asked = [client.get("/stats", headers={"X-Forwarded-For": f"192.0.2.{each % 2}"}) for each in range(122)]
    assert [each.status_code for each in asked] == [401] * 120 + [429] * 2


def test_it_is_said_that_nothing_is_encrypted(run: Any) -> None:
    with serving(run, "--db", "index.db", "--host", "0.0.0.0", "--allow-host", "127.0.0.1") as service:
        assert "--tls-cert" in next(line["cure"] for line in service.lines if line["event"] == "unencrypted")


class TestGuesses:
    def test_bodies_are_not_read_beyond_the_rate(self, run: Any) -> None:
        with serving(run, "--db", "index.db", "--rate", 3) as service, service.client() as client:
            bad = [client.post("/search", content=b"{bad").status_code for _ in range(61)]
        assert bad == [401] * 60 + [429]


class TestWorkers:
    def test_counts_of_all_workers_are_told(self, service: Running, run: Any) -> None:
        token = run.json("tokens", "create", "--user", "root", "--role", "admin", "--db", "index.db")["token"]
        for _ in range(20):
            with service.client(token) as client:
                assert client.post("/search", json={"query": "herons"}).status_code == 200
        with service.client(token) as client:
            told = client.get("/metrics").text
            assert client.get("/dashboard/data").status_code == 200
        counted = [line for line in told.splitlines() if line.startswith("rifflux_searches_total")]
        assert sum(float(line.rpartition(" ")[2]) for line in counted) >= 20
