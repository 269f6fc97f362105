"""Maintenance: checking, repairing and copying an index, and switching it to another model."""

from __future__ import annotations

import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from rifflux.errors import Cure, InvalidArgument, ModelError
from rifflux.session.policies import HYBRID_SEARCH, Policies
from rifflux.session.session import IndexView
from rifflux.session.vectors import info_of
from rifflux.store import Generation, ModelInfo, Placed, Problem, State
from rifflux.types import Progress

if TYPE_CHECKING:
    from rifflux.models.custom import Model

#: The number of vectors dropped per transaction: few enough for concurrent searches not to notice.
DROPPED_AT_ONCE = 256
#: Kinds of documents that are searched by words alone unless the policy `hybrid_search` is on.
MESSAGES = frozenset({"conversation", "message"})


@dataclass(frozen=True, slots=True)
class Copied:
    """A copy of an index: its path, size and duration, and the path of its state file's copy."""

    path: str
    bytes: int
    seconds: float
    state: str = ""


@dataclass(frozen=True, slots=True)
class Repaired:
    """The result of a repair: what was done, remaining problems, and the path of a replaced damaged file."""

    done: tuple[str, ...]
    problems: tuple[Problem, ...]
    original: str | None = None


@dataclass(frozen=True, slots=True)
class Switched:
    """The result of a switch: the models, the numbers of vectors made and dropped, and the duration."""

    former: str
    model: str
    embedded_chunks: int
    dropped_vectors: int
    seconds: float
    waited_for: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Maintenance:
    """Maintenance of a whole index. In a scope, all methods raise `OutOfScope`."""

    view: IndexView

    def accelerate(self) -> None:
        """Build the derived files of a large index now, and return when they are complete.

        Above some 20,000 chunks this happens in the background. Derived files can be deleted. An index that is no file
        has none.
        """
        if self.view.store.local:
            self.view.store.local.build()

    def check(self) -> list[Problem]:
        """Check for damage; an empty list means that the index is sound and complete."""
        from rifflux.ingest.prepare import analysis_of

        analysis = analysis_of(self.view.profile.analyzer)
        if not Policies(self.view.store).get(HYBRID_SEARCH):
            analysis = replace(analysis, without_vectors=MESSAGES)
        return [*self.view.store.check(analysis), *self._model_problems()]

    def _model_problems(self) -> list[Problem]:
        """Return the reasons why queries cannot be embedded by the model of the chunks."""
        from rifflux.models import load_embedder
        from rifflux.models.custom import CUSTOM
        from rifflux.models.embedder import Verifiable

        known = self.view.store.semantic.model()
        if known is None:
            return []
        if known.backend != CUSTOM:
            try:
                found = load_embedder(known.spec)
                if isinstance(found, Verifiable):
                    found.verify()
            except ModelError as error:
                what = f"the model of the vectors, {known.name}, cannot be loaded: {error}"
                return [Problem(what, error.cure or Cure.SWITCH_MODEL, error.data)]
            if found.fingerprint != known.fingerprint:
                what = f"{known.public_spec} is another model now than the one that made the vectors"
                return [Problem(what, Cure.SWITCH_MODEL)]
        return self._replaced(known)

    def _replaced(self, known: ModelInfo) -> list[Problem]:
        """Return a problem if the known model's name refers to another model; an unavailable endpoint is none."""
        from rifflux.session.vectors import change_of

        with suppress(ModelError):
            embedder = self.view.embedder.hurried
            if embedder.fingerprint == known.fingerprint and (what := change_of(self.view.session.store, embedder)):
                return [Problem(what, Cure.SWITCH_MODEL)]
        return []

    def repair(self, progress: Progress | None = None) -> Repaired:
        """Rebuild what can be rebuilt: rows, the word index, vectors. Other problems are reported.

        A database that cannot be opened or read is rebuilt by `rifflux.repair`.
        """
        from rifflux.ingest.prepare import analysis_of

        mended = self.view.store.mend(analysis_of(self.view.profile.analyzer))
        done = [*mended.done, *self._rebuild(mended.incomplete), *self._make_vectors(progress)]
        return Repaired(tuple(done), tuple(self.check()))

    def _rebuild(self, documents: Sequence[tuple[str, str, str]]) -> list[str]:
        """Chunk documents again that lack chunks; they have no file, so their stored text is the only source."""
        from rifflux.ingest.chunking import blocks_of

        for owner, namespace, key in documents:
            view = self.view.store.of(owner)
            document = view.catalog.document(namespace, key)
            if document:
                prepare = replace(self.view, store=view).preparer
                view.catalog.write(Placed(namespace, prepare(namespace, document, blocks_of(document), document.key)))
        if documents:
            return [f"{len(documents)} documents lacked chunks: chunked their text again"]
        return []

    def _make_vectors(self, progress: Progress | None) -> list[str]:
        """Embed chunks without a vector, if there are vectors at all and their model is available."""
        from rifflux.ingest.embed import embed_pending
        from rifflux.session.vectors import confirm

        if self.view.store.semantic.model() is None:
            return []
        try:
            confirm(self.view.session.store, self.view.session.confirmed, self.view.embedder)
            embedded = sum(embed_pending(view, self.view.embedder, progress) for view in self.view.store.views())
        except ModelError as error:
            return [f"no vectors were made: {error}"]
        if embedded:
            return [f"{embedded} chunks had no vector: embedded them"]
        return []

    def backup(self, path: str | Path, *, force: bool = False, progress: Progress | None = None) -> Copied:
        """Copy a snapshot of the index to a file, while others read and write.

        The copy appears once it is complete and checked. `force` replaces an existing file. Raises `InvalidArgument`
        for a path that must not be written, and `UnusableIndex` if writing fails. A state file is copied next to it.
        """
        start = time.perf_counter()
        target = Path(path).expanduser()
        files = self.view.store.local
        if files is None:
            raise InvalidArgument("this index is not a file: copy it by the means of its engine")
        files.backup(target, force=force, progress=progress)
        if files.state:
            state = f"{target}.state"
        else:
            state = ""
        return Copied(str(target), target.stat().st_size, round(time.perf_counter() - start, 3), state)

    def models(self) -> list[Generation]:
        """Return the models whose vectors the index contains: the one in use, one being built, then former ones."""
        return self.view.store.semantic.generations.all()

    def switching(self) -> Generation | None:
        """Return the generation whose building is in progress or was interrupted, or None."""
        return next((each for each in self.models() if each.state == State.BUILDING), None)

    def switch(self, model: Model, *, threads: int | None = None, progress: Progress | None = None) -> Switched:
        """Embed every chunk with another model, then search with its vectors.

        Meanwhile searches use the old ones and the index may be changed; the switch itself is one transaction. The next
        call resumes an interrupted switch, and `abort_switch` drops it. Raises `InvalidArgument` while the index is
        being switched to a third model.
        """
        from rifflux.ingest.embed import embed_pending
        from rifflux.ingest.sync import SWITCH, Turns
        from rifflux.models import load_embedder
        from rifflux.models.cores import stand_back
        from rifflux.models.guarded import GuardedEmbedder
        from rifflux.session.vectors import confirm, keep_probe, read_all_vectors

        start = time.perf_counter()
        embedder = GuardedEmbedder(load_embedder(model, threads=threads), self.view.calls)
        turns = Turns(self.view.store)
        generations = self.view.store.semantic.generations
        embedded = 0
        with turns(SWITCH):
            former = self.view.store.semantic.model()
            if former is None or former.fingerprint != embedder.fingerprint:
                if self.switching():
                    confirm(self.view.session.store, self.view.session.confirmed, embedder)
                else:
                    keep_probe(self.view.session.store, embedder)
                generations.begin(info_of(embedder))
                # Chunks added between the last vector and the switch need another round.
                while not generations.finish():
                    if self.switching() is None:
                        raise ModelError(f"the switch to {embedder.name} was aborted by another process")
                    for view in self.view.store.views():
                        embedded += embed_pending(view, embedder, progress, self._missing(), in_background=True)
            elif not self._tidy():
                raise InvalidArgument(f"the index already has vectors of {embedder.name}: there is nothing to switch")
            dropped = self._drop(progress)
            with ThreadPoolExecutor(1, initializer=stand_back) as behind:
                behind.submit(read_all_vectors, self.view.store, self.view.profile, embedder).result()
        seconds = round(time.perf_counter() - start, 3)
        name = former.name if former else embedder.name
        return Switched(name, embedder.name, embedded, dropped, seconds, tuple(turns.waited_for))

    def abort_switch(self) -> ModelInfo | None:
        """Abort a switch and drop its vectors; return the model, or None if no switch was in progress."""
        ended = self.view.store.semantic.generations.abort()
        self._drop(None)
        return ended

    def _missing(self) -> int:
        """Return the number of chunks without a vector of the model being built."""
        built = self.switching()
        if built:
            return built.chunks - built.vectors
        return 0

    def _tidy(self) -> bool:
        """Return True if an interrupted switch to the model in use is incomplete."""
        self.view.store.semantic.generations.abort()
        return any(each.state == State.RETIRED for each in self.models())

    def _drop(self, progress: Progress | None) -> int:
        total = sum(each.vectors for each in self.models() if each.state == State.RETIRED)
        dropped = 0
        while some := self.view.store.semantic.generations.drop(DROPPED_AT_ONCE):
            dropped += some
            if progress:
                progress("drop", dropped, total)
        return dropped
