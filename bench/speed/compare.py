"""Compare warm searches and indexing with another checkout, in turns, in one run.

    python -m bench compare DATA --base CHECKOUT [--documents 8000] [--questions 100] [--rounds 7] [--names NAME ...]

Both checkouts index the same documents of DATA (collections in BEIR's layout), all by words and an eighth with vectors,
and answer the same questions on the latter, each in a process of its own that stays. In every round one question after
the other is asked of both, and the one that begins changes each time, so that what else the machine does falls on both.
Printed are medians of this checkout and of the other, and their ratio: for searches milliseconds (a question counts by
the least of its rounds), for indexing seconds of processor time and of the clock, and megabytes that a fresh process
takes for it together with those that it starts, what they share counted once (Linux only); for opening the index, the
milliseconds of the fastest time.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
NAMES = ("scifact", "cacm", "cosqa")
MODES = ("lexical", "hybrid")
#: Rounds of indexing: each takes many times what a round of searches does; and of opening, which takes little.
INDEXED = 3
OPENED = 30
#: Indexes a file by words in two processes, as the command line does.
INDEXING = """
import gc, sys, rifflux
gc.set_threshold(50_000, 20, 50)
with rifflux.open(sys.argv[1]) as index:
    index.add(sys.argv[2], embed=False, processes=2)
"""


def main() -> None:
    """Print a line for each figure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--base", type=Path, help="the other checkout")
    parser.add_argument("--names", nargs="+", default=NAMES, help="collections to take documents and questions of")
    parser.add_argument("--documents", type=int, default=8000, help="by words; an eighth of them with vectors")
    parser.add_argument("--questions", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--child", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        _serve(arguments.child)
        return
    if not arguments.base:
        parser.error("--base is needed: the checkout to compare with")
    with tempfile.TemporaryDirectory() as folder:
        corpus = Path(folder) / "corpus.jsonl"
        _write(corpus, arguments)
        questions = [line["text"] for line in _lines(arguments, "queries.jsonl", arguments.questions)]
        sides = [
            _Side(tree, arguments, Path(folder) / name) for tree, name in ((ROOT, "here"), (arguments.base, "base"))
        ]
        _indexing(sides, corpus, min(INDEXED, arguments.rounds))
        _memory(sides, corpus, min(INDEXED, arguments.rounds))
        _opening(sides, OPENED)
        _searching(sides, questions, arguments.rounds)
        for side in sides:
            side.end()


def _lines(arguments: argparse.Namespace, name: str, count: int) -> Iterator[dict[str, Any]]:
    for collection in arguments.names:
        with (arguments.data / collection / name).open(encoding="utf-8") as file:
            yield from map(json.loads, islice(file, count // len(arguments.names)))


def _write(corpus: Path, arguments: argparse.Namespace) -> None:
    documents = list(_lines(arguments, "corpus.jsonl", arguments.documents))
    for path, some in ((corpus, documents), (corpus.with_name("few.jsonl"), documents[::8])):
        path.write_text("\n".join(map(json.dumps, some)) + "\n", "utf-8")


class _Side:
    """A process that runs one checkout's package and does what it is told, line by line."""

    def __init__(self, tree: Path, arguments: argparse.Namespace, folder: Path) -> None:
        folder.mkdir()
        command = [sys.executable, __file__, str(arguments.data), "--child", str(folder)]
        environment = os.environ | {"PYTHONPATH": str(tree.resolve() / "src")}
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
        )

    def __call__(self, **task: object) -> dict[str, float]:
        """Do a task, and return its figures."""
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write(json.dumps(task) + "\n")
        self._process.stdin.flush()
        found: dict[str, float] = json.loads(self._process.stdout.readline())
        return found

    def end(self) -> None:
        """End the process."""
        self._process.communicate()


def _indexing(sides: Sequence[_Side], corpus: Path, rounds: int) -> None:
    for what, path, embed in (("words", corpus, False), ("vectors", corpus.with_name("few.jsonl"), True)):
        found = _in_turns(sides, rounds, partial(_Side.__call__, add=str(path), embed=embed))
        for figure in ("cpu", "seconds"):
            _tell(f"indexing, {what}, {figure} s", *(statistics.median(each[figure] for each in one) for one in found))


def _memory(sides: Sequence[_Side], corpus: Path, rounds: int) -> None:
    if not Path("/proc/self/smaps_rollup").exists():
        return
    found = _in_turns(sides, rounds, partial(_Side.__call__, fill=str(corpus)))
    _tell("indexing, words, memory MB", *(statistics.median(each["mb"] for each in one) for one in found))


def _opening(sides: Sequence[_Side], rounds: int) -> None:
    found = _in_turns(sides, rounds, partial(_Side.__call__, open=True))
    _tell("opening, ms", *(min(each["ms"] for each in one) for one in found))


def _searching(sides: Sequence[_Side], questions: Sequence[str], rounds: int) -> None:
    for mode in MODES:
        least: list[list[float]] = [[], []]
        for question in questions:
            found = _in_turns(sides, rounds, partial(_Side.__call__, search=question, mode=mode))
            for one, times in zip(least, found, strict=True):
                one.append(min(each["ms"] for each in times))
        for what, share in (("median", 0.5), ("p95", 0.95)):
            _tell(f"search, {mode}, {what} ms", *(sorted(one)[int(share * (len(one) - 1))] for one in least))


def _in_turns(
    sides: Sequence[_Side], rounds: int, work: Callable[[_Side], dict[str, float]]
) -> list[list[dict[str, float]]]:
    found: list[list[dict[str, float]]] = [[] for _ in sides]
    for number in range(rounds):
        for place in range(len(sides)):
            turn = (place + number) % len(sides)
            found[turn].append(work(sides[turn]))
    return found


def _tell(what: str, here: float, base: float) -> None:
    ratio = here / base if base else float("nan")
    print(f"{what:<32} here {here:>9.3f}   base {base:>9.3f}   ratio {ratio:.3f}", flush=True)


# In the process of a side


def _serve(folder: Path) -> None:
    """Do the tasks of standard input; searches are in the index that was made last."""
    import rifflux

    searched = None
    for number, line in enumerate(sys.stdin):
        task = json.loads(line)
        if "add" in task:
            index = rifflux.open(folder / f"{number}.db")
            if task["embed"]:
                index.add(rifflux.Document("first", "It loads the model."))
            start, cpu = time.perf_counter(), _cpu()
            index.add(task["add"], embed=task["embed"])
            print(json.dumps({"seconds": time.perf_counter() - start, "cpu": _cpu() - cpu}), flush=True)
            searched = index
            continue
        if "fill" in task:
            command = [sys.executable, "-c", INDEXING, str(folder / f"{number}.db"), task["fill"]]
            print(json.dumps({"mb": _most_memory(subprocess.Popen(command))}), flush=True)
            continue
        assert searched
        start = time.perf_counter()
        if "open" in task:
            rifflux.open(searched.path, create=False).close()
            print(json.dumps({"ms": (time.perf_counter() - start) * 1000}), flush=True)
            continue
        searched.search(task["search"], mode=task["mode"])
        print(json.dumps({"ms": (time.perf_counter() - start) * 1000}), flush=True)


def _most_memory(process: subprocess.Popen[bytes]) -> float:
    """Return the most memory that a process and its children ever take together, in MB."""
    most = 0.0
    while process.poll() is None:
        taken = 0
        for pid in (process.pid, *_children(process.pid)):
            with suppress(OSError):
                lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
                taken += sum(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
        most = max(most, taken / 1024)
        time.sleep(0.05)
    if process.returncode:
        raise RuntimeError("indexing failed")
    return most


def _children(parent: int) -> list[int]:
    found: list[int] = []
    for thread in Path(f"/proc/{parent}/task").glob("*/children"):
        with suppress(OSError):
            found += map(int, thread.read_text().split())
    return found


def _cpu() -> float:
    """Return the seconds of processor time of this process and of those it started that have ended."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


if __name__ == "__main__":
    main()
