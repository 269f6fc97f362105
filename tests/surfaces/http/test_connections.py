"""What comes before a request is understood: connections, heads, bodies, tokens."""

from __future__ import annotations

import json
import re
import socket
from collections.abc import Iterator
from contextlib import ExitStack, closing
from dataclasses import replace
from typing import Any

import httpx2 as httpx
import pytest

from rifflux.surfaces.http.connections import MOST_CONNECTIONS
from tests.support.command_server import CONSTANTS, PROGRAM
from tests.support.commands import PATIENCE
from tests.support.server import Running, serving

pytestmark = pytest.mark.slow

#: A program after which a route fails.
HOSTILE = """
import rifflux.surfaces.http.operation


def fails():
    raise RuntimeError("nobody foresaw this")


rifflux.surfaces.http.operation.version_json = fails
"""


#: A program after which a process, and those forked from it, log how each connection sends.
WATCHED = """
import json
import os
import socket

from uvicorn.protocols.http.h11_impl import H11Protocol

made = H11Protocol.connection_made


def connection_made(self, transport):
    at_once = transport.get_extra_info("socket").getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
    line = json.dumps({"event": "connection", "at_once": bool(at_once)})
    os.write(2, f"{line}\\n".encode())  # in one piece: another worker writes to the same file
    made(self, transport)


H11Protocol.connection_made = connection_made
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
    with closing(socket.create_connection((host, int(port)), timeout=PATIENCE)) as connection:
        connection.sendall(sent)
        read = b""
        while some := connection.recv(65_536):
            read += some
        return read


@pytest.mark.parametrize("workers", [1, 2])
def test_small_answers_are_sent_at_once_on_every_connection(run: Any, workers: int) -> None:
    watched = replace(run, settings={PROGRAM: WATCHED})
    with serving(watched, "--db", "index.db", "--workers", workers, "--host", "localhost") as service:
        addresses = service.awaited(lambda line: line["event"] == "starting")["addresses"]
        for _ in range(10):
            answers = [httpx.get(f"{each}/health", timeout=PATIENCE, verify=False) for each in addresses]
            assert [each.status_code for each in answers] == [200] * len(addresses)
        connections = [line["at_once"] for line in service.lines if line["event"] == "connection"]
    assert len(connections) >= 10 * len(addresses)
    assert all(connections)


def test_a_port_that_is_taken_is_told_with_the_cure(service: Running, run: Any) -> None:
    told = run("serve", "--db", "index.db", "--port", service.url.rpartition(":")[2])
    assert told.returncode == 2
    assert "choose another port" in told.stderr


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


def test_a_head_that_does_not_end_is_given_up(run: Any) -> None:
    soon = {CONSTANTS: json.dumps({"rifflux.surfaces.http.connections:HEAD_S": 1.0})}
    with serving(replace(run, settings=soon), "--db", "index.db") as service:
        assert raw(service, b"GET /health HTTP/1.1\r\nHost: localhost\r\n") == b""


@pytest.mark.parametrize("origin", ["http://[", "null", "http://", "\xff", "http://a:b:c"])
def test_an_origin_of_any_form_is_refused(service: Running, origin: str) -> None:
    with service.client() as client:
        reply = client.get("/health", headers={b"Origin": origin.encode("latin-1")})
    assert reply.status_code == 403
    assert reply.json()["code"] == "wrong_origin"
    assert reply.headers["x-request-id"]


def test_a_page_of_the_same_name_by_another_scheme_is_another_page(service: Running, run: Any) -> None:
    token = run.json("tokens", "create", "--user", "ann", "--db", "index.db")["token"]
    host = service.url.removeprefix("http://")
    with service.client(token) as client:
        for origin, status in ((f"http://{host}", 200), (f"https://{host}", 403), (f"HTTP://{host.upper()}", 200)):
            asked = client.post("/search", json={"query": "herons"}, headers={"Origin": origin})
            assert asked.status_code == status


def test_the_scheme_of_a_page_is_that_of_the_proxy(run: Any) -> None:
    token = run.json("tokens", "create", "--user", "ann", "--db", "index.db")["token"]
    secure = {"X-Forwarded-Proto": "https"}
    for options, scheme in ((("--proxy", "127.0.0.1"), "https"), ((), "http")):
        with serving(run, "--db", "index.db", *options) as service, service.client(token) as client:
            host = service.url.removeprefix("http://")
            statuses = {
                each: client.post(
                    "/search", json={"query": "herons"}, headers={**secure, "Origin": f"{each}://{host}"}
                ).status_code
                for each in ("http", "https")
            }
        assert [each for each, status in statuses.items() if status == 200] == [scheme]


@pytest.mark.parametrize(
    "lengths",
    [
        b"Content-Length: 5\r\nTransfer-Encoding: chunked",
        b"Transfer-Encoding: chunked\r\nContent-Length: 5",
        b"Transfer-Encoding: Chunked\r\nContent-Length: 0",
    ],
)
@pytest.mark.parametrize("path", [b"/health", b"/search", b"/nowhere"])
def test_a_body_with_two_lengths_is_refused_and_nothing_after_it_is_a_request(
    service: Running, lengths: bytes, path: bytes
) -> None:
    first = b"POST " + path + b" HTTP/1.1\r\nHost: localhost\r\n" + lengths + b"\r\n\r\n0\r\n\r\n"
    told = raw(service, first + b"GET /version HTTP/1.1\r\nHost: localhost\r\n\r\n")
    assert told.startswith(b"HTTP/1.1 400 ")
    assert told.count(b"HTTP/1.1 ") == 1
    assert b"connection: close" in told.lower()


def test_no_answer_may_be_stored_or_taken_for_something_else(service: Running, run: Any) -> None:
    token = run.json("tokens", "create", "--user", "ann", "--db", "index.db")["token"]
    with service.client(token) as client:
        answers = [
            client.post("/search", json={"query": "herons"}),
            client.post("/search", json={"quarry": "herons"}),
            client.post("/chat", json={"question": "where do herons fish"}),
            client.get("/metrics"),
            client.get("/", headers={"Accept": "text/html"}),
            client.get("/me", headers={"Origin": "https://example.org"}),
            client.delete("/me"),
            *(client.get(path) for path in ("/me", "/documents", "/openapi.json", "/stats", "/nowhere", "/health")),
        ]
        asset = client.get("/assets/dom.js")
    for answer in answers:
        assert answer.headers["cache-control"] == "no-store", answer.url
        assert answer.headers["x-content-type-options"] == "nosniff", answer.url
    assert "no-store" not in asset.headers["cache-control"]
    refused = raw(service, b"NONSENSE\r\n\r\n").lower()
    assert b"cache-control: no-store" in refused


def test_the_token_is_looked_at_before_the_body(service: Running) -> None:
    with service.client() as client:
        reply = client.post("/search", content=b"{bad", headers={"Content-Type": "application/json"})
    assert reply.status_code == 401


def test_parameters_that_nobody_knows_are_refused(service: Running, run: Any) -> None:
    token = run.json("tokens", "create", "--user", "ann", "--db", "index.db")["token"]
    with service.client(token) as client:
        reply = client.get("/usage", params={"sinse": "2026-01-01"})
    assert reply.status_code == 422
    assert "do you mean since?" in reply.json()["detail"]


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/usage?since=2026-01-01&since=2026-01-02", 422),
        ("/documents?limit=5&limit=x", 422),
        ("/documents?limit=5&limit=5", 422),
        ("/documents?collections=library&collections=library&limit=5", 200),
        ("/?q=herons&q=owls", 422),
        ("/?q=herons&kind=note&kind=page", 200),
    ],
)
def test_a_parameter_that_is_given_twice_is_refused_unless_it_is_a_list(
    service: Running, run: Any, path: str, status: int
) -> None:
    token = run.json("tokens", "create", "--user", "ann", "--db", "index.db")["token"]
    with service.client(token) as client:
        assert client.get(path).status_code == status


def test_more_connections_than_a_worker_holds_are_refused(run: Any) -> None:
    with serving(run, "--db", "index.db") as service, ExitStack() as open_ones:
        host, _, port = service.url.removeprefix("http://").partition(":")
        held = [socket.create_connection((host, int(port)), timeout=PATIENCE) for _ in range(MOST_CONNECTIONS + 1)]
        for each in held:
            open_ones.enter_context(closing(each))
        assert held[-1].recv(100).startswith(b"HTTP/1.1 503 ")
        held[0].close()
        assert service.client().get("/ready").json()["status"] == "ok"


def test_what_nobody_foresaw_is_found_in_the_log(run: Any) -> None:
    with serving(replace(run, settings={PROGRAM: HOSTILE}), "--db", "index.db") as service:
        with service.client() as client:
            reply = client.get("/version")
        assert reply.status_code == 500
        line = service.awaited(lambda line: line["event"] == "failed")
    assert reply.headers["x-request-id"] == line["id"]
    assert line["id"] in reply.json()["detail"]
    assert "in fails\nRuntimeError: nobody foresaw this" in line["exception"]


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
        assert "--tls-cert" in service.awaited(lambda line: line["event"] == "unencrypted")["cure"]


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
