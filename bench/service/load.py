"""A service of its own for a measurement, and requests to it at a steady rate."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx2 as httpx

#: Seconds that a service may take to start on a busy machine.
PATIENCE_S = 180
#: Requests that may be under way at once.
MOST_AT_ONCE = 64
#: The service closes connections that were idle for five seconds: they are not used again before that.
LIMITS = httpx.Limits(keepalive_expiry=2.0)


@contextmanager
def serving(db: Path, *arguments: str) -> Iterator[str]:
    """The address of `rifflux serve` on an index, until the block ends."""
    command = [sys.executable, "-m", "rifflux", "serve", "--db", str(db), "--port", "0", *arguments]
    descriptor, name = tempfile.mkstemp(prefix="serve-", suffix=".log", dir=db.parent)
    with open(descriptor, "wb") as sink:  # noqa: PTH123 (it is open already)
        process = subprocess.Popen(command, stdout=sink, stderr=sink)
    log = Path(name)
    try:
        url = _address(log, process)
        _wait_for(url)
        yield url
    finally:
        process.terminate()
        process.wait(PATIENCE_S)


def _address(log: Path, process: subprocess.Popen[bytes]) -> str:
    """Wait until a service logs where it listens, on a port of the system's choice, and return that."""
    until = time.monotonic() + PATIENCE_S
    while time.monotonic() < until and process.poll() is None:
        for line in log.read_text().splitlines(keepends=True):
            if line.startswith("{") and line.endswith("\n"):
                event = json.loads(line)
                if "addresses" in event:
                    return str(event["addresses"][0])
        time.sleep(0.02)
    raise TimeoutError(log.read_text())


def _wait_for(url: str) -> None:
    """Wait until a service answers."""
    until = time.monotonic() + PATIENCE_S
    with httpx.Client(base_url=url, timeout=PATIENCE_S, verify=False) as client:
        while time.monotonic() < until:
            try:
                if client.get("/health").status_code == 200:
                    return
            except httpx.TransportError:
                time.sleep(0.05)
    raise TimeoutError(f"no service answers at {url}")


def kill_worker() -> int:
    """End one worker of the service that this process started, as the system does when memory is short; its id."""
    starter = next(pid for pid in children(os.getpid(), depth=3) if _forks_workers(pid))
    victim = children(starter, depth=1)[0]
    os.kill(victim, signal.SIGKILL)
    return victim


def children(pid: int, depth: int) -> list[int]:
    """Return the processes that one started, and those that these did, and so on, to a depth."""
    path = Path(f"/proc/{pid}/task/{pid}/children")
    own = [int(child) for child in path.read_text().split()] if path.exists() else []
    return own + [below for child in own if depth > 1 for below in children(child, depth - 1)]


def _forks_workers(pid: int) -> bool:
    return b"forkserver" in Path(f"/proc/{pid}/cmdline").read_bytes()


@dataclass(frozen=True, slots=True)
class Request:
    """Something to ask: `send` does it, and tells the status of the answer."""

    kind: str
    send: Callable[[], int]


@dataclass(frozen=True, slots=True)
class Answer:
    """How a request went; `milliseconds` count from when it was due, waiting for a turn included.

    `failure` is what went wrong, empty if nothing did.
    """

    kind: str
    milliseconds: float
    failure: str = ""


def at_rate(requests: Iterable[Request], rate: float) -> list[Answer]:
    """Send so many requests a second, whether or not the earlier ones were answered."""
    start = time.perf_counter()

    def answer(request: Request, due: float) -> Answer:
        try:
            status = request.send()
            failure = "" if status < 300 else str(status)
        except httpx.TransportError as error:
            failure = type(error).__name__
        return Answer(request.kind, 1000 * (time.perf_counter() - due), failure)

    with ThreadPoolExecutor(MOST_AT_ONCE) as pool:
        answers = []
        for number, request in enumerate(requests):
            due = start + number / rate
            time.sleep(max(0.0, due - time.perf_counter()))
            answers.append(pool.submit(answer, request, due))
        return [each.result() for each in answers]


def percentile(values: Sequence[float], share: float) -> float:
    """The value that this share of all does not exceed; not a number of none."""
    return sorted(values)[min(int(share * len(values)), len(values) - 1)] if values else float("nan")


def told(name: str, answers: Sequence[Answer]) -> str:
    """A line of figures."""
    times = [each.milliseconds for each in answers if not each.failure]
    p50, p95, p99 = (percentile(times, share) for share in (0.5, 0.95, 0.99))
    failed = ", ".join(
        f"{count} {what}" for what, count in Counter(each.failure for each in answers if each.failure).items()
    )
    return f"{name}: {len(times)} answered, failed: {failed or 0}; p50 {p50:.1f}, p95 {p95:.1f}, p99 {p99:.1f} ms"
