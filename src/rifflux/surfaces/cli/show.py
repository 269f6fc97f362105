"""Output of commands: JSON for programs, formatted text for people."""

from __future__ import annotations

import json
import re
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rifflux.surfaces.cli.cures import CURES
from rifflux.surfaces.cli.failed_calls import FAILED_CALLS
from rifflux.surfaces.shared.cures import with_cure

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    from rifflux import Failure, LeftOut, Notice, Progress, Trace
    from rifflux.index.status import VectorReport
    from rifflux.store import Generation
    from rifflux.text.analyzer import Analyzer

EXCERPT = 420
MOST_LISTED = 20
#: Seconds between two lines of progress.
EVERY_S = 10.0
#: The most files named for one reason.
MOST_NAMED = 3
#: The labels of stages in a progress bar.
_STAGES = {
    "read": "Reading files",
    "embed": "Embedding chunks",
    "copy": "Copying pages",
    "upgrade": "Upgrading",
    "documents": "Copying documents",
    "compare": "Comparing",
    "drop": "Dropping vectors",
    "pack": "Packing files",
}

# Indexed text is untrusted: characters that control the terminal are replaced by a mark.
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
# Characters that end a line or change its direction, as a malicious name may.
_LINE_BREAKERS = re.compile("[\\x00-\\x1f\\x7f-\\x9f\\u2028\\u2029\\u200e\\u200f\\u202a-\\u202e\\u2066-\\u2069]")
# What `json.dumps` leaves of these: they are escaped as JSON can.
_UNESCAPED = re.compile("[\\x7f-\\x9f\\u2028\\u2029\\u200e\\u200f\\u202a-\\u202e\\u2066-\\u2069]")
_BLANK_LINES = re.compile(r"(?:[^\S\n]*\n)*")


def safe(text: str) -> str:
    """Return indexed text without control characters."""
    return _CONTROL.sub("\N{REPLACEMENT CHARACTER}", text)


def one_line(text: str) -> str:
    """Return a name or title without control characters, line ends and changes of direction."""
    return _LINE_BREAKERS.sub("\N{REPLACEMENT CHARACTER}", text)


def console(*, error: bool = False) -> Console:
    """Create a console without wrapping and markup: colours on a terminal, plain text elsewhere."""
    from rich.console import Console

    return Console(stderr=error, soft_wrap=True, highlight=False, markup=False, emoji=False)


def print_json(value: object, *, one_line: bool = False) -> None:
    """Print a value as JSON on standard output."""
    text = json.dumps(value, ensure_ascii=False, indent=None if one_line else 2, default=str)
    text = _UNESCAPED.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
    sys.stdout.buffer.write(text.encode("utf-8", "replace") + b"\n")
    sys.stdout.flush()


def outcome(text: str, about: Mapping[str, object], *, as_json: bool) -> None:
    """Print an outcome: `about` as JSON, or the text."""
    if as_json:
        print_json(about)
    else:
        console().print(safe(text))


def counted(count: int, what: str) -> str:
    """Return a count with its noun, such as `1 work`, `2 works` and `2 memories`."""
    if count == 1:
        return f"1 {what}"
    ends_in_y = what.endswith("y") and what[-2:-1] not in "aeiou"
    if ends_in_y:
        return f"{count:,} {what[:-1]}ies"
    return f"{count:,} {what}s"


def note(text: str, style: str = "yellow") -> None:
    """Print a note on standard error."""
    console(error=True).print(f"note: {one_line(text)}", style=style)


def degraded(notices: Iterable[Notice]) -> None:
    """Print what was missing, and drop the log records of its failed calls."""
    for notice in notices:
        note(with_cure(notice, CURES))
        FAILED_CALLS.drop()


def hanging(console: Console, line: Text, margin: int = 4) -> None:
    """Print a line; on a terminal, indent wrapped lines by `margin` characters."""
    from rich.text import Text

    if not console.is_terminal:
        console.print(line)
        return
    indent = " " * margin
    indented = line.plain.startswith(indent)
    rest = line[margin:] if indented else line
    width = max(20, console.width - margin)
    for place, part in enumerate(rest.wrap(console, width)):
        part.rstrip()
        console.print(part if place == 0 and not indented else Text(indent).append_text(part))


def notes(trace: Trace, *, nothing: bool = False) -> None:
    """Print the degradations and notes of a search, preceded by whether it found `nothing`."""
    if nothing:
        console(error=True).print("nothing found", style="yellow")
    degraded(trace.degraded)
    for notice in trace.notes:
        note(with_cure(notice, CURES), "dim")


def failures(word: str, found: Sequence[Failure], style: str) -> None:
    """Print failed files or lines to standard error, each after the label."""
    errors = console(error=True)
    for failure in found[:MOST_LISTED]:
        errors.print(f"{word}: {one_line(failure.path)}: {one_line(with_cure(failure, CURES))}", style=style)
    if len(found) > MOST_LISTED:
        errors.print(f"{word}: {len(found) - MOST_LISTED} more (--json lists all)", style=style)


def kinds(counts: Mapping[str, int]) -> str:
    """Return the numbers of files of each kind on a line."""
    return ", ".join(f"{count:,} {kind}" for kind, count in sorted(counts.items()))


def left_out(found: Sequence[LeftOut]) -> None:
    """Print deliberately skipped files to standard error, grouped by reason."""
    errors = console(error=True)
    by_reason: dict[str, list[str]] = {}
    for each in found:
        by_reason.setdefault(each.reason, []).append(each.path)
    for reason, paths in list(by_reason.items())[:MOST_LISTED]:
        if len(paths) == 1:
            files = paths[0]
        else:
            files = f"{len(paths):,} files ({named(paths, MOST_NAMED)})"
        errors.print(f"skipped: {one_line(files)}: {one_line(reason)}", style="yellow")
    if len(by_reason) > MOST_LISTED:
        errors.print(f"skipped: {len(by_reason) - MOST_LISTED} more reasons (--json lists all)", style="yellow")


def pairs(rows: Iterable[tuple[str, str]]) -> None:
    """Print names and values in two columns, the first as wide as its longest name."""
    from rich.text import Text

    listed = list(rows)
    width = max(12, max((len(name) for name, _ in listed), default=0) + 2)
    out = console()
    for name, value in listed:
        out.print(Text.assemble((f"{name:<{width}}", "bold"), safe(value)))


def table(rows: Sequence[Mapping[str, object]], columns: Sequence[str], *, nothing: str, as_json: bool) -> None:
    """Print rows under their columns' names, or `nothing` if there are none."""
    if as_json:
        print_json([dict(row) for row in rows])
        return
    if not rows:
        console(error=True).print(nothing)
        return
    from rich.table import Table

    found = Table(box=None, pad_edge=False, header_style="bold")
    for name in columns:
        found.add_column(name.removesuffix("_at"), justify="right" if _is_number(rows[0].get(name)) else "left")
    for row in rows:
        found.add_row(*(_cell(name, row.get(name)) for name in columns))
    console().print(found)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _cell(name: str, value: object) -> str:
    if value is None:
        return ""
    if name.endswith("_at"):
        return safe(str(value))[:16].replace("T", " ")
    if isinstance(value, float):
        return f"{value:,.4f}"
    return safe(str(value))


def listed(
    entries: Iterable[tuple[str, str]], rows: Sequence[Mapping[str, object]], *, nothing: str, as_json: bool
) -> None:
    """Print a long list: each entry's title with facts in a line below, or `rows` as JSON."""
    if as_json:
        print_json(rows)
        return
    if not rows:
        console(error=True).print(nothing)
    out = console()
    for title, facts in entries:
        out.print(one_line(title), style="bold")
        out.print(one_line(f"    {facts}"), style="dim")


def named(names: Sequence[str], most: int, separator: str = ", ") -> str:
    """Join the first `most` names, and say how many more there are."""
    if len(names) > most:
        more = f" and {len(names) - most} more"
    else:
        more = ""
    return separator.join(names[:most]) + more


def from_here(path: Path) -> str:
    """Return a path relative to the working directory if it lies below it."""
    return str(path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path)


def excerpt(content: str, question: str, analyzer: Analyzer, *, full: bool = False) -> Text:
    """Return the passage, or its best part, with the words of the question in bold."""
    from rich.text import Text

    from rifflux.text.highlight import stretch, words_of_question

    spans = words_of_question(content, question, analyzer)
    start, end = (0, len(content)) if full else stretch(content, spans, EXCERPT)
    if start and (blank := _BLANK_LINES.match(content, start, end)):
        start = blank.end()
    text = Text("…" if start else "")
    text.append(safe(content[start:end]))
    for first, last in spans:
        if start <= first and last <= end:
            text.stylize("bold yellow", first - start + bool(start), last - start + bool(start))
    if end < len(content.rstrip()):
        return text.append(" …")
    return text


def percent(part: int, whole: int) -> str:
    """Return a share in percent, rounded down: 100% means that nothing is missing."""
    return f"{100 * part // whole}%"


def vectors(generation: Generation) -> str:
    """Return the share of chunks with a vector of a generation as text."""
    if generation.chunks:
        share = f" ({percent(generation.vectors, generation.chunks)})"
    else:
        share = ""
    return f"{generation.vectors:,} of {generation.chunks:,} chunks{share}"


def cosines(read: VectorReport) -> str:
    """Return the statistics of an index's vectors on one line."""
    if read.agreement is None:
        agreement = "not measured yet"
    else:
        agreement = f"{read.agreement:.2f}"
    if read.weight is None:
        weight = ""
    else:
        weight = f"; weight of meaning {read.weight:.2f}"
    figures = f"noise {read.noise:.2f}, spread {read.spread:.3f}, reach {read.reach:.2f}"
    return f"{figures}, agreement with words {agreement}{weight}"


@dataclass
class ProgressLines:
    """Prints progress to a log: a line when a stage starts, every ten seconds, and when it ends.

    What is counted anew within a stage, as each folder is, adds to what was done before.
    """

    clock: Callable[[], float] = time.monotonic
    _stage: str = ""
    _before: int = 0
    _done: int = 0
    _began: float = 0.0
    _due: float = 0.0

    def __call__(self, stage: str, done: int, total: int | None) -> None:
        """Record the progress of a stage, and print a line if one is due."""
        now = self.clock()
        if stage != self._stage:
            self.end()
            self._stage = stage
            self._began = now
            self._due = now + EVERY_S
            if total:
                self._print(f"started, {total:,} in all")
            else:
                self._print("started")
        elif done < self._done:
            self._before += self._done
        self._done = done
        if now >= self._due:
            self._due = now + EVERY_S
            done += self._before
            rate = done / (now - self._began)
            line = f"{done:,}"
            if total:
                total += self._before
                line += f" of {total:,}"
            line += f", {rate:,.0f}/s"
            if total and rate:
                line += f", about {(total - done) / rate:,.0f} s left"
            self._print(line)

    def end(self) -> None:
        """Print what was done in the stage under way, if there is one."""
        if self._stage:
            self._print(f"{self._before + self._done:,} done, in {self.clock() - self._began:.1f} s")
        self._stage = ""
        self._before = self._done = 0

    def _print(self, text: str) -> None:
        print(f"{_STAGES.get(self._stage, self._stage)}: {text}", file=sys.stderr, flush=True)  # noqa: T201


@contextmanager
def late_progress() -> Iterator[Progress]:
    """Yield a callback like `progress` for what is rarely needed: nothing is prepared before it is called."""
    with ExitStack() as stack:
        begun: list[Progress] = []

        def report(stage: str, done: int, total: int | None) -> None:
            if not begun:
                begun.append(stack.enter_context(progress()))
            begun[0](stage, done, total)

        yield report


@contextmanager
def progress() -> Iterator[Progress]:
    """Yield a `progress` callback that prints rate and time left to stderr: a bar, or lines in a log."""
    if not sys.stderr.isatty():
        lines = ProgressLines()
        yield lines
        lines.end()
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bars

    columns = (TextColumn("{task.description:<17}"), BarColumn(), MofNCompleteColumn())
    left = (TextColumn("{task.fields[rate]:>8}/s"), TimeRemainingColumn())
    with Bars(*columns, *left, console=Console(stderr=True)) as bars:
        tasks = {}

        def report(stage: str, done: int, total: int | None) -> None:
            if stage not in tasks:
                tasks[stage] = bars.add_task(_STAGES.get(stage, stage), total=total, rate="")
            task = bars.tasks[tasks[stage]]
            rate = done / task.elapsed if task.elapsed else 0.0
            bars.update(tasks[stage], completed=done, total=total, rate=f"{rate:,.0f}")

        yield report
