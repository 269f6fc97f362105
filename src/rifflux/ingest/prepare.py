"""Turn a document into what the store holds: its chunks, their terms, and a hash of the text to embed."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from rifflux.ingest.chunking import Chunker, chunk_id, embedding_text, hash_of, identity_of
from rifflux.store import NAMING, Analysis, AnalyzedChunk, DocumentChange, StoredChunk
from rifflux.text.analyzer import Analyzer
from rifflux.text.properties import SearchableProperties, key_names, searchable_properties
from rifflux.types import Block, Chunk, Document

_NUMBER = re.compile(r"\b[\d_]+\b")


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
        properties = searchable_properties(document.kind, document.metadata)
        analyzer = self.analyzer.of(document.language)
        # The key of a record is data, and identifiers name a document better than its key.
        key = "" if document.identifiers or document.key != path else document.key
        by_key = _by_key(analyzer, document.kind, key, document.title)
        names = _Names(_subjects(document), properties, by_key)
        title = _title_terms(analyzer, document.title, properties)
        analyzed = []
        for chunk in chunks:
            text = "" if chunk.span == (0, 0) else chunk.text
            headings = _heading_terms(analyzer, document.title, chunk.headings, names.at(chunk.position))
            embedded = embedding_text(document.title, chunk.headings, text)
            if chunk.position == 0:
                embedded_text = _text_of_first(embedded, properties)
            else:
                embedded_text = embedded
            hash = hash_of(embedded_text)
            beside = [*properties.names, *names.at(chunk.position)]
            # The searchable names may change while the embedded text stays the same.
            if document.language:
                more = [*beside, f"\0{document.language}"]
            else:
                more = beside
            if more:
                words = hash_of("\n".join([str(hash), *more]))
            else:
                words = None
            own_text = embedded_text if embedded_text != embedded else None
            analyzed.append(AnalyzedChunk(chunk, title, headings, analyzer.joined(text), hash, own_text, words))
        return DocumentChange(document, path, tuple(analyzed))


@dataclass(frozen=True, slots=True)
class _Names:
    """The searchable names of a document: subjects and labels for all chunks, key and remarks for the first."""

    subjects: Sequence[str]
    properties: SearchableProperties
    key: Sequence[str]

    def at(self, position: int) -> tuple[str, ...]:
        """Return the names of the chunk at `position`; those of the key belong to the first, as a heading would."""
        return (*self.subjects, *(() if position else self.key), *self.properties.at(position))


def _subjects(document: Document) -> tuple[str, ...]:
    """Return the subjects and identifiers of a document that are searched."""
    if not (document.tags or document.identifiers):
        return ()
    names = (each.value for each in document.identifiers if each.scheme in NAMING or each.value == document.key)
    return tuple(dict.fromkeys([*(tag.value for tag in document.tags), *names]))


def _by_key(analyzer: Analyzer, kind: str, key: str, title: str) -> tuple[str, ...]:
    """Return the name in a key if it adds a term to the title; messages and memories are numbered, not named.

    Numbers are left out: they would be found as those of any text, where a date or a place in an order was meant.
    """
    if kind not in (MESSAGE, "memory"):
        name = tuple(map(partial(_NUMBER.sub, " "), key_names(key)[-1:]))
    else:
        name = ()
    if {*analyzer.terms(title)}.issuperset(analyzer.terms(*name or ("",))):
        return ()
    return name


def _text_of_first(embedded: str, properties: SearchableProperties) -> str:
    """Return the text to embed of a document's first chunk, between its other names and its remarks."""
    return "\n".join(filter(None, (", ".join(properties.names), embedded, ". ".join(properties.at(0)))))


def analysis_of(analyzer: Analyzer) -> Analysis:
    """Return functions that remake terms and hashes of stored chunks, equal to those of the first time."""
    return Analysis(partial(_terms, analyzer), _hash_of, analyzer.revision)


def _terms(analyzer: Analyzer, stored: StoredChunk) -> tuple[str, str, str]:
    """Return the terms of title, headings and subjects, and body."""
    analyzer = analyzer.of(stored.language)
    properties = searchable_properties(stored.kind, stored.metadata)
    names = _Names(stored.subjects, properties, _by_key(analyzer, stored.kind, stored.key, stored.title))
    headings = _heading_terms(analyzer, stored.title, stored.headings, names.at(stored.position))
    return _title_terms(analyzer, stored.title, properties), headings, analyzer.joined(stored.text)


def _title_terms(analyzer: Analyzer, title: str, properties: SearchableProperties) -> str:
    return analyzer.joined(" \n".join([title, *properties.names]))


def _heading_terms(analyzer: Analyzer, title: str, headings: Sequence[str], names: Sequence[str]) -> str:
    # A breadcrumb that starts with the title adds nothing to the title field by saying it again.
    if headings[:1] == (title,):
        headings = headings[1:]
    return analyzer.joined(" \n".join([*headings, *names]))


def _hash_of(stored: StoredChunk) -> int:
    return hash_of(embedding_text(stored.title, stored.headings, stored.text))


# Whether a document that a program gives is stored as it is


def is_same(given: Document, stored: Document | None) -> bool:
    """Return True if storing `given` would change nothing."""
    return stored is not None and _as_stored(replace(given, kind=guess_kind(given))) == _as_stored(stored)


def _as_stored(document: Document) -> Document:
    """Return a document as the store would return it: sorted where order means nothing, metadata as JSON."""
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
    if _is_code(document.text[:LOOKED_AT]):
        return CODE
    return document.kind


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
