"""What the commands print: JSON for programs, and for people text that is pleasant to read."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rifflux.surfaces.shared.contract import search_json, why_lines
from rifflux.surfaces.shared.verdicts import understanding_line, verdict_json, verdict_lines
from rifflux.text.highlight import matches, stretch
from rifflux.types import Document, Failure, Hit, IndexReport, Results, Trace, Verdict

if TYPE_CHECKING:
    from rich.console import Console

    from rifflux.index import Status
    from rifflux.models.registry import KnownModel
    from rifflux.session.maintenance import Copied, Repaired, Switched
    from rifflux.store import Generation, ModelInfo, Problem
    from rifflux.surfaces.shared.config import Settings
    from rifflux.text.analyzer import Analyzer

__all__ = [
    "aborted",
    "config",
    "copied",
    "degraded",
    "followed",
    "generations",
    "item",
    "listed",
    "outcome",
    "policies",
    "problems",
    "repaired",
    "report",
    "results",
    "secret",
    "status",
    "switched",
    "table",
    "verdict",
]

EXCERPT = 420
MOST_LISTED = 20
MOST_NAMED = 3

# Indexed text is not ours: what could move the cursor or recolour the terminal is shown as a mark.
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def _safe(text: str) -> str:
    return _CONTROL.sub("\N{REPLACEMENT CHARACTER}", text)


def _console(*, error: bool = False) -> Console:
    """A console that wraps nothing and interprets nothing: colours on a terminal, plain text elsewhere."""
    from rich.console import Console

    return Console(stderr=error, soft_wrap=True, highlight=False, markup=False, emoji=False)


def _json(value: Any, *, one_line: bool = False) -> None:
    text = json.dumps(value, ensure_ascii=False, indent=None if one_line else 2, default=str)
    sys.stdout.buffer.write(text.encode("utf-8", "replace") + b"\n")
    sys.stdout.flush()


def report(done: IndexReport, *, as_json: bool, one_line: bool = False) -> None:
    """A run of indexing."""
    if as_json:
        _json(asdict(done), one_line=one_line)
        return
    console = _console()
    console.print(_counts(done))
    _list("skipped", done.skipped, "yellow")
    _list("failed", done.failed, "red")


def followed(done: IndexReport, *, as_json: bool) -> None:
    """What was done about files that changed just now."""
    if as_json:
        _json(asdict(done), one_line=True)
        return
    paths = [_safe(_from_here(Path(path))) for path in done.indexed_paths]
    where = ", ".join(paths[:MOST_NAMED]) + (f" and {len(paths) - MOST_NAMED} more" if len(paths) > MOST_NAMED else "")
    _console().print(f"{datetime.now():%H:%M:%S}  {_counts(done)}  {where}")
    _list("failed", done.failed, "red")


def _counts(done: IndexReport) -> str:
    parts = [f"{done.indexed_files:,} indexed", f"{done.skipped_files:,} unchanged or skipped"]
    parts += [f"{done.deleted_files:,} removed"] * bool(done.deleted_files)
    parts += [f"{len(done.failed)} failed"] * bool(done.failed)
    made = f"{done.chunks:,} chunks, {done.embedded_chunks:,} embedded"
    return f"{', '.join(parts)}; {made}, in {done.seconds:.1f} s"


def _list(word: str, failures: Sequence[Failure], colour: str) -> None:
    console = _console(error=True)
    for failure in failures[:MOST_LISTED]:
        console.print(f"{word}: {_safe(failure.path)}: {_safe(failure.reason)}", style=colour)
    if len(failures) > MOST_LISTED:
        console.print(f"{word}: {len(failures) - MOST_LISTED} more (--json lists all)", style=colour)


def results(found: Results, analyzer: Analyzer, *, as_json: bool, explain: bool, full: bool) -> None:
    """The hits of a search."""
    if as_json:
        _json(search_json(found))
        return
    console, errors = _console(), _console(error=True)
    terms = analyzer.terms(found.query)
    for rank, hit in enumerate(found, 1):
        _hit(console, rank, hit, terms, analyzer, full=full)
        for line in why_lines(hit.why) if explain else ():
            console.print(f"   {line}", style="dim")
        console.print()
    if not found:
        errors.print("nothing found", style="yellow")
    for reason in found.trace.degraded:
        errors.print(f"note: {reason}", style="yellow")
    for note in found.trace.notes:
        errors.print(f"note: {_safe(note)}", style="dim")
    if explain:
        if found.trace.understanding:
            errors.print(_safe(understanding_line(found.trace.understanding)), style="dim")
        spent = ", ".join(f"{stage} {ms:.1f} ms" for stage, ms in found.trace.milliseconds.items())
        errors.print(f"{found.trace.effective_mode}: {spent}", style="dim")


def verdict(found: Verdict, *, as_json: bool) -> None:
    """Why a document is where it is; what became of it in bold."""
    if as_json:
        _json(verdict_json(found))
        return
    console = _console()
    headline, *lines = map(_safe, verdict_lines(found))
    console.print(headline, style="bold green" if found.found else "bold yellow")
    for line in lines:
        console.print(line)


def _hit(console: Console, rank: int, hit: Hit, terms: Sequence[str], analyzer: Analyzer, *, full: bool) -> None:
    from rich.text import Text

    place = Text.assemble((f"{rank:>2} ", "bold"), (_safe(_place(hit)), "bold cyan"))
    if hit.heading_path:
        place.append(f"  {_safe(hit.heading_path)}", "cyan")
    rated = f" {hit.quality} {hit.relevance:.2f}" if hit.relevance is not None else ""
    place.append(f"  {hit.score:.4f}{rated} {hit.chunk_id}", "dim")
    console.print(place)
    console.print(_excerpt(hit.content, terms, analyzer, full=full))


def _place(hit: Hit) -> str:
    """Where the hit can be opened from here, and its key if it is one of several in a file."""
    collection = Path(hit.collection)
    if not collection.is_absolute():
        return hit.document
    if hit.document == hit.path:
        return _from_here(collection / hit.path)
    return f"{_from_here(collection)}  {hit.document}"


def _from_here(path: Path) -> str:
    return str(path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path)


def _excerpt(content: str, terms: Sequence[str], analyzer: Analyzer, *, full: bool) -> Any:
    """The passage, or its most telling stretch, indented, with the words of the question in bold."""
    from rich.text import Text

    spans = matches(content, terms, analyzer)
    start, end = (0, len(content)) if full else stretch(content, spans, EXCERPT)
    text = Text(_safe(content[start:end]))
    for first, last in spans:
        if start <= first and last <= end:
            text.stylize("bold yellow", first - start, last - start)
    lines = [line for line in text.split("\n", allow_blank=True) if line.plain.strip()]
    shown = Text("\n").join(Text("   ").append_text(line) for line in lines)
    if start:
        shown = Text("   …").append_text(shown[3:])
    return shown.append(" …") if end < len(content.rstrip()) else shown


def item(found: Hit | Document, *, as_json: bool) -> None:
    """A chunk or a document: on a pipe its text to the letter."""
    if as_json:
        _json(asdict(found))
        return
    text = found.content if isinstance(found, Hit) else found.text
    if sys.stdout.isatty():
        text = _safe(text)
    sys.stdout.buffer.write(text.encode("utf-8", "replace") + b"\n")
    sys.stdout.flush()


def status(state: Status, *, as_json: bool) -> None:
    """What an index holds."""
    if as_json:
        _json(asdict(state))
        return
    share = f" ({state.embedded_chunks / state.chunks:.0%})" if state.chunks else ""
    _table(
        [
            ("index", f"{state.path}  ({state.bytes / 1e6:.1f} MB{', read-only' if state.read_only else ''})"),
            ("documents", f"{state.documents:,} from {state.files:,} files"),
            ("chunks", f"{state.chunks:,}"),
            ("embedded", f"{state.embedded_chunks:,}{share} by {state.embedding_model} ({state.embedding_backend})"),
            *_switching(state.switching),
            *((("synced", state.freshness.synced_at),) if state.freshness and state.freshness.synced_at else ()),
            ("language", state.language),
            ("facets", ", ".join(state.facets) or "none"),
            *(("root", root) for root in state.roots),
            ("schema", str(state.schema_version)),
        ]
    )
    _list("unreadable", state.unreadable_files, "yellow")
    for reason in state.degraded:
        _console(error=True).print(f"note: {_safe(reason)}", style="yellow")


def _switching(generation: Generation | None) -> list[tuple[str, str]]:
    return [("switching", f"to {generation.model.name}: {_progress(generation)}")] if generation else []


def problems(found: Sequence[Problem], *, as_json: bool) -> None:
    """What doctor found."""
    if as_json:
        _json({"sound": not found, "problems": [asdict(problem) for problem in found]})
        return
    console = _console()
    for problem in found:
        console.print(f"{_safe(problem.what)}\n   {problem.cure}", style="red")
    if not found:
        console.print("the index is sound", style="green")


def repaired(done: Repaired, *, as_json: bool) -> None:
    """What doctor mended, and what is still wrong."""
    if as_json:
        problems_left = [asdict(problem) for problem in done.problems]
        _json({"sound": not problems_left, "problems": problems_left, "done": done.done, "kept": done.kept})
        return
    console = _console()
    for line in done.done:
        console.print(_safe(line))
    if done.kept:
        console.print(f"the damaged file is kept as {_safe(done.kept)}", style="yellow")
    problems(done.problems, as_json=False)


def copied(done: Copied, *, as_json: bool) -> None:
    """A copy that was made."""
    if as_json:
        _json(asdict(done))
        return
    _console().print(f"copied to {_safe(done.path)} ({done.bytes / 1e6:.1f} MB), in {done.seconds:.1f} s")


def generations(held: Sequence[Generation], known: Sequence[KnownModel], *, as_json: bool) -> None:
    """The models of an index, and what else can be named."""
    if as_json:
        index = [asdict(each.model) | {"state": each.state, "vectors": each.vectors} for each in held]
        chunks = held[0].chunks if held else 0
        _json({"index": index, "chunks": chunks, "known": [asdict(each) for each in known]})
        return
    for each in held:
        _table([(each.state, f"{_progress(each)}  {each.model.name}  {each.model.dimension} dimensions")])
    if not held:
        _table([("none", "the index holds no vectors yet")])
    _console().print("\nto be named:")
    for model in known:
        _console().print(f"  {model.spec:<22} {model.about}")


def _progress(generation: Generation) -> str:
    share = f" ({generation.vectors / generation.chunks:.0%})" if generation.chunks else ""
    return f"{generation.vectors:,} of {generation.chunks:,} chunks{share}"


def switched(done: Switched, *, named: str, as_json: bool) -> None:
    """A change of models; `named` is what the settings ask for, which may be the former one."""
    if as_json:
        _json(asdict(done))
    else:
        made = f"{done.embedded_chunks:,} chunks embedded, {done.dropped_vectors:,} old vectors dropped"
        _console().print(f"switched from {done.former} to {done.model}: {made}, in {done.seconds:.1f} s")
    if named:
        note = f"note: the setting 'model' names {named}: unset it, or set it to the new one"
        _console(error=True).print(_safe(note), style="yellow")


def aborted(ended: ModelInfo | None, *, as_json: bool) -> None:
    """A switch that was given up."""
    if as_json:
        _json({"aborted": ended.name if ended else None})
    else:
        _console().print(f"gave up {ended.name}" if ended else "no switch is under way")


def config(settings: Settings, *, as_json: bool) -> None:
    """The settings in force."""
    values = settings.shown()
    if as_json:
        _json({"settings": values, "origins": dict(settings.origins)})
        return
    _table((name, f"{_value(value):<24} {settings.origins.get(name, 'default')}") for name, value in values.items())


def policies(values: Mapping[str, bool], *, as_json: bool) -> None:
    """What is on and off for everybody."""
    from rifflux.session.policies import POLICIES

    if as_json:
        _json(dict(values))
        return
    _table((f"{name:<16}", f"{'on' if value else 'off':<5} {POLICIES[name].help}") for name, value in values.items())


def _value(value: Any) -> str:
    if isinstance(value, Mapping):
        return json.dumps(value) if value else ""
    return ", ".join(value) if isinstance(value, tuple) else str(value)


def _table(rows: Iterable[tuple[str, str]]) -> None:
    from rich.text import Text

    console = _console()
    for name, value in rows:
        console.print(Text.assemble((f"{name:<12}", "bold"), _safe(value)))


def table(rows: Sequence[Mapping[str, Any]], columns: Sequence[str], *, nothing: str, as_json: bool) -> None:
    """Rows under their columns' names; `nothing` is said where there are none."""
    if as_json:
        _json([dict(row) for row in rows])
        return
    if not rows:
        _console(error=True).print(nothing)
        return
    from rich.table import Table

    found = Table(box=None, pad_edge=False, header_style="bold")
    for name in columns:
        found.add_column(name.removesuffix("_at"), justify="right" if _is_number(rows[0].get(name)) else "left")
    for row in rows:
        found.add_row(*(_cell(name, row.get(name)) for name in columns))
    _console().print(found)


def listed(
    entries: Iterable[tuple[str, str]], rows: Sequence[Mapping[str, Any]], *, nothing: str, as_json: bool
) -> None:
    """A list that may be long: of each entry its title, and what is told of it in a line below; `rows` as JSON."""
    if as_json:
        _json(rows)
        return
    if not rows:
        _console(error=True).print(nothing)
    console = _console()
    for title, told in entries:
        console.print(_safe(title), style="bold")
        console.print(_safe(f"    {told}"), style="dim")


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _cell(name: str, value: Any) -> str:
    if value is None:
        return ""
    if name.endswith("_at") and _is_number(value):
        return datetime.fromtimestamp(value, UTC).strftime("%Y-%m-%d %H:%M")
    return f"{value:,.4f}" if isinstance(value, float) else _safe(str(value))


def secret(text: str, about: Mapping[str, Any], *, as_json: bool) -> None:
    """A secret that is shown this once."""
    if as_json:
        _json({"token": text, **about})
        return
    print(text)  # noqa: T201
    _console(error=True).print("keep it safe: it cannot be shown again", style="yellow")


def outcome(told: str, about: Mapping[str, Any], *, as_json: bool) -> None:
    """How something ended."""
    if as_json:
        _json(about)
    else:
        _console().print(_safe(told))


def degraded(trace: Trace, *, as_json: bool) -> None:
    """What was missing from a search, to people; programs are told in the answer."""
    for reason in () if as_json else trace.degraded:
        _console(error=True).print(f"note: {_safe(reason)}", style="yellow")
