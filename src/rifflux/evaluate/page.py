"""Outcomes as one page of HTML: nothing is loaded from anywhere, and the text of others is escaped."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from textwrap import shorten

import numpy as np

from rifflux.evaluate.charts import accuracy, differences, latency, shown
from rifflux.evaluate.compare import Outcome
from rifflux.evaluate.measures import MEASURES, PRIMARY
from rifflux.evaluate.report import LABELS, by_collection, leaders, mark, means, probability

__all__ = ["page"]

#: Questions named under a plot of differences: the greatest gains, and as many losses.
MOST_NAMED = 5
#: Letters of a question that are shown.
MOST_LETTERS = 160

_STYLE = """
:root { color-scheme: light dark; --back: #fbfbfa; --card: #fff; --ink: #1c1e21; --soft: #6a6f76; --line: #e3e4e6;
  --bar: #2f6fdb; --first: #9aa3ae; --gain: #2f6fdb; --loss: #d9622b; }
@media (prefers-color-scheme: dark) { :root { --back: #14161a; --card: #1c1f24; --ink: #e8eaed; --soft: #9aa1ab;
  --line: #31353c; --bar: #6ea3ff; --first: #6b7480; --gain: #6ea3ff; --loss: #f08a53; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--back); color: var(--ink);
  font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif; }
main { max-width: 1120px; margin: 0 auto; padding: 40px 24px 64px; }
h1 { font-size: 26px; margin: 0 0 4px; letter-spacing: -.01em; }
h2 { font-size: 18px; margin: 44px 0 2px; }
h3 { font-size: 14px; margin: 0 0 10px; overflow-wrap: anywhere; }
h3 small, p, figcaption, summary, li span, h4 { color: var(--soft); font-weight: 400; }
h4 { font-size: 14px; margin: 22px 0 8px; }
p { margin: 0 0 14px; max-width: 84ch; }
.wide + p { margin-top: 10px; font-size: 13px; }
.cards { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 330px), 1fr)); gap: 16px;
  align-items: start; }
.card, .wide { background: var(--card); border: 1px solid var(--line); border-radius: 10px; padding: 16px 18px; }
.card { margin: 0; min-width: 0; }
.wide { overflow-x: auto; padding: 6px 18px; margin-top: 20px; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; font-size: 14px; }
th, td { padding: 6px 0 6px 18px; text-align: right; white-space: nowrap; }
th { color: var(--soft); font-weight: 500; font-size: 13px; }
th.text, td.text { text-align: left; padding-left: 0; padding-right: 12px; }
tbody + tbody tr:first-child td { border-top: 1px solid var(--line); }
thead th { border-bottom: 1px solid var(--line); }
td.best { font-weight: 700; }
td sup { display: inline-block; width: 1.1em; text-align: left; line-height: 0; color: var(--soft); font-weight: 400; }
svg { display: block; width: 100%; height: auto; overflow: visible; }
svg text { font-size: 12px; fill: var(--ink); }
svg .name { text-anchor: end; }
svg .value { text-anchor: end; font-variant-numeric: tabular-nums; }
svg .tick { text-anchor: middle; } svg .edge[y="12"] { text-anchor: end; }
svg .tick, svg .edge { fill: var(--soft); font-size: 11px; }
svg .bar { fill: var(--bar); } svg .first { fill: var(--first); }
svg .gain { fill: var(--gain); } svg .loss { fill: var(--loss); }
svg .whisker { stroke: var(--ink); stroke-width: 1.2; fill: none; opacity: .75; }
svg .grid { stroke: var(--line); stroke-width: 1; fill: none; } svg .axis { stroke: var(--soft); stroke-width: 1; }
figcaption { font-size: 13px; margin-top: 8px; }
summary { font-size: 13px; cursor: pointer; margin-top: 6px; }
ul { margin: 6px 0 0; padding: 0; list-style: none; font-size: 13px; }
li { display: grid; grid-template-columns: 52px 1fr; overflow-wrap: anywhere; padding: 2px 0; }
li b { font-variant-numeric: tabular-nums; font-weight: 600; }
li.gain b { color: var(--gain); } li.loss b { color: var(--loss); }
"""

_PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8"/>
<meta name="viewport" content="width=device-width, initial-scale=1"/>
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'"/>
<title>Rifflux evaluation</title>
<style>{style}</style>
</head>
<body>
<main>
<h1>Rifflux evaluation</h1>
<p>{summary}</p>
{table}
{notes}
<h2>nDCG@10</h2>
<p>The mean over the questions, on a scale from 0 to 1; whiskers span the 95 % bootstrap confidence interval.
The first run is grey.</p>
<div class="cards">{accuracy}</div>
{differences}
<h2>Latency</h2>
<p>Milliseconds a query: the bar ends at the median, the whisker at the 95th percentile. The searches were made one
after the other, after a warm-up, and each asked for 100 chunks.</p>
<div class="cards">{latency}</div>
</main>
</body>
</html>
"""

_DIFFERENCES = """<h2>Question by question, against the first run</h2>
<p>Each bar is one question: its nDCG@10 minus that of the first run, the greatest gain on the left.</p>
{groups}"""


def page(outcomes: Sequence[Outcome]) -> str:
    """A self-contained page: the table, nDCG@10, differences by question, and latency. Well-formed as XML too."""
    groups = by_collection(outcomes)
    longest = max((outcome.percentile(95) for outcome in outcomes), default=1.0) or 1.0
    compared = "".join(_compared(name, group) for name, group in groups.items() if group[1:])
    return _PAGE.format(
        style=_STYLE,
        summary=_summary(groups),
        table=_table(groups),
        notes=_notes(outcomes),
        accuracy="".join(_card(_heading(name, group[0]), accuracy(group)) for name, group in groups.items()),
        differences=_DIFFERENCES.format(groups=compared) if compared else "",
        latency="".join(_card(shown(name), latency(group, longest)) for name, group in groups.items()),
    )


def _summary(groups: dict[str, list[Outcome]]) -> str:
    runs = dict.fromkeys(outcome.run for group in groups.values() for outcome in group)
    questions = sum(len(group[0].questions) for group in groups.values())
    return f"{_count(len(groups), 'collection')}, {_count(questions, 'question')}, {_count(len(runs), 'run')}."


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def _notes(outcomes: Sequence[Outcome]) -> str:
    """What did not work as it should: figures of a run that degraded are not figures of that run."""
    found = (
        f"<li><b>{number:,} ×</b><span>{shown(outcome.collection)}, {shown(outcome.run)}: {shown(reason)}</span></li>"
        for outcome in outcomes
        for reason, number in outcome.degraded.items()
    )
    items = "".join(found)
    return f"<h2>Degraded</h2><ul>{items}</ul>" if items else ""


# The table


def _table(groups: dict[str, list[Outcome]]) -> str:
    headings = "".join(f"<th>{heading}</th>" for heading in ("queries", *LABELS.values(), "p"))
    bodies = "".join(f"<tbody>{_rows(name, group)}</tbody>" for name, group in groups.items())
    outcomes = [outcome for group in groups.values() for outcome in group]
    bodies += f"<tbody>{_means(outcomes)}</tbody>" if means(outcomes) else ""
    return (
        '<div class="wide"><table><thead><tr><th class="text">collection</th><th class="text">run</th>'
        f"{headings}</tr></thead>{bodies}</table></div>"
        "<p>Bold: the best of its collection. * p &lt; .05, ** p &lt; .01 against the first run: paired "
        "bootstrap on nDCG@10, two-sided, not corrected for the number of runs.</p>"
    )


def _rows(name: str, group: Sequence[Outcome]) -> str:
    best = leaders(group)
    return "".join(_row("" if number else name, outcome, best) for number, outcome in enumerate(group))


def _row(name: str, outcome: Outcome, best: Mapping[str, Sequence[Outcome]]) -> str:
    values = outcome.row()
    cells = []
    for column in LABELS:
        kind = ' class="best"' if outcome in best.get(column, ()) else ""
        text = f"{values[column]:.4f}" if column in MEASURES else f"{values[column]:,.1f}"
        stars = f"<sup>{mark(outcome)}</sup>" if column == PRIMARY else ""
        cells.append(f"<td{kind}>{text}{stars}</td>")
    return (
        f'<tr><td class="text">{shown(name)}</td><td class="text">{shown(outcome.run)}</td>'
        f"<td>{values['queries']:,}</td>{''.join(cells)}<td>{shown(probability(outcome))}</td></tr>"
    )


def _means(outcomes: Sequence[Outcome]) -> str:
    rows = []
    for number, (run, values) in enumerate(means(outcomes).items()):
        cells = (f"<td>{value:.4f}{'<sup></sup>' * (name == PRIMARY)}</td>" for name, value in values.items())
        name = "" if number else "mean of collections"
        rows.append(
            f'<tr><td class="text">{name}</td><td class="text">{shown(run)}</td><td></td>{"".join(cells)}'
            "<td></td><td></td><td></td></tr>"
        )
    return "".join(rows)


# The plots


def _card(heading: str, chart: str) -> str:
    return f'<figure class="card"><h3>{heading}</h3>{chart}</figure>'


def _heading(name: str, outcome: Outcome) -> str:
    return f"{shown(name)} <small>{_count(len(outcome.questions), 'question')}</small>"


def _compared(name: str, group: Sequence[Outcome]) -> str:
    cards = "".join(map(_difference, group[1:]))
    return f'<h4>{shown(name)}, against {shown(group[0].run)}</h4><div class="cards">{cards}</div>'


def _difference(outcome: Outcome) -> str:
    values = outcome.differences
    assert values is not None
    gains, losses = int((values > 0).sum()), int((values < 0).sum())
    told = (
        f"better {gains:,} · equal {len(values) - gains - losses:,} · worse {losses:,}<br/>"
        f"mean {_signed(values.mean(), 4)} · p {shown(probability(outcome))}"
    )
    return (
        f'<figure class="card"><h3>{shown(outcome.run)}</h3>{differences(values)}'
        f"<figcaption>{told}</figcaption>{_named(outcome)}</figure>"
    )


def _signed(value: float, digits: int) -> str:
    return f"{value:+.{digits}f}".replace("-", "\N{MINUS SIGN}")


def _named(outcome: Outcome) -> str:
    """The questions that gained and lost most, for reading what a run is good and bad at."""
    values = outcome.differences
    assert values is not None
    order = np.argsort(-values, kind="stable").tolist()
    chosen = [number for number in order[:MOST_NAMED] if values[number] > 0]
    chosen += [number for number in order[: -MOST_NAMED - 1 : -1] if values[number] < 0]
    items = "".join(
        f'<li class="{"gain" if values[number] > 0 else "loss"}"><b>{_signed(values[number], 2)}</b>'
        f"<span>{shown(shorten(outcome.questions[number].text, MOST_LETTERS, placeholder=' …'))}</span></li>"
        for number in chosen
    )
    return f"<details><summary>the questions that changed most</summary><ul>{items}</ul></details>" if items else ""
