"""Retrieval of works with evidence: the profile's steps order the candidates of a question, its packer quotes them."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cache
from inspect import signature
from itertools import chain, repeat
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from rifflux.errors import InvalidArgument, ModelError
from rifflux.evidence.choose import REACH, Limits
from rifflux.evidence.pack import EvidencePack, Packer, PackRequest, digest, sealed
from rifflux.models.guarded import CachingEmbedder
from rifflux.models.workers import Workers
from rifflux.requests import FURTHEST
from rifflux.retrieve.pipeline import RERANK, Outcome, Phase, Stopwatch
from rifflux.retrieve.table import BEGINS, RELEVANCE, Candidates, page
from rifflux.session.arguments import (
    checked_budget,
    checked_deadline,
    checked_filter,
    checked_query,
    checked_search,
    checked_share,
    checked_whole,
    checked_works,
)
from rifflux.session.license_policy import LicensePolicy
from rifflux.session.profile import CREDITS, EXPANSION, FETCH, PAGE
from rifflux.session.searching import NO_QUERY_VECTOR, Searcher
from rifflux.session.session import IndexView
from rifflux.session.stages import Licenses
from rifflux.types import LICENSED, Filter, Hit, Trace, Why, parted
from rifflux.types.document import UNTOLD
from rifflux.works.export import CITING, style_of
from rifflux.works.intent.classify import IntentDecision
from rifflux.works.intent.intents import INTENTS, Intent, adjusted_intents, fitted_intents
from rifflux.works.intent.question import Question, read_question
from rifflux.works.intent.similarity import similarity_of
from rifflux.works.model import display_identifiers
from rifflux.works.profile import WORKS
from rifflux.works.retrieval.candidates import (
    POOL,
    SIDE,
    SIDES,
    CandidateGenerator,
    Gathered,
    exact_channels,
    sufficient_reach,
)
from rifflux.works.retrieval.citables import citables_of, groups_of
from rifflux.works.retrieval.listing import list_works
from rifflux.works.retrieval.score import SCORED, VALUE
from rifflux.works.retrieval.steps import CITED, KIND, RetrievalSettings, WorkSteps

if TYPE_CHECKING:
    from rifflux.works.retrieval.replay import Replay

#: Titles that are told where an identifier is not held.
NEAREST = 3
#: The field of a filter that asks for works of an author or a venue: of those, no number is too many.
_ASKED = {"authors": "authors", "venues": "venue"}


@dataclass(frozen=True, slots=True)
class Retrieval:
    """The works found for a question, and how.

    `candidates` are as the channels and the fusion have them, `reranked` in their final order, one hit a work, and
    `components` what the score of each of these is made of, before weighing. `identifiers` are those of each hit's
    work, by chunk id.
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
    """Retrieve works. What fails or is late is left out, and the trace says so.

    `intents` are the weights and limits of each sort of question, by name.
    """

    searcher: Searcher
    settings: RetrievalSettings = field(default_factory=RetrievalSettings)
    intents: Mapping[str, Intent] = field(default_factory=lambda: INTENTS)
    workers: Workers = field(default_factory=Workers, repr=False, compare=False)

    @classmethod
    def of_view(cls, view: IndexView) -> WorksRetriever:
        """Return the retriever of a view, with the intents that its profile adjusts."""
        own = view.profile
        profile = replace(
            WORKS,
            channels=exact_channels,
            reach=sufficient_reach,
            packer=Packer(CITING),
            # Its words were analyzed with these, whatever suits works best.
            language=own.language,
            mathematics=own.mathematics,
            visible=own.visible,
        )
        if CREDITS not in own.reading:
            profile = profile.without(CREDITS)
        intents = adjusted_intents(own.tuning.intents, intents=fitted_intents(own.tuning.components))
        return cls(Searcher(replace(view, profile=profile)), intents=intents, workers=view.session.workers)

    def __call__(
        self,
        query: str,
        *,
        mode: str | None = None,
        top_k: int = 10,
        since: str | None = None,
        until: str | None = None,
        subjects: str | Sequence[str] = (),
        sources: str | Sequence[str] = (),
        authors: str | Sequence[str] = (),
        venues: str | Sequence[str] = (),
        year: str | int | None = None,
        max_tokens: int = 4_000,
        cite: str = "",
        collections: str | Sequence[str] = (),
        deadline_ms: float | None = None,
        offset: int = 0,
        min_relevance: float | None = None,
        works_only: bool = False,
    ) -> Retrieval:
        """Answer a question with at most `top_k` works and evidence of at most `max_tokens` tokens.

        `mode` is `lookup`, `survey`, `compare`, `prereq`, `related`, `generic` or `keywords`; without it, the wording
        decides. `since` and
        `until` are the first and the last date, both inclusive; `subjects` are tags, whatever their case, `sources`
        names of lists that were imported. `authors` and `venues` are names in any spelling, of which one suffices,
        `year` is one or several: `1974`, `1970-1979`, `1970-`. `cite` adds the cited works to the evidence, in `bibtex`
        or as `csl` (CSL-JSON). `collections` narrows to works of these. What a model has not done within `deadline_ms`
        of the call is left out. `offset` leaves out so many works: a page of the same `top_k` continues the one before
        it. Works of less relevance than `min_relevance`, from 0 to 1, are no evidence; the intent says how little by
        default. With `works_only`, other documents of the index are left out: files, notes, uploads.
        Raises `InvalidArgument`.
        """
        arguments = _given(locals())
        checked_search(query, top_k)
        checked_budget(max_tokens)
        checked_whole("offset", offset, 0, FURTHEST)
        if min_relevance is not None:
            checked_share("min_relevance", min_relevance)
        if cite:
            style_of(str(cite))
        packer = replace(
            self.searcher.profile.packer or Packer(CITING), budget=max_tokens, listed=top_k, style=cite, offset=offset
        )
        filter = checked_works(since, until, subjects, sources, authors, venues, year)
        clock = Stopwatch()
        deadline = checked_deadline(deadline_ms)
        searcher = self.searcher.refreshed(query, checked_filter({"collections": collections}).collections)
        if works_only:
            names = [parted(each)[0] for each in searcher.store.catalog.namespaces()]
            filter = replace(
                filter, namespaces=tuple(each for each in names if each.startswith(LICENSED)) or (LICENSED,)
            )
        request = PackRequest(arguments, _iso(searcher.view.session.now()), searcher.store.contents(), self.configured)
        # What is embedded to understand the question is not embedded again to search for it.
        view = searcher.view.asking_once
        if NO_QUERY_VECTOR in self.settings.skip and isinstance(embedder := view.embedder, CachingEmbedder):
            embedder.fail(ModelError("it is skipped"))
        searcher = Searcher(view)
        found = replace(self, searcher=searcher)._found(query, filter, mode, packer, clock, deadline, min_relevance)
        pack = replace(found.evidence, asked=request)
        return replace(found, evidence=sealed(pack))

    @property
    def configured(self) -> str:
        """Return a digest of what an answer depends on besides the contents: version, model, settings, permissions."""
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
        """Ask a pack's question again, and compare all that it claims; see `Replay`. Raises as `replayed` does."""
        from rifflux.works.retrieval.replay import replayed

        return replayed(self, pack)

    def again(self, pack: EvidencePack, settings: RetrievalSettings) -> Retrieval:
        """Ask a pack's question again as it was asked, within the settings. Raises `InvalidArgument`."""
        if pack.asked:
            arguments = pack.asked.arguments
        else:
            arguments = {}
        if unknown := sorted(set(arguments) - set(_defaults())):
            raise InvalidArgument(f"the pack was asked with {unknown[0]!r}, which is no argument of retrieve")
        return replace(self, settings=settings)(pack.query, **arguments)

    def decide_intent(self, query: str, *, mode: str | None = None) -> IntentDecision:
        """Return the intent of a question and the reason for it, without searching.

        Raises `InvalidArgument`.
        """
        checked_query(query)
        alone = replace(self, searcher=Searcher(self.searcher.refreshed(query).view.asking_once))
        with alone.searcher.store.memoized():
            return alone._meant(query, Filter(), mode, Stopwatch(), None).decision

    def _found(
        self,
        query: str,
        filter: Filter,
        mode: str | None,
        packer: Packer,
        clock: Stopwatch,
        deadline: float | None,
        least: float | None,
    ) -> Retrieval:
        with self.searcher.store.memoized():
            start = perf_counter()
            question = self._meant(query, filter, mode, clock, deadline)
            steps = WorkSteps(
                self.searcher.store,
                question,
                self.searcher.analyzer,
                filter,
                self.settings,
                self.workers,
                self.searcher.view.visible,
                self.settings.year or datetime.fromtimestamp(self.searcher.view.session.now(), UTC).year,
            )
            view = self.searcher.view
            stages = view.profile.stages
            stages = (*stages[: stages.index(FETCH) + 1], steps, PAGE, "relevance")
            searcher = Searcher(replace(view, profile=replace(view.profile, stages=stages)))
            generator = CandidateGenerator(searcher, question, filter, clock)
            found = generator()
            clock.add("search", start)
            packer = replace(packer, limits=_limits(question, least))
            return self._answer(generator, self._ranked(found, steps, clock), steps, packer)

    def _meant(self, text: str, filter: Filter, mode: str | None, clock: Stopwatch, deadline: float | None) -> Question:
        """Return the question, read and understood."""
        searcher = self.searcher
        start = perf_counter()
        plan = searcher.parse(text, filter, deadline=deadline)
        view = searcher.view
        question = read_question(
            text,
            plan,
            mode,
            self.intents,
            view.store,
            view.visible,
            lambda part: similarity_of(part, view, deadline),
        )
        clock.add("understand", start)
        return question

    def _ranked(self, found: Gathered, steps: WorkSteps, clock: Stopwatch) -> Gathered:
        """Return the works in the order of the profile's steps, and the trace completed."""
        plan = replace(found.plan, clock=clock, outcome=Outcome())
        works = Licenses(self.searcher.view).disclosable(plan.query, plan.run_phase(Phase.PASSAGES, found.table))
        skipped = plan.outcome.skipped
        dropped = plan.outcome.dropped
        trace = found.trace
        question = steps.question
        trace = replace(
            trace,
            reranker=None if RERANK in skipped else SCORED,
            milliseconds=clock.milliseconds,
            counts={**trace.counts, CITED: steps.cited, "works": len(works)},
            dropped={**trace.dropped, **({KIND: dropped[KIND]} if KIND in dropped else {})},
            degraded=tuple(dict.fromkeys([*trace.degraded, *skipped.values()])),
            notes=(
                *trace.notes,
                *question.notes,
                *_unknown_notes(question, works),
                *steps.notes,
                *(steps.unmatched(works) if steps.filter else ()),
            ),
            understanding=question.query.understanding,
        )
        return replace(found, table=works, trace=trace)

    def _answer(self, generator: CandidateGenerator, found: Gathered, steps: WorkSteps, packer: Packer) -> Retrieval:
        """Return the works of the page with their evidence."""
        searcher = generator.searcher
        question = steps.question
        start = perf_counter()
        found = _listed(generator, found, packer, searcher.view.visible)
        works = _rated(generator, found, packer)
        citable = citables_of(works, steps.candidates, question.text, steps.tags, searcher.view)
        terms = frozenset(chain.from_iterable(chain(*each.query.clauses, *each.query.variants) for each in found.sides))
        pack = replace(packer, notes=found.trace.degraded)(
            question.text,
            question.decision.intent.name,
            citable,
            searcher.view.embedder.count_tokens,
            lambda sentence: not terms.isdisjoint(searcher.analyzer.terms(sentence)),
        )
        opened = self.searcher.view.visible.opened(
            {item.key: (item.namespace, item.license) for item in pack.items if item.text}.values()
        )
        pack = replace(pack, notes=(*pack.notes, *opened))
        generator.clock.add("pack", start)
        decision = question.decision
        shown = {f"{id:016x}": tuple(map(str, display_identifiers(each))) for id, each in steps.identifiers.items()}
        candidates = self._explained(steps.candidates, decision.sides)
        listed = works.head(packer.listed)
        reranked = self._explained(listed, decision.sides)
        return Retrieval(question.text, decision, candidates, reranked, pack, found.trace, shown, _components(listed))

    def _explained(self, table: Candidates, sides: Sequence[str]) -> tuple[Hit, ...]:
        """Return works as they may be shown, with their components before weighing and the side that they answer."""
        side = table[SIDE]
        hits = []
        for row, (hit, values) in enumerate(zip(page(table), _components(table), strict=True)):
            details: Mapping[str, Mapping[str, object]] = {
                SCORED: {"values": values},
                SIDES: {"side": sides[int(side[row])]} if np.isfinite(side[row]) else {},
            }
            more = map(details.get, (each.stage for each in hit.why), repeat({}))
            hits.append(hit.retold(hit.score, tuple(map(Why.adding, hit.why, more)), hit.relevance, hit.quality))
        return tuple(self.searcher.view.redacted_hits(hits))


def _components(table: Candidates) -> tuple[Mapping[str, float], ...]:
    """Return the components of each work's score before weighing; none where works were not scored."""
    values = {name.removeprefix(VALUE): each for name, each in table.columns.items() if name.startswith(VALUE)}
    rows = np.array([*values.values()]).T.tolist() or [()] * len(table)
    return tuple(dict(zip(values, row, strict=False)) for row in rows)


@cache
def _defaults() -> Mapping[str, Any]:
    """Return the arguments of a retrieval with what they are by default."""
    return {name: each.default for name, each in signature(WorksRetriever.__call__).parameters.items()}


def _given(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return those arguments of a call that say something, as JSON has them; deadlines are of the moment."""
    given = {name: value for name, value in arguments.items() if name not in ("self", "query", "deadline_ms")}
    return {
        name: value if isinstance(value, str | int | float) else [*value]
        for name, value in given.items()
        if value is not None and value not in ("", (), []) and _defaults()[name] != value
    }


def _iso(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")


def _unknown_notes(question: Question, works: Candidates) -> list[str]:
    """Return a note for each identifier that the question has and no work here, with the titles that come nearest."""
    titles = "; ".join(repr(hit.title) for hit in works.passages[:NEAREST])
    if titles:
        nearest = f"the nearest titles here are {titles}"
    else:
        nearest = "nothing here is near it"
    return [f"no work here has the identifier {name}: {nearest}" for name in question.lacking]


def _limits(question: Question, least: float | None) -> Limits:
    """Return how evidence is chosen for a question: of an author or a venue that it asks for, no number is too many.

    A minimum that the caller names is the only one.
    """
    limits = question.decision.intent.limits
    asked = {*question.query.filter.metadata, *(credit.role for credit in question.query.credits)}
    caps = {group: most for group, most in limits.caps.items() if _ASKED.get(group) not in asked}
    limits = replace(limits, caps=caps)
    if least is None:
        return limits
    return replace(limits, min_relevance=float(least), min_share=0.0)


def _listed(generator: CandidateGenerator, found: Gathered, packer: Packer, visible: LicensePolicy) -> Gathered:
    """Return what was found with works of repeated authors and venues behind the first page, and a note on them."""
    table = found.table
    limits = packer.limits
    # Who types the beginning of a title wants what begins so, whoever wrote how much of it.
    begun = np.isfinite(table[BEGINS]).tolist()
    groups = [() if begins else groups_of(hit, visible) for hit, begins in zip(table.passages, begun, strict=True)]
    listing = list_works(
        found.table,
        groups,
        limits.caps,
        packer.listed,
        lambda others: generator.rated(found, others)[RELEVANCE],
        limits.min_relevance,
    )
    if not listing.moved:
        return found
    told = f"works of repeated {' or '.join(limits.caps)} that others stand in for: {listing.moved}"
    note = f"{told}; they come first at offset {packer.listed}"
    return replace(found, table=listing.table, trace=replace(found.trace, notes=(*found.trace.notes, note)))


def _rated(generator: CandidateGenerator, found: Gathered, packer: Packer) -> Candidates:
    """Return the works from the first of the page on, with the relevance of those that evidence may be of."""
    works = found.table.take([*range(packer.offset, len(found.table))]).head(POOL)
    enough = not packer.limits.spread and packer.listed >= packer.limits.least
    rated = works.head(packer.listed if enough else max(packer.listed, REACH))
    values = np.full(len(works), np.nan)
    values[: len(rated)] = generator.rated(found, rated)[RELEVANCE]
    return works.with_column(RELEVANCE, values)
