"""A small collection with known answers, written in BEIR's layout."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

DOCUMENTS = [
    {"_id": "cache", "title": "Cache", "text": "Cache entries live for an hour.", "metadata": {"team": "storage"}},
    {"_id": "queue", "title": "Queue", "text": "The queue holds a thousand jobs.", "metadata": {"team": "jobs"}},
    {"_id": "retry", "title": "Retry", "text": "Failed jobs are tried again.", "metadata": {"team": "jobs"}},
    {"_id": "lock", "title": "Lock", "text": "A lock guards the cache file.", "metadata": {"team": "storage"}},
]
QUERIES = [
    {"_id": "q1", "text": "how long do cache entries live", "metadata": {"team": "storage"}},
    {"_id": "q2", "text": "jobs in the queue", "metadata": {"team": "jobs"}},
    {"_id": "q3", "text": "zeppelin", "metadata": {"team": "jobs"}},
]
JUDGEMENTS = [("q1", "cache", 2), ("q1", "lock", 1), ("q2", "queue", 1), ("q3", "retry", 1)]


def write_collection(
    folder: Path,
    *,
    documents: Iterable[Mapping[str, Any]] = DOCUMENTS,
    queries: Iterable[Mapping[str, Any]] = QUERIES,
    judgements: Iterable[tuple[str, str, int]] = JUDGEMENTS,
    qrels: str = "test",
) -> Path:
    """Write a collection into a new folder, and return it."""
    (folder / "qrels").mkdir(parents=True, exist_ok=True)
    _write_lines(folder / "corpus.jsonl", map(json.dumps, documents))
    _write_lines(folder / "queries.jsonl", map(json.dumps, queries))
    rows = ("\t".join(map(str, row)) for row in judgements)
    _write_lines(folder / "qrels" / f"{qrels}.tsv", ["query-id\tcorpus-id\tscore", *rows])
    return folder


def _write_lines(path: Path, lines: Iterable[str]) -> None:
    path.write_text("".join(f"{line}\n" for line in lines), "utf-8")
