"""How works that were retrieved, and the evidence taken from them, are printed for people."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from rifflux.evidence.pack import TITLE_ONLY, Item
from rifflux.session.visible import WITHHELD
from rifflux.surfaces.cli.show import EXCERPT, _console, _json, _safe
from rifflux.surfaces.shared.packs import retrieval_json
from rifflux.text.highlight import matches, stretch
from rifflux.text.schemes import STRONG
from rifflux.types import Hit

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    from rifflux.text.analyzer import Analyzer
    from rifflux.works.retrieval.retriever import Retrieval

__all__ = ["retrieval"]

#: Names of people and of works that are printed before it says how many more there are.
MOST_AUTHORS, MOST_IDENTIFIERS = 3, 3
INDENT = " " * 4
#: Parts of a score that are less are not worth a word.
LEAST_PART = 0.005


def retrieval(found: Retrieval, analyzer: Analyzer, *, as_json: bool) -> None:
    """Works in their order, each with what its score is made of, then the evidence to cite, then notes."""
    if as_json:
        _json(retrieval_json(found))
        return
    from rich.text import Text

    console, evidence = _console(), found.evidence
    intent = f"{found.asked.intent.name}: {found.asked.reason}"
    _hanging(console, Text(_safe(intent), "dim"))
    for rank, hit in enumerate(found.reranked, 1):
        _work(console, rank, hit, found.identifiers.get(hit.chunk_id, ()))
    if evidence.items:
        works = len({item.citation_key for item in evidence.items})
        told = f"{_counted(len(evidence.items), 'passage')} of {_counted(works, 'work')}"
        spent = f"{evidence.tokens:,} of {evidence.budget:,} tokens"
        console.print(f"\nEvidence: {told}, {spent}", style="bold")
    for item in evidence.items:
        _evidence(console, item, analyzer.terms(found.query), analyzer)
    for entry in evidence.bibliography.values():
        console.print(_safe("\n" + (entry if isinstance(entry, str) else json.dumps(entry, ensure_ascii=False))))
    _notes(found, intent)


def _work(console: Console, rank: int, hit: Hit, names: Sequence[str]) -> None:
    """A work: its title, who published it when and where, what it is called, and what its score is made of."""
    from rich.text import Text

    console.print()
    _hanging(console, Text.assemble((f"{rank:>2}  ", "bold"), (_safe(hit.title), "bold cyan")))
    if published := _published(hit):
        _hanging(console, Text(f"    {_safe(published)}"))
    if names:
        _hanging(console, Text(f"    {_safe(_few(_telling(names), MOST_IDENTIFIERS))}"))
    if hit.withheld:
        _hanging(console, Text(f"    {WITHHELD}", "dim"))
    _hanging(console, Text("    " + _score(hit), "dim"))


def _published(hit: Hit) -> str:
    facts = hit.metadata
    authors = _few([str(name) for name in facts.get("authors", ())], MOST_AUTHORS)
    return " · ".join(filter(None, (authors, str(facts.get("year") or ""), str(facts.get("venue") or ""))))


def _few(values: Sequence[str], most: int) -> str:
    more = [f"and {len(values) - most} more"] if len(values) > most else []
    return ", ".join([*values[:most], *more])


def _telling(names: Sequence[str]) -> list[str]:
    """Identifiers with those first that mean the same everywhere."""
    order = {scheme: place for place, scheme in enumerate(STRONG)}
    return sorted(names, key=lambda name: (order.get(name.partition(":")[0], len(order)), len(name)))


def _score(hit: Hit) -> str:
    """The score and the parts that make it, the greatest first."""
    why = hit.because("works")
    parts = {name: value for name, value in why.detail.items() if isinstance(value, float)} if why else {}
    made = [
        f"{value:.2f} {name.replace('_', ' ')}"
        for name, value in sorted(parts.items(), key=lambda part: -part[1])
        if value >= LEAST_PART
    ]
    rated = f"{hit.quality} {hit.relevance:.2f} · " if hit.relevance is not None else ""
    return f"{rated}score {hit.score:.2f}{' = ' if made else ''}{' + '.join(made)}"


def _evidence(console: Console, item: Item, terms: Sequence[str], analyzer: Analyzer) -> None:
    """A passage under what it is cited by, with the words of the question in bold."""
    from rich.text import Text

    console.print()
    head = Text.assemble((f"[{item.number}] {_safe(item.citation_key)}", "bold cyan"), f"  {_safe(item.title)}")
    head.append(f"  rank {item.rank}", "dim")
    _hanging(console, head)
    if item.heading_path:
        _hanging(console, Text(f"    {_safe(item.heading_path)}", "cyan"))
    if not item.text:
        _hanging(console, Text(f"    {WITHHELD if item.withheld else TITLE_ONLY}", "dim"))
        return
    text = " ".join(item.text.split())
    spans = matches(text, terms, analyzer)
    start, end = stretch(text, spans, EXCERPT)
    excerpt = Text(_safe(text[start:end]))
    for first, last in spans:
        if start <= first and last <= end:
            excerpt.stylize("bold yellow", first - start, last - start)
    lead, trail = "…" if start else "", " …" if end < len(text) else ""
    _hanging(console, Text.assemble(f"    {lead}", excerpt, trail))


def _hanging(console: Console, line: Text) -> None:
    """A line; on a terminal what does not fit stands beneath it, as far in as the works' titles are."""
    from rich.text import Text

    if not console.is_terminal:
        console.print(line)
        return
    indented = line.plain.startswith(INDENT)
    rest = line[len(INDENT) :] if indented else line
    width = max(20, console.width - len(INDENT))
    for place, part in enumerate(rest.wrap(console, width)):
        part.rstrip()
        console.print(part if place == 0 and not indented else Text(INDENT).append_text(part))


def _notes(found: Retrieval, intent: str) -> None:
    """What is to be known about the answer, on stderr."""
    errors = _console(error=True)
    if not found.reranked:
        errors.print("nothing found", style="yellow")
    elif found.evidence.uncertain:
        errors.print("note: little speaks for these: treat them as a guess", style="yellow")
    for reason in found.trace.degraded:
        errors.print(f"note: {_safe(reason)}", style="yellow")
    for note in _others([*found.evidence.notes, *found.trace.notes], {intent, *found.trace.degraded}):
        errors.print(f"note: {_safe(note)}", style="dim")


def _others(notes: Sequence[str], told: set[Any]) -> Iterator[str]:
    return (note for note in dict.fromkeys(notes) if note not in told)


def _counted(count: int, what: str) -> str:
    return f"{count} {what}{'s' * (count != 1)}"
