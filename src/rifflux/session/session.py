"""What an open index shares, and the views of it: a user's, a part's, through another profile, behind a guard."""

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
from rifflux.service.collections import Rights
from rifflux.session.freshness import Sampler
from rifflux.session.profile import Profile
from rifflux.store import REVISION, Store
from rifflux.types import Freshness, Hit, Lines, Notice, Scope, Span, Vectors, visible_namespace
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

#: Kinds whose text is that of their file, line by line: a record or a web page is not.
_LINED = frozenset({"code", "markdown", "rst", "table", "text"})
T = TypeVar("T")
P = ParamSpec("P")
R = TypeVar("R")
Part = TypeVar("Part")


@dataclass
class ValueCache:
    """Cache values by key, the least recently used of more than `most` forgotten. Safe to share between threads.

    Threads that ask for one key wait for the first of them to make its value; other keys are not held up.
    """

    most: int = 1024
    _made: OrderedDict[Hashable, _Once] = field(default_factory=OrderedDict, init=False, repr=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False, repr=False)

    def __call__(self, key: Hashable, make: Callable[[], T]) -> T:
        """Return the value of a key, made when first needed. An error of `make` is not cached."""
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


class Session:
    """What one open index shares: its store, models, caches and workers. Safe to share between threads.

    `load` gives the embedder of the moment. `reranking` says where the models of rerankers are, `synonyms` which words
    stand for each other; `limits` are those of calls of models, `chat` writes answers. `now` is the clock, in seconds
    since 1970. `reader_limits` are those of reading a file.
    `language` is that of what is added and has none of its own, empty for that of the index.
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
        """Return whether the settings name a chat model that can rerank."""
        return bool(self.reranking and self.reranking.llm_url and self.reranking.llm_model)

    @cached_property
    def guard(self) -> Guard:
        """Return the guard of every call of a model."""
        from rifflux.models.guarded import Guard

        return Guard(self.limits.question_s)

    @cached_property
    def ledger(self) -> Ledger:
        """Return what keeps the cost of calls of models."""
        from rifflux.service.usage import Ledger

        registry = self.store.registry
        budget = self.limits.budget or math.inf
        return Ledger(registry, self.limits.prices, budget, read_only=registry.read_only, now=self.now)

    def close(self) -> None:
        """Write what is still to be recorded; nothing is recorded after that."""
        if "ledger" in vars(self):
            self.ledger.close()

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
class CallLimits:
    """The limits of calls of models: seconds for a question, and what each user may spend in a month (0: any amount).

    `prices` are those of a million tokens, by the name of the model.
    """

    question_s: float = 2.0
    prices: Mapping[str, float] = field(default_factory=dict)
    budget: float = 0.0


@dataclass(frozen=True, slots=True)
class _Facets:
    """The facets of a profile: those that it had, and those that it has now."""

    former: frozenset[tuple[str, ...]]
    now: tuple[str, ...]


@dataclass(frozen=True)
class IndexView:
    """A session with the owner's part of its store, and the profile that a caller sees it through.

    `stopped` receives calls of models that came to nothing, `payer` pays for calls instead of the user, and `load`
    gives another embedder, already guarded. `user` is whose view it is, empty for nobody's in particular; an
    `administrator` has besides what is nobody's. `store` is what is written to; what is read besides is found by
    `reading`, which tells by `labels` what the caller calls each owner, and which of them are `mine`.
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

    def of(self, scope: Scope) -> IndexView:
        """Return one user's view. Raises `OutOfScope` from the view of another."""
        if not isinstance(scope, Scope):
            raise InvalidArgument(f"a scope is needed, such as Scope('ann'), not {scope!r}")
        user = scope.user_id
        administrator = scope.administrator
        if self.user and administrator and not self.administrator:
            raise OutOfScope(f"{user!r} is no administrator here: take such a scope from the index that was opened")
        return replace(self, store=self.store.of(user), user=user, administrator=administrator)

    def part(self, name: str, profile: Profile) -> IndexView:
        """Return the view of a part of this name, with statistics of its own."""
        profile = replace(profile, language=self.profile.language)
        return replace(self, store=self.store.part(name), profile=profile, is_part=True)

    @property
    def rights(self) -> Rights:
        """Return what the caller may see, change and share."""
        return Rights(self.session.store.registry, self.user, self.administrator, self.session.now)

    def reading(self, collections: Sequence[str] = ()) -> IndexView:
        """Return a read-only view of all that the caller may read, or of some collections.

        A part, such as a user's messages, is in no collection. Raises `NotFound` for a collection that is not seen.
        """
        if self.is_part or (self.labels and not collections):
            return self
        found = self.rights.visible(collections)
        labels = {each.owner: each.label for each in found}
        mine = {each.owner for each in found if each.owned}
        store = self.session.cache(("united", *labels), partial(self.session.store.united, tuple(labels)))
        return replace(self, store=store, labels=labels, mine=frozenset(mine))

    def writing(self, collection: str = "", *, create: bool = False) -> IndexView:
        """Return the view that writes to a collection, the caller's library without a name. See `Rights.writable`."""
        if not collection:
            return self
        return replace(self, store=self.session.store.of(self.rights.writable(collection, create=create).owner))

    @property
    def nothing(self) -> Notice | None:
        """Return why nothing can be found in a view that holds nothing; None for a part."""
        if self.is_part:
            return None
        if not self.user:
            return Notice("index.empty", "nothing is indexed yet", Cure.ADD)
        text = f"nothing belongs to {self.user}, and nothing is shared with {self.user}"
        return Notice("scope.empty", text, Cure.GIVE, {"user": self.user})

    def language_of(self, *chosen: str) -> str:
        """Return the first of some languages that is named, else that of additions; empty for that of the index.

        Raises `InvalidArgument` for one that is unknown.
        """
        from rifflux.text.analyzer import checked_language

        found = next(filter(None, chosen), self.session.language)
        if not found or checked_language(found) == self.profile.language:
            return ""
        return found

    def owns(self, owner: str) -> bool:
        """Return True if what this owner has is the caller's own, and not shared by another."""
        return not self.labels or owner in self.mine

    def visible_roots(self, roots: Iterable[str]) -> tuple[str, ...]:
        """Return roots as the caller may see them: those of others by the names of their folders alone."""
        if all(self.owns(each) for each in self.labels):
            return tuple(roots)
        own = {root for owner in self.mine for root in self.session.store.of(owner).catalog.roots()}
        return tuple(dict.fromkeys(visible_namespace(root, owned=root in own) for root in roots))

    def redacted_hits(self, hits: Sequence[Hit], *, with_lines: bool = False) -> list[Hit]:
        """Return hits as the caller may see them, each with the name of its collection, and the lines that it is on."""
        found = self.visible.hits(hits)
        lines = lines_of(self.store, found) if with_lines else {}
        if not lines and not self.labels:
            return found
        return [self.labelled(hit, lines.get(row)) for row, hit in enumerate(found)]

    def labelled(self, hit: Hit, lines: Lines | None = None) -> Hit:
        """Return a hit with the name of its collection, and these lines."""
        owner = self.store.owner if hit.owner is None else hit.owner
        label = self.labels.get(owner, "")
        if label:
            return replace(hit, collection=label, owned=owner in self.mine, lines=lines or hit.lines)
        if lines:
            return replace(hit, lines=lines)
        return hit

    @property
    def visible(self) -> LicensePolicy:
        """Return the license policy for the caller, with the decisions of the index as they are now."""
        return self.profile.visible.of(self.store, self.mine if self.labels else frozenset(self.store.owners))

    @property
    def scope(self) -> Scope | None:
        """Return the scope of that user, None where there is none."""
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
        """Return the embedder, loaded when first needed; another one after a switch of the index to its model."""
        if self.load:
            return self.load()
        from rifflux.models.guarded import GuardedEmbedder

        return GuardedEmbedder(self.session.load(), self.calls)

    def question_vector(self, text: str, deadline: float | None) -> tuple[Vectors, str]:
        """Return the vector of a question, and the fingerprint of the model it is by. Raises `ModelMismatch`."""
        semantic = self.store.semantic
        known = semantic.model()
        embedder = self.embedder
        if known and known.fingerprint != embedder.fingerprint:
            known = semantic.model()  # the index may have been switched to this model meanwhile
        if known and known.fingerprint != embedder.fingerprint:
            from rifflux.session.vectors import info_of

            other = info_of(embedder, known.dimension).public_spec
            raise ModelMismatch(
                f"the vectors of the index are of the model {known.public_spec}, not of {other}, which was chosen",
                cure=Cure.SWITCH_MODEL,
                model=other,
            )
        dimension = known.dimension if known else embedder.dimension
        return embedder.question_vector(text, dimension, deadline), embedder.fingerprint

    @property
    def embedding_once(self) -> IndexView:
        """Return this view for the parts of one question: each text is embedded once, and none after a failure."""
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
        """Return a notice if another revision of the analyzer made the stored terms."""
        revision = self.profile.analyzer.revision
        if revision == 1 or int(self.store.registry.policy(REVISION) or 1) == revision:
            return []
        text = "the index was made by another version of the analyzer"
        return [Notice("analyzer.outdated", text, Cure.REPAIR)]

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

    @property
    def freshness(self) -> Freshness | None:
        """Return how far the index may be behind its files, by the latest look at some of them."""
        found = self.sampler.latest()
        if found and found.missing_roots:
            return replace(found, missing_roots=self.visible_roots(found.missing_roots))
        return found

    def freshness_now(self) -> Freshness:
        """Return how far the index may be behind its files, by a look at many of them."""
        found = self.sampler.now()
        return replace(found, missing_roots=self.visible_roots(found.missing_roots))

    @property
    def sampler(self) -> Sampler:
        """Return the sampler of the owner's files."""
        return self.session.cache(("sampler", self.store.owner), partial(Sampler, self.store))

    @property
    def resources(self) -> Resources:
        """Return the parts of this view that rerankers use."""
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
        """Return the calibration that is stored with the model of the moment; read once for each."""
        embedder = self.session.load()
        return self.session.models(("calibration", embedder.fingerprint), partial(calibration_of, embedder))

    @property
    def scale(self) -> VectorScale | None:
        """Return the scale of the owner's vectors, None where nothing is known; read once for each state of them."""
        from rifflux.session.vectors import ScaleCache

        cache = self.session.cache(("scale", self.store.owner), partial(ScaleCache, self.store))
        return cache(self.session.load)

    def cached(self, name: Hashable, make: Callable[[], T]) -> T:
        """Return what is made once for this user, guard and profile, such as a reranker's state."""
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
        """Run work that needs the index's model, and again if the index was switched to another model meanwhile."""
        try:
            return work()
        except ModelMismatch:
            # One that was chosen does not fit the second time either.
            return work()


class Viewing(Protocol):
    """Holds a view of an index."""

    _view: IndexView


def delegated(
    part: Callable[[IndexView], Part], method: Callable[Concatenate[Part, P], R]
) -> Callable[Concatenate[Viewing, P], R]:
    """Return a method that calls one of a part of the view, with its signature and its documentation."""

    @wraps(method)
    def call(self: Viewing, /, *arguments: P.args, **named: P.kwargs) -> R:
        return method(part(self._view), *arguments, **named)

    return call


# The lines that hits are on, of what is text on the disk too


def lines_of(store: Store, hits: Sequence[Hit]) -> dict[int, Lines]:
    """Return the lines of those hits that have any, by their positions."""
    spans: dict[tuple[str, str], list[Span]] = {}
    rows: list[int] = []
    for row, hit in enumerate(hits):
        if hit.kind in _LINED and hit.key == hit.path and hit.span != (0, 0):
            rows.append(row)
            spans.setdefault(hit.place, []).append(hit.span)
    found: dict[tuple[tuple[str, str], Span], Lines] = {}
    for place, text in store.catalog.texts(spans).items() if spans else ():
        begin = 0
        line = 1
        for start, end in sorted(spans[place]):
            line += text.count("\n", begin, start)
            begin = start
            found[place, (start, end)] = line, line + text.count("\n", start, end)
    keys = {row: (hits[row].place, hits[row].span) for row in rows}
    return {row: found[key] for row, key in keys.items() if key in found}
