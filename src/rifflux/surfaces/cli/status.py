"""`rifflux status`: what the index holds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING

from rifflux.surfaces.cli import show
from rifflux.surfaces.cli.app import WhoseCommonOptions, app
from rifflux.surfaces.shared.nouns import collection_json

if TYPE_CHECKING:
    from rifflux import Status


@app.command()
def status(here: WhoseCommonOptions) -> None:
    """Show what the index holds."""
    with here.opened() as index:
        state = index.status()
    if here.json:
        show.print_json({**asdict(state), "collections": [*(collection_json(each) for each in state.collections)]})
        return
    show.pairs((name, show.one_line(value)) for name, value in _rows(state))
    show.failures("unreadable", state.unreadable_files, "yellow")
    show.degraded(state.degraded)


def _rows(state: Status) -> Iterator[tuple[str, str]]:
    if state.chunks:
        share = f" ({show.percent(state.embedded_chunks, state.chunks)})"
    else:
        share = ""
    yield "index", f"{state.path}  ({state.bytes / 1e6:.1f} MB{', read-only' if state.read_only else ''})"
    if state.state:
        yield "state", state.state
    yield "documents", f"{state.documents:,} from {show.counted(state.files, 'file')}"
    if state.left_out:
        yield "left out", show.kinds(state.left_out)
    if state.failed_kinds:
        yield "failed", show.kinds(state.failed_kinds)
    yield "chunks", f"{state.chunks:,}"
    yield "embedded", f"{state.embedded_chunks:,}{share} by {state.embedding_model} ({state.embedding_backend})"
    if state.conversations:
        yield "messages", f"{state.messages:,} in {show.counted(state.conversations, 'conversation')}"
    if state.memories:
        yield "memories", f"{state.memories:,}"
    if state.vectors:
        yield "cosines", show.cosines(state.vectors)
    if state.switching:
        yield "switching", f"to {state.switching.model.name}: {show.vectors(state.switching)}"
    if state.freshness and state.freshness.synced_at:
        yield "synced", state.freshness.synced_at
    yield "language", ", ".join(dict.fromkeys((state.language, *state.languages)))
    yield "facets", ", ".join(state.facets) or "none"
    for root in dict.fromkeys((*state.roots, *state.exclusions, *state.removed)):
        language = state.root_languages.get(root)
        yield "root", f"{root}  ({language})" if language else root
        if patterns := state.exclusions.get(root):
            yield "excluded", ", ".join(patterns)
        if patterns := state.removed.get(root):
            yield "removed", ", ".join(patterns)
    if len(state.collections) > 1:
        yield from (
            ("collection", f"{each.name}: {show.counted(each.documents, 'document')}") for each in state.collections
        )
    yield "kernels", state.kernels
    yield "schema", str(state.schema_version)
