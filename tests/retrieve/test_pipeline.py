"""The journey: steps read columns, never explanations."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

import rifflux
from rifflux import Document, Index
from rifflux.retrieve.pipeline import Plan, fetch
from rifflux.retrieve.steps.anchors import Anchors
from rifflux.retrieve.steps.rerank import Rerank
from rifflux.retrieve.steps.rerank.stage import Scored
from rifflux.retrieve.table import Candidates, declare
from rifflux.types import Results

QUESTION = "Region D40 otters"
declare("anchors/weight_for_display", "factor", "an informative number that these tests add")


@pytest.fixture
def index() -> Iterator[Index]:
    with rifflux.open(":memory:", model="hash:32") as index:
        index.add(*(Document(f"r{n}", f"Region D{n} has otters and {n} herons.", f"D{n}") for n in range(30, 60)))
        yield index


def noting(before: object) -> object:
    """Anchors with a number more in what they explain."""

    def step(self: Anchors, plan: Plan, table: Candidates) -> Candidates:
        table = before(self, plan, table)  # type: ignore[operator]
        return table.with_column("anchors/weight_for_display", np.full(len(table), 2.0))

    return step


def scores(results: Results) -> list[tuple[str, float, float | None]]:
    return [(hit.key, hit.score, hit.relevance) for hit in results]


@pytest.mark.parametrize("options", [{}, {"rerank": "features"}, {"diversify": True, "one_per_document": True}])
def test_an_informative_number_changes_no_score(
    index: Index, monkeypatch: pytest.MonkeyPatch, options: dict[str, str]
) -> None:
    plain, verdict = index.search(QUESTION, **options), index.why(QUESTION, "r40")  # type: ignore[arg-type]
    monkeypatch.setattr(Anchors, "__call__", noting(Anchors.__call__))
    noted = index.search(QUESTION, **options)  # type: ignore[arg-type]
    assert plain[0].because("anchors") is not None
    assert {why.detail.get("weight_for_display") for hit in noted for why in hit.why if why.stage == "anchors"} == {2.0}
    assert scores(noted) == scores(plain)
    assert index.why(QUESTION, "r40").contributions == verdict.contributions


def test_passages_are_read_once_for_all_steps(index: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    read, hydrate = [], type(index.admin.view.store.catalog).hydrate
    monkeypatch.setattr(
        type(index.admin.view.store.catalog), "hydrate", lambda self, *given: read.append(1) or hydrate(self, *given)
    )
    index.search(QUESTION, rerank="features", collapse=True, one_per_document=True, diversify=True)
    assert len(read) == 1


def test_what_was_removed_meanwhile_is_left_out(index: Index) -> None:
    plan = index.admin.searcher.hybrid_plan(QUESTION)
    table = plan.candidates()
    index.remove("r40")
    read = fetch(replace(plan, passages=len(table)), table)
    assert len(read) == len(table) - 1 == len(read.passages)
    assert [f"{id:016x}" for id in read.ids.tolist()] == [hit.id for hit in read.passages]


def test_the_page_explains_what_the_columns_hold(index: Index) -> None:
    def by_length(plan: Plan, table: Candidates) -> Scored:
        lengths = np.array([float(len(hit.text)) for hit in table.passages])
        return Scored(lengths, {"length": lengths})

    by_length.name = "length"  # type: ignore[attr-defined]
    results = index.search(QUESTION, rerank=Rerank(by_length))  # type: ignore[arg-type]
    for rank, hit in enumerate(results, 1):
        why = hit.because("rerank:length")
        assert why is not None
        assert (why.rank, why.score, why.detail) == (rank, hit.score, {"length": hit.score})
