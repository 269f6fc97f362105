"""Retrieval of works with evidence: the profile's stages rank candidates, and its packer quotes them."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from rifflux.errors import InvalidArgument, ModelError
from rifflux.evidence.pack import EvidencePack, Packer, PackRequest, digest, pack_digest
from rifflux.models.guarded import CachingEmbedder
from rifflux.requests import RetrieveRequest, WorkFilterSettings, declared, takes
from rifflux.retrieve.pipeline import Phase, Stopwatch
from rifflux.retrieve.table import SCORE, Candidates, page
from rifflux.session.arguments import checked_deadline, checked_query, checked_works
from rifflux.session.profile import CREDITS, EXPANSION
from rifflux.session.searching import NO_QUERY_VECTOR, Searcher
from rifflux.session.session import IndexView
from rifflux.store import ChunkFacts, Selection
from rifflux.types import LICENSED, Filter, Hit, Trace
from rifflux.types.document import UNTOLD
from rifflux.works.export import CITING
from rifflux.works.intent.classify import IntentDecision, Question, read_question
from rifflux.works.intent.intents import INTENTS, Intent, adjusted_intents, fitted_intents
from rifflux.works.intent.similarity import similarity_of
from rifflux.works.model import display_identifiers
from rifflux.works.profile import WORKS
from rifflux.works.retrieval.packing import evidence_limits, pack_of, page_of
from rifflux.works.retrieval.score import DIRECT, NEAR, SCORED, SIDE, SIDES, VALUE, intent_of
from rifflux.works.retrieval.stages import (
    CITED,
    CandidateGenerator,
    RetrievalContext,
    RetrievalSettings,
    sufficient_reach,
)

if TYPE_CHECKING:
    from rifflux.works.retrieval.replay import Replay

#: The base profile of a retrieval. An index adds its analyzer and license policy, and a question its stages.
RETRIEVAL = replace(WORKS, reach=sufficient_reach)


@dataclass(frozen=True, slots=True)
class Retrieval:
    """The works found for a question, and how.

    `candidates` come from the channels and the fusion; `reranked` has the final order, one hit per work; `components`
    are the unweighted parts of each hit's score. `identifiers` maps chunk ids to the identifiers of their works.
    """

    query: str
    decision: IntentDecision
    candidates: tuple[Hit, ...]
    reranked: tuple[Hit, ...]
    evidence: EvidencePack
    trace: Trace
    identifiers: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    components: tuple[Mapping[str, float], ...] = field(default=(), repr=False, metadata=UNTOLD)


@dataclass(frozen=True)
class WorksRetriever:
    """Retrieves works. Late and failed stages are skipped and reported in the trace.

    `intents` are the weights and limits of each kind of question, by name.
    """

    searcher: Searcher
    settings: RetrievalSettings = field(default_factory=RetrievalSettings)
    intents: Mapping[str, Intent] = field(default_factory=lambda: INTENTS)

    @classmethod
    def of_view(cls, view: IndexView) -> WorksRetriever:
        """Return the retriever of a view, with its profile's adjusted intents."""
        own = view.profile
        # The view's chunks were analyzed with this analyzer, whatever suits works best.
        profile = replace(RETRIEVAL, language=own.language, mathematics=own.mathematics, visible=own.visible)
        if CREDITS not in own.reading:
            profile = profile.without(CREDITS)
        intents = INTENTS
        if own.tuning.components:
            intents = fitted_intents(own.tuning.components)
        if own.tuning.intents:
            intents = adjusted_intents(own.tuning.intents, intents=intents)
        return cls(Searcher(replace(view, profile=profile)), intents=intents)

    @takes(RetrieveRequest)
    def __call__(self, request: RetrieveRequest) -> Retrieval:
        """Find works for a question, with evidence to cite.

        Without a `mode`, the wording decides the intent. `filter` has the keys `since` and `until` (both inclusive),
        `subjects` (tags, ignoring case), `sources` (imported lists), `authors` and `venues` in any spelling, `year`
        (`1974`, `1970-1979`, `1970-`) and `collections`; of several values of one key, one suffices. `max_tokens`
        limits the evidence; works below `min_relevance` are excluded, with a default per intent. `cite` adds the cited
        works in that format. Model work that exceeds `deadline_ms` is skipped. Raises `InvalidArgument`.
        """
        query = request.query
        checked_query(query)
        limits = WorkFilterSettings.of(request.filter)
        filter = checked_works(limits)
        clock = Stopwatch()
        deadline = checked_deadline(request.deadline_ms)
        # What is shared with the caller is looked up within the deadline, too.
        with self.searcher.whole.store.memoized(deadline) as reads:
            searcher = self.searcher.refreshed(query, filter.collections)
            filter = replace(filter, collections=())
            if request.works_only:
                names = searcher.view.store.catalog.values("namespace", Selection(prefix=LICENSED))
                filter = replace(filter, namespaces=tuple(str(name) for name, _ in names) or (LICENSED,))
            now = datetime.fromtimestamp(searcher.view.session.now(), UTC)
            pack_request = PackRequest(
                _given(request, limits),
                now.isoformat(timespec="seconds"),
                searcher.view.store.contents(),
                self.configured,
            )
            # Reuse the embedding that classification made of the question.
            view = searcher.view.embedding_once
            if NO_QUERY_VECTOR in self.settings.skip and isinstance(embedder := view.embedder, CachingEmbedder):
                embedder.fail(ModelError("it is skipped"))
            searcher = Searcher(view)
            start = perf_counter()
            question = self._read(searcher, query, filter, request.mode, clock, deadline)
            packer = Packer(
                CITING,
                evidence_limits(question, request.min_relevance),
                request.max_tokens,
                listed=request.top_k,
                style=request.cite or "",
                offset=request.offset,
            )
            context = RetrievalContext(
                view=view,
                question=question,
                filter=filter,
                packer=packer,
                settings=self.settings,
                year=self.settings.year or now.year,
                visible=view.visible,
            )
            searcher = Searcher(replace(view, profile=context.profile))
            found = CandidateGenerator(searcher, context, clock)()
            clock.add("search", start)
            candidates = found.plan.run_phase(Phase.PASSAGES, found.table)
            works = found.plan.run_phase(Phase.PAGE, candidates)
            start = perf_counter()
            listed = page_of(works, found, searcher, context)
            pack = pack_of(listed, candidates, found, searcher, context)
            clock.add("pack", start)
            pack = replace(pack, request=pack_request)
            pack = replace(pack, digest=pack_digest(pack))
            trace = found.plan.completed_trace()
            facts = found.plan.evidence.facts(candidates.ids)
            retrieval = _retrieval(question, candidates, listed.head(request.top_k), pack, trace, view, facts)
            if found.plan.variants:
                variants = searcher.variant_notes(found.plan, retrieval.reranked)
                retrieval = replace(retrieval, trace=replace(trace, notes=(*variants, *trace.notes)))
        if reads:
            return replace(retrieval, trace=reads.traced(retrieval.trace))
        return retrieval

    @property
    def configured(self) -> str:
        """Return a digest of what an answer depends on other than contents: version, model, settings, permissions."""
        view = self.searcher.view
        package = sys.modules[__name__.partition(".")[0]]
        profile = view.profile
        synonyms = view.session.synonyms
        rules = sorted(map(str, view.visible.rules.items()))
        settings = (
            profile.name,
            profile.language,
            profile.tuning.boosts,
            EXPANSION in profile.reading,
            profile.weights,
            synonyms,
            rules,
        )
        return digest(repr((package.__version__, view.embedder.fingerprint, self.intents, settings)))

    def replay(self, pack: EvidencePack) -> Replay:
        """Replay the request of a pack and compare all of its claims; see `Replay`. Raises like `replayed`."""
        from rifflux.works.retrieval.replay import replayed

        return replayed(self, pack)

    def again(self, pack: EvidencePack, settings: RetrievalSettings) -> Retrieval:
        """Repeat the request of a pack with the given settings. Raises `InvalidArgument`."""
        arguments = pack.request.arguments if pack.request else {}
        known = [each.name for each in declared(RetrieveRequest)]
        if unknown := sorted(set(arguments) - {*known}):
            raise InvalidArgument(f"its argument {unknown[0]!r} is not one of retrieve")
        return replace(self, settings=settings)(pack.query, **arguments)

    def decide_intent(self, query: str, *, mode: str | None = None) -> IntentDecision:
        """Return the intent of a question with the reason, without searching.

        Raises `InvalidArgument`.
        """
        checked_query(query)
        searcher = Searcher(self.searcher.refreshed(query).view.embedding_once)
        with searcher.view.store.memoized():
            return self._read(searcher, query, Filter(), mode, Stopwatch(), None).decision

    def _read(
        self,
        searcher: Searcher,
        text: str,
        filter: Filter,
        mode: str | None,
        clock: Stopwatch,
        deadline: float | None,
    ) -> Question:
        """Parse and classify a question."""
        start = perf_counter()
        plan = searcher.parse(text, filter, deadline=deadline)
        view = searcher.view
        compare = partial(similarity_of, view=view, deadline=deadline)
        question = read_question(text, plan, mode, self.intents, view.store, view.visible, compare)
        clock.add("understand", start)
        return question


def _retrieval(
    question: Question,
    candidates: Candidates,
    works: Candidates,
    pack: EvidencePack,
    trace: Trace,
    view: IndexView,
    facts: Mapping[int, ChunkFacts],
) -> Retrieval:
    """Return the results as the caller may see them."""
    # The nearness of every candidate is explained, not only of those found by citations.
    column = f"{CITED}/{SCORE}"
    near = np.where(np.isnan(candidates[column]), candidates[NEAR], candidates[column])
    sides = question.decision.sides
    return Retrieval(
        question.text,
        replace(question.decision, intent=intent_of(question, direct=DIRECT in candidates.columns)),
        _explained(candidates.with_column(column, near), sides, view),
        _explained(works, sides, view),
        pack,
        trace,
        {
            f"{id:016x}": tuple(map(str, display_identifiers(each.identifiers)))
            for id, each in facts.items()
            if each.identifiers
        },
        tuple(_components(works)),
    )


def _explained(table: Candidates, sides: Sequence[str], view: IndexView) -> tuple[Hit, ...]:
    """Return works as the caller may see them, with their unweighted components and the side that they answer."""
    side = table[SIDE].tolist()
    hits = []
    for row, (hit, values) in enumerate(zip(page(table), _components(table), strict=True)):
        details: dict[str, Mapping[str, object]] = {SCORED: {"values": values}}
        if side[row] == side[row]:
            details[SIDES] = {"side": sides[int(side[row])]}
        why = tuple(replace(each, detail={**each.detail, **details.get(each.stage, {})}) for each in hit.why)
        hits.append(hit.retold(why=why))
    return tuple(view.redacted_hits(hits))


def _components(table: Candidates) -> list[Mapping[str, float]]:
    """Return the unweighted components of each work's score, or nothing if works were not scored."""
    values = {name.removeprefix(VALUE): each for name, each in table.columns.items() if name.startswith(VALUE)}
    return [{name: float(column[row]) for name, column in values.items()} for row in range(len(table))]


def _given(request: RetrieveRequest, limits: WorkFilterSettings) -> dict[str, Any]:
    """Return the settings that differ from their defaults as JSON, without the question and the deadline."""
    given = {
        each.name: getattr(request, each.name)
        for each in declared(RetrieveRequest)
        if each.name not in ("query", "filter", "deadline_ms") and getattr(request, each.name) != each.default
    }
    narrowed = {name: value for name, value in vars(limits).items() if value is not None and value not in ("", (), [])}
    if narrowed:
        given["filter"] = {
            name: value if isinstance(value, str | int) else [*value] for name, value in narrowed.items()
        }
    return given
