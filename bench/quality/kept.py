"""What programs that ask questions share: indexes kept in one place, the first document found, tables."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

from rifflux.evaluate import Cache, Collection, Run, build
from rifflux.index import Index, open_index

__all__ = ["PAGE", "Kept", "first_document", "markdown"]

#: Hits of a page, as a user asks for them.
PAGE = 10


class Kept:
    """A folder of indexes, made where it lacks them; a context manager. It may be the one of `ranking --keep`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._cache = Cache(folder)
        self._closing = ExitStack()

    def __enter__(self) -> Kept:
        self._closing.enter_context(self._cache)
        return self

    def __exit__(self, *error: object) -> None:
        self._closing.close()

    def records(self, corpus: Path) -> Index:
        """Return the index of a collection's corpus.jsonl, named after its folder."""
        return self._cache.index(Collection(corpus.parent.resolve().name, "test", (), corpus))

    def files(self, tree: Path, name: str) -> Index:
        """Return the index of a folder of files, read by today's code; vectors of equal passages are carried over."""
        path = self.folder / f"{name}-{_digest(tree)}-{build._code()[:12]}.db"
        relative = self._cache._relative(path)
        new = not path.exists()
        index = self._closing.enter_context(open_index(path, model=self._cache.embedder))
        if new and relative and relative != path:
            index.add(tree, embed=False)
            with open_index(relative, create=False, model=self._cache.embedder) as old:
                build._carry_vectors(old.admin.store, index.admin.store)
        index.add(tree)
        return index


def first_document(index: Index, question: str, run: Run) -> str | None:
    """Return the key of the document that a question finds first, asked for a page of hits; None if there is none."""
    hits = index.search(question, top_k=PAGE, **run.options).hits
    return hits[0].key if hits else None


def markdown(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """Yield the lines of a table in Markdown, whose first column is text and the others figures."""
    yield f"| {' | '.join(head)} |"
    yield f"| --- |{' ---: |' * (len(head) - 1)}"
    for row in rows:
        yield f"| {' | '.join(row)} |"


def _digest(tree: Path) -> str:
    digest = hashlib.blake2b()
    for file in sorted(path for path in tree.rglob("*") if path.is_file()):
        digest.update(f"{file.relative_to(tree)}\0{file.stat().st_size}\0".encode())
        digest.update(file.read_bytes())
    return digest.hexdigest()[:12]
