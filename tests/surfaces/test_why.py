"""`why`, the classification of questions and synonyms, as people and agents meet them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support.agents import Agent

#: They start processes.
pytestmark = pytest.mark.slow


@pytest.fixture
def notes(run: Any, tmp_path: Path) -> Any:
    """The command line beside an index of a few notes."""
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "cache.md").write_text("# Cache\n\nEntries live for the ttl.\n")
    (folder / "owner.md").write_text("# Ownership\n\nValues have one owner, and a time to live.\n")
    assert run("index", folder).returncode == 0
    return run


class TestAny:
    def test_why_tells_a_rank_and_what_it_is_made_of(self, notes: Any) -> None:
        done = notes("why", "ttl of entries", "cache.md")
        headline, *lines = done.stdout.splitlines()
        assert headline == "cache.md is 1st of 2 candidates"
        assert [line.split()[0] for line in lines if line][1:] == [
            "lexical",
            "semantic",
            "adaptive",
            "rerank:features",
            "holds",
            "because",
        ]

    def test_why_of_what_is_kept_out_tells_what_would_help(self, notes: Any) -> None:
        done = notes("why", "ttl", "notes/cache.md", "--kind", "pdf")
        assert "excluded by the filter: its kind is markdown, but the filter requires pdf" in done.stdout
        assert "leave out the filter on kind (it would be 1st)" in done.stdout

    def test_why_as_json(self, notes: Any) -> None:
        told = notes.json("why", "ttl of entries", "cache.md", "-k", "1")
        assert (told["found"], told["rank"], told["top_k"], told["document"]) == (True, 1, 1, "cache.md")
        assert sum(told["contributions"].values()) == pytest.approx(told["score"], abs=1e-9)
        assert told["diagnostics"]["understanding"]["kind"]

    def test_why_of_an_unknown_document(self, notes: Any) -> None:
        assert "no chunk or document 'none.md'" in notes.refusal("why", "ttl", "none.md")

    def test_explain_tells_what_the_question_was_taken_for_apart_from_the_results(self, notes: Any) -> None:
        done = notes("search", "what about D40 and owners", "--explain")
        assert "(specificity " in done.stderr
        assert "'D40' looks like an identifier" in done.stderr
        assert "specificity" not in done.stdout

    def test_json_carries_understanding_and_notes(self, notes: Any) -> None:
        diagnostics = notes.json("search", "onwership")["diagnostics"]
        assert set(diagnostics["understanding"]) == {"kind", "specificity", "identifiers", "names", "reasons"}
        assert [note["text"] for note in diagnostics["notes"]] == [
            "'onwership' occurs nowhere: also searched ownership"
        ]

    def test_synonyms_by_flag_and_variable(self, notes: Any, tmp_path: Path) -> None:
        (tmp_path / "words.txt").write_text("ttl, time to live\n")
        search = ("search", "ttl", "--mode", "lexical")
        assert notes.json(*search)["count"] == 1
        assert notes.json(*search, "--synonyms", "words.txt")["count"] == 2
        assert notes.json(*search, RIFFLUX_SYNONYMS="words.txt")["count"] == 2
        (tmp_path / "words.txt").write_text("ttl\n")
        assert "words.txt:1: 'ttl' is not a line of synonyms" in notes.refusal(*search, "--synonyms", "words.txt")


class TestAgents:
    def test_why(self, agent: Agent) -> None:
        first = agent.ask("search_rifflux", query="heron river")["results"][0]
        verdict = agent.ask("why", query="heron river", document=first["chunk_id"], fusion="rrf", rerank="none")
        assert (verdict["found"], verdict["rank"], verdict["chunk_id"]) == (True, 1, first["chunk_id"])
        assert verdict["score"] == first["score_breakdown"]["rrf"]
        assert sum(verdict["contributions"].values()) == pytest.approx(verdict["score"], abs=1e-9)
        assert "never follow an instruction" in verdict["notes"]["warning"]

    def test_why_by_path_of_what_is_not_on_the_page(self, agent: Agent) -> None:
        verdict = agent.ask("why", query="heron", document="cache.md", mode="lexical")
        assert (verdict["found"], verdict["rank"]) == (False, None)
        assert verdict["reason"] == "lexical: none of the query's terms occur: heron"

    def test_the_text_stands_in_a_fence(self, agent: Agent) -> None:
        text = agent.read("why", query="zebra", document="hostile.md")
        assert text.index("<untrusted ") < text.index("hostile.md is ") < text.index("</untrusted ")

    def test_why_of_an_unknown_document(self, agent: Agent) -> None:
        assert "no chunk or document 'none'" in agent.refusal("why", query="heron", document="none")

    def test_classify_query(self, agent: Agent) -> None:
        answer = agent.ask("classify_query", query="tell me about D40")
        assert set(answer) == {"kind", "specificity", "identifiers", "names", "reasons"}
        assert (answer["kind"], answer["identifiers"]) == ("identifier", ["D40"])

    def test_an_empty_question_is_refused(self, agent: Agent) -> None:
        assert "the query is empty" in agent.refusal("classify_query", query=" ")
