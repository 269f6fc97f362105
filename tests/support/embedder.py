"""An embedder that tells what it was asked to embed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from rifflux.models.hashing import HashEmbedder
from rifflux.types import Vectors


@dataclass(frozen=True)
class Counting(HashEmbedder):
    """The hash embedder, with every text it was given in `seen`."""

    seen: list[str] = field(default_factory=list, compare=False)

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        self.seen.extend(texts)
        return super().embed_documents(texts)
