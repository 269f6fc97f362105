"""The asking half of an index: searching, explaining, reading, judging."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from rifflux.errors import InvalidArgument, ModelError, ModelMismatch, NotFound, OutOfScope
from rifflux.retrieve.channels import LEXICAL, SEMANTIC, channels
from rifflux.retrieve.coverage import StoreEvidence
from rifflux.retrieve.fuse import Fuse, fusion_of
from rifflux.retrieve.pipeline import RERANK, Pipeline, Plan, Stopwatch, reaching
from rifflux.retrieve.query.classify import classify
from rifflux.retrieve.query.expand import Synonyms
from rifflux.retrieve.query.reading import QueryReader
from rifflux.retrieve.steps.anchors import Anchors
from rifflux.retrieve.steps.calibrate import Calibration, Relevance, at_least, calibration_of
from rifflux.retrieve.table import Candidates
from rifflux.session.arguments import (
    HYBRID,
    HYBRID_RERANK,
    checked_deadline,
    checked_filter,
    checked_mode,
    checked_search,
)
from rifflux.session.freshness import Sampler
from rifflux.session.profiles import Profile
from rifflux.store import JUDGEMENT, PART, REVISION, Event, Store
from rifflux.text.analyzer import Analyzer, analyzer
from rifflux.types import (
    Clause,
    Document,
    Filter,
    Hit,
    Query,
    Results,
    Scope,
    Trace,
    Understanding,
    Vectors,
    Verdict,
)

if TYPE_CHECKING:
    from rifflux.models import Embedder
    from rifflux.retrieve.steps.rerank import Rerank, RerankSettings, Resources

__all__ = ["Asking"]

Value = TypeVar("Value")
#: Judgements go from 0, irrelevant, to this.
MOST_GRADE = 10


class Asking:
    """Answers questions from a store, as a profile has it. Safe to share between threads."""

    def __init__(
        self,
        store: Store,
        profile: Profile,
        load: Callable[[], Embedder],
        rerankers: RerankSettings | None = None,
        synonyms: Synonyms | None = None,
    ) -> None:
        self.store = store
        self.profile = profile
        self._load = load
        self._reranking = rerankers
        self._synonyms = synonyms
        self._rerankers: dict[str, Rerank] = {}
        self._sampler = Sampler(store)
        self._calibrated: tuple[str, Calibration | None] = ("", None)

    @property
    def scope(self) -> Scope | None:
        """Whose the index is, None where it is nobody's in particular."""
        user = self.store.owner.partition(PART)[0]
        return Scope(user) if user else None

    @property
    def embedder(self) -> Embedder:
        """The embedder, loaded when first needed."""
        return self._load()

    @property
    def analyzer(self) -> Analyzer:
        """The analyzer that made the terms of the index."""
        return analyzer(self.profile.language, self.profile.mathematics)

    @property
    def outdated(self) -> list[str]:
        """What is to be told of an index whose terms another revision of the analyzer made."""
        revision = self.analyzer.revision
        if revision == 1 or int(self.store.registry.policy(REVISION) or 1) == revision:
            return []
        return ["the index was made by another version of the analyzer: run 'rifflux doctor --repair'"]

    def search(
        self,
        query: str,
        *,
        top_k: int = 10,
        mode: str = HYBRID,
        fusion: str | Fuse | None = None,
        rerank: str | Rerank | None = None,
        filter: Filter | Mapping[str, Any] | None = None,
        deadline_ms: float | None = None,
        min_score: float | None = None,
        group: str | None = None,
        diversify: bool | float | None = None,
        collapse: bool | None = None,
    ) -> Results:
        """Find the `top_k` best chunks for a question, each with the reasons for its place.

        `mode` is `lexical` (by words), `semantic` (by meaning) or `hybrid`. Where a channel is missing, the answer
        comes from the others and `results.trace` says so. `min_score` drops hits of less relevance, from 0 to 1; with a
        profile that does not tell relevance, those of a lower score.
        `rerank` reorders the best hits: `features`, `maxsim`, `cross-encoder`, `llm` or a `Rerank`; what it has not
        done within `deadline_ms` of the call is left out, and the trace says that too.
        `collapse` leaves out near-duplicates of better hits, `group="document"` all but a document's best hit, and
        `diversify` prefers hits that are unlike those above them: True, or how much that counts against being relevant,
        from 0 to 1. What is not given is as the profile has it.
        Raises `InvalidArgument` for an argument that cannot be meant.
        """
        checked_search(query, top_k, min_score)
        diversity = self.profile.diversity.but(group=group, diversify=diversify, collapse=collapse)

        def run() -> Results:
            plan = self._plan(query, top_k, mode, fusion, rerank, filter, deadline_ms)
            steps = [*plan.pipeline.steps, *diversity.steps(self.store)]
            pipeline = replace(plan.pipeline, steps=steps, rate=self._relevance(plan.query))
            return replace(plan, pipeline=pipeline)(top_k)

        results = self._again_if_switched(run)
        if troubles := self.store.troubles():
            trace = results.trace
            results = replace(results, trace=replace(trace, degraded=(*trace.degraded, *troubles)))
        results = replace(results, hits=self.profile.visible.hits(results.hits))
        return results if min_score is None else at_least(min_score, results)

    def rated(self, query: Query, table: Candidates) -> Candidates:
        """Return the candidates of a question with their relevance, if the profile tells it."""
        rate = self._relevance(query)
        return rate(query, table) if rate else table

    def _relevance(self, query: Query) -> Relevance | None:
        """What tells hits how relevant they are, if the profile wants that."""
        if not self.profile.relevance:
            return None
        return Relevance(self.store, self.analyzer, None if query.vector is None else self._calibration)

    @property
    def _calibration(self) -> Calibration | None:
        embedder = self.embedder
        if embedder.fingerprint != self._calibrated[0]:
            self._calibrated = embedder.fingerprint, calibration_of(embedder)
        return self._calibrated[1]

    def plan(self, query: str, *, top_k: int = 10, filter: Filter | Mapping[str, Any] | None = None) -> Plan:
        """A hybrid search ready to run, with its steps apart: for measuring and tuning them.

        Its hits are for the program itself: unlike those of `search`, they hold what may not be shown to anybody.
        """
        checked_search(query, top_k, None)
        return self._plan(query, top_k, HYBRID, None, None, filter)

    def _plan(
        self,
        query: str,
        top_k: int,
        mode: str,
        fusion: str | Fuse | None,
        rerank: str | Rerank | None,
        filter: Filter | Mapping[str, Any] | None,
        deadline_ms: float | None = None,
    ) -> Plan:
        """The search that is asked for, ready to run."""
        deadline = checked_deadline(deadline_ms)
        reranker = self._reranker(rerank, mode)
        mode = checked_mode(mode)
        fuse = fusion_of(fusion or self.profile.fusion) if mode == HYBRID else None
        pool = self.profile.pool(top_k)
        clock = Stopwatch()
        with clock("understand"):
            asked, understanding, expanded = self._understood(query, checked_filter(filter))
            asked = replace(
                asked,
                anchors=self._anchors(understanding),
                specificity=understanding.specificity,
                deadline=deadline,
                exact=self.profile.exact,
            )
            asked = reaching(asked, fuse, pool)
        asked, names, degraded, notes = self._channels(asked, mode, clock)
        degraded += self.outdated
        available = channels(self.store, self.profile.weights)
        pipeline = Pipeline(
            {name: available[name] for name in names},
            # A hybrid search stays one with a channel missing: what the other's ranks are worth is still its score.
            fuse,
            self.store,
            pool,
            StoreEvidence(self.store, asked),
            Anchors(self.store, self.analyzer) if self.profile.anchors and fuse and fuse.anchored else None,
            [(RERANK, reranker)] if reranker else [],
        )
        freshness = self._sampler.latest()
        if freshness and freshness.note:
            notes.append(f"{freshness.note}: run 'rifflux index'")
        trace = Trace(
            mode=mode,
            effective_mode=HYBRID if len(names) > 1 else names[0],
            fusion=fuse.name if fuse else None,
            reranker=reranker.scorer.name if reranker else None,
            degraded=tuple(degraded),
            notes=(*expanded, *notes),
            understanding=understanding,
            freshness=freshness,
        )
        return Plan(pipeline, asked, trace, clock, self.profile.pool)

    def classify(self, query: str) -> Understanding:
        """What sort of question this is for this index: one identifier, mixed or conceptual, and why."""
        checked_search(query, 1, None)
        return classify(query, self.analyzer, self.store.lexical.document_frequencies, self.store.counts()["chunks"])

    def _understood(self, text: str, filter: Filter) -> tuple[Query, Understanding, list[str]]:
        """The query with what else to search for, what sort of question it is, and notes of what else."""
        reader = QueryReader(
            self.store, self.analyzer, self.profile.facets, self._synonyms, self.profile.expand, self.profile.exact
        )
        asked = reader(text, filter)
        return asked, asked.understanding, list(asked.notes)

    def _anchors(self, understanding: Understanding) -> tuple[Clause, ...]:
        """The terms of what a question names to the letter."""
        return tuple(anchor for name in understanding.identifiers if (anchor := self.analyzer.of_word(name)))

    def _reranker(self, choice: str | Rerank | None, mode: str) -> Rerank | None:
        """The reranker asked for by argument or mode; kept, for its model and its memory serve the next search too."""
        if choice is None and mode != HYBRID_RERANK:
            return None
        from rifflux.retrieve.steps.rerank import DEFAULT_RERANKER, reranker_of

        choice = choice or DEFAULT_RERANKER
        if not isinstance(choice, str):
            return choice
        if choice not in self._rerankers:
            self._rerankers.setdefault(choice, reranker_of(choice, self.resources))
        return self._rerankers[choice]

    @property
    def resources(self) -> Resources:
        """What rerankers may need of this index."""
        from rifflux.retrieve.steps.rerank import RerankSettings, Resources

        return Resources(
            self.analyzer,
            self._load,
            self.store.lexical.document_frequencies,
            lambda: self.store.counts()["chunks"],
            self.store.semantic.vectors_of,
            self._reranking or RerankSettings(),
            self.profile.features,
        )

    @property
    def has_llm(self) -> bool:
        """Whether the settings name a chat model that can rerank."""
        return bool(self._reranking and self._reranking.llm_url and self._reranking.llm_model)

    def _channels(self, query: Query, mode: str, clock: Stopwatch) -> tuple[Query, list[str], list[str], list[str]]:
        """The query with its vector where needed, the channels that answer, what is missing, what was left out."""
        if mode == LEXICAL:
            return query, [LEXICAL], [], []
        if mode == HYBRID and self.profile.shortcut and self._is_one_identifier(query):
            return query, [LEXICAL], [], ["the question is one identifier: searched by its words alone"]
        query, degraded = self._with_vector(query, clock)
        if mode == SEMANTIC:
            return query, [SEMANTIC], degraded, []
        return query, [LEXICAL] if query.vector is None else [LEXICAL, SEMANTIC], degraded, []

    def _is_one_identifier(self, query: Query) -> bool:
        """Whether the question is nothing but one identifier that this index holds."""
        if len(query.anchors) != 1 or query.specificity < 1:
            return False
        (anchor,) = query.anchors
        return len(self.store.lexical.document_frequencies(anchor)) == len(set(anchor))

    def _with_vector(self, query: Query, clock: Stopwatch) -> tuple[Query, list[str]]:
        """The query with its vector, and why there is none or not one for every chunk."""
        counts = self.store.counts()
        chunks, embedded = counts["chunks"], counts["embedded_chunks"]
        if not embedded:
            missing = f"no chunk has a vector: run '{self.profile.command}' without --no-embed to search by meaning"
            return query, [missing] if chunks else []
        degraded = []
        if embedded < chunks:
            degraded.append(f"{chunks - embedded} of {chunks} chunks have no vector yet: run '{self.profile.command}'")
        try:
            with clock("embed"):
                vector, model = self._embed(query.semantic_text)
                query = replace(query, vector=vector, model=model)
        except ModelMismatch:
            raise
        except ModelError as error:
            return query, [*degraded, f"no query vector: {error}"]
        return query, degraded if query.vector is not None else [*degraded, "no query vector: the embedder gave none"]

    def _embed(self, text: str) -> tuple[Vectors | None, str]:
        """The vector of a text, and the fingerprint of the model it is by."""
        known, embedder = self.store.semantic.model(), self.embedder
        if known and known.fingerprint != embedder.fingerprint:
            raise ModelMismatch(
                f"the index holds vectors of {known.name}, and {embedder.name} cannot read them: "
                f"open it with model={known.spec!r}, or without a model"
            )
        return embedder.embed_query(text), embedder.fingerprint

    def _again_if_switched(self, work: Callable[[], Value]) -> Value:
        """Do something with the index's model; once more if the index was switched to another one meanwhile."""
        try:
            return work()
        except ModelMismatch:
            # One that was chosen does not fit the second time either.
            return work()

    def get(self, id: str) -> Hit | Document:
        """A chunk by its id, or a document by its key, path, absolute path or identifier. Raises `NotFound`."""
        hit = self._chunk(id)
        return self.profile.visible.hit(hit) if hit else self.document(id)

    def _chunk(self, id: str) -> Hit | None:
        """A chunk by its id; of a user's messages and memories too, which a search of everything finds."""
        views = self.store.views() if self.scope else (self.store,)
        return next((hit for view in views if (hit := view.catalog.chunk(id))), None)

    def document(self, key: str) -> Document:
        """A document with its whole text, by key, path, absolute path or identifier. Raises `NotFound`."""
        collection, key = self._document_of(key)
        document = self.store.catalog.document(collection, key)
        if document is None:
            raise NotFound(f"{key!r} was removed meanwhile: search again")
        return self.profile.visible.document(collection, document)

    def chunks(self, key: str) -> list[Hit]:
        """A document's chunks in reading order, by its key, path, absolute path or identifier. Raises `NotFound`."""
        return list(self.profile.visible.hits(self.store.catalog.chunks_of(*self._document_of(key))))

    def _document_of(self, key: str) -> tuple[str, str]:
        """The collection and key of what a key, a path or an identifier such as `doi:10.1000/182` names."""
        from rifflux.session.identified import identified

        found = self.store.catalog.find_documents(key) or identified(self.store, key)
        if not found:
            raise NotFound(f"no chunk or document {key!r}: take an id or path from the results of a search")
        if len(found) > 1:
            places = ", ".join(f"{collection}/{name}" for collection, name in found[:5])
            raise InvalidArgument(f"{key!r} is the name of {len(found)} documents: say which, one of {places}")
        return found[0]

    def why(
        self,
        query: str,
        document: str,
        *,
        top_k: int = 10,
        mode: str = HYBRID,
        fusion: str | Fuse | None = None,
        rerank: str | Rerank | None = None,
        filter: Filter | Mapping[str, Any] | None = None,
    ) -> Verdict:
        """Tell why a document is among the `top_k` hits of a search, or which stage lost it and what would help.

        `document` is a key, path, absolute path or identifier, of which the best chunk is judged, or the id of one
        chunk. The rest is as in `search`. Raises `NotFound` for an unknown document.
        """
        from rifflux.retrieve.explain.inquiry import Inquiry, deep
        from rifflux.retrieve.query.words import as_typed

        checked_search(query, top_k, None)
        hit = self.store.catalog.chunk(document)
        name = (hit.collection, hit.document) if hit else self._document_of(document)
        chunks = self.store.catalog.chunks_of(*name)
        plan = self._plan(query, top_k, mode, fusion, rerank, filter)
        steps = [*plan.pipeline.steps, *self.profile.diversity.steps(self.store)]
        plan = replace(plan, pipeline=replace(plan.pipeline, steps=steps))
        typed = as_typed(query, self.analyzer)
        plan = deep(plan, self.store.counts()["chunks"])
        verdict = Inquiry(plan, self.store, name, [hit] if hit else chunks, len(chunks), top_k, typed)()
        return replace(verdict, hit=self.profile.visible.hit(verdict.hit)) if verdict.hit else verdict

    def judge(self, query: str, document: str, grade: int = 1, *, user: str = "") -> Event:
        """Record how well a document answers a query, for `rifflux eval --from-feedback`.

        `document` is as in `why`. `grade` is 0 for irrelevant and grows with relevance; a later judgement of the same
        pair replaces an earlier one. Raises `NotFound` for an unknown document and `InvalidArgument` for an empty query
        or a grade that is none. In a scope, the user is the scope's.
        """
        if isinstance(grade, bool) or not isinstance(grade, int) or not 0 <= grade <= MOST_GRADE:
            raise InvalidArgument(f"grade must be a whole number from 0 to {MOST_GRADE}, not {grade!r}")
        return self.note(JUDGEMENT, query, document, grade, user=user)

    def note(self, kind: str, query: str, document: str, grade: int | None = None, *, user: str = "") -> Event:
        """Record what somebody did with a document that a query found, such as `click` or `save`.

        `document` is as in `judge`. Raises `NotFound` for an unknown one and `InvalidArgument` for an empty query. In a
        scope, the user is the scope's.
        """
        if self.scope and user not in ("", self.scope.user_id):
            raise OutOfScope(f"what {self.scope.user_id!r} does is recorded as that user's: leave out the user")
        if not isinstance(query, str) or not query.strip():
            raise InvalidArgument("the query is empty: say what was asked")
        hit = self._chunk(document)
        collection, key = (hit.collection, hit.document) if hit else self._document_of(document)
        who = user or (self.scope.user_id if self.scope else "")
        event = Event(kind, query, collection, key, hit.chunk_id if hit else "", grade, who, time.time())
        self.store.registry.record(event)
        return event
