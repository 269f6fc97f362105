"""From a document to what the store keeps of it: its chunks, their terms, and a hash of what will be embedded."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b

from rifflux.ingest.chunk import Chunker, chunk_id, embedding_text
from rifflux.ingest.kind import guess_kind
from rifflux.store.base import AnalysedChunk, DocumentChange
from rifflux.text.analyser import Analyser
from rifflux.types import Block, Chunk, Document

__all__ = ["Preparer", "identity_of"]


def identity_of(owner: str, collection: str, key: str) -> str:
    """Names a document among those of all owners, so that no two chunks get the same id."""
    # JSON has no raw line break: no owner's name makes this what it is without an owner.
    return json.dumps([owner, collection, key]) if owner else f"{collection}\n{key}"


@dataclass(frozen=True, slots=True)
class Preparer:
    """Chunks and analyses documents of an owner. `count` gives the embedder's tokens of a text."""

    analyser: Analyser
    chunker: Chunker
    count: Callable[[str], int]
    owner: str = ""

    def __call__(self, collection: str, document: Document, blocks: Sequence[Block], path: str) -> DocumentChange:
        """What to store for a document of `collection`; one without any text is found by its title alone."""
        document = replace(document, kind=guess_kind(document))
        identity = identity_of(self.owner, collection, document.key)
        chunks = self.chunker(document, blocks, self.count, identity=identity)
        if not chunks and document.title:
            chunks = [Chunk(chunk_id(identity, (), document.title, 0), 0, document.title, (0, 0))]
        title = self.analyser.joined(document.title)
        return DocumentChange(document, path, tuple(self._analysed(document, title, chunk) for chunk in chunks))

    def _analysed(self, document: Document, title: str, chunk: Chunk) -> AnalysedChunk:
        text = "" if chunk.span == (0, 0) else chunk.text
        # A breadcrumb that starts with the title adds nothing to the title field by saying it again.
        headings = chunk.headings[1:] if chunk.headings[:1] == (document.title,) else chunk.headings
        subjects = [tag.value for tag in document.tags]
        return AnalysedChunk(
            chunk=chunk,
            title=title,
            headings=self.analyser.joined(" \n".join([*headings, *subjects])),
            body=self.analyser.joined(text),
            # Equal hashes stand for equal terms, so subjects count though they are not embedded.
            hash=_hash("\n".join([embedding_text(document.title, chunk.headings, text), *subjects])),
        )


def _hash(text: str) -> int:
    digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest) >> 1
