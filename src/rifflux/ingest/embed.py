"""Embedding of chunks without a vector, in batches that survive an interruption.

While the model works, in native code and its own thread, this thread writes the vectors of the previous batch and reads
the chunks of the next: the model never waits.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import blake2b
from itertools import chain, pairwise

import numpy as np

from rifflux.ingest.chunking import embedding_text
from rifflux.models.cores import stand_back
from rifflux.models.guarded import GuardedEmbedder
from rifflux.store import DocumentChange, Pending, Store
from rifflux.types import Progress, Vectors

#: The number of waiting chunks read at a time: enough that sorting by length leaves little padding.
WINDOW = 1024
#: The number of chunks per commit: what an interruption may cost.
BATCH = 128
#: The maximum number of a run's texts remembered to avoid embedding equal ones.
REMEMBERED = 500_000


def embed_pending(
    store: Store,
    embedder: GuardedEmbedder,
    progress: Progress | None = None,
    total: int | None = None,
    *,
    in_background: bool = False,
) -> int:
    """Embed every chunk without a vector of this model; return the number of chunks that got one.

    Of texts that are equal, or that the model cannot distinguish, one is embedded. `total` is the number of chunks, if
    it cannot be derived from the model in use. `in_background` runs the model at the lowest priority.
    """
    if total is None:
        totals = store.totals()
        total = totals.chunks - totals.embedded
        if not total:
            return 0
    thread = ThreadPoolExecutor(1, "model", initializer=stand_back if in_background else None)
    windows = store.semantic.pending(WINDOW, embedder.fingerprint)
    return _embed(_EmbeddingRun(store, embedder, thread), windows, progress, total)


def embed_changes(store: Store, embedder: GuardedEmbedder, changes: Iterable[DocumentChange]) -> int:
    """Embed the chunks of documents that were just stored; return the number of chunks that got a vector."""
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
    return _embed(_EmbeddingRun(store, embedder, ThreadPoolExecutor(1, "model")), [waiting])


def _embed(
    run: _EmbeddingRun, windows: Iterable[Sequence[Pending]], progress: Progress | None = None, total: int = 0
) -> int:
    """Embed chunks in batches, one batch ahead of storing; return the number of chunks that got a vector."""
    started = (batch for window in windows for batch in run.started(window))
    done = 0
    if progress and total:
        progress("embed", 0, total)
    try:
        for batch, _ahead in pairwise(chain(started, (None,))):
            assert batch
            done += run.finish(batch)
            if progress:
                progress("embed", done, total)
    finally:
        run.thread.shutdown(cancel_futures=True)
    return done


@dataclass(frozen=True, slots=True)
class _Batch:
    """A batch in progress: `embedded` are the hashes being embedded, `same` maps other hashes to equal ones."""

    chunks: Sequence[Pending]
    stored: Mapping[int, Vectors]
    embedded: Sequence[int]
    same: Mapping[int, int]
    vectors: Future[Vectors] | None


@dataclass(frozen=True)
class _EmbeddingRun:
    """Embeds batches in a thread. `seen` maps each text of the run, as the model sees it, to its hash."""

    store: Store
    embedder: GuardedEmbedder
    thread: ThreadPoolExecutor
    seen: dict[bytes, int] = field(default_factory=dict)

    @cached_property
    def dimension(self) -> int:
        """Return the dimension of the index's vectors of this model, or else the model's own."""
        known = self.store.semantic.model()
        same = known is not None and known.fingerprint == self.embedder.fingerprint
        if known and same:
            return known.dimension
        return self.embedder.dimension

    def started(self, window: Sequence[Pending]) -> Iterator[_Batch]:
        """Start embedding chunks in batches of similar length, one after another, to save padding."""
        stored = self.store.semantic.vectors_by_hash([chunk.hash for chunk in window], self.embedder.fingerprint)
        order = np.argsort([len(chunk.text) for chunk in window], kind="stable")
        for start in range(0, len(window), BATCH):
            yield self._start([window[place] for place in order[start : start + BATCH]], stored)

    def _start(self, chunks: Sequence[Pending], known: Mapping[int, Vectors]) -> _Batch:
        """Start embedding the texts of a batch that are new to the index and to the run; some have `known` vectors."""
        stored = {chunk.hash: known[chunk.hash] for chunk in chunks if chunk.hash in known}
        new: dict[int, str] = {}
        same: dict[int, int] = {}
        if len(self.seen) >= REMEMBERED:
            self.seen.clear()
        for chunk in chunks:
            if chunk.hash in stored or chunk.hash in new:
                continue
            text = chunk.embedded
            if text is None:
                text = embedding_text(chunk.title, chunk.headings, chunk.text)
            canonical: str = getattr(self.embedder, "canonical", str)(text)
            key = blake2b(canonical.encode("utf-8", "surrogatepass"), digest_size=16).digest()
            if key in self.seen:
                same[chunk.hash] = self.seen[key]
            else:
                self.seen[key] = chunk.hash
                new[chunk.hash] = text
        texts = [*new.values()]
        if new:
            vectors = self.thread.submit(self.embedder.passage_vectors, texts, self.dimension)
        else:
            vectors = None
        return _Batch(chunks, stored, list(new), same, vectors)

    def finish(self, batch: _Batch) -> int:
        """Wait for the vectors of a batch and store them; return the number of chunks that got one."""
        vectors = dict(batch.stored)
        if batch.vectors:
            vectors |= zip(batch.embedded, batch.vectors.result(), strict=True)
        if elsewhere := set(batch.same.values()) - vectors.keys():
            vectors |= self.store.semantic.vectors_by_hash([*elsewhere], self.embedder.fingerprint)
        # Only chunks equal to a text that was removed meanwhile have no vector: the next run embeds them.
        ids = []
        hashes = []
        found = []
        for chunk in batch.chunks:
            vector = vectors.get(batch.same.get(chunk.hash, chunk.hash))
            if vector is not None:
                ids.append(chunk.id)
                hashes.append(chunk.hash)
                found.append(vector)
        if ids:
            return self.store.semantic.put_vectors(ids, hashes, np.stack(found), self.embedder.fingerprint)
        return 0
