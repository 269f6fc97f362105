"""Run many processes on one index, writers and readers at once, and count what was lost.

    python -m bench concurrency [--writers 8] [--readers 8] [--seconds 20]

Every writer adds documents one by one and counts what was reported as done; every reader searches without a pause. No
query may fail and no write be lost; printed are the rates, the waiting, how evenly writers came to their turns, and how
long the log became.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import rifflux
from bench.shared import program

FIRST = 500
TEXT = (
    "The heron {key} stands in the river and waits for fish, as it did on the day before and the day before that. " * 4
)


def main() -> None:
    """Run all at once, look what is there, and tell."""
    arguments = _arguments()
    if arguments.role:
        print(json.dumps({"writer": write, "reader": read}[arguments.role](arguments)))
        return
    with tempfile.TemporaryDirectory() as folder:
        arguments.db = Path(folder) / "index.db"
        with rifflux.open(arguments.db, model="hash:64") as index:
            index.add(*(rifflux.Document(f"first-{number}", TEXT.format(key=number)) for number in range(FIRST)))
        longest = _Longest(arguments.db.with_name("index.db-wal"))
        roles = ["writer"] * arguments.writers + ["reader"] * arguments.readers
        started = [_start(role, number, arguments) for number, role in enumerate(roles)]
        reports = [_report(process) for process in started]
        _tell(arguments, reports[: arguments.writers], reports[arguments.writers :], longest.end())


def write(arguments: argparse.Namespace) -> dict[str, Any]:
    """Add documents until the time is over; how many, and how long the slowest took."""
    done, slowest, until = 0, 0.0, time.monotonic() + arguments.seconds
    with rifflux.open(arguments.db, model="hash:64") as index:
        while time.monotonic() < until:
            key = f"{arguments.number}-{done}"
            begun = time.perf_counter()
            index.add(rifflux.Document(key, TEXT.format(key=key)))
            slowest = max(slowest, time.perf_counter() - begun)
            done += 1
    return {"done": done, "slowest": slowest}


def read(arguments: argparse.Namespace) -> dict[str, Any]:
    """Search until the time is over; how long each search took, in milliseconds."""
    times, until = [], time.monotonic() + arguments.seconds
    with rifflux.open(arguments.db, model="hash:64") as index:
        while time.monotonic() < until:
            begun = time.perf_counter()
            found = index.search("heron in the river")
            times.append((time.perf_counter() - begun) * 1000)
            assert found, found.trace
    return {"times": times}


class _Longest:
    """Watches how large a file becomes."""

    def __init__(self, path: Path) -> None:
        self._path, self._most, self._over = path, 0, threading.Event()
        self._thread = threading.Thread(target=self._watch)
        self._thread.start()

    def _watch(self) -> None:
        while not self._over.wait(0.05):
            self._most = max(self._most, self._path.stat().st_size if self._path.exists() else 0)

    def end(self) -> int:
        """The largest size that was seen, in bytes."""
        self._over.set()
        self._thread.join()
        return self._most


def _start(role: str, number: int, arguments: argparse.Namespace) -> subprocess.Popen[str]:
    command = [*program("concurrency"), "--role", role, "--number", str(number), "--db", str(arguments.db)]
    return subprocess.Popen([*command, "--seconds", str(arguments.seconds)], stdout=subprocess.PIPE, text=True)


def _report(process: subprocess.Popen[str]) -> dict[str, Any]:
    out, _ = process.communicate()
    if process.returncode:
        sys.exit("a process failed")
    report: dict[str, Any] = json.loads(out)
    return report


def _tell(
    arguments: argparse.Namespace, writers: Sequence[dict[str, Any]], readers: Sequence[dict[str, Any]], log: int
) -> None:
    written = [report["done"] for report in writers]
    with rifflux.open(arguments.db) as index:
        lost = FIRST + sum(written) - index.status().documents
        problems = index.admin.check()
    times = sorted(time for report in readers for time in report["times"])
    print(f"writes lost {lost}, problems {len(problems)}, failed queries 0 of {len(times):,}")
    print(f"writes/s {sum(written) / arguments.seconds:.0f}, by writer {min(written)} to {max(written)}, "
          f"slowest {max(report['slowest'] for report in writers):.2f} s")  # fmt: skip
    if times:
        percentiles = statistics.quantiles(times, n=100)
        print(
            f"queries/s {len(times) / arguments.seconds:.0f}, "
            f"p50 {percentiles[49]:.1f} ms, p95 {percentiles[94]:.1f} ms"
        )
    print(f"log at most {log / 1e6:.1f} MB")
    if lost or problems:
        sys.exit(1)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--writers", type=int, default=8)
    parser.add_argument("--readers", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=20)
    for name, kind in (("role", str), ("number", int), ("db", Path)):
        parser.add_argument(f"--{name}", type=kind, help=argparse.SUPPRESS)
    return parser.parse_args()
