"""Retrieval of works with evidence: candidates, the works they cite, their order, and what can be quoted of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from itertools import repeat
from operator import attrgetter
from time import perf_counter
from typing import TypeVar

import numpy as np

from rifflux.errors import RiffluxError
from rifflux.evidence.choose import Citable
from rifflux.evidence.pack import EvidencePack, Packer
from rifflux.models.workers import Late, Workers
from rifflux.retrieve.pipeline import Stopwatch
from rifflux.retrieve.table import RELEVANCE, SCORE, Candidates, page
from rifflux.session.arguments import checked_budget, checked_search, checked_works
from rifflux.session.profile import Profile, Visibility
from rifflux.session.searching import Searcher
from rifflux.store import Store
from rifflux.text.titles import person
from rifflux.types import Document, Hit, Identifier, Tag, Trace, Why
from rifflux.types.former import takes_former
from rifflux.works.export import CITING, style_of
from rifflux.works.model import PRIMARY, names_of, primary_of
from rifflux.works.retrieval.candidates import (
    CITED,
    POOL,
    SIDE,
    SIDES,
    CandidateGenerator,
    Gathered,
    Neighborhood,
    neighborhood,
    unmatched,
)
from rifflux.works.retrieval.intent import INTENTS, Intent
from rifflux.works.retrieval.question import Asked, Naming, Question, meant, naming
from rifflux.works.retrieval.score import NEAR, SCORED, VALUE, WorkScore

__all__ = ["Retrieval", "RetrievalSettings", "WorksRetriever"]

T = TypeVar("T")
Place = tuple[str, str]
#: The metadata that holds the subject of a work without codes.
_SUBJECTS = ("subject", "field", "chapter")
#: Documents are read in so many at a time.
AHEAD = 12


@dataclass(frozen=True, slots=True)
class RetrievalSettings:
    """Limits of a retrieval: milliseconds to follow citations, and to score. `year` is this year, if not today's."""

    expansion_ms: float = 50.0
    rerank_ms: float = 200.0
    year: int | None = None


@dataclass(frozen=True, slots=True)
class Retrieval:
    """The works found for a question, and how.

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
class WorksRetriever:
    """Retrieve works. What fails or is late is left out, and the trace says so.

    `intents` are the weights and limits of each sort of question, by name.
    """

    searcher: Searcher
    settings: RetrievalSettings = field(default_factory=RetrievalSettings)
    intents: Mapping[str, Intent] = field(default_factory=lambda: INTENTS)
    workers: Workers = field(default_factory=Workers, repr=False, compare=False)

    @takes_former(budget="max_tokens", date_range=("since", "until"))
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
        max_tokens: int = 4_000,
        cite: str = "",
    ) -> Retrieval:
        """Answer a question with at most `top_k` works and evidence of at most `max_tokens` tokens.

        `mode` is `lookup`, `survey`, `compare`, `prereq` or `related`; without it, the wording decides. `since` and
        `until` are the first and the last date, both inclusive; `subjects` are tags, whatever their case, `sources`
        names of lists that were imported. `cite` adds the cited works to the evidence, in `bibtex` or as `csl`
        (CSL-JSON).
        Raises `InvalidArgument`.
        """
        checked_search(query, top_k, None)
        checked_budget(max_tokens)
        if cite:
            style_of(str(cite))
        filter, clock = checked_works(since, until, subjects, sources), Stopwatch()
        with self.searcher.store.memoized():
            start = perf_counter()
            asked = self.searcher.read(query, filter)
            clock.add("understand", start)
            question = meant(query, asked, mode, self.intents, self.searcher.store)
            generator = CandidateGenerator(self.searcher, question, filter, clock)
            found = generator()
            clock.add("search", start)
            packer = replace(self.searcher.profile.packer or Packer(CITING), budget=max_tokens, style=cite)
            return _Ranking(self, question, generator, found, clock)(top_k, packer)


@dataclass
class _Ranking:
    """The second half of a retrieval: from candidates to ranked works and evidence.

    `degraded` holds reasons for parts that were left out, `notes` remarks for the reader.
    """

    retriever: WorksRetriever
    question: Question
    generator: CandidateGenerator
    found: Gathered
    clock: Stopwatch
    degraded: list[str] = field(init=False)
    reranker: str | None = None
    notes: list[str] = field(init=False)

    def __post_init__(self) -> None:
        self.degraded, asked = list(self.found.trace.degraded), self.question.asked
        self.notes = [*self.found.trace.notes, f"{asked.intent.name}: {asked.reason}", *self.question.notes]

    def __call__(self, top_k: int, packer: Packer) -> Retrieval:
        """Return at most `top_k` works, and their evidence."""
        question, store = self.question, self._store
        kept = self._without_kinds(self.found.table)
        start = perf_counter()
        around = self._around(_one_per_work(kept))
        more = around.new(kept, question.intent.neighbours)
        candidates = around.joined(kept, self.generator.settled(self.found.query, more))
        self.clock.add("citations", start)
        works = _one_per_work(candidates)
        tags = store.catalog.tags_of(works.ids)
        start = perf_counter()
        ranked = self._ranked(works, tags)
        self.clock.add("rerank", start)
        listed = self.generator.rated(self.found, ranked.head(top_k))
        names = store.catalog.identifiers_of(np.unique(candidates.ids))
        start = perf_counter()
        citable = self._citable(ranked.head(POOL), candidates, names, tags)
        packer = replace(packer, limits=question.intent.limits, listed=top_k, notes=tuple(self.degraded))
        pack = self._pack(packer, citable, ranked, listed)
        self.clock.add("pack", start)
        self.notes += [*around.notes, *unmatched(self.generator.filter, works, tags, store)]
        return Retrieval(
            question.text,
            question.asked,
            self._explained(with_nearness(candidates)),
            self._explained(listed),
            pack,
            self._trace(len(self.found.table) - len(kept), {CITED: len(around.near), "works": len(ranked)}),
            {f"{id:016x}": tuple(map(str, names_of(each))) for id, each in names.items()},
        )

    @property
    def _store(self) -> Store:
        return self.retriever.searcher.store

    @property
    def _profile(self) -> Profile:
        return self.retriever.searcher.profile

    def _without_kinds(self, table: Candidates) -> Candidates:
        """Return the candidates without those of kinds that the intent leaves out."""
        kept = table.take([row for row, hit in enumerate(table.passages) if self.question.intent.keeps(hit)])
        if dropped := len(table) - len(kept):
            self.notes.append(f"left out for their kind: {dropped} passages of notices and the like")
        return kept

    def _around(self, works: Candidates) -> Neighborhood:
        """Return the works that citations join with the best, or with the one that is asked about."""
        found = self._within(
            self.retriever.settings.expansion_ms,
            "citations",
            lambda: neighborhood(self._store, self.question, self.found.query, works),
            "citations were not followed",
        )
        return found or Neighborhood()

    def _ranked(self, works: Candidates, tags: Mapping[int, Sequence[Tag]]) -> Candidates:
        """Return the works by their scores; in the merged order if scoring is late or fails."""
        settings, searcher, about = self.retriever.settings, self.retriever.searcher, self.question.about
        score = WorkScore(
            self._store,
            self.question.intent.weights,
            settings.year or datetime.now(UTC).year,
            tags,
            self.generator.filter.tags,
            named=self.question.first.hit.place if self.question.first else None,
            like=about.tags if about else (),
            words=frozenset(searcher.analyzer.terms(about.hit.title) if about else self.question.query.terms),
            analyzer=searcher.analyzer,
        )
        otherwise = "the merged order was kept, without scores"
        ranked = self._within(settings.rerank_ms, SCORED, lambda: score(self.found.query, works), otherwise)
        if ranked is None:
            return works
        self.reranker = SCORED
        return _alternating(ranked)

    def _within(self, milliseconds: float, name: str, work: Callable[[], T], otherwise: str) -> T | None:
        """Return the result of some work; None if it fails or is late, and `degraded` says so."""
        try:
            return self.retriever.workers(work, perf_counter() + milliseconds / 1000, name)
        except (Late, RiffluxError) as error:
            reason = str(error)
        except Exception as error:  # words of an error that was not foreseen may hold anything
            reason = type(error).__name__
        self.degraded.append(f"{otherwise}: {reason}")
        return None

    def _citable(
        self,
        ranked: Candidates,
        candidates: Candidates,
        names: Mapping[int, Sequence[Identifier]],
        tags: Mapping[int, Sequence[Tag]],
    ) -> list[Citable]:
        """Return ranked works as evidence may be taken from them, with all of their passages among the candidates."""
        passages: dict[Place, list[Hit]] = {}
        for hit in candidates.passages:
            passages.setdefault(hit.place, []).append(hit)
        read = _Documents(self._store, [*map(attrgetter("place"), ranked.passages)], self._profile.visible)
        meant, parts, found = naming(self.question.text), ranked.parts(SCORED), []
        for row, hit in enumerate(ranked.passages):
            id, components = int(hit.chunk_id, 16), {name: float(values[row]) for name, values in parts.items()}
            hit = hit.retold(float(ranked[SCORE][row]), ())
            work = Citable(hit, passages[hit.place], partial(read, hit.place), components)
            found.append(_described(work, meant, names.get(id, ()), tags.get(id, ())))
        return found

    def _pack(self, packer: Packer, works: Sequence[Citable], ranked: Candidates, listed: Candidates) -> EvidencePack:
        """Return the evidence of works; the relevance of those that are `listed` is known."""
        known = dict(zip(listed.ids.tolist(), listed[RELEVANCE].tolist(), strict=True))

        def relevance(hits: Sequence[Hit]) -> float:
            ids = [int(hit.chunk_id, 16) for hit in hits]
            others = np.flatnonzero(np.isin(ranked.ids, [id for id in ids if id not in known]))
            more = self.generator.rated(self.found, ranked.take(others))[RELEVANCE].tolist() if len(others) else []
            return max([*(known[id] for id in ids if id in known), *more], default=0.0)

        question, count = self.question, self.retriever.searcher.view.embedder.count_tokens
        return packer(question.text, question.intent.name, works, count, relevance)

    def _explained(self, table: Candidates) -> tuple[Hit, ...]:
        """Return works as they may be shown, with their components before weighing and the side that they answer."""
        values = {name.removeprefix(VALUE): column for name, column in table.columns.items() if name.startswith(VALUE)}
        rows = np.array([*values.values()]).T.tolist() or [()] * len(table)
        side, sides, hits = table[SIDE], self.question.asked.sides, []
        for row, hit in enumerate(page(table)):
            details: Mapping[str, Mapping[str, object]] = {
                SCORED: {"values": dict(zip(values, rows[row], strict=False))},
                SIDES: {"side": sides[int(side[row])]} if np.isfinite(side[row]) else {},
            }
            more = map(details.get, map(attrgetter("stage"), hit.why), repeat({}))
            hits.append(hit.retold(hit.score, tuple(map(Why.adding, hit.why, more)), hit.relevance, hit.quality))
        return tuple(map(self._profile.visible.hit, hits))

    def _trace(self, dropped: int, counts: Mapping[str, int]) -> Trace:
        trace = self.found.trace
        return replace(
            trace,
            reranker=self.reranker,
            milliseconds=self.clock.milliseconds,
            counts={**trace.counts, **counts},
            dropped={**trace.dropped, **({"kind": dropped} if dropped else {})},
            degraded=tuple(dict.fromkeys(self.degraded)),
            notes=tuple(self.notes),
            understanding=self.question.query.understanding,
        )


def _one_per_work(table: Candidates) -> Candidates:
    """Return the best candidate of each work, in their order."""
    first: dict[tuple[str, str], int] = {}
    for row, hit in enumerate(table.passages):
        first.setdefault(hit.place, row)
    return table.take(list(first.values()))


def _alternating(table: Candidates) -> Candidates:
    """Return the works of each side of a comparison in turn, each side's in their order; those of neither come last.

    The side of the best comes first.
    """
    side = table[SIDE]
    if not np.isfinite(side).any():
        return table
    rows = {value: np.flatnonzero(side == value).tolist() for value in dict.fromkeys(side[np.isfinite(side)].tolist())}
    turns = max(map(len, rows.values()), default=0)
    inturn = [group[turn] for turn in range(turns) for group in rows.values() if turn < len(group)]
    return table.take([*inturn, *np.flatnonzero(~np.isfinite(side)).tolist()])


def with_nearness(table: Candidates) -> Candidates:
    """Return candidates that all tell how near their works are to the best by citations, not the new ones alone."""
    scores = table[f"{CITED}/{SCORE}"]
    return table.with_column(f"{CITED}/{SCORE}", np.where(np.isnan(scores), table[NEAR], scores))


class _Documents:
    """Read documents as they may be shown, in their order, several at a time."""

    def __init__(self, store: Store, places: Sequence[Place], visible: Visibility) -> None:
        self._store, self._places, self._visible = store, list(places), visible
        self._read: dict[Place, Document | None] = {}

    def __call__(self, place: Place) -> Document | None:
        if place not in self._read:
            start = self._places.index(place)
            wanted = self._places[start : start + AHEAD]
            found = self._store.catalog.documents_at(wanted)
            shown = {place: self._visible.document(place[0], each) for place, each in found.items()}
            self._read |= {**dict.fromkeys(wanted), **shown}
        return self._read[place]


def _described(work: Citable, naming: Naming, identifiers: Sequence[Identifier], tags: Sequence[Tag]) -> Citable:
    """Return a work with what is to be known of it; title and identifiers alone decide where it is withheld."""
    hit, facts = work.hit, work.hit.metadata
    if hit.withheld:
        return replace(work, certainty=naming.certainty(hit.title, (), identifiers))
    authors, venue = tuple(map(str, facts.get("authors", ()))), str(facts.get("venue", ""))
    headed = frozenset(each.chunk_id for each in work.passages if naming.heads(each.heading_path))
    return replace(
        work,
        certainty=naming.certainty(hit.title, authors, identifiers) or int(bool(headed)),
        named=headed,
        groups={"authors": frozenset(map(person, authors)), "venues": frozenset([venue] if venue else [])},
        subject=_subject(facts, tags),
    )


def _subject(facts: Mapping[str, object], tags: Sequence[Tag]) -> str:
    """Return the primary category of a work, else the subject in its metadata; empty if unknown."""
    primary = str(facts.get(PRIMARY, ""))
    tag = Tag(*primary.split(":", 1)) if ":" in primary else primary_of(tags)
    if tag:
        return f"{tag.scheme}:{tag.value[:2] if tag.scheme == 'msc' else tag.value}"
    return next((str(facts[name]) for name in _SUBJECTS if facts.get(name)), "")
