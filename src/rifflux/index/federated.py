"""Search of everything: knowledge, files, notes, tasks and conversations, each a separate list."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from rifflux.requests import EverythingRequest, takes
from rifflux.retrieve.fuse import ReciprocalRank
from rifflux.retrieve.table import SCORE, SEMANTIC, joined
from rifflux.session.arguments import checked_deadline, checked_filter, checked_query
from rifflux.session.federation import Federation, Source, SourceResults, narrowed
from rifflux.session.searching import Searcher
from rifflux.session.session import IndexView
from rifflux.types import Filter, Hit, Notice, Ranking, Results, Trace, Why

#: The relevance or cosine of a page's best hit from which its quality is high, and medium.
HIGH = 0.85
MEDIUM = 0.7
#: A page of low quality with fewer hits than this is searched again with a wider question.
FEW = 3
#: Shorter words are prefixes of too many others.
SHORTEST_PREFIX = 4
#: Added to the ranks of reciprocal rank fusion.
RANK_OFFSET = 60.0
FUSED = "sources"


@dataclass(frozen=True, slots=True)
class Everything:
    """Searches each source separately, and fuses their lists by reciprocal rank with the sources' weights.

    A short list is not crowded out by a long one, and scores of different sources are never compared. If the first
    source answers well (the relevance of its best hit, or its cosine without a relevance, is `HIGH`), the others are
    skipped. Scores of fused ranks say nothing about quality and are not considered.
    """

    sources: Sequence[Source]

    @takes(EverythingRequest)
    def __call__(self, request: EverythingRequest) -> Results:
        """Return the best hits of all sources; each hit's trail names its source and its rank there.

        `fusion` fuses words and meaning within each source.
        """
        query = request.query
        checked_query(query)
        filter = checked_filter(request.filter)
        federation = Federation.of(self.sources, query, filter, checked_deadline(request.deadline_ms))
        first, *others = sources = _with_requested_kinds(federation)
        found = {first.name: federation.search(first, request.top_k, request.mode, request.fusion)}
        if first is federation.sources[0] and quality_of(*_rated(found)) >= HIGH:
            text = f"{first.name} answers well by itself: the other sources were not asked"
            note = Notice("sources.not_asked", text, data={"source": first.name})
            return _fused(request, [first], found, note)
        for source in others:
            found[source.name] = federation.search(source, request.top_k, request.mode, request.fusion)
        results = _fused(request, federation.sources, found)
        wider = widened(query)
        if len(results) >= FEW or quality_of(results, _rated(found)[1]) >= MEDIUM or wider == query:
            return results
        federation = replace(federation, text=wider)
        found = {each.name: federation.search(each, request.top_k, request.mode, request.fusion) for each in sources}
        note = Notice("query.widened", f"little was found: asked again as {wider!r}", data={"query": wider})
        return _fused(request, federation.sources, found, note)


def _with_requested_kinds(federation: Federation) -> Sequence[Source]:
    """Return the sources with documents of the requested kinds, at least one."""
    found = []
    for source in federation.sources:
        own = source.filter()
        limits = narrowed(federation.filter, own)
        kinds = Filter(kinds=limits.kinds, not_kinds=limits.not_kinds)
        with source.view.store.memoized(federation.deadline):
            if not own.kinds or federation.searcher(source).view.store.catalog.any_passes(kinds):
                found.append(source)
    return found or federation.sources[:1]


def _rated(found: Mapping[str, SourceResults]) -> tuple[Sequence[Hit], Mapping[str, float]]:
    """Return the hits of all sources, and the cosines of those that have one, by chunk id."""
    hits: list[Hit] = []
    cosines: dict[str, float] = {}
    for each in found.values():
        hits += each.results
        for hit, cosine in zip(each.results, each.table[f"{SEMANTIC}/score"].tolist(), strict=True):
            if cosine == cosine:
                cosines[hit.id] = cosine
    return hits, cosines


def _fused(
    request: EverythingRequest, sources: Sequence[Source], found: Mapping[str, SourceResults], *notes: Notice
) -> Results:
    """Return one page of several lists, each hit with an explanation of its source.

    `sources` are those whose lists count; those without content are not `found`, and their lists are empty.
    """
    first = next(iter(found.values()))
    unsearched = Results(first.results.query, (), replace(first.results.trace, milliseconds={}, degraded=(), notes=()))
    lists = {}
    for source in sources:
        lists[source.name] = found[source.name].results if source.name in found else unsearched
    fuse = ReciprocalRank(RANK_OFFSET, {source.name: source.weight for source in sources})
    fused = fuse(joined({name: _ranking(results) for name, results in lists.items()})).head(request.top_k)
    shares = fused.parts(fuse.name)
    hits = {
        int(hit.id, 16): (hit, Why(f"source:{name}", rank, hit.score))
        for name, results in lists.items()
        for rank, hit in enumerate(results, 1)
    }
    page = []
    for place, (id, score) in enumerate(zip(fused.ids.tolist(), fused[SCORE].tolist(), strict=True)):
        hit, placed = hits[id]
        detail = {source: float(share[place]) for source, share in shares.items() if share[place]}
        page.append(replace(hit, score=score, why=(*hit.why, placed, Why(FUSED, place + 1, score, detail))))
    trace = _trace(lists, (*first.options.notes, *_notes(sources[0].view, found), *notes))
    return Results(request.query, tuple(page), trace)


def _notes(view: IndexView, found: Mapping[str, SourceResults]) -> Iterator[Notice]:
    """Yield notes on how the question was read, and why nothing can be found if all searched views are empty."""
    by_searcher: dict[Searcher, list[SourceResults]] = {}
    for each in found.values():
        by_searcher.setdefault(each.searcher, []).append(each)
    notes: dict[Notice, None] = {}
    for searcher, every in by_searcher.items():
        plan = every[0].plan
        if plan.variants:
            hits = [hit for each in every for hit in each.results]
            notes.update(dict.fromkeys(searcher.variant_notes(plan, hits)))
        notes.update(dict.fromkeys(plan.execution.notes))
    yield from notes
    statistics = [each.plan.execution.statistics for each in found.values()]
    holding = any(each and each.chunks for each in statistics)
    if view.nothing and not holding and not any(each.results for each in found.values()):
        yield view.nothing


def quality_of(hits: Sequence[Hit], cosines: Mapping[str, float]) -> float:
    """Return the best relevance of a page, or its best cosine if no hit has a relevance; 0 for an empty page."""
    relevances = [hit.relevance for hit in hits if hit.relevance is not None]
    return max(relevances or [cosines[hit.id] for hit in hits if hit.id in cosines], default=0.0)


def widened(query: str) -> str:
    """Return the question without quotes and required parts, its longer words also as prefixes."""
    words = re.sub(r'(?<!\S)\+|"', " ", query).split()
    plain = [word for word in words if not word.startswith("-")]
    excluded = [word for word in words if word.startswith("-")]
    prefixes = [f"{word}*" for word in plain if len(word) >= SHORTEST_PREFIX and word.isalpha()]
    return " ".join([*plain, *prefixes, *excluded])


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
