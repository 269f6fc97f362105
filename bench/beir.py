"""Reading test collections in BEIR's layout: corpus.jsonl, queries.jsonl, qrels/NAME.tsv."""

from __future__ import annotations

import csv
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

__all__ = ["Collection", "Question"]


@dataclass(frozen=True)
class Question:
    """A judged question: its text, its metadata, and the grade of every judged document."""

    id: str
    text: str
    metadata: dict[str, Any]
    grades: dict[str, int]


@dataclass(frozen=True)
class Collection:
    """Documents and judged questions. `scope` is a metadata field that a question shares with its documents."""

    folder: Path
    qrels: str = "test"
    scope: str | None = None

    @property
    def name(self) -> str:
        """The folder's name, with that of the judgements where they are not the usual ones."""
        return self.folder.name if self.qrels == "test" else f"{self.folder.name}:{self.qrels}"

    @property
    def corpus(self) -> Path:
        """The documents, one JSON object a line."""
        return self.folder / "corpus.jsonl"

    def questions(self) -> list[Question]:
        """The judged questions, in the order of the file."""
        grades = self._grades()
        lines = (self.folder / "queries.jsonl").read_text("utf-8").splitlines()
        records = [record for record in map(json.loads, lines) if record["_id"] in grades]
        return [Question(r["_id"], r["text"], r.get("metadata") or {}, grades[r["_id"]]) for r in records]

    def _grades(self) -> dict[str, dict[str, int]]:
        grades: dict[str, dict[str, int]] = {}
        with (self.folder / "qrels" / f"{self.qrels}.tsv").open(encoding="utf-8", newline="") as file:
            for row in csv.DictReader(file, delimiter="\t"):
                grades.setdefault(row["query-id"], {})[row["corpus-id"]] = int(row["score"])
        return grades
