"""bm25s for the words (English stems, stop words out), numpy for the vectors."""

import bm25s
import Stemmer
from harness import Exact, fused


class Engine:
    def build(self, texts, vectors, folder):
        self.stemmer = Stemmer.Stemmer("english")
        corpus = [f"{each['title']} {each['text']}" for each in texts]
        self.words = bm25s.BM25()
        self.words.index(
            bm25s.tokenize(corpus, stopwords="en", stemmer=self.stemmer, show_progress=False), show_progress=False
        )
        self.words.save(str(folder))
        self.nearest = Exact(vectors)

    def lexical(self, text, k):
        tokens = bm25s.tokenize(text, stopwords="en", stemmer=self.stemmer, show_progress=False)
        found, _ = self.words.retrieve(tokens, k=k, show_progress=False, n_threads=1)
        return found[0]

    def hybrid(self, text, vector, k):
        return fused(self.lexical(text, 100), self.nearest(vector, 100), k=k)
