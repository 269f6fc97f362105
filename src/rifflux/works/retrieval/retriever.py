"""Retrieval of research works with evidence: what is asked, what answers, what it cites, and what can be quoted."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial

import numpy as np

from rifflux.errors import RiffluxError
from rifflux.evidence.choose import Citable
from rifflux.evidence.pack import EvidencePack, Packer
from rifflux.models.workers import Late, Workers
from rifflux.retrieve.pipeline import Stopwatch
from rifflux.session.arguments import checked_budget, checked_search, checked_works
from rifflux.session.searching import Searcher
from rifflux.session.visible import closed_hit
from rifflux.store import Store
from rifflux.types import Document, Hit, Identifier, Ids, Query, Ranking, Trace, Why
from rifflux.works.citing import CITING
from rifflux.works.export import style_of
from rifflux.works.model import names_of
from rifflux.works.retrieval.about import Meant
from rifflux.works.retrieval.candidates import POOL, SIDES, Finding, Found, Question, unknown
from rifflux.works.retrieval.citable import citable
from rifflux.works.retrieval.cited import Cited, allowed
from rifflux.works.retrieval.exact import named_in
from rifflux.works.retrieval.intent import INTENTS, Asked, Expanding, Intent
from rifflux.works.retrieval.score import SCORED, WorkScore

__all__ = ["Retrieval", "Scholar", "ScholarSettings"]

CITED = "cited"
NO_CITATIONS = "no citations of it are known here: those of the most similar works were followed"
NOT_TOLD = "no license is recorded for it, so its citations are not told: those of the most similar works were followed"


@dataclass(frozen=True, slots=True)
class ScholarSettings:
    """What retrieval may take: milliseconds to follow citations, and to score. `year` is this year, if not today's."""

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

    asking: Searcher
    settings: ScholarSettings = field(default_factory=ScholarSettings)
    intents: Mapping[str, Intent] = field(default_factory=lambda: INTENTS)
    cited: Callable[[Sequence[Hit], Sequence[str]], Ranking] | None = None
    workers: Workers = field(default_factory=Workers, repr=False, compare=False)

    def __call__(
        self,
        query: str,
        *,
        mode: str | None = None,
        top_k: int = 10,
        date_range: tuple[str | None, str | None] = (None, None),
        subjects: str | Sequence[str] = (),
        sources: str | Sequence[str] = (),
        budget: int = 4_000,
        cite: str = "",
    ) -> Retrieval:
        """Answer a question with at most `top_k` works and evidence of at most `budget` tokens.

        `mode` is `lookup`, `survey`, `compare`, `prereq` or `related`; without it, the wording decides. `date_range`
        are the first and the last date, both inclusive; `subjects` are tags, whatever their case, `sources` names of
        lists that were imported. `cite` adds the cited works to the evidence, in `bibtex` or as `csl` (CSL-JSON).
        Raises `InvalidArgument`.
        """
        checked_search(query, top_k, None)
        checked_budget(budget)
        if cite:
            style_of(str(cite))
        filter = checked_works(date_range, subjects, sources)
        clock, finding = Stopwatch(), Finding(self.asking)
        with clock("search"):
            question = finding.understood(query, mode, self.intents)
            found = finding(question, filter)
        asked, degraded = question.asked, list(found.trace.degraded)
        hits = _kept(found.hits, asked.intent)
        with clock("citations"):
            around = self._around(question, found, hits, degraded)
        candidates = [*hits, *around.hits]
        works = _one_a_work(candidates)
        with clock("rerank"):
            ranked, reranker = self._ranked(question, works, around.near, filter.tags, degraded)
        rate = partial(finding.rated, found)
        rated = rate(ranked[:top_k])
        names = self.asking.store.catalog.identifiers_of(np.unique(_ids(candidates)))
        with clock("pack"):
            packer = self._packer(asked, rate, rated, budget, top_k, cite, degraded)
            pack = packer(query, asked.intent.name, self._citable(query, ranked[:POOL], candidates, names))
        dropped = {"kind": len(found.hits) - len(hits)} if len(hits) < len(found.hits) else {}
        left_out = [f"left out for their kind: {dropped['kind']} passages of notices and the like"] if dropped else []
        told = (*question.notes, *left_out, *around.notes, *unknown(filter, works, self.asking.store))
        trace = replace(
            found.trace,
            reranker=reranker,
            milliseconds={**found.trace.milliseconds, **clock.milliseconds},
            counts={**found.trace.counts, CITED: len(around.near), "works": len(ranked)},
            dropped={**found.trace.dropped, **dropped},
            degraded=tuple(dict.fromkeys(degraded)),
            notes=(*found.trace.notes, f"{asked.intent.name}: {asked.reason}", *told),
            understanding=question.understanding,
        )
        identifiers = {f"{id:016x}": tuple(map(str, names_of(each))) for id, each in names.items()}
        listed = tuple(map(closed_hit, _with_nearness(candidates, around.near)))
        return Retrieval(query, asked, listed, tuple(map(closed_hit, rated)), pack, trace, identifiers)

    # What is around the best candidates, and the order of all

    def _around(self, question: Question, found: Found, hits: Sequence[Hit], degraded: list[str]) -> _Around:
        """What the best candidates cite and are cited by, or the work that is asked about, as the question allows."""
        intent, about = question.asked.intent, question.about
        works, deadline = _one_a_work(hits), time.perf_counter() + self.settings.expansion_ms / 1000
        try:
            neighbours, notes = self.workers(
                lambda: self._neighbours(works, about, intent.expansion, found.query), deadline, "citations"
            )
        except Late as late:
            degraded.append(f"citations were not followed: {late}")
            return _Around()
        except Exception as error:  # whatever is wrong with them, words and meaning still answer
            degraded.append(f"citations were not followed: {_said(error)}")
            return _Around()
        kept = [hit for hit in _kept(neighbours, intent) if not about or hit.place != about.place]
        known = {hit.place for hit in hits}
        new = [
            hit.retold(hit.score, (Why(CITED, rank, hit.score),))
            for rank, hit in enumerate(kept, 1)
            if hit.place not in known
        ]
        new = found.settled(self.asking, new[: intent.expansion.neighbours], intent.weights)
        return _Around(new, {hit.place: hit.score for hit in kept}, notes)

    def _neighbours(
        self, works: Sequence[Hit], about: Meant | None, expansion: Expanding, limits: Query
    ) -> tuple[list[Hit], tuple[str, ...]]:
        """What citations join with the work that is asked about, else with the best candidates; and a note."""
        store = self.asking.store
        cited = self.cited or Cited(store)
        closed = bool(about and about.withheld)
        if about and not closed and len(ranking := allowed(store, limits, cited([about.hit], expansion.follow))):
            return store.catalog.hydrate(ranking), ()
        ranking = allowed(store, limits, cited(works[: expansion.seeds], expansion.follow))
        return store.catalog.hydrate(ranking), (NOT_TOLD if closed else NO_CITATIONS,) if about else ()

    def _ranked(
        self,
        question: Question,
        works: Sequence[Hit],
        near: Mapping[tuple[str, str], float],
        subjects: Sequence[str],
        degraded: list[str],
    ) -> tuple[list[Hit], str | None]:
        """The works by their scores, and what ordered them; in the merged order where scoring is late or fails."""
        asked, about, analyzer = question.asked, question.about, self.asking.analyzer
        score = WorkScore(
            self.asking.store,
            asked.intent.weights,
            self.settings.year or datetime.now(UTC).year,
            near,
            subjects,
            named={question.first.place} if question.first else (),
            like=about.tags if about else (),
            words=frozenset(analyzer.terms(about.hit.title if about else question.text)),
            analyzer=analyzer,
        )
        deadline = time.perf_counter() + self.settings.rerank_ms / 1000
        try:
            ranked = self.workers(lambda: score(works), deadline, SCORED)
            return _alternating(ranked) if asked.sides else ranked, SCORED
        except Late as late:
            degraded.append(f"the merged order was kept, without scores: {late}")
        except Exception as error:  # whatever is wrong with the scores, the merged order answers
            degraded.append(f"the merged order was kept, without scores: {_said(error)}")
        return list(works), None

    # Evidence

    def _packer(
        self,
        asked: Asked,
        rate: Callable[[Sequence[Hit]], Sequence[Hit]],
        rated: Sequence[Hit],
        budget: int,
        listed: int,
        cite: str,
        degraded: Sequence[str],
    ) -> Packer:
        """Packs evidence; `rate` tells how relevant hits are, and `rated` are some for which that is known."""
        known = {hit.chunk_id: hit for hit in rated}

        def relevance(hits: Sequence[Hit]) -> float:
            others = rate([hit for hit in hits if hit.chunk_id not in known])
            told = [*(known[hit.chunk_id] for hit in hits if hit.chunk_id in known), *others]
            return max((hit.relevance or 0.0 for hit in told), default=0.0)

        limits, count = asked.intent.packing.limits, self.asking.embedder.count_tokens
        return Packer(limits, CITING, count, relevance, budget, listed, cite, tuple(degraded))

    def _citable(
        self, query: str, ranked: Sequence[Hit], hits: Sequence[Hit], names: Mapping[int, Sequence[Identifier]]
    ) -> list[Citable]:
        """The ranked works with all of their passages that were found."""
        store, named = self.asking.store, named_in(query)
        passages: dict[tuple[str, str], list[Hit]] = {}
        for hit in hits:
            passages.setdefault(hit.place, []).append(hit)
        tags = store.catalog.tags_of(_ids(ranked))

        def candidate(hit: Hit) -> Citable:
            place, id = hit.place, int(hit.chunk_id, 16)
            parts, read = _components(hit), _reader(store, place)
            return citable(hit, passages[place], read, parts, named, names.get(id, ()), tags.get(id, ()))

        return [candidate(hit) for hit in ranked]


@dataclass(frozen=True, slots=True)
class _Around:
    """New candidates from the graph of citations, how near every neighbour is, and what to tell of it."""

    hits: Sequence[Hit] = ()
    near: Mapping[tuple[str, str], float] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


def _kept(hits: Sequence[Hit], intent: Intent) -> list[Hit]:
    """The hits without those of kinds that an intent leaves out."""
    return [hit for hit in hits if hit.kind.lower() not in intent.leaving.not_kinds]


def _said(error: Exception) -> str:
    """An error as it may be told: the words of one that was not foreseen may hold anything."""
    return str(error) if isinstance(error, RiffluxError) else type(error).__name__


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


def _with_nearness(hits: Sequence[Hit], near: Mapping[tuple[str, str], float]) -> list[Hit]:
    """The hits, each with how near its work is to the best in the graph of citations where that is known."""
    return [
        hit.retold(hit.score, (*hit.why, Why(CITED, None, near[hit.place])))
        if hit.place in near and not hit.because(CITED)
        else hit
        for hit in hits
    ]


def _one_a_work(hits: Sequence[Hit]) -> list[Hit]:
    """The best hit of each work, in their order."""
    best: dict[tuple[str, str], Hit] = {}
    for hit in hits:
        best.setdefault(hit.place, hit)
    return list(best.values())


def _ids(hits: Sequence[Hit]) -> Ids:
    return np.fromiter((int(hit.chunk_id, 16) for hit in hits), np.int64, len(hits))


def _components(hit: Hit) -> dict[str, float]:
    why = hit.because(SCORED)
    return {name: value for name, value in why.detail.items() if isinstance(value, float)} if why else {}


def _reader(store: Store, place: tuple[str, str]) -> Callable[[], Document | None]:
    return lambda: store.catalog.document(*place)
