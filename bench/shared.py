"""What several bench programs need: the collections, questions, marked documents, and figures in lines."""

from __future__ import annotations

import json
import random
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TypeVar

from rifflux.retrieve.steps import calibrate
from rifflux.store.sqlite.query import from_bytes
from rifflux.types import Filter, Vectors

__all__ = [
    "MARK",
    "NAMES",
    "SCOPES",
    "SHARES",
    "cached",
    "forget",
    "program",
    "questions",
    "sample",
    "stored_vectors",
    "tell",
    "timed",
]

#: The development collections, with `:QRELS` for another set of judgements, and those asked within a scope.
NAMES = (
    *("scifact", "nfcorpus", "cacm", "cosqa", "locomo", "stacks", "stacks:terms", "cfr30", "srd5e"),
    *("nq-utd", "med", "qmsum"),
)
SCOPES = {"locomo": "conversation"}

#: Filters that leave everything, and shares of the documents, scattered; `MARK` marks the documents for them.
SHARES = {"everything": Filter(), **{f"{n} %": Filter(metadata={f"share{n}": 1}) for n in (1, 10, 90)}}
MARK = """
update document set metadata = json_set(
    metadata, '$.share1', id * 7919 % 100 = 0, '$.share10', id * 7919 % 10 = 0, '$.share90', id * 7919 % 10 > 0
)"""

BLOCK = 1 << 24

Item = TypeVar("Item")
Found = TypeVar("Found")


def program(name: str) -> list[str]:
    """Return the command of a bench program, for a process of its own."""
    return [sys.executable, "-m", "bench", name]


def questions(data: Path, count: int) -> Iterator[str]:
    """Draw some questions of each collection of a folder."""
    generator = random.Random(0)
    for path in sorted(data.glob("*/queries.jsonl")):
        texts = [json.loads(line)["text"] for line in path.read_text("utf-8").splitlines()]
        yield from generator.sample(texts, min(count, len(texts)))


def sample(generator: random.Random, items: Sequence[Item], count: int) -> list[Item]:
    """Draw `count` of the items, or all of them in a random order if there are fewer."""
    return generator.sample(items, min(count, len(items)))


def cached(path: Path) -> Path:
    """Have the system's page cache hold an index and what lies beside it, as far as there is memory; the path again."""
    for each in sorted(path.parent.glob(f"{path.name}*")):
        for file in sorted(each.rglob("*")) if each.is_dir() else [each]:
            if file.is_file():
                with file.open("rb", buffering=0) as stream:
                    while stream.read(BLOCK):
                        pass
    return path


def forget() -> None:
    """Drop what is remembered of analyzed passages: other questions find others, and few are asked twice."""
    calibrate._terms_of.cache_clear()


def timed(what: str, work: Callable[[Item], Found], items: Sequence[Item]) -> list[Found]:
    """Do some work for each item, print how long it took, and return what came of it."""
    for item in items[:20]:
        work(item)
    found, times = [], []
    for item in items:
        start = time.perf_counter()
        found.append(work(item))
        times.append((time.perf_counter() - start) * 1000)
    tell(what, statistics.median(times), statistics.quantiles(times, n=20)[-1])
    return found


def tell(what: str, value: float, high: float | None = None) -> None:
    """Print a figure, with what one in twenty exceeds."""
    print(f"{what:<58} {value:>9.4g}" + (f"   {high:.3g}" if high is not None else ""), flush=True)


def stored_vectors(data: Sequence[bytes]) -> Vectors:
    """Return vectors as the database holds them (rows, dimension): four bytes of the scale, two a component."""
    values, scales = from_bytes(data, len(data[0]) // 2 - 2)
    found: Vectors = values * scales[:, None]
    return found
