"""A progress bar with rate and time left, on stderr, on a terminal only."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from rifflux import Progress

__all__ = ["progress_bar"]

_LABELS = {
    "read": "Reading files",
    "embed": "Embedding chunks",
    "copy": "Copying pages",
    "drop": "Dropping vectors",
}


@contextmanager
def progress_bar() -> Iterator[Progress | None]:
    """Yield a reporter to pass as `progress`; None where nobody watches."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bars

    bars = Bars(
        TextColumn("{task.description:<17}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]:>8}/s"),
        TimeRemainingColumn(),
        console=Console(stderr=True),
    )
    with bars:
        yield _reporter(bars)


def _reporter(bars: object) -> Progress:
    from rich.progress import Progress as Bars

    assert isinstance(bars, Bars)
    tasks = {}

    def report(stage: str, done: int, total: int | None) -> None:
        if stage not in tasks:
            tasks[stage] = bars.add_task(_LABELS.get(stage, stage), total=total, rate="")
        task = bars.tasks[tasks[stage]]
        rate = done / task.elapsed if task.elapsed else 0.0
        bars.update(tasks[stage], completed=done, total=total, rate=f"{rate:,.0f}")

    return report
