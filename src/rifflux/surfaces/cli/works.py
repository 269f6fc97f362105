"""`rifflux works`: import works, show them, review likely duplicates, export bibliographies."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rifflux import InvalidArgument
from rifflux.requests import WorksFileRequest, WorksRequest
from rifflux.surfaces.cli import show
from rifflux.surfaces.cli.app import (
    CommonOptions,
    Embed,
    IndexOptions,
    OpenOptions,
    WorksOf,
    group,
)
from rifflux.surfaces.shared.nouns import work_json
from rifflux.types.nouns import noun_json

if TYPE_CHECKING:
    from rifflux import WorkRecord, WorksReport, WorkSummary

works = group("works", "Import research works, look them up, export them.")

#: The most linked works and sources that are named.
MOST_NAMED = 10


@works.command(
    "import",
    epilog="""Examples:  rifflux works import arxiv-metadata-oai-snapshot.json refs.bib

rifflux works import paper/main.tex --license CC-BY-4.0""",
)
def import_(
    request: WorksFileRequest,
    here: OpenOptions,
    paths: Annotated[list[Path], typer.Argument(help="Files and folders: .jsonl .json .bib .tex .pdf.")],
    embed: Embed = True,
    user: WorksOf = "",
) -> None:
    """Import works; known ones are updated, and duplicates merged.

    Exit status 1 if something could not be read.
    """
    with here.opened(user, create=True, profile="works") as index, show.progress() as progress:
        report = index.works.import_files(
            *paths,
            source=request.source,
            format=request.format,
            license=request.license,
            embed=embed,
            progress=progress,
        )
    _print_report(report, as_json=here.json)
    if report.failed:
        raise typer.Exit(1)


def _print_report(report: WorksReport, *, as_json: bool) -> None:
    counts = (report.added, report.updated, report.merged, report.unchanged)
    line = "{:,} added, {:,} updated ({:,} merged), {:,} unchanged".format(*counts)
    if report.embedded_chunks:
        line += f", {report.embedded_chunks:,} chunks embedded"
    line += f" in {report.seconds:.1f} s"
    if report.sources:
        line += "; keys are " + show.named([f"{name}:KEY" for name in report.sources], MOST_NAMED, "; ")
    show.outcome(line, asdict(report), as_json=as_json)
    if as_json:
        return
    show.failures("noted", report.noted, "yellow")
    show.failures("failed", report.failed, "red")
    show.degraded(report.degraded)
    if report.dangling:
        show.note(f"{report.dangling:,} citations are of works that the index does not hold")
    if report.unlicensed:
        summary = f"no text will be shown of {report.unlicensed:,} works without a license that permits it"
        show.note(f"{summary}: state one with --license, or see 'rifflux config set --help'")
    if report.doubts:
        show.note(f"{len(report.doubts):,} pairs may be one work: see 'rifflux works review'")


@works.command(
    "list",
    epilog="""Examples:  rifflux works list --without-license

rifflux works list --author 'Dijkstra, E. W.' --year 1965-1975""",
)
def list_(request: WorksRequest, here: CommonOptions, user: WorksOf = "") -> None:
    """List the works with their licenses; the text of a work is withheld unless its license permits it."""
    with here.opened(user) as index:
        found = index.works.all(**vars(request))
    rows = [noun_json(each, withheld=each.withheld) for each in found]
    show.listed([(each.title, _facts(each)) for each in found], rows, nothing="no such works", as_json=here.json)


def _facts(listed: WorkSummary) -> str:
    """Return the line below a work's title in a list."""
    license = listed.license or "no license recorded"
    return "  ".join(filter(None, (" ".join(listed.identifiers), license, " ".join(listed.sources))))


@works.command("show", epilog="Example: rifflux works show arxiv:2101.00001")
def show_(
    here: CommonOptions,
    id: Annotated[str, typer.Argument(help="A DOI, an arXiv or OpenAlex identifier, or source:key.")],
    user: WorksOf = "",
) -> None:
    """Show a work, what it cites and what cites it."""
    with here.opened(user) as index:
        found = index.works.get(id)
    text = "\n".join(f"{name:12}{value}" for name, value in _rows(found).items() if value)
    show.outcome(text, work_json(found), as_json=here.json)


def _license(found: WorkRecord) -> str:
    license = found.work.license or "none recorded"
    if found.withheld:
        return f"{license}: no text is shown"
    return license


def _rows(found: WorkRecord) -> dict[str, str]:
    work = found.work
    return {
        "title": work.title,
        "authors": ", ".join(work.authors),
        "published": ", ".join(filter(None, (work.venue, work.date or str(work.year or "")))),
        "identifiers": ", ".join(map(str, work.identifiers)),
        "subjects": ", ".join(f"{tag.scheme}:{tag.value}" for tag in work.tags),
        "license": _license(found),
        "cites": show.named([hit.title for hit in found.cites], MOST_NAMED, "; "),
        "cited by": show.named([hit.title for hit in found.cited_by], MOST_NAMED, "; "),
        "links": "more than are counted here" * found.more_links,
        "abstract": work.abstract,
    }


@works.command(
    epilog="""Examples:  rifflux works review

rifflux works review --same zotero:serre55 arxiv:math/0102001"""
)
def review(
    here: CommonOptions,
    same: Annotated[
        tuple[str, str] | None, typer.Option(help="These two are one work: merge them.", metavar="ONE OTHER")
    ] = None,
    apart: Annotated[
        tuple[str, str] | None,
        typer.Option(
            help="These two are two works: do not ask again. An identifier that both have stays with ONE.",
            metavar="ONE OTHER",
        ),
    ] = None,
    user: WorksOf = "",
) -> None:
    """List the pairs that may be one work, or decide on a pair."""
    if same and apart:
        raise InvalidArgument("give --same or --apart, not both")
    with here.opened(user) as index:
        if pair := same or apart:
            index.works.decide(*pair, same=bool(same))
        rows = [asdict(doubt) for doubt in index.works.doubts()]
    show.table(rows, ("one", "other", "reason"), nothing="no pair is in doubt", as_json=here.json)


@works.command(epilog="Example: rifflux works export --bibtex doi:10.1007/bf01389815 > refs.bib")
def export(
    here: IndexOptions,
    ids: Annotated[list[str], typer.Argument(help="Works, as for 'rifflux works show'.")],
    bibtex: Annotated[bool, typer.Option("--bibtex", help="As BibTeX.")] = False,
    csl: Annotated[bool, typer.Option("--csl", help="As CSL-JSON.")] = False,
    user: WorksOf = "",
) -> None:
    """Print works as a bibliography, on stdout."""
    if bibtex == csl:
        raise InvalidArgument("say how: --bibtex or --csl")
    with here.opened(user) as index:
        show.outcome(index.works.export(*ids, format="bibtex" if bibtex else "csl"), {}, as_json=False)
