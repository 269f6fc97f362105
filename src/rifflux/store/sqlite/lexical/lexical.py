"""The lexical role in SQLite: matching by the words file beside the database, or by FTS5, and scoring by BM25.

Both find the same occurrences of terms, and one function scores them, on the statistics of the owners' chunks.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate, chain
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from rifflux import kernels
from rifflux.store.lexical import MOST_CLAUSES, VARIANT, FieldWeights, Lexical, TermSequences
from rifflux.store.sqlite.connection.engine import LOOK, GenerationCache, OwnerView, state_of, unmoved
from rifflux.store.sqlite.filters import among, passing
from rifflux.store.sqlite.lexical.words_index import WordsIndex
from rifflux.store.sqlite.query import (
    ChunkColumns,
    Matches,
    TableWords,
    best,
    by_table,
    named,
    plain_words,
    required_forms,
)
from rifflux.text.analyzer import okapi_idf
from rifflux.types import Clause, Ids, Query, Ranking, Scores

if TYPE_CHECKING:
    pass

Mask = NDArray[np.bool_]

ROWS_OF_CHUNKS = """
select chunk.uid from json_each(:chunks) as wanted cross join chunk on chunk.id = wanted.value
and chunk.owner = :owner"""

VOCABULARY = """
select substr(counted.term, length(prefix.value) + 1), sum(counted.doc)
from json_each(:prefixes) as prefix cross join {table}_count as counted
    on counted.term >= prefix.value || :start and counted.term < prefix.value || :end
group by 1"""

#: An index with fewer chunks has all its terms read at once.
SMALL = 512
#: An empty query.
NOTHING = Query("")
#: A term in more chunks than this is only looked up where it can matter, rather than added everywhere.
MANY = 1 << 17
#: Up to so many lists of rows are merged unless they are long; a table of all rows is made otherwise.
MERGED = 24
#: The tolerance of a bound for rounding of sums.
ROUNDED = 1 + 1e-9


class TermSource(Protocol):
    """The terms of the chunks that some owners see. A row is a chunk."""

    @property
    def ids(self) -> Ids:
        """Return the public id of each row."""
        ...

    @property
    def chunks(self) -> int:
        """Return the number of chunks."""
        ...

    def matches(self, clause: Clause, *, prefix: bool = False) -> Matches:
        """Return the rows that contain a phrase of adjacent terms, or a term with a prefix."""
        ...

    def norms(self, weights: FieldWeights) -> Scores:
        """Return for each row what BM25 adds for its length."""
        ...

    @property
    def documents(self) -> Ids:
        """Return the document of each row."""
        ...

    def rows_of_ids(self, ids: Ids) -> Ids:
        """Return the row of each public id, or -1 for an invisible one."""
        ...


@dataclass(frozen=True)
class Bm25Scorer:
    """Scores the rows of a view for a query, on the statistics of that view.

    `passing` are the documents that pass the query's filter; None without one.
    """

    words: TermSource
    query: Query
    weights: FieldWeights
    passing: Ids | None = None

    @cached_property
    def _required(self) -> Sequence[Sequence[Matches]]:
        """Return the matches of each required clause, by its forms."""
        return [[self.words.matches(form) for form in forms] for forms in required_forms(self.query)]

    @cached_property
    def _alternatives(self) -> Sequence[tuple[float, Matches]]:
        """Return the matches that add to scores, each with its idf times its weight, in the order of addition.

        Required clauses occur twice in the expression for the tables.
        """
        query = self.query
        required = [*chain.from_iterable(self._required)] if query.required else []
        optional = [self.words.matches(each) for each in (*query.clauses, *query.variants)[:MOST_CLAUSES]]
        prefixes = [self.words.matches((each,), prefix=True) for each in query.prefixes[:MOST_CLAUSES]]
        every = [*required, *required, *optional, *prefixes]
        worths = [query.worths.get(clause, 1.0) for clause in query.clauses]
        worths += [query.worths.get(clause, VARIANT) for clause in query.variants]
        worths = [*[1.0] * (2 * len(required)), *worths[:MOST_CLAUSES], *[1.0] * len(prefixes)]
        chunks = self.words.chunks
        return [(worth * okapi_idf(chunks, len(each.rows)), each) for worth, each in zip(worths, every, strict=True)]

    def best(self, limit: int) -> Ranking:
        """Return the best `limit` chunks, ties by id."""
        query = self.query
        allowed = None
        if query.required or query.excluded or self.passing is not None:
            allowed = self._allowed()
        alternatives = [each for each in self._alternatives if len(each[1].rows)]
        found: Ids | None = None
        if not query.required and any(len(each.rows) > MANY for _, each in alternatives):
            found = self._contenders(alternatives, limit, allowed)
        if found is not None:
            scores = self._scores(found)
        else:
            found, scores = self._sums(alternatives, allowed)
        return best(self.words.ids[found], scores, limit)

    def best_of(self, rows: Ids, limit: int) -> Ranking:
        """Return the best `limit` of some matching rows, ties by id."""
        if self.passing is not None:
            rows = rows[among(self.passing, self.words.documents[rows])]
        scores = self._scores(rows)
        return best(self.words.ids[rows[scores > 0]], scores[scores > 0], limit)

    def _scores(self, rows: Ids) -> Scores:
        """Return the sum of the alternatives' contributions for some rows, equal to `_sums`."""
        total = np.zeros(len(rows))
        norms = self.words.norms(self.weights)
        for idf, matches in self._alternatives:
            if len(matches.rows):
                places = np.minimum(np.searchsorted(matches.rows, rows), len(matches.rows) - 1)
                holding = matches.rows[places] == rows
                total[holding] += idf * matches.at(places[holding]).saturated(self.weights, norms)
        return total

    def _sums(self, alternatives: Sequence[tuple[float, Matches]], allowed: Mask | None) -> tuple[Ids, Scores]:
        """Return the allowed rows to which an alternative contributes, ascending, and the sums of contributions."""
        if not alternatives:
            return np.empty(0, np.int64), np.empty(0)
        norms = self.words.norms(self.weights)
        rows = np.concatenate([matches.rows for _, matches in alternatives], dtype=np.int64)
        added = np.concatenate([idf * matches.saturated(self.weights, norms) for idf, matches in alternatives])
        # Added one after another, in this order.
        found: Ids = np.empty(len(rows), np.int64)
        sums: Scores = np.empty(len(rows))
        if kernels.compiled and len(alternatives) <= MERGED and len(rows) <= 2 * len(norms):
            ends = np.array([*accumulate(len(matches.rows) for _, matches in alternatives)])
            count = kernels.compiled.merge(rows, added, ends, found, sums)
            found = found[:count]
            sums = sums[:count]
        else:
            total: Scores = np.bincount(rows, added, len(norms)).astype(np.float64, copy=False)
            found = total.nonzero()[0]
            sums = total[found]
        kept = sums > 0
        if allowed is not None:
            kept &= allowed[found]
        if kept.all():
            return found, sums
        return found[kept], sums[kept]

    def _contenders(
        self, alternatives: Sequence[tuple[float, Matches]], limit: int, allowed: Mask | None
    ) -> Ids | None:
        """Return rows that include the best `limit`, by terms in few rows; None if all rows must be summed.

        Terms in many rows add little: rows that contain nothing else, or would need more than that, are left out.
        """
        rare = [each for each in alternatives if len(each[1].rows) <= MANY]
        common = [each for each in alternatives if len(each[1].rows) > MANY]
        if not rare:
            return None
        rows, partial = self._sums(rare, allowed)
        if len(rows) < limit:
            return None
        rest = ROUNDED * sum(idf * (self.weights.k1 + 1.0) for idf, _ in common)
        least = float(np.partition(partial, len(partial) - limit)[len(partial) - limit])
        if least <= rest:
            return None
        found: Ids = rows[partial + rest >= least]
        return found

    def _allowed(self) -> Mask:
        """Return the rows allowed by the filter and the required and excluded clauses."""
        allowed = self._named()
        if self.passing is not None:
            allowed &= among(self.passing, self.words.documents)
        return allowed

    def _named(self) -> Mask:
        """Return the rows with all required and no excluded clauses."""
        count = len(self.words.ids)
        allowed = np.ones(count, np.bool_)
        for forms in self._required:
            holding = np.zeros(count, np.bool_)
            for each in forms:
                holding[each.rows] = True
            allowed &= holding
        for clause in self.query.excluded[:MOST_CLAUSES]:
            allowed[self.words.matches(clause).rows] = False
        return allowed


@dataclass(frozen=True, slots=True)
class SqliteLexical(Lexical):
    """Ranks chunk ids by their terms; chunks are not loaded."""

    view: OwnerView
    index: WordsIndex | None
    columns: GenerationCache[ChunkColumns]
    #: The cached rows of documents that pass a filter.
    allowed: GenerationCache[Ids]
    #: Terms of the tables with the number of their chunks, by first letter.
    terms: GenerationCache[Mapping[str, int]]

    def match(self, query: Query, limit: int, weights: FieldWeights) -> Ranking:
        """Rank the best `limit` chunks by BM25 over the query's terms; scores equal SQLite's bm25(), negated."""
        if weights.by_match:
            query = replace(query, worths=dict.fromkeys(query.variants, 1.0))
        with self._words(query) as words:
            documents = passing(self.view, self.allowed, query.filter) if query.filter else None
            scorer = Bm25Scorer(words, query, weights, documents)
            if not weights.by_match:
                return scorer.best(limit)
            rows = words.rows_of_ids(self._named(query))
            return scorer.best_of(rows[rows >= 0], limit)

    def occurring(self, clauses: Iterable[Clause], most: int = 1) -> list[Clause]:
        found: list[Clause] = []
        for clause in clauses:
            with self._words(Query("", required=(clause,))) as words:
                if len(words.matches(clause).rows):
                    found.append(clause)
            if len(found) == most:
                break
        return found

    def best_with(self, clauses: Sequence[Clause], weights: FieldWeights) -> list[Ranking]:
        return [self.match(Query("", required=(clause,)), 1, weights) for clause in clauses]

    @contextmanager
    def _words(self, query: Query = NOTHING, terms: Iterable[str] = ()) -> Iterator[TermSource]:
        """Lend the terms of the owners' chunks, from the words file, or from the tables at one moment.

        The tables are read for a query and terms together.
        """
        with self.view.reading() as (connection, owners):
            if self.index and (seen := self.index.visible(connection, owners)):
                yield seen
                return
            required = chain.from_iterable(required_forms(query)) if query.required else ()
            clauses = [*required, *query.clauses, *query.variants]
            words = [plain_words(clause) for clause in clauses[: 2 * MOST_CLAUSES]]
            single = [*terms, *(each[0] for each in words if len(each) == 1)]
            known = self.columns.get(owners, self.view.generation(connection))
            matches = known.matches if known else {}
            phrases = [(tuple(each), False) for each in words if len(each) > 1]
            reads_on = len(clauses) > len(words) or any(each not in matches for each in phrases)
            if reads_on or query.excluded or query.prefixes or query.filter:
                moments: list[AbstractContextManager[bool | None]] = [unmoved(connection)]
            else:
                # Single statements see the same moment if nothing changed meanwhile, which is checked afterwards.
                moments = [nullcontext(), unmoved(connection)]
            for moment in moments:
                with moment as is_fixed:
                    if is_fixed is not None:
                        # The first statement of a transaction fixes the moment.
                        connection.execute(LOOK).fetchall()
                    before = state_of(connection)
                    generation = self.view.generation(connection)
                    columns = self.columns.get(owners, generation) or ChunkColumns.read(connection, owners)
                    found = TableWords(connection, owners, columns, columns.ids, len(columns.ids))
                    found.read(single)
                    if state_of(connection) != before:
                        continue
                    yield found
                    if found.fresh:
                        columns.keep(found.fresh)
                        self.columns.put(owners, generation, columns)
                    return

    def _named(self, query: Query) -> Ids:
        """Return the public ids of the chunks that MATCH finds."""
        with self.view.reading() as (connection, owners):
            chunks = named(connection, owners, query)
        rows = self.view.rows(ROWS_OF_CHUNKS, {"chunks": json.dumps(chunks.tolist())})
        return np.array([id for (id,) in rows], np.int64)

    def holders(self, clauses: Sequence[Clause], ids: Ids) -> NDArray[np.bool_]:
        found = np.zeros((len(clauses), len(ids)), np.bool_)
        with self._words(Query("", required=tuple(clauses))) as words:
            rows = words.rows_of_ids(ids)
            for row, clause in zip(found, clauses, strict=True):
                known = words.matches(clause).rows
                if len(known):
                    row[:] = known[np.minimum(np.searchsorted(known, rows), len(known) - 1)] == rows
        return found

    def sequences(self, ids: Ids) -> TermSequences | None:
        with self.view.reading() as (connection, owners):
            seen = self.index.visible(connection, owners) if self.index else None
        return seen.sequences(ids) if seen else None

    def document_frequencies(self, terms: Sequence[str]) -> Mapping[str, int]:
        # As the tables spell it, a term is one word.
        words = {term: found[0] for term in terms if len(found := plain_words((term,))) == 1}
        with self._words(terms=words.values()) as source:
            counts = {term: len(source.matches((word,)).rows) for term, word in words.items()}
        return {term: count for term, count in counts.items() if count}

    def vocabulary(
        self, start: str, shortest: int, longest: int, like: Callable[[str], bool] | None = None
    ) -> Mapping[str, int]:
        with self.view.reading() as (connection, owners):
            if self.index and (seen := self.index.visible(connection, owners)):
                return seen.vocabulary(start, shortest, longest, like)
            generation = self.view.generation(connection)
            columns = self.columns.get(owners, generation)
            # In a small index, all terms are read at once.
            first = "" if columns and len(columns.ids) < SMALL else start[:1]
            known = self.terms.get((owners, first), generation)
            if known is None:
                counts: Counter[str] = Counter()
                for table, every in by_table(owners):
                    prefixes = json.dumps([terms.prefix for terms in every])
                    bound = {"start": first, "end": first + chr(0x10FFFF), "prefixes": prefixes}
                    rows: list[Any] = connection.execute(VOCABULARY.format(table=table), bound).fetchall()
                    counts.update(dict(rows))
                known = self.terms.put((owners, first), generation, +counts)
        return {
            term: count
            for term, count in known.items()
            if term.startswith(start) and shortest <= len(term) <= longest and (like is None or like(term))
        }
