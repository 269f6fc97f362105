"""Measure how soon a save is found by `rifflux index --watch`.

    python -m bench watch FOLDER_OF_COLLECTIONS [--saves N]

A copy of the Markdown in docs/ is watched. Each save writes a word that occurs nowhere else, into a new file or an old
one in turn, and this process asks for it every 5 ms: by words until it is found, then until its vector is there.
"""

from __future__ import annotations

import argparse
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import rifflux
from rifflux import Index

__all__ = ["main"]

PATIENCE_S = 30.0


def main() -> None:
    """Print the median and the 95th percentile of both."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--saves", type=int, default=40)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder, db = Path(temporary, "docs"), Path(temporary, "index.db")
        shutil.copytree(arguments.data / "docs", folder)
        command = [sys.executable, "-m", "rifflux", "index", str(folder), "--watch", "--json", "--db", str(db)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout
            process.stdout.readline()  # the first run is done
            time.sleep(2)
            with rifflux.open(db) as index:
                print(f"{index.status().files} files, {index.status().chunks:,} chunks")
                times = [_save(index, folder, number) for number in range(arguments.saves)]
            process.send_signal(signal.SIGTERM)
    for what, values in zip(("found by words", "found by meaning too"), zip(*times, strict=True), strict=True):
        _tell(f"from save to {what}, ms", values)


def _save(index: Index, folder: Path, number: int) -> tuple[float, float]:
    """Milliseconds until a save is found by words, and until it has its vector."""
    word = f"zyx{number}wvu"
    path = folder / (f"new{number}.md" if number % 2 else "edited.md")
    path.write_text(f"# Note {number}\n\nThe word {word} is written here and nowhere else.\n")
    start = time.perf_counter()
    # Its near spellings, the words of earlier saves, are found before it.
    _wait(lambda: any(word in hit.text for hit in index.search(word, mode="lexical")))
    words = time.perf_counter() - start
    _wait(lambda: index.status().embedded_chunks == index.status().chunks)
    both = time.perf_counter() - start
    time.sleep(0.1 + 0.05 * (number % 7))  # out of step with whatever runs at intervals
    return words * 1000, both * 1000


def _wait(holds: Callable[[], bool]) -> None:
    deadline = time.perf_counter() + PATIENCE_S
    while not holds():
        if time.perf_counter() > deadline:
            raise SystemExit(f"a save was not found within {PATIENCE_S:.0f} s")
        time.sleep(0.005)


def _tell(what: str, values: Sequence[float]) -> None:
    high = statistics.quantiles(values, n=20)[-1]
    print(f"{what:<45} median {statistics.median(values):>7.0f}   p95 {high:>7.0f}   most {max(values):>7.0f}")
