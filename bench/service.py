"""The HTTP service under load, under fuzzing, and with a worker killed in the middle.

    python bench/service.py [--users N] [--requests N] [--rate R] [--seed S] [--schema]

Starts a service of its own with two workers and a small index, and prints one line a figure:

1. mixed requests (new messages, searches, memories, reads) at a steady rate, latency p50, p95 and p99 by kind;
2. the same while one worker is killed with SIGKILL: every message that was acknowledged must be there afterwards;
3. with --schema, schemathesis over the OpenAPI document: no server error may be found.
"""

from __future__ import annotations

import argparse
import itertools
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2 as httpx

from rifflux.accounts import Accounts
from rifflux.store import open_store

WORDS = ("cache", "entry", "expiry", "page", "vector", "ranking", "token", "budget", "meeting", "travel", "violin")
KINDS = ("message", "message", "search", "search", "search", "memory", "recall", "list")


def main() -> None:
    """Run what the arguments ask for."""
    arguments = _arguments()
    with tempfile.TemporaryDirectory() as folder:
        db = Path(folder) / "index.db"
        tokens = _tokens(db, arguments.users)
        with _serving(db, "--workers", "2", "--rate", "1000000") as url:
            load = Load(url, tokens, random.Random(arguments.seed))
            load.begin()
            load.run(arguments.requests, arguments.rate)
            load.tell("steady")
            _kill_while(load, arguments.requests, arguments.rate)
            load.tell("one worker killed")
            print(f"acknowledged messages: {len(load.acknowledged)}, lost: {load.lost()}")
        if arguments.schema:
            with _serving(db, "--rate", "1000000") as url:
                _fuzz(url, tokens[0])


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--users", type=int, default=20)
    parser.add_argument("--requests", type=int, default=1000)
    parser.add_argument("--rate", type=float, default=20.0, help="requests a second")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--schema", action="store_true")
    return parser.parse_args()


def _tokens(db: Path, users: int) -> list[str]:
    store = open_store(db)
    try:
        return [Accounts(store.register).create(f"user{number}")[1] for number in range(users)]
    finally:
        store.close()


@contextmanager
def _serving(db: Path, *arguments: str) -> Iterator[str]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "rifflux", "serve", "--db", str(db), "--port", str(port), *arguments]
    with (db.parent / "serve.log").open("wb") as sink:
        process = subprocess.Popen(command, stdout=sink, stderr=sink)
    url = f"http://127.0.0.1:{port}"
    try:
        for _ in range(300):
            try:
                if httpx.get(f"{url}/health", timeout=5).status_code == 200:
                    break
            except httpx.TransportError:
                time.sleep(0.1)
        yield url
    finally:
        process.terminate()
        process.wait(30)


class Load:
    """Sends mixed requests of many users, and remembers what was acknowledged."""

    def __init__(self, url: str, tokens: list[str], chance: random.Random) -> None:
        self.clients = [
            httpx.Client(base_url=url, headers={"Authorization": f"Bearer {token}"}, timeout=30) for token in tokens
        ]
        self.chance = chance
        self.times: dict[str, list[float]] = defaultdict(list)
        self.failed: dict[str, int] = defaultdict(int)
        self.acknowledged: list[tuple[int, str, str]] = []
        self.talks: list[str] = []
        self._lock = threading.Lock()

    def begin(self) -> None:
        """A conversation for every user."""
        for client in self.clients:
            self.talks.append(client.post("/conversations", json={"title": "talk"}).json()["id"])

    def run(self, requests: int, rate: float) -> None:
        """Send so many requests, so many a second, whether or not the earlier ones were answered."""
        self.times.clear()
        self.failed.clear()
        start = time.perf_counter()
        with ThreadPoolExecutor(32) as pool:
            for number in range(requests):
                wait = start + number / rate - time.perf_counter()
                if wait > 0:
                    time.sleep(wait)
                user = self.chance.randrange(len(self.clients))
                text = " ".join(self.chance.choices(WORDS, k=8)) + f" number{number}"
                pool.submit(self._send, KINDS[number % len(KINDS)], user, text)

    def _send(self, kind: str, user: int, text: str) -> None:
        start = time.perf_counter()
        try:
            reply = self._request(kind, self.clients[user], self.talks[user], text)
            ok = reply.status_code < 300
        except httpx.TransportError:
            ok = False
        with self._lock:
            if not ok:
                self.failed[kind] += 1
                return
            self.times[kind].append((time.perf_counter() - start) * 1000)
            if kind == "message":
                self.acknowledged.append((user, reply.json()["id"], text))

    def _request(self, kind: str, client: httpx.Client, talk: str, text: str) -> Any:
        match kind:
            case "message":
                return client.post(f"/conversations/{talk}/messages", json={"text": text})
            case "search":
                return client.post("/conversations/search", json={"query": " ".join(text.split()[:3])})
            case "memory":
                return client.post("/memories", json={"content": text})
            case "recall":
                return client.post("/memories/search", json={"query": text.split()[0]})
            case _:
                return client.get("/conversations")

    def lost(self) -> int:
        """How many acknowledged messages are not there."""
        there: dict[int, dict[str, str]] = {}
        for user, talk in enumerate(self.talks):
            messages = self.clients[user].get(f"/conversations/{talk}/messages").json()
            there[user] = {message["id"]: message["text"] for message in messages}
        return sum(there[user].get(id) != text for user, id, text in self.acknowledged)

    def tell(self, name: str) -> None:
        """Print latencies by kind."""
        whole = sorted(itertools.chain.from_iterable(self.times.values()))
        for kind, times in [*sorted(self.times.items()), ("all", whole)]:
            ordered = sorted(times)
            p50, p95, p99 = (ordered[min(len(ordered) - 1, int(share * len(ordered)))] for share in (0.5, 0.95, 0.99))
            failed = sum(self.failed.values()) if kind == "all" else self.failed[kind]
            told = f"p50 {p50:.1f}, p95 {p95:.1f}, p99 {p99:.1f} ms"
            print(f"{name}, {kind}: {len(ordered)} answered, {failed} failed; {told}")


def _kill_while(load: Load, requests: int, rate: float) -> None:
    """Kill one worker with SIGKILL in the middle of a run."""

    def kill() -> None:
        time.sleep(requests / rate / 2)
        workers = [pid for pid in _children(os.getpid(), depth=2) if _is_worker(pid)]
        if workers:
            victim = load.chance.choice(workers)
            os.kill(victim, signal.SIGKILL)
            print(f"killed worker {victim} of {len(workers)}")

    thread = threading.Thread(target=kill)
    thread.start()
    load.run(requests, rate)
    thread.join()


def _children(pid: int, depth: int) -> list[int]:
    path = Path(f"/proc/{pid}/task/{pid}/children")
    own = [int(child) for child in path.read_text().split()] if path.exists() else []
    return own + [below for child in own if depth > 1 for below in _children(child, depth - 1)]


def _is_worker(pid: int) -> bool:
    return b"spawn_main" in Path(f"/proc/{pid}/cmdline").read_bytes()


def _fuzz(url: str, token: str) -> None:
    checks = "not_a_server_error,status_code_conformance,response_schema_conformance"
    command = ["schemathesis", "run", f"{url}/openapi.json", "--max-examples", "20", "--checks", checks]
    command += ["-H", f"Authorization: Bearer {token}"]
    program = Path(sys.executable).with_name(command[0])
    done = subprocess.run([str(program), *command[1:]], capture_output=True, text=True, check=False)
    print(done.stdout[-1500:])
    print(f"schemathesis: exit status {done.returncode}")


if __name__ == "__main__":
    main()
