"""Searching all that somebody has at once: knowledge, files, notes, tasks and conversations, each a list of its own."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from rifflux.requests import EverythingRequest, takes
from rifflux.retrieve.fuse import Fuse, ReciprocalRank
from rifflux.retrieve.pipeline import Plan, Stopwatch
from rifflux.retrieve.query.reading import collections_in, within
from rifflux.retrieve.table import SCORE, SEMANTIC, joined
from rifflux.session.arguments import checked_deadline, checked_filter, checked_query
from rifflux.session.folders import resolved
from rifflux.session.searching import Searcher, SearchOptions
from rifflux.session.session import IndexView
from rifflux.types import Filter, Hit, Notice, Ranking, Results, Trace, Why

if TYPE_CHECKING:
    from rifflux.models.guarded import GuardedEmbedder

#: The least relevance or cosine of a page's best hit for its quality to be high, and medium.
HIGH = 0.85
MEDIUM = 0.7
#: A page of low quality with fewer hits than this is asked for once more, with a wider question.
FEW = 3
#: Words shorter than this begin too many others.
SHORTEST_PREFIX = 4
#: Added to the ranks of reciprocal rank fusion.
RANK_OFFSET = 60.0
FUSED = "sources"

_KINDS = ("knowledge", "note", "task", "message")


@dataclass(frozen=True, slots=True)
class FederatedSource:
    """A part of what somebody has: which documents it is made of, and how much a place in its list counts."""

    name: str
    weight: float
    filter: Filter = field(default_factory=Filter)


#: The first is asked before the others.
SOURCES = (
    FederatedSource("knowledge", 1.5, Filter(kinds=("knowledge",))),
    FederatedSource("files", 1.2, Filter(not_kinds=(*_KINDS, "memory"))),
    FederatedSource("notes", 1.0, Filter(kinds=("note",))),
    FederatedSource("tasks", 1.0, Filter(kinds=("task",))),
    FederatedSource("conversations", 0.8, Filter(kinds=("message",))),
)


@dataclass(frozen=True, slots=True)
class Everything:
    """Asks each source by itself, and fuses their lists by reciprocal rank with the sources' weights.

    A short list is not crowded out by a long one, and scores of different sources are never compared. Where the
    first source answers well by itself (its best hit's relevance, or cosine where there is no relevance, is `HIGH`),
    the others are not asked. The scores of fused ranks say nothing of quality and are not looked at for it. `parts` are
    the views that are searched for the sources of their names instead of `view`, and `modes` gives those that sources
    are searched in whatever the caller wants.
    """

    view: IndexView
    sources: Sequence[FederatedSource] = SOURCES
    parts: Mapping[str, IndexView] = field(default_factory=dict)
    modes: Callable[[], Mapping[str, str]] = dict

    @takes(EverythingRequest)
    def __call__(self, request: EverythingRequest) -> Results:
        """Return the best hits of all sources; each hit's trail names its source and its rank there.

        `fusion` says how words and meaning are fused within each source, as in a search of one.
        """
        query = request.query
        checked_query(query)
        filter = checked_filter(request.filter)
        if self.parts and (filter.collections or collections_in(query)):
            # What somebody said is in no collection.
            outside = replace(self, parts={}, sources=[each for each in self.sources if each.name not in self.parts])
            return outside(**vars(request))
        mode = request.mode
        top_k = request.top_k
        deadline = checked_deadline(request.deadline_ms)
        load = self.view.embedding_once.load
        asked = _Round(self, self.modes(), load, query, top_k, mode, request.fusion, filter, deadline)
        first, *others = sources = asked.sources()
        ignored = asked.options(first, mode).notes
        found = {first.name: asked.of(first)}
        if first is self.sources[0] and quality_of(found[first.name], asked.cosines) >= HIGH:
            text = f"{first.name} answers well by itself: the other sources were not asked"
            note = Notice("sources.not_asked", text, data={"source": first.name})
            return self._fused(query, found, top_k, *ignored, *asked.notes(found), note)
        found = self._complete(found | {source.name: asked.of(source) for source in others})
        results = self._fused(query, found, top_k, *ignored, *asked.notes(found))
        wider = widened(query)
        if len(results) >= FEW or quality_of(results, asked.cosines) >= MEDIUM or wider == query:
            return results
        asked = replace(asked, query=wider, read={}, searchers={})
        found = self._complete({source.name: asked.of(source) for source in sources})
        note = Notice("query.widened", f"little was found: asked again as {wider!r}", data={"query": wider})
        return self._fused(query, found, top_k, *ignored, *asked.notes(found), note)

    def _complete(self, found: Mapping[str, Results]) -> dict[str, Results]:
        """Return the answers of all sources, in their order; those without content are not searched."""
        first = next(iter(found.values()))
        nothing = Results(first.query, (), replace(first.trace, milliseconds={}, degraded=(), notes=()))
        return {source.name: found.get(source.name, nothing) for source in self.sources}

    def _fused(self, query: str, found: Mapping[str, Results], top_k: int, *notes: Notice) -> Results:
        """Return one page of several lists, each hit with the explanation of its source."""
        fuse = ReciprocalRank(
            RANK_OFFSET, {source.name: source.weight for source in self.sources if source.name in found}
        )
        rankings = {name: _ranking(results) for name, results in found.items()}
        fused = fuse(joined(rankings)).head(top_k)
        shares = fused.parts(fuse.name)
        hits = {
            int(hit.id, 16): (hit, Why(f"source:{name}", rank, hit.score))
            for name, results in found.items()
            for rank, hit in enumerate(results, 1)
        }
        page = []
        for place, (id, score) in enumerate(zip(fused.ids.tolist(), fused[SCORE].tolist(), strict=True)):
            hit, placed = hits[id]
            detail = {source: float(share[place]) for source, share in shares.items() if share[place]}
            page.append(replace(hit, score=score, why=(*hit.why, placed, Why(FUSED, place + 1, score, detail))))
        return Results(query, tuple(page), _trace(found, notes))


@dataclass(frozen=True, slots=True)
class _Round:
    """A question on its way to the sources, `read` once for each view by its searcher.

    `cosines` are those of the hits by chunk id.
    """

    everything: Everything
    modes: Mapping[str, str]
    load: Callable[[], GuardedEmbedder] | None
    query: str
    top_k: int
    mode: str
    fusion: str | Fuse | None
    filter: Filter
    deadline: float | None
    read: dict[str, Plan] = field(default_factory=dict)
    searchers: dict[str, Searcher] = field(default_factory=dict)
    cosines: dict[str, float] = field(default_factory=dict)

    def sources(self) -> Sequence[FederatedSource]:
        """Return the sources that have documents of kinds that are wanted, at least one."""
        return [each for each in self.everything.sources if self._has_some(each)] or self.everything.sources[:1]

    def _has_some(self, source: FederatedSource) -> bool:
        limits = _narrowed(self.filter, source.filter)
        wanted = Filter(kinds=limits.kinds, not_kinds=limits.not_kinds)
        return not source.filter.kinds or self._searcher(source).store.catalog.any_passes(wanted)

    def _searcher(self, source: FederatedSource) -> Searcher:
        """Return the searcher of a source; those of one view share it."""
        view = self._view_of(source)
        if view not in self.searchers:
            seen = replace(self.everything.parts.get(view, self.everything.view), load=self.load)
            others = [each.reading().store for name, each in self._views() if name != view]
            searcher = Searcher(seen, others)
            self.searchers[view] = (
                searcher
                if seen.is_part
                else searcher.scoped_to((*self.filter.collections, *collections_in(self.query)))
            )
        return self.searchers[view]

    def _views(self) -> Sequence[tuple[str, IndexView]]:
        """Return the views that are searched, each with its name; the one without a name holds all but the parts."""
        return [("", self.everything.view), *self.everything.parts.items()]

    def _view_of(self, source: FederatedSource) -> str:
        """Return the name of the view that a source is searched in, empty if it has none of its own."""
        if source.name in self.everything.parts:
            return source.name
        return ""

    def options(self, source: FederatedSource, mode: str) -> SearchOptions:
        """Return the options of the search of a source in a mode."""
        searcher = self._searcher(source)
        return searcher.options(mode, self.fusion, None, searcher.profile.diversity)

    def notes(self, found: Mapping[str, Results]) -> Iterator[Notice]:
        """Yield how the question was read, and why nothing can be found if no view that was searched holds anything."""
        notes: dict[Notice, None] = {}
        for view, plan in self.read.items():
            if plan.variants:
                sources = [
                    each for each in self.everything.sources if each.name in found and self._view_of(each) == view
                ]
                hits = [hit for each in sources for hit in found[each.name]]
                notes.update(dict.fromkeys(self._searcher(sources[0]).variant_notes(plan, hits)))
            notes.update(dict.fromkeys(plan.execution.notes))
        yield from notes
        statistics = [plan.execution.statistics for plan in self.read.values()]
        holding = any(each and each.chunks for each in statistics)
        nothing = self.everything.view.nothing
        if nothing and not holding and not any(found.values()):
            yield nothing

    def of(self, source: FederatedSource) -> Results:
        """Return the answer of one source."""
        searcher = self._searcher(source)
        view = self._view_of(source)
        options = self.options(source, self.modes.get(source.name, self.mode))
        with searcher.store.memoized():
            if view in self.read:
                parsed = replace(self.read[view], clock=Stopwatch())
            else:
                parsed = searcher.parse(self.query, deadline=self.deadline)
                self.read[view] = parsed
            # The question may name kinds itself.
            query = within(parsed.query, resolved(searcher.view, self.filter))
            limits = replace(_narrowed(query.filter, source.filter), collections=())
            parsed = replace(parsed, query=replace(query, filter=limits))
            results, table = searcher.results(parsed, self.top_k, options)
        cosines = table[f"{SEMANTIC}/score"].tolist()
        self.cosines.update({hit.id: each for hit, each in zip(results, cosines, strict=True) if each == each})
        return results


def quality_of(hits: Sequence[Hit], cosines: Mapping[str, float]) -> float:
    """Return the best relevance of a page, or its best cosine if no hit has a relevance; 0 for an empty one."""
    relevances = [hit.relevance for hit in hits if hit.relevance is not None]
    return max(relevances or [cosines[hit.id] for hit in hits if hit.id in cosines], default=0.0)


def widened(query: str) -> str:
    """Return the question without its quotes and required parts, its longer words also as beginnings of others."""
    words = re.sub(r'(?<!\S)\+|"', " ", query).split()
    plain = [word for word in words if not word.startswith("-")]
    excluded = [word for word in words if word.startswith("-")]
    prefixes = [f"{word}*" for word in plain if len(word) >= SHORTEST_PREFIX and word.isalpha()]
    return " ".join([*plain, *prefixes, *excluded])


def _narrowed(filter: Filter, source: Filter) -> Filter:
    """Return a filter for what passes both; where they have no kind in common, nothing passes."""
    kinds = filter.kinds or source.kinds
    left_out = (*filter.not_kinds, *source.not_kinds)
    if filter.kinds and source.kinds:
        common = tuple(kind for kind in filter.kinds if kind in source.kinds)
        if common:
            kinds = common
        else:
            kinds = filter.kinds
            left_out = (*left_out, *filter.kinds)
    return replace(filter, kinds=kinds, not_kinds=left_out)


def _ranking(results: Results) -> Ranking:
    ids = np.array([int(hit.id, 16) for hit in results], np.int64)
    return Ranking(ids, np.array([hit.score for hit in results], np.float64))


def _trace(found: Mapping[str, Results], notes: Sequence[Notice]) -> Trace:
    """Return one trace of all searches: times and counts by source, each reason once."""
    traces = {name: results.trace for name, results in found.items()}
    first = next(iter(traces.values()))
    reasons = dict.fromkeys(reason for trace in traces.values() for reason in trace.degraded)
    return replace(
        first,
        fusion=FUSED,
        milliseconds={name: round(sum(trace.milliseconds.values()), 3) for name, trace in traces.items()},
        counts={name: len(results) for name, results in found.items()},
        dropped={},
        degraded=tuple(reasons),
        notes=tuple(notes),
    )
