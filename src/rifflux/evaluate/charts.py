"""Plots as inline SVG. Colours are CSS classes, so that a page decides them, in light and in dark."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape

import numpy as np

from rifflux.evaluate.compare import Outcome
from rifflux.evaluate.measures import PRIMARY
from rifflux.types import Scores

__all__ = ["accuracy", "differences", "latency", "shown"]

#: Sizes in the units of the drawing; pages scale it.
WIDTH = 360.0
LABELS = 112.0
VALUES = 76.0
ROW = 24.0
BAR = 12.0
TICKS = 18.0
#: Characters of a run's name beside its bar; the whole name is its tooltip.
MOST_LETTERS = 17

_UNPRINTABLE = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def shown(text: str) -> str:
    """Any text for HTML: escaped, and without the characters that no XML may hold."""
    return escape(_UNPRINTABLE.sub("\N{REPLACEMENT CHARACTER}", text))


def accuracy(outcomes: Sequence[Outcome]) -> str:
    """nDCG@10 of each run as bars from 0 to 1, with whiskers for the 95 % confidence interval."""
    bars = []
    for number, outcome in enumerate(outcomes):
        mean, (low, high) = outcome.mean(PRIMARY), outcome.interval
        y = number * ROW + ROW / 2
        title = f"{outcome.run}: nDCG@10 {mean:.4f}, 95 % interval {low:.4f} to {high:.4f}"
        bars.append(
            f"<g><title>{shown(title)}</title>{_name(outcome.run, y)}{_bar(mean, y, first=not number)}"
            f'<path class="whisker" d="M{_x(low):.1f} {y:.1f}H{_x(high):.1f}M{_x(low):.1f} {y - 4:.1f}v8'
            f'M{_x(high):.1f} {y - 4:.1f}v8"/>{_value(f"{mean:.3f}", y)}</g>'
        )
    return _chart(bars, "nDCG@10 by run", ("0", ".25", ".5", ".75", "1"))


def latency(outcomes: Sequence[Outcome], longest: float) -> str:
    """Milliseconds a query of each run: a bar to the median and a line on to the 95th percentile, of `longest`."""
    bars = []
    for number, outcome in enumerate(outcomes):
        median, slow = outcome.percentile(50), outcome.percentile(95)
        y = number * ROW + ROW / 2
        title = f"{outcome.run}: median {median:.2f} ms, 95th percentile {slow:.2f} ms"
        bars.append(
            f"<g><title>{shown(title)}</title>{_name(outcome.run, y)}{_bar(median / longest, y, first=not number)}"
            f'<path class="whisker" d="M{_x(median / longest):.1f} {y:.1f}H{_x(slow / longest):.1f}'
            f'M{_x(slow / longest):.1f} {y - 4:.1f}v8"/>{_value(f"{median:.1f} · {slow:.1f}", y)}</g>'
        )
    ticks = ("0", "", f"{longest / 2:.3g}", "", f"{longest:.3g} ms")
    return _chart(bars, "milliseconds by run", ticks)


def differences(values: Scores) -> str:
    """The difference of each question as a bar, the greatest gain first; the axis is zero and goes from −1 to 1."""
    width, height = WIDTH, 96.0
    ordered = np.sort(values)[::-1]
    step = width / len(ordered)
    gains, losses = (ordered > 0).sum(), (ordered < 0).sum()
    parts = (
        _steps("gain", ordered[:gains], 0.0, step, height),
        _steps("loss", ordered[len(ordered) - losses :], width - losses * step, step, height),
        f'<path class="axis" d="M0 {height / 2}H{width}"/>',
        f'<text class="edge" x="{width}" y="12">+1</text><text class="edge" x="0" y="{height - 4}">−1</text>',
    )
    return (
        f'<svg viewBox="0 0 {width:.0f} {height:.0f}" role="img" aria-label="difference by question">'
        f"{''.join(parts)}</svg>"
    )


def _steps(kind: str, values: Scores, left: float, step: float, height: float) -> str:
    """Bars side by side as one outline: thousands of them stay one light element."""
    if not len(values):
        return ""
    middle = height / 2
    tops = "".join(f"V{middle - value * (middle - 3):.2f}h{step:.3f}" for value in values)
    return f'<path class="{kind}" d="M{left:.2f} {middle}{tops}V{middle}Z"/>'


def _chart(bars: Sequence[str], title: str, ticks: Sequence[str]) -> str:
    """Rows of bars over a grid, whose lines carry the ticks, evenly spaced."""
    height = len(bars) * ROW
    places = [_x(number / (len(ticks) - 1)) for number in range(len(ticks))]
    lines = "".join(f"M{x:.1f} 0V{height:.0f}" for x in places)
    labels = "".join(
        f'<text class="tick" x="{x:.1f}" y="{height + TICKS - 4:.0f}">{tick}</text>'
        for x, tick in zip(places, ticks, strict=True)
    )
    drawn = f'<path class="grid" d="{lines}"/>{labels}{"".join(bars)}<path class="axis" d="M{LABELS} 0V{height:.0f}"/>'
    return f'<svg viewBox="0 0 {WIDTH:.0f} {height + TICKS:.0f}" role="img" aria-label="{title}">{drawn}</svg>'


def _x(share: float) -> float:
    """Where a share of the scale stands."""
    return LABELS + share * (WIDTH - LABELS - VALUES)


def _name(run: str, y: float) -> str:
    short = run if len(run) <= MOST_LETTERS else run[: MOST_LETTERS - 1] + "…"
    return f'<text class="name" x="{LABELS - 8}" y="{y + 4:.1f}">{shown(short)}</text>'


def _value(text: str, y: float) -> str:
    return f'<text class="value" x="{WIDTH}" y="{y + 4:.1f}">{shown(text)}</text>'


def _bar(share: float, y: float, *, first: bool) -> str:
    kind = "bar first" if first else "bar"
    return (
        f'<rect class="{kind}" x="{LABELS}" y="{y - BAR / 2}" width="{_x(share) - LABELS:.1f}" height="{BAR}" rx="2"/>'
    )
