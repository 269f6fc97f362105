"""Cached indexes of collections, keyed by content, model, profile and the code that reads.

The name of a cached file is a hash of everything on which its content depends, so nothing in the cache is ever stale:
outdated files are simply not found. Any file can be deleted at any time.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from contextlib import ExitStack, suppress
from functools import cache
from pathlib import Path

import numpy as np

from rifflux.errors import InvalidArgument, UnusableIndex
from rifflux.evaluate.collection import Collection
from rifflux.evaluate.runs import WORKS, Run
from rifflux.index import Index, open_index
from rifflux.models import Embedder, load_embedder
from rifflux.models.embedder import fingerprint_of
from rifflux.retrieve.steps.rerank import RerankSettings
from rifflux.session.profile import Profile
from rifflux.session.profile import profile as find_profile
from rifflux.store import Store
from rifflux.store.sqlite.connection.connect import SCHEMA_VERSION
from rifflux.store.sqlite.connection.locks import file_lock
from rifflux.types import Progress
from rifflux.types.temporary import temporary_folder

#: The number of chunks whose vectors are copied at a time.
BATCH = 1000
#: The packages whose code determines the indexed content of a file.
READING = ("ingest", "text", "works/importers", "works/merging")
#: The license given to works; without one, their packs would contain no texts.
LICENSE = "CC0-1.0"


class Cache(ExitStack):
    """A folder of indexes. Leaving the context closes the opened ones.

    `model` names the embedder, or is one; by default it is the bundled one. `threads` limits embedding, and `rerankers`
    locates the models of rerankers.
    """

    def __init__(
        self,
        folder: str | Path,
        *,
        model: str | Embedder | None = None,
        threads: int | None = None,
        rerankers: RerankSettings | None = None,
    ) -> None:
        self.folder = Path(folder).expanduser()
        self.rerankers = rerankers
        self.embedder = load_embedder(model, threads=threads)
        self._open: dict[Path, Index] = {}
        super().__init__()

    def opener(
        self,
        collection: Collection,
        runs: Iterable[Run],
        *,
        profile: str | Profile = "files",
        progress: Progress | None = None,
    ) -> Callable[[Run], Index]:
        """Return a function from a run to its index; a run's own profile takes precedence over `profile`.

        Vectors are made only if one of the runs needs them.
        """
        embed = any(run.needs_vectors for run in runs)
        return lambda run: self.index(collection, profile=run.profile or profile, embed=embed, progress=progress)

    def index(
        self,
        collection: Collection,
        *,
        profile: str | Profile = "files",
        embed: bool = True,
        progress: Progress | None = None,
    ) -> Index:
        """Return the index of a collection's documents, building it if it is not cached.

        With `embed=False`, an index without vectors suffices. Raises `InvalidArgument` if a document cannot be indexed,
        and `UnusableIndex` if the folder is not writable.
        """
        if collection.corpus is None:
            raise InvalidArgument(f"{collection.name} has no corpus to index: evaluate it on its own index")
        chosen = find_profile(profile)
        words, whole = self._paths(collection, collection.corpus, chosen)
        path = whole if embed or whole.exists() else words
        if not path.exists():
            self._build(collection.corpus, path, chosen, embed=embed, progress=progress)
        if path not in self._open:
            index = open_index(path, create=False, profile=chosen, model=self.embedder, rerankers=self.rerankers)
            self._open[path] = self.enter_context(index)
        return self._open[path].using(chosen)

    def _paths(self, collection: Collection, corpus: Path, profile: Profile) -> tuple[Path, Path]:
        """Return the paths of the index without vectors and of the one with them.

        Even the former depends on the model, whose tokens determine the size of passages.
        """
        family = fingerprint_of(_digest(corpus), self.embedder.fingerprint)[:12]
        analysis = (profile.language, profile.mathematics)
        kind = fingerprint_of(SCHEMA_VERSION, _code(), profile.name, *analysis, repr(profile.chunker), LICENSE)[:12]
        stem = f"{collection.name}-{family}-{kind}"
        return self.folder / f"{stem}-words.db", self.folder / f"{stem}.db"

    def _build(self, corpus: Path, path: Path, profile: Profile, *, embed: bool, progress: Progress | None) -> None:
        """Build in a temporary folder and move the result here, so that cached files are always complete.

        One process at a time builds an index; others wait and use its result, since moving a file over one that is open
        would damage it.
        """
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            workplace = ExitStack()
            temporary = workplace.enter_context(temporary_folder("building-", self.folder))
        except OSError as error:
            raise UnusableIndex(
                f"{self.folder} cannot store indexes ({error.strerror}): name another cache folder"
            ) from None
        with workplace, file_lock(path.with_suffix(".lock"), waiting=lambda _: None):
            if path.exists():
                return
            new = temporary / path.name
            with open_index(new, profile=profile, model=self.embedder) as index:
                _fill(index, corpus, self._relative(path), embed=embed, progress=progress)
            new.replace(path)

    def _relative(self, path: Path) -> Path | None:
        """Return the newest index with vectors of the same documents by the same model."""
        family = path.name.rpartition("-")[0]
        found = (each for each in self.folder.glob(f"{family}-*.db") if not each.name.endswith("-words.db"))
        return max(found, key=lambda each: each.stat().st_mtime, default=None)


def _fill(index: Index, corpus: Path, relative: Path | None, *, embed: bool, progress: Progress | None) -> None:
    if index.profile.name == WORKS:
        failed = index.works.import_files(corpus, license=LICENSE, embed=False, progress=progress).failed
    else:
        failed = index.add(corpus, embed=False, progress=progress).failed
    if failed:
        first = failed[0]
        raise InvalidArgument(f"{first.path}: {first.reason}: fix the corpus, since judgements may refer to it")
    if embed:
        if relative:
            # One of another schema is not read: its texts are embedded again.
            with suppress(UnusableIndex), open_index(relative, create=False, model=index.admin.embedder) as old:
                _carry_vectors(old.admin.store, index.admin.store)
        index.admin.embed(progress)


def _carry_vectors(old: Store, new: Store) -> None:
    """Copy the vectors of equal texts: embedding is slow, and most changes to reading leave most texts unchanged."""
    model = old.semantic.model()
    if model is None:
        return
    new.semantic.use_model(model)
    for batch in new.semantic.pending(BATCH):
        known = old.semantic.vectors_by_hash([chunk.hash for chunk in batch])
        file_lock = [chunk for chunk in batch if chunk.hash in known]
        if file_lock:
            vectors = np.stack([known[chunk.hash] for chunk in file_lock])
            new.semantic.put_vectors([chunk.id for chunk in file_lock], [chunk.hash for chunk in file_lock], vectors)


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "blake2b").hexdigest()


@cache
def _code() -> str:
    """Return a hash of the code that reads, chunks and analyzes, so that changes to it take effect."""
    digest = hashlib.blake2b()
    for folder in READING:
        for file in sorted(Path(__file__).parents[1].joinpath(folder).rglob("*.py")):
            digest.update(file.read_bytes())
    return digest.hexdigest()
