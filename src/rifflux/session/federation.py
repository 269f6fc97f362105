"""A query in several sources: each is searched separately, and the query is parsed once per view."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from rifflux.errors import NotFound
from rifflux.requests import HYBRID
from rifflux.retrieve.fuse import Fuse
from rifflux.retrieve.pipeline import Plan, Stopwatch
from rifflux.retrieve.query.reading import collections_in
from rifflux.retrieve.table import Candidates
from rifflux.session.searching import Searcher, SearchOptions
from rifflux.session.session import IndexView
from rifflux.types import Filter, Results


@dataclass(frozen=True, slots=True)
class Source:
    """A searchable source: its view, its filter, and the mode in which it may be searched.

    `weight` is that of its list in fusion.
    """

    name: str
    view: IndexView
    filter: Callable[[], Filter] = Filter
    mode: Callable[[str], str] = str
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class SourceResults:
    """The results of a query in one source: the searcher, the query as parsed there, the hits and the table."""

    searcher: Searcher
    plan: Plan
    options: SearchOptions
    results: Results
    table: Candidates


@dataclass(frozen=True, slots=True)
class Federation:
    """A query for several sources; use `of` to create one.

    A word that occurs in the view of any source counts as correctly spelled.
    """

    sources: Sequence[Source]
    text: str
    filter: Filter
    deadline: float | None
    _searchers: dict[str, Searcher] = field(default_factory=dict, init=False)
    _parsed: dict[str, Plan] = field(default_factory=dict, init=False)

    @classmethod
    def of(cls, sources: Sequence[Source], text: str, filter: Filter, deadline: float | None) -> Federation:
        """Return a query for the sources in the named collections, embedded once for all of them.

        Parts, such as messages and memories, are in no collection. Raises `NotFound` if no source is left.
        """
        if filter.collections or collections_in(text):
            sources = [each for each in sources if not each.view.is_part]
        if not sources:
            raise NotFound("messages and memories are in no collection: leave the collections out")
        load = sources[0].view.embedding_once.load
        return cls([replace(each, view=replace(each.view, load=load)) for each in sources], text, filter, deadline)

    def searcher(self, source: Source) -> Searcher:
        """Return the searcher of a source, shared per view. Raises `NotFound` for an invisible collection."""
        owner = source.view.store.owner
        if owner not in self._searchers:
            views = {each.view.store.owner: each.view for each in self.sources}
            others = [view.reading().store for other, view in views.items() if other != owner]
            collections = (*self.filter.collections, *collections_in(self.text))
            self._searchers[owner] = Searcher(source.view, others).scoped_to(collections)
        return self._searchers[owner]

    def search(self, source: Source, top_k: int, mode: str = HYBRID, fusion: str | Fuse | None = None) -> SourceResults:
        """Return the results of one source."""
        owner = source.view.store.owner
        # What is shared with the caller is looked up within the deadline, too.
        with source.view.store.memoized(self.deadline) as reads:
            searcher = self.searcher(source)
            options = searcher.options(source.mode(mode), fusion, None, searcher.profile.diversity)
            if owner in self._parsed:
                parsed = replace(self._parsed[owner], clock=Stopwatch())
            else:
                parsed = searcher.parse(self.text, replace(self.filter, collections=()), deadline=self.deadline)
                self._parsed[owner] = parsed
            limits = narrowed(parsed.query.filter, source.filter())
            parsed = replace(parsed, query=replace(parsed.query, filter=limits))
            results, table = searcher.results(parsed, top_k, options)
        if reads:
            results = replace(results, trace=reads.traced(results.trace))
        return SourceResults(searcher, parsed, options, results, table)


def narrowed(filter: Filter, source: Filter) -> Filter:
    """Return the intersection of two filters; without a common kind, nothing passes."""
    kinds = filter.kinds or source.kinds
    not_kinds = (*filter.not_kinds, *source.not_kinds)
    if filter.kinds and source.kinds:
        kinds = tuple(kind for kind in filter.kinds if kind in source.kinds)
        if not kinds:
            kinds = filter.kinds
            not_kinds = (*not_kinds, *filter.kinds)
    return replace(
        filter,
        kinds=kinds,
        not_kinds=not_kinds,
        bounds=(*filter.bounds, *source.bounds),
        without=(*filter.without, *source.without),
    )
