"""Searching: from a query to a page of hits, and why a document is or is not on it."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from rifflux.errors import Cure, InvalidArgument, ModelError, ModelMismatch
from rifflux.requests import FURTHEST, HYBRID, HYBRID_RERANK, RELEVANCE, SearchRequest, WhyRequest, takes
from rifflux.retrieve.fuse import Fuse
from rifflux.retrieve.fuse.base import IndexFacts
from rifflux.retrieve.pipeline import (
    NO_RERANKER,
    RERANK,
    CandidateSearch,
    Outcome,
    Phase,
    Plan,
    Stage,
    Step,
    fetch,
    fuse,
)
from rifflux.retrieve.query.expand import Variant, expand, variant_notes
from rifflux.retrieve.query.reading import COLLECTION, KnownFrequencies, classify, collections_in, understand
from rifflux.retrieve.steps.calibrate import MEANING, Calibration, Relevance, at_least
from rifflux.retrieve.steps.diversity import REPEATING, Diversity
from rifflux.retrieve.table import LEXICAL, SEMANTIC, Candidates, page, pool_of
from rifflux.session.arguments import (
    checked_deadline,
    checked_filter,
    checked_mode,
    checked_query,
    checked_text,
    chosen_fusion,
    finish_of,
    for_symbol,
)
from rifflux.session.folders import resolved
from rifflux.session.profile import CREDITS, EXPANSION, FETCH, FUSE, PAGE, SHORTCUT, STAGES
from rifflux.session.reading import Reader
from rifflux.session.session import IndexView
from rifflux.store import MOST_CLAUSES, CandidateRequest, Store, chunk_at
from rifflux.text.analyzer import Analyzer
from rifflux.text.highlight import spelling_of
from rifflux.types import CREDITS as CREDIT_ROLES
from rifflux.types import (
    Clause,
    Execution,
    Filter,
    Hit,
    Notice,
    Query,
    Ranking,
    Results,
    TermStatistics,
    Trace,
    Understanding,
    parted,
)

if TYPE_CHECKING:
    from rifflux.models.scale import ModelScale
    from rifflux.retrieve.explain.verdict import Verdict
    from rifflux.retrieve.query.credits import CreditsRead, CreditVocabulary
    from rifflux.retrieve.steps.rerank import Rerank

#: The code of the notice that the query has no vector.
NO_QUERY_VECTOR = "query_vector.missing"
#: The facts of a work that a filter or a query may name.
_FACTS = frozenset((*CREDIT_ROLES, "year"))
#: The stages that turn rankings into candidates, and fetch the passages of the best.
FUSION = Stage(FUSE, fuse, phase=Phase.CANDIDATES)
READING = Stage(FETCH, fetch, phase=Phase.FETCH)
#: The number of best candidates per channel that are checked for source code.
LOOKED_AT = 10
#: The maximum number of options that searches of a view share.
MOST_SHARED = 64
#: The number of passages with a rare word that are checked for one named by it.
CALLED = 20


@dataclass(frozen=True, slots=True)
class SearchOptions:
    """The options of a search: the mode, the fusion of a hybrid search, and the steps after it.

    `built` are the stages of searches with these options, by what else they depend on, with the calibration in them.
    """

    mode: str
    fuse: Fuse | None
    reranker: Rerank | None = None
    diversity: Diversity = REPEATING
    notes: tuple[Notice, ...] = ()
    symbol: str = ""
    built: dict[Hashable, tuple[Calibration | None, tuple[Stage, ...]]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )


@dataclass(frozen=True, slots=True)
class Search:
    """The context from which the stages of a search are built: view, analyzer, planned query and options.

    `is_lifted` is True if steps may change scores; False with fusion by ranks alone or a single channel. `calibration`
    and `model_scale` are those of the model that embedded the query, if it did and they are known.
    """

    view: IndexView
    analyzer: Analyzer
    plan: Plan
    options: SearchOptions
    is_lifted: bool = False
    calibration: Calibration | None = None
    model_scale: ModelScale | None = None


class Searcher:
    """Searches what the caller may read of a `whole` view, which is `view`. Safe to share between threads.

    `others` are further stores searched with the same query. A word that occurs in one of them counts as correctly
    spelled.
    """

    def __init__(self, view: IndexView, others: Sequence[Store] = ()) -> None:
        self.whole = view
        self.others = others
        self._view: IndexView | None = None
        self.profile = view.profile
        self.analyzer = view.profile.analyzer

    @property
    def view(self) -> IndexView:
        """Return the view of what the caller may read, which is looked up when it is first needed.

        Nobody waits for another's look, as with a cached property of Python 3.11: on a cluster that hangs it takes
        until the deadline.
        """
        view = self._view
        if view is None:
            view = self._view = self.whole.reading()
        return view

    def scoped_to(self, collections: Sequence[str], boosts: Mapping[str, float] | None = None) -> Searcher:
        """Return a searcher limited to some collections (none: all), with changed boosts. Raises `NotFound`."""
        if not collections and not boosts:
            return self
        view = self.view.reading(collections) if collections else self.view
        if boosts:
            view = replace(view, profile=view.profile.boosted(boosts))
        return Searcher(view, self.others)

    def refreshed(self, query: str = "", collections: Sequence[str] = ()) -> Searcher:
        """Return a searcher of the documents that the caller may read now, for callers that retain a searcher.

        A query limits it to the collections that it names.
        """
        return Searcher(self.whole, self.others).scoped_to((*collections, *collections_in(query)))

    @takes(SearchRequest)
    def search(self, request: SearchRequest) -> Results:
        """Return the `top_k` best chunks for a query, each with the reasons for its rank.

        `mode` is `lexical` (by words), `semantic` (by meaning) or `hybrid`. If a channel is unavailable, the others
        answer and `results.trace` reports it. `min_score` drops hits below a relevance, from 0 to 1, or below a score
        if the profile has no relevance.

        `fusion` is a name, optionally with parameters (`linear:by-specificity`, `rrf:k=10:semantic=2`), or a `Fuse`.
        `rerank` reorders the best `rerank_top` hits: `features`, `maxsim`, `cross-encoder`, `llm`, `none` or a
        `Rerank`. Model calls that exceed `deadline_ms` from the call are skipped, and the trace reports it. The mode
        `hybrid-rerank` uses the profile's reranker, or `features`.

        `offset` skips that many hits: a page with the same `top_k` continues the previous one. `cutoff` ends the page
        where relevance falls off (see `rifflux.retrieve.steps.cutoff`), and `sort="date"` orders its hits newest first.

        `boosts` change the factors for names in the query (see `rifflux.retrieve.steps.anchors.Anchors`). `symbol`
        retains only passages of source code that define this name; the query may then be empty.

        `collapse` drops near-duplicates of better hits, `one_per_document` all but a document's best hit, and
        `diversify` prefers hits unlike those above them: True, or the weight of novelty against relevance, from 0 to 1.
        Omitted options have the profile's values.

        Raises `InvalidArgument`.
        """
        query = request.query
        mode = request.mode
        if request.symbol != "":
            query, mode = for_symbol(query, request.symbol, mode)
        checked_query(query)
        most = FURTHEST - request.top_k
        if request.offset > most:
            raise InvalidArgument(f"offset must be a whole number from 0 to {most}, not {request.offset}")
        finish = None
        if request.cutoff is not False or request.sort != RELEVANCE:
            finish = finish_of(request.cutoff, request.sort)
        diversity = self.profile.diversity
        if (request.one_per_document, request.diversify, request.collapse) != (None, None, None):
            diversity = diversity.but(
                one_per_document=request.one_per_document, diversify=request.diversify, collapse=request.collapse
            )
        deadline = checked_deadline(request.deadline_ms)
        limits = checked_filter(request.filter)
        # What is shared with the caller is looked up within the deadline, too.
        with self.whole.store.memoized(deadline) as reads:
            searcher = self
            collections = (*limits.collections, *collections_in(query))
            if collections or request.boosts:
                searcher = self.scoped_to(collections, request.boosts)
            options = searcher.options(mode, request.fusion, request.rerank, diversity, request.rerank_top)
            if request.symbol:
                options = replace(options, symbol=request.symbol)
            parsed = searcher.parse(query, limits, deadline=deadline)
            results, _ = searcher.results(parsed, request.top_k, options, request.offset)
        if reads:
            results = replace(results, trace=reads.traced(results.trace))
        if request.min_score is not None:
            results = at_least(request.min_score, results)
        if finish:
            return finish(results)
        return results

    def results(self, parsed: Plan, top_k: int, options: SearchOptions, offset: int = 0) -> tuple[Results, Candidates]:
        """Return the results of a parsed query as the caller may see them, and their candidate table."""
        try:
            table, trace = self.plan(parsed, top_k, options).page(top_k, offset)
        except ModelMismatch:  # the index was switched to another model meanwhile
            table, trace = self.plan(parsed, top_k, options).page(top_k, offset)
        query = parsed.query
        hits = tuple(page(table))
        if parsed.variants:
            trace = replace(trace, notes=(*self.variant_notes(parsed, hits), *trace.notes))
        files = self.view.store.local
        if files and (troubles := files.troubles()):
            trace = replace(trace, degraded=(*trace.degraded, *troubles))
        if not len(table) and query.filter:
            trace = replace(trace, notes=(*trace.notes, *unmatched(query.filter, self.view.store.catalog.any_passes)))
        return Results(query.text, hits, trace), table

    def options(
        self,
        mode: str,
        fusion: str | Fuse | None,
        rerank: str | Rerank | None,
        diversity: Diversity,
        rerank_top: int | None = None,
    ) -> SearchOptions:
        """Return the checked options of a search. Raises `InvalidArgument`."""
        shared = self.view.shared
        key = None
        if isinstance(fusion, str | None) and isinstance(rerank, str | None):
            key = (mode, fusion, rerank, diversity, rerank_top)
        if key in shared:
            known_options: SearchOptions = shared[key]
            return known_options
        known = checked_mode(mode)
        fusing = chosen_fusion(fusion) if fusion else self.profile.fusion
        if rerank is None:
            # With fusion by ranks alone, nothing reranks unless the caller requests it.
            rerank = self.profile.reranker if known == HYBRID and fusing.anchored else NO_RERANKER
            if mode == HYBRID_RERANK and rerank == NO_RERANKER:
                from rifflux.retrieve.steps.rerank import DEFAULT_RERANKER

                rerank = DEFAULT_RERANKER
        reranker = self._reranker(rerank, rerank_top)
        ignored = []
        if fusion and known != HYBRID:
            text = f"the fusion {fusing.name} was ignored: a {known} search has nothing to fuse"
            ignored.append(Notice("fusion.ignored", text, data={"fusion": fusing.name, "mode": known}))
        found = SearchOptions(known, fusing if known == HYBRID else None, reranker, diversity, tuple(ignored))
        if key and len(shared) < MOST_SHARED:
            shared[key] = found
        return found

    def parse(
        self,
        text: str,
        limits: Filter | None = None,
        *,
        deadline: float | None = None,
        understanding: Understanding | None = None,
    ) -> Plan:
        """Return a plan without channels and stages: the query, parsed, classified and expanded.

        A part of a query may be given the `understanding` of the whole.
        """
        start = perf_counter()
        store = self.view.store
        reading = self.profile.reading
        totals = store.totals()
        analyzer, others = self._analyzers(text, totals.languages)
        if limits:
            limits = resolved(self.view, limits)
        # For a part of a query, credits were recognized in the whole.
        has_works = CREDITS in reading and totals.has_works
        query = self._understood(text, limits, analyzer, others, has_works, is_part=understanding is not None)
        # Other collections are already excluded: see `scoped_to`.
        if query.filter.collections:
            query = replace(query, filter=replace(query.filter, collections=()))
        frequencies = KnownFrequencies(store, [*chain.from_iterable((*query.clauses, *query.required))])
        kind = understanding or classify(query, analyzer, frequencies, totals.chunks, self.view.store.lexical.occurring)
        anchors = tuple(terms for each in kind.identifiers if (terms := query.words[each]))
        frequencies([*chain.from_iterable(anchors)])
        query = replace(query, anchors=anchors, specificity=kind.specificity, understanding=kind)
        notes: tuple[Notice, ...] = ()
        if query.credits:
            from rifflux.retrieve.query.credited import credit_notes

            notes = credit_notes(query.credits)
        variants: tuple[Variant, ...] = ()
        statistics = TermStatistics(totals.chunks, totals.embedded, frequencies.known)
        if EXPANSION in reading:
            query, variants, further = expand(
                query,
                analyzer,
                frequencies,
                store.lexical.vocabulary,
                self.view.session.synonyms,
                phrases=store.lexical.occurring,
                elsewhere=self._frequencies_elsewhere if self.others else None,
            )
            notes = (*notes, *further)
        # Look up the frequencies that steps weigh clauses by, and rerankers the words of a query that consists of
        # filters.
        forms = chain.from_iterable(query.languages.forms.values())
        more = () if query.semantic_text else analyzer.terms(query.text)
        frequencies([*chain.from_iterable((*query.variants, *forms)), *more])
        plan = Plan(query, Execution(deadline=deadline, statistics=statistics, notes=notes), variants=variants)
        plan.clock.add("understand", start)
        return plan

    def variant_notes(self, parsed: Plan, hits: Sequence[Hit]) -> Iterator[Notice]:
        """Yield notices on the searched variants, spelled as in hits that the caller may read."""
        return variant_notes(parsed.variants, lambda clauses: self._spellings(clauses, hits))

    def _spellings(self, clauses: Sequence[Clause], hits: Sequence[Hit]) -> Mapping[Clause, str]:
        """Return terms as spelled in the first hit that contains them, else in another passage the caller may read."""
        found: dict[Clause, str] = {}
        for clause in clauses:
            # Nearly all words begin with their stem, except for a letter or two; other passages are skipped.
            start = clause[0][: max(1, len(clause[0]) - 2)]
            for hit in hits:
                if clause not in found and start in hit.text.lower() and (spelling := self._spelling_in(hit, clause)):
                    found[clause] = spelling
        missing = [clause for clause in clauses if clause not in found]
        rankings = self.view.store.lexical.best_with(missing, self.profile.weights) if missing else []
        ids = np.concatenate([np.empty(0, np.int64), *(ranking.ids for ranking in rankings)])
        passages = self.view.store.catalog.hydrate(Ranking(ids, np.zeros(len(ids)))) if len(ids) else []
        readable = {int(hit.id, 16): hit for hit in self.view.redacted_hits(passages)}
        for clause, ranking in zip(missing, rankings, strict=True):
            for id in ranking.ids.tolist():
                if id in readable and (spelling := self._spelling_in(readable[id], clause)):
                    found[clause] = spelling
        return found

    def _spelling_in(self, hit: Hit, clause: Clause) -> str:
        """Return terms as spelled in a passage, its headings or its title, or an empty string."""
        analyzer = self.analyzer.of(hit.language)
        for text in (hit.text, hit.heading_path, hit.title):
            if spelling := spelling_of(clause, text, analyzer):
                return spelling
        return ""

    def _frequencies_elsewhere(self, terms: Sequence[str]) -> Mapping[str, int]:
        """Return the frequencies of terms that occur in another store searched with the same query."""
        found: dict[str, int] = {}
        for store in self.others:
            found.update(store.lexical.document_frequencies(terms))
        return found

    def _understood(
        self,
        text: str,
        limits: Filter | None,
        analyzer: Analyzer,
        others: Sequence[Analyzer],
        has_works: bool,
        *,
        is_part: bool,
    ) -> Query:
        """Return the analyzed query with the authors, venues and years that it names, unless it is a part of one."""
        names: CreditsRead | None = None
        if has_works and not is_part:
            from rifflux.retrieve.query.credits import read_credits

            names = read_credits(self._vocabulary(analyzer), text)
        rest = names.rest if names and names.credits else text
        facets = self.view.facets if self.view.is_part else (*self.view.facets, COLLECTION)
        query = understand(rest, analyzer, facets, limits, self.view.store.lexical.occurring, others)
        if query.filter.metadata and has_works:
            query = replace(query, filter=self.with_spellings(query.filter, analyzer))
        if not names or not names.credits:
            return query
        from rifflux.retrieve.query.credited import with_credits

        return with_credits(query, names, self.view.store, text)

    def with_spellings(self, filter: Filter, analyzer: Analyzer | None = None) -> Filter:
        """Return a filter with its authors and venues in the spellings of the works."""
        from rifflux.retrieve.query.credited import in_any_spelling

        return in_any_spelling(self._vocabulary(analyzer), filter)

    def _vocabulary(self, analyzer: Analyzer | None) -> CreditVocabulary:
        """Return the names in works that may be disclosed to the caller."""
        from rifflux.retrieve.query.credits import CreditVocabulary

        counts = self.view.store.lexical.document_frequencies
        return CreditVocabulary(
            self.view.store,
            analyzer or self.analyzer,
            self.view.visible.discloses_facts,
            counts,
            self.view.store.lexical.occurring,
        )

    def plan(self, parsed: Plan, top_k: int, options: SearchOptions | None = None) -> Plan:
        """Return the executable plan for a parsed query; a hybrid search by default."""
        view = self.view
        profile = self.profile
        options = options or SearchOptions(HYBRID, profile.fusion)
        execution = profile.reach(parsed.execution, options.fuse, profile.pool(top_k))
        parsed = replace(parsed, execution=execution)
        query = parsed.query
        notes = [*execution.notes, *options.notes]
        degraded: list[Notice] = []
        names = [LEXICAL]
        if options.mode == HYBRID and self._is_shortcut(parsed):
            notes.append(Notice("query.identifier", "the question is one identifier: searched by its words alone"))
        elif options.mode != LEXICAL:
            parsed, degraded = self._with_vector(parsed)
            if options.mode == SEMANTIC:
                names = [SEMANTIC]
            elif parsed.execution.vector is not None:
                names = [LEXICAL, SEMANTIC]
        asked = max(len(query.clauses), len(query.required), len(query.excluded), len(query.prefixes))
        if asked > MOST_CLAUSES:
            text = f"the question has {asked} terms: only the first {MOST_CLAUSES} are looked for"
            notes.append(Notice("query.shortened", text, data={"terms": asked, "read": MOST_CLAUSES}))
        is_lifted = options.fuse is not None and options.fuse.anchored
        if is_lifted and "times" in profile.stages:
            from rifflux.text.moments import moments_in

            if times := moments_in(query.phrasing.body or query.text):
                query = replace(query, times=times)
                parsed = replace(parsed, query=query)
            for each in query.times:
                text = f"{each.words!r} is a time: documents of {each.span} count more"
                notes.append(Notice("query.time", text, data={"words": each.words, "span": each.span}))
        statistics = execution.statistics
        if statistics and not statistics.chunks and view.nothing:
            notes.append(view.nothing)
        if (freshness := view.freshness) and freshness.note:
            notes.append(Notice("index.stale", freshness.note, Cure.INDEX))
        trace = Trace(
            mode=options.mode,
            effective_mode=HYBRID if len(names) > 1 else names[0],
            fusion=options.fuse.name if options.fuse else None,
            reranker=options.reranker.scorer.name if options.reranker else None,
            degraded=(*degraded, *view.outdated),
            notes=tuple(notes),
            understanding=query.understanding,
            freshness=freshness,
        )
        # Read once: the index may be switched to another model meanwhile.
        calibration = scale = None
        if parsed.execution.vector is not None:
            calibration = view.calibration
            scale = view.scale
        search: CandidateSearch = self.view.store.search
        if query.credits:
            from rifflux.retrieve.steps.credits import CreditedSearch

            search = CreditedSearch(self.view.store)
        return replace(
            parsed,
            channels=names,
            search=search,
            weights=profile.weights,
            stages=stages_of(
                Search(view, self.analyzer, parsed, options, is_lifted, calibration, scale.model if scale else None)
            ),
            # A hybrid search remains one with a channel missing: its fusion still gives the score.
            fuse=options.fuse,
            evidence=IndexFacts(parsed, self.view.store, scale),
            trace=trace,
            pool_of=profile.pool,
            outcome=Outcome(),
        )

    def hybrid_plan(self, query: str, *, top_k: int = 10, filter: Filter | Mapping[str, Any] | None = None) -> Plan:
        """Return an executable plan of a hybrid search, for measuring and tuning its stages."""
        checked_query(query)
        limits = checked_filter(filter)
        searcher = self.scoped_to((*limits.collections, *collections_in(query)))
        return searcher.plan(searcher.parse(query, limits), top_k)

    def classify(self, query: str) -> Understanding:
        """Classify a query for this index as one identifier, mixed or conceptual, with the reasons."""
        checked_query(query)
        totals = self.view.store.totals()
        analyzer, others = self._analyzers(query, totals.languages)
        facets = self.view.facets if self.view.is_part else (*self.view.facets, COLLECTION)
        read = understand(query, analyzer, facets, adjacent=self.view.store.lexical.occurring, others=others)
        return classify(
            read,
            analyzer,
            self.view.store.lexical.document_frequencies,
            totals.chunks,
            self.view.store.lexical.occurring,
        )

    def _analyzers(self, text: str, languages: Sequence[str]) -> tuple[Analyzer, Sequence[Analyzer]]:
        """Return the analyzer to read a query with, and those of the other languages of the content."""
        if len(languages) == 1:
            return self.analyzer.of(languages[0]), ()
        from rifflux.retrieve.query.languages import of_question

        analyzers = [self.analyzer.of(language) for language in languages]
        chosen = of_question(text, analyzers)
        return chosen, [each for each in analyzers if each is not chosen]

    def _reranker(self, choice: str | Rerank, top: int | None) -> Rerank | None:
        """Return the chosen reranker; cached, because its model and its cache serve later searches too."""
        if choice == NO_RERANKER:
            return None
        from rifflux.retrieve.steps.rerank import reranker_of

        resources = self.view.resources
        if isinstance(choice, str):
            found = self.view.cached(choice, partial(reranker_of, choice, resources))
        else:
            found = reranker_of(choice, resources)
        many = top or self.profile.rerank_top
        if many and many != found.top:
            return replace(found, top=many)
        return found

    def _is_shortcut(self, parsed: Plan) -> bool:
        """Return True for a query that is a single identifier or name found in the index.

        The index may contain another spelling of it. Words then find everything that exists; meaning could only add
        dissimilar hits. A merely rare word is not a name: passages may express it in other words, which meaning finds.
        """
        query = parsed.query
        understanding = query.understanding
        if SHORTCUT not in self.profile.reading or understanding is None or understanding.specificity < 1:
            return False
        single = (*understanding.identifiers, *understanding.names)
        if len(single) != 1 or query.phrasing.interrogative:
            return False
        terms = query.words[single[0]]
        statistics = parsed.execution.statistics
        frequencies = statistics.frequencies if statistics else {}
        is_known = all(frequencies.get(term) for term in terms) or terms in query.beside
        return bool(terms) and is_known and (not understanding.names or self._is_called(query, terms))

    def _is_called(self, query: Query, terms: Clause) -> bool:
        """Return True if a document found by the query's words has a title or alias of exactly these terms."""
        found = self.view.store.search(
            CandidateRequest(query, Execution(limit=CALLED), self.profile.weights, (LEXICAL,))
        )
        for names in self.view.store.catalog.facts(found.rankings[LEXICAL].ids).values():
            if names.language:
                analyzer = self.analyzer.of(names.language)
            else:
                analyzer = self.analyzer
            if any(tuple(analyzer.terms(name)) == terms for name in (names.title, *names.aliases)):
                return True
        return False

    def _with_vector(self, parsed: Plan) -> tuple[Plan, list[Notice]]:
        """Return the plan with the query's vector, and notices on missing vectors of the query or chunks."""
        execution = parsed.execution
        known = execution.statistics
        if not known or not known.embedded_chunks:
            if not known or not known.chunks:
                return parsed, []
            missing = "no chunk has a vector, so nothing is searched by meaning"
            data: dict[str, object] = {"profile": self.profile.name, "chunks": known.chunks}
            return parsed, [Notice("vectors.none", missing, self.profile.cure, data)]
        degraded: list[Notice] = []
        lacking = known.chunks - known.embedded_chunks
        if lacking > 0:
            missing = f"{lacking} of {known.chunks} chunks have no vector yet"
            data = {"profile": self.profile.name, "chunks": known.chunks, "missing": lacking}
            degraded.append(Notice("vectors.missing", missing, self.profile.cure, data))
        if execution.vector is not None:
            return parsed, degraded
        text = parsed.query.semantic_text
        start = perf_counter()
        try:
            vector, model = self.view.question_vector(text, execution.deadline)
            parsed = replace(parsed, execution=replace(execution, vector=vector, model=model))
        except ModelError as error:
            degraded.append(Notice.of(error, NO_QUERY_VECTOR, f"no query vector: {error}"))
        finally:
            parsed.clock.add("embed", start)
        return parsed, degraded

    @takes(WhyRequest)
    def why(self, request: WhyRequest) -> Verdict:
        """Explain why a document is or is not among the `top_k` hits of a search, and what would change that.

        `document` is a key, path, absolute path or identifier, whose best chunk is explained, or the id of a chunk. The
        rest is as in `search`. Raises `NotFound` for an unknown document.
        """
        from rifflux.retrieve.explain.inquiry import Inquiry
        from rifflux.retrieve.query.reading import as_typed

        query = request.query
        checked_query(query)
        limits = checked_filter(request.filter)
        searcher = self.scoped_to((*limits.collections, *collections_in(query)), request.boosts)
        store = searcher.view.store
        options = searcher.options(
            request.mode, request.fusion, request.rerank, self.profile.diversity, request.rerank_top
        )
        hit = chunk_at(store.catalog, checked_text("the name of a document", request.document))
        if hit:
            name = hit.place
        else:
            name = Reader(searcher.view).place_of(request.document)
        chunks = store.catalog.chunks_of(*name)
        plan = searcher.plan(searcher.parse(query, limits), request.top_k, options)
        discloses = searcher.view.visible.discloses
        hits = [hit] if hit else chunks
        verdict = Inquiry(plan, store, name, hits, len(chunks), request.top_k, discloses, as_typed(plan.query))()
        if verdict.hit:
            hit = searcher.view.redacted_hits([verdict.hit])[0]
        return replace(verdict, hit=hit if verdict.hit else None, namespace=parted(verdict.namespace)[0])


# The stages of a search; a new step is a new case here


def stages_of(search: Search) -> tuple[Stage, ...]:
    """Return the stages of a search in the order of its profile; those of searches alike are the same."""
    query = search.plan.query
    by_meaning = search.plan.execution.vector is not None
    words_read = (bool(query.credits), query.credits_only, bool(query.times))
    key = (search.is_lifted, *words_read, by_meaning, search.model_scale)
    known = search.options.built.get(key)
    if known is not None and known[0] is search.calibration:
        return known[1]
    phase = Phase.CANDIDATES
    stages: list[Stage] = []
    done: Step | None = None
    for name in search.view.profile.stages:
        if name == FUSE:
            stages.append(FUSION)
        elif name == FETCH:
            stages.append(READING)
            phase = Phase.PASSAGES
        elif name == PAGE:
            phase = Phase.PAGE
        else:
            for stage in _stages(search, name) if isinstance(name, str) else [name]:
                # A step need not be repeated while nothing else changed the table.
                if stage.step != done:
                    stages.append(Stage(stage.name, stage.step, stage.top, phase, stage.applies, stage.timed))
                done = stage.step
    found = tuple(stages)
    search.options.built[key] = search.calibration, found
    return found


def _stages(search: Search, name: str) -> Sequence[Stage]:
    """Return the stages with a name, or none if they do not apply. Rarely used modules are imported on demand."""
    options = search.options
    query = search.plan.query
    match name:
        case "anchors" if search.is_lifted:
            from rifflux.retrieve.steps.anchors import STAGE, Anchors

            return [Stage(STAGE, Anchors(search.analyzer, **search.view.profile.tuning.boosts))]
        case "credits" if query.credits and (search.is_lifted or not options.fuse):
            from rifflux.retrieve.steps.credits import STAGE, Credits

            return [Stage(STAGE, Credits(), timed=False)]
        case "code" if search.is_lifted:
            from rifflux.retrieve.steps.code import STAGE, Definitions

            return [Stage(STAGE, Definitions(), applies=_has_code)]
        case "prefix rank" if search.is_lifted:
            from rifflux.retrieve.steps.beginnings import STAGE, PreservePrefixRank

            return [Stage(STAGE, PreservePrefixRank(), top=0, timed=False)]
        case "times" if query.times:
            from rifflux.retrieve.steps.moments import STAGE, Moments

            step = Moments()
            return [Stage(STAGE, step, top=step.top)]
        case "rerank" if options.reranker:
            reranked = Stage(RERANK, options.reranker, top=options.reranker.top)
            if not _stages(search, "credits"):
                return [reranked]
            # A reranker does not use credits.
            from rifflux.retrieve.steps.credits import STAGE, credits_first

            return [reranked, *_stages(search, "prefix rank"), Stage(STAGE, credits_first)]
        case "symbol" if options.symbol:
            from rifflux.retrieve.steps.code import OnlyDefining

            return [Stage("symbol", OnlyDefining(options.symbol))]
        case "diversity" if options.diversity != REPEATING:
            return options.diversity.stages
        case "relevance":
            return relevance(search)
        case "licenses":
            return [Stage("licenses", Licenses(search.view), timed=False)]
    if name not in STAGES:
        raise InvalidArgument(f"unknown stage {name!r}; choose from {', '.join(STAGES)}")
    return ()


def _has_code(plan: Plan, table: Candidates) -> bool:
    """Return True if the best candidates of any channel include source code."""
    return "code" in plan.evidence.kinds(pool_of(table.rankings, LOOKED_AT))


def relevance(search: Search) -> Sequence[Stage]:
    """Return the stages that compute relevance: by words, by the model's calibration, or by its cosine scale."""
    if search.plan.execution.vector is None:
        rate = Relevance(search.analyzer)
    elif search.calibration:
        rate = Relevance(search.analyzer, search.calibration)
    else:
        model = search.model_scale
        rate = Relevance(search.analyzer, MEANING if model else None, scale=model)
    if not search.plan.query.credits_only:
        return [Stage("relevance", rate)]
    from rifflux.retrieve.steps.credits import credit_relevance

    return [Stage("relevance", rate), Stage("relevance", credit_relevance)]


@dataclass(frozen=True, slots=True)
class Licenses:
    """Drops hits whose match may not be disclosed to the caller, and redacts texts that no license opens."""

    view: IndexView

    def __call__(self, plan: Plan, table: Candidates) -> Candidates:
        """Return the hits as the caller may see them."""
        table = self.disclosable(plan, table)
        return replace(table, passages=tuple(self.view.redacted_hits(table.passages)))

    def disclosable(self, plan: Plan, table: Candidates) -> Candidates:
        """Drop works whose authors, venue or year are in the query but may not be disclosed to the caller."""
        query = plan.query
        fields = {credit.role for credit in query.credits} | (_FACTS & query.filter.metadata.keys())
        if not fields or not table.passages:
            return table
        policy = self.view.visible
        rows = [row for row, hit in enumerate(table.passages) if policy.discloses(hit, fields)]
        return table if len(rows) == len(table) else table.take(rows)


# Conditions of a filter that exclude everything: a misspelt one finds nothing, and a notice should say so


def unmatched(filter: Filter, passes: Callable[[Filter], bool]) -> tuple[Notice, ...]:
    """Return notices on conditions that no document meets, or one notice if only their combination fails."""
    if not filter or passes(filter):
        return ()
    conditions = [description for description, alone in _conditions(filter) if not passes(alone)]
    if not conditions:
        return (Notice("filter.unmatched", "no document meets all conditions of the filter"),)
    return tuple(Notice("filter.unmatched", f"nothing {each}", data={"condition": each}) for each in conditions)


def _conditions(filter: Filter) -> Iterator[tuple[str, Filter]]:
    """Yield a description of each condition, with a filter of it alone."""
    yield from ((f"has a path like {each!r}", Filter(paths=(each,))) for each in filter.paths)
    if filter.folders:
        yield "is in a folder that was named", Filter(folders=filter.folders)
    yield from ((f"is of the kind {each!r}", Filter(kinds=(each,))) for each in filter.kinds)
    if filter.since:
        yield f"is from {filter.since} or later", Filter(since=filter.since)
    if filter.until:
        yield f"is from {filter.until} or before", Filter(until=filter.until)
    for name, value in filter.metadata.items():
        yield f"has {name}={_spelled(value)}", Filter(metadata={name: value})
    yield from ((f"has the subject {each!r}", Filter(tags=(each,))) for each in filter.tags)


def _spelled(value: Any) -> str:
    """Return a value, or its distinct alternatives as text: a number may also occur as text."""
    several = isinstance(value, Sequence) and not isinstance(value, str)
    values: Mapping[str, None] = dict.fromkeys(map(str, value if several else [value]))
    return " or ".join(values)
