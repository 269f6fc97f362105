"""The shared state of an open index, and its views: of a user, of a part, with another profile, or with a guard."""

from __future__ import annotations

import math
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial, wraps
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Protocol, TypeVar

from rifflux.errors import Cure, InvalidArgument, ModelMismatch, OutOfScope
from rifflux.retrieve.query.expand import Synonyms
from rifflux.retrieve.steps.calibrate import Calibration, calibration_of
from rifflux.service.collections import Rights, Sharing
from rifflux.service.registry import Registry
from rifflux.session.freshness import Sampler
from rifflux.session.profile import Profile
from rifflux.store import PART, REVISION, Store
from rifflux.types import Freshness, Hit, Notice, Scope, Vectors, visible_namespace
from rifflux.types.limits import READER_LIMITS, ReaderLimits

if TYPE_CHECKING:
    from rifflux.ingest.prepare import Preparer
    from rifflux.models import Embedder
    from rifflux.models.chat import ChatModel
    from rifflux.models.guarded import Guard, GuardedEmbedder, ModelCallFailed
    from rifflux.models.workers import Workers
    from rifflux.retrieve.scale import VectorScale
    from rifflux.retrieve.steps.rerank import RerankSettings, Resources
    from rifflux.service.usage import Ledger
    from rifflux.session.license_policy import LicensePolicy

T = TypeVar("T")
P = ParamSpec("P")
R = TypeVar("R")
Part = TypeVar("Part")


@dataclass
class ValueCache:
    """A cache of values by key that evicts the least recently used beyond `most`. Safe to share between threads.

    Threads that request the same key wait for the first of them to create its value; other keys are not blocked.
    """

    most: int = 1024
    _made: OrderedDict[Hashable, _Once] = field(default_factory=OrderedDict, init=False, repr=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False, repr=False)

    def __call__(self, key: Hashable, make: Callable[[], T]) -> T:
        """Return the value of a key, created when first needed. An error of `make` is not cached."""
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
    """A value created by the first thread that needs it."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    value: list[Any] = field(default_factory=list)


class Session:
    """The shared state of an open index: store, models, caches and workers. Safe to share between threads.

    `load` returns the current embedder. `reranking` configures the models of rerankers, `synonyms` are the synonym
    rules; `limits` are those of model calls, and `chat` writes answers. `now` is the clock, in seconds since 1970.
    `reader_limits` are those of reading a file. `language` is the default language of new content, empty for the
    index's.
    """

    def __init__(
        self,
        store: Store,
        path: str,
        load: Callable[[], Embedder],
        reranking: RerankSettings | None = None,
        synonyms: Synonyms | None = None,
        limits: CallLimits | None = None,
        chat: ChatModel | None = None,
        now: Callable[[], float] = time.time,
        language: str = "",
        reader_limits: ReaderLimits = READER_LIMITS,
    ) -> None:
        self.store = store
        self.path = path
        self.load = load
        self.reranking = reranking
        self.synonyms = synonyms
        self.limits = limits or CallLimits()
        self.chat = chat
        self.now = now
        self.language = language
        self.reader_limits = reader_limits
        self.models = ValueCache()
        self.cache = ValueCache()
        self.confirmed: set[str] = set()
        self.facets: dict[tuple[str, str], _Facets] = {}
        self._lock = threading.Lock()

    @property
    def has_llm(self) -> bool:
        """Return True if the settings name a chat model for reranking."""
        return bool(self.reranking and self.reranking.llm_url and self.reranking.llm_model)

    @cached_property
    def guard(self) -> Guard:
        """Return the guard of all model calls."""
        from rifflux.models.guarded import Guard

        return Guard(self.limits.question_s)

    @cached_property
    def ledger(self) -> Ledger:
        """Return the ledger of the cost of model calls."""
        from rifflux.service.usage import Ledger

        records = self.store.records
        budget = self.limits.budget or math.inf
        return Ledger(Registry(self.store), self.limits.prices, budget, read_only=records.read_only, now=self.now)

    def close(self) -> None:
        """Write the pending ledger entries; nothing is recorded afterwards."""
        if "ledger" in vars(self):
            self.ledger.close()

    @cached_property
    def workers(self) -> Workers:
        """Return the threads for stages that may hang, created on demand: a search by words needs none."""
        from rifflux.models.workers import Workers

        return Workers()

    def declare_facets(self, user: str, profile: Profile, names: tuple[str, ...]) -> None:
        """Set the facets of a profile in all views of a user; those without a user apply to every user."""
        with self._lock:
            known = self.facets.get((user, profile.name), _Facets(frozenset(), ()))
            self.facets[user, profile.name] = _Facets(known.former | {profile.facets, names}, names)


@dataclass(frozen=True, slots=True)
class CallLimits:
    """The limits of model calls: seconds per query, and the monthly budget of each user (0: unlimited).

    `prices` are per million tokens, by model name.
    """

    question_s: float = 2.0
    prices: Mapping[str, float] = field(default_factory=dict)
    budget: float = 0.0


@dataclass(frozen=True, slots=True)
class _Facets:
    """The facets of a profile: former ones and the current ones."""

    former: frozenset[tuple[str, ...]]
    now: tuple[str, ...]


@dataclass(frozen=True)
class IndexView:
    """A view of a session: an owner's part of its store, and the profile of the caller.

    `stopped` receives failed model calls, `payer` pays for calls instead of the user, and `load` returns another
    embedder, already guarded. `user` is the user of the view, empty for none; an `administrator` also has documents
    without an owner. `store` is written to; the stores to read from are found by `reading`, which sets `labels`, the
    caller's name of each owner's collection, and `mine`, the caller's own owners. `shared` is what searches of the view
    share, by key.
    """

    session: Session
    store: Store
    profile: Profile
    stopped: Callable[[ModelCallFailed], None] | None = None
    payer: str | None = None
    load: Callable[[], GuardedEmbedder] | None = None
    user: str = ""
    administrator: bool = False
    labels: Mapping[str, str] = field(default_factory=dict)
    mine: frozenset[str] = frozenset()
    is_part: bool = False
    shared: dict[Hashable, Any] = field(default_factory=dict, init=False, repr=False, compare=False)

    def of(self, scope: Scope) -> IndexView:
        """Return the view of a scope's user. Raises `OutOfScope` from another user's view."""
        if not isinstance(scope, Scope):
            raise InvalidArgument(f"scope must be a Scope, such as Scope('ann'), not {scope!r}")
        user = scope.user_id
        administrator = scope.administrator
        if self.user and administrator and not self.administrator:
            raise OutOfScope(f"{user!r} is not an administrator here: open the index without a scope for that")
        return replace(self, store=self.store.of(user), user=user, administrator=administrator)

    def part(self, name: str, profile: Profile) -> IndexView:
        """Return the view of a named part, with statistics of its own."""
        profile = replace(profile, language=self.profile.language)
        store = self.store.of(*(f"{owner}{PART}{name}" for owner in self.store.owners))
        return replace(self, store=store, profile=profile, is_part=True)

    @property
    def rights(self) -> Rights:
        """Return the caller's rights to see, change and share collections."""
        sharing = Sharing(self.session.store, self.session.store.records)
        return Rights(sharing, self.user, self.administrator, self.session.now)

    def reading(self, collections: Sequence[str] = ()) -> IndexView:
        """Return a read-only view of all documents that the caller may read, or of some collections.

        A part, such as a user's messages, is in no collection. Raises `NotFound` for a collection that the caller
        cannot see.
        """
        if self.is_part or (self.labels and not collections):
            return self
        moment = None if collections else self.session.store.moment
        known: tuple[object, IndexView] | None = vars(self).get("_read")
        if known and moment is not None and known[0] == moment:
            return known[1]
        found = self.rights.visible(collections)
        labels = {each.record.owner: each.label for each in found}
        mine = {each.record.owner for each in found if each.owned}
        store = self.session.cache(("united", *labels), partial(self.session.store.of, *labels))
        view = replace(self, store=store, labels=labels, mine=frozenset(mine))
        if moment is not None and self.session.store.moment == moment:
            # Kept, with what is derived from it, until anything is written.
            vars(self)["_read"] = moment, view
        return view

    def writing(self, collection: str = "", *, create: bool = False) -> IndexView:
        """Return the view that writes to a collection, by default the caller's library. See `Rights.writable`."""
        if not collection:
            return self
        return replace(self, store=self.session.store.of(self.rights.writable(collection, create=create).owner))

    @property
    def nothing(self) -> Notice | None:
        """Return a notice on why an empty view is empty, or None for a part."""
        if self.is_part:
            return None
        if not self.user:
            return Notice("index.empty", "nothing is indexed yet", Cure.ADD)
        text = f"nothing belongs to {self.user}, and nothing is shared with {self.user}"
        return Notice("scope.empty", text, Cure.GIVE, {"user": self.user})

    def language_of(self, *chosen: str) -> str:
        """Return the first language given, else the default for new content; empty for the index's language.

        Raises `InvalidArgument` for an unknown language.
        """
        from rifflux.text.analyzer import checked_language

        found = next(filter(None, chosen), self.session.language)
        if not found or checked_language(found) == self.profile.language:
            return ""
        return found

    def owns(self, owner: str) -> bool:
        """Return True if an owner's documents are the caller's own rather than shared by another user."""
        return not self.labels or owner in self.mine

    def visible_roots(self, roots: Iterable[str]) -> tuple[str, ...]:
        """Return roots as the caller may see them: others' roots by folder name alone."""
        if all(self.owns(each) for each in self.labels):
            return tuple(roots)
        own = {root for owner in self.mine for root in self.session.store.of(owner).catalog.roots()}
        return tuple(dict.fromkeys(visible_namespace(root, owned=root in own) for root in roots))

    def redacted_hits(self, hits: Sequence[Hit]) -> list[Hit]:
        """Return hits as the caller may see them, each with its collection."""
        found = self.visible.hits(hits)
        if not self.labels:
            return found
        return [self.labelled(hit) for hit in found]

    def labelled(self, hit: Hit) -> Hit:
        """Return a hit with the name of its collection."""
        owner = self.store.owner if hit.owner is None else hit.owner
        label = self.labels.get(owner, "")
        if label:
            return hit.retold(collection=label, owned=owner in self.mine)
        return hit

    @property
    def visible(self) -> LicensePolicy:
        """Return the license policy for the caller, with the current policies of the index."""
        mine = self.mine if self.labels else frozenset(self.store.owners)
        return replace(self.profile.visible, store=self.store, mine=mine)

    @property
    def scope(self) -> Scope | None:
        """Return the scope of the view's user, or None without one."""
        if self.user:
            return Scope(self.user, self.administrator)
        return None

    @cached_property
    def calls(self) -> Guard:
        """Return the guard of model calls, with the user who pays for them."""
        guard = self.session.guard
        user = self.user if self.payer is None else self.payer
        return replace(guard, payer=self.session.ledger, user=user, stopped=self.stopped or guard.stopped)

    @property
    def embedder(self) -> GuardedEmbedder:
        """Return the embedder, loaded on demand; it changes when the index is switched to another model."""
        if self.load:
            return self.load()
        from rifflux.models.guarded import GuardedEmbedder

        return GuardedEmbedder(self.session.load(), self.calls)

    def question_vector(self, text: str, deadline: float | None) -> tuple[Vectors, str]:
        """Return a query's vector and the fingerprint of its model. Raises `ModelMismatch` and `ModelError`."""
        semantic = self.store.semantic
        known = semantic.model()
        embedder = self.embedder
        if known and known.fingerprint != embedder.fingerprint:
            known = semantic.model()  # the index may have been switched to this model meanwhile
        if known and known.fingerprint != embedder.fingerprint:
            from rifflux.session.vectors import info_of

            other = info_of(embedder, known.dimension).public_spec
            raise ModelMismatch(
                f"the vectors of the index are by the model {known.public_spec}, not by the chosen {other}",
                cure=Cure.SWITCH_MODEL,
                model=other,
            )
        dimension = known.dimension if known else embedder.dimension
        return embedder.question_vector(text, dimension, deadline), embedder.fingerprint

    @property
    def embedding_once(self) -> IndexView:
        """Return this view for the parts of one query: each text is embedded once, and none after a failure."""
        from rifflux.models.guarded import CachingEmbedder

        made: list[CachingEmbedder] = []

        def load() -> GuardedEmbedder:
            embedder = self.embedder
            if not made or made[0].inner is not embedder.inner:  # the index was switched to another model
                made[:] = [CachingEmbedder(embedder)]
            return made[0]

        return replace(self, load=load)

    @property
    def outdated(self) -> list[Notice]:
        """Return a notice if another revision of the analyzer created the stored terms."""
        revision = self.profile.analyzer.revision
        if revision == 1 or int(self.store.records.setting(REVISION, of_index=True) or 1) == revision:
            return []
        text = "the index was made by another version of the analyzer"
        return [Notice("analyzer.outdated", text, Cure.REPAIR)]

    @property
    def facets(self) -> tuple[str, ...]:
        """Return the metadata fields that queries may name as `field:value`.

        They are the profile's, or those that the user declared since, or those declared without a user.
        """
        for owner in (self.user, ""):
            declared = self.session.facets.get((owner, self.profile.name))
            if declared and self.profile.facets in declared.former:
                return declared.now
        return self.profile.facets

    @property
    def freshness(self) -> Freshness | None:
        """Return how far the index may lag behind its files, by the latest check of some of them."""
        found = self.sampler.latest()
        if found and found.missing_roots:
            return replace(found, missing_roots=self.visible_roots(found.missing_roots))
        return found

    def freshness_now(self) -> Freshness:
        """Return how far the index may lag behind its files, by checking many of them now."""
        found = self.sampler.now()
        return replace(found, missing_roots=self.visible_roots(found.missing_roots))

    @property
    def sampler(self) -> Sampler:
        """Return the sampler of the owner's files."""
        return self.session.cache(("sampler", self.store.owner), partial(Sampler, self.store))

    @property
    def resources(self) -> Resources:
        """Return the resources of this view for rerankers."""
        from rifflux.retrieve.steps.rerank import RerankSettings, Resources

        settings = self.session.reranking or RerankSettings()
        return Resources(
            self.profile.analyzer,
            lambda: self.embedder,
            settings,
            self.profile.tuning.features,
            self.session.models,
            self.calls,
        )

    @property
    def calibration(self) -> Calibration | None:
        """Return the calibration stored with the current model, cached per model."""
        embedder = self.session.load()
        return self.session.models(("calibration", embedder.fingerprint), partial(calibration_of, embedder))

    @property
    def scale(self) -> VectorScale | None:
        """Return the scale of the owner's vectors, or None if unknown; cached until they change."""
        from rifflux.session.vectors import ScaleCache

        cache = self.session.cache(("scale", self.store.owner), partial(ScaleCache, self.store))
        return cache(self.session.load)

    def cached(self, name: Hashable, make: Callable[[], T]) -> T:
        """Return a value cached for this user, guard and profile, such as a reranker with its cache."""
        profile = self.profile
        weights = tuple(sorted(profile.tuning.features.items()))
        key = (name, self.calls, profile.language, profile.mathematics, weights)
        return self.session.cache(key, make)

    @property
    def preparer(self) -> Preparer:
        """Return the function that chunks and analyzes documents."""
        from rifflux.ingest.prepare import Preparer

        return Preparer(self.profile.analyzer, self.profile.chunker, self.embedder.count_tokens, self.store.owner)

    def again_if_switched(self, work: Callable[[], T]) -> T:
        """Run work that needs the index's model, and repeat it if the index was switched to another model meanwhile."""
        try:
            return work()
        except ModelMismatch:
            # A model chosen by the caller does not fit the second time either.
            return work()


class Viewing(Protocol):
    """An object with a view of an index."""

    _view: IndexView


def delegated(
    part: Callable[[IndexView], Part], method: Callable[Concatenate[Part, P], R], *, at_once: bool = False
) -> Callable[Concatenate[Viewing, P], R]:
    """Return a method that delegates to a part of the view, with that method's signature and documentation.

    `at_once` is for what takes a moment: changes by others are looked for once, before the part is made.
    """

    @wraps(method)
    def call(self: Viewing, /, *arguments: P.args, **named: P.kwargs) -> R:
        store = self._view.session.store
        # A store on other machines bounds its reads by a deadline, which only the method knows.
        if not at_once or not store.local:
            return method(part(self._view), *arguments, **named)
        with store.memoized():
            return method(part(self._view), *arguments, **named)

    return call
