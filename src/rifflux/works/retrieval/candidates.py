"""What words and meaning find of works: for a question, for both sides of a comparison, or like a named work."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce

import numpy as np

from rifflux.retrieve.channels import LEXICAL, SEMANTIC
from rifflux.retrieve.coverage import StoreEvidence
from rifflux.retrieve.fuse import ReciprocalRank
from rifflux.retrieve.pipeline import Plan
from rifflux.retrieve.query.understand import parted
from rifflux.retrieve.steps.calibrate import quality
from rifflux.retrieve.table import RELEVANCE, SCORE, Candidates, joined
from rifflux.session.searching import Searcher
from rifflux.store import Store
from rifflux.text.rarity import idf
from rifflux.types import Filter, Hit, Ids, Query, Ranking, Trace, Understanding
from rifflux.works.retrieval.about import Meant, meant_in
from rifflux.works.retrieval.cited import allowed
from rifflux.works.retrieval.intent import ABOUT, FIRST, Asked, Intent, Weights, asked_for
from rifflux.works.retrieval.rescore import Exactly, settled

__all__ = ["POOL", "SIDES", "Finding", "Found", "Question", "unknown"]

#: Candidates of each search.
POOL = 60
#: How deep the channels are read for them.
DEEP = 200
#: The stage that tells which side of a comparison a hit answers.
SIDES = "sides"
#: The most telling terms of a work stand for it, from so much of its text.
TERMS, CHARACTERS = 25, 5_000


@dataclass(frozen=True, slots=True)
class Question:
    """A question about works: what it is after, what it leaves out, and what becomes of a work that it names.

    `text` is the `query` without its exclusions and facets, which `limits` has as they were typed. The work that is
    looked for comes `first`; of one that it is `about`, such as that whose prerequisites are wanted, others are.
    """

    query: str
    text: str
    limits: str
    asked: Asked
    understanding: Understanding
    first: Meant | None = None
    about: Meant | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Found:
    """Candidates, best first, how they were found, and what they answer.

    `query` is what all of them are scored by and must satisfy. `questions` are what they are judged by: one for each
    side of a comparison, or a single one under an empty name. The work at `named` is what the question names.
    """

    hits: Sequence[Hit]
    query: Query
    questions: Mapping[str, Query]
    trace: Trace
    named: tuple[str, str] | None = None

    def settled(self, asking: Searcher, hits: Sequence[Hit], weights: Weights) -> list[Hit]:
        """Other hits with their scores for the same query."""
        return settled(asking.store, self.query, hits, weights)


@dataclass(frozen=True)
class Finding:
    """Searches for works by words and meaning together, `POOL` deep."""

    asking: Searcher

    def understood(self, query: str, mode: str | None, intents: Mapping[str, Intent]) -> Question:
        """A question as it is meant, by its wording and by what is here. Raises `InvalidArgument` for a wrong mode."""
        asking = self.asking
        text, limits = parted(query, asking.view.facets)
        understanding = asking.classify(query)
        named, doubt = meant_in(text, asking.store)
        alone = f"the name of a work here: {named.told}" if named and named.alone else ""
        asked = asked_for(text, mode, understanding, intents, asking.analyzer, named=alone)
        if asked.intent.naming == ABOUT:
            told = f"it is about {named.told}, which is left out itself" if named else doubt
            if named and asked.intent.about:
                asked = replace(asked, intent=replace(asked.intent, weights=asked.intent.about))
            return Question(query, text, limits, asked, understanding, about=named, notes=(told,) if told else ())
        first = named if asked.intent.naming == FIRST else None
        return Question(query, text, limits, asked, understanding, first)

    def __call__(self, question: Question, filter: Filter) -> Found:
        """What answers a question, within its limits and a filter."""
        if question.asked.sides:
            return self._of_sides(question, filter)
        if question.about:
            return self._like(question.about, question, filter)
        plan = self._plan(question.query, filter)
        results = plan(POOL)
        weights = question.asked.intent.weights
        found = Found(self._settled(plan.query, results, weights), plan.query, {"": plan.query}, results.trace)
        return self._with(question.first, found, weights) if question.first else found

    def _with(self, named: Meant, found: Found, weights: Weights) -> Found:
        """What is named is a candidate, whatever the channels say, unless the question leaves it out."""
        found = replace(found, named=named.place)
        if named.place in [each.place for each in found.hits]:
            return found
        store, id = self.asking.store, int(named.hit.chunk_id, 16)
        ranking = allowed(store, found.query, Ranking(np.array([id], np.int64), np.zeros(1)))
        return replace(found, hits=[*found.hits, *found.settled(self.asking, store.catalog.hydrate(ranking), weights)])

    def _of_sides(self, question: Question, filter: Filter) -> Found:
        """What answers either side of a comparison, merged."""
        weights = question.asked.intent.weights
        plans = {side: self._plan(f"{side} {question.limits}", filter) for side in question.asked.sides}
        results = {side: plan(POOL) for side, plan in plans.items()}
        lists = {side: self._settled(plans[side].query, hits, weights) for side, hits in results.items()}
        fused = ReciprocalRank()(joined({side: _ranking(hits) for side, hits in lists.items()})).head(POOL)
        # Of what both sides find, the trail of the side that ranks it better.
        placed = [(rank, side, hit) for side, found in lists.items() for rank, hit in enumerate(found)]
        hits = {int(hit.chunk_id, 16): (side, hit) for _, side, hit in sorted(placed, key=lambda each: -each[0])}
        merged = [
            hits[id][1].moved(SIDES, score, side=hits[id][0])
            for id, score in zip(fused.ids.tolist(), fused[SCORE].tolist(), strict=True)
        ]
        trace = reduce(_both, (found.trace for found in results.values()))
        questions = {side: plan.query for side, plan in plans.items()}
        return Found(merged, _joined(list(questions.values())), questions, trace)

    def _like(self, named: Meant, question: Question, filter: Filter) -> Found:
        """What is like a work, by its most telling words and its vector; the work itself is left out."""
        store, weights = self.asking.store, question.asked.intent.weights
        title = "".join(char if char.isalnum() else " " for char in named.hit.title)
        plan = self._plan(f"{title} {question.limits}", filter)
        id = int(named.hit.chunk_id, 16)
        vector = store.semantic.vectors_of(np.array([id], np.int64), exact=True).get(id, plan.query.vector)
        asked = replace(plan.query, vector=vector, required=(), anchors=(), specificity=0.0)
        query = replace(asked, clauses=self._telling(named), variants=(), beside=(), prefixes=())
        plan = replace(plan, query=query, pipeline=replace(plan.pipeline, evidence=StoreEvidence(store, query)))
        results = plan(POOL)
        hits = self._settled(query, [hit for hit in results if hit.place != named.place], weights)
        # How well a work answers is judged by what the other is called: none holds all of the other's words.
        return Found(hits, query, {"": asked}, results.trace)

    def rated(self, found: Found, hits: Sequence[Hit]) -> Sequence[Hit]:
        """The hits with their relevance for the question; for the side that they answer where there are several.

        What is named is what was asked for, whether or not its text says its name.
        """
        told = [hit.because(SEMANTIC) for hit in hits]
        cosines = [np.nan if why is None or why.score is None else why.score for why in told]
        table = Candidates.of_hits(hits).with_column(f"{SEMANTIC}/score", np.array(cosines, np.float64))
        relevances = {side: self.asking.rated(question, table)[RELEVANCE] for side, question in found.questions.items()}
        ratings = {
            side: [hit.rated(value, quality(value)) for hit, value in zip(hits, values.tolist(), strict=True)]
            for side, values in relevances.items()
        }
        rated = []
        for number, hit in enumerate(hits):
            why = hit.because(SIDES)
            sides = [why.detail["side"]] if why else list(ratings)
            best = max((ratings[side][number] for side in sides), key=lambda each: each.relevance or 0.0)
            rated.append(best.rated(1.0, quality(1.0)) if hit.place == found.named else best)
        return rated

    def _settled(self, query: Query, hits: Iterable[Hit], weights: Weights) -> list[Hit]:
        return settled(self.asking.store, query, list(hits), weights)

    def _plan(self, text: str, filter: Filter) -> Plan:
        """A search for `POOL` candidates, whose scores by words are the tables'."""
        plan = self.asking.plan(text, top_k=POOL, filter=filter)
        channels = plan.pipeline.channels
        exactly = Exactly(channels[LEXICAL], self.asking.store, self.asking.profile.weights)
        pipeline = replace(plan.pipeline, channels={**channels, LEXICAL: exactly})
        # As deep as suffices, also where reading deeper costs nothing: how deep decides among the last candidates.
        deep = min(plan.query.sufficient(plan.query.limit), DEEP)
        return replace(plan, pipeline=pipeline, query=replace(plan.query, limit=deep))

    def _telling(self, named: Meant) -> tuple[tuple[str, ...], ...]:
        """The terms of a work that are rare elsewhere and frequent in it."""
        store, analyzer = self.asking.store, self.asking.analyzer
        document = store.catalog.document(*named.place)
        text = document.text[:CHARACTERS] if document else named.hit.content
        counts = Counter(analyzer.terms(f"{named.hit.title} {text}"))
        known, chunks = store.lexical.document_frequencies(list(counts)), store.counts()["chunks"]
        worth = {term: count**0.5 * idf(chunks, known[term]) for term, count in counts.items() if term in known}
        best = sorted(worth, key=lambda term: (-worth[term], term))[:TERMS]
        return tuple((term,) for term in best)


def unknown(filter: Filter, works: Sequence[Hit], store: Store) -> list[str]:
    """What a filter asks for that no work here has: what is misspelt finds nothing. `works` are some that passed."""
    tags = [tag for each in store.catalog.tags_of(_ids(works)).values() for tag in each] if filter.tags else []
    seen = {name.lower() for tag in tags for name in (tag.value, f"{tag.scheme}:{tag.value}")}
    listed = {name for hit in works for name in hit.metadata.get("sources", ())}
    asked = [("has the subject", name, Filter(tags=(name,))) for name in filter.tags if name.lower() not in seen]
    asked += [
        ("is from a source", name, Filter(metadata={"sources": [name]}))
        for name in filter.metadata.get("sources", ())
        if name not in listed
    ]
    return [f"no work here {told} {name!r}" for told, name, each in asked if not store.catalog.any_passes(each)]


def place_of(hit: Hit) -> tuple[str, str]:
    """The collection and the key of a hit's work."""
    return hit.collection, hit.document


def _joined(queries: Sequence[Query]) -> Query:
    """The sides of a comparison as one query: what either asks for, and what both of them must satisfy."""
    first, *others = queries
    vectors = [query.vector for query in queries if query.vector is not None]
    units = [vector / (np.linalg.norm(vector) or 1.0) for vector in vectors]
    return replace(
        first,
        clauses=tuple(dict.fromkeys(clause for query in queries for clause in query.clauses)),
        required=tuple(clause for clause in first.required if all(clause in other.required for other in others)),
        vector=np.mean(units, axis=0, dtype=np.float32) if len(units) == len(queries) else None,
    )


def _both(one: Trace, other: Trace) -> Trace:
    """The trace of two searches."""
    sums = []
    for values in ((one.milliseconds, other.milliseconds), (one.counts, other.counts), (one.dropped, other.dropped)):
        total: dict[str, float] = defaultdict(int)
        for name, value in (pair for each in values for pair in each.items()):
            total[name] += value
        sums.append(total)
    milliseconds, counts, dropped = sums
    return replace(
        one,
        milliseconds={name: round(value, 3) for name, value in milliseconds.items()},
        counts={name: int(value) for name, value in counts.items()},
        dropped={name: int(value) for name, value in dropped.items()},
        degraded=tuple(dict.fromkeys((*one.degraded, *other.degraded))),
        notes=tuple(dict.fromkeys((*one.notes, *other.notes))),
    )


def _ids(hits: Sequence[Hit]) -> Ids:
    return np.fromiter((int(hit.chunk_id, 16) for hit in hits), np.int64, len(hits))


def _ranking(hits: Sequence[Hit]) -> Ranking:
    return Ranking(_ids(hits), np.fromiter((hit.score for hit in hits), np.float64, len(hits)))
