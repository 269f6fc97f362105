"""Load the HTTP service, fuzz it, and kill a worker in the middle.

    python -m bench requests [--users N] [--requests N] [--rate R] [--seed S] [--schema]

Starts a service of its own with two workers and a small index, and prints one line a figure:

1. mixed requests (new messages, searches, memories, reads) at a steady rate, latency p50, p95 and p99 by kind;
2. the same while one worker is killed with SIGKILL: every message that was acknowledged must be there afterwards;
3. with --schema, schemathesis over the OpenAPI document, with all checks, as an administrator and as a user: nothing
   may be found but what `schemathesis.toml` lists with its reason.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx2 as httpx

from bench.service.load import Answer, Request, at_rate, serving, told
from rifflux.service.accounts import ADMIN, USER, Accounts
from rifflux.store import open_store

WORDS = ("cache", "entry", "expiry", "page", "vector", "ranking", "token", "budget", "meeting", "travel", "violin")
#: The service closes connections that were idle for five seconds: they are not used again before that.
LIMITS = httpx.Limits(keepalive_expiry=2.0)
KINDS = ("message", "message", "search", "search", "search", "memory", "recall", "list")


def main() -> None:
    """Run what the arguments ask for."""
    arguments = _arguments()
    with tempfile.TemporaryDirectory() as folder:
        db = Path(folder) / "index.db"
        tokens = _tokens(db, arguments.users)
        with serving(db, "--workers", "2", "--rate", "1000000") as url:
            load = Load(url, tokens, random.Random(arguments.seed))
            load.begin()
            load.run(arguments.requests, arguments.rate)
            load.tell("steady")
            _kill_while(load, arguments.requests, arguments.rate)
            load.tell("one worker killed")
            print(f"acknowledged messages: {len(load.acknowledged)}, lost: {load.lost()}")
        if arguments.schema:
            with serving(db, "--workers", "2", "--rate", "1000000") as url:
                for role in (ADMIN, USER):
                    _fuzz(url, _tokens(db, 1, role)[0], role)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--users", type=int, default=20)
    parser.add_argument("--requests", type=int, default=1000)
    parser.add_argument("--rate", type=float, default=20.0, help="requests a second")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--schema", action="store_true")
    return parser.parse_args()


def _tokens(db: Path, users: int, role: str = USER) -> list[str]:
    with closing(open_store(db)) as store:
        return [Accounts(store.registry).create(f"{role}{number}", role)[1] for number in range(users)]


class Load:
    """Sends mixed requests of many users, and remembers what was acknowledged."""

    def __init__(self, url: str, tokens: list[str], chance: random.Random) -> None:
        self.clients = [
            httpx.Client(base_url=url, headers={"Authorization": f"Bearer {token}"}, timeout=30, limits=LIMITS)
            for token in tokens
        ]
        self.chance = chance
        self.answers: list[Answer] = []
        self.acknowledged: list[tuple[int, str, str]] = []
        self.talks: list[str] = []

    def begin(self) -> None:
        """A conversation for every user."""
        for client in self.clients:
            self.talks.append(client.post("/conversations", json={"title": "talk"}).json()["id"])

    def run(self, requests: int, rate: float) -> None:
        """Send so many requests, so many a second, whether or not the earlier ones were answered."""
        self.answers = at_rate(map(self._made, range(requests)), rate)

    def _made(self, number: int) -> Request:
        kind, user = KINDS[number % len(KINDS)], self.chance.randrange(len(self.clients))
        text = " ".join(self.chance.choices(WORDS, k=8)) + f" number{number}"

        def send() -> int:
            reply = self._request(kind, self.clients[user], self.talks[user], text)
            if kind == "message" and reply.status_code == 201:
                self.acknowledged.append((user, reply.json()["id"], text))
            return int(reply.status_code)

        return Request(kind, send)

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
            there[user] = {message["id"]: message["text"] for message in _messages(self.clients[user], talk)}
        return sum(there[user].get(id) != text for user, id, text in self.acknowledged)

    def tell(self, name: str) -> None:
        """Print latencies by kind."""
        for kind in (*sorted(set(KINDS)), "all"):
            print(told(f"{name}, {kind}", [each for each in self.answers if kind in ("all", each.kind)]), flush=True)


def _messages(client: httpx.Client, talk: str) -> Iterator[dict[str, Any]]:
    """Give all messages of a conversation, a page after the other."""
    page: dict[str, Any] = {"next": ""}
    while page["next"] is not None:
        page = client.get(f"/conversations/{talk}/messages", params={"after": page["next"], "limit": 1000}).json()
        yield from page["messages"]


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


def _fuzz(url: str, token: str, role: str) -> None:
    """Try all that the OpenAPI document allows and forbids, but for what the configuration lists with its reason."""
    program = Path(sys.executable).with_name("schemathesis")
    command = [str(program), "--config-file", str(Path(__file__).with_name("schemathesis.toml")), "--no-color", "run"]
    command += [f"{url}/openapi.json", "--max-examples", "20", "--checks", "all", "--continue-on-failure"]
    command += ["--phases", "examples,coverage,fuzzing", "-H", f"Authorization: Bearer {token}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    print(done.stdout[-1500:] if done.returncode == 0 else done.stdout)
    print(f"schemathesis, token of {role}: exit status {done.returncode}", flush=True)
