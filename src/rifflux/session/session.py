"""What an open index shares, and the views of it: a user's, a part's, through another profile, behind a guard."""

from __future__ import annotations

import json
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property, partial
from itertools import filterfalse
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from rifflux.errors import InvalidArgument, ModelError, ModelMismatch, RiffluxError
from rifflux.retrieve.query.expand import Synonyms
from rifflux.retrieve.steps.calibrate import Calibration, calibration_of
from rifflux.session.profile import Profile
from rifflux.store import PART, REVISION, FileState, ModelInfo, Store
from rifflux.types import Freshness, Scope

if TYPE_CHECKING:
    from rifflux.ingest.prepare import Preparer
    from rifflux.models import Embedder
    from rifflux.models.guarded import Guard
    from rifflux.models.workers import Workers
    from rifflux.retrieve.scale import VectorScale
    from rifflux.retrieve.steps.rerank import RerankSettings, Resources
    from rifflux.session.visibility import Visibility

__all__ = [
    "DEFAULT_MODEL",
    "CurrentEmbedder",
    "IndexView",
    "Kept",
    "Sampler",
    "Session",
    "info_of",
    "note_synced",
    "synced",
]

T = TypeVar("T")

DEFAULT_MODEL = "all-MiniLM-L6-v2"
_SYNCED = "synced"
#: Files looked at each time, and for `status`.
FEW, MANY = 50, 1000
#: Seconds between two looks.
PAUSE = 5.0
#: A look begins this many seconds after the search that asked for it, which should be done by then.
LATER = 0.02


@dataclass
class Kept:
    """Keep values by key, the least recently used of more than `most` forgotten. Safe to share between threads.

    Threads that ask for one key wait for the first of them to make its value; other keys are not held up.
    """

    most: int = 1024
    _made: OrderedDict[Hashable, _Once] = field(default_factory=OrderedDict, init=False, repr=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False, repr=False)

    def __call__(self, key: Hashable, make: Callable[[], T]) -> T:
        """Return the value of a key, made when first asked for. An error of `make` is not kept."""
        with self._lock:
            once = self._made.setdefault(key, _Once())
            self._made.move_to_end(key)
            if len(self._made) > self.most:
                self._made.popitem(last=False)
        if not once.value:
            with once.lock:
                if not once.value:
                    once.value.append(make())
        value: T = once.value[0]
        return value


@dataclass(frozen=True, slots=True)
class _Once:
    """One value, made by the first thread that needs it."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    value: list[Any] = field(default_factory=list)


@dataclass
class CurrentEmbedder:
    """Gives the embedder, loaded when first needed. Safe to share between threads.

    Without a choice it follows the store: when another process switches the index to another model, that one is
    loaded. One that was chosen stays, and does not fit then.
    """

    store: Store
    choice: str | Embedder | None = None
    threads: int | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False, repr=False)
    _loaded: Embedder | None = field(default=None, init=False, repr=False)
    _loaded_for: str | None = field(default=None, init=False, repr=False)

    def __call__(self) -> Embedder:
        """Return the embedder. Raises `ModelError` where it cannot be loaded."""
        known = self.store.semantic.model() if self.choice is None else None
        wanted = known.fingerprint if known else None
        with self._lock:
            # Before the first vectors are stored there is nothing to follow, and what was loaded is what makes them.
            if self._loaded is None or (wanted and self._loaded_for != wanted != self._loaded.fingerprint):
                self._loaded = self._load(known)
                self._loaded_for = wanted
            return self._loaded

    def _load(self, known: ModelInfo | None) -> Embedder:
        from rifflux.models.embedder import CUSTOM, load_embedder

        if known and known.backend == CUSTOM:
            raise ModelError(
                f"the vectors are by {known.name}, a model of a program's own: "
                "open the index with model=, or choose another one with 'rifflux models switch'"
            )
        choice = known.spec if known else self.choice
        return load_embedder(DEFAULT_MODEL if choice is None else choice, threads=self.threads)


@dataclass
class Sampler:
    """Looks at some files of a store. The first search waits for it, a millisecond; later ones get what is known."""

    store: Store
    _latest: Freshness | None = field(default=None, init=False)
    _due: float = field(default=0.0, init=False)

    def latest(self) -> Freshness | None:
        """Return the latest finding; None if there can be none. Takes microseconds, but for the first time."""
        now = time.monotonic()
        if now >= self._due:
            self._due = now + PAUSE
            if self._latest is None:
                self._look()
            else:
                threading.Timer(LATER, self._look).start()
        return self._latest

    def now(self) -> Freshness:
        """Return the finding of a look at many files."""
        found = _look(self.store, MANY)
        self._latest, self._due = found, time.monotonic() + PAUSE
        return found

    def _look(self) -> None:
        with suppress(RiffluxError):  # the index was closed meanwhile, or nobody may read it any more
            self._latest = _look(self.store, FEW)


def synced(store: Store) -> Mapping[str, float]:
    """Return the moment of the last look at each root as a whole, in seconds since 1970."""
    found: dict[str, float] = {}
    for each in store.members():
        found |= json.loads(each.registry.setting(_SYNCED) or "{}")
    return found


def note_synced(store: Store, roots: Iterable[str], time: float) -> None:
    """Note that roots are as they were at a moment."""
    if not store.read_only:
        known = {root: at for root, at in synced(store).items() if Path(root).exists()}
        store.registry.set(_SYNCED, json.dumps(known | dict.fromkeys(roots, time), ensure_ascii=False), content=False)


def _look(store: Store, number: int) -> Freshness:
    total, sampled = store.catalog.some_files(number)
    last, there, folders, changed = synced(store), dict[str, bool](), set[tuple[str, Path]](), 0
    for root, state in sampled:
        if root not in there:
            there[root] = Path(root).exists()
        if there[root]:
            path = Path(root, state.path)
            folders.add((root, path.parent))
            changed += _differs(path, state)
    oldest = min(last.values(), default=None)
    return Freshness(
        files=total,
        sampled_files=len(sampled),
        changed_files=round(changed / len(sampled) * total) if changed else 0,
        changed_folders=_touched(folders, last),
        synced_at=None if oldest is None else datetime.fromtimestamp(oldest, UTC).isoformat(timespec="seconds"),
        missing_roots=tuple(sorted(filterfalse(there.__getitem__, there))),
    )


def _differs(path: Path, state: FileState) -> bool:
    """Return True if a file is not as it was read, or gone."""
    try:
        status = path.stat()
    except OSError:
        return True
    return (status.st_size, status.st_mtime_ns) != (state.size, state.mtime_ns)


def _touched(folders: Iterable[tuple[str, Path]], last: Mapping[str, float]) -> int:
    """Count the folders in which something came or went since their root was last looked at as a whole."""
    touched = 0
    for root, folder in folders:
        with suppress(OSError):
            touched += root in last and folder.stat().st_mtime > last[root]
    return touched


class Session:
    """What one open index shares: its store, models, caches and workers. Safe to share between threads.

    `load` gives the embedder of the moment. `reranking` says where the models of rerankers are, `synonyms` which words
    stand for each other; `now` is the clock, in seconds since 1970.
    """

    def __init__(
        self,
        store: Store,
        path: str,
        load: Callable[[], Embedder],
        reranking: RerankSettings | None = None,
        synonyms: Synonyms | None = None,
        now: Callable[[], float] = time.time,
    ) -> None:
        self.store = store
        self.path = path
        self.load = load
        self.reranking = reranking
        self.synonyms = synonyms
        self.now = now
        self.models = Kept()
        self.kept = Kept()
        self.facets: dict[tuple[str, str], _Facets] = {}
        self._lock = threading.Lock()

    @property
    def has_llm(self) -> bool:
        """Return whether the settings name a chat model that can rerank."""
        return bool(self.reranking and self.reranking.llm_url and self.reranking.llm_model)

    @cached_property
    def workers(self) -> Workers:
        """Return the threads of stages that may hang; made when first needed, for a search by words needs none."""
        from rifflux.models.workers import Workers

        return Workers()

    def declare_facets(self, user: str, profile: Profile, names: tuple[str, ...]) -> None:
        """Give a profile other facets, in all views of a user; those of nobody are everybody's."""
        with self._lock:
            known = self.facets.get((user, profile.name), _Facets(frozenset(), ()))
            self.facets[user, profile.name] = _Facets(known.former | {profile.facets, names}, names)


@dataclass(frozen=True, slots=True)
class _Facets:
    """The facets of a profile: those that it had, and those that it has now."""

    former: frozenset[tuple[str, ...]]
    now: tuple[str, ...]


@dataclass(frozen=True)
class IndexView:
    """A session with the owner's part of its store, the profile and the guard that a caller sees it through.

    `load` gives another embedder than the session's, already guarded.
    """

    session: Session
    store: Store
    profile: Profile
    guard: Guard | None = None
    load: Callable[[], Embedder] | None = None

    def of(self, scope: Scope) -> IndexView:
        """Return one user's view. Raises `OutOfScope` from the view of another."""
        if not isinstance(scope, Scope):
            raise InvalidArgument(f"a scope is needed, such as Scope('ann'), not {scope!r}")
        return replace(self, store=self.store.of(scope.user_id))

    def part(self, name: str, profile: Profile) -> IndexView:
        """Return the view of a part that is kept under a name, with statistics of its own."""
        return replace(self, store=self.store.part(name), profile=replace(profile, language=self.profile.language))

    @property
    def visible(self) -> Visibility:
        """Return the rule of what this owner is shown, by the policies of the moment."""
        return self.profile.visible.of(self.store)

    @cached_property
    def user(self) -> str:
        """Return the user whose view this is, empty where it is nobody's in particular."""
        return self.store.owner.partition(PART)[0]

    @property
    def scope(self) -> Scope | None:
        """Return the scope of that user, None where there is none."""
        return Scope(self.user) if self.user else None

    @property
    def embedder(self) -> Embedder:
        """Return the embedder, loaded when first needed; another one after a switch of the index to its model."""
        if self.load:
            return self.load()
        embedder = self.session.load()
        if self.guard is None:
            return embedder
        from rifflux.models.guarded import GuardedEmbedder

        return GuardedEmbedder(embedder, self.guard)

    @property
    def outdated(self) -> list[str]:
        """Return a notice if another revision of the analyzer made the stored terms."""
        revision = self.profile.analyzer.revision
        if revision == 1 or int(self.store.registry.policy(REVISION) or 1) == revision:
            return []
        return ["the index was made by another version of the analyzer: run 'rifflux doctor --repair'"]

    @property
    def facets(self) -> tuple[str, ...]:
        """Return the metadata fields that queries may name as `field:value`.

        They are the profile's, or those that the user, or else nobody in particular, declared since it was made.
        """
        for owner in (self.user, ""):
            declared = self.session.facets.get((owner, self.profile.name))
            if declared and self.profile.facets in declared.former:
                return declared.now
        return self.profile.facets

    @cached_property
    def sampler(self) -> Sampler:
        """Return the sampler of the owner's files."""
        return self.session.kept(("sampler", self.store.owner), partial(Sampler, self.store))

    @property
    def resources(self) -> Resources:
        """Return the parts of this view that rerankers use."""
        from rifflux.retrieve.steps.rerank import RerankSettings, Resources

        settings = self.session.reranking or RerankSettings()
        return Resources(
            self.profile.analyzer,
            lambda: self.embedder,
            self.store.lexical.document_frequencies,
            lambda: self.store.counts()["chunks"],
            self.store.semantic.vectors_of,
            replace(settings, guard=self.guard) if self.guard else settings,
            self.profile.features,
            self.session.models,
        )

    @property
    def calibration(self) -> Calibration | None:
        """Return the calibration that is stored with the model of the moment; read once for each."""
        embedder = self.session.load()
        return self.session.models(("calibration", embedder.fingerprint), partial(calibration_of, embedder))

    @property
    def scale(self) -> VectorScale | None:
        """Return the scale of the owner's vectors, None where nothing is known; read once for each state of them."""
        from rifflux.session.vectors import ScaleCache

        cache = self.session.kept(("scale", self.store.owner), partial(ScaleCache, self.store))
        return cache(self.session.load)

    def kept(self, name: Hashable, make: Callable[[], T]) -> T:
        """Return what is made once for this owner, guard and profile, such as a reranker's state."""
        profile = self.profile
        weights = tuple(sorted(profile.features.items()))
        key = (name, self.store.owner, self.guard, profile.language, profile.mathematics, weights)
        return self.session.kept(key, make)

    @property
    def preparer(self) -> Preparer:
        """Return the function that chunks and analyzes documents."""
        from rifflux.ingest.prepare import Preparer

        return Preparer(self.profile.analyzer, self.profile.chunker, self.embedder.count_tokens, self.store.owner)

    def again_if_switched(self, work: Callable[[], T]) -> T:
        """Do something with the index's model; once more if the index was switched to another one meanwhile."""
        try:
            return work()
        except ModelMismatch:
            # One that was chosen does not fit the second time either.
            return work()


def info_of(model: Embedder) -> ModelInfo:
    """Return the facts of an embedder that an index keeps."""
    spec = getattr(model, "spec", model.name)
    return ModelInfo(model.name, model.backend, model.dimension, model.fingerprint, spec)
