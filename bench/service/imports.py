"""Measure what other users notice while one imports many conversations.

    python -m bench imports [--conversations 10000] [--workers 1 2] [--markdown bench/results/imports.md]

A service of its own holds documents of a third user. One user imports a zip of so many conversations, of four messages
each. Until that is done, another user uploads one file of 10 kB after the other, a second apart, and the third searches
by words and meaning at a steady rate. An upload counts from the request until it is stored: until the answer 201, or
until its job is done. Searches are measured before the import, too. Texts are sentences of the standard library's
documentation, recombined by chance.

Fails if an upload takes longer than 3 s, if the import is not done whole, or if a request fails.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import random
import sys
import tempfile
import threading
import time
import zipfile
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2 as httpx

import rifflux
from bench.service.load import LIMITS, percentile, serving
from bench.service.members import documents, questions, texts
from rifflux.service.accounts import Accounts
from rifflux.service.registry import Registry
from rifflux.session.writing import Writer
from rifflux.store import open_store
from rifflux.types import Scope

USERS = ("ann", "bob", "carl")
#: Seconds within which an upload must be stored.
STORED_S = 3.0
UPLOAD_BYTES, MESSAGES, SEARCHES_A_SECOND = 10_000, 4, 4.0
#: Searches before the import; the first of them only warm.
WARM_UP, BEFORE = 10, 60
TIMEOUT = 180.0

HEAD = """# Imports beside other users

Made by `python -m bench imports --conversations {conversations} --markdown bench/results/imports.md`: one user imports
a zip of {conversations:,} conversations of {messages} messages. Meanwhile another user uploads files of 10 kB, a second
apart, and a third searches {documents:,} documents, {rate:g} times a second. {cores} cores, which the client shares;
load of the machine {load:.1f} at the start.

| workers | import | uploads | stored, p50 | slowest | searches, p95 before | p95 meanwhile |
| ---: | ---: | ---: | ---: | ---: | ---: | ---: |"""


@dataclass
class Measured:
    """What was measured with so many workers: times in seconds, and requests that failed."""

    workers: int
    imported: float = 0.0
    uploads: list[float] = field(default_factory=list)
    before: list[float] = field(default_factory=list)
    meanwhile: list[float] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)

    @property
    def row(self) -> str:
        """Return the row of the table."""
        cells = (
            f"{self.workers}",
            f"{self.imported:.0f} s",
            f"{len(self.uploads)}",
            f"{percentile(self.uploads, 0.5):.2f} s",
            f"{max(self.uploads, default=float('nan')):.2f} s",
            f"{1000 * percentile(self.before, 0.95):.0f} ms",
            f"{1000 * percentile(self.meanwhile, 0.95):.0f} ms",
        )
        return f"| {' | '.join(cells)} |"


def main() -> None:
    """Measure with each number of workers, and print a table."""
    arguments = _arguments()
    lines = texts()
    load = os.getloadavg()[0]
    export = packed(arguments.conversations, lines)
    found = []
    for workers in arguments.workers:
        with tempfile.TemporaryDirectory() as folder:
            db = Path(folder) / "index.db"
            tokens = build(db, arguments.documents, lines)
            found.append(measure(db, workers, tokens, export, lines))
            print(found[-1].row, flush=True)
    page = "\n".join([_head(arguments, load), *(each.row for each in found)])
    print(page)
    if arguments.markdown:
        arguments.markdown.write_text(page + "\n", encoding="utf-8")
    if wrong := [fault for each in found for fault in faults(each)]:
        sys.exit("; ".join(wrong))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--conversations", type=int, default=10_000)
    parser.add_argument("--documents", type=int, default=2_000, help="that are searched")
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--markdown", type=Path, help="write the page there")
    return parser.parse_args()


def _head(arguments: argparse.Namespace, load: float) -> str:
    return HEAD.format(
        conversations=arguments.conversations,
        messages=MESSAGES,
        documents=arguments.documents,
        rate=SEARCHES_A_SECOND,
        cores=os.cpu_count(),
        load=load,
    )


def faults(measured: Measured) -> list[str]:
    """Return what is worse than it may be."""
    name = f"{measured.workers} workers"
    found = [f"{name}: {each}" for each in measured.failed]
    if not measured.uploads:
        found.append(f"{name}: the import was done before anything was uploaded: import more")
    elif max(measured.uploads) > STORED_S:
        found.append(f"{name}: an upload was stored after {max(measured.uploads):.1f} s, over {STORED_S:g}")
    return found


def packed(conversations: int, lines: Sequence[str]) -> bytes:
    """Return a zip with conversations."""
    chance = random.Random("conversations")
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as file:
        for number in range(conversations):
            said = [
                {"role": ("user", "assistant")[turn % 2], "content": " ".join(chance.sample(lines, 2))}
                for turn in range(MESSAGES)
            ]
            file.writestr(f"talk{number}.json", json.dumps(said))
    return archive.getvalue()


def build(db: Path, count: int, lines: Sequence[str]) -> dict[str, str]:
    """Make an index in which the third user has documents; returns the tokens of all three."""
    with rifflux.open(db) as index:
        Writer(index.scoped(Scope(USERS[2]))._view).add(*documents(USERS[2], count, lines))
    with closing(open_store(db)) as store:
        return {user: Accounts(Registry(store)).create(user)[1] for user in USERS}


def measure(db: Path, workers: int, tokens: dict[str, str], export: bytes, lines: Sequence[str]) -> Measured:
    """Import beside uploads and searches."""
    measured = Measured(workers)
    asked = questions(lines, 200)
    done = threading.Event()
    with serving(db, "--workers", str(workers), "--rate", "1000000") as url:
        clients = [
            httpx.Client(
                base_url=url, headers={"Authorization": f"Bearer {tokens[user]}"}, timeout=TIMEOUT, limits=LIMITS
            )
            for user in USERS
        ]
        one, other, third = clients
        for number in range(WARM_UP + BEFORE):
            seconds = search(third, asked[number % len(asked)], measured)
            if number >= WARM_UP:
                measured.before.append(seconds)
            time.sleep(0.05)
        threads = [
            threading.Thread(target=uploads, args=(other, measured, done, lines)),
            threading.Thread(target=searches, args=(third, measured, done, asked)),
        ]
        start = time.perf_counter()
        reply = one.post(
            "/conversations/import", files={"file": ("talks.zip", export)}, headers={"Prefer": "respond-async"}
        )
        for thread in threads:
            thread.start()
        try:
            job = ended(one, reply)
        finally:
            done.set()
        measured.imported = time.perf_counter() - start
        for thread in threads:
            thread.join()
        if job.get("state") != "done" or job["done"] != job["total"]:
            measured.failed.append(f"the import ended so: {job}")
        for client in clients:
            client.close()
    return measured


def ended(client: httpx.Client, reply: httpx.Response) -> dict[str, Any]:
    """Return the job that a request began, once it has ended."""
    if reply.status_code != 202:
        return {"state": reply.status_code, "text": reply.text}
    job: dict[str, Any] = reply.json()
    while job["state"] == "running":
        time.sleep(0.1)
        job = client.get(f"/jobs/{job['id']}").json()
    return job


def uploads(client: httpx.Client, measured: Measured, done: threading.Event, lines: Sequence[str]) -> None:
    """Upload a file each second, and note how long each takes until it is stored."""
    chance = random.Random("uploads")
    while not done.is_set():
        text = "# Note\n\n"
        while len(text) < UPLOAD_BYTES:
            text += f"{chance.choice(lines)}\n\n"
        start = time.perf_counter()
        reply = client.post("/documents", files={"file": ("note.md", text[:UPLOAD_BYTES].encode())})
        if reply.status_code == 202:
            job = ended(client, reply)
            if job["state"] != "done":
                measured.failed.append(f"an upload ended so: {job}")
        elif reply.status_code != 201:
            measured.failed.append(f"an upload was answered {reply.status_code}")
        measured.uploads.append(time.perf_counter() - start)
        done.wait(1.0)


def searches(client: httpx.Client, measured: Measured, done: threading.Event, asked: Sequence[str]) -> None:
    """Search at a steady rate, as far as the answers come."""
    number = 0
    while not done.wait(1 / SEARCHES_A_SECOND):
        measured.meanwhile.append(search(client, asked[number % len(asked)], measured))
        number += 1


def search(client: httpx.Client, question: str, measured: Measured) -> float:
    """Return the seconds of a search."""
    start = time.perf_counter()
    reply = client.post("/search", json={"query": question})
    if reply.status_code != 200:
        measured.failed.append(f"a search was answered {reply.status_code}")
    return time.perf_counter() - start
