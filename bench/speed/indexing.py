"""Measure how fast an index is made: by words alone, and with vectors beside the bare model.

    python -m bench indexing FOLDER_OF_COLLECTIONS [--runs N] [--embed NAME] [--short]

Words: the folder's collections (JSON Lines, cut short: about 100,000 chunks; `--short` takes three of them) and its
Markdown (docs/rust-book), with one process and with one per core. Vectors: one collection (`--embed`, default
`cacm`), indexed from nothing, and then one call of the model on the very same texts, in turns, so that a noisy machine
is noisy to both. Each run is a process of its own; peak memory is that of all its processes together, ten times a
second. Where other work runs beside it, compare processor times.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import resource
import statistics
import subprocess
import tempfile
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import rifflux
from bench.shared import program
from bench.speed.corpus import SHORT
from rifflux.ingest.chunking import embedding_text
from rifflux.models.cores import available_cores
from rifflux.session.profile import Profile

__all__ = ["family", "main"]

THREE = ("scifact", "cfr30", "cosqa")


def main() -> None:
    """Print one line a figure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--embed", default="cacm", help="the collection to embed; empty: none")
    parser.add_argument("--short", action="store_true")
    parser.add_argument("--job", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.job:
        print(json.dumps(_job(**json.loads(arguments.job))))
        return
    corpora = [arguments.data / name / "corpus.jsonl" for name in THREE] if arguments.short else None
    corpora = corpora or sorted(arguments.data.glob("*/corpus.jsonl"))
    for what, paths, short in (
        ("JSON Lines", corpora, True),
        ("Markdown", [arguments.data / "docs" / "rust-book"], False),
    ):
        for processes in sorted({1, available_cores()}):
            done = [
                _run(paths, short=short, embed=False, processes=processes, arguments=arguments)
                for _ in range(arguments.runs)
            ]
            label = f"{what}, {done[0]['chunks']:,} chunks, words only, {processes} process(es)"
            _tell(f"{label}, chunks/s", [each["chunks"] / each["seconds"] for each in done])
            _tell(f"{label}, chunks/s of processor time", [each["chunks"] / each["cpu"] for each in done])
            _tell(f"{label}, peak memory, MB", [each["peak"] for each in done])
    if arguments.embed:
        _vectors([arguments.data / arguments.embed / "corpus.jsonl"], arguments)


def _vectors(paths: Sequence[Path], arguments: argparse.Namespace) -> None:
    done = [
        _run(paths, short=False, embed=True, processes=available_cores(), arguments=arguments)
        for _ in range(arguments.runs)
    ]
    label = f"{arguments.embed}, {done[0]['chunks']:,} chunks with vectors"
    _tell(f"{label}, chunks/s", [each["chunks"] / each["seconds"] for each in done])
    _tell("the bare model on those texts, texts/s", [each["chunks"] / each["bare"] for each in done])
    _tell("share of the bare model's rate", [each["bare"] / each["seconds"] for each in done])
    _tell("peak memory, MB", [each["peak"] for each in done])


def _run(paths: Sequence[Path], arguments: argparse.Namespace, **how: object) -> dict[str, Any]:
    job = json.dumps({"paths": [str(path) for path in paths], **how})
    command = [*program("indexing"), str(arguments.data), "--job", job]
    found: dict[str, Any] = json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)
    return found


def _tell(what: str, values: Sequence[float]) -> None:
    spread = f"   ({min(values):.3g} to {max(values):.3g})" if len(values) > 1 else ""
    print(f"{what:<75} {statistics.median(values):>9.4g}{spread}", flush=True)


# One run, in a process of its own


def _job(paths: list[str], short: bool, embed: bool, processes: int) -> dict[str, Any]:
    gc.set_threshold(50_000, 20, 50)  # as the command line has it
    profile = SHORT if short else "files"
    texts = _texts(paths, profile) if embed else []
    with tempfile.TemporaryDirectory() as folder, rifflux.open(Path(folder) / "index.db", profile=profile) as index:
        if embed:
            index.admin.embedder.embed_query("load the model")  # which is no part of either
        with _Peak() as peak:
            start, cpu = time.perf_counter(), _cpu()
            report = index.add(*map(Path, paths), embed=embed, processes=processes)
            seconds, cpu = time.perf_counter() - start, _cpu() - cpu
        start = time.perf_counter()
        index.admin.embedder.embed_documents(texts)
        bare = time.perf_counter() - start
    return {"chunks": report.chunks, "seconds": seconds, "cpu": cpu, "bare": bare, "peak": peak.most / 2**20}


def _texts(paths: Sequence[str], profile: str | Profile) -> list[str]:
    """What is embedded of these files: each text once."""
    with rifflux.open(":memory:", profile=profile) as index:
        index.add(*map(Path, paths), embed=False)
        chunks = {chunk.hash: chunk for batch in index.admin.store.semantic.pending(10_000) for chunk in batch}
    return [embedding_text(chunk.title, chunk.headings, chunk.text) for chunk in chunks.values()]


def _cpu() -> float:
    """Seconds of processor time of this process and of those it started that have ended."""
    return sum(sum(resource.getrusage(who)[:2]) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))


class _Peak:
    """The most memory that this process and those it started take together, while the block runs. Linux only."""

    most = 0

    def __enter__(self) -> _Peak:
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._ended.wait(0.1):
            self.most = max(self.most, sum(map(_resident, family())))


def family() -> list[int]:
    """This process and its children."""
    here = os.getpid()
    children = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            if int(path.read_text().rpartition(")")[2].split()[1]) == here:
                children.append(int(path.parent.name))
    return [here, *children]


def _resident(pid: int) -> int:
    """Bytes of a process that are in memory; 0 if it is gone."""
    with suppress(OSError):
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * resource.getpagesize()
    return 0
