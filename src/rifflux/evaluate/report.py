"""Tables of outcomes for terminals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING

from rifflux.evaluate.compare import RunOutcome
from rifflux.evaluate.measures import MEASURES, PRIMARY

if TYPE_CHECKING:
    from rich.table import Table

#: The headings of the numeric columns.
LABELS: Mapping[str, str] = {
    "ndcg@10": "nDCG@10",
    "recall@20": "Recall@20",
    "mrr@10": "MRR@10",
    "p@5": "P@5",
    "p50_ms": "p50 ms",
    "p95_ms": "p95 ms",
}
#: The marks after nDCG@10 for differences from the first run that are significant at each level.
_MARKS = ((0.01, "**"), (0.05, "*"))
LEGEND = """\
bold: the best of its collection, whose number of queries is in brackets
* p < .05, ** p < .01 against the first run: paired bootstrap on nDCG@10"""


def table(outcomes: Sequence[RunOutcome]) -> Table:
    """Return a table for a terminal, with a section per collection, best values in bold and significance marks."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    rendered = Table(box=box.SIMPLE_HEAD, caption=LEGEND, caption_justify="left", padding=(0, 1, 0, 0), pad_edge=False)
    rendered.add_column("run", overflow="fold", min_width=18)
    for heading in (*LABELS.values(), "p"):
        rendered.add_column(heading, justify="right", no_wrap=True)
    for name, group in by_collection(outcomes).items():
        best = leaders(group)
        rendered.add_row(Text(f"{name} ({len(group[0].questions):,})", "cyan"))
        for outcome in group:
            cells = [Text(text, "bold" if outcome in best.get(column, ()) else "") for column, text in _cells(outcome)]
            rendered.add_row(Text(f"  {outcome.run}"), *cells)
        rendered.add_section()
    for number, (run, values) in enumerate(means(outcomes).items()):
        if not number:
            rendered.add_row(Text("mean of collections", "cyan"))
        rendered.add_row(
            Text(f"  {run}"), *(f"{value:.4f}" + "  " * (name == PRIMARY) for name, value in values.items())
        )
    return rendered


#: The headings of the columns specific to works.
WORKS_LABELS: Mapping[str, str] = {
    "branches@10": "branches@10",
    "packed_works": "works packed",
    "packed_precision": "of these relevant",
    "packed_tokens": "tokens",
}


def works_table(outcomes: Sequence[RunOutcome]) -> Table | None:
    """Return a table of branches and packs of works, or None if there are none."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    rows = [outcome for outcome in outcomes if outcome.works]
    if not rows:
        return None
    rendered = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
    rendered.add_column("works", overflow="fold", min_width=18)
    for heading in WORKS_LABELS.values():
        rendered.add_column(heading, justify="right", no_wrap=True)
    for outcome in rows:
        rendered.add_row(Text(f"{label(outcome)}: {outcome.run}"), *works_cells(outcome))
    return rendered


def works_cells(outcome: RunOutcome) -> list[str]:
    """Return the cells of a row of the table of works, empty where a value is unknown."""
    return [f"{outcome.works[name]:,.2f}" if name in outcome.works else "" for name in WORKS_LABELS]


def _cells(outcome: RunOutcome) -> list[tuple[str, str]]:
    """Return the cells of a row by column name."""
    row = outcome.row()
    numbers = [(measure, f"{row[measure]:.4f}") for measure in MEASURES]
    numbers[0] = (numbers[0][0], f"{numbers[0][1]}{mark(outcome):<2}")
    times = [(name, f"{row[name]:,.1f}") for name in ("p50_ms", "p95_ms")]
    return [*numbers, *times, ("p", probability(outcome))]


def by_collection(outcomes: Sequence[RunOutcome]) -> dict[str, list[RunOutcome]]:
    """Return the outcomes of each collection, in order."""
    return {name: list(group) for name, group in groupby(outcomes, key=label)}


def label(outcome: RunOutcome) -> str:
    """Return a collection's name, with that of its judgements unless it is `test`."""
    if outcome.qrels == "test":
        return outcome.collection
    return f"{outcome.collection}:{outcome.qrels}"


def means(outcomes: Sequence[RunOutcome]) -> dict[str, dict[str, float]]:
    """Return the mean over collections of each measure, by run; empty if there is only one collection.

    Every collection has the same weight, whatever its number of questions; runs that any collection lacks are omitted.
    """
    groups = by_collection(outcomes)
    found: dict[str, list[RunOutcome]] = {}
    for outcome in outcomes:
        found.setdefault(outcome.run, []).append(outcome)
    return {
        run: {
            measure: sum(each.mean(measure) for each in outcomes_of_run) / len(outcomes_of_run) for measure in MEASURES
        }
        for run, outcomes_of_run in found.items()
        if len(outcomes_of_run) == len(groups) > 1
    }


def probability(outcome: RunOutcome) -> str:
    """Return the p value as text; empty for the first run."""
    if outcome.p_value is None:
        return ""
    if outcome.p_value < 0.001:
        return "<.001"
    return f"{outcome.p_value:.3f}"


def mark(outcome: RunOutcome) -> str:
    """Return stars if the outcome differs significantly from the first run."""
    if outcome.p_value is None:
        p = 1.0
    else:
        p = outcome.p_value
    return next((stars for level, stars in _MARKS if p < level), "")


def leaders(group: Sequence[RunOutcome]) -> Mapping[str, Sequence[RunOutcome]]:
    """Return the best outcomes by column: the highest value of a measure or the least time; none if all tie."""
    found = {}
    for column in LABELS:
        values = [outcome.row()[column] for outcome in group]
        if column in MEASURES:
            best = max(values)
        else:
            best = min(values)
        if len(set(values)) > 1:
            found[column] = [outcome for outcome, value in zip(group, values, strict=True) if value == best]
    return found
