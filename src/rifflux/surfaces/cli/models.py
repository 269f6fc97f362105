"""`rifflux models`: the embedding models, and switching the index to another one."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from rifflux.surfaces.cli import show
from rifflux.surfaces.cli.app import CommonOptions, Json, Threads, group
from rifflux.surfaces.shared.config import configured_as, open_configured

if TYPE_CHECKING:
    from rifflux.models.loading import KnownModel
    from rifflux.store import Generation

#: The niceness of a switch, which may take hours while others search.
NICENESS = 19

models = group("models", "The embedding models: which there are, and switching the index to another one.")


@models.command("list")
def list_models(here: CommonOptions) -> None:
    """Show the models whose vectors the index holds, and other available ones."""
    from rifflux import known_models

    with here.opened() as index:
        generations = index.admin.models()
        known = known_models()
    if here.json:
        index_json = [asdict(each.model) | {"state": each.state, "vectors": each.vectors} for each in generations]
        chunks = generations[0].chunks if generations else 0
        show.print_json({"index": index_json, "chunks": chunks, "known": [asdict(each) for each in known]})
    else:
        _print(generations, known)


def _print(generations: Sequence[Generation], known: Sequence[KnownModel]) -> None:
    rows = [
        (each.state, f"{show.vectors(each)}  {each.model.name}  {each.model.dimension} dimensions")
        for each in generations
    ]
    show.pairs(rows or [("none", "the index holds no vectors yet")])
    show.console().print("\nto be named:")
    for model in known:
        show.console().print(f"  {model.spec:<22} {model.about}")


@models.command(epilog="Example: rifflux models switch ~/models/bge-small")
def switch(
    here: CommonOptions,
    model: Annotated[str, typer.Argument(help="The other model: a name, a folder or openai:NAME.")],
    threads: Threads = None,
) -> None:
    """Switch to another model: make its vectors, and search with them once they are complete.

    Until then searches use the old ones. An interrupted switch resumes where it stopped.
    """
    settings = here.settings(threads=threads)
    if hasattr(os, "nice"):
        os.nice(NICENESS)
    with open_configured(settings) as index, show.progress() as progress:
        done = index.admin.switch(configured_as(settings, model), threads=settings.threads or None, progress=progress)
    made = f"{done.embedded_chunks:,} chunks embedded, {done.dropped_vectors:,} old vectors dropped"
    told = f"switched from {done.former} to {done.model}: {made}, in {done.seconds:.1f} s"
    show.outcome(told, asdict(done), as_json=here.json)
    if settings.model:
        show.note(f"the setting 'model' names {settings.model}: unset it, or set it to the new one")


@models.command()
def abort(here: CommonOptions) -> None:
    """Abort a switch, and drop the vectors made for it."""
    with here.opened() as index:
        ended = index.admin.abort_switch()
    if ended:
        told = f"gave up {ended.name}"
    else:
        told = "no switch is under way"
    show.outcome(told, {"aborted": ended.name if ended else None}, as_json=here.json)


@models.command(epilog="Example: rifflux models fetch cross-encoder/ms-marco-MiniLM-L6-v2")
def fetch(
    name: Annotated[str, typer.Argument(help="Its name on the Hugging Face Hub: OWNER/NAME.")],
    force: Annotated[bool, typer.Option("--force", help="Fetch it again.")] = False,
    as_json: Json = False,
) -> None:
    """Fetch a model that has an ONNX file, once: then rerank_model may name it, and --model its folder.

    Nothing else downloads anything.
    """
    from rifflux import fetch_model

    folder = fetch_model(name, force=force)
    show.outcome(show.one_line(f"{name} is in {folder}"), {"name": name, "folder": str(folder)}, as_json=as_json)
