"""The command that fits an index to judged questions."""

from __future__ import annotations

import json as codec
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rifflux.errors import InvalidArgument
from rifflux.surfaces.cli import show
from rifflux.surfaces.cli.commands import Db, Json, Model, Threads, app
from rifflux.surfaces.cli.progress import progress_bar
from rifflux.surfaces.shared.config import load
from rifflux.surfaces.shared.opening import open_configured

if TYPE_CHECKING:
    from rifflux.evaluate.tune import Fitted, Tuned

__all__: list[str] = []


@app.command(
    epilog="""Examples:  rifflux tune --from-feedback --dry-run

rifflux tune beir/scifact --db scifact.db"""
)
def tune(
    folder: Annotated[
        Path | None, typer.Argument(help="A folder with corpus.jsonl, queries.jsonl and qrels/NAME.tsv.")
    ] = None,
    from_feedback: Annotated[
        bool, typer.Option("--from-feedback", help="Use the judgements recorded in the index.")
    ] = False,
    qrels: Annotated[str, typer.Option(help="Which judgements: the file qrels/NAME.tsv.", metavar="NAME")] = "test",
    scope: Annotated[
        str | None, typer.Option(help="Ask only among documents that share this metadata.", metavar="FIELD")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only tell what would be gained.")] = False,
    reset: Annotated[bool, typer.Option("--reset", help="Forget what the index was tuned to.")] = False,
    db: Db = None,
    model: Model = None,
    threads: Threads = None,
    json: Json = False,
) -> None:
    """Fit how words and meaning are weighed, and the reranker 'features', to this index: from 30 judged questions on.

    Cross-validated, and kept only where the gain is significant; otherwise nothing changes.
    """
    from rifflux.evaluate import read_beir, read_feedback
    from rifflux.evaluate import tune as tuning
    from rifflux.store import open_store

    if [bool(folder), from_feedback, reset].count(True) != 1:
        raise InvalidArgument("give a folder of a judged collection, or --from-feedback, or --reset")
    settings = load(db=db, model=model, threads=threads)
    if reset:
        with closing(open_store(settings.index_path(), create=False)) as store:
            was = tuning.reset(store)
        _say({"reset": was}, "back to the default" if was else "it was not tuned", as_json=json)
        return
    with open_configured(settings) as index:
        collection = read_beir(folder, qrels, scope=scope) if folder else read_feedback(index)
        with progress_bar() as progress:
            tuned = tuning.tune(index, collection, progress=progress)
        kept = tuned.significant and not dry_run
        if kept:
            tuning.apply(index, tuned)
    _say(_report(tuned, kept=kept), _sentences(tuned, kept=kept), as_json=json)


def _report(tuned: Tuned, *, kept: bool) -> dict[str, object]:
    from rifflux.retrieve.fuse.stored import dump_fusion
    from rifflux.retrieve.steps.rerank.stored import dump_weights

    fusion, features = tuned.fusion, tuned.features
    return {
        "questions": tuned.questions,
        **_figures(fusion, kept=kept),
        "fusion": codec.loads(dump_fusion(fusion.choice)),
        "features": {**_figures(features, kept=kept), "weights": codec.loads(dump_weights(features.choice))},
    }


def _figures(found: Fitted[Any], *, kept: bool) -> dict[str, object]:
    return {
        "before": round(found.before, 6),
        "after": round(found.after, 6),
        "p_value": round(found.p_value, 4),
        "significant": found.significant,
        "changed": found.significant and kept,
    }


def _sentences(tuned: Tuned, *, kept: bool) -> str:
    lines = [f"nDCG@10 of {tuned.questions} questions, each judged with what others chose:"]
    for name, found in (("fusion", tuned.fusion), ("features", tuned.features)):
        fate = "could be chance" if not found.significant else "kept" if kept else "would be kept"
        told = f"{found.before:.4f} before, {found.after:.4f} tuned ({found.gain:+.4f}, p = {found.p_value:.3f})"
        lines.append(f"  {name:<9} {told}: {fate}")
    if kept:
        return "\n".join([*lines, "this index now searches so; 'rifflux tune --reset' undoes it"])
    return "\n".join([*lines, "nothing changed" + (": leave out --dry-run to keep it" if tuned.significant else "")])


def _say(report: dict[str, object], sentence: str, *, as_json: bool) -> None:
    if as_json:
        show._json(report)
    else:
        show._console().print(sentence)
