"""`rifflux tune`: fit weights to judged questions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rifflux import Index, InvalidArgument
from rifflux.surfaces.cli import show
from rifflux.surfaces.cli.app import OpenOptions, Qrels, SharedField, app

if TYPE_CHECKING:
    from rifflux.evaluate import Collection
    from rifflux.evaluate.tune import FittedChoice, Tuned
    from rifflux.evaluate.work_weights import TunedWorks


@app.command(
    epilog="""Examples:  rifflux tune --from-feedback --dry-run

rifflux tune beir/scifact --db scifact.db

rifflux tune cacm --run retrieve --db works.db"""
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
    run: Annotated[
        str | None,
        typer.Option(
            help="Fit the weights of the score of works instead, by which retrieve ranks them.", metavar="retrieve"
        ),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only tell what would be gained.")] = False,
    reset: Annotated[bool, typer.Option("--reset", help="Forget what the index was tuned to.")] = False,
) -> None:
    """Fit the weights of words and meaning, and the reranker 'features', to at least 30 judged questions.

    With --run retrieve, the six weights of the score of works are fitted. Cross-validated, and applied only if the gain
    is significant; otherwise nothing changes.
    """
    from rifflux.evaluate import read_beir, read_feedback
    from rifflux.evaluate import tune as tuning
    from rifflux.evaluate.retrieving import RETRIEVE

    if [bool(folder), from_feedback, reset].count(True) != 1:
        raise InvalidArgument("give a folder of a judged collection, or --from-feedback, or --reset")
    if reset:
        with here.registry() as registry:
            was = tuning.reset(registry)
        show.outcome("back to the default" if was else "it was not tuned", {"reset": was}, as_json=here.json)
        return
    if run not in (None, RETRIEVE):
        raise InvalidArgument(f"--run {run!r} cannot be fitted: say --run {RETRIEVE}, or leave it out for searches")
    with here.opened() as index:
        if folder:
            collection = read_beir(folder, qrels, scope=scope)
        else:
            collection = read_feedback(index)
        if run:
            _works(index, collection, dry_run=dry_run, as_json=here.json)
            return
        with show.progress() as progress:
            tuned = tuning.tune(index, collection, progress=progress)
        vectors = index.status().vectors
        saved = tuned.significant and not dry_run
        if saved:
            tuning.apply(index, tuned)
    sentences = _sentences(tuned, saved=saved)
    report = _report(tuned, saved=saved)
    if vectors:
        sentences += f"\ncosines: {show.cosines(vectors)}"
    show.outcome(sentences, {**report, "vectors": asdict(vectors) if vectors else None}, as_json=here.json)


def _works(index: Index, collection: Collection, *, dry_run: bool, as_json: bool) -> None:
    """Fit the weights of the score of works, and print them."""
    from rifflux.evaluate.work_weights import apply_weights, tune_works

    with show.progress() as progress:
        tuned = tune_works(index, collection, progress=progress)
    saved = tuned.weights.significant and not dry_run
    if saved:
        apply_weights(index, tuned)
    shares = {name: round(share, 4) for name, share in tuned.weights.choice.shares().items()}
    report = {"questions": tuned.questions, **_figures(tuned.weights, saved=saved), "weights": shares}
    show.outcome(_works_sentences(tuned, shares, saved=saved), report, as_json=as_json)


def _works_sentences(tuned: TunedWorks, shares: Mapping[str, float], *, saved: bool) -> str:
    found = tuned.weights
    lines = [_measured(tuned.questions), _line("weights", found, saved=saved)]
    if found.significant:
        lines += [f"  {name:<11} {share:.3f}" for name, share in shares.items()]
    return "\n".join([*lines, _fate("retrieves works", saved=saved, significant=found.significant)])


def _report(tuned: Tuned, *, saved: bool) -> dict[str, object]:
    fusion, weights = tuned.described()
    return {
        "questions": tuned.questions,
        **_figures(tuned.fusion, saved=saved),
        "fusion": fusion,
        "features": {**_figures(tuned.features, saved=saved), "weights": weights},
    }


def _figures(found: FittedChoice[Any], *, saved: bool) -> dict[str, object]:
    return {
        "before": round(found.before, 6),
        "after": round(found.after, 6),
        "p_value": round(found.p_value, 4),
        "significant": found.significant,
        "changed": found.significant and saved,
    }


def _sentences(tuned: Tuned, *, saved: bool) -> str:
    lines = [_measured(tuned.questions), _line("fusion", tuned.fusion, saved=saved)]
    lines += [_line("features", tuned.features, saved=saved)]
    return "\n".join([*lines, _fate("searches", saved=saved, significant=tuned.significant)])


def _measured(questions: int) -> str:
    return f"nDCG@10 of {questions} questions, each judged with what others chose:"


def _line(name: str, found: FittedChoice[Any], *, saved: bool) -> str:
    if found.significant:
        fate = "kept" if saved else "would be kept"
    else:
        if found.gain > 0:
            fate = "could be chance"
        else:
            fate = "no gain"
    change = f"{found.before:.4f} before, {found.after:.4f} tuned ({found.gain:+.4f}, p = {found.p_value:.3f})"
    return f"  {name:<9} {change}: {fate}"


def _fate(verb: str, *, saved: bool, significant: bool) -> str:
    if saved:
        return f"this index now {verb} so; 'rifflux tune --reset' undoes it"
    return "nothing changed" + (": leave out --dry-run to keep it" if significant else "")
