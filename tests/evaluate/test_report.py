"""Reports show every outcome, and escape what others wrote."""

from __future__ import annotations

import re
from dataclasses import replace
from io import StringIO
from xml.etree import ElementTree

import numpy as np
import pytest
from rich.console import Console

from rifflux.evaluate import JudgedQuestion, RunOutcome, page, table, works_table
from rifflux.evaluate.report import means

HOSTILE = '<script>alert("x")</script> & \x1b[31m \ud800 ]]>'


def _outcome(run: str, *values: float, collection: str = "small", p: float | None = None) -> RunOutcome:
    scores = np.array(values)
    questions = tuple(JudgedQuestion(f"q{n}", f"question {n} {HOSTILE}", {"a": 1}) for n in range(len(values)))
    return RunOutcome(
        collection, "test", run, questions, dict.fromkeys(("ndcg@10", "recall@20", "mrr@10", "p@5"), scores),
        milliseconds=np.full(len(values), 2.0), interval=(scores.min(), scores.max()),
        differences=None if p is None else scores - 0.5, p_value=p, degraded={HOSTILE: 2} if p else {},
    )  # fmt: skip


OUTCOMES = [
    _outcome("lexical", 0.5, 0.5, 0.5),
    _outcome(HOSTILE, 0.1, 0.5, 1.0, p=0.004),
    _outcome("lexical", 0.25, collection="other"),
    _outcome(HOSTILE, 0.75, collection="other", p=1.0),
]


def _printed(outcomes: list[RunOutcome], width: int = 120) -> str:
    console = Console(file=StringIO(), width=width, force_terminal=False)
    console.print(table(outcomes))
    assert isinstance(console.file, StringIO)
    return console.file.getvalue()


def test_the_table_shows_values_stars_and_what_they_mean() -> None:
    printed = _printed(OUTCOMES)
    assert "small (3)" in printed
    assert "0.5333**" in printed
    assert "p < .05, ** p < .01" in printed
    assert "mean of collections" in printed


def test_the_table_fits_eighty_columns() -> None:
    printed = _printed([_outcome("lexical", 0.5), _outcome("adaptive", 0.6, p=0.0005)], width=80)
    assert "…" not in printed
    assert "<.001" in printed
    assert re.search(r"adaptive +0\.6000\*\* +0\.6000 +0\.6000 +0\.6000 +2\.0 +2\.0", printed)


def test_the_best_values_are_bold() -> None:
    console = Console(file=StringIO(), width=120, force_terminal=True, color_system="standard")
    console.print(table(OUTCOMES[:2]))
    assert isinstance(console.file, StringIO)
    assert "\x1b[1m  0.5000" not in console.file.getvalue()
    assert re.search(r"\x1b\[1m *0\.5333", console.file.getvalue())


def test_means_weigh_collections_alike() -> None:
    assert means(OUTCOMES)["lexical"]["ndcg@10"] == pytest.approx(0.375)
    assert means(OUTCOMES[:2]) == {}
    assert list(means(OUTCOMES[:3])) == ["lexical"]


def test_the_page_is_well_formed_and_runs_nothing() -> None:
    text = page(OUTCOMES)
    root = ElementTree.fromstring(text.replace("<!DOCTYPE html>", "", 1))
    tags = {element.tag for element in root.iter()}
    assert {"table", "svg", "path", "rect", "details"} <= tags
    assert "script" not in tags
    assert "<script" not in text
    assert "\x1b" not in text
    text.encode("utf-8")


def test_the_page_asks_for_nothing_from_elsewhere() -> None:
    text = page(OUTCOMES)
    assert "default-src 'none'" in text
    assert not re.search(r"https?://|\bsrc=|\bhref=|url\(|@import", text)


def test_the_page_shows_every_run_and_what_degraded() -> None:
    text = page(OUTCOMES)
    assert text.count('role="img"') == 2 + 2 + 2
    assert "Degraded" in text
    assert "better 1 · equal 1 · worse 1" in text
    assert "Degraded" not in page(OUTCOMES[:1])
    assert "Question by question" not in page(OUTCOMES[:1])


def test_what_is_known_of_works_is_shown_whatever_their_runs_are_called() -> None:
    outcome = replace(_outcome("[/bold] " + HOSTILE, 0.5), works={"branches@10": 3.5, "packed_tokens": 1234.0})
    told = works_table([outcome, OUTCOMES[2]])
    console = Console(file=StringIO(), width=120, force_terminal=False)
    console.print(told)
    assert isinstance(console.file, StringIO)
    for text in (console.file.getvalue(), page([outcome, OUTCOMES[2]])):
        assert "[/bold]" in text
        assert "3.50" in text
        assert "1,234.00" in text
    ElementTree.fromstring(page([outcome]).replace("<!DOCTYPE html>", "", 1))
    assert "Works and their evidence" not in page(OUTCOMES)
