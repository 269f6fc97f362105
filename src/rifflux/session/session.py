"""What an open index shares, and the views of it: a user's, a part's, through another profile, behind a guard."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Hashable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar

from rifflux.errors import InvalidArgument, ModelMismatch
from rifflux.retrieve.query.expand import Synonyms
from rifflux.retrieve.steps.calibrate import Calibration, calibration_of
from rifflux.session.freshness import Sampler
from rifflux.session.kept import Kept
from rifflux.session.profile import Profile
from rifflux.store import PART, REVISION, Store
from rifflux.text.analyzer import Analyzer
from rifflux.types import Scope

if TYPE_CHECKING:
    from rifflux.models import Embedder
    from rifflux.models.guarded import Guard
    from rifflux.models.workers import Workers
    from rifflux.retrieve.steps.rerank import RerankSettings, Resources

__all__ = ["IndexView", "Session"]

T = TypeVar("T")


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
        self._facets: dict[tuple[str, str], _Facets] = {}
        self._lock = threading.Lock()

    @property
    def has_llm(self) -> bool:
        """Return whether the settings name a chat model that can rerank."""
        return bool(self.reranking and self.reranking.llm_url and self.reranking.llm_model)

    @cached_property
    def workers(self) -> Workers:
        """The threads of stages that may hang; made when first needed, for a search by words needs none."""
        from rifflux.models.workers import Workers

        return Workers()

    def sampler(self, store: Store) -> Sampler:
        """Return the sampler of an owner's files."""
        return self.kept(("sampler", store.owner), lambda: Sampler(store))

    def calibration(self) -> Calibration | None:
        """Return the calibration that is stored with the model of the moment; read once for each."""
        embedder = self.load()
        return self.models(("calibration", embedder.fingerprint), lambda: calibration_of(embedder))

    def facets(self, user: str, profile: Profile) -> tuple[str, ...]:
        """Return the facets of a profile as the user, or else nobody in particular, declared them since it was made."""
        declared = (self._facets.get((owner, profile.name)) for owner in (user, ""))
        return next((each.now for each in declared if each and profile.facets in each.former), profile.facets)

    def declare_facets(self, user: str, profile: Profile, names: tuple[str, ...]) -> None:
        """Give a profile other facets, in all views of a user; those of nobody are everybody's."""
        with self._lock:
            known = self._facets.get((user, profile.name), _Facets(frozenset(), ()))
            self._facets[user, profile.name] = _Facets(known.former | {profile.facets, names}, names)


@dataclass(frozen=True, slots=True)
class _Facets:
    """The facets of a profile: those that it had, and those that it has now."""

    former: frozenset[tuple[str, ...]]
    now: tuple[str, ...]


@dataclass(frozen=True, slots=True)
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
    def user(self) -> str:
        """The user whose view this is, empty where it is nobody's in particular."""
        return self.store.owner.partition(PART)[0]

    @property
    def scope(self) -> Scope | None:
        """The scope of that user, None where there is none."""
        return Scope(self.user) if self.user else None

    @property
    def embedder(self) -> Embedder:
        """The embedder, loaded when first needed; asked anew each time, for the index may be switched to another."""
        if self.load:
            return self.load()
        embedder = self.session.load()
        if self.guard is None:
            return embedder
        from rifflux.models.guarded import GuardedEmbedder

        return GuardedEmbedder(embedder, self.guard)

    @property
    def analyzer(self) -> Analyzer:
        """The analyzer that made the terms of the index."""
        return self.profile.analyzer

    @property
    def outdated(self) -> list[str]:
        """A notice if another revision of the analyzer made the stored terms."""
        revision = self.analyzer.revision
        if revision == 1 or int(self.store.registry.policy(REVISION) or 1) == revision:
            return []
        return ["the index was made by another version of the analyzer: run 'rifflux doctor --repair'"]

    @property
    def facets(self) -> tuple[str, ...]:
        """The metadata fields that queries may name as `field:value`."""
        return self.session.facets(self.user, self.profile)

    @property
    def sampler(self) -> Sampler:
        """The sampler of the owner's files."""
        return self.session.sampler(self.store)

    @property
    def resources(self) -> Resources:
        """What rerankers may need of this view."""
        from rifflux.retrieve.steps.rerank import RerankSettings, Resources

        settings = self.session.reranking or RerankSettings()
        return Resources(
            self.analyzer,
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
        """The calibration of the model."""
        return self.session.calibration()

    def kept(self, name: Hashable, make: Callable[[], T]) -> T:
        """Return what is made once for this owner, guard and profile, such as a reranker's state."""
        profile = self.profile
        weights = tuple(sorted(profile.features.items()))
        key = (name, self.store.owner, self.guard, profile.language, profile.mathematics, weights)
        return self.session.kept(key, make)

    def again_if_switched(self, work: Callable[[], T]) -> T:
        """Do something with the index's model; once more if the index was switched to another one meanwhile."""
        try:
            return work()
        except ModelMismatch:
            # One that was chosen does not fit the second time either.
            return work()
