"""The lexical role in SQLite: chunks named by the word index next to the file, or by FTS5, and scored by BM25.

Several owners' terms are found one owner at a time, and all scored by the statistics of what they have together.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import apsw
import numpy as np

from rifflux.store.lexical import VARIANT, WHOLE_WEIGHTS, B, FieldWeights, Lexical
from rifflux.store.sqlite.connection.bm25 import Bm25Scoring
from rifflux.store.sqlite.connection.engine import GenerationCache
from rifflux.store.sqlite.connection.view import OwnerView
from rifflux.store.sqlite.lexical.postings_index import PostingsIndex
from rifflux.store.sqlite.lexical.word_index import WordIndexes
from rifflux.store.sqlite.query import Terms, among, best, by_table, passing, where, worths_of
from rifflux.text.analyzer import okapi_idf
from rifflux.types import Clause, Filter, Ids, Query, Ranking, Scores

if TYPE_CHECKING:
    from rifflux.store.sqlite.lexical.united import Found, PostingScorer, Seen

# What is given to MATCH is one owner's alone: see `terms`. The owner is named for the index that holds the ids alone:
# in the table, the chunks of one owner lie far apart.
MATCH = """
select chunk.uid, found.score
from (
    select rowid, {score} as score
    from {table} where {table} match :terms {narrowed}
    order by score limit :limit
) as found
join chunk indexed by chunk_owner on chunk.owner = :owner and chunk.id = found.rowid
order by found.score, chunk.uid"""

MATCHING = "select count(*) from {table} where {table} match :terms"

WEIGHED = """
select rowid, weighed_count({table}, :title, :headings, :body) from {table} where {table} match :terms"""

STATISTICS = "select count(*), coalesce(sum(length), 0) from chunk where owner = :owner"

ALLOWED = """
select chunk.id from chunk join document on document.id = chunk.document
where document.owner = :owner and {condition}"""

HOLDING = """
select chunk.uid from chunk where +chunk.owner = :owner and chunk.uid in (select value from json_each(:ids))
and chunk.id in (select rowid from {table} where {table} match :terms)"""

# For few chunks each is looked up: a common word's list is long.
HOLDING_FEW = """
select chunk.uid
from json_each(:ids) as wanted cross join chunk on chunk.uid = wanted.value and +chunk.owner = :owner
where exists (select 1 from {table} where {table} match :terms and rowid = chunk.id)"""

ROWS_OF = """
select chunk.id from json_each(:ids) as wanted cross join chunk on chunk.uid = wanted.value and chunk.owner = :owner"""

DOCUMENT_FREQUENCIES = """
select wanted.value, sum(counted.doc)
from json_each(:terms) as wanted cross join json_each(:prefixes) as prefix
    cross join {table}_count as counted on counted.term = prefix.value || wanted.value
group by wanted.value"""

VOCABULARY = """
select substr(term, length(:prefix) + 1), doc from {table}_count
where term >= :prefix || :start and term < :prefix || :end
and length(term) - length(:prefix) between :shortest and :longest"""

_SCORE = "bm25(chunk_terms, :title, :headings, :body)"
_OWN_SCORE = "owner_bm25({table}, :scoring)"
# FTS5 breaks ties at the cut by row number; reading a few more lets the chunk id decide.
_TIE_MARGIN = 32
#: Terms of an owner whose frequency is kept in memory.
MOST_TERMS = 100_000
#: Up to so many chunks are looked up one by one.
FEW = 8


@dataclass(frozen=True, slots=True)
class SqliteLexical(Lexical):
    """Ranks chunk ids by their terms; nothing is fetched."""

    view: OwnerView
    indexes: WordIndexes
    postings: PostingsIndex | None
    frequencies: GenerationCache[dict[str, int]]
    #: Rows of documents that pass a filter.
    allowed: GenerationCache[Ids]

    def match(
        self, query: Query, limit: int, weights: FieldWeights, *, enough: int = 0, exact: bool = False
    ) -> Ranking:
        """Rank chunks by BM25 over the query's terms, as SQLite's bm25() does, negated.

        Where the word index answers, scores are nearly those; with `exact`, they are SQLite's own.
        """
        if self.view.several:
            scorer = self._scorer(query, weights)
            if scorer:
                return self._by_postings(scorer, query, limit)
        elif not exact:
            found = self._by_words(query, min(enough or limit, limit), weights)
            if found is not None:
                return found
        return self._by_tables(query, limit, weights)

    def bm25_of(self, query: Query, ids: Ids, weights: FieldWeights) -> Scores:
        """Score some chunks by BM25, by the tables; those of several owners by their postings, which say the same."""
        scorer = self._scorer(query, weights) if self.view.several else None
        if scorer:
            every = np.zeros(len(scorer.seen.mask) + 1)
            rows, scores = scorer.scores()
            every[rows] = scores
            return every[scorer.seen.rows_of_ids(ids)]
        chunks = [row[0] for row in self.view.rows(ROWS_OF, {"ids": json.dumps(ids.tolist())})]
        found = self._by_tables(replace(query, filter=Filter()), len(ids), weights, chunks)
        score_of = dict(zip(found.ids.tolist(), found.scores.tolist(), strict=True))
        return np.array([score_of.get(id, 0.0) for id in ids.tolist()], np.float64)

    def _seen(self) -> Seen | None:
        """Return what several owners see of the postings; None where the tables have to answer."""
        if self.postings is None:
            return None
        with self.view.reading() as (connection, owners):
            if connection.in_transaction:
                return None
            return self.postings.seen(connection, owners)

    def _scorer(self, query: Query, weights: FieldWeights) -> PostingScorer | None:
        """Return what scores a query by the postings of several owners; None where the tables have to."""
        if weights != WHOLE_WEIGHTS or not (seen := self._seen()):
            return None
        from rifflux.store.sqlite.lexical.united import PostingScorer

        chunks, length = self.view.summed(STATISTICS)
        return PostingScorer(seen, query, chunks, length / max(chunks, 1) or 1.0, partial(self._weighed_rows, seen))

    def _weighed_rows(self, seen: Seen, clause: Clause, prefix: bool) -> Found:
        """Return the rows that hold a phrase, or a word that begins so, and how much."""
        found: list[tuple[int, float]] = []
        star = " *" if prefix else ""
        bound = asdict(WHOLE_WEIGHTS)
        with self.view.reading() as (_, owners):
            for table, every in by_table(owners):
                matched = " OR ".join(terms.phrase(clause) + star for terms in every)
                found += self.view.rows(WEIGHED.format(table=table), {**bound, "terms": matched})
        rows = seen.rows_of_chunks(np.array([chunk for chunk, _ in found], np.int64))
        return rows[rows >= 0], np.array([count for _, count in found], np.float64)[rows >= 0]

    def _by_postings(self, scorer: PostingScorer, query: Query, limit: int) -> Ranking:
        """Rank by the postings."""
        seen = scorer.seen
        rows, scores = scorer.scores()
        if query.filter:
            allowed = among(passing(self.view, self.allowed, query.filter), seen.documents[rows])
            rows = rows[allowed]
            scores = scores[allowed]
        return best(seen.ids[rows], scores, limit)

    def _by_words(self, query: Query, limit: int, weights: FieldWeights) -> Ranking | None:
        """Rank by the word index, and by the tables what it does not cover yet; None if it cannot answer."""
        with self.view.reading() as (connection, (owner,)):
            words = self.indexes.of(owner)
            log = words.log(connection) if words else None
        if words is None or log is None or weights != words.weights:
            return None
        found = words.ask(log, lambda snapshot: snapshot.find(query, limit + _TIE_MARGIN, log.fresh))
        if found is None or not log.fresh:
            return found and best(found.ids, found.scores, limit)
        fresh = self._by_tables(query, limit, weights, log.fresh)
        return best(np.concatenate([found.ids, fresh.ids]), np.concatenate([found.scores, fresh.scores]), limit)

    def _by_tables(self, query: Query, limit: int, weights: FieldWeights, rows: Sequence[int] | None = None) -> Ranking:
        """Rank by the full-text tables, some `rows` or all."""
        levels = sorted({1.0, *worths_of(query)})
        # SQLite's bm25() has one `b`, the statistics of owner 0, and weighs all phrases alike.
        own = bool(self.view.owner) or weights.b != B
        if own or len(levels) == 1:
            return self._by_bm25(query, limit, weights, rows, own=own)
        # Each level adds what it is above the one before.
        found = self._by_bm25(query, None, weights, rows, own=False)
        scores = levels[0] * found.scores
        for level, below in zip(levels[1:], levels, strict=False):
            known = self._by_bm25(_worth(query, level), None, weights, rows, own=False)
            added = dict(zip(known.ids.tolist(), known.scores.tolist(), strict=True))
            scores = scores + (level - below) * np.array([added.get(id, 0.0) for id in found.ids.tolist()])
        return best(found.ids, scores, limit)

    def _by_bm25(
        self, query: Query, limit: int | None, weights: FieldWeights, rows: Sequence[int] | None, *, own: bool
    ) -> Ranking:
        """Rank what each owner's terms match by our `own` BM25 or SQLite's; without a limit, all of it."""
        condition, bound = where(query.filter)
        # The plus keeps SQLite from asking the word index once for every allowed row.
        narrowed = f"and +rowid in ({ALLOWED.format(condition=condition)})" if condition else ""
        if rows is not None:
            narrowed += " and +rowid in (select value from json_each(:among))"
            bound["among"] = json.dumps(list(rows))
        bound["limit"] = -1 if limit is None else limit + _TIE_MARGIN
        found: list[Any] = []
        with self.view.reading() as (connection, owners):
            every = [Terms(owner) for owner in owners]
            expressions = [terms.expression(query) for terms in every]
            if not any(expressions):
                return Ranking.empty()
            if own:
                score = _OWN_SCORE
                bound["scoring"] = apsw.pyobject(self._scoring(every, query, weights))
            else:
                score = _SCORE
                bound |= {"title": weights.title, "headings": weights.headings, "body": weights.body}
            for terms, expression in zip(every, expressions, strict=True):
                statement = MATCH.format(table=terms.table, score=score.format(table=terms.table), narrowed=narrowed)
                given = {**bound, "owner": terms.owner, "terms": expression}
                found += connection.execute(statement, given).fetchall()[:limit]
        ids = np.array([id for id, _ in found], np.int64)
        scores = -np.array([score for _, score in found], np.float64)
        if len(every) == 1:
            return Ranking(ids, scores)
        return best(ids, scores, len(ids) if limit is None else limit)

    def _scoring(self, every: Sequence[Terms], query: Query, weights: FieldWeights) -> Bm25Scoring:
        """Return how to score by the statistics of this view alone."""
        with self.view.reading() as (connection, _):
            chunks, length = self.view.summed(STATISTICS)
            frequencies = [
                sum(
                    connection.execute(MATCHING.format(table=terms.table), (phrase,)).get
                    for terms, phrase in zip(every, alike, strict=True)
                )
                for alike in zip(*(terms.phrases(query) for terms in every), strict=True)
            ]
        worths = every[0].worths(query)
        idf = [worth * okapi_idf(chunks, each) for each, worth in zip(frequencies, worths, strict=True)]
        return Bm25Scoring(idf, length / max(chunks, 1) or 1.0, weights)

    def holding(self, clause: Clause, ids: Ids) -> Ids:
        seen = self._seen() if self.view.several else None
        if seen and seen.holds(clause):
            return ids[np.isin(seen.rows_of_ids(ids), seen.posting(clause[0])[0])]
        statement = HOLDING_FEW if len(ids) <= FEW else HOLDING
        found: list[int] = []
        with self.view.reading() as (_, owners):
            for table, every in by_table(owners):
                bound = {
                    "ids": json.dumps(ids.tolist()),
                    "terms": " OR ".join(terms.phrase(clause) for terms in every),
                }
                found += [id for (id,) in self.view.rows(statement.format(table=table), bound)]
        return np.array(found, np.int64)

    def document_frequencies(self, terms: Sequence[str]) -> Mapping[str, int]:
        with self.view.reading() as (connection, owners):
            # Counting goes through all chunks that hold a term.
            generation = self.view.generation(connection)
            known = self.frequencies.get(owners, generation)
            if known is None:
                known = self.frequencies.put(owners, generation, {})
            unknown = sorted(set(terms) - known.keys())
            if unknown:
                known.update({**dict.fromkeys(unknown, 0), **self._counted(connection, owners, unknown)})
            counts = {term: known[term] for term in terms if known[term]}
            if len(known) > MOST_TERMS:
                known.clear()
            return counts

    def _counted(self, connection: apsw.Connection, owners: Sequence[int], terms: Sequence[str]) -> Mapping[str, int]:
        """Count the chunks in which each term occurs by what is next to the tables; by these where that is unknown."""
        if self.view.several:
            seen = self._seen()
            if seen and all(seen.holds((term,)) for term in terms):
                return {term: len(seen.posting(term)[0]) for term in terms}
        else:
            words = self.indexes.of(owners[0])
            known = words.frequencies(connection, terms) if words else None
            if known is not None:
                return known
        found: Counter[str] = Counter()
        for table, every in by_table(owners):
            bound = {"terms": json.dumps(terms), "prefixes": json.dumps([each.prefix for each in every])}
            found.update(dict(self.view.rows(DOCUMENT_FREQUENCIES.format(table=table), bound)))
        return found

    def vocabulary(
        self, start: str, shortest: int, longest: int, like: Callable[[str], bool] | None = None
    ) -> Mapping[str, int]:
        seen = self._seen() if self.view.several else None
        if seen:
            return seen.vocabulary(start, shortest, longest, like)
        counts: Counter[str] = Counter()
        uncounted: set[str] = set()
        bound = {"start": start, "end": start + chr(0x10FFFF), "shortest": shortest, "longest": longest}
        with self.view.reading() as (connection, owners):
            for terms in [Terms(owner) for owner in owners]:
                words = self.indexes.of(terms.owner)
                listed = words.terms(connection, start, shortest, longest) if words else None
                if listed is not None:
                    uncounted.update(filter(like, listed) if like else listed)
                    continue
                rows = self.view.rows(VOCABULARY.format(table=terms.table), {**bound, "prefix": terms.prefix})
                for term, count in rows:
                    if like is None or like(term):
                        counts[term] += count
        # The word index also lists terms that no chunk holds any more: only those that are counted are returned.
        if uncounted:
            return self.document_frequencies(sorted(uncounted | counts.keys()))
        return +counts


def _worth(query: Query, least: float) -> Query:
    """Return the query with what counts so much; what is required and begins so counts 1."""
    if least > 1:
        query = replace(query, required=(), excluded=(), prefixes=())
    clauses = tuple(each for each in query.clauses if query.worths.get(each, 1.0) >= least)
    variants = tuple(each for each in query.variants if query.worths.get(each, VARIANT) >= least)
    return replace(query, clauses=clauses, variants=variants)
