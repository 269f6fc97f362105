"""The status of an index: its contents, its setup and its shortcomings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from rifflux.session.maintenance import Maintenance
from rifflux.session.session import IndexView
from rifflux.store import Generation
from rifflux.types import Failure, Freshness

__all__ = ["Status", "status_of"]


@dataclass(frozen=True, slots=True)
class Status:
    """What an index holds and how it is set up. `bytes` is the size of its file and log, 0 in memory and in a scope.

    `switching` is the generation of vectors that is built while the index is being switched to another model.
    `freshness` says how far it may be behind its files, `degraded` why answers are not what they could be.
    """

    path: str
    documents: int
    chunks: int
    embedded_chunks: int
    files: int
    embedding_model: str
    embedding_backend: str
    roots: tuple[str, ...]
    schema_version: int
    profile: str
    language: str
    facets: tuple[str, ...]
    bytes: int
    read_only: bool
    unreadable_files: tuple[Failure, ...]
    switching: Generation | None = None
    freshness: Freshness | None = None
    degraded: tuple[str, ...] = ()


def status_of(view: IndexView) -> Status:
    """Return the status of a view."""
    store, scope = view.store, view.scope
    counts, model, freshness, roots = store.counts(), store.semantic.model(), view.sampler.now(), store.catalog.roots()
    states = [(root, state) for root in roots for state in store.catalog.files(root).values() if state.problem]
    embedder = model or view.embedder
    return Status(
        path=view.session.path,
        documents=counts["documents"],
        chunks=counts["chunks"],
        embedded_chunks=counts["embedded_chunks"],
        files=counts["files"],
        embedding_model=embedder.name,
        embedding_backend=embedder.backend,
        roots=tuple(roots),
        schema_version=store.schema_version,
        profile=view.profile.name,
        language=view.profile.language,
        facets=view.facets,
        # The size of the file would show how much others hold.
        bytes=0 if scope else _bytes(view.session.path),
        read_only=store.read_only,
        unreadable_files=tuple(Failure(f"{root}/{state.path}", state.problem or "") for root, state in states),
        switching=None if scope else Maintenance(view).switching(),
        freshness=freshness,
        degraded=(*view.outdated, *_shortcomings(counts, freshness), *store.troubles()),
    )


def _bytes(path: str) -> int:
    """Return the size of an index file with its log, into which everything is written first; 0 in memory."""
    files = [Path(path), Path(f"{path}-wal")]
    return sum(file.stat().st_size for file in files if file.is_file())


def _shortcomings(counts: Mapping[str, int], freshness: Freshness) -> Iterator[str]:
    """Yield the shortcomings, one sentence each."""
    if waiting := counts["chunks"] - counts["embedded_chunks"]:
        yield f"{waiting} of {counts['chunks']} chunks have no vector yet"
    if freshness.note:
        yield freshness.note
    for root in freshness.missing_roots:
        yield f"{root} is gone, or not mounted: its files stay as they were read"
