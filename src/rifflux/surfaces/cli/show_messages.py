"""What the commands of conversations print."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from rifflux.conversations.model import Conversation, ImportReport, Message, MessageHit, MessageResults
from rifflux.surfaces.cli.show import _console, _json, _safe
from rifflux.surfaces.shared.contract import why_lines

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["conversation", "report", "results"]


def report(done: ImportReport, *, as_json: bool) -> None:
    """What an import did."""
    if as_json:
        _json(asdict(done))
        return
    counts = (
        ("added", done.added),
        ("changed", done.changed),
        ("unchanged", done.unchanged),
        ("removed", done.removed),
    )
    told = ", ".join(f"{count:,} {name}" for name, count in counts if count) or "none"
    new = f"{done.conversations:,} new conversations; messages: {told}; {done.embedded:,} embedded"
    _console().print(f"{new}, in {done.seconds:.1f} s")
    for failure in done.failed:
        _console(error=True).print(f"failed: {_safe(failure.path)}: {_safe(failure.reason)}", style="red")


def results(found: MessageResults, *, grouped: bool, explain: bool, as_json: bool) -> None:
    """The messages that were found."""
    if as_json:
        _json(_results(found, grouped=grouped))
        return
    out, errors = _console(), _console(error=True)
    hits = [hit for group in found.grouped() for hit in group.hits] if grouped else list(found)
    title = None
    for rank, hit in enumerate(hits, 1):
        if not grouped or hit.message.conversation_id != title:
            title = hit.message.conversation_id
            out.print(_safe(f"{hit.title or 'untitled'}  {title}"), style="bold cyan")
        _hit(out, rank, hit)
        for line in why_lines(hit.hit.why) if explain else ():
            out.print(f"     {line}", style="dim")
        out.print()
    if not found:
        errors.print("nothing found", style="yellow")
    for reason in (*found.trace.degraded, *found.trace.notes):
        errors.print(f"note: {_safe(reason)}", style="yellow")


def _hit(out: Console, rank: int, hit: MessageHit) -> None:
    for before in hit.before:
        out.print(_turn("    ", before), style="dim")
    out.print(_turn(f"{rank:>2}  ", hit.message))
    for after in hit.after:
        out.print(_turn("    ", after), style="dim")


def _turn(margin: str, message: Message) -> str:
    text = message.text.strip().replace("\n", f"\n{' ' * len(margin)}")
    date = f" ({message.created_at[:16]})" if message.created_at else ""
    return margin + _safe(f"{message.label}{date}: {text}")


def _results(found: MessageResults, *, grouped: bool) -> dict[str, Any]:
    trace = found.trace
    head = {"query": found.query, "mode": trace.effective_mode, "degraded": list(trace.degraded)}
    if not grouped:
        return {**head, "results": [_as_json(hit) for hit in found]}
    groups = [
        {
            "conversation_id": group.conversation_id,
            "title": group.title,
            "messages": [_as_json(hit) for hit in group.hits],
        }
        for group in found.grouped()
    ]
    return {**head, "conversations": groups}


def _as_json(hit: MessageHit) -> dict[str, Any]:
    return {
        **asdict(hit.message),
        "title": hit.title,
        "score": hit.score,
        "relevance": hit.hit.relevance,
        "chunk_id": hit.hit.chunk_id,
        "before": [asdict(each) for each in hit.before],
        "after": [asdict(each) for each in hit.after],
    }


def conversation(found: Conversation, messages: Sequence[Message], *, as_json: bool) -> None:
    """A conversation with its messages."""
    if as_json:
        _json({**asdict(found), "messages": [asdict(message) for message in messages]})
        return
    out = _console()
    told = [found.title or "untitled", found.project, "archived" * found.archived]
    out.print(_safe("  ".join(filter(None, told))), style="bold cyan")
    for message in messages:
        out.print(_turn("", message))
