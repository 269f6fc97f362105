"""Rifflux as it comes: the default fusion, anchors, relevance and all; the vectors are the given ones."""

from dataclasses import replace

import rifflux
from rifflux.ingest.chunking import Chunker
from rifflux.session.profile import profile
from rifflux.store import ModelInfo, by_meaning
from rifflux.types import Document, Query

WHOLE = replace(profile("files"), name="whole", chunker=Chunker(target_tokens=100_000, floor_tokens=100_000))
BATCH = 4096
#: A few texts are cut nevertheless, as they hold several functions; all parts get the vector of the whole.
_CHUNKS = """
select chunk.uid, chunk.hash, document.key from chunk join document on document.id = chunk.document order by chunk.id"""


class Given:
    """An embedder that is told the vector of each question; those of the texts are stored as they are given."""

    name = backend = spec = "given"
    max_tokens = 512
    fingerprint = "0" * 32

    def __init__(self, dimension):
        self.dimension, self.asked = dimension, None

    def embed_documents(self, texts):
        raise NotImplementedError("vectors of texts are given")

    def embed_query(self, text):
        return self.asked

    def count_tokens(self, text):
        return len(text) // 4


class Engine:
    mode = "hybrid"

    def build(self, texts, vectors, folder):
        self.given = Given(vectors.shape[1])
        self.index = rifflux.open(folder / "index.db", profile=WHOLE, model=self.given)
        documents = (
            Document(str(place), each["text"], each["title"], kind=each.get("kind", "text"))
            for place, each in enumerate(texts)
        )
        self.index.add(*documents, embed=False)
        self._give(vectors)
        self.index.admin.accelerate()

    def _give(self, vectors):
        store = self.index.admin.store
        given = self.given
        store.semantic.use_model(ModelInfo(given.name, given.backend, given.dimension, given.fingerprint, given.spec))
        rows = store.view.rows(_CHUNKS)
        self.places = {id: int(key) for id, _, key in rows}
        for start in range(0, len(rows), BATCH):
            ids, hashes, keys = zip(*rows[start : start + BATCH], strict=True)
            store.semantic.put_vectors(ids, hashes, vectors[[int(key) for key in keys]])

    def hybrid(self, text, vector, k):
        self.given.asked = vector
        return [int(hit.key) for hit in self.index.search(text, top_k=k)]

    def nearest(self, vector, k):
        # A search by meaning leaves near-duplicates out; what is compared is the search for vectors alone.
        found = by_meaning(self.index.admin.store, Query(""), vector, k)
        return list(dict.fromkeys(self.places[id] for id in found.ids.tolist()))
