"""Rifflux as it comes: the default fusion, anchors, relevance and all; the vectors are the given ones."""

from dataclasses import replace

import numpy as np

import rifflux
from rifflux.ingest.chunk import Chunker, embedding_text
from rifflux.profiles import profile
from rifflux.types import Document

WHOLE = replace(profile("files"), name="whole", chunker=Chunker(target_tokens=100_000, floor_tokens=100_000))


def _plain(text):
    """A text without what chunking may change."""
    return "".join(text.split())


class Given:
    """An embedder that is told the vectors."""

    name = backend = "given"
    max_tokens = 512
    fingerprint = "0" * 32

    def __init__(self, dimension, known):
        self.dimension, self.known, self.asked = dimension, known, None

    def embed_documents(self, texts):
        # A few texts are not taken over letter by letter; they go without a vector.
        none = np.zeros(self.dimension, np.float32)
        return np.stack([self.known.get(_plain(text), none) for text in texts])

    def embed_query(self, text):
        return self.asked

    def count_tokens(self, text):
        return len(text) // 4


class Engine:
    mode = "hybrid"

    def build(self, texts, vectors, folder):
        known = {
            _plain(embedding_text(each["title"], (), each["text"])): vectors[place] for place, each in enumerate(texts)
        }
        self.given = Given(vectors.shape[1], known)
        self.index = rifflux.open(folder / "index.db", profile=WHOLE, model=self.given)
        documents = (
            Document(str(place), each["text"], each["title"], kind=each.get("kind", "text"))
            for place, each in enumerate(texts)
        )
        self.index.add(*documents)
        self.index.accelerate()
        known.clear()

    def hybrid(self, text, vector, k):
        self.given.asked = vector
        return [int(hit.document) for hit in self.index.search(text, top_k=k)]

    def nearest(self, vector, k):
        self.given.asked = vector
        return [int(hit.document) for hit in self.index.search("vector", mode="semantic", top_k=k)]
