"""Measure what an index costs: disk for 1,000 chunks, minutes for 1,000 notes.

    python -m bench sizes FOLDER [--model NAME]

FOLDER holds Markdown; each file is a note. The command line indexes it twice into temporary files: by words alone, and
with vectors. Disk counts the database and all files beside it after it was closed. Memory is the most that the process
and its children had (RSS, each by itself). Where other work runs beside it, compare the minutes of processor time.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import rifflux

__all__ = ["main"]

FIGURES = (
    *("notes", "text, MB", "chunks", "index, MB", "MB for 1,000 chunks"),
    *("minutes for 1,000 notes", "of processor time", "memory, MB"),
)


def main() -> None:
    """Print one row for words alone and one for words and vectors."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--model", help="embedding model")
    arguments = parser.parse_args()
    print(f"| | {' | '.join(FIGURES)} |")
    print("| --- " + "| ---: " * len(FIGURES) + "|")
    for label, more in (("words", ["--no-embed"]), ("words and vectors", [])):
        with tempfile.TemporaryDirectory() as folder:
            model = ["--model", arguments.model] if arguments.model else []
            print(f"| {label} | {_measured(arguments.folder, Path(folder, 'index.db'), [*more, *model])} |", flush=True)


def _measured(source: Path, index: Path, options: list[str]) -> str:
    files = [path for path in source.rglob("*.md") if path.is_file()]
    text = sum(path.stat().st_size for path in files) / 1e6
    start, before = time.monotonic(), _processor()
    done = _index(source, index, options)
    minutes, processor = (time.monotonic() - start) / 60, (_processor() - before) / 60
    disk = sum(path.stat().st_size for path in index.parent.rglob("*") if path.is_file()) / 1e6
    memory = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    chunks, notes = done["chunks"], done["indexed_files"]
    times = (f"{minutes / notes * 1000:.2f}", f"{processor / notes * 1000:.2f}")
    figures = (f"{disk:.1f}", f"{disk / chunks * 1000:.2f}", *times, f"{memory:.0f}")
    return " | ".join([f"{notes:,}", f"{text:.1f}", f"{chunks:,}", *figures])


def _processor() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _index(source: Path, index: Path, options: list[str]) -> dict[str, int]:
    command = [sys.executable, "-m", "rifflux", "index", str(source), "--db", str(index), "--json", *options]
    environment = os.environ | {"PYTHONPATH": str(Path(rifflux.__file__).parents[1])}
    printed = subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=False).stdout
    done: dict[str, int] = json.loads(printed)
    return done


if __name__ == "__main__":
    main()
