"""Kill and stop nodes of a real cluster during acknowledged writes and searches; count what is lost and what is late.

    python -m bench nodes [--kills 4] [--stops 2] [--deadline 2000]

Three nodes are started on this machine (`scripts/cluster.py`, 512 MB each). Two writers add and remove documents of two
passages, one at a time; a reader searches all the while with a deadline. A node is killed and started again, or stopped
for some seconds, one at a time. At the end a new process's view is compared with what was acknowledged: documents that
were added must be there, those that were removed must not. Each document that a search found is looked at: with one of
its passages and not the other, it was seen by halves. A search that failed is counted by its error, and by whether all
nodes were there with all copies: what is refused then, load or a defect refused.
"""

from __future__ import annotations

import argparse
import random
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import rifflux
from rifflux.index.cluster import cluster_of
from rifflux.store import Selection

SCRIPT = Path(__file__).parents[2] / "scripts" / "cluster.py"
NODES = 3
#: Seconds that a node is stopped for, that one is away before it is started again, and that the cluster gets to heal.
STOPPED = 6.0
AWAY = 2.0
HEALING = 300.0
#: Milliseconds beyond the deadline after which an answer counts as late.
LEEWAY = 500.0


@dataclass
class Seen:
    """What writers and the reader saw."""

    present: set[str] = field(default_factory=set)
    removed: set[str] = field(default_factory=set)
    #: Documents whose last write failed, so that either state is right.
    unknown: set[str] = field(default_factory=set)
    writes: int = 0
    refused: int = 0
    searches: int = 0
    partial: int = 0
    failed: int = 0
    late: int = 0
    slowest: float = 0.0
    halves: int = 0
    #: True while no node is away and no copy is missing, and the errors of searches, by that.
    is_whole: bool = True
    errors: Counter[tuple[str, bool]] = field(default_factory=Counter)
    lock: threading.Lock = field(default_factory=threading.Lock)


@contextmanager
def nodes() -> Iterator[tuple[list[str], subprocess.Popen[str]]]:
    """Run a cluster; yield its hosts and the process that takes orders."""
    command = [sys.executable, str(SCRIPT), "run", "--nodes", str(NODES)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        assert process.stdin
        try:
            word, *urls = process.stdout.readline().split()
            assert word == "ready"
            yield [url.removeprefix("http://") for url in urls], process
        finally:
            process.stdin.close()


def order(process: subprocess.Popen[str], text: str) -> None:
    """Have the process do something to a node, and wait until it is done."""
    assert process.stdin
    assert process.stdout
    process.stdin.write(text + "\n")
    process.stdin.flush()
    process.stdout.readline()


def write(place: str, name: str, seen: Seen, stop: threading.Event) -> None:
    """Add documents and remove every fifth again, until stopped."""
    number = 0
    with rifflux.open(place, model="hash:64") as index:
        while not stop.is_set():
            number += 1
            key = f"{name}-{number}"
            text = f"# One\n\nheron {name} first {number}\n\n# Two\n\nheron {name} second {number}\n"
            removing = f"{name}-{number - 3}" if number % 5 == 0 else ""
            try:
                if removing:
                    index.remove(removing)
                else:
                    index.add(rifflux.Document(key, text, kind="markdown"))
            except rifflux.RiffluxError:
                with seen.lock:
                    seen.refused += 1
                    seen.unknown.add(removing or key)
                    seen.present.discard(removing)
                continue
            with seen.lock:
                seen.writes += 1
                if removing:
                    seen.present.discard(removing)
                    if removing not in seen.unknown:
                        seen.removed.add(removing)
                else:
                    seen.present.add(key)


def read(place: str, deadline: float, seen: Seen, stop: threading.Event) -> None:
    """Search until stopped."""
    random_numbers = random.Random(3)
    with rifflux.open(place, model="hash:64") as index:
        while not stop.is_set():
            with seen.lock:
                some = sorted(seen.present)[-50:]
            words = random_numbers.choice(some).rpartition("-")[::2] if some else ("one", "1")
            start = time.perf_counter()
            try:
                found = index.search(" ".join(("heron", *words)), mode="lexical", top_k=50, deadline_ms=deadline)
                parts: dict[str, int] = {}
                for hit in found:
                    parts[hit.key] = parts.get(hit.key, 0) + 1
                # The last on a page may have its other passage on the next.
                complete = [count for key, count in parts.items() if key != found.hits[-1].key]
                seen.halves += sum(count == 1 for count in complete) if len(found) < 50 else 0
                seen.partial += bool(found.trace.degraded)
            except rifflux.RiffluxError as error:
                seen.failed += 1
                text = str(error).replace(place, "the cluster").partition(":")[0]
                seen.errors[f"{type(error).__name__}, {text}", seen.is_whole] += 1
            took = (time.perf_counter() - start) * 1000
            seen.searches += 1
            seen.late += took > deadline + LEEWAY
            seen.slowest = max(seen.slowest, took)


def heal(place: str) -> bool:
    """Wait until all copies of the index are there again; return False if that takes too long."""
    end = time.monotonic() + HEALING
    while time.monotonic() < end:
        try:
            found = cluster_of(place).status()
            if found.nodes == NODES and found.health == "green":
                return True
        except rifflux.RiffluxError:
            pass
        time.sleep(1)
    return False


def listed(index: rifflux.Index) -> Iterator[str]:
    """Yield the keys of all documents."""
    for each in index.admin.store.catalog.documents(Selection()):
        yield each.document.key


def main() -> None:
    """Print a table of what was done and seen."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=4)
    parser.add_argument("--stops", type=int, default=2)
    parser.add_argument("--deadline", type=float, default=2000.0, help="of a search, in milliseconds")
    options = parser.parse_args()
    faults = ["kill"] * options.kills + ["stop"] * options.stops
    random.Random(7).shuffle(faults)
    seen = Seen()
    done: Counter[str] = Counter()
    is_whole = False
    stop = threading.Event()
    with nodes() as (hosts, process):
        place = f"opensearch://{','.join(hosts)}/bench"
        cluster_of(place).init(shards=1, replicas=2)
        rifflux.open(place, model="hash:64").close()
        threads = [threading.Thread(target=write, args=(place, name, seen, stop)) for name in ("one", "two")]
        threads.append(threading.Thread(target=read, args=(place, options.deadline, seen, stop)))
        for each in threads:
            each.start()
        try:
            for number, fault in enumerate(faults):
                node = number % NODES + 1
                if not heal(place):
                    break
                seen.is_whole = True
                done[fault] += 1
                time.sleep(AWAY)
                seen.is_whole = False
                order(process, f"{fault} {node}")
                time.sleep(STOPPED if fault == "stop" else AWAY)
                order(process, f"{'cont' if fault == 'stop' else 'start'} {node}")
            is_whole = heal(place)
        finally:
            stop.set()
            for each in threads:
                each.join()
        with rifflux.open(place, model="hash:64") as index:
            known = {*listed(index)}
    lost = seen.present - seen.unknown - known
    found = (seen.removed - seen.unknown) & known
    print("| what | number |\n| --- | --- |")
    for name, value in {
        "nodes killed": done["kill"],
        "nodes stopped": done["stop"],
        f"whole again within {HEALING:.0f} s of the last": int(is_whole),
        "writes acknowledged": seen.writes,
        "writes refused": seen.refused,
        "acknowledged documents that are lost": len(lost),
        "removed documents that are there": len(found),
        "searches": seen.searches,
        "answered in part": seen.partial,
        "refused": seen.failed,
        f"later than {options.deadline + LEEWAY:,.0f} ms": seen.late,
        "slowest, ms": round(seen.slowest),
        "documents seen by halves": seen.halves,
    }.items():
        print(f"| {name} | {value:,} |")
    for (text, was_whole), number in sorted(seen.errors.items()):
        print(f"| refused {'with all nodes' if was_whole else 'with a node away'}: {text} | {number:,} |")


if __name__ == "__main__":
    main()
