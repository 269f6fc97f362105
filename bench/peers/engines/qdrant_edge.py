"""Qdrant Edge: its own BM25 as sparse vectors with idf, HNSW, and its own reciprocal rank fusion."""

import qdrant_edge as q


class Engine:
    def build(self, texts, vectors, folder):
        config = q.EdgeConfig(
            vectors={"dense": q.EdgeVectorParams(vectors.shape[1], q.Distance.Cosine)},
            sparse_vectors={"words": q.EdgeSparseVectorParams(modifier=q.Modifier.Idf)},
        )
        path = folder / "shard"
        path.mkdir()
        self.shard = q.EdgeShard.create(str(path), config)
        self.words = q.Bm25Scoring()
        for start in range(0, len(texts), 2000):
            points = [
                self._point(place, texts[place], vectors) for place in range(start, min(start + 2000, len(texts)))
            ]
            self.shard.update(q.UpdateOperation.upsert_points(points))
        self.shard.optimize()

    def _point(self, place, each, vectors):
        words = self.words.embed_document(f"{each['title']} {each['text']}")
        return q.Point(place, {"dense": vectors[place].tolist(), "words": words})

    def hybrid(self, text, vector, k):
        sources = [
            q.Prefetch(100, query=q.Query.Nearest(vector.tolist(), using="dense")),
            q.Prefetch(100, query=q.Query.Nearest(self.words.embed_query(text), using="words")),
        ]
        found = self.shard.query(q.QueryRequest(k, query=q.Fusion.Rrf(k=60), prefetches=sources))
        return [point.id for point in found]

    def nearest(self, vector, k):
        query = q.Query.Nearest(vector.tolist(), using="dense")
        return [point.id for point in self.shard.query(q.QueryRequest(k, query=query))]
