"""Tantivy for the words (English stems), numpy for the vectors."""

import re

import tantivy
from harness import Exact, fused


class Engine:
    def build(self, texts, vectors, folder):
        builder = tantivy.SchemaBuilder()
        for name in ("title", "text"):
            builder.add_text_field(name, stored=False, tokenizer_name="en_stem")
        builder.add_integer_field("place", stored=True, fast=True)
        self.index = tantivy.Index(builder.build(), path=str(folder))
        writer = self.index.writer(heap_size=256_000_000, num_threads=2)
        for place, each in enumerate(texts):
            writer.add_document(tantivy.Document(title=each["title"], text=each["text"], place=place))
        writer.commit()
        writer.wait_merging_threads()
        self.index.reload()
        self.searcher = self.index.searcher()
        self.nearest = Exact(vectors)

    def lexical(self, text, k):
        words = " ".join(re.findall(r"\w+", text))
        query = self.index.parse_query(words, ["title", "text"]) if words else tantivy.Query.empty_query()
        hits = self.searcher.search(query, k).hits
        return [self.searcher.doc(address)["place"][0] for _, address in hits]

    def hybrid(self, text, vector, k):
        return fused(self.lexical(text, 100), self.nearest(vector, 100), k=k)
