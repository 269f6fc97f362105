"""Beginnings: a record that begins with what was asked, by its title or key, stays where words alone put it, or above.

What is typed so far of a name is that of many records, and none of them is named by it; yet each of them may be meant.
Meaning and rerankers know nothing of it, and words do. So however they order the candidates, such a record takes its
place by words alone at the latest. Only those it may fall behind whose whole name was asked, which have what was asked
as their identifier, which define it as a symbol, or which are by whom the question names.
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
from rifflux.store import ChunkFacts
from rifflux.types import Query, Scores

STAGE = "beginning"
#: How much of a title or key was asked: a beginning of it, or all of it.
BEGINNING = 1.0
WHOLE = 2.0
RECORD = declare("record", "number", "the number of the record that the candidate is of, where its names were read")
BY_WORDS = declare("by words", PLACE, "the place by words alone among records of one that begins with what was asked")
declare(f"{STAGE}/by words", PLACE, "the place that words alone gave a record, below which it was not left")
#: The columns that a table needs to be kept up again.
COLUMNS = (BEGINS, RECORD, BY_WORDS)


def begun(query: Query, table: Candidates, names: Mapping[int, ChunkFacts]) -> Candidates:
    """Return the table with those marked that begin with the question; as it is where none does."""
    asked = {letters_of(text) for text in (query.phrasing.body or query.text, query.semantic_text)} - {""}
    first = {text[0] for text in asked}
    begins = {id: how for id, each in names.items() if (how := _begins(each, asked, first))}
    if not begins:
        return table
    ids = table.ids.tolist()
    numbers: dict[tuple[str, str], int] = {}
    records = [
        numbers.setdefault((names[id].namespace, names[id].key), len(numbers)) if id in names else np.nan for id in ids
    ]
    return table.with_column(RECORD, np.array(records, np.float64)).with_column(
        BEGINS, np.array([*map(begins.get, ids, repeat(np.nan))], np.float64)
    )


def _begins(names: ChunkFacts, questions: Collection[str], first: Collection[str]) -> float:
    found = 0.0
    for name in (names.title, names.key, *names.aliases):
        # The first letter or digit of most names says that they do not begin so.
        sign = next(filter(str.isalnum, name), "")
        if sign.lower() in first or sign == "0" or not sign.isascii():
            said = letters_of(name)
            found = max(
                found, WHOLE * (said in questions), BEGINNING * any(said.startswith(f"{each} ") for each in questions)
            )
    return found


@dataclass(frozen=True, slots=True)
class PreservePrefixRank:
    """Moves records that begin with the question up to their place by words alone, where they stand below it.

    All other candidates keep their order. One that is moved up gets the score of the next below it.
    """

    def __call__(self, plan: Plan, table: Candidates) -> Candidates:
        """Return the candidates in their new order."""
        del plan
        if BEGINS not in table:
            return table
        if BY_WORDS not in table:
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
    """Return True for rows of records that begin with the question, and are it as a whole or bear it outright."""
    begins = table[BEGINS]
    records = table[RECORD][(begins == WHOLE) | ((begins == BEGINNING) & (table[OUTRIGHT] > 0))]
    return np.asarray(np.isin(table[RECORD], records))


def _surer(table: Candidates) -> NDArray[np.bool_]:
    """Return True for rows that are meant more surely than by a beginning; those that begin so are none of them."""
    return np.asarray(((table[OUTRIGHT] > 0) | (table[CREDITED] > 1)) & np.isnan(table[BEGINS]))


def _by_words(table: Candidates) -> Scores:
    """Return the place by words alone of each record that begins with the question, that of its best passage.

    Those that may stand before it whatever the words say are not counted. Places are known as far as all of the ranking
    are candidates.
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
    """Return the rows in an order in which no record is below its place; those that are fixed are left out of it.

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
