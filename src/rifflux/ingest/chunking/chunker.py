"""Cut a document into chunks: passages that read well alone and fit the embedder."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from importlib import import_module
from itertools import groupby
from json.encoder import encode_basestring_ascii as _quoted

from rifflux.types import Block, Chunk, Document

#: How many tokens of the embedder a text has; additive over words.
Count = Callable[[str], int]

__all__ = ["Chunker", "Count", "blocks_of", "chunk_id", "embedding_text", "heading_path"]


def heading_path(headings: Iterable[str]) -> str:
    """The breadcrumb as people read it: `Guide > Install > Linux`."""
    return " > ".join(headings)


def embedding_text(title: str, headings: Sequence[str], text: str) -> str:
    """What is embedded of a chunk: title, breadcrumb and text on lines of their own, none said twice."""
    if headings and title == headings[0]:
        title = ""
    return "\n".join(part for part in (title, heading_path(headings), text) if part)


def chunk_id(identity: str, headings: Sequence[str], text: str, occurrence: int) -> int:
    """A stable positive 63-bit number for the `occurrence`-th chunk of this text under these headings.

    `identity` names the document. It depends on nothing else, so an edit elsewhere in the document leaves it.
    """
    parts = ", ".join(map(_quoted, headings))
    key = f"[{_quoted(identity)}, [{parts}], {_quoted(text)}, {occurrence}]"  # JSON: no two lists are written alike
    return int.from_bytes(blake2b(key.encode(), digest_size=8).digest()) >> 1


# Loaded when first used: a search chunks nothing, and should not wait for a Markdown parser.
_BLOCKS = {
    "code": "rifflux.ingest.read.code:code_blocks",
    "markdown": "rifflux.ingest.read.markdown:markdown_blocks",
    "rst": "rifflux.ingest.read.rst:rst_blocks",
}
_PARAGRAPHS = "rifflux.ingest.read.plain:plain_blocks"


def blocks_of(document: Document) -> tuple[Block, ...]:
    """The blocks of a document that came as text, not as a file, by its `kind` (else paragraphs)."""
    module, _, name = _BLOCKS.get(document.kind, _PARAGRAPHS).partition(":")
    split: Callable[..., tuple[Block, ...]] = getattr(import_module(module), name)
    if document.kind == "code":
        return split(document.text, str(document.metadata.get("language", "")))
    return split(document.text)


@dataclass(frozen=True, slots=True)
class Chunker:
    """Packs the blocks of a document into chunks of about `target_tokens`, title and breadcrumb included.

    A chunk holds whole blocks under one breadcrumb; only a block that is too long by itself is cut, a table
    between rows (its header repeated), code between lines, prose between sentences. A short section is its
    own chunk. Title and breadcrumb leave the text at least `floor_tokens`; a chunk may exceed its budget by
    `tolerance` if that saves a cut.
    """

    target_tokens: int = 250
    floor_tokens: int = 128
    tolerance: float = 0.1

    def __call__(self, document: Document, blocks: Sequence[Block], count: Count, *, identity: str) -> list[Chunk]:
        """The chunks of `document`, in order; `identity` names it across the index (collection and key).

        Every character of the blocks that is no space is in the span of exactly one chunk.
        """
        from rifflux.ingest.chunking.packing import Pack  # only indexing needs it, and a profile holds a chunker

        chunks: list[Chunk] = []
        seen: Counter[tuple[tuple[str, ...], str]] = Counter()
        for headings, section in groupby(blocks, key=lambda block: block.headings):
            pack = Pack(document.text, count, *self._budget(document.title, headings, count))
            for text, span in pack(section):
                key = (headings, text)
                number = chunk_id(identity, headings, text, seen[key])
                seen[key] += 1
                chunks.append(Chunk(number, len(chunks), text, span, headings))
        return chunks

    def _budget(self, title: str, headings: tuple[str, ...], count: Count) -> tuple[int, int]:
        """Tokens for the text under these headings: those to aim at, and the most there may be."""
        context = embedding_text(title, headings, "")
        budget = max(self.target_tokens - count(context), min(self.floor_tokens, self.target_tokens))
        return budget, int(budget * (1 + self.tolerance))
