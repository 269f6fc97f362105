"""Retrieval of works with evidence: the profile's steps order the candidates of a question, its packer quotes them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import repeat
from operator import attrgetter
from time import perf_counter

import numpy as np

from rifflux.errors import ModelError
from rifflux.evidence.choose import Citable
from rifflux.evidence.pack import EvidencePack, Packer
from rifflux.models import load_embedder
from rifflux.models.workers import Workers
from rifflux.retrieve.pipeline import RERANK, Stopwatch
from rifflux.retrieve.table import RELEVANCE, SCORE, Candidates, page
from rifflux.session.arguments import checked_budget, checked_deadline, checked_filter, checked_search, checked_works
from rifflux.session.searching import Searcher
from rifflux.session.visibility import Visibility
from rifflux.text.titles import person
from rifflux.types import Document, Filter, Hit, Identifier, Tag, Trace, Why
from rifflux.types.former import takes_former
from rifflux.works.export import CITING, style_of
from rifflux.works.model import PRIMARY, names_of, primary_of
from rifflux.works.retrieval.asked import Asked
from rifflux.works.retrieval.candidates import POOL, SIDE, SIDES, CandidateGenerator, Gathered
from rifflux.works.retrieval.intent import INTENTS, Intent
from rifflux.works.retrieval.likeness import Likeness, fitted
from rifflux.works.retrieval.question import Naming, Place, Question, meant, naming
from rifflux.works.retrieval.steps import CITED, KIND, SCORED, VALUE, RetrievalSettings, WorkSteps

__all__ = ["Retrieval", "RetrievalSettings", "WorksRetriever"]

#: The metadata that holds the subject of a work without codes.
_SUBJECTS = ("subject", "field", "chapter")
#: Documents are read in so many at a time.
AHEAD = 12
#: Titles that are told where an identifier is not held.
NEAREST = 3


@dataclass
class Liking:
    """Tell what a question is worded like, by the model in the package; `notes` say why that was not possible.

    It is the model that the examples were fitted to, also where an index is embedded by another one: that would have to
    be asked for all examples first. An index without vectors is searched by words, and its questions are read by rules.
    """

    searcher: Searcher
    deadline: float | None
    notes: list[str] = field(default_factory=list)

    def __call__(self, text: str) -> Likeness | None:
        """Return the likeness of a question to examples; None where the model does not answer."""
        if not self.searcher.store.counts()["embedded_chunks"]:
            return None
        view, wording = self.searcher.view, fitted()
        try:
            embedder = view.embedder
            if embedder.fingerprint != wording.fingerprint:
                embedder = view.guarded(load_embedder())
            return wording(embedder.question_vector(text, deadline=self.deadline), text)
        except ModelError as error:
            self.notes.append(f"its wording was read by rules alone: {error}")
            return None


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
        collections: str | Sequence[str] = (),
        deadline_ms: float | None = None,
    ) -> Retrieval:
        """Answer a question with at most `top_k` works and evidence of at most `max_tokens` tokens.

        `mode` is `lookup`, `survey`, `compare`, `prereq`, `related`, `generic` or `keywords`; without it, the wording
        decides. `since` and
        `until` are the first and the last date, both inclusive; `subjects` are tags, whatever their case, `sources`
        names of lists that were imported. `cite` adds the cited works to the evidence, in `bibtex` or as `csl`
        (CSL-JSON). `collections` narrows to works of these. What a model has not done within `deadline_ms` of the call
        is left out.
        Raises `InvalidArgument`.
        """
        checked_search(query, top_k, None)
        checked_budget(max_tokens)
        if cite:
            style_of(str(cite))
        packer = replace(self.searcher.profile.packer or Packer(CITING), budget=max_tokens, listed=top_k, style=cite)
        filter, clock = checked_works(since, until, subjects, sources), Stopwatch()
        deadline = checked_deadline(deadline_ms)
        searcher = self.searcher.now(query, checked_filter({"collections": collections}).collections)
        # What is embedded to understand the question is not embedded again to search for it.
        searcher = Searcher(searcher.view.asking_once)
        return replace(self, searcher=searcher)._found(query, filter, mode, packer, clock, deadline)

    def _found(
        self, query: str, filter: Filter, mode: str | None, packer: Packer, clock: Stopwatch, deadline: float | None
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
            )
            view = self.searcher.view
            searcher = Searcher(replace(view, profile=replace(view.profile, steps=steps)))
            generator = CandidateGenerator(searcher, question, filter, clock)
            found = generator()
            clock.add("search", start)
            found = self._ranked(found, steps, clock)
            return self._answer(generator, found, steps, replace(packer, limits=question.asked.intent.limits))

    def _meant(self, text: str, filter: Filter, mode: str | None, clock: Stopwatch, deadline: float | None) -> Question:
        """Return the question, read and understood."""
        searcher, start = self.searcher, perf_counter()
        query = replace(searcher.read(text, filter), deadline=deadline)
        liken = Liking(searcher, deadline)
        question = meant(text, query, mode, self.intents, searcher.store, searcher.view.visible, liken)
        clock.add("understand", start)
        return replace(question, notes=(*question.notes, *liken.notes))

    def _ranked(self, found: Gathered, steps: WorkSteps, clock: Stopwatch) -> Gathered:
        """Return the works in the order of the profile's steps, and the trace completed."""
        works, left_out, dropped = found.pipeline.refined(found.query, found.table, clock)
        trace, question = found.trace, steps.question
        trace = replace(
            trace,
            reranker=None if RERANK in left_out else SCORED,
            milliseconds=clock.milliseconds,
            counts={**trace.counts, CITED: steps.cited, "works": len(works)},
            dropped={**trace.dropped, **({KIND: dropped[KIND]} if KIND in dropped else {})},
            degraded=tuple(dict.fromkeys([*trace.degraded, *left_out.values()])),
            notes=(
                *trace.notes,
                *question.notes,
                *_not_held(question, works),
                *steps.notes,
                *(steps.unmatched(works) if steps.filter else ()),
            ),
            understanding=question.query.understanding,
        )
        return replace(found, table=works, trace=trace)

    def _answer(self, generator: CandidateGenerator, found: Gathered, steps: WorkSteps, packer: Packer) -> Retrieval:
        """Return the works of the page with their evidence."""
        searcher, question, start = generator.searcher, steps.question, perf_counter()
        names = searcher.store.catalog.identifiers_of(np.unique(steps.candidates.ids))
        listed = generator.rated(found, found.table.head(packer.listed))
        citable = _Citables(searcher, question.text, names, steps.tags)(found.table.head(POOL), steps.candidates)
        packer = replace(packer, notes=found.trace.degraded)
        pack = packer(
            question.text,
            question.asked.intent.name,
            citable,
            searcher.view.embedder.count_tokens,
            partial(_relevance, generator, found, listed),
        )
        opened = self.searcher.view.visible.opened(
            {item.key: (item.namespace, item.license) for item in pack.items if item.text}.values()
        )
        pack = replace(pack, notes=(*pack.notes, *opened))
        generator.clock.add("pack", start)
        asked = question.asked
        shown = {f"{id:016x}": tuple(map(str, names_of(each))) for id, each in names.items()}
        candidates = self._explained(steps.candidates, asked.sides)
        reranked = self._explained(listed, asked.sides)
        return Retrieval(question.text, asked, candidates, reranked, pack, found.trace, shown)

    def _explained(self, table: Candidates, sides: Sequence[str]) -> tuple[Hit, ...]:
        """Return works as they may be shown, with their components before weighing and the side that they answer."""
        values = {}
        for name, column in table.columns.items():
            if name.startswith(VALUE):
                values[name.removeprefix(VALUE)] = column
        rows = np.array([*values.values()]).T.tolist() or [()] * len(table)
        side, hits = table[SIDE], []
        for row, hit in enumerate(page(table)):
            details: Mapping[str, Mapping[str, object]] = {
                SCORED: {"values": dict(zip(values, rows[row], strict=False))},
                SIDES: {"side": sides[int(side[row])]} if np.isfinite(side[row]) else {},
            }
            more = map(details.get, map(attrgetter("stage"), hit.why), repeat({}))
            hits.append(hit.retold(hit.score, tuple(map(Why.adding, hit.why, more)), hit.relevance, hit.quality))
        return tuple(self.searcher.view.shown(hits))


def _not_held(question: Question, works: Candidates) -> list[str]:
    """Return a note for each identifier that the question has and no work here, with the titles that come nearest."""
    titles = "; ".join(repr(hit.title) for hit in works.passages[:NEAREST])
    nearest = f"the nearest titles here are {titles}" if titles else "nothing here is near it"
    return [f"no work here has the identifier {name}: {nearest}" for name in question.lacking]


def _relevance(generator: CandidateGenerator, found: Gathered, listed: Candidates, hits: Sequence[Hit]) -> float:
    """Return the relevance of the best of some hits; that of those which are `listed` is known."""
    ids = Candidates.of_hits(hits).ids
    known, works = listed[RELEVANCE][np.isin(listed.ids, ids)], found.table
    others = works.take(np.flatnonzero(np.isin(works.ids, ids) & ~np.isin(works.ids, listed.ids)))
    more = generator.rated(found, others)[RELEVANCE] if len(others) else np.empty(0)
    return float(np.concatenate([known, more]).max(initial=0.0))


@dataclass
class _Citables:
    """Give ranked works as evidence may be taken from them, by their identifiers and tags by chunk id."""

    searcher: Searcher
    text: str
    names: Mapping[int, Sequence[Identifier]]
    tags: Mapping[int, Sequence[Tag]]
    places: Sequence[Place] = ()
    read: dict[Place, Document | None] = field(default_factory=dict)

    @cached_property
    def visible(self) -> Visibility:
        """Return the rule of what the caller is shown."""
        return self.searcher.view.visible

    def __call__(self, ranked: Candidates, candidates: Candidates) -> list[Citable]:
        """Return the works in their order, with all of their passages among the candidates."""
        passages: dict[Place, list[Hit]] = {}
        for hit in self.visible.hits(candidates.passages):
            passages.setdefault(hit.place, []).append(hit)
        self.places, meant = [*map(attrgetter("place"), ranked.passages)], naming(self.text)
        parts, found = ranked.parts(SCORED), []
        rows = zip(ranked.passages, ranked[SCORE].tolist(), ranked.ids.tolist(), strict=True)
        values = np.array([*parts.values()]).T.tolist() or [()] * len(ranked)
        for (hit, score, id), addends in zip(rows, values, strict=True):
            hit, components = hit.retold(score, ()), dict(zip(parts, addends, strict=False))
            work = Citable(
                self.searcher.view.labelled(hit), passages[hit.place], partial(self.document, hit.place), components
            )
            found.append(_described(work, meant, self.names.get(id, ()), self.tags.get(id, ()), self.visible))
        return found

    def document(self, place: Place) -> Document | None:
        """Return a document as it may be shown; several are read at a time, in the order of the works."""
        if place not in self.read:
            start = self.places.index(place)
            wanted = self.places[start : start + AHEAD]
            found = self.searcher.store.catalog.documents_at(wanted)
            for each in wanted:
                document = found.get(each)
                self.read[each] = document and self.visible.document(each[0], document)
        return self.read[place]


def _described(
    work: Citable, naming: Naming, identifiers: Sequence[Identifier], tags: Sequence[Tag], visible: Visibility
) -> Citable:
    """Return a work with what is to be known of it; title and identifiers alone decide where no more is told."""
    hit, facts = work.hit, work.hit.metadata
    if not visible.tells_facts(hit.place[0], hit.license):
        return replace(work, certainty=naming.certainty(hit.title, (), identifiers))
    authors, venue = tuple(map(str, facts.get("authors", ()))), str(facts.get("venue", ""))
    headed = set()
    for each in work.passages:
        if naming.heads(each.heading_path):
            headed.add(each.chunk_id)
    return replace(
        work,
        certainty=naming.certainty(hit.title, authors, identifiers) or int(bool(headed)),
        named=frozenset(headed),
        groups=frozenset([*zip(repeat("authors"), map(person, authors)), *([("venues", venue)] if venue else [])]),
        subject=_subject(facts, tags),
    )


def _subject(facts: Mapping[str, object], tags: Sequence[Tag]) -> str:
    """Return the primary category of a work, else the subject in its metadata; empty if unknown."""
    primary = str(facts.get(PRIMARY, ""))
    if tag := Tag(*primary.split(":", 1)) if ":" in primary else tags and primary_of(tags):
        return f"{tag.scheme}:{tag.value[:2] if tag.scheme == 'msc' else tag.value}"
    return str(next(filter(None, map(facts.get, _SUBJECTS)), ""))
