"""Ranking what several owners have by their postings: BM25 as the full-text tables have it, to the last digit."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Any

import apsw
import numpy as np
from numpy.typing import NDArray

from rifflux.store.lexical import K1, WHOLE_WEIGHTS, B
from rifflux.store.sqlite.connection.derived import Unfit
from rifflux.store.sqlite.lexical.postings import Postings
from rifflux.store.sqlite.query import MOST_CLAUSES, Terms, required_forms, words_of, worths_of
from rifflux.text.analyzer import okapi_idf
from rifflux.types import Clause, Ids, Query, Scores

# Of the chunks that changed, those of some owners, each with its words where these changed too.
_FRESH = """
select chunk.id, chunk.uid, chunk.document, chunk.owner, coalesce(fresh_terms.title, ''),
    coalesce(fresh_terms.headings, ''), coalesce(fresh_terms.body, ''), fresh_terms.chunk is not null
from json_each(:chunks) as wanted cross join chunk on chunk.id = wanted.value
    left join fresh_terms on fresh_terms.chunk = chunk.id
where chunk.owner in (select value from json_each(:owners))"""
# What the tokenizer of the tables takes apart or spells otherwise.
_SPLIT = re.compile("[\x00-\x20'\"\x7fA-Z|]")
#: The rows that hold something, and how much.
Found = tuple[Ids, Scores]
Mask = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Seen:
    """What some owners have of the postings, and of the chunks that changed since.

    `mask` says which rows they see. Chunks that changed are rows behind those of the file, whose terms are in memory;
    `row_of` has the row of each by its number, -1 for one that is seen no more.
    """

    postings: Postings
    mask: NDArray[np.bool_]
    ids: Ids
    documents: Ids
    lengths: Ids
    fresh: Mapping[str, tuple[Ids, Scores]]
    row_of: Mapping[int, int]

    @property
    def nbytes(self) -> int:
        """Return what it takes in memory."""
        behind = sum(rows.nbytes for rows, _ in self.fresh.values())
        return self.mask.nbytes + 2 * behind + (3 * self.ids.nbytes if self.row_of else 0)

    @classmethod
    def of(cls, connection: apsw.Connection, postings: Postings, owners: Sequence[int], changed: Sequence[int]) -> Seen:
        """Return what owners see, where some chunks changed since. Raises `Unfit` if the words of one are unknown."""
        mask = np.zeros(len(postings), np.bool_)
        for owner in owners:
            mask[postings.of(owner)] = True
        if not changed:
            return cls(postings, mask, postings.ids, postings.documents, postings.lengths, {}, {})
        bound = {"chunks": json.dumps(changed), "owners": json.dumps(owners)}
        stored: list[Any] = connection.execute(_FRESH, bound).fetchall()
        before = dict(zip(changed, postings.rows_of_chunks(np.array(changed, np.int64)).tolist(), strict=True))
        # Of a chunk whose words are the same, what is in the file still holds.
        same = {chunk for chunk, *_, known in stored if not known}
        if any(before[chunk] < 0 for chunk in same):
            raise Unfit("the words of a chunk that changed are not kept")
        mask[[row for chunk, row in before.items() if row >= 0 and chunk not in same]] = False
        new = [row for row in stored if row[0] not in same]
        counts_of: dict[str, dict[int, float]] = {}
        row_of = dict.fromkeys(changed, -1) | {chunk: before[chunk] for chunk in same}
        lengths = []
        for row, (chunk, _, _, owner, *fields, _) in enumerate(new, len(postings)):
            row_of[chunk] = row
            lengths.append(_count(counts_of, row, Terms(owner), fields))
        columns = np.array([each[1:3] for each in new], np.int64).reshape(-1, 2).T
        return cls(
            postings,
            np.concatenate([mask, np.ones(len(new), np.bool_)]),
            np.concatenate([postings.ids, columns[0]]),
            np.concatenate([postings.documents, columns[1]]),
            np.concatenate([postings.lengths, np.array(lengths, np.int64)]),
            {term: (np.array([*rows]), np.array([*rows.values()])) for term, rows in counts_of.items()},
            row_of,
        )

    def norms(self, mean_length: float) -> Scores:
        """Return for each row what BM25 adds to a count for its length."""
        norms: Scores = np.asarray(K1 * (1 - B + B * self.lengths / mean_length), np.float64)
        return norms

    def holds(self, clause: Clause) -> bool:
        """Return whether the postings know of a clause; of phrases, only the tables do."""
        return len(clause) == 1 and bool(clause[0]) and not _SPLIT.search(clause[0])

    def posting(self, term: str) -> tuple[Ids, Scores]:
        """Return the rows that hold a term, and how much."""
        found = self.postings.posting(term)
        rows = self.postings.rows[found]
        counts = self.postings.counts[found]
        seen = self.mask[rows]
        rows = rows[seen]
        counts = counts[seen]
        more, much = self.fresh.get(term, (rows[:0], counts[:0]))
        return np.concatenate([rows, more]), np.concatenate([counts, much]).astype(np.float64)

    def rows_of_chunks(self, chunks: Ids) -> Ids:
        """Return the row of each chunk; -1 for one that is not seen."""
        rows = self.postings.rows_of_chunks(chunks)
        if self.row_of:
            rows = np.array([*map(self.row_of.get, chunks.tolist(), rows.tolist())], np.int64)
        return self._visible(rows)

    def rows_of_ids(self, ids: Ids) -> Ids:
        """Return the row of each public id; -1 for one that is not seen."""
        rows = self.postings.rows_of_ids(ids)
        if self.row_of:
            behind = {int(self.ids[row]): row for row in range(len(self.postings), len(self.ids))}
            rows = np.array([*map(behind.get, ids.tolist(), rows.tolist())], np.int64)
        return self._visible(rows)

    def _visible(self, rows: Ids) -> Ids:
        if len(self.mask):
            return np.where((rows >= 0) & self.mask[rows], rows, -1)
        return rows

    def vocabulary(
        self, start: str, shortest: int, longest: int, like: Callable[[str], bool] | None = None
    ) -> dict[str, int]:
        """Count the visible rows of each term, as `Lexical.vocabulary` does; terms of other rows are left out."""

        def wanted(term: str) -> bool:
            return shortest <= len(term) <= longest and (like is None or like(term))

        counts: dict[str, int] = {}
        for term, found in self.postings.beginning(start):
            if wanted(term) and (count := int(np.count_nonzero(self.mask[self.postings.rows[found]]))):
                counts[term] = count
        for term, (rows, _) in self.fresh.items():
            if term.startswith(start) and wanted(term):
                counts[term] = counts.get(term, 0) + len(rows)
        return counts


def _count(counts_of: dict[str, dict[int, float]], row: int, terms: Terms, fields: Sequence[str]) -> int:
    """Count the terms of a row's fields, each by the field's weight; returns how many places there are."""
    length = 0
    for field, weight in zip(fields, WHOLE_WEIGHTS.fields, strict=True):
        for word in filter(None, words_of(field)):
            length += 1
            counts = counts_of.setdefault(word[len(terms.prefix) :], {})
            counts[row] = counts.get(row, 0.0) + weight
    return length


@dataclass(frozen=True)
class PostingScorer:
    """Scores the rows of a view by a query.

    `ask` asks the tables for what the postings do not know.
    """

    seen: Seen
    query: Query
    chunks: int
    mean_length: float
    ask: Callable[[Clause, bool], Found]

    def _found(self, clause: Clause, prefix: bool = False) -> Found:
        if prefix or not self.seen.holds(clause):
            return self.ask(clause, prefix)
        return self.seen.posting(clause[0])

    @cached_property
    def _required(self) -> Sequence[Sequence[Found]]:
        """Return what holds each required clause, by its forms."""
        return [[*(self._found(form) for form in forms)] for forms in required_forms(self.query)]

    @cached_property
    def _ranked(self) -> Sequence[Found]:
        clauses = (*self.query.clauses, *self.query.variants)[:MOST_CLAUSES]
        prefixes = [self._found((prefix,), True) for prefix in self.query.prefixes[:MOST_CLAUSES]]
        return [*(self._found(clause) for clause in clauses), *prefixes]

    @cached_property
    def _idf(self) -> Sequence[float]:
        """Return what each counts: what is required twice, as in the expression that the tables are given."""
        worths = [*worths_of(self.query), *[1.0] * len(self.query.prefixes)]
        required = [okapi_idf(self.chunks, len(rows)) for rows, _ in chain.from_iterable(self._required)]
        ranked = zip(worths, self._ranked, strict=False)
        return [*required, *required, *(worth * okapi_idf(self.chunks, len(rows)) for worth, (rows, _) in ranked)]

    def scores(self) -> tuple[Ids, Scores]:
        """Return the rows that match, in no order, and their scores."""
        norms = self.seen.norms(self.mean_length)
        total = np.zeros(len(self.seen.mask))
        matching = np.zeros(len(total), np.bool_)
        required = [*chain.from_iterable(self._required)]
        for (rows, counts), idf in zip([*required, *required, *self._ranked], self._idf, strict=True):
            # The order of the operations is that of `bm25`: they round alike.
            total[rows] += idf * counts * (K1 + 1) / (counts + norms[rows])
            matching[rows] = True
        for forms in self._required:
            matching &= _mask(len(total), np.concatenate([rows for rows, _ in forms]))
        for clause in self.query.excluded[:MOST_CLAUSES]:
            matching[self._found(clause)[0]] = False
        found = np.flatnonzero(matching)
        return found, total[found]


def _mask(count: int, rows: Ids) -> Mask:
    mask = np.zeros(count, np.bool_)
    mask[rows] = True
    return mask
