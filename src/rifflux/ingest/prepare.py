"""From a document to what the store keeps of it: its chunks, their terms, and a hash of what will be embedded."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b

from rifflux.ingest.chunking.chunker import Chunker, chunk_id, embedding_text
from rifflux.ingest.kind import guess_kind
from rifflux.store import NAMING, Analysis, AnalyzedChunk, DocumentChange, StoredChunk
from rifflux.text.analyzer import Analyzer
from rifflux.types import Block, Chunk, Document

__all__ = ["Preparer", "analysis_of", "identity_of", "is_same"]


def identity_of(owner: str, collection: str, key: str) -> str:
    """Names a document among those of all owners, so that no two chunks get the same id."""
    # JSON has no raw line break: no owner's name makes this what it is without an owner.
    return json.dumps([owner, collection, key]) if owner else f"{collection}\n{key}"


@dataclass(frozen=True, slots=True)
class Preparer:
    """Chunks and analyzes documents of an owner. `count` gives the embedder's tokens of a text."""

    analyzer: Analyzer
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
        title = self.analyzer.joined(document.title)
        return DocumentChange(document, path, tuple(self._analyzed(document, title, chunk) for chunk in chunks))

    def _analyzed(self, document: Document, title: str, chunk: Chunk) -> AnalyzedChunk:
        text = "" if chunk.span == (0, 0) else chunk.text
        stored = StoredChunk(document.title, chunk.headings, text, _subjects(document))
        headings, body = _terms(self.analyzer, stored)
        hash = _hash_of(stored)
        # Subjects and identifiers are searched as words, and not embedded.
        words = _hash("\n".join([str(hash), *stored.subjects])) if stored.subjects else None
        return AnalyzedChunk(chunk=chunk, title=title, headings=headings, body=body, hash=hash, words=words)


def _subjects(document: Document) -> tuple[str, ...]:
    """What is searched of a document besides its text: its subjects, and what it is asked for by."""
    names = (each.value for each in document.identifiers if each.scheme in NAMING or each.value == document.key)
    return tuple(dict.fromkeys([*(tag.value for tag in document.tags), *names]))


def analysis_of(analyzer: Analyzer) -> Analysis:
    """What makes terms and hashes anew of chunks that are stored, the same as when they were stored first."""
    return Analysis(
        lambda stored: (analyzer.joined(stored.title), *_terms(analyzer, stored)), _hash_of, analyzer.revision
    )


def _terms(analyzer: Analyzer, stored: StoredChunk) -> tuple[str, str]:
    """The terms of headings and subjects, and those of the body."""
    # A breadcrumb that starts with the title adds nothing to the title field by saying it again.
    headings = stored.headings[1:] if stored.headings[:1] == (stored.title,) else stored.headings
    return analyzer.joined(" \n".join([*headings, *stored.subjects])), analyzer.joined(stored.text)


def _hash_of(stored: StoredChunk) -> int:
    return _hash(embedding_text(stored.title, stored.headings, stored.text))


def _hash(text: str) -> int:
    digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest) >> 1


# Whether a document that a program gives is stored as it is


def is_same(given: Document, stored: Document | None) -> bool:
    """Whether storing a document would leave everything as it is."""
    return stored is not None and _kept(replace(given, kind=guess_kind(given))) == _kept(stored)


def _kept(document: Document) -> Document:
    """A document as the store gives it back: what has no order in one order, metadata as JSON has it."""
    links = {(link.key, link.kind): link for link in document.links}
    return replace(
        document,
        metadata=json.loads(json.dumps(dict(document.metadata), default=str)),
        links=tuple(links[name] for name in sorted(links)),
        identifiers=tuple(sorted(set(document.identifiers), key=str)),
        tags=tuple(sorted(set(document.tags))),
        parts=tuple(document.parts),
    )
