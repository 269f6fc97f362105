"""`rifflux tune`: fit an index to judged questions."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rifflux import InvalidArgument
from rifflux.surfaces.cli import show
from rifflux.surfaces.cli.app import OpenOptions, Qrels, SharedField, app

if TYPE_CHECKING:
    from rifflux.evaluate.tune import FittedChoice, Tuned


@app.command(
    epilog="""Examples:  rifflux tune --from-feedback --dry-run

rifflux tune beir/scifact --db scifact.db"""
)
def tune(
    here: OpenOptions,
    folder: Annotated[
        Path | None, typer.Argument(help="A folder with corpus.jsonl, queries.jsonl and qrels/NAME.tsv.")
    ] = None,
    from_feedback: Annotated[
        bool, typer.Option("--from-feedback", help="Use the judgements recorded in the index.")
    ] = False,
    qrels: Qrels = "test",
    scope: SharedField = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only tell what would be gained.")] = False,
    reset: Annotated[bool, typer.Option("--reset", help="Forget what the index was tuned to.")] = False,
) -> None:
    """Fit how words and meaning are weighed, and the reranker 'features', to this index: from 30 judged questions on.

    Cross-validated, and kept only where the gain is significant; otherwise nothing changes.
    """
    from rifflux.evaluate import read_beir, read_feedback
    from rifflux.evaluate import tune as tuning

    if [bool(folder), from_feedback, reset].count(True) != 1:
        raise InvalidArgument("give a folder of a judged collection, or --from-feedback, or --reset")
    if reset:
        with here.registry() as registry:
            was = tuning.reset(registry)
        show.outcome("back to the default" if was else "it was not tuned", {"reset": was}, as_json=here.json)
        return
    with here.opened() as index:
        collection = read_beir(folder, qrels, scope=scope) if folder else read_feedback(index)
        with show.progress() as progress:
            tuned = tuning.tune(index, collection, progress=progress)
        vectors = index.status().vectors
        kept = tuned.significant and not dry_run
        if kept:
            tuning.apply(index, tuned)
    sentences, report = _sentences(tuned, kept=kept), _report(tuned, kept=kept)
    if vectors:
        sentences += f"\ncosines: {show.cosines(vectors)}"
    show.outcome(sentences, {**report, "vectors": asdict(vectors) if vectors else None}, as_json=here.json)


def _report(tuned: Tuned, *, kept: bool) -> dict[str, object]:
    fusion, weights = tuned.described()
    return {
        "questions": tuned.questions,
        **_figures(tuned.fusion, kept=kept),
        "fusion": fusion,
        "features": {**_figures(tuned.features, kept=kept), "weights": weights},
    }


def _figures(found: FittedChoice[Any], *, kept: bool) -> dict[str, object]:
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
