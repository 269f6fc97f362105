"""Searching: from a question to a page of hits, and why a document is or is not on it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from time import perf_counter
from typing import TYPE_CHECKING, Any

from rifflux.errors import ModelError
from rifflux.retrieve.fuse import Fuse
from rifflux.retrieve.fuse.base import StoreEvidence, chunks_of
from rifflux.retrieve.pipeline import NO_RERANKER, Pipeline, Plan, Step, Stopwatch
from rifflux.retrieve.query.expand import expand
from rifflux.retrieve.query.reading import COLLECTION, KnownFrequencies, classify, collections_in, understand
from rifflux.retrieve.steps.calibrate import MEANING, Relevance, at_least
from rifflux.retrieve.steps.diversity import Diversity
from rifflux.retrieve.table import LEXICAL, SEMANTIC, Candidates, page
from rifflux.session.arguments import (
    HYBRID,
    HYBRID_RERANK,
    MODES,
    MOST_RESULTS,
    RELEVANCE,
    Way,
    checked_deadline,
    checked_filter,
    checked_mode,
    checked_page,
    checked_search,
    checked_text,
    checked_whole,
    chosen_fusion,
    finish_of,
    for_symbol,
)
from rifflux.session.folders import resolved
from rifflux.session.names import Names
from rifflux.session.reading import Reader, located
from rifflux.session.session import IndexView
from rifflux.store import Store
from rifflux.text.analyzer import Analyzer
from rifflux.text.highlight import spelling_of
from rifflux.types import Clause, Filter, Notice, Query, Results, TermStatistics, Trace, Understanding, parted

if TYPE_CHECKING:
    from rifflux.retrieve.explain.verdict import Verdict
    from rifflux.retrieve.steps.rerank import Rerank

#: The code of the notice that the question has no vector.
NO_QUERY_VECTOR = "query_vector.missing"
#: As many of the passages that hold a rare word are looked at for one that is called by it.
CALLED = 20


class Searcher:
    """Answers questions from a view of an index. Safe to share between threads.

    `others` are the further stores that the same question is searched in. A word that occurs in one of them is spelled
    as it was meant.
    """

    def __init__(self, view: IndexView, others: Sequence[Store] = ()) -> None:
        self._given = view
        self.others = others
        self.view = view = view.reading()
        self.store = view.store
        self.profile = view.profile
        self.analyzer = view.profile.analyzer

    def narrowed(
        self,
        query: str,
        filter: Filter | Mapping[str, Any] | None = None,
        boosts: Mapping[str, float] | None = None,
    ) -> Searcher:
        """Return the searcher of those collections that a question or its filter names. Raises `NotFound`."""
        names = (*checked_filter(filter).collections, *collections_in(query))
        if names:
            found = Searcher(self.view.reading(names), self.others)
        else:
            found = self
        if not boosts:
            return found
        return Searcher(replace(found.view, profile=found.profile.boosted(boosts)), self.others)

    def now(self, query: str = "", collections: Sequence[str] = ()) -> Searcher:
        """Return the searcher of what the caller may read at this moment: for who keeps a searcher."""
        return Searcher(self._given, self.others).narrowed(query, Filter(collections=tuple(collections)))

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
        rerank_top: int | None = None,
        offset: int = 0,
        sort: str = RELEVANCE,
        cutoff: bool | float = False,
        symbol: str = "",
        boosts: Mapping[str, float] | None = None,
    ) -> Results:
        """Find the `top_k` best chunks for a question, each with the reasons for its place.

        `mode` is `lexical` (by words), `semantic` (by meaning) or `hybrid`. Where a channel is missing, the answer
        comes from the others and `results.trace` says so. `min_score` drops hits of less relevance, from 0 to 1; with a
        profile that does not tell relevance, those of a lower score.
        `fusion` is a name, also with knobs (`linear:by-specificity`, `rrf:k=10:semantic=2`), or a `Fuse`.
        `rerank` reorders the best `rerank_top` hits: `features`, `maxsim`, `cross-encoder`, `llm`, `none` or a
        `Rerank`. What a model has not done within `deadline_ms` of the call is left out, and the trace says that too.
        The mode `hybrid-rerank` reranks by what the profile names, else by `features`.
        `offset` leaves out so many hits: a page of the same `top_k` continues the one before it.
        `cutoff` ends the page where relevance falls off (see `rifflux.retrieve.steps.cutoff`), and `sort="date"`
        shows what is on it with the newest first.
        `boosts` are other factors for what the question names (see `rifflux.retrieve.steps.anchors.Anchors`).
        `symbol` leaves only the passages of source code that define this name; the query may be empty then.
        `collapse` leaves out near-duplicates of better hits, `group="document"` all but a document's best hit, and
        `diversify` prefers hits that are unlike those above them: True, or how much that counts against being relevant,
        from 0 to 1. What is not given is as the profile has it.
        Raises `InvalidArgument` for an argument that cannot be meant.
        """
        query, mode = for_symbol(query, symbol, mode)
        checked_search(query, top_k, min_score)
        checked_page(top_k, offset, sort)
        finish = finish_of(cutoff, sort)
        diversity = self.profile.diversity
        if (group, diversify, collapse) != (None, None, None):
            diversity = diversity.but(group=group, diversify=diversify, collapse=collapse)
        clock = Stopwatch()
        deadline = checked_deadline(deadline_ms)
        searcher = self.narrowed(query, filter, boosts)
        way = replace(searcher.way(mode, fusion, rerank, diversity, rerank_top), symbol=symbol)
        with searcher.store.memoized():
            asked = searcher.timed(query, filter, clock, deadline)
            results, _ = searcher.answer(asked, top_k, clock, way, offset)
        if min_score is not None:
            results = at_least(min_score, results)
        if finish:
            return finish(results)
        return results

    def answer(
        self, query: Query, top_k: int, clock: Stopwatch, way: Way, offset: int = 0
    ) -> tuple[Results, Candidates]:
        """Return the hits of a question that was read, as they may be shown, and the candidates that they are."""
        table, trace = self.view.again_if_switched(
            lambda: self.ready(query, top_k, clock, way, rated=True).page(top_k, offset)
        )
        table = self.named.told(query, table)
        if troubles := self.store.troubles():
            trace = replace(trace, degraded=(*trace.degraded, *troubles))
        if not len(table) and query.filter:
            from rifflux.session.unmatched import unmatched

            trace = replace(trace, notes=(*trace.notes, *unmatched(query.filter, self.store.catalog.any_passes)))
        return Results(query.text, located(self.store, self.view.shown(page(table))), trace), table

    def way(
        self,
        mode: str,
        fusion: str | Fuse | None,
        rerank: str | Rerank | None,
        diversity: Diversity,
        rerank_top: int | None = None,
    ) -> Way:
        """Return how to search. Raises `InvalidArgument` for an argument that cannot be meant."""
        known = checked_mode(mode)
        fuse = chosen_fusion(fusion) if fusion else self.profile.fusion
        reranker = self._reranker(self._usual(mode, fuse) if rerank is None else rerank, rerank_top)
        if known == HYBRID:
            return Way(known, fuse, reranker, diversity)
        ignored = (f"the fusion {fuse.name} was ignored: a {known} search has nothing to fuse",) if fusion else ()
        return Way(known, None, reranker, diversity, ignored)

    def timed(
        self, text: str, filter: Filter | Mapping[str, Any] | None, clock: Stopwatch, deadline: float | None = None
    ) -> Query:
        """Return a question as it is searched for, and note how long reading it took."""
        wanted = checked_filter(filter)
        start = perf_counter()
        query = self.read(text, wanted)
        clock.add("understand", start)
        if deadline is None:
            return query
        return replace(query, deadline=deadline)

    def read(self, text: str, limits: Filter | None = None, understanding: Understanding | None = None) -> Query:
        """Return a question as it is searched for: analyzed, classified and expanded, each once.

        A part of a question may have the `understanding` of the whole.
        """
        store = self.store
        profile = self.profile
        analyzer, others = self._analyzers(text)
        if limits:
            limits = resolved(self.view, limits)
        # Of a part of a question, who is named was read in the whole.
        named = replace(self.named, analyzer=analyzer, others=others)
        query = named.understood(text, self._facets, limits, apart=understanding is not None)
        # Those of other collections were left out before: see `narrowed`.
        if query.filter.collections:
            query = replace(query, filter=replace(query.filter, collections=()))
        frequencies = KnownFrequencies(store, [*chain.from_iterable((*query.clauses, *query.required))])
        counts = store.counts()
        sort = understanding or classify(query, analyzer, frequencies, counts["chunks"], self._held)
        anchors = tuple(filter(None, (query.words[each] for each in sort.identifiers)))
        frequencies([*chain.from_iterable(anchors)])
        query = replace(
            query,
            anchors=anchors,
            specificity=sort.specificity,
            understanding=sort,
            exact=profile.exact,
            # SQLite's bm25() weighs all alike.
            worths=dict.fromkeys(query.variants, 1.0) if profile.exact else query.worths,
            statistics=TermStatistics(counts["chunks"], counts["embedded_chunks"], frequencies.known),
        )
        if not profile.expand:
            return query
        return expand(
            query,
            analyzer,
            frequencies,
            store.lexical.vocabulary,
            self.view.session.synonyms,
            held=self._held,
            elsewhere=self._frequencies_elsewhere,
            spelled=self._spelled,
        )

    def _spelled(self, clause: Clause) -> str:
        """Return terms as a passage that the caller may read spells them."""
        ranking = self.store.lexical.match(Query("", required=(clause,), exact=True), 1, self.profile.weights)
        for hit in self.view.shown(self.store.catalog.hydrate(ranking)):
            analyzer = self.analyzer.of(hit.language)
            for text in (hit.text, hit.heading_path, hit.title):
                if spelling := spelling_of(clause, text, analyzer):
                    return spelling
        return " ".join(clause)

    def _frequencies_elsewhere(self, terms: Sequence[str]) -> Mapping[str, int]:
        """Return the frequencies of those terms that occur in another store that is searched for the same question."""
        found: dict[str, int] = {}
        for store in self.others:
            found.update(store.lexical.document_frequencies(terms))
        return found

    @property
    def named(self) -> Names:
        """Return the authors and venues that questions may name."""
        return Names(self.store, self.analyzer, self.view.visible, self._held, reads=self.profile.credits)

    @property
    def _facets(self) -> tuple[str, ...]:
        if self.view.is_part:
            return self.view.facets
        return (*self.view.facets, COLLECTION)

    def ready(self, query: Query, top_k: int, clock: Stopwatch, way: Way | None = None, *, rated: bool = False) -> Plan:
        """Return the search for a question that was read, ready to run; a hybrid one by default."""
        way = way or Way(HYBRID, self.profile.fusion)
        profile = self.profile
        pool = profile.pool(top_k)
        query, names, degraded, notes = self._channels(profile.reach(query, way.fuse, pool), way.mode, clock)
        available = profile.channels(self.store, profile.weights)
        lifting = profile.anchors and way.fuse and way.fuse.anchored
        if lifting and profile.moments:
            from rifflux.text.moments import moments_in

            query = replace(query, times=moments_in(query.asked or query.text))
        lifts, times, told = self._lifting(query) if lifting else ({}, [], ())
        pipeline = Pipeline(
            dict(zip(names, (available[name] for name in names), strict=True)),
            # A hybrid search stays one with a channel missing: what the other's ranks are worth is still its score.
            way.fuse,
            self.store,
            pool,
            StoreEvidence(self.store, query, None if query.vector is None else self.view.scale),
            steps=[*times, *profile.steps(way.reranking, way.further(self.store))],
            rate=self._relevance(query) if rated else None,
            **lifts,
        )
        if query.credits:
            pipeline = self.named.acting(pipeline, way.fuse, reranked=way.reranker is not None)
        notes += told
        if query.statistics and not query.statistics.chunks and self.view.nothing:
            notes.append(self.view.nothing)
        if (freshness := self.view.freshness) and freshness.note:
            notes.append(f"{freshness.note}: run 'rifflux index'")
        trace = Trace(
            mode=way.mode,
            effective_mode=HYBRID if len(names) > 1 else names[0],
            fusion=way.fuse.name if way.fuse else None,
            reranker=way.reranker.scorer.name if way.reranker else None,
            degraded=(
                *degraded,
                *self.view.outdated,
            ),
            notes=(*query.notes, *way.notes, *notes),
            understanding=query.understanding,
            freshness=freshness,
        )
        return Plan(pipeline, query, trace, clock, profile.pool)

    def _held(self, phrase: Clause) -> bool:
        """Return True if the index holds terms side by side."""
        return len(self.store.lexical.match(Query("", required=(phrase,)), 1, self.profile.weights)) > 0

    def rated(self, query: Query, table: Candidates) -> Candidates:
        """Return the candidates of a question with their relevance, if the profile wants it."""
        rate = self.named.rating(self._relevance(query))
        if rate:
            return rate(query, table)
        return table

    def _lifting(self, query: Query) -> tuple[Mapping[str, Step], Sequence[tuple[str, Step]], Sequence[str]]:
        """Return the pipeline's steps for what is named, that for times, and notes; loaded only where they act."""
        from rifflux.retrieve.steps.anchors import Anchors
        from rifflux.retrieve.steps.beginnings import KeptUp
        from rifflux.retrieve.steps.code import Definitions
        from rifflux.retrieve.steps.moments import lifting_times

        anchors = Anchors(self.store, self.analyzer, **self.profile.boosts)
        return {"anchors": anchors, "code": Definitions(self.store), "keep": KeptUp()}, *lifting_times(query)

    def _relevance(self, query: Query) -> Relevance | None:
        """Return the step that rates candidates, if the profile wants that."""
        if not self.profile.relevance:
            return None
        if query.vector is None:
            return Relevance(self.store, self.analyzer)
        if calibration := self.view.calibration:
            return Relevance(self.store, self.analyzer, calibration)
        scale = self.view.scale
        model = scale.model if scale else None
        return Relevance(self.store, self.analyzer, MEANING if model else None, scale=model)

    def plan(self, query: str, *, top_k: int = 10, filter: Filter | Mapping[str, Any] | None = None) -> Plan:
        """Return a hybrid search ready to run, with its steps apart: for measuring and tuning them.

        Its hits are for the program itself: unlike those of `search`, they hold what may not be shown to anybody.
        """
        checked_search(query, top_k, None)
        clock = Stopwatch()
        searcher = self.narrowed(query, filter)
        return searcher.ready(searcher.timed(query, filter, clock), top_k, clock)

    def classify(self, query: str) -> Understanding:
        """Return what sort of question this is for this index: one identifier, mixed or conceptual, and why."""
        checked_search(query, 1, None)
        analyzer, others = self._analyzers(query)
        read = understand(query, analyzer, self._facets, held=self._held, others=others)
        chunks = self.store.counts()["chunks"]
        return classify(read, analyzer, self.store.lexical.document_frequencies, chunks, self._held)

    def _analyzers(self, text: str) -> tuple[Analyzer, Sequence[Analyzer]]:
        """Return the analyzer to read a question with, and those of the other languages of the content."""
        languages = self.store.catalog.languages()
        if len(languages) == 1:
            return self.analyzer.of(languages[0]), ()
        from rifflux.retrieve.query.languages import of_question

        analyzers = [self.analyzer.of(language) for language in languages]
        chosen = of_question(text, analyzers)
        return chosen, [each for each in analyzers if each is not chosen]

    def _usual(self, mode: str, fuse: Fuse) -> str:
        """Return the name of the reranker of a mode where a search asks for none; none where ranks alone decide."""
        if MODES[mode] == HYBRID and fuse.anchored:
            configured = self.profile.reranker
        else:
            configured = NO_RERANKER
        if mode != HYBRID_RERANK or configured != NO_RERANKER:
            return configured
        from rifflux.retrieve.steps.rerank import DEFAULT_RERANKER

        return DEFAULT_RERANKER

    def _reranker(self, choice: str | Rerank, top: int | None) -> Rerank | None:
        """Return the chosen reranker; kept, for its model and its memory serve the next search too."""
        if top is not None:
            checked_whole("rerank_top", top, 1, MOST_RESULTS)
        if choice == NO_RERANKER:
            return None
        from rifflux.retrieve.steps.rerank import reranker_of

        make = partial(reranker_of, choice, self.view.resources)
        if isinstance(choice, str):
            found = self.view.kept(choice, make)
        else:
            found = make()
        many = top or self.profile.rerank_top
        if many:
            return replace(found, top=many)
        return found

    def _channels(self, query: Query, mode: str, clock: Stopwatch) -> tuple[Query, list[str], list[Notice], list[str]]:
        """Return the query with its vector, the channels that answer, what is missing, and what was left out."""
        if mode == LEXICAL:
            return query, [LEXICAL], [], []
        if mode == HYBRID and self.profile.shortcut and self._is_held_identifier(query):
            return query, [LEXICAL], [], ["the question is one identifier: searched by its words alone"]
        query, degraded = self._with_vector(query, clock)
        if mode == SEMANTIC:
            return query, [SEMANTIC], degraded, []
        return query, [LEXICAL] if query.vector is None else [LEXICAL, SEMANTIC], degraded, []

    def _is_held_identifier(self, query: Query) -> bool:
        """Return True for a question that is one identifier or name, and nothing else, if the index holds it.

        It may hold another spelling of it. Words then find all that there is; meaning could only add what is unlike.
        A word that is merely rare is no name: what a passage says in other words is found by meaning.
        """
        understanding = query.understanding
        if understanding is None or understanding.specificity < 1 or query.asking:
            return False
        single = (*understanding.identifiers, *understanding.names)
        if len(single) != 1:
            return False
        terms = query.words[single[0]]
        if query.statistics:
            frequencies = query.statistics.frequencies
        else:
            frequencies = {}
        is_held = all(frequencies.get(term) for term in terms) or terms in query.beside
        return bool(terms) and is_held and (not understanding.names or self._is_called(query, terms))

    def _is_called(self, query: Query, terms: Clause) -> bool:
        """Return True if a document that the words of a question find is called by these terms, and nothing else."""
        found = self.store.lexical.match(query, CALLED, self.profile.weights)
        for names in self.store.catalog.names(found.ids).values():
            if names.language:
                analyzer = self.analyzer.of(names.language)
            else:
                analyzer = self.analyzer
            if any(tuple(analyzer.terms(name)) == terms for name in (names.title, *names.aliases)):
                return True
        return False

    def _with_vector(self, query: Query, clock: Stopwatch) -> tuple[Query, list[Notice]]:
        """Return the query with its vector, and why there is none or not one for every chunk."""
        known = query.statistics
        chunks, embedded = (known.chunks, known.embedded_chunks) if known else (0, 0)
        if not embedded:
            missing = "no chunk has a vector, so nothing is searched by meaning"
            data: dict[str, object] = {"profile": self.profile.name, "chunks": chunks}
            return query, [Notice("vectors.none", missing, self.profile.cure, data)] if chunks else []
        degraded: list[Notice] = []
        if embedded < chunks:
            lacking = chunks - embedded
            missing = f"{lacking} of {chunks} chunks have no vector yet"
            data = {"profile": self.profile.name, "chunks": chunks, "missing": lacking}
            degraded.append(Notice("vectors.missing", missing, self.profile.cure, data))
        if query.vector is not None:
            return query, degraded
        from rifflux.session.vectors import question_vector

        start = perf_counter()
        try:
            vector, model = self.view.again_if_switched(
                lambda: question_vector(self.store, self.view.embedder, query.semantic_text, query.deadline)
            )
            query = replace(query, vector=vector, model=model)
        except ModelError as error:
            return query, [*degraded, Notice.of(error, NO_QUERY_VECTOR, f"no query vector: {error}")]
        finally:
            clock.add("embed", start)
        return query, degraded

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
        rerank_top: int | None = None,
        boosts: Mapping[str, float] | None = None,
    ) -> Verdict:
        """Tell why a document is among the `top_k` hits of a search, or which stage lost it and what would help.

        `document` is a key, path, absolute path or identifier, of which the best chunk is judged, or the id of one
        chunk. The rest is as in `search`. Raises `NotFound` for an unknown document.
        """
        from rifflux.retrieve.explain.inquiry import Inquiry, deep
        from rifflux.retrieve.query.reading import as_typed

        checked_search(query, top_k, None)
        searcher = self.narrowed(query, filter, boosts)
        store = searcher.store
        way = searcher.way(mode, fusion, rerank, self.profile.diversity, rerank_top)
        hit = store.catalog.chunk(checked_text("the name of a document", document))
        if hit:
            name = hit.place
        else:
            name = Reader(searcher.view).place_of(document)
        chunks = store.catalog.chunks_of(*name)
        clock = Stopwatch()
        plan = searcher.ready(searcher.timed(query, filter, clock), top_k, clock, way)
        plan = deep(plan, chunks_of(store, plan.query))
        tells = searcher.view.visible.tells
        asked = [hit] if hit else chunks
        verdict = Inquiry(plan, store, name, asked, len(chunks), top_k, tells, as_typed(plan.query))()
        if verdict.hit:
            shown = searcher.view.shown([verdict.hit])[0]
        else:
            shown = None
        return replace(verdict, hit=shown, namespace=parted(verdict.namespace)[0])
