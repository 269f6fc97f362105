"""SQLite FTS5 and numpy, as one would do it first: all words OR-ed, all vectors compared."""

import re

import apsw
from harness import Exact, fused


class Engine:
    def build(self, texts, vectors, folder):
        self.db = apsw.Connection(str(folder / "index.db"))
        self.db.execute("create virtual table chunk using fts5 (title, text, tokenize = 'porter unicode61')")
        with self.db:
            rows = ((place, each["title"], each["text"]) for place, each in enumerate(texts))
            self.db.executemany("insert into chunk (rowid, title, text) values (?, ?, ?)", rows)
        self.nearest = Exact(vectors)

    def lexical(self, text, k):
        words = " OR ".join(f'"{word}"' for word in re.findall(r"\w+", text))
        statement = "select rowid from chunk where chunk match ? order by rank limit ?"
        return [row[0] for row in self.db.execute(statement, (words, k))] if words else []

    def hybrid(self, text, vector, k):
        return fused(self.lexical(text, 100), self.nearest(vector, 100), k=k)
