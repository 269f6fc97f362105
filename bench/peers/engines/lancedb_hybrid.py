"""LanceDB: its own full-text index, an ANN index, and its own reciprocal rank fusion."""

import lancedb
import numpy as np
import pyarrow as pa
from lancedb.rerankers import RRFReranker


class Engine:
    def build(self, texts, vectors, folder):
        flat = pa.array(np.asarray(vectors, np.float32).ravel())
        rows = pa.table(
            {
                "place": pa.array(range(len(texts)), pa.int64()),
                "text": pa.array([f"{each['title']} {each['text']}" for each in texts]),
                "vector": pa.FixedSizeListArray.from_arrays(flat, vectors.shape[1]),
            }
        )
        self.table = lancedb.connect(str(folder)).create_table("chunks", rows)
        self.table.create_fts_index("text", replace=True)
        self.table.create_index(metric="cosine", vector_column_name="vector", index_type="IVF_HNSW_SQ")
        self.reranker = RRFReranker()

    def hybrid(self, text, vector, k):
        words = "".join(char if char.isalnum() else " " for char in text)
        search = self.table.search(query_type="hybrid").vector(vector).text(words)
        return search.rerank(self.reranker).limit(k).to_arrow()["place"].to_pylist()

    def nearest(self, vector, k):
        return self.table.search(vector).distance_type("cosine").limit(k).to_arrow()["place"].to_pylist()
