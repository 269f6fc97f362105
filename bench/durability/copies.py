"""Copy an index to another file, and to a cluster and back, killed on the way, and compare all sides.

    python -m bench copies INDEX DATA [--chunks 25000] [--kills 10] [--each 5] [--cluster HOST:PORT] [--keep FOLDER]

A copy of INDEX with at most so many chunks gets users with messages, memories, tokens, shared collections, judgements
and usage. Some questions of each collection in DATA are put to it, in three ways. It is copied once undisturbed; then
to another file, and with a node of a cluster to an index there and back to a file. Each of these is killed by SIGKILL
at random moments, and the same command run again, until it was killed as often as given, and ends. The parts of all
copies must have the same numbers and hashes. The answers of files must be the same to the last digit; those of the
cluster are compared with the file's.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import signal
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import rifflux
from bench.shared import questions
from rifflux import Document, Index, Message, Scope
from rifflux.conversations import Conversation, Thread
from rifflux.service.accounts import Accounts
from rifflux.service.usage import Ledger
from rifflux.store import Removal
from rifflux.store.opensearch.leases import LEASE_SECONDS

MODES = ("hybrid", "lexical", "semantic")
USERS = ("ann", "bob", "carol")
#: Messages and memories of each user.
MESSAGES = 200
MEMORIES = 20
#: The maximum number of runs for each kill: some end before they are killed.
MOST_RUNS = 3

Answer = tuple[tuple[str, float], ...]


@dataclass
class Moved:
    """A copy: the numbers and hashes of its parts, how often it was killed, and the seconds that all runs took."""

    parts: list[dict[str, Any]]
    kills: int
    seconds: float


def main() -> int:
    """Copy in all ways, and print what was found; the exit status is 1 if anything differs."""
    arguments = _arguments()
    generator = random.Random(arguments.seed)
    place = arguments.keep or Path(tempfile.mkdtemp(prefix="rifflux-copies-"))
    place.mkdir(parents=True, exist_ok=True)
    source = place / "source.db"
    if not source.exists():
        prepare(arguments.index, source, arguments.chunks)
    asked = [*questions(arguments.data, arguments.each)]
    expected = answers(source, asked)
    whole = moved(source, place / "whole.db", 0, generator, 0.0)
    _tell("undisturbed, file to file", whole, whole)
    wrong = compared("file", answers(place / "whole.db", asked), expected, exact=True)
    steps = [("file to file", source, str(place / "file.db"))]
    if arguments.cluster:
        there = f"opensearch://{arguments.cluster}/copies-{uuid.uuid4().hex[:8]}"
        steps += [("file to cluster", source, there), ("cluster to file", there, str(place / "back.db"))]
    longest = whole.seconds
    for name, origin, target in steps:
        each = moved(origin, target, arguments.kills, generator, longest)
        _tell(name, each, whole)
        wrong += each.parts != whole.parts
        wrong += compared(name, answers(target, asked), expected, exact=target.endswith(".db"))
        longest = max(longest, each.seconds / (each.kills + 1))
    most = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    print(f"memory of a copying process: {most:.0f} MB at most")
    print("everything is the same" if not wrong else f"{wrong} copies differ")
    return int(wrong > 0)


def prepare(index: Path, source: Path, chunks: int) -> None:
    """Make an index of at most so many chunks of another one, with something of everything that users have."""
    with rifflux.open(index, create=False) as opened:
        opened.admin.backup(source)
    with rifflux.open(source) as opened:
        store = opened.admin.store
        surplus = store.totals().chunks - chunks
        removed: dict[str, list[str]] = {}
        for each in store.catalog.stored():
            if surplus <= 0:
                break
            document = each.placed.change.document
            removed.setdefault(each.placed.namespace, []).append(document.key)
            surplus -= len(each.placed.change.chunks)
        store.catalog.write(*(Removal(namespace, keys) for namespace, keys in removed.items()))
        for user in USERS:
            _fill(opened, user)
        opened.collections.set_group("team", [*USERS])


def _fill(index: Index, user: str) -> None:
    mine = index.scoped(Scope(user))
    mine.add(Document("note", f"a note of {user} on the cache"))
    mine.collections.create(f"{user}-shared")
    mine.collections.share(f"{user}-shared", "everyone")
    turns = [
        Message(f"m{number}", user, f"turn {number}: what {user} said of river {number % 17}")
        for number in range(MESSAGES)
    ]
    mine.conversations.put(Thread(Conversation(user, f"Talk of {user}"), tuple(turns)), embed=True)
    for number in range(MEMORIES):
        mine.memories.add(f"{user} likes stone number {number}")
    mine.memories.search("stone")
    mine.judge("cache", "note", grade=2)
    Accounts(index.registry).create(user, label="laptop")
    Ledger(index.registry).bill(user, "model", "chat", lambda: 7, here=False).settle()


def answers(location: str | Path, asked: Sequence[str]) -> dict[str, Answer]:
    """Return the hits of all questions, in three ways, and of what each user may read."""
    found: dict[str, Answer] = {}
    with rifflux.open(location, create=False) as index:
        for question in asked:
            for mode in MODES:
                hits = index.search(question, mode=mode).hits
                found[f"{mode}: {question}"] = tuple((hit.id, hit.score) for hit in hits)
        for user in USERS:
            mine = index.scoped(Scope(user))
            for question in ("river 3", "the cache", "stone"):
                messages = [each.hit for each in mine.conversations.search(question).hits]
                hits = (*mine.search(question).hits, *mine.everything(question).hits, *messages)
                found[f"{user}: {question}"] = tuple((hit.id, hit.score) for hit in hits)
    return found


def compared(name: str, found: dict[str, Answer], expected: dict[str, Answer], *, exact: bool) -> int:
    """Print how many answers are the same; return 1 if an exact one is not."""
    same = sum(found[question] == expected[question] for question in expected)
    order = sum([id for id, _ in found[question]] == [id for id, _ in expected[question]] for question in expected)
    hits = sum({id for id, _ in found[question]} == {id for id, _ in expected[question]} for question in expected)
    total = len(expected)
    print(f"{name}: of {total} answers {hits} have the same hits, {order} in the same order, {same} to the last digit")
    return int(exact and same < total)


def moved(source: str | Path, target: str | Path, kills: int, generator: random.Random, longest: float) -> Moved:
    """Copy by the command, ended by force so many times, and let the last run end.

    An undisturbed copy takes `longest` seconds, with the start of the process. Runs that end before they are killed are
    repeated, `MOST_RUNS` for each kill.
    """
    done = 0
    runs = 0
    start = time.perf_counter()
    # A killed copy on a cluster is waited for.
    waiting = LEASE_SECONDS if "://" in str(target) else 0.0
    while True:
        command = [sys.executable, "-m", "rifflux", "copy", str(source), str(target), "--json"]
        runs += 1
        is_last = done >= kills or runs > MOST_RUNS * kills
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
            patience = None
            if not is_last:
                patience = generator.uniform(0.0, longest) + waiting * bool(done)
            try:
                output, errors = process.communicate(timeout=patience)
            except subprocess.TimeoutExpired:
                process.send_signal(signal.SIGKILL)
                process.communicate()
                done += 1
                continue
        if process.returncode:
            raise SystemExit(f"{' '.join(command)} failed:\n{errors}")
        if is_last:
            return Moved(json.loads(output)["parts"], done, time.perf_counter() - start)


def _tell(name: str, each: Moved, whole: Moved) -> None:
    counts = {part["name"]: part["source"] for part in each.parts}
    listed = ", ".join(f"{count:,} {name}" for name, count in counts.items() if count)
    same = "the same hashes" if each.parts == whole.parts else "OTHER HASHES"
    print(f"{name}: {each.kills} kills, {each.seconds:.1f} s in all; {same}; {listed}", flush=True)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("index", type=Path)
    parser.add_argument("data", type=Path)
    parser.add_argument("--chunks", type=int, default=25_000)
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--each", type=int, default=5, help="questions of each collection")
    parser.add_argument("--cluster", default="", help="HOST:PORT of a node")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", type=Path)
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
