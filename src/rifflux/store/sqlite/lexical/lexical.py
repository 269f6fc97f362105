"""The lexical role in SQLite: chunks named by the word index next to the file, or by FTS5, and scored by BM25.

Several owners' terms are found one owner at a time, and all scored by the statistics of what they have together.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from itertools import repeat
from operator import itemgetter
from typing import TYPE_CHECKING

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
        if scorer := self._scorer(query, weights):
            return self._by_postings(scorer, query, limit)
        found = None if exact else self._by_words(query, min(enough or limit, limit), weights)
        if found is None:
            return self._by_tables(query, limit, weights)
        return found

    def bm25_of(self, query: Query, ids: Ids, weights: FieldWeights) -> Scores:
        """Score some chunks by BM25, by the tables; those of several owners by their postings, which say the same."""
        if scorer := self._scorer(query, weights):
            return self._scored(scorer, ids)
        rows = (each[0] for each in self.view.rows(ROWS_OF, {"ids": json.dumps(ids.tolist())}))
        found = self._by_tables(replace(query, filter=Filter()), len(ids), weights, [*rows])
        scores = dict(zip(found.ids.tolist(), found.scores.tolist(), strict=True))
        return np.array([*map(scores.get, ids.tolist(), repeat(0.0))], np.float64)

    def _seen(self) -> Seen | None:
        """Return what several owners see of the postings; None where the tables have to answer."""
        if not self.view.several or self.postings is None:
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
        found = [(0, 0.0)][:0]
        bound = asdict(WHOLE_WEIGHTS)
        for table, every in by_table(self.view.numbers):
            matched = " OR ".join(terms.phrase(clause) + " *" * prefix for terms in every)
            found += self.view.rows(WEIGHED.format(table=table), {**bound, "terms": matched})
        rows = seen.rows_of_chunks(np.array([chunk for chunk, _ in found], np.int64))
        return rows[rows >= 0], np.array([count for _, count in found], np.float64)[rows >= 0]

    def _by_postings(self, scorer: PostingScorer, query: Query, limit: int) -> Ranking:
        """Rank by the postings."""
        seen, (rows, scores) = scorer.seen, scorer.scores()
        if query.filter:
            allowed = among(passing(self.view, self.allowed, query.filter), seen.documents[rows])
            rows = rows[allowed]
            scores = scores[allowed]
        return best(seen.ids[rows], scores, limit)

    def _scored(self, scorer: PostingScorer, ids: Ids) -> Scores:
        """Score some chunks by the postings."""
        every, (rows, scores) = np.zeros(len(scorer.seen.mask) + 1), scorer.scores()
        every[rows] = scores
        return every[scorer.seen.rows_of_ids(ids)]

    def _by_words(self, query: Query, limit: int, weights: FieldWeights) -> Ranking | None:
        """Rank by the word index, and by the tables what it does not cover yet; None if it cannot answer."""
        if self.view.several:
            return None
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
        if self._scores_itself(weights) or len(levels) == 1:
            return self._by_bm25(query, limit, weights, rows)
        # SQLite's bm25() weighs all phrases alike: each level adds what it is above the one before.
        found = self._by_bm25(query, None, weights, rows)
        scores = levels[0] * found.scores
        for level, below in zip(levels[1:], levels, strict=False):
            known = self._by_bm25(_worth(query, level), None, weights, rows)
            added = dict(zip(known.ids.tolist(), known.scores.tolist(), strict=True))
            scores = scores + (level - below) * np.array([*map(added.get, found.ids.tolist(), repeat(0.0))])
        return best(found.ids, scores, limit)

    def _by_bm25(
        self,
        query: Query,
        limit: int | None,
        weights: FieldWeights,
        rows: Sequence[int] | None,
    ) -> Ranking:
        """Rank by the tables alone; without a limit, all that matches."""
        every = [*(Terms(each) for each in self.view.numbers)]
        if not any(terms.expression(query) for terms in every):
            return Ranking.empty()
        if self._scores_itself(weights):
            scoring = self._scoring(every, query, weights)
        else:
            scoring = None
        found = [self._by_terms(terms, query, limit, scoring or weights, rows) for terms in every]
        if len(found) == 1:
            return found[0]
        ids = np.concatenate([each.ids for each in found])
        return best(ids, np.concatenate([each.scores for each in found]), len(ids) if limit is None else limit)

    def _scores_itself(self, weights: FieldWeights) -> bool:
        """Return whether SQLite's bm25() does not do: it has one `b`, and the statistics of owner 0."""
        return bool(self.view.owner) or weights.b != B

    def _by_terms(
        self,
        terms: Terms,
        query: Query,
        limit: int | None,
        scoring: Bm25Scoring | FieldWeights,
        rows: Sequence[int] | None,
    ) -> Ranking:
        """Rank what one owner's terms match."""
        condition, bound = where(query.filter)
        # The plus keeps SQLite from asking the word index once for every allowed row.
        if condition:
            narrowed = f"and +rowid in ({ALLOWED.format(condition=condition)})"
        else:
            narrowed = ""
        if rows is not None:
            narrowed += " and +rowid in (select value from json_each(:among))"
            bound["among"] = json.dumps(list(rows))
        if isinstance(scoring, Bm25Scoring):
            score, bound["scoring"] = _OWN_SCORE.format(table=terms.table), apsw.pyobject(scoring)
        else:
            score = _SCORE
            bound = bound | asdict(scoring)
        statement = MATCH.format(table=terms.table, score=score, narrowed=narrowed)
        bound |= {"terms": terms.expression(query), "limit": -1 if limit is None else limit + _TIE_MARGIN}
        found = self.view.rows_of(terms.owner, statement, bound)[:limit]
        ids, scores = zip(*found, strict=True) if found else ((), ())
        return Ranking(np.array(ids, np.int64), -np.array(scores, np.float64))

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
        seen = self._seen()
        if seen is None or not seen.holds(clause):
            return self._holding(clause, ids)
        return ids[np.isin(seen.rows_of_ids(ids), seen.posting(clause[0])[0])]

    def _holding(self, clause: Clause, ids: Ids) -> Ids:
        if len(ids) <= FEW:
            statement = HOLDING_FEW
        else:
            statement = HOLDING
        found: list[int] = []
        for table, every in by_table(self.view.numbers):
            phrases = " OR ".join(terms.phrase(clause) for terms in every)
            rows = self.view.rows(statement.format(table=table), {"ids": json.dumps(ids.tolist()), "terms": phrases})
            found += [row[0] for row in rows]
        return np.array(found, np.int64)

    def document_frequencies(self, terms: Sequence[str]) -> Mapping[str, int]:
        with self.view.reading() as (connection, owners):
            # Counting goes through all chunks that hold a term.
            known = self.frequencies.get(owners, self.view.generation(connection), dict)
            if unknown := sorted(set(terms) - known.keys()):
                found = self._known_frequencies(connection, owners, unknown)
                if found is None:
                    found = self._counted(unknown)
                known.update({**dict.fromkeys(unknown, 0), **found})
            counts = dict(filter(itemgetter(1), zip(terms, (known[term] for term in terms), strict=True)))
            if len(known) > MOST_TERMS:
                known.clear()
            return counts

    def _known_frequencies(
        self, connection: apsw.Connection, owners: Sequence[int], terms: Sequence[str]
    ) -> Mapping[str, int] | None:
        """Count the chunks in which each term occurs by what is next to the tables; None where that is unknown."""
        if not self.view.several:
            words = self.indexes.of(owners[0])
            if words:
                return words.frequencies(connection, terms)
            return None
        if (seen := self._seen()) is None or not all(seen.holds((term,)) for term in terms):
            return None
        return {term: len(seen.posting(term)[0]) for term in terms}

    def _counted(self, terms: Sequence[str]) -> Mapping[str, int]:
        """Count the chunks in which each term occurs, by the tables."""
        found: Counter[str] = Counter()
        for table, every in by_table(self.view.numbers):
            bound = {"terms": json.dumps(terms), "prefixes": json.dumps([each.prefix for each in every])}
            found.update(dict(self.view.rows(DOCUMENT_FREQUENCIES.format(table=table), bound)))
        return found

    def vocabulary(
        self, start: str, shortest: int, longest: int, like: Callable[[str], bool] | None = None
    ) -> Mapping[str, int]:
        if seen := self._seen():
            return seen.vocabulary(start, shortest, longest, like)
        counts: Counter[str] = Counter()
        uncounted: set[str] = set()
        bound = {"start": start, "end": start + chr(0x10FFFF), "shortest": shortest, "longest": longest}
        for terms in (Terms(each) for each in self.view.numbers):
            with self.view.reading() as (connection, _):
                words = self.indexes.of(terms.owner)
                if words:
                    listed = words.terms(connection, start, shortest, longest)
                else:
                    listed = None
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
