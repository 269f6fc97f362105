"""Chroma: vectors only, which is what it ranks by."""

import chromadb


class Engine:
    def build(self, texts, vectors, folder):
        client = chromadb.PersistentClient(str(folder), chromadb.Settings(anonymized_telemetry=False))
        self.chunks = client.create_collection("chunks", configuration={"hnsw": {"space": "cosine"}})
        for start in range(0, len(texts), 5000):
            part = range(start, min(start + 5000, len(texts)))
            self.chunks.add(
                ids=[str(place) for place in part],
                embeddings=vectors[part.start : part.stop],
                documents=[texts[place]["text"] or " " for place in part],
            )

    def hybrid(self, text, vector, k):
        return self.nearest(vector, k)

    def nearest(self, vector, k):
        return self.chunks.query(query_embeddings=[vector], n_results=k, include=[])["ids"][0]
