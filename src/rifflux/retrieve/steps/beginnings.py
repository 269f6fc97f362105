"""Prefix matches: a record whose title or key begins with the query ranks at least where words alone rank it.

A partly typed name is a prefix of many records; it names none of them, yet each may be meant. Semantic search and
rerankers do not see prefixes, but words do. So however they order the candidates, such a record keeps at least its rank
by words alone. Exceptions that may precede it are records whose whole name is the query, which have it as identifier,
define it as a symbol, or are by an author, venue or year that it names.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import repeat

import numpy as np
from numpy.typing import NDArray

from rifflux.retrieve.pipeline import Plan
from rifflux.retrieve.query.naming import letters_of
from rifflux.retrieve.table import BEGINS, CREDITED, LEXICAL, OUTRIGHT, PLACE, RANK, SCORE, Candidates, declare
from rifflux.text.analyzer import Memo, first_mark
from rifflux.types import Ids, Scores

STAGE = "beginning"
#: How much of a title or key the query is: a prefix, or all of it.
BEGINNING = 1.0
WHOLE = 2.0
RECORD = declare("record", "number", "the number of the candidate's record, if its names were read")
BY_WORDS = declare("by words", PLACE, "the record's rank by words alone, if it begins with the query")
declare(f"{STAGE}/by words", PLACE, "the record's rank by words alone, which was restored")
#: The columns needed to preserve the ranks again.
COLUMNS = (BEGINS, RECORD, BY_WORDS)


def begun(plan: Plan, table: Candidates, rows: Ids, marks: Ids) -> Candidates:
    """Return the table with columns that mark prefix matches, or unchanged if there are none.

    `rows` are those whose names are looked at. `marks` are those of the first words of their titles and keys (see
    `first_mark`), and 0 unless there are further names (names, 3).
    """
    query = plan.query
    texts = {query.phrasing.body or query.text, query.semantic_text}
    asked = {letters_of(text) for text in texts} - {""}
    shortest = min([len(each) for each in asked], default=0)
    # Few names have the first word of a query: others need not be compared.
    likely = marks[:, 2] > 0
    for text in texts:
        likely |= (marks[:, :2] == first_marks[text]).any(axis=1)
    if not likely.any():
        return table
    begins = np.full(len(table), np.nan)
    facts = plan.evidence.facts(table.ids[rows[likely]])
    place_of = {id: row for row, id in zip(rows.tolist(), table.ids[rows].tolist(), strict=True)}
    for id, each in facts.items():
        row = place_of[id]
        for name in (each.title, each.key, *each.aliases):
            # Only letters that are not of ASCII may become several.
            if name.isascii() and len(name) < shortest:
                continue
            if how := _begins(letters_of(name), asked):
                begins[row] = np.fmax(how, begins[row])
    if np.isnan(begins).all():
        return table
    known: dict[tuple[str, str], int] = {}
    records = np.full(len(table), np.nan)
    for id, each in plan.evidence.facts(table.ids[rows]).items():
        records[place_of[id]] = known.setdefault((each.namespace, each.key), len(known))
    return table.with_column(RECORD, records).with_column(BEGINS, begins)


#: The marks of names and questions that were met: the candidates of questions are often the same.
first_marks = Memo(first_mark)


def _begins(name: str, questions: Collection[str]) -> float:
    """Return how much of a name the question has, both in their letters; 0 where it begins otherwise.

    A single word begins a name by chance as often as it stands further on, which BM25 has counted already.
    """
    if name in questions:
        return WHOLE
    return BEGINNING * any(" " in each and name.startswith(f"{each} ") for each in questions)


@dataclass(frozen=True, slots=True)
class PreservePrefixRank:
    """Moves prefix matches up to their rank by words alone if they are below it.

    Other candidates keep their relative order. A candidate that is moved up gets the score of the next one below.
    """

    def __call__(self, plan: Plan, table: Candidates) -> Candidates:
        """Return the candidates in their new order."""
        del plan
        if BEGINS not in table.columns:
            return table
        if BY_WORDS not in table.columns:
            table = table.with_column(BY_WORDS, _by_words(table))
        whole = _whole(table)
        surer = _surer(table)
        order = _ordered(np.where(whole, table[BY_WORDS], np.nan), surer)
        places = np.where(whole, np.nan, table[BY_WORDS])
        order = order[_ordered(places[order], (surer | whole)[order])]
        if np.array_equal(order, np.arange(len(table))):
            return table
        table = table.take(order)
        scores = np.maximum.accumulate(table[SCORE][::-1])[::-1]
        moved = np.isfinite(table[BY_WORDS]) & (table.ranks() < order + 1)
        parts = {RANK: table.ranks(), SCORE: scores, "by words": table[BY_WORDS]}
        told = {part: np.where(moved, values, table[f"{STAGE}/{part}"]) for part, values in parts.items()}
        return table.with_stage(STAGE, told).with_column(SCORE, scores)


def _whole(table: Candidates) -> NDArray[np.bool_]:
    """Return True for rows of records with a prefix match whose whole name or identifier is the query."""
    begins = table[BEGINS]
    records = table[RECORD][(begins == WHOLE) | ((begins == BEGINNING) & (table[OUTRIGHT] > 0))]
    return np.asarray(np.isin(table[RECORD], records))


def _surer(table: Candidates) -> NDArray[np.bool_]:
    """Return True for rows that are meant more certainly than by a prefix, and are no prefix matches themselves."""
    return np.asarray(((table[OUTRIGHT] > 0) | (table[CREDITED] > 1)) & np.isnan(table[BEGINS]))


def _by_words(table: Candidates) -> Scores:
    """Return the rank by words alone, that of the best passage, of each record with a prefix match.

    Records that may precede it in any case are not counted. Ranks are known as far as the ranking consists of
    candidates only.
    """
    ranks = table[f"{LEXICAL}/rank"]
    wholes = _whole(table)
    places = np.full(len(table), np.nan)
    ranked = np.argsort(ranks, kind="stable")[: np.isfinite(ranks).sum()]
    complete = ranked[np.cumprod(ranks[ranked] == np.arange(1.0, len(ranked) + 1)) > 0]
    for whole, others in ((True, _surer(table)), (False, _surer(table) | wholes)):
        records = dict.fromkeys(table[RECORD][complete[~others[complete]]].tolist())
        place_of = {record: float(place) for place, record in enumerate(records, 1)}
        mine = np.flatnonzero(wholes == whole)
        places[mine] = [*map(place_of.get, table[RECORD][mine].tolist(), repeat(np.nan))]
    return np.where(np.isfinite(table[BEGINS]), places, np.nan)


def _ordered(places: Scores, fixed: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return an order of rows in which no record is below its rank, leaving `fixed` rows in place.

    Of each record, the first row is moved.
    """
    first: dict[float, int] = {}
    order = [*range(len(places))]
    for row in np.flatnonzero(np.isfinite(places)).tolist():
        first.setdefault(places[row], row)
    moving = np.flatnonzero(~fixed)
    for place, row in zip(moving.tolist(), _moved(moving.tolist(), first), strict=True):
        order[place] = row
    return np.array(order, np.int64)


def _moved(rows: Sequence[int], first: Mapping[float, int]) -> Iterator[int]:
    done: set[int] = set()
    place = 1
    for row in rows:
        while (due := first.get(place, row)) != row and due not in done and row not in done:
            yield due
            done.add(due)
            place += 1
        if row not in done:
            yield row
            done.add(row)
            place += 1
