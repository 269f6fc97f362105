"""Measure what a second worker process adds: the time of a small answer, and searches a second.

    python -m bench workers [--documents 2000] [--rounds 9] [--seconds 4] [--markdown bench/results/workers.md]

A service of one worker and a service of two run on the same index at the same time, and are measured in turns, so
that other load on the machine falls on both. A round takes the p50 of `/health` over one connection to each service,
then the lexical searches a second that one worker answers over one connection and two workers over four. Ratios are the
medians of the rounds' ratios.

A machine on which other programs run may give two workers no more of its processors than one. So the processor time
that a search takes is measured as well: where two workers hardly need more for it, nothing in the service holds them
back.

The client is a thread for each connection on bare sockets: it sends bytes made beforehand and reads to the end of the
answer, and its own share of the processor is printed. Connections are opened one after the other, each with a first
request. Documents are sentences of the standard library's documentation, recombined by chance.

Fails if a request fails or a ratio misses its target.
"""

from __future__ import annotations

import argparse
import json
import os
import socket
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path
from urllib.parse import urlsplit

import rifflux
from bench.service.load import children, percentile, serving
from bench.service.members import documents, questions, texts
from rifflux.service.accounts import Accounts
from rifflux.service.registry import Registry
from rifflux.session.writing import Writer
from rifflux.store import open_store

#: The most that `/health` of two workers may take, and the least that two workers must search, as shares of one worker.
HEALTH_AT_MOST, SEARCHES_AT_LEAST = 1.5, 1.5
WORKERS, CONNECTIONS = 2, 4
#: Requests for `/health` in a round, and questions that are asked in turn.
HEALTH_REQUESTS, QUESTIONS = 200, 200

HEAD = """# Workers

Made by `python -m bench workers --markdown bench/results/workers.md`: a service of one worker and one of two on the
same index, measured in turns on {cores} cores that the client shares. {documents:,} documents, {rounds} rounds; a
figure is the median of the rounds, a ratio the median of the rounds' ratios. Load of the machine {before:.1f} before
and {after:.1f} after; the client took {client:.0%} of a core while searches were counted."""


@dataclass(frozen=True, slots=True)
class Round:
    """What one round measured: p50 of `/health` in milliseconds, searches a second, and what each took of a processor.

    The last is in milliseconds, and 0 where the system does not tell.
    """

    health_one: float
    health_two: float
    searches_one: float
    searches_two: float
    processor_one: float = 0.0
    processor_two: float = 0.0

    @property
    def health_ratio(self) -> float:
        """Return how many times as long as with one worker `/health` takes with two."""
        return self.health_two / self.health_one

    @property
    def searches_ratio(self) -> float:
        """Return how many times as many searches as one worker two answer."""
        return self.searches_two / self.searches_one


class Connection:
    """A connection that stays open, with the least that a client can do."""

    def __init__(self, url: str) -> None:
        address = urlsplit(url)
        self._socket = socket.create_connection((address.hostname or "", address.port or 80), timeout=180)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def send(self, request: bytes) -> int:
        """Send a request, read its answer and return the status."""
        self._socket.sendall(request)
        read = b""
        while b"\r\n\r\n" not in read:
            read += self._received()
        head, _, body = read.partition(b"\r\n\r\n")
        length = int(head.lower().partition(b"content-length:")[2].split(b"\r\n", 1)[0])
        left = length - len(body)
        while left > 0:
            left -= len(self._received())
        return int(head.split(b" ", 2)[1])

    def _received(self) -> bytes:
        if not (some := self._socket.recv(1 << 18)):
            raise ConnectionError("the service closed the connection within an answer")
        return some

    def close(self) -> None:
        """Close the connection."""
        self._socket.close()


def main() -> None:
    """Measure, print a line a round, and write the page."""
    arguments = _arguments()
    with tempfile.TemporaryDirectory() as folder:
        db = Path(folder) / "index.db"
        token, asked = build(db, arguments.documents)
        before = os.getloadavg()[0]
        with (
            serving(db, "--rate", "100000000") as one,
            serving(db, "--rate", "100000000", "--workers", str(WORKERS)) as two,
        ):
            searches = [_search(token, question) for question in asked]
            rounds = []
            client = []
            for number in range(arguments.rounds + 1):
                found, share = measure(one, two, searches, arguments.seconds)
                if number:  # the first only warms
                    rounds.append(found)
                    client.append(share)
                    print(_line(found), flush=True)
    page = report(rounds, arguments.documents, before, statistics.median(client))
    print(page)
    if arguments.markdown:
        arguments.markdown.write_text(page + "\n", encoding="utf-8")
    if found_faults := faults(rounds):
        sys.exit("; ".join(found_faults))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=int, default=2_000)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--seconds", type=float, default=4.0, help="of searches, for each service in a round")
    parser.add_argument("--markdown", type=Path, help="write the page there")
    return parser.parse_args()


def build(db: Path, count: int) -> tuple[str, list[str]]:
    """Make an index of so many documents; returns a token of their owner, and questions."""
    lines = texts()
    with rifflux.open(db) as index:
        Writer(index.scoped(rifflux.Scope("ann"))._view).add(*documents("ann", count, lines), embed=False)
        index.admin.accelerate()
    with closing(open_store(db)) as store:
        token = Accounts(Registry(store)).create("ann")[1]
    return token, list(questions(lines, QUESTIONS))


def _search(token: str, question: str) -> bytes:
    body = json.dumps({"query": question, "mode": "lexical"}).encode()
    head = f"POST /search HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n"
    return f"{head}Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body


def measure(one: str, two: str, searches: Sequence[bytes], seconds: float) -> tuple[Round, float]:
    """Measure both services once; returns what was found, and the client's share of a core while it searched."""
    health_one = health(one)
    health_two = health(two)
    before = time.process_time()
    spent = [processor_seconds()]
    searches_one = rate(one, 1, searches, seconds)
    spent.append(processor_seconds())
    searches_two = rate(two, CONNECTIONS, searches, seconds)
    spent.append(processor_seconds())
    share = (time.process_time() - before) / (2 * seconds)
    processor = [
        1000 * (spent[place + 1] - spent[place]) / (found * seconds)
        for place, found in enumerate((searches_one, searches_two))
    ]
    return Round(health_one, health_two, searches_one, searches_two, *processor), share


def processor_seconds() -> float:
    """Return the processor time of all processes of both services so far; of one of them, the other being idle."""
    found = 0
    for pid in children(os.getpid(), depth=3):
        with suppress(OSError):
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            found += int(fields[11]) + int(fields[12])
    return found / os.sysconf("SC_CLK_TCK")


def health(url: str) -> float:
    """Return the p50 of `/health` over one connection, in milliseconds."""
    request = b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n"
    times = []
    with connections(url, 1) as (connection,):
        for _ in range(HEALTH_REQUESTS):
            start = time.perf_counter()
            _answered(connection, request)
            times.append(1000 * (time.perf_counter() - start))
    return percentile(times, 0.5)


def rate(url: str, count: int, searches: Sequence[bytes], seconds: float) -> float:
    """Return the searches a second that are answered over so many connections, each asking again when answered."""
    with connections(url, count) as opened:
        start = time.perf_counter()
        until = start + seconds
        done = [0] * count
        failures: list[BaseException] = []

        def ask(place: int) -> None:
            try:
                # Each begins elsewhere, so that no two ask the same at a time.
                first = place * len(searches) // count
                for request in cycle([*searches[first:], *searches[:first]]):
                    if time.perf_counter() >= until:
                        return
                    _answered(opened[place], request)
                    done[place] += 1
            except BaseException as error:
                failures.append(error)

        threads = [threading.Thread(target=ask, args=(place,)) for place in range(count)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if failures:
            raise failures[0]
        return sum(done) / (time.perf_counter() - start)


@contextmanager
def connections(url: str, count: int) -> Iterator[Sequence[Connection]]:
    """Open connections one after the other, each with a first request."""
    with ExitStack() as stack:
        opened = []
        for _ in range(count):
            connection = stack.enter_context(closing(Connection(url)))
            _answered(connection, b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
            opened.append(connection)
        yield opened


def _answered(connection: Connection, request: bytes) -> None:
    if (status := connection.send(request)) != 200:
        raise ConnectionError(f"a request was answered {status}")


def _line(found: Round) -> str:
    return (
        f"/health {found.health_one:.2f} and {found.health_two:.2f} ms, x {found.health_ratio:.2f}; "
        f"searches {found.searches_one:.0f} and {found.searches_two:.0f} a second, x {found.searches_ratio:.2f}, "
        f"at {found.processor_one:.2f} and {found.processor_two:.2f} ms of a processor each"
    )


def report(rounds: Sequence[Round], count: int, before: float, client: float) -> str:
    """Return the page."""

    def median(name: str, digits: int) -> str:
        return f"{statistics.median(getattr(each, name) for each in rounds):.{digits}f}"

    def span(name: str) -> str:
        values = [getattr(each, name) for each in rounds]
        return f"{min(values):.2f} to {max(values):.2f}"

    cells = [
        ("", "one worker", "two workers", "ratio", "rounds", "target"),
        ("---", "---:", "---:", "---:", "---:", "---:"),
        (
            "`/health`, p50 over one connection, ms",
            median("health_one", 2),
            median("health_two", 2),
            f"**{median('health_ratio', 2)}**",
            span("health_ratio"),
            f"at most {HEALTH_AT_MOST}",
        ),
        (
            f"lexical searches a second, over 1 and {CONNECTIONS} connections",
            median("searches_one", 0),
            median("searches_two", 0),
            f"**{median('searches_ratio', 2)}**",
            span("searches_ratio"),
            f"at least {SEARCHES_AT_LEAST}",
        ),
        (
            "processor time of such a search, ms",
            median("processor_one", 2),
            median("processor_two", 2),
            "",
            "",
            "",
        ),
    ]
    head = HEAD.format(
        cores=os.cpu_count(),
        documents=count,
        rounds=len(rounds),
        before=before,
        after=os.getloadavg()[0],
        client=client,
    )
    return "\n".join([head, "", *(f"| {' | '.join(row)} |" for row in cells)])


def faults(rounds: Sequence[Round]) -> list[str]:
    """Return what misses its target."""
    health_ratio = statistics.median(each.health_ratio for each in rounds)
    searches_ratio = statistics.median(each.searches_ratio for each in rounds)
    found = []
    if health_ratio > HEALTH_AT_MOST:
        found.append(f"/health of two workers takes {health_ratio:.2f} times as long, over {HEALTH_AT_MOST}")
    if searches_ratio < SEARCHES_AT_LEAST:
        found.append(f"two workers search {searches_ratio:.2f} times as fast, under {SEARCHES_AT_LEAST}")
    return found
