"""`rifflux eval` and `rifflux judge`, run as people run them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.collection import write_collection

#: They start processes.
pytestmark = pytest.mark.slow

KEYS = ["collection", "qrels", "run", "queries", "ndcg@10", "recall@20", "mrr@10", "p@5", "p50_ms", "p95_ms", "p_value"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder that holds the small collection."""
    return write_collection(tmp_path / "small")


@pytest.fixture
def rifflux(tmp_path: Path, command_line: Any) -> Any:
    """Runs the command with its cache in `tmp_path`."""
    return command_line(tmp_path, {"XDG_CACHE_HOME": str(tmp_path / "user"), "RIFFLUX_MODEL": "hash:32"})


def test_json_has_exactly_the_agreed_keys(rifflux: Any, folder: Path, tmp_path: Path) -> None:
    done = rifflux("eval", folder, "--ablate", "--json", "--html", tmp_path / "report.html")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert [list(row) for row in found] == [KEYS] * len(found)
    assert [row["run"] for row in found[:3]] == ["lexical", "semantic", "rrf"]
    assert "hybrid+features" in [row["run"] for row in found]
    assert "left out hybrid+llm" in done.stderr
    assert found[0]["p_value"] is None
    assert all(0 < row["p_value"] <= 1 for row in found[1:])
    assert "Rifflux evaluation" in (tmp_path / "report.html").read_text("utf-8")
    assert list((tmp_path / "user" / "rifflux" / "eval").glob("small-*.db"))


def test_the_table_compares_what_is_asked(rifflux: Any, folder: Path, tmp_path: Path) -> None:
    done = rifflux(
        "eval", folder, "--run", "lexical", "--run", "name=scoped,mode=lexical", "--scope", "team",
        "--cache", tmp_path / "cache", "--limit-queries", "2",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "small (2)" in done.stdout
    assert "scoped" in done.stdout
    assert list((tmp_path / "cache").glob("small-*-words.db"))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "--from-feedback"),
        (["nowhere"], "no folder nowhere"),
        (["small", "--from-feedback"], "--from-feedback"),
        (["small", "--qrels", "dev"], "name one of test"),
        (["small", "--run", "fusion=none"], "no fusion 'none'"),
        (["small", "--run", "lexical", "--run", "lexical"], "different names"),
        (["small", "--scope", "tema"], "no metadata 'tema'"),
        (["small", "--profile", "none"], "no profile 'none'"),
        (["small", "--html", "none/report.html"], "no folder none"),
        (["small", "--limit-queries", "0"], "--limit-queries"),
        (["--from-feedback", "--db", "none.db"], "no index at none.db"),
        (["small", "--intents", "questions.tsv"], "--intents asks an index alone"),
        (["--intents", "questions.tsv", "--db", "none.db"], "no index at none.db"),
        (["small", "--run", "retrieve,fusion=rrf"], "fusion is not an option of retrieval"),
    ],
)
def test_bad_input_exits_with_2_and_says_what_to_do(
    rifflux: Any, folder: Path, arguments: list[str], message: str
) -> None:
    done = rifflux("eval", *arguments)
    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""


def test_judgements_evaluate_the_index_they_are_about(rifflux: Any, tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "cache.md").write_text("# Cache\n\nEntries live for an hour.\n")
    (tmp_path / "notes" / "queue.md").write_text("# Queue\n\nIt holds a thousand jobs.\n")
    assert rifflux("index", "notes").returncode == 0
    empty = rifflux("eval", "--from-feedback")
    assert empty.returncode == 2
    assert "rifflux judge" in empty.stderr
    judged = rifflux("judge", "how long do entries live", "notes/cache.md", "--grade", "2", "--json")
    assert judged.returncode == 0, judged.stderr
    assert json.loads(judged.stdout)["grade"] == 2
    (row,) = json.loads(rifflux("eval", "--from-feedback", "--run", "lexical", "--json").stdout)
    assert (row["qrels"], row["queries"], row["ndcg@10"]) == ("feedback", 1, 1.0)
    assert rifflux("judge", "how long", "notes/none.md").returncode == 2
    assert rifflux("judge", "how long", "notes/cache.md", "--grade", "99").returncode == 2


def test_works_are_retrieved_and_questions_are_taken_for_their_intents(
    rifflux: Any, folder: Path, tmp_path: Path
) -> None:
    done = rifflux("eval", folder, "--run", "retrieve", "--run", "name=words,mode=retrieve,parts=lexical")
    assert done.returncode == 0, done.stderr
    assert "works packed" in done.stdout
    done = rifflux("eval", folder, "--run", "retrieve", "--json")
    (row,) = json.loads(done.stdout)
    assert list(row) == [*KEYS, "branches@10", "packed_works", "packed_precision", "packed_tokens"]
    (tmp_path / "questions.tsv").write_text("survey\tan overview of caches\ncompare\tlocks\n", "utf-8")
    assert rifflux("works", "import", folder / "corpus.jsonl", "--db", "works.db").returncode == 0
    asked = ("eval", "--intents", "questions.tsv", "--db", "works.db")
    told = json.loads(rifflux(*asked, "--json").stdout)
    assert (told["questions"], told["right"]) == (2, 1)
    assert [each["query"] for each in told["wrong"]] == ["locks"]
    shown = rifflux(*asked).stdout
    assert "1 of 2 questions are taken for what they ask" in shown
    assert "'locks': compare, taken for" in shown
