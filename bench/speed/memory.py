"""Measure the memory it takes to make an index of about 100,000 chunks, and to search one.

    python -m bench memory FOLDER_OF_COLLECTIONS INDEX.db [--embed] [--questions 300]

First the folder's collections (JSON Lines, cut short) are indexed into a temporary file, by words alone unless
`--embed`. Then a copy of the index, made by `bench corpus` with vectors, is searched by words, by meaning and by
both. Each is a process of its own, looked at ten times a second together with those it starts. Printed are the most
that they take together, with what they share counted once (PSS), how much of that is their own and how much is mapped
from files, which the system takes back when it needs it; and the most that each ever had in memory (VmHWM). Linux only.
"""

from __future__ import annotations

import argparse
import gc
import json
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import rifflux
from bench.shared import program
from bench.speed.corpus import build
from bench.speed.indexing import family
from rifflux import Index
from rifflux.store.sqlite.connection.texts import LEFT

__all__ = ["main"]

MB = 1024  # kilobytes, which the system counts in
MODES = ("lexical", "semantic", "hybrid")


def main() -> None:
    """Print a line for indexing and one for searching."""
    arguments = _arguments()
    if arguments.job:
        print(json.dumps(_job(arguments)))
        return
    with tempfile.TemporaryDirectory() as folder:
        copy = shutil.copy(arguments.index, Path(folder) / "index.db")
        with rifflux.open(copy) as index:
            index.admin.accelerate()  # what is beside the file is there before it is searched
        for job in ("index", "search"):
            _run(job, Path(copy), arguments)


def _run(job: str, copy: Path, arguments: argparse.Namespace) -> None:
    more = ["--job", job, "--questions", str(arguments.questions), *(["--embed"] if arguments.embed else [])]
    command = [*program("memory"), str(arguments.data), str(copy), *more]
    found = json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)
    each = " + ".join(f"{high:.0f}" for high in found["highest"])
    print(
        f"{job:<8} {found['chunks']:>9,} chunks   together {found['together']:5.0f} MB (own {found['own']:.0f}, "
        f"mapped files {found['mapped']:.0f})   VmHWM of each: {each} = {sum(found['highest']):.0f} MB",
        flush=True,
    )


# One job, in a process of its own


def _job(arguments: argparse.Namespace) -> dict[str, object]:
    gc.set_threshold(50_000, 20, 50)  # as the command line has it
    with _Most() as most:
        chunks = _index(arguments) if arguments.job == "index" else _search(arguments)
    highest = sorted(most.highest.values(), reverse=True)
    return {"chunks": chunks, "together": most.pss, "own": most.own, "mapped": most.mapped, "highest": highest}


def _index(arguments: argparse.Namespace) -> int:
    with tempfile.TemporaryDirectory() as folder:
        return build(arguments.data, Path(folder) / "index.db", embed=arguments.embed)


def _search(arguments: argparse.Namespace) -> int:
    with rifflux.open(arguments.index) as index:
        for question in _questions(index, arguments.questions):
            for mode in MODES:
                index.search(question, mode=mode)
        return index.status().chunks


def _questions(index: Index, number: int) -> list[str]:
    """Beginnings of documents: they find something, and no two are alike."""
    statement = f"select {LEFT} from document_text order by document limit :most"
    keys = index.admin.store.view.rows(statement, {"most": number})  # type: ignore[attr-defined]
    return [" ".join(text.split()[:8]) or "nothing" for (text,) in keys]


@dataclass
class _Most:
    """The most memory that this process and those it started take while the block runs, in MB."""

    pss: float = 0.0
    own: float = 0.0
    mapped: float = 0.0
    highest: dict[int, float] = field(default_factory=dict)
    _ended: threading.Event = field(default_factory=threading.Event)

    def __enter__(self) -> _Most:
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._ended.wait(0.1):
            self._look()
        self._look()

    def _look(self) -> None:
        pss = own = mapped = 0.0
        for pid in family():
            for name, value in _numbers(Path(f"/proc/{pid}/smaps_rollup")):
                pss += value * (name == "Pss")
                own += value * (name == "Pss_Anon")
                mapped += value * (name == "Pss_File")
            for name, value in _numbers(Path(f"/proc/{pid}/status")):
                if name == "VmHWM":
                    self.highest[pid] = value
        if pss > self.pss:
            self.pss, self.own, self.mapped = pss, own, mapped


def _numbers(path: Path) -> Iterator[tuple[str, float]]:
    """The lines of a file of the system that hold kilobytes, in MB; none if the process is gone."""
    with suppress(OSError):
        for line in path.read_text().splitlines():
            if line.endswith(" kB"):
                name, _, value = line.removesuffix(" kB").partition(":")
                yield name, int(value) / MB


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("index", type=Path)
    parser.add_argument("--embed", action="store_true")
    parser.add_argument("--questions", type=int, default=300)
    parser.add_argument("--job", choices=("index", "search"), help=argparse.SUPPRESS)
    return parser.parse_args()
