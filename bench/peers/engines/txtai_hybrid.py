"""txtai: its own BM25, a Faiss index, and its own weighing of both; vectors come from a function, not from a model."""

import numpy as np
from txtai import Embeddings


class Engine:
    def build(self, texts, vectors, folder):
        whole = [f"{each['title']} {each['text']}" for each in texts]
        self.known = dict(zip(whole, vectors, strict=True))
        self.asked = None

        def transform(inputs):
            return np.stack([self.known.get(text, self.asked) for text in inputs])

        self.embeddings = Embeddings(method="external", transform=transform, hybrid=True)
        self.embeddings.index((place, text, None) for place, text in enumerate(whole))
        self.embeddings.save(str(folder / "index"))
        self.known = {}

    def hybrid(self, text, vector, k):
        self.asked = vector
        return [place for place, _ in self.embeddings.search(text, k)]

    def nearest(self, vector, k):
        self.asked = vector
        # All the weight is on the vectors.
        return [place for place, _ in self.embeddings.search("vector", k, weights=1.0)]
