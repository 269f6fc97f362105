"""The commands of retrieval with evidence: finding works, and checking what was cited from them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rifflux.errors import NotFound
from rifflux.surfaces.cli import show, show_works
from rifflux.surfaces.cli.commands import Db, Json, Synonyms, app
from rifflux.surfaces.shared.config import load
from rifflux.surfaces.shared.opening import open_configured, view_of

__all__: list[str] = []


@app.command(epilog="Example: rifflux retrieve 'foundational papers on parsing' --until 1975 --json > evidence.json")
def retrieve(
    query: Annotated[str, typer.Argument(help="What to find works about.")],
    mode: Annotated[
        str | None, typer.Option(help="lookup, survey, compare, prereq or related.  [default: as it is worded]")
    ] = None,
    top_k: Annotated[int, typer.Option("--top-k", "-k", help="Most works.", min=1, max=100)] = 10,
    since: Annotated[str | None, typer.Option(help="Not older than this date.", metavar="DATE")] = None,
    until: Annotated[str | None, typer.Option(help="Not newer than this date.", metavar="DATE")] = None,
    subject: Annotated[list[str] | None, typer.Option(help="Only with this tag, such as math.AG.")] = None,
    source: Annotated[list[str] | None, typer.Option(help="Only from this list that was imported.")] = None,
    budget: Annotated[int, typer.Option(help="Most tokens of evidence.", min=1)] = 4_000,
    cite: Annotated[str, typer.Option(help="Add the cited works: bibtex or csl.", metavar="FORMAT")] = "",
    synonyms: Synonyms = None,
    user: Annotated[str, typer.Option(help="Whose works.  [default: those of nobody in particular]")] = "",
    db: Db = None,
    json: Json = False,
) -> None:
    """Find research works by words, meaning and citations, and pack evidence to cite.

    Of works without a license record only the title and the identifiers are told.
    """
    with open_configured(load(db=db, synonyms=synonyms)) as index:
        found = view_of(index, user).retrieve(
            query,
            mode=mode,
            top_k=top_k,
            date_range=(since, until),
            subjects=tuple(subject or ()),
            sources=tuple(source or ()),
            budget=budget,
            cite=cite,
        )
        show_works.retrieval(found, index.profile.analyzer, as_json=json)


@app.command(epilog="Example: rifflux verify evidence.json")
def verify(
    pack: Annotated[Path, typer.Argument(help="A pack, as 'rifflux retrieve --json' prints it.")],
    offline: Annotated[bool, typer.Option("--offline", help="Check it by itself, without the index.")] = False,
    user: Annotated[str, typer.Option(help="Whose works they are.  [default: those of nobody in particular]")] = "",
    db: Db = None,
    json: Json = False,
) -> None:
    """Check every passage of an evidence pack against its hash and its work, and what is told of the work.

    Exit status 1 if something is not as it was.
    """
    from rifflux.surfaces.shared.packs import read_pack
    from rifflux.works.citing import verify as check

    if not pack.is_file():
        raise NotFound(f"no file at {pack}: save a pack with 'rifflux retrieve --json'")
    evidence = read_pack(pack.read_text("utf-8", "replace"))
    if offline:
        problems = check(evidence)
    else:
        with open_configured(load(db=db)) as index:
            problems = check(evidence, view_of(index, user).admin.store)
    count = len(evidence.items)
    told = "\n".join(problems) or (f"{count} passages are as they were" if count else "it holds no passages to check")
    show.outcome(told, {"sound": not problems, "items": count, "problems": problems}, as_json=json)
    if problems:
        raise typer.Exit(1)
