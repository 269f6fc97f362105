"""Outcomes as a self-contained HTML page, with all foreign text escaped."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from textwrap import shorten

import numpy as np

from rifflux.errors import Cure, MissingExtra
from rifflux.evaluate.compare import RunOutcome
from rifflux.evaluate.measures import MEASURES, PRIMARY
from rifflux.evaluate.report import (
    LABELS,
    WORKS_LABELS,
    by_collection,
    label,
    leaders,
    mark,
    means,
    probability,
    works_cells,
)
from rifflux.types import Scores

TEMPLATE = Path(__file__).with_name("page.html")
#: The left edge of a chart's scale and its width, and the width of a plot of differences and half its height.
LEFT = 112
SCALE = 172
WIDTH = 360
MIDDLE = 48
#: The number of questions listed under a plot of differences: the greatest gains, and as many losses.
MOST_NAMED = 5
#: The maximum number of characters displayed of a question.
MOST_LETTERS = 160

_UNPRINTABLE = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass(frozen=True, slots=True)
class Bar:
    """A run in a chart: the length of its bar and the ends of its whisker, as shares of the scale."""

    run: str
    title: str
    length: float
    low: float
    high: float
    text: str


@dataclass(frozen=True, slots=True)
class DocumentShift:
    """The differences of a run from the first one: outlines to draw, counts, and the questions that changed most."""

    paths: Mapping[str, str]
    better: int
    equal: int
    worse: int
    mean: float
    named: Sequence[tuple[float, str]]


def page(outcomes: Sequence[RunOutcome]) -> str:
    """Return a self-contained page: the table, nDCG@10, differences by question, and latency. It is valid XML, too."""
    try:
        from jinja2 import Environment
    except ImportError:
        raise MissingExtra("a page needs jinja2", cure=Cure.INSTALL, package="rifflux[eval]") from None
    groups = by_collection(outcomes)
    longest = max((outcome.percentile(95) for outcome in outcomes), default=1.0) or 1.0
    environment = Environment(autoescape=True, finalize=_printable)
    return environment.from_string(TEMPLATE.read_text("utf-8")).render(
        outcomes=outcomes,
        groups=groups,
        questions=sum(len(group[0].questions) for group in groups.values()),
        runs=len({outcome.run for outcome in outcomes}),
        means=means(outcomes),
        labels=LABELS,
        works_labels=WORKS_LABELS,
        works_cells=works_cells,
        label=label,
        measures=MEASURES,
        primary=PRIMARY,
        longest=longest,
        leaders=leaders,
        mark=mark,
        probability=probability,
        count=lambda number, noun: f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s",
        signed=lambda value, digits: f"{value:+.{digits}f}".replace("-", "\N{MINUS SIGN}"),
        x=lambda share: f"{LEFT + share * SCALE:.1f}",
        width=lambda share: f"{share * SCALE:.1f}",
        accuracy=lambda group: [_accuracy(each) for each in group],
        latency=lambda group: [_latency(outcome, longest) for outcome in group],
        changes=_changes,
    )


def _printable(value: object) -> object:
    """Replace the characters in a text that XML does not allow; escaping comes later."""
    if type(value) is str:
        return _UNPRINTABLE.sub("\N{REPLACEMENT CHARACTER}", value)
    return value


def _accuracy(outcome: RunOutcome) -> Bar:
    mean, (low, high) = outcome.mean(PRIMARY), outcome.interval
    title = f"nDCG@10 {mean:.4f}, 95 % interval {low:.4f} to {high:.4f}"
    return Bar(outcome.run, title, mean, low, high, f"{mean:.3f}")


def _latency(outcome: RunOutcome, longest: float) -> Bar:
    median = outcome.percentile(50)
    slow = outcome.percentile(95)
    title = f"median {median:.2f} ms, 95th percentile {slow:.2f} ms"
    share = median / longest
    return Bar(outcome.run, title, share, share, slow / longest, f"{median:.1f} · {slow:.1f}")


def _changes(outcome: RunOutcome) -> DocumentShift:
    assert outcome.differences is not None
    values = np.sort(outcome.differences)[::-1]
    step = WIDTH / len(values)
    better = int((values > 0).sum())
    worse = int((values < 0).sum())
    equal = len(values) - better - worse
    paths = {
        "gain": _outline(values[:better], 0, step),
        "loss": _outline(values[better + equal :], (better + equal) * step, step),
    }
    drawn = {kind: path for kind, path in paths.items() if path}
    return DocumentShift(drawn, better, equal, worse, float(values.mean()), _named(outcome, outcome.differences))


def _outline(values: Scores, left: float, step: float) -> str:
    """Return adjacent bars as a single outline, which is light even for thousands of bars."""
    tops = "".join(f"V{MIDDLE - value * (MIDDLE - 3):.2f}h{step:.3f}" for value in values)
    return tops and f"M{left:.2f} {MIDDLE}{tops}V{MIDDLE}Z"


def _named(outcome: RunOutcome, values: Scores) -> list[tuple[float, str]]:
    """Return the questions that gained and lost most, which show the strengths and weaknesses of a run."""
    order = np.argsort(-values, kind="stable").tolist()
    chosen = [number for number in order[:MOST_NAMED] if values[number] > 0]
    chosen += [number for number in order[: -MOST_NAMED - 1 : -1] if values[number] < 0]
    return [
        (float(values[number]), shorten(outcome.questions[number].text, MOST_LETTERS, placeholder=" …"))
        for number in chosen
    ]
