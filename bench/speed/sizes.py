"""Measure what an index costs: disk for 1,000 chunks, minutes for 1,000 notes.

    python -m bench sizes FOLDER [--models NAME ...]

FOLDER holds Markdown; each file is a note. The command line indexes it into temporary files: by words alone, and with
vectors of each model, which is anything that `--model` takes. Disk counts the database and all files beside it after it
was closed; that of a model is its folder's. Memory is the most that the process or one of its children had (RSS). Where
other work runs beside it, compare the minutes of processor time.
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
from rifflux.models.embedder import BUNDLED

__all__ = ["main"]

FIGURES = (
    *("notes", "text, MB", "chunks", "model, MB", "index, MB", "MB for 1,000 chunks"),
    *("minutes for 1,000 notes", "of processor time", "memory, MB"),
)


def main() -> None:
    """Print one row for words alone and one for each model."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--models", nargs="+", default=["minilm"], help="embedding models  [default: minilm]")
    arguments = parser.parse_args()
    print(f"| | {' | '.join(FIGURES)} |")
    print("| --- " + "| ---: " * len(FIGURES) + "|")
    for model in ("", *arguments.models):
        with tempfile.TemporaryDirectory() as folder:
            label = "+".join(Path(part).name for part in model.split("+")) or "words alone"
            print(f"| {label} | {_measured(arguments.folder, Path(folder, 'index.db'), model)} |", flush=True)


def _measured(source: Path, index: Path, model: str) -> str:
    files = [path for path in source.rglob("*.md") if path.is_file()]
    text = sum(path.stat().st_size for path in files) / 1e6
    start = time.monotonic()
    done, used = _index(source, index, ["--model", model] if model else ["--no-embed"])
    minutes, processor = (time.monotonic() - start) / 60, (used.ru_utime + used.ru_stime) / 60
    disk, chunks, notes = _megabytes(index.parent), done["chunks"], done["indexed_files"]
    times = (f"{minutes / notes * 1000:.2f}", f"{processor / notes * 1000:.2f}")
    held = sum(_megabytes(BUNDLED if part == "minilm" else Path(part)) for part in model.split("+") if part)
    figures = (f"{held:.1f}", f"{disk:.1f}", f"{disk / chunks * 1000:.2f}", *times, f"{used.ru_maxrss / 1024:.0f}")
    return " | ".join([f"{notes:,}", f"{text:.1f}", f"{chunks:,}", *figures])


def _megabytes(folder: Path) -> float:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) / 1e6


def _index(source: Path, index: Path, options: list[str]) -> tuple[dict[str, int], resource.struct_rusage]:
    """Index a folder in a process of its own; return what it reports, and what it and its children used."""
    command = [sys.executable, "-m", "rifflux", "index", str(source), "--db", str(index), "--json", *options]
    environment = os.environ | {"PYTHONPATH": str(Path(rifflux.__file__).parents[1])}
    with tempfile.TemporaryFile() as printed:
        process = subprocess.Popen(command, env=environment, stdout=printed)
        _, _, used = os.wait4(process.pid, 0)
        printed.seek(0)
        done: dict[str, int] = json.load(printed)
    return done, used


if __name__ == "__main__":
    main()
