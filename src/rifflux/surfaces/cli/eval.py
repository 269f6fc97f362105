"""`rifflux eval`: measure the quality of rankings."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rifflux import InvalidArgument
from rifflux.surfaces.cli import show
from rifflux.surfaces.cli.app import OpenOptions, Qrels, RerankModel, SharedField, app
from rifflux.surfaces.shared.config import Settings, configured_model, configured_rerankers, open_configured

if TYPE_CHECKING:
    from rifflux.evaluate import Cache, Collection, Run, RunOutcome

#: The width of a table that is written to a file.
PIPED = 120


@app.command(
    "eval",
    epilog="""Examples:  rifflux eval beir/scifact beir/nfcorpus --ablate --html report.html

rifflux eval locomo --scope conversation --run lexical --run "name=best,mode=hybrid,fusion=rrf"

rifflux eval --from-feedback --db notes.db --ablate

rifflux eval cacm --profile works --ablate

rifflux eval cacm --run retrieve --run "retrieve,parts=lexical+semantic"

rifflux eval --intents questions.tsv --db works.db""",
)
def evaluate(
    here: OpenOptions,
    folders: Annotated[
        list[Path] | None, typer.Argument(help="Folders with corpus.jsonl, queries.jsonl and qrels/NAME.tsv.")
    ] = None,
    from_feedback: Annotated[
        bool, typer.Option("--from-feedback", help="Evaluate the index on the judgements recorded in it.")
    ] = False,
    qrels: Qrels = "test",
    ablate: Annotated[
        bool,
        typer.Option(
            "--ablate",
            help="Compare each channel alone, each fusion and each reranker; of works, each part of the score.",
        ),
    ] = False,
    run: Annotated[
        list[str] | None,
        typer.Option(
            help="Compare this: a mode (or retrieve, for works), and options such as fusion=rrf, with commas between.",
            metavar="RUN",
        ),
    ] = None,
    scope: SharedField = None,
    ignore_identical: Annotated[
        bool, typer.Option("--ignore-identical", help="Leave out the document with the query's own id.")
    ] = False,
    limit_queries: Annotated[int | None, typer.Option(help="Ask only the first N queries.", metavar="N", min=1)] = None,
    cache: Annotated[
        Path | None, typer.Option(help="Where built indexes are kept.  [default: the user's cache]", metavar="FOLDER")
    ] = None,
    profile: Annotated[str, typer.Option(help="The profile to index and search with.")] = "files",
    rerank_model: RerankModel = None,
    intents: Annotated[
        Path | None,
        typer.Option(
            help="Tell how often questions are taken for their intent: each line has an intent, a tab, a question.",
            metavar="FILE",
        ),
    ] = None,
    html: Annotated[Path | None, typer.Option(help="Write a report with plots here.", metavar="FILE")] = None,
) -> None:
    """Measure the quality of rankings on judged collections in BEIR's layout.

    Compares runs side by side: nDCG@10, Recall@20, MRR@10, P@5, latency, and whether the difference from the first run
    is significant. A document counts at its best chunk. For retrieved works it also reports the number of branches
    among the first ten, and for evidence packs the number of works, the share of relevant ones, and their tokens.
    """
    from rifflux.evaluate import STANDARD, ablation, page, parse_run, read_beir

    if intents:
        if folders or from_feedback or ablate or run or html:
            raise InvalidArgument("--intents asks an index alone: leave folders, --from-feedback, runs and --html out")
        _intents(here.settings(), intents, as_json=here.json)
        return
    if bool(folders) == from_feedback:
        raise InvalidArgument("give folders of judged collections, or --from-feedback to use an index's own judgements")
    if html and not html.parent.is_dir():
        raise InvalidArgument(f"there is no folder {html.parent} to write the report in: make it first")
    settings = here.settings(rerank_model=rerank_model)
    runs = (*(ablation(profile) if ablate else ()), *(parse_run(each) for each in (run or ()))) or STANDARD
    if from_feedback:
        outcomes = _on_feedback(settings, runs, limit_queries)
    else:
        collections = [read_beir(folder, qrels, scope=scope).head(limit_queries) for folder in folders or ()]
        with _cache(cache, settings) as built:
            outcomes = _on_folders(collections, runs, built, profile, ignore_identical=ignore_identical)
    _show(outcomes, as_json=here.json)
    if html:
        html.write_text(page(outcomes), "utf-8")


def _intents(settings: Settings, file: Path, *, as_json: bool) -> None:
    """Print the intents that an index recognizes in labelled questions."""
    from rifflux.evaluate.intents import intents_of, read_labelled, summary

    with open_configured(settings) as index:
        found = summary(intents_of(index, read_labelled(file, [*index.retrieve.intents])))
    lines = [f"{found['right']} of {found['questions']} questions are taken for what they ask"]
    lines += [f"  {name:<9} {each['right']} of {each['questions']}" for name, each in found["intents"].items()]
    lines += [
        f"{each['query']!r}: {each['intent']}, taken for {each['taken_for']}: {each['reason']}"
        for each in found["wrong"]
    ]
    show.outcome("\n".join(lines), found, as_json=as_json)


def _on_feedback(settings: Settings, runs: Sequence[Run], limit: int | None) -> list[RunOutcome]:
    from rifflux.evaluate import compare, read_feedback

    with open_configured(settings) as index, show.progress() as progress:
        collection = read_feedback(index).head(limit)
        return compare(collection, runs, lambda run: run.view(index), progress=progress, left_out=show.note)


def _on_folders(
    collections: Sequence[Collection], runs: Sequence[Run], built: Cache, profile: str, *, ignore_identical: bool
) -> list[RunOutcome]:
    from rifflux.evaluate import compare

    outcomes: list[RunOutcome] = []
    for collection in collections:
        with show.progress() as progress:
            index_of = built.opener(collection, runs, profile=profile, progress=progress)
            outcomes += compare(
                collection, runs, index_of, ignore_identical=ignore_identical, progress=progress, left_out=show.note
            )
    return outcomes


def _cache(folder: Path | None, settings: Settings) -> Cache:
    """Return the cache in a folder, by default the user's cache folder."""
    from rifflux.evaluate import Cache

    user = Path(os.environ.get("XDG_CACHE_HOME") or Path("~/.cache").expanduser())
    return Cache(
        folder or user / "rifflux" / "eval",
        model=configured_model(settings),
        threads=settings.threads or None,
        rerankers=configured_rerankers(settings),
    )


def _show(outcomes: Sequence[RunOutcome], *, as_json: bool) -> None:
    from rifflux.evaluate import table, works_table

    if as_json:
        show.print_json([outcome.row() for outcome in outcomes])
    else:
        console = show.console()
        if not console.is_terminal:
            console.width = PIPED
        console.print(table(outcomes))
        if works := works_table(outcomes):
            console.print(works)
    for outcome in outcomes:
        for reason, count in outcome.degraded.items():
            where = f"{outcome.collection}, {outcome.run}, {count} of {len(outcome.questions)} queries"
            show.note(f"{where}: {reason}")
