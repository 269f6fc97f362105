"""The lexical role on a cluster: it names candidates, which are scored from their packed counts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rifflux.store.lexical import VARIANT, FieldWeights, Lexical
from rifflux.store.opensearch.engine import ANYTHING, PAGE, OwnedRows
from rifflux.store.opensearch.filters import JSON, any_of, conditions, literal, none_of, terms
from rifflux.store.opensearch.rows import term_digest, unpacked
from rifflux.text.analyzer import okapi_idf
from rifflux.types import Clause, Ids, Query, Ranking, Scores

#: More alternatives only cost time: no query has as many words, and a pasted page is found by its first ones.
MOST_CLAUSES = 256
#: Candidates beyond the limit, since the cluster rounds lengths when it names them.
_SLACK = 64
_FIELDS = ("title", "headings", "body")
_COUNTS = ("uid", "length", "packed")

#: An alternative: a clause, its weight, and whether it is the beginning of a term.
Alternative = tuple[Clause, float, bool]


def contains(clause: Clause, *, prefix: bool = False) -> JSON:
    """Return a condition that a chunk contains a term, the beginning of one, or a phrase."""
    if prefix:
        return {"prefix": {"all": clause[0]}}
    if len(clause) == 1:
        return {"term": {"all": clause[0]}}
    return any_of({"match_phrase": {field: " ".join(clause)}} for field in _FIELDS)


def word_conditions(query: Query) -> list[JSON]:
    """Return what a query's required and excluded clauses ask of a chunk."""
    found = [any_of(map(contains, forms)) for forms in _required(query)]
    if query.excluded:
        found.append(none_of(contains(clause) for clause in query.excluded[:MOST_CLAUSES]))
    return found


def _required(query: Query) -> list[tuple[Clause, ...]]:
    """Return the clauses that must match, each with its forms in other languages, of which one suffices."""
    return [(clause, *query.languages.forms.get(clause, ())) for clause in query.required[:MOST_CLAUSES]]


def alternatives(query: Query) -> list[Alternative]:
    """Return what adds to a score, in the order of addition; required clauses count twice."""
    required = [(form, 1.0, False) for forms in _required(query) for form in forms]
    optional = [(clause, query.worths.get(clause, 1.0), False) for clause in query.clauses]
    optional += [(clause, query.worths.get(clause, VARIANT), False) for clause in query.variants]
    prefixes = [((start,), 1.0, True) for start in query.prefixes[:MOST_CLAUSES]]
    return [*required, *required, *optional[:MOST_CLAUSES], *prefixes]


@dataclass(frozen=True, slots=True)
class OpenSearchLexical(Lexical):
    """The terms of a view's chunks."""

    rows: OwnedRows

    def match(self, query: Query, limit: int, weights: FieldWeights) -> Ranking:
        search = self.candidates(query, limit, weights)
        if search is None:
            return Ranking.empty()
        (answer,) = self.rows.search_all([search.body])
        return search.ranking(answer)

    def candidates(self, query: Query, limit: int, weights: FieldWeights) -> LexicalSearch | None:
        """Return the search for the candidates of a query; None if nothing can match."""
        if weights.by_match:
            query = replace(query, worths=dict.fromkeys(query.variants, 1.0))
        scored = self._scored(query)
        if not scored:
            return None
        should = [_boosted(clause, prefix=prefix, boost=worth) for clause, worth, prefix in scored]
        narrow = [*conditions(query.filter), *word_conditions(query)]
        wanted = {
            "bool": {
                "filter": self.rows.conditions("chunk", narrow),
                "should": should,
                "minimum_should_match": int(not query.required),
            }
        }
        size = min(limit + _SLACK, 10_000)
        body = {"size": size, "track_total_hits": False, "query": wanted, **_reading(scored)}
        return LexicalSearch(body, scored, weights, limit, *self._totals())

    def _scored(self, query: Query) -> list[Alternative]:
        """Return the alternatives of a query with their idf times their worth, without those in no chunk."""
        every = alternatives(query)
        frequencies = self._frequencies({(clause, prefix) for clause, _, prefix in every})
        chunks, _ = self._totals()
        found = []
        for clause, worth, prefix in every:
            frequency = frequencies[clause, prefix]
            if frequency:
                found.append((clause, worth * okapi_idf(chunks, frequency), prefix))
        return found

    def _totals(self) -> tuple[int, int]:
        """Return the number of chunks and of their terms."""
        return self.rows.cached("terms", self._count_terms)

    def _count_terms(self) -> tuple[int, int]:
        found = self.rows.search("chunk", size=0, track_total_hits=True, aggs={"all": {"sum": {"field": "length"}}})
        return found["hits"]["total"]["value"], int(found["aggregations"]["all"]["value"])

    def _frequencies(self, wanted: Iterable[tuple[Clause, bool]]) -> Mapping[tuple[Clause, bool], int]:
        """Return the number of chunks that contain each clause; counts are cached."""
        known: dict[tuple[Clause, bool], int] = self.rows.cached("frequencies", dict)
        wanted = [*wanted]
        missing = sorted({*wanted} - known.keys())
        if missing:
            counted = {str(number): contains(clause, prefix=prefix) for number, (clause, prefix) in enumerate(missing)}
            bodies = []
            names = [*counted]
            for start in range(0, len(names), PAGE):
                some = {name: counted[name] for name in names[start : start + PAGE]}
                bodies.append(self.rows.body("chunk", size=0, aggs={"in": {"filters": {"filters": some}}}))
            for answer in self.rows.search_all(bodies):
                for name, bucket in answer["aggregations"]["in"]["buckets"].items():
                    known[missing[int(name)]] = bucket["doc_count"]
        return known

    def bm25_of(self, query: Query, ids: Ids, weights: FieldWeights) -> Scores:
        scores = np.zeros(len(ids))
        scored = self._scored(query)
        if not scored or not len(ids):
            return scores
        bodies = []
        for start in range(0, len(ids), PAGE):
            narrow = [terms("uid", ids[start : start + PAGE].tolist()), *word_conditions(query)]
            bodies.append(self.rows.body("chunk", narrow, size=PAGE, **_reading(scored)))
        search = LexicalSearch({}, scored, weights, len(ids), *self._totals())
        found: dict[int, float] = {}
        for answer in self.rows.search_all(bodies):
            found.update(zip(*search.scores(answer["hits"]["hits"]), strict=True))
        return np.array([found.get(id, 0.0) for id in ids.tolist()])

    def holding(self, clause: Clause, ids: Ids) -> Ids:
        found: set[int] = set()
        for start in range(0, len(ids), PAGE):
            narrow = [terms("uid", ids[start : start + PAGE].tolist()), contains(clause)]
            answer = self.rows.search("chunk", narrow, size=PAGE, _source=False, docvalue_fields=["uid"])
            found.update(each["fields"]["uid"][0] for each in answer["hits"]["hits"])
        return ids[np.isin(ids, [*found])]

    def document_frequencies(self, terms: Sequence[str]) -> Mapping[str, int]:
        frequencies = self._frequencies([((term,), False) for term in terms])
        return {term: count for term in terms if (count := frequencies[(term,), False])}

    def vocabulary(
        self, start: str, shortest: int, longest: int, like: Callable[[str], bool] | None = None
    ) -> Mapping[str, int]:
        known = self.rows.cached(("vocabulary", start), lambda: self._beginning_with(start))
        return {
            term: count
            for term, count in known.items()
            if shortest <= len(term) <= longest and (like is None or like(term))
        }

    def _beginning_with(self, start: str) -> Mapping[str, int]:
        if not start:
            return self.rows.values("chunk", "vocabulary")
        return self.rows.values("chunk", "vocabulary", include=literal(start) + ANYTHING)


def _boosted(clause: Clause, *, prefix: bool, boost: float) -> JSON:
    if len(clause) == 1 and not prefix:
        return {"term": {"all": {"value": clause[0], "boost": boost}}}
    return {"constant_score": {"filter": contains(clause, prefix=prefix), "boost": boost}}


def _reading(scored: Iterable[Alternative]) -> JSON:
    """Return what to read of each candidate: packed counts, and its terms for phrases and beginnings of terms."""
    needs_terms = any(prefix or len(clause) > 1 for clause, _, prefix in scored)
    return {"docvalue_fields": [*_COUNTS], "_source": needs_terms and [*_FIELDS]}


@dataclass(frozen=True, slots=True)
class LexicalSearch:
    """A search for candidates by words, and how they are scored."""

    body: JSON
    scored: Sequence[Alternative]
    weights: FieldWeights
    limit: int
    chunks: int
    length: int

    def ranking(self, answer: JSON) -> Ranking:
        """Return the ranking of the candidates in an answer."""
        ids, scores = self.scores(answer["hits"]["hits"])
        order = np.lexsort((ids, -scores))[: self.limit]
        return Ranking(ids[order], scores[order])

    def scores(self, hits: Sequence[JSON]) -> tuple[Ids, Scores]:
        """Return the ids of candidates and their BM25 scores: SQLite's operations in the same order."""
        ids = np.array([each["fields"]["uid"][0] for each in hits], np.int64)
        lengths = np.array([each["fields"]["length"][0] for each in hits], np.int64)
        packed, chunk = unpacked(each["fields"]["packed"][0] for each in hits)
        mean = self.length / max(self.chunks, 1) or 1.0
        weights = self.weights
        norms = weights.k1 * (1 - weights.b + weights.b * lengths / mean)
        scores = np.zeros(len(hits))
        for clause, worth, prefix in self.scored:
            if len(clause) == 1 and not prefix:
                places = np.flatnonzero(packed["term"] == term_digest(clause[0]))
                found = chunk[places]
                counts = packed["counts"][places].astype(np.int64)
            else:
                every = [_occurrences(each["_source"], clause, prefix=prefix) for each in hits]
                table = np.array(every, np.int64).reshape(-1, 3)
                found = np.flatnonzero(table.any(axis=1))
                counts = table[found]
            frequencies = weights.body * counts.sum(axis=1).astype(np.float64)
            frequencies += (weights.title - weights.body) * counts[:, 0]
            if weights.headings != weights.body:
                frequencies += (weights.headings - weights.body) * counts[:, 1]
            scores[found] += worth * (frequencies * (weights.k1 + 1.0) / (frequencies + norms[found]))
        return ids, scores


def _occurrences(row: Mapping[str, Any], clause: Clause, *, prefix: bool) -> list[int]:
    """Return how often a phrase, or terms with a beginning, stand in each field of a chunk."""
    counts = []
    width = len(clause)
    for name in _FIELDS:
        words = row[name].split()
        if prefix:
            counts.append(sum(word.startswith(clause[0]) for word in words))
        else:
            starts = range(len(words) - width + 1)
            counts.append(sum(tuple(words[start : start + width]) == clause for start in starts))
    return counts
