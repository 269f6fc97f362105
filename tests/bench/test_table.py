"""The table of all ways to search, on a collection of three documents."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from bench.quality import table
from bench.speed.peers import EngineFailed, give, measured_engine

TEXTS = {"a": "Herons fish at dawn.", "b": "The lathe turns brass.", "c": "Rivers carry silt to the sea."}
QUESTIONS = {"1": ("what do herons do", "a"), "2": ("brass on a lathe", "b"), "3": ("silt of rivers", "c")}


@pytest.fixture
def data(tmp_path: Path) -> Path:
    folder = tmp_path / "data" / "small"
    (folder / "qrels").mkdir(parents=True)
    _write(folder / "corpus.jsonl", ({"_id": key, "title": "", "text": text} for key, text in TEXTS.items()))
    _write(folder / "queries.jsonl", ({"_id": key, "text": text} for key, (text, _) in QUESTIONS.items()))
    judged = "".join(f"{key}\t{document}\t1\n" for key, (_, document) in QUESTIONS.items())
    (folder / "qrels" / "test.tsv").write_text(f"query-id\tcorpus-id\tscore\n{judged}")
    return folder.parent


def _write(path: Path, rows: object) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))  # type: ignore[attr-defined]


def test_every_way_has_a_row_and_a_peer_that_cannot_run_a_reason(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    asked = ["table", str(data), "small", "--keep", str(tmp_path / "kept"), "--markdown", str(tmp_path / "table.md")]
    monkeypatch.setattr("sys.argv", [*asked, "--json"])
    table.main()
    told = json.loads(capsys.readouterr().out)
    assert [(row["mode"], row["fusion"], row["reranker"]) for row in told["rows"]] == [
        (way.mode, way.fusion, way.reranker) for way in table.ways()
    ]
    assert {row["ndcg@10"] for row in told["rows"]} == {1.0}
    assert {row["p@5"] for row in told["rows"]} == {0.2}
    assert all(row["p95_ms"] >= row["p50_ms"] > 0 for row in told["rows"])
    assert [row["than"] for row in told["rows"] if row["added_ms"] is None] == [None]
    assert told["left_out"] == {"opensearch": "opensearch needs java: install a JDK 17 or 21 and Maven"}
    text = (tmp_path / "table.md").read_text()
    assert "opensearch is left out: opensearch needs java" in text
    assert "| rifflux: hybrid, adaptive, features | 1.000 |" in text


def test_questions_are_thinned_evenly(data: Path) -> None:
    assert [question.id for question in table._read(data, "small", 2).questions] == ["1", "3"]
    assert len(table._read(data, "small", 3).questions) == 3


def test_a_peer_is_left_out_with_what_it_said_last(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    give(tmp_path, [{"title": "", "text": "x"}], np.ones((1, 2), np.float32), ["x"], np.ones((1, 2), np.float32))
    with pytest.raises(EngineFailed, match="needs java"):
        measured_engine("opensearch", tmp_path)
