"""Retrieval of research works with evidence: what is asked, what answers, what it cites, and what can be quoted."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

import numpy as np

from rifflux._arguments import checked_search
from rifflux.asking import Asking
from rifflux.errors import InvalidArgument
from rifflux.models.workers import Late, Workers
from rifflux.retrieve.fuse import ReciprocalRank
from rifflux.retrieve.pipeline import Stopwatch
from rifflux.retrieve.works.choose import Candidate
from rifflux.retrieve.works.cited import Cited
from rifflux.retrieve.works.intent import INTENTS, Asked, Intent, asked_for
from rifflux.retrieve.works.licences import shown
from rifflux.retrieve.works.pack import EvidencePack, Packer
from rifflux.retrieve.works.score import WorkScore
from rifflux.retrieve.works.settle import settled
from rifflux.store.base import Store
from rifflux.types import Document, Filter, Hit, Identifier, Ids, Query, Ranking, Trace, Why
from rifflux.works.export import style_of
from rifflux.works.model import names_of

__all__ = ["Retrieval", "Scholar", "ScholarSettings"]

#: Candidates of each channel, and how many of them are looked at.
POOL = 100
CITED = "cited"
#: The stage that tells which side of a comparison a hit answers.
SIDES = "sides"
_Place = tuple[str, str]


@dataclass(frozen=True, slots=True)
class ScholarSettings:
    """What retrieval may take: neighbours that become candidates, milliseconds to follow citations and to score."""

    neighbours: int = 30
    expansion_ms: float = 50.0
    rerank_ms: float = 200.0
    year: int | None = None


@dataclass(frozen=True, slots=True)
class Retrieval:
    """What was found for a question, and how.

    `candidates` are as the channels and the fusion have them, `reranked` in their final order, one hit a work.
    `identifiers` are those of each hit's work, by chunk id.
    """

    query: str
    asked: Asked
    candidates: tuple[Hit, ...]
    reranked: tuple[Hit, ...]
    evidence: EvidencePack
    trace: Trace
    identifiers: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True)
class Scholar:
    """Retrieves works. `asking` asks those of an index; what fails or is late is left out, and the trace says so.

    `intents` are what each sort of question weighs and follows, by name.
    """

    asking: Asking
    settings: ScholarSettings = field(default_factory=ScholarSettings)
    intents: Mapping[str, Intent] = field(default_factory=lambda: INTENTS)
    cited: Cited | None = None
    workers: Workers = field(default_factory=Workers, repr=False, compare=False)

    def __call__(
        self,
        query: str,
        *,
        mode: str | None = None,
        top_k: int = 10,
        date_range: tuple[str | None, str | None] = (None, None),
        subjects: Sequence[str] = (),
        sources: Sequence[str] = (),
        budget: int = 4_000,
        cite: str = "",
    ) -> Retrieval:
        """Answer a question with at most `top_k` works and evidence of at most `budget` tokens.

        `mode` is `lookup`, `survey`, `compare`, `prereq` or `related`; without it, the wording decides. `date_range`
        are the first and the last date, both inclusive; `subjects` are tags, `sources` names of lists that were
        imported. `cite` adds the cited works to the evidence, in `bibtex` or as `csl` (CSL-JSON).
        Raises `InvalidArgument`.
        """
        checked_search(query, top_k, None)
        if budget < 1:
            raise InvalidArgument(f"the budget is a number of tokens above 0, not {budget}")
        if cite:
            style_of(cite)
        clock = Stopwatch()
        asked = asked_for(query, mode, self.asking.classify(query), self.intents, self.asking.analyser)
        filter = _filter(date_range, subjects, sources)
        found, question, trace = self._found(query, asked, filter, clock)
        degraded = list(trace.degraded)
        with clock("citations"):
            around = self._around(found, question, asked, filter, degraded)
        works = _one_a_work([*found, *around.hits])
        with clock("rerank"):
            ranked = self._ranked(query, works, asked, around.near, subjects, degraded)
        rated = self.asking.rated(question, ranked[:top_k])
        candidates = [*found, *around.hits]
        names = self.asking.store.identifiers_of(np.unique(_ids(candidates)))
        with clock("pack"):
            packer = self._packer(asked, question, rated, budget, top_k, cite, degraded)
            pack = packer(query, asked.intent.name, self._citable(ranked[:POOL], candidates, names))
        counts = dict(trace.counts) | {CITED: len(around.near), "works": len(ranked)}
        trace = replace(
            trace,
            reranker="works",
            milliseconds={**trace.milliseconds, **clock.milliseconds},
            counts=counts,
            degraded=tuple(dict.fromkeys(degraded)),
            notes=(*trace.notes, f"{asked.intent.name}: {asked.reason}"),
        )
        identifiers = {f"{id:016x}": tuple(map(str, names_of(each))) for id, each in names.items()}
        told = _with_nearness(candidates, around.near)
        return Retrieval(query, asked, tuple(shown(told)), tuple(shown(rated)), pack, trace, identifiers)

    # Candidates

    def _found(self, query: str, asked: Asked, filter: Filter, clock: Stopwatch) -> tuple[list[Hit], Query, Trace]:
        """What words and meaning find; of a comparison, what each side finds has its place among it."""
        with clock("search"):
            plan = self.asking.plan(query, top_k=POOL, filter=filter)
            results = plan(POOL)
            sides = {side: self.asking.plan(side, top_k=POOL, filter=filter) for side in asked.sides}
            lists = {side: self._settled(each.query, each(POOL), asked) for side, each in sides.items()}
            if not asked.sides:
                return self._settled(plan.query, results, asked), plan.query, results.trace
        rankings = {name: _ranking(hits) for name, hits in lists.items()}
        fused = ReciprocalRank()(rankings).head(POOL)
        # Of what both sides find, the trail of the side that ranks it better.
        placed = [(rank, side, hit) for side, found in lists.items() for rank, hit in enumerate(found)]
        hits = {int(hit.chunk_id, 16): (side, hit) for _, side, hit in sorted(placed, key=lambda each: -each[0])}
        merged = [
            hits[id][1].moved(SIDES, score, side=hits[id][0])
            for id, score in zip(fused.ids.tolist(), fused.scores.tolist(), strict=True)
        ]
        return merged, plan.query, results.trace

    def _settled(self, query: Query, hits: Iterable[Hit], asked: Asked) -> list[Hit]:
        return settled(self.asking.store, query, list(hits), self.asking.profile.weights, asked.intent.weights)

    def _around(self, found: Sequence[Hit], query: Query, asked: Asked, filter: Filter, degraded: list[str]) -> _Around:
        """What the best candidates cite and are cited by, within the filter."""
        store = self.asking.store
        cited = self.cited or Cited(store, deadline_ms=self.settings.expansion_ms, workers=self.workers)
        expansion = cited(_one_a_work(found), asked.intent.follow)
        if expansion.degraded:
            degraded.append(expansion.degraded)
        ranking = expansion.ranking
        if filter and len(ranking):
            kept = np.isin(ranking.ids, store.passing(filter, ranking.ids))
            ranking = Ranking(ranking.ids[kept], ranking.scores[kept])
        hits = store.hydrate(ranking)
        near = {_place(hit): hit.score for hit in hits}
        known = {_place(hit) for hit in found}
        new = [
            replace(hit, why=(Why(CITED, rank, hit.score),))
            for rank, hit in enumerate(hits, 1)
            if _place(hit) not in known
        ]
        return _Around(self._settled(query, new[: self.settings.neighbours], asked), near)

    def _ranked(
        self,
        query: str,
        works: Sequence[Hit],
        asked: Asked,
        near: Mapping[_Place, float],
        subjects: Sequence[str],
        degraded: list[str],
    ) -> list[Hit]:
        """The works by their scores; in the merged order where scoring is late."""
        year = self.settings.year or datetime.now(UTC).year
        analyser = self.asking.analyser
        words = frozenset(analyser.terms(query))
        score = WorkScore(self.asking.store, asked.intent.weights, year, near, subjects, words, analyser)
        deadline = time.perf_counter() + self.settings.rerank_ms / 1000
        try:
            ranked = self.workers(lambda: score(works), deadline, "works")
            return _alternating(ranked) if asked.sides else ranked
        except Late as late:
            degraded.append(f"the merged order was kept: scoring {late}")
            return list(works)

    # Evidence

    def _packer(
        self,
        asked: Asked,
        question: Query,
        rated: Sequence[Hit],
        budget: int,
        listed: int,
        cite: str,
        degraded: Sequence[str],
    ) -> Packer:
        """Packs evidence for a question, of which `rated` hits are known to be as relevant as they say."""
        known = {hit.chunk_id: hit for hit in rated}

        def relevance(hits: Sequence[Hit]) -> float:
            unknown = self.asking.rated(question, [hit for hit in hits if hit.chunk_id not in known])
            told = [*(known[hit.chunk_id] for hit in hits if hit.chunk_id in known), *unknown]
            return max((hit.relevance or 0.0 for hit in told), default=0.0)

        return Packer(
            asked.intent.packing, self.asking.embedder.count_tokens, relevance, budget, listed, cite, tuple(degraded)
        )

    def _citable(
        self, ranked: Sequence[Hit], hits: Sequence[Hit], names: Mapping[int, Sequence[Identifier]]
    ) -> list[Candidate]:
        """The ranked works with all of their passages that were found."""
        store = self.asking.store
        passages: dict[_Place, list[Hit]] = {}
        for hit in hits:
            passages.setdefault(_place(hit), []).append(hit)
        tags = store.tags_of(_ids(ranked))

        def candidate(hit: Hit) -> Candidate:
            place, id = _place(hit), int(hit.chunk_id, 16)
            return Candidate(hit, passages[place], _reader(store, place), tags.get(id, ()), names.get(id, ()))

        return [candidate(hit) for hit in ranked]


@dataclass(frozen=True, slots=True)
class _Around:
    """New candidates from the graph of citations, and how near every neighbour is."""

    hits: Sequence[Hit]
    near: Mapping[_Place, float]


def _filter(date_range: tuple[str | None, str | None], subjects: Sequence[str], sources: Sequence[str]) -> Filter:
    since, until = date_range
    return Filter(
        since=since,
        until=until,
        metadata={"sources": list(sources)} if sources else {},
        tags=tuple(subjects),
    )


def _alternating(hits: Sequence[Hit]) -> list[Hit]:
    """The hits of each side of a comparison in turn, each side's in their order; those of neither come last."""
    sides: dict[str, list[Hit]] = {}
    rest = []
    for hit in hits:
        if why := hit.because(SIDES):
            sides.setdefault(why.detail["side"], []).append(hit)
        else:
            rest.append(hit)
    turns = max(map(len, sides.values()), default=0)
    return [group[turn] for turn in range(turns) for group in sides.values() if turn < len(group)] + rest


def _with_nearness(hits: Sequence[Hit], near: Mapping[_Place, float]) -> list[Hit]:
    """The hits, each with how near its work is to the best in the graph of citations where that is known."""
    return [
        replace(hit, why=(*hit.why, Why(CITED, None, near[_place(hit)])))
        if _place(hit) in near and not hit.because(CITED)
        else hit
        for hit in hits
    ]


def _one_a_work(hits: Sequence[Hit]) -> list[Hit]:
    """The best hit of each work, in their order."""
    best: dict[_Place, Hit] = {}
    for hit in hits:
        best.setdefault(_place(hit), hit)
    return list(best.values())


def _place(hit: Hit) -> _Place:
    return hit.collection, hit.document


def _ids(hits: Sequence[Hit]) -> Ids:
    return np.fromiter((int(hit.chunk_id, 16) for hit in hits), np.int64, len(hits))


def _ranking(hits: Sequence[Hit]) -> Ranking:
    return Ranking(_ids(hits), np.fromiter((hit.score for hit in hits), np.float64, len(hits)))


def _reader(store: Store, place: _Place) -> Callable[[], Document | None]:
    return lambda: store.document(*place)
