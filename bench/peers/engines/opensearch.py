"""OpenSearch, one node with a heap of 1 GB: BM25 by its English analyzer, Lucene's HNSW, its own hybrid query.

Title and text are fields; scores of the two queries are scaled from the least to the greatest and averaged, by its
normalization processor. It is installed in the work folder, from Maven packages, and stopped at the end.
"""

import http.client
import json

from server import Node, install

CANDIDATES, BATCH = 100, 500
#: Seconds to wait for an answer: a busy machine may need minutes to merge all segments.
PATIENCE = 600
TEXT = {"type": "text", "analyzer": "english"}
PIPELINE = {
    "phase_results_processors": [
        {
            "normalization-processor": {
                "normalization": {"technique": "min_max"},
                "combination": {"technique": "arithmetic_mean", "parameters": {"weights": [0.5, 0.5]}},
            }
        }
    ]
}


class Engine:
    #: Searches until Java has compiled what they run.
    warming = 100
    node = None

    def build(self, texts, vectors, folder):
        install(folder.parent / "opensearch")
        self.node = Node(folder.parent / "opensearch", folder / "node")
        self.http = http.client.HTTPConnection("127.0.0.1", self.node.port, timeout=PATIENCE)
        vector = {"type": "knn_vector", "dimension": vectors.shape[1]}
        vector["method"] = {"name": "hnsw", "engine": "lucene", "space_type": "innerproduct"}
        fields = {"title": TEXT, "text": TEXT, "scope": {"type": "keyword"}, "vector": vector}
        settings = {"index.knn": True, "number_of_shards": 1, "number_of_replicas": 0, "refresh_interval": -1}
        self.ask("PUT", "/_search/pipeline/hybrid", PIPELINE)
        self.ask("PUT", "/texts", {"settings": settings, "mappings": {"properties": fields}})
        for start in range(0, len(texts), BATCH):
            lines = []
            for place, each in enumerate(texts[start : start + BATCH], start):
                row = {"title": each["title"], "text": each["text"], "scope": each.get("scope")}
                lines += [{"index": {"_id": str(place)}}, row | {"vector": vectors[place].tolist()}]
            done = self.ask("POST", "/texts/_bulk", *lines)
            if done["errors"]:
                raise SystemExit(f"opensearch refused texts: {str(done)[:300]}")
        self.ask("POST", "/texts/_forcemerge?max_num_segments=1", {})
        self.ask("POST", "/texts/_refresh", {})

    def close(self):
        if self.node:
            self.node.stop()

    def ask(self, method, path, *body):
        sent = "".join(json.dumps(each) + "\n" for each in body).encode()
        self.http.request(method, path, sent, {"Content-Type": "application/json"})
        answer = self.http.getresponse()
        found = json.loads(answer.read())
        if answer.status >= 300:
            raise SystemExit(f"opensearch: {str(found)[:300]}")
        return found

    def search(self, query, k, path="/texts/_search"):
        found = self.ask("POST", path, {"query": query, "size": k, "_source": False})
        return [int(hit["_id"]) for hit in found["hits"]["hits"]]

    def words(self, text, scope):
        match = {"multi_match": {"query": text, "fields": ["title", "text"], "type": "most_fields"}}
        return {"bool": {"must": match, "filter": {"term": {"scope": scope}}}} if scope else match

    def meaning(self, vector, k, scope):
        near = {"vector": vector.tolist(), "k": k}
        return {"knn": {"vector": near | ({"filter": {"term": {"scope": scope}}} if scope else {})}}

    def lexical(self, text, k, scope=None):
        return self.search(self.words(text, scope), k)

    def nearest(self, vector, k, scope=None):
        # Lucene looks at as many neighbors as it is asked for: at ten, it would miss some of the nearest.
        return self.search(self.meaning(vector, CANDIDATES, scope), k)

    def hybrid(self, text, vector, k, scope=None):
        queries = [self.words(text, scope), self.meaning(vector, CANDIDATES, scope)]
        query = {"hybrid": {"queries": queries, "pagination_depth": CANDIDATES}}
        return self.search(query, k, "/texts/_search?search_pipeline=hybrid")
