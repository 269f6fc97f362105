"""Give vectors to the chunks that have none yet, in batches that survive an interruption."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from rifflux.ingest.chunk import embedding_text
from rifflux.models.base import Embedder
from rifflux.store.base import DocumentChange, Pending, Store
from rifflux.types import Progress

__all__ = ["embed_changes", "embed_pending"]

#: Read this many waiting chunks at a time: enough that sorting by length leaves little padding.
WINDOW = 1024
#: Commit after this many: what an interruption may cost.
BATCH = 128


def embed_pending(store: Store, embedder: Embedder, progress: Progress | None = None, total: int | None = None) -> int:
    """Embed every chunk that waits for a vector of this model; returns how many got one. Equal texts are embedded once.

    `total` is how many there are, where that is not told by the model in use.
    """
    counts = store.counts()
    total, done = counts["chunks"] - counts["embedded_chunks"] if total is None else total, 0
    for window in store.pending(WINDOW, embedder.fingerprint):
        # Batches of like length waste no work on padding; the store takes them in any order.
        ordered = sorted(window, key=lambda chunk: len(chunk.text))
        for start in range(0, len(ordered), BATCH):
            done += _embed(store, embedder, ordered[start : start + BATCH])
            if progress:
                progress("embed", done, total)
    return done


def embed_changes(store: Store, embedder: Embedder, changes: Iterable[DocumentChange]) -> int:
    """Embed the chunks of documents that were just stored, and no others; returns how many got a vector."""
    waiting = [
        Pending(
            each.chunk.id,
            each.hash,
            change.document.title,
            each.chunk.headings,
            each.chunk.text * (each.chunk.span[1] > 0),
            each.embedded,
        )
        for change in changes
        for each in change.chunks
    ]
    batches = (waiting[start : start + BATCH] for start in range(0, len(waiting), BATCH))
    return sum(_embed(store, embedder, batch) for batch in batches)


def _embed(store: Store, embedder: Embedder, batch: Sequence[Pending]) -> int:
    vectors = dict(store.vectors_by_hash([chunk.hash for chunk in batch], embedder.fingerprint))
    new = {
        chunk.hash: embedding_text(chunk.title, chunk.headings, chunk.text)
        if chunk.embedded is None
        else chunk.embedded
        for chunk in batch
        if chunk.hash not in vectors
    }
    if new:
        vectors |= zip(new, embedder.embed_documents(list(new.values())), strict=True)
    stacked = np.stack([vectors[chunk.hash] for chunk in batch])
    ids, hashes = [chunk.id for chunk in batch], [chunk.hash for chunk in batch]
    return store.put_vectors(ids, hashes, stacked, embedder.fingerprint)
