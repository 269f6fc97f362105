"""Index: what a program holds. Opens a store, adds to it, searches it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from rifflux.errors import InvalidArgument, OutOfScope
from rifflux.retrieve.channels import LEXICAL
from rifflux.retrieve.query.expand import Synonyms, known_synonyms
from rifflux.session.embedding import DEFAULT_MODEL, CurrentEmbedder
from rifflux.session.profiles import Profile
from rifflux.session.profiles import profile as find_profile
from rifflux.session.writing import Adding
from rifflux.store import REVISION, Generation, Store, open_store
from rifflux.text.analyzer import REVISIONS, analyzer
from rifflux.types import Failure, Freshness, IndexReport, Scope

if TYPE_CHECKING:
    from rifflux.conversations import Conversations
    from rifflux.index.federated import Everything
    from rifflux.ingest.walk.find import Finder
    from rifflux.memories import Memories
    from rifflux.models import Embedder
    from rifflux.models.guarded import Guard
    from rifflux.models.workers import Workers
    from rifflux.retrieve.steps.rerank import RerankSettings
    from rifflux.session.policies import Policies
    from rifflux.works.catalog import WorksCatalog
    from rifflux.works.retrieval.retriever import Scholar

__all__ = ["DEFAULT_MODEL", "Index", "Status", "open_index"]


@dataclass(frozen=True, slots=True)
class Status:
    """What an index holds and how it is set up. `bytes` is the size of its file and log, 0 in memory and in a scope.

    `switching` is the generation of vectors that is built while the index is being switched to another model.
    `freshness` says how far it may be behind its files, `degraded` why answers are not what they could be.
    """

    path: str
    documents: int
    chunks: int
    embedded_chunks: int
    files: int
    embedding_model: str
    embedding_backend: str
    roots: tuple[str, ...]
    schema_version: int
    profile: str
    language: str
    facets: tuple[str, ...]
    bytes: int
    read_only: bool
    unreadable_files: tuple[Failure, ...]
    switching: Generation | None = None
    freshness: Freshness | None = None
    degraded: tuple[str, ...] = ()


def open_index(
    path: str | Path,
    *,
    create: bool = True,
    profile: str | Profile = "files",
    model: str | Embedder | None = None,
    threads: int | None = None,
    rerankers: RerankSettings | None = None,
    synonyms: str | Path | None = None,
    intents: Mapping[str, Mapping[str, Any]] | None = None,
    neighbours: str = "scan",
) -> Index:
    """Open the index at `path`, or make it if `create`; `:memory:` is one that vanishes when closed.

    `model` names the embedder (see `rifflux.models.load_embedder`), or is one; without it, the one whose vectors
    the index holds, else the bundled one. `threads` limits the processor threads that embedding takes.
    `rerankers` says where the models of rerankers are, `synonyms` is a file of words that stand for each other (see
    `rifflux.retrieve.query.expand`), `intents` what to change of how works are retrieved (see
    `rifflux.works.retrieval.settings`).
    `neighbours="hnsw"` searches very many vectors along a graph (see `store/sqlite/hnsw.py`).
    Raises `NotFound`, `InvalidArgument`, `NotAnIndex`, `NewerIndex` or `DamagedIndex`.
    """
    chosen = find_profile(profile)
    if intents:
        from rifflux.works.retrieval.settings import adjusted

        adjusted(intents)  # what is wrong with them is told before anything is opened
        chosen = replace(chosen, intents=intents)
    store = open_store(path, create=create, neighbours=neighbours)
    try:
        chosen = _settled(store, chosen, explicit=isinstance(profile, Profile))
        load = CurrentEmbedder(store, model, threads)
        known = known_synonyms(synonyms, analyzer(chosen.language, chosen.mathematics))
        return Index(store, chosen, str(path), load, rerankers, known)
    except BaseException:
        store.close()
        raise


#: What the terms of an index depend on, with the value that it had before it was recorded.
_ANALYSIS = {"language": "english", "mathematics": "latex"}


def _settled(store: Store, profile: Profile, *, explicit: bool) -> Profile:
    """The profile with the analysis that the index was built with: its terms were made so."""
    if store.registry.setting("language") is None:
        if not store.read_only:
            for name in _ANALYSIS:
                store.registry.set(name, getattr(profile, name))
            store.registry.set(REVISION, str(REVISIONS[profile.mathematics]))
        return profile
    known = {name: store.registry.setting(name) or former for name, former in _ANALYSIS.items()}
    for name, value in known.items():
        if explicit and getattr(profile, name) != value:
            raise InvalidArgument(
                f"the index was built with {name}={value!r}, not {getattr(profile, name)!r}: open it with that, "
                "or make a new one"
            )
    facets, fusion = store.registry.setting("facets"), store.registry.setting("fusion")
    if fusion and not explicit:
        from rifflux.retrieve.fuse.stored import load_fusion

        profile = replace(profile, fusion=load_fusion(fusion))
    if (weights := store.registry.setting("features")) and not explicit:
        from rifflux.retrieve.steps.rerank.stored import load_weights

        profile = replace(profile, features=load_weights(weights))
    profile = replace(profile, language=known["language"], mathematics=known["mathematics"])
    return replace(profile, facets=tuple(facets.split(",")) if facets else profile.facets)


def _bytes(path: str) -> int:
    """The size of an index file with its log, into which everything is written first; 0 in memory."""
    files = [Path(path), Path(f"{path}-wal")]
    return sum(file.stat().st_size for file in files if file.is_file())


def _shortcomings(counts: Mapping[str, int], freshness: Freshness) -> Iterator[str]:
    """What is behind, one sentence each."""
    if waiting := counts["chunks"] - counts["embedded_chunks"]:
        yield f"{waiting} of {counts['chunks']} chunks have no vector yet"
    if freshness.note:
        yield freshness.note
    for root in freshness.missing_roots:
        yield f"{root} is gone, or not mounted: its files stay as they were read"


def _no_rerankers() -> RerankSettings:
    from rifflux.retrieve.steps.rerank import RerankSettings

    return RerankSettings()


def _workers() -> Workers:
    """What runs the stages that may hang; made when first needed, for a search by words needs none."""
    from rifflux.models.workers import Workers

    return Workers()


def _guarded(embedder: Embedder, guard: Guard) -> Embedder:
    from rifflux.models.guarded import GuardedEmbedder

    return GuardedEmbedder(embedder, guard)


class Index(Adding):
    """An open index. A context manager; safe to share between threads."""

    def __init__(
        self,
        store: Store,
        profile: Profile,
        path: str,
        load: Callable[[], Embedder],
        rerankers: RerankSettings | None = None,
        synonyms: Synonyms | None = None,
    ) -> None:
        super().__init__(store, profile, load, rerankers, synonyms)
        self.path = path
        self._workers = cache(_workers)

    def __enter__(self) -> Index:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the index; everything it was told is on disk already."""
        self.store.close()

    def using(self, profile: Profile) -> Index:
        """This same index asked through another profile; closing either closes both."""
        made = self._view(profile=profile)
        made._sampler = self._sampler
        return made

    def _view(
        self,
        store: Store | None = None,
        profile: Profile | None = None,
        load: Callable[[], Embedder] | None = None,
        rerankers: RerankSettings | None = None,
    ) -> Index:
        """This index with something else about it. What hangs in one view is counted in all of them."""
        made = Index(
            store or self.store,
            profile or self.profile,
            self.path,
            load or self._load,
            rerankers or self._reranking,
            self._synonyms,
        )
        made._workers = self._workers
        return made

    def scoped(self, scope: Scope) -> Index:
        """This same index as one user has it: nothing of anybody else is found, counted or changed.

        It lives as long as the index it comes from; closing it closes nothing. Raises `OutOfScope` for another user's
        scope where the index is scoped already.
        """
        if not isinstance(scope, Scope):
            raise InvalidArgument(f"a scope is needed, such as Scope('ann'), not {scope!r}")
        return self._view(self.store.of(scope.user_id))

    def part(self, name: str, profile: Profile) -> Index:
        """What is kept apart under a name, with statistics of its own, asked through a profile."""
        profile = replace(profile, language=self.profile.language)
        return self._view(self.store.part(name), profile)

    def guarded(self, guard: Guard) -> Index:
        """This same index with every call of a model passing a guard: counted, refused, given up when late."""
        rerankers = replace(self._reranking or _no_rerankers(), guard=guard)
        # Anew at every call: what is loaded changes when the index is switched to another model.
        return self._view(load=lambda: _guarded(self._load(), guard), rerankers=rerankers)

    def watch(
        self, *, embed: bool = True, finder: Finder | None = None, stop: threading.Event | None = None
    ) -> Iterator[IndexReport]:
        """Bring the index up to date, then follow its files: what is saved is found within a second.

        Gives a report of the first run, and then of each time that something was done, until `stop` is set. A folder
        that vanishes, such as a disk that is unmounted, stays in the index and is read again when it is back.
        """
        from rifflux.ingest.walk.find import Finder
        from rifflux.session.watching import Following

        return iter(Following(self, self.path, finder or Finder(), embed, stop or threading.Event()))

    # What it holds

    @property
    def conversations(self) -> Conversations:
        """The conversations of the user whose scope this is. Raises `OutOfScope` where the index is nobody's."""
        from rifflux.conversations import Conversations
        from rifflux.conversations.profile import CONVERSATIONS

        if self.scope is None:
            raise OutOfScope("conversations belong to a user: ask for index.scoped(Scope('ann')).conversations")
        part = self.part(CONVERSATIONS.name, CONVERSATIONS)
        return Conversations(part, self.policies, part.embed, part.embed_changes)

    @property
    def policies(self) -> Policies:
        """What an administrator decides for everybody, such as whether conversations are searched by meaning too."""
        from rifflux.session.policies import Policies

        return Policies(self.store)

    @property
    def works(self) -> WorksCatalog:
        """The research works of the index: importing them, looking them up, and likely duplicates."""
        from rifflux.works.catalog import WorksCatalog

        return WorksCatalog(self.store, self._preparer, self.embed)

    @property
    def retrieve(self) -> Scholar:
        """Retrieval of research works with evidence: call it with a question."""
        from rifflux.works.profile import WORKS
        from rifflux.works.retrieval.retriever import Scholar
        from rifflux.works.retrieval.settings import adjusted

        # Its words were analyzed so, whatever suits works best.
        asking = self.using(replace(WORKS, language=self.profile.language, mathematics=self.profile.mathematics))
        return Scholar(asking, intents=adjusted(self.profile.intents), workers=self._workers())

    @property
    def memories(self) -> Memories:
        """What is remembered of the user whose view this is: saving, recalling, forgetting."""
        from rifflux.memories import Memories
        from rifflux.memories.profile import MEMORIES

        asking = self.part(MEMORIES.name, MEMORIES)
        return Memories(asking, asking._put_at_once)

    @property
    def everything(self) -> Everything:
        """All that is there, asked at once: knowledge, files, notes, tasks and conversations, each in its own list."""
        from rifflux.conversations.profile import CONVERSATIONS
        from rifflux.index.federated import Everything
        from rifflux.models.guarded import AskedOnce
        from rifflux.session.policies import HYBRID_SEARCH

        load = cache(lambda: AskedOnce(self._load()))
        once = self._view(load=load)
        if self.scope is None:
            return Everything(once)
        modes = {} if self.policies.get(HYBRID_SEARCH) else {CONVERSATIONS.name: LEXICAL}
        return Everything(once, parts={CONVERSATIONS.name: once.part(CONVERSATIONS.name, CONVERSATIONS)}, modes=modes)

    # Looking after it

    def status(self) -> Status:
        """What the index holds and how it is set up."""
        counts, model = self.store.counts(), self.store.semantic.model()
        freshness = self._sampler.now()
        roots = self.store.catalog.roots()
        states = [(root, state) for root in roots for state in self.store.catalog.files(root).values() if state.problem]
        return Status(
            path=self.path,
            documents=counts["documents"],
            chunks=counts["chunks"],
            embedded_chunks=counts["embedded_chunks"],
            files=counts["files"],
            embedding_model=model.name if model else self.embedder.name,
            embedding_backend=model.backend if model else self.embedder.backend,
            roots=tuple(roots),
            schema_version=self.store.schema_version,
            profile=self.profile.name,
            language=self.profile.language,
            facets=self.profile.facets,
            # The size of the file tells how much others hold.
            bytes=0 if self.scope else _bytes(self.path),
            read_only=self.store.read_only,
            unreadable_files=tuple(Failure(f"{root}/{state.path}", state.problem or "") for root, state in states),
            switching=None if self.scope else self.switching(),
            freshness=freshness,
            degraded=(*self.outdated, *_shortcomings(counts, freshness), *self.store.troubles()),
        )

    def declare_facets(self, *names: str) -> None:
        """Let queries name these metadata fields as `field:value`; kept in the index."""
        for name in names:
            if not name.isidentifier():
                raise InvalidArgument(f"{name!r} cannot be a facet: use letters, digits and underscores")
        self.store.registry.set("facets", ",".join(names))
        self.profile = replace(self.profile, facets=names)
