"""Give vectors to the chunks that have none yet, in batches that survive an interruption.

While the model is at work, in native code and in a thread of its own, this one writes the vectors of the batch before
and reads the chunks of the next: the model waits for nothing.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from hashlib import blake2b

import numpy as np

from rifflux.ingest.chunking.chunker import embedding_text
from rifflux.models.base import Embedder
from rifflux.models.cores import stand_back
from rifflux.store import DocumentChange, Pending, Store
from rifflux.types import Progress, Vectors

__all__ = ["embed_changes", "embed_pending"]

#: Read this many waiting chunks at a time: enough that sorting by length leaves little padding.
WINDOW = 1024
#: Commit after this many: what an interruption may cost.
BATCH = 128
#: Texts of a run that are remembered, to embed none that is like one of them.
REMEMBERED = 500_000


def embed_pending(
    store: Store,
    embedder: Embedder,
    progress: Progress | None = None,
    total: int | None = None,
    *,
    in_background: bool = False,
) -> int:
    """Embed every chunk that waits for a vector of this model; returns how many got one.

    Of texts that are equal, or that the model cannot tell apart, one is embedded. `total` is how many there are, where
    that is not told by the model in use. `in_background` leaves the processor to whoever else wants it.
    """
    counts = store.counts()
    most = counts["chunks"] - counts["embedded_chunks"] if total is None else total
    batches = _windows(store, embedder.fingerprint)
    thread = _model_thread(stand_back if in_background else None)
    run = _Run(store, embedder, thread)
    return _embed(run, batches, lambda done: progress("embed", done, most) if progress else None)


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
    return _embed(_Run(store, embedder, _model_thread()), _batches(waiting), lambda _: None)


def _windows(store: Store, fingerprint: str) -> Iterator[Sequence[Pending]]:
    """What waits, in batches of like length: no work is wasted on padding. The store takes them in any order."""
    for window in store.semantic.pending(WINDOW, fingerprint):
        yield from _batches(sorted(window, key=lambda chunk: len(chunk.text)))


def _batches(chunks: Sequence[Pending]) -> Iterator[Sequence[Pending]]:
    return (chunks[start : start + BATCH] for start in range(0, len(chunks), BATCH))


def _model_thread(begin: Callable[[], None] | None = None) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(1, thread_name_prefix="model", initializer=begin)


def _embed(run: _Run, batches: Iterable[Sequence[Pending]], tell: Callable[[int], None]) -> int:
    """Embed batches, one ahead of the one that is stored."""
    done, ahead = 0, deque[_Batch]()
    try:
        for batch in batches:
            ahead.append(run.start(batch))
            if len(ahead) > 1:
                done += run.finish(ahead.popleft())
                tell(done)
        while ahead:
            done += run.finish(ahead.popleft())
            tell(done)
    finally:
        run.thread.shutdown(cancel_futures=True)
    return done


@dataclass(frozen=True, slots=True)
class _Batch:
    """Chunks on their way. `embedded` are the hashes whose vectors come, `same` gives for others one they equal."""

    chunks: Sequence[Pending]
    stored: Mapping[int, Vectors]
    embedded: Sequence[int]
    same: Mapping[int, int]
    vectors: Future[Vectors]


@dataclass(frozen=True, slots=True)
class _Run:
    """Embeds batches in a thread. `seen` has the hash of each text of the run by what the model sees of it."""

    store: Store
    embedder: Embedder
    thread: ThreadPoolExecutor
    seen: dict[bytes, int] = field(default_factory=dict)

    def start(self, chunks: Sequence[Pending]) -> _Batch:
        """Set the model to work on those texts of a batch that are new to the index and to the run."""
        stored = self.store.semantic.vectors_by_hash([chunk.hash for chunk in chunks], self.embedder.fingerprint)
        new: dict[int, str] = {}
        same: dict[int, int] = {}
        if len(self.seen) >= REMEMBERED:
            self.seen.clear()
        for chunk in chunks:
            if chunk.hash in stored or chunk.hash in new:
                continue
            text = _text(chunk)
            key = self._key(text)
            if key in self.seen:
                same[chunk.hash] = self.seen[key]
            else:
                self.seen[key] = chunk.hash
                new[chunk.hash] = text
        return _Batch(chunks, stored, list(new), same, self.thread.submit(self._vectors, list(new.values())))

    def _key(self, text: str) -> bytes:
        canonical = getattr(self.embedder, "canonical", str)(text)
        return blake2b(canonical.encode("utf-8", "surrogatepass"), digest_size=16).digest()

    def _vectors(self, texts: Sequence[str]) -> Vectors:
        return self.embedder.embed_documents(texts) if texts else np.empty((0, 0), np.float32)

    def finish(self, batch: _Batch) -> int:
        """Store the vectors of a batch once they are there; returns how many chunks got one."""
        vectors = dict(batch.stored) | dict(zip(batch.embedded, batch.vectors.result(), strict=True))
        elsewhere = [first for first in batch.same.values() if first not in vectors]
        vectors |= self.store.semantic.vectors_by_hash(elsewhere, self.embedder.fingerprint) if elsewhere else {}
        found = [(chunk, vectors.get(batch.same.get(chunk.hash, chunk.hash))) for chunk in batch.chunks]
        # Without a vector is only what equals a text that was removed meanwhile: the next run sees to it.
        ready = [(chunk, vector) for chunk, vector in found if vector is not None]
        if not ready:
            return 0
        stacked = np.stack([vector for _, vector in ready])
        ids, hashes = [chunk.id for chunk, _ in ready], [chunk.hash for chunk, _ in ready]
        return self.store.semantic.put_vectors(ids, hashes, stacked, self.embedder.fingerprint)


def _text(chunk: Pending) -> str:
    """What is embedded of a chunk."""
    if chunk.embedded is not None:
        return chunk.embedded
    return embedding_text(chunk.title, chunk.headings, chunk.text)
