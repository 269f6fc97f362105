"""`rifflux retrieve`: find research works, with evidence to cite."""

from __future__ import annotations

import json as codec
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rifflux.evidence.pack import TITLE_ONLY
from rifflux.requests import RetrieveRequest
from rifflux.surfaces.cli import show
from rifflux.surfaces.cli.app import CommonOptions, Synonyms, WorksOf, app
from rifflux.surfaces.cli.cures import CURES
from rifflux.surfaces.shared.cures import with_cure
from rifflux.surfaces.shared.packs import retrieval_json
from rifflux.text.schemes import STRONG
from rifflux.types import WITHHELD

if TYPE_CHECKING:
    from rich.console import Console

    from rifflux import EvidenceItem, Hit, Retrieval
    from rifflux.text.analyzer import Analyzer

#: The most names of people and works that are printed.
MOST_AUTHORS = 3
MOST_IDENTIFIERS = 3
#: Smaller parts of a score are not printed.
LEAST_PART = 0.005


@app.command(
    epilog="""Examples:  rifflux retrieve 'foundational papers on parsing' --until 1975 --json > evidence.json

rifflux retrieve 'what did Dijkstra write on semaphores?'

rifflux retrieve semaphores --author 'Dijkstra, E. W.' --venue CACM --year 1965-1975"""
)
def retrieve(request: RetrieveRequest, here: CommonOptions, synonyms: Synonyms = None, user: WorksOf = "") -> None:
    """Find research works by words, meaning and citations, and pack evidence to cite.

    Of authors and venues with several works, the best are listed as long as others answer too; --offset shows the rest.
    The text of a work is withheld unless its license permits it.
    """
    with here.opened(user, synonyms=synonyms) as index:
        found = index.retrieve(**vars(request))
        if here.json:
            show.print_json(retrieval_json(found))
        else:
            print_retrieval(found, index.profile.analyzer, request.offset)


def print_retrieval(found: Retrieval, analyzer: Analyzer, offset: int = 0) -> None:
    """Print works in order, each with the parts of its score, then the evidence to cite, then notes."""
    from rich.text import Text

    console = show.console()
    evidence = found.evidence
    intent = f"{found.decision.intent.name}: {found.decision.reason}"
    show.hanging(console, Text(show.safe(intent), "dim"))
    for rank, hit in enumerate(found.reranked, offset + 1):
        _work(console, rank, hit, found.identifiers.get(hit.id, ()))
    if evidence.items:
        works = len({item.citation_key for item in evidence.items})
        counts = f"{show.counted(len(evidence.items), 'passage')} of {show.counted(works, 'work')}"
        spent = f"{evidence.tokens:,} of {evidence.max_tokens:,} tokens"
        console.print(f"\nEvidence: {counts}, {spent}", style="bold")
    for item in evidence.items:
        _evidence(console, item, found.query, analyzer)
    for entry in evidence.bibliography.values():
        console.print(show.safe("\n" + (entry if isinstance(entry, str) else codec.dumps(entry, ensure_ascii=False))))
    _notes(found)


def _work(console: Console, rank: int, hit: Hit, names: Sequence[str]) -> None:
    """Print a work: its title, authors, year and venue, its identifiers, and the parts of its score."""
    from rich.text import Text

    console.print()
    show.hanging(console, Text.assemble((f"{rank:>2}  ", "bold"), (show.one_line(hit.title), "bold cyan")))
    if published := _published(hit):
        show.hanging(console, Text(f"    {show.safe(published)}"))
    if names:
        show.hanging(console, Text(f"    {show.safe(show.named(_telling(names), MOST_IDENTIFIERS))}"))
    if hit.withheld:
        show.hanging(console, Text(f"    {WITHHELD}", "dim"))
    show.hanging(console, Text("    " + _score(hit), "dim"))


def _published(hit: Hit) -> str:
    facts = hit.metadata
    authors = show.named([str(name) for name in facts.get("authors", ())], MOST_AUTHORS)
    return " · ".join(filter(None, (authors, str(facts.get("year") or ""), str(facts.get("venue") or ""))))


def _telling(names: Sequence[str]) -> list[str]:
    """Return identifiers with globally unique ones first."""
    order = {scheme: place for place, scheme in enumerate(STRONG)}
    return sorted(names, key=lambda name: (order.get(name.partition(":")[0], len(order)), len(name)))


def _score(hit: Hit) -> str:
    """Return the score and its parts, the largest first."""
    why = hit.because("works")
    if why:
        parts = {name: value for name, value in why.detail.items() if isinstance(value, float)}
    else:
        parts = {}
    made = [
        f"{value:.2f} {name.replace('_', ' ')}"
        for name, value in sorted(parts.items(), key=lambda part: -part[1])
        if value >= LEAST_PART
    ]
    if hit.relevance is not None:
        rated = f"{hit.quality} {hit.relevance:.2f} · "
    else:
        rated = ""
    return f"{rated}score {hit.score:.2f}{' = ' if made else ''}{' + '.join(made)}"


def _evidence(console: Console, item: EvidenceItem, question: str, analyzer: Analyzer) -> None:
    """Print a passage under its citation key, with the words of the question in bold."""
    from rich.text import Text

    console.print()
    head = Text.assemble(
        (f"[{item.number}] {show.one_line(item.citation_key)}", "bold cyan"), f"  {show.one_line(item.title)}"
    )
    head.append(f"  rank {item.rank}", "dim")
    show.hanging(console, head)
    if item.heading_path:
        show.hanging(console, Text(f"    {show.one_line(item.heading_path)}", "cyan"))
    if not item.text:
        show.hanging(console, Text(f"    {WITHHELD if item.withheld else TITLE_ONLY}", "dim"))
        return
    excerpt = show.excerpt(" ".join(item.text.split()), question, analyzer)
    show.hanging(console, Text("    ").append_text(excerpt))


def _notes(found: Retrieval) -> None:
    """Print remarks on the answer to stderr."""
    if not found.reranked:
        show.console(error=True).print("nothing found", style="yellow")
    elif found.evidence.uncertain:
        show.note("little speaks for these: treat them as a guess")
    degraded = frozenset(found.trace.degraded)
    show.degraded(found.trace.degraded)
    for notice in found.evidence.notes:
        if notice not in degraded:
            show.note(with_cure(notice, CURES), "dim")
    for notice in dict.fromkeys(found.trace.notes):
        if notice.code != "works.intent":
            show.note(with_cure(notice, CURES), "dim")
