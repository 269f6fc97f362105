"""Measure where the time of a warm search goes: median, 95th and 99th percentile by stage.

    python -m bench latency INDEX FOLDER_OF_COLLECTIONS [--each N] [--only NAME ...] [--markdown FILE]

INDEX is any index; `bench corpus` makes one of 100,000 chunks. The questions are the first of each judged collection.
Every kind of search asks each of them once, after some that are not counted, in one process with one client. `given`
searches are told the question's vector, the others make it. `filtered` ones look at about a hundredth of the chunks.
`rest` is what no stage measures.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import apsw
import numpy as np

import rifflux
from rifflux.evaluate import read_beir
from rifflux.models import Embedder
from rifflux.types import Vectors

#: As many searches come first that are not counted.
WARMING = 8
SHARE = 0.01
PERCENTILES = (50, 95, 99)

#: The metadata that about the wanted share of all chunks has: the nearest to it, and how many chunks that is.
_NEAREST_SHARE = """
select item.key, item.value, count(*) as chunks
from document join chunk on chunk.document = document.id, json_each(document.metadata) as item
where item.type in ('text', 'integer')
group by item.key, item.value order by abs(chunks - :wanted), item.key, item.value limit 1"""


@dataclass(frozen=True)
class Kind:
    """A kind of search to be measured: its mode, whether it is given the vector, what narrows it."""

    name: str
    mode: str
    given: bool = True
    filter: Mapping[str, Any] | None = None


class Given:
    """An embedder that knows the vectors of some questions already."""

    def __init__(self, embedder: Embedder, questions: Sequence[str]) -> None:
        self._embedder = embedder
        self._known = {question: embedder.embed_query(question) for question in questions}
        # With these it is that model, and its vectors are those of the index.
        self.name = embedder.name
        self.backend = embedder.backend
        self.dimension = embedder.dimension
        self.fingerprint = embedder.fingerprint
        self.max_tokens = embedder.max_tokens

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """The vectors of texts."""
        return self._embedder.embed_documents(texts)

    def count_tokens(self, text: str) -> int:
        """The number of tokens of a text."""
        return self._embedder.count_tokens(text)

    def embed_query(self, text: str) -> Vectors:
        """The vector of a question, made only if it is not known."""
        known = self._known.get(text)
        return self._embedder.embed_query(text) if known is None else known


def main() -> None:
    """Print a table for each kind of search."""
    arguments = _arguments()
    questions = _questions(arguments.data, arguments.each)
    with rifflux.open(arguments.index, create=False) as index:
        chunks, embedder = index.status().chunks, index.admin.embedder
        # The questions' syntax, such as quotes, is no part of what is embedded.
        meant = [index.admin.searcher.hybrid_plan(question).query.semantic_text for question in questions]
    given = Given(embedder, meant)
    lines = [f"{chunks:,} chunks, {len(questions)} questions, milliseconds"]
    for kind in _kinds(arguments.index, chunks):
        if not arguments.only or kind.name in arguments.only:
            with rifflux.open(arguments.index, create=False, model=given if kind.given else embedder) as index:
                lines += ["", *_table(kind.name, _measured(index, kind, questions))]
    print("\n".join(lines))
    if arguments.markdown:
        arguments.markdown.write_text("\n".join(lines) + "\n", "utf-8")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("index", type=Path)
    parser.add_argument("data", type=Path)
    parser.add_argument("--each", type=int, default=25, help="questions of each collection")
    parser.add_argument("--only", nargs="*", help="kinds of search, such as 'hybrid given'")
    parser.add_argument("--markdown", type=Path)
    return parser.parse_args()


def _questions(data: Path, each: int) -> list[str]:
    """The first questions of every collection, in turn, so that none of them stands for all."""
    texts = [
        [question.text for question in read_beir(path.parent).questions[:each]]
        for path in sorted(data.glob("*/queries.jsonl"))
    ]
    return [text for turn in zip(*texts, strict=False) for text in turn]


def _kinds(path: Path, chunks: int) -> list[Kind]:
    field, value, share = _nearest_share(path, chunks)
    narrow = {"metadata": {field: value}}
    print(f"filtered: {field}={value!r}, {share:,} chunks")
    return [
        Kind("hybrid", "hybrid", given=False),
        Kind("hybrid given", "hybrid"),
        Kind("hybrid given filtered", "hybrid", filter=narrow),
        Kind("lexical", "lexical"),
        Kind("semantic given", "semantic"),
        Kind("semantic given filtered", "semantic", filter=narrow),
    ]


def _nearest_share(path: Path, chunks: int) -> tuple[str, Any, int]:
    connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    found: Any = connection.execute(_NEAREST_SHARE, {"wanted": SHARE * chunks}).fetchall()
    connection.close()
    return found[0]  # type: ignore[no-any-return]


def _measured(index: rifflux.Index, kind: Kind, questions: Sequence[str]) -> dict[str, list[float]]:
    """The milliseconds of each stage and of the whole, one of each for every question."""
    for question in questions[:WARMING]:
        index.search(question, mode=kind.mode, filter=kind.filter)
    rows = []
    for question in questions:
        start = time.perf_counter()
        trace = index.search(question, mode=kind.mode, filter=kind.filter).trace
        whole = (time.perf_counter() - start) * 1000
        if trace.degraded:
            raise SystemExit(f"{kind.name}: {trace.degraded[0].text}")
        rows.append({**trace.milliseconds, "rest": whole - sum(trace.milliseconds.values()), "whole": whole})
    stages = dict.fromkeys(stage for row in rows for stage in row)
    ordered = [stage for stage in stages if stage not in ("rest", "whole")] + ["rest", "whole"]
    return {stage: [row.get(stage, 0.0) for row in rows] for stage in ordered}


def _table(name: str, stages: Mapping[str, Sequence[float]]) -> list[str]:
    lines = [f"| {name} | {' | '.join(f'p{each}' for each in PERCENTILES)} |", "| --- |" + " ---: |" * len(PERCENTILES)]
    for stage, times in stages.items():
        values = np.percentile(times, PERCENTILES)
        lines.append(f"| {stage} | {' | '.join(f'{value:.2f}' for value in values)} |")
    return lines
