"""Measure what a user's commands take: indexing a folder, starting cold, answering warm, peak memory.

    python -m bench cold FOLDER_OF_COLLECTIONS [--keep FOLDER] [--runs N]
    python -m bench cold --index INDEX [--runs N]      only cold and warm searches, in an index that is there
    python -m bench cold --index INDEX --base CHECKOUT THEIRS [--runs N]      cold searches of two checkouts in turns

Every figure comes with the command that a user would type, run as a process of its own where the start counts. Quote
medians: machines are noisy. The processor time of a cold search is told too, for it is less so. With `--base` another
checkout answers the same questions in an index of its own, THEIRS, and each goes first every second time.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import rifflux

ROOT = Path(__file__).parents[2]
QUESTIONS = (
    "operating systems for time sharing",
    "what does a dragon's breath do",
    "numerical solution of differential equations",
    "spell that lets you fly",
    "how are pages replaced in virtual memory",
    "magic armor that resists fire",
    "parsing of context free languages",
    "who can speak with animals",
)
#: What is installed has its bytecode; here it is kept from one process to the next.
_BYTECODE = tempfile.TemporaryDirectory()
_ENVIRONMENT = {**os.environ, "PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": _BYTECODE.name}
#: Peak memory of a command, told by the kernel to the parent, in a process that has no other children.
_PEAK = (
    "import resource, subprocess, sys; code = subprocess.call(sys.argv[1:], stdout=subprocess.DEVNULL);"
    "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024); sys.exit(code > 1)"
)


def main() -> None:
    """Print one line a figure."""
    arguments = _arguments()
    if arguments.base:
        tree, theirs = arguments.base
        _in_turns([(ROOT, arguments.index), (tree.resolve(), theirs)], arguments.runs)
        return
    if arguments.index:
        _cold(arguments.index, arguments.runs)
        _warm(arguments.index)
        return
    with tempfile.TemporaryDirectory() as temporary:
        folder = arguments.keep or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        _indexing(arguments.data / "docs" / "rust-book", Path(temporary), arguments.runs)
        index = folder / "five-thousand.db"
        _rifflux("index", arguments.data / "cacm/corpus.jsonl", arguments.data / "srd5e/corpus.jsonl", "--db", index)
        _cold(index, arguments.runs)
        _warm(index)
        _memory([arguments.data / name / "corpus.jsonl" for name in ("cfr30", "scifact")], Path(temporary))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, nargs="?")
    parser.add_argument("--index", type=Path)
    parser.add_argument("--base", type=Path, nargs=2, metavar=("CHECKOUT", "THEIRS"))
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--runs", type=int, default=5)
    arguments = parser.parse_args()
    if bool(arguments.data) == bool(arguments.index):
        parser.error("give a folder of collections, or --index")
    if arguments.base and not arguments.index:
        parser.error("--base compares searches in an --index")
    return arguments


def _indexing(docs: Path, folder: Path, runs: int) -> None:
    words = [_rifflux("index", docs, "--no-embed", "--db", folder / f"words{run}.db") for run in range(runs)]
    rates = [report["chunks"] / report["seconds"] for report in words]
    _tell("words only, chunks/s", rates)
    report = _rifflux("index", docs, "--db", folder / "book.db")
    _tell(f"with vectors, {report['chunks']} chunks, s", [report["seconds"]])
    again = [_timed("index", docs, "--db", folder / "book.db") for _ in range(runs)]
    _tell("again unchanged, whole process, s", again)


def _cold(index: Path, runs: int) -> None:
    for mode in ("lexical", "hybrid"):
        _rifflux("search", "the first", "--mode", mode, "--db", index)
        before = _processor_time()
        times = [
            _timed("search", QUESTIONS[run % len(QUESTIONS)], "--mode", mode, "--db", index) for run in range(runs)
        ]
        _tell(f"cold {mode} search, whole process, s", times)
        _tell(f"cold {mode} search, processor time, s", [(_processor_time() - before) / runs])


def _in_turns(sides: Sequence[tuple[Path, Path]], runs: int) -> None:
    """Tell the processor time of cold searches of some checkouts, each in its index."""
    for mode in ("lexical", "hybrid"):
        times: list[list[float]] = [[] for _ in sides]
        for run in range(-1, runs):
            for number in range(len(sides)):
                side = (number + run) % len(sides)
                tree, index = sides[side]
                own = tree / ".venv" / "bin" / "python"
                python = str(own) if own.exists() else sys.executable
                asked = QUESTIONS[run % len(QUESTIONS)]
                command = [python, "-m", "rifflux", "search", asked, "--mode", mode, "--db", str(index), "--json"]
                before = _processor_time()
                environment = _ENVIRONMENT | {"PYTHONPATH": str(tree / "src")}
                subprocess.run(command, capture_output=True, check=True, env=environment)
                # The first of each finds no bytecode.
                if run >= 0:
                    times[side].append(_processor_time() - before)
        for (tree, _), measured in zip(sides, times, strict=True):
            _tell(f"cold {mode} search, processor time, s, {tree.name}", measured)


def _processor_time() -> float:
    """The seconds that ended child processes have computed."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _warm(index: Path) -> None:
    with rifflux.open(index, create=False) as opened:
        _tell("chunks in that index", [float(opened.status().chunks)])
        for mode in ("lexical", "hybrid"):
            opened.search(QUESTIONS[0], mode=mode)
            times = []
            for question in QUESTIONS * 5:
                start = time.perf_counter()
                opened.search(question, mode=mode)
                times.append((time.perf_counter() - start) * 1000)
            _tell(f"warm {mode} search, ms", times)


def _memory(corpora: Sequence[Path], folder: Path) -> None:
    command = [sys.executable, "-m", "rifflux", "index", *map(str, corpora), "--db", str(folder / "memory.db")]
    peak = subprocess.run([sys.executable, "-c", _PEAK, *command], capture_output=True, text=True, check=True)
    _tell("peak memory, indexing cfr30 and scifact with vectors, MB", [float(peak.stdout.split()[-1])])


def _rifflux(*arguments: str | Path) -> dict[str, Any]:
    command = [sys.executable, "-m", "rifflux", *map(str, arguments), "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=_ENVIRONMENT)
    report: dict[str, Any] = json.loads(done.stdout)
    return report


def _timed(*arguments: str | Path) -> float:
    start = time.perf_counter()
    _rifflux(*arguments)
    return time.perf_counter() - start


def _tell(what: str, values: Sequence[float]) -> None:
    middle = statistics.median(values)
    spread = f"   ({min(values):.3g} to {max(values):.3g})" if len(values) > 1 else ""
    print(f"{what:<58} {middle:>9.4g}{spread}", flush=True)
