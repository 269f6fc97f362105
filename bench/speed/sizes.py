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
from dataclasses import dataclass
from pathlib import Path

import rifflux
from rifflux.models.onnx import BUNDLED

__all__ = ["Costs", "costs", "main", "named"]

FIGURES = (
    *("notes", "text, MB", "chunks", "model, MB", "index, MB", "MB for 1,000 chunks"),
    *("minutes for 1,000 notes", "of processor time", "memory, MB"),
)


@dataclass(frozen=True, slots=True)
class Costs:
    """What it took to index a folder of notes with a model; times are for 1,000 notes."""

    notes: int
    text_megabytes: float
    chunks: int
    model_megabytes: float
    index_megabytes: float
    minutes: float
    processor_minutes: float
    memory_megabytes: float


def main() -> None:
    """Print one row for words alone and one for each model."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--models", nargs="+", default=["minilm"], help="embedding models  [default: minilm]")
    arguments = parser.parse_args()
    print(f"| | {' | '.join(FIGURES)} |")
    print("| --- " + "| ---: " * len(FIGURES) + "|")
    for model in ("", *arguments.models):
        print(f"| {named(model)} | {_row(costs(arguments.folder, model))} |", flush=True)


def named(model: str) -> str:
    """Return a short name for what `--model` takes, and for words alone."""
    return "+".join(Path(part).name for part in model.split("+")) or "words alone"


def costs(source: Path, model: str) -> Costs:
    """Index a folder in a process of its own into a temporary file, by words alone if `model` is empty."""
    files = [path for path in source.rglob("*.md") if path.is_file()]
    with tempfile.TemporaryDirectory() as folder:
        start = time.monotonic()
        done, used = _index(source, Path(folder, "index.db"), ["--model", model] if model else ["--no-embed"])
        minutes, notes = (time.monotonic() - start) / 60, done["indexed_files"]
        return Costs(
            notes=notes,
            text_megabytes=sum(path.stat().st_size for path in files) / 1e6,
            chunks=done["chunks"],
            model_megabytes=sum(_megabytes(_home(part)) for part in model.split("+") if part),
            index_megabytes=_megabytes(Path(folder)),
            minutes=minutes / notes * 1000,
            processor_minutes=(used.ru_utime + used.ru_stime) / 60 / notes * 1000,
            memory_megabytes=used.ru_maxrss / 1024,
        )


def _row(spent: Costs) -> str:
    held = (f"{spent.model_megabytes:.1f}", f"{spent.index_megabytes:.1f}")
    share = f"{spent.index_megabytes / spent.chunks * 1000:.2f}"
    times = (f"{spent.minutes:.2f}", f"{spent.processor_minutes:.2f}", f"{spent.memory_megabytes:.0f}")
    return " | ".join([f"{spent.notes:,}", f"{spent.text_megabytes:.1f}", f"{spent.chunks:,}", *held, share, *times])


def _home(model: str) -> Path:
    return BUNDLED if model == "minilm" else Path(model)


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
