"""From a document to what the store keeps of it: its chunks, their terms, and a hash of what will be embedded."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from rifflux.ingest.chunking import Chunker, chunk_id, embedding_text, hash_of, identity_of
from rifflux.store import NAMING, Analysis, AnalyzedChunk, DocumentChange, StoredChunk
from rifflux.text.analyzer import Analyzer
from rifflux.types import Block, Chunk, Document

__all__ = ["CODE", "MESSAGE", "Preparer", "analysis_of", "guess_kind", "is_same"]


@dataclass(frozen=True, slots=True)
class Preparer:
    """Chunks and analyzes documents of an owner. `count` gives the embedder's tokens of a text."""

    analyzer: Analyzer
    chunker: Chunker
    count: Callable[[str], int]
    owner: str = ""

    def __call__(self, namespace: str, document: Document, blocks: Sequence[Block], path: str) -> DocumentChange:
        """Prepare a document of `namespace` for the store; one without text is found by its title alone."""
        document = replace(document, kind=guess_kind(document))
        identity = identity_of(self.owner, namespace, document.key)
        chunks = self.chunker(document, blocks, self.count, identity=identity)
        if not chunks and document.title:
            chunks = [Chunk(chunk_id(identity, (), document.title, 0), 0, document.title, (0, 0))]
        title = self.analyzer.joined(document.title)
        subjects, analyzed = _subjects(document), []
        for chunk in chunks:
            text = "" if chunk.span == (0, 0) else chunk.text
            stored = StoredChunk(document.title, chunk.headings, text, subjects)
            headings, body = _terms(self.analyzer, stored)
            hash = hash_of(embedding_text(stored.title, stored.headings, stored.text))
            # Subjects and identifiers are searched as words, and not embedded.
            words = hash_of("\n".join([str(hash), *subjects])) if subjects else None
            analyzed.append(AnalyzedChunk(chunk, title, headings, body, hash, words=words))
        return DocumentChange(document, path, tuple(analyzed))


def _subjects(document: Document) -> tuple[str, ...]:
    """Return the searchable words of a document besides its text: its subjects and identifiers."""
    if not (document.tags or document.identifiers):
        return ()
    names = (each.value for each in document.identifiers if each.scheme in NAMING or each.value == document.key)
    return tuple(dict.fromkeys([*(tag.value for tag in document.tags), *names]))


def analysis_of(analyzer: Analyzer) -> Analysis:
    """Return functions that remake terms and hashes of stored chunks, equal to those of the first time."""
    return Analysis(
        lambda stored: (analyzer.joined(stored.title), *_terms(analyzer, stored)), _hash_of, analyzer.revision
    )


def _terms(analyzer: Analyzer, stored: StoredChunk) -> tuple[str, str]:
    """Return the terms of headings and subjects, and those of the body."""
    # A breadcrumb that starts with the title adds nothing to the title field by saying it again.
    headings = stored.headings[1:] if stored.headings[:1] == (stored.title,) else stored.headings
    return analyzer.joined(" \n".join([*headings, *stored.subjects])), analyzer.joined(stored.text)


def _hash_of(stored: StoredChunk) -> int:
    return hash_of(embedding_text(stored.title, stored.headings, stored.text))


# Whether a document that a program gives is stored as it is


def is_same(given: Document, stored: Document | None) -> bool:
    """Return True if storing a document would leave everything as it is."""
    return stored is not None and _kept(replace(given, kind=guess_kind(given))) == _kept(stored)


def _kept(document: Document) -> Document:
    """Return a document as the store gives it back: what has no order in one order, metadata as JSON has it."""
    links = {(link.key, link.kind): link for link in document.links}
    return replace(
        document,
        metadata=json.loads(json.dumps(dict(document.metadata), default=str)),
        links=tuple(links[name] for name in sorted(links)),
        identifiers=tuple(sorted(set(document.identifiers), key=str)),
        tags=tuple(sorted(set(document.tags))),
        parts=tuple(document.parts),
    )


# What kind of content a text is, where its source does not say: code, a message, or neither


CODE = "code"
MESSAGE = "message"

#: Characters looked at: enough to tell, and no cost on a long text.
LOOKED_AT = 1000
#: Signs of code per 100 characters from which a text is code; prose with some names in it stays below.
CODE_SIGNS = 1.6

#: A sentence may hold a sign or two.
FEWEST_SIGNS = 3

_CODE = re.compile(
    r"""
      \b\w+\(                                   # a call
    | [=!<>]=|[-+*/|&]=|->|=>|::|&&|\|\||\+\+    # operators that prose has not
    | [;{}]\s*$                                 # ends of statements and blocks
    | ^\s*(?:def|class|return|import|from|func|fn|public|private|static|void|var|let|const|if|for|while|elif|else)\b
    | \w\.\w+\(                                 # a method
    | \b(?:self|this|None|null|nil|True|False|elif|endif|printf|println|struct|typedef|lambda)\b
    | \b\w+\s=\s                                # an assignment
    """,
    re.VERBOSE | re.MULTILINE,
)
_LATEX = re.compile(r"\\[A-Za-z]+\s*[{\[$_^]|\$[^$]+\$")
_SPOKEN = re.compile(r"\A[A-Z][\w.'-]*(?: [A-Z][\w.'-]*){0,2}(?: \([^)]{1,40}\))?: \S")
_SPEAKERS = frozenset({"speaker", "role", "sender", "from", "user"})
_TALKS = frozenset({"conversation", "conversation_id", "channel", "thread", "thread_id", "dialog", "dialogue", "chat"})
_LONGEST_TURN = 1500


def guess_kind(document: Document) -> str:
    """Return `code`, `message`, or the kind the document has; only a kind its source left open is guessed."""
    if document.kind not in ("", "record"):
        return document.kind
    if _is_message(document.text, document.metadata):
        return MESSAGE
    return CODE if _is_code(document.text[:LOOKED_AT]) else document.kind


def _is_message(text: str, metadata: Mapping[str, object]) -> bool:
    if len(text) > _LONGEST_TURN:
        return False
    fields = {name.lower() for name in metadata}
    return bool(fields & _TALKS and fields & _SPEAKERS) or bool(_SPOKEN.match(text) and fields & (_TALKS | _SPEAKERS))


def _is_code(text: str) -> bool:
    if len(text) < 20 or _LATEX.search(text):
        return False
    signs = len(_CODE.findall(text))
    return signs >= FEWEST_SIGNS and 100 * signs / len(text) >= CODE_SIGNS
