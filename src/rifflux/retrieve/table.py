"""The candidate table: rows are chunks that some channel returned, columns are values that the steps computed.

A column is named `STAGE/PART`: `lexical/score` and `lexical/rank` come from a channel, `adaptive/semantic` is an addend
of a fused score, `rerank:features/coverage` one of a reranked score. Explanations are written from these columns at the
end. A column without a stage, such as `score`, is internal to the steps and never displayed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import lru_cache
from itertools import repeat
from operator import attrgetter, getitem
from typing import Any

import numpy as np

from rifflux import kernels
from rifflux.store import LEXICAL as LEXICAL
from rifflux.store import SEMANTIC as SEMANTIC
from rifflux.types import Hit, Ids, Ranking, Scores, Why

#: Units of columns with whole numbers.
COUNT = "count"
PLACE = "place from 1"
#: The minimum relevance of hits of high and of medium quality.
HIGH = 0.85
MEDIUM = 0.7


@dataclass(frozen=True, slots=True)
class Column:
    """A column, or a family of columns: a `*` in the name stands for any stage or part."""

    name: str
    unit: str
    about: str


_COLUMNS: dict[str, Column] = {}


def declare(name: str, unit: str, about: str) -> str:
    """Declare a column and return its name."""
    _COLUMNS[name] = Column(name, unit, about)
    declared.cache_clear()
    return name


@lru_cache(maxsize=1024)
def declared(name: str) -> Column:
    """Return the declaration of a column; a family that names the part takes precedence. Raises `KeyError`."""
    if name in _COLUMNS:
        return _COLUMNS[name]
    # A copy, because another thread may import a module that declares columns.
    fitting = [column for column in tuple(_COLUMNS.values()) if fnmatchcase(name, column.name)]
    if not fitting:
        raise KeyError(f"no column {name!r} is declared")
    return min(fitting, key=lambda column: column.name.endswith("*"))


def columns() -> tuple[Column, ...]:
    """Return all declared columns by name."""
    return tuple(sorted(_COLUMNS.values(), key=lambda column: column.name))


SCORE = declare("score", "of the last step", "the score that orders the rows")
LIFT = declare("lift", "factor", "the uncapped product of the candidate's anchor factors, except that of its title")
NAMED = declare(
    "named",
    "share",
    "how far the query is a name of the candidate: its title, last heading or identifier, from 0 to 1",
)
BEGINS = declare("begins", "1 or 2", "1 if the record's title or key begins with the query, 2 if it equals it")
OUTRIGHT = declare("outright", "1 or 0", "1 if the query is the candidate's identifier or a name it defines")
CREDITED = declare("credited", "factor", "the factor for an author, venue or year named in the query")
MOMENT = declare("moment", "share", "how far the query asks for the candidate's time, from 0 to 1")
BOOSTED = declare("boosted", "factor", "the score factor for evidence that the reranker `features` weights itself")
RELEVANCE = declare("relevance", "probability", "the share of queries with such a passage that have an answer here")
RANK = "rank"
OTHERS = "others"
declare("*/score", "of the stage", "the score from a channel or step; BM25 for lexical, cosine for semantic")
declare("*/rank", PLACE, "the rank from a channel or step")
declare("*/others", COUNT, "the candidates that a step dropped in favor of this one")
declare("*/read", COUNT, "the depth to which a channel was read, if the rank is below it")


def product(factors: Iterable[Scores], rows: int) -> Scores:
    """Return the product of candidates' factors, padded with 1 where a factor is NaN or missing."""
    whole = np.ones(rows)
    for values in factors:
        whole[: len(values)] *= np.where(np.isnan(values), 1.0, values)
    return whole


def filled(values: Scores, other: float = 0.0) -> Scores:
    """Return values with another one in place of NaN."""
    return np.where(np.isnan(values), other, values)


@dataclass(frozen=True, slots=True)
class Candidates:
    """An ordered table of candidates by chunk id, with columns by name; absent values are NaN.

    `rankings` are the channels' own and reach further down than the candidates. `passages` are the stored chunks of the
    rows once fetched: one per row, or none.
    """

    ids: Ids
    columns: Mapping[str, Scores] = field(default_factory=dict)
    rankings: Mapping[str, Ranking] = field(default_factory=dict)
    passages: tuple[Hit, ...] = ()

    @classmethod
    def of(cls, ranking: Ranking) -> Candidates:
        """Return the candidates of a ranking, in its order and with its scores."""
        return cls(ranking.ids, {SCORE: ranking.scores})

    @classmethod
    def of_hits(cls, hits: Sequence[Hit], scores: Scores | None = None) -> Candidates:
        """Return stored chunks as candidates in their order, with the given scores or their own."""
        ids = np.fromiter(map(int, (hit.id for hit in hits), repeat(16)), np.int64, len(hits))
        if scores is None:
            own = np.fromiter((hit.score for hit in hits), np.float64, len(hits))
        else:
            own = scores
        return cls(ids, {SCORE: own}, passages=tuple(hits))

    def __len__(self) -> int:
        return len(self.ids)

    def __getitem__(self, name: str) -> Scores:
        """Return a column; all NaN if no step computed it."""
        if name in self.columns:
            return self.columns[name]
        return np.full(len(self.ids), np.nan)

    def with_column(self, name: str, values: Scores) -> Candidates:
        """Return the table with an additional column; values for only the first rows are padded with NaN.

        Raises `KeyError` for an undeclared column.
        """
        declared(name)
        missing = len(self.ids) - len(values)
        if missing > 0:
            values = np.concatenate([values, np.full(missing, np.nan)])
        return Candidates(self.ids, {**self.columns, name: values}, self.rankings, self.passages)

    def with_stage(self, stage: str, parts: Mapping[str, Scores]) -> Candidates:
        """Return the table with the columns of a stage by part: `score`, `rank` and details."""
        table = self
        for part, values in parts.items():
            table = table.with_column(f"{stage}/{part}", values)
        return table

    def factored(self, stage: str, factors: Mapping[str, Scores], scores: Scores) -> Candidates:
        """Return the table ordered by new scores, with a column for each factor that some candidate has.

        Candidates with a factor also get the score and rank of this stage.
        """
        present = {part: values for part, values in factors.items() if np.isfinite(values).any()}
        table = self.with_stage(stage, present).scored(scores, self.ranks())
        moved = np.isfinite(np.fmax.reduce([np.full(len(self), np.nan), *table.parts(stage).values()]))
        parts = {SCORE: table[SCORE], RANK: table.ranks()}
        return table.with_stage(stage, {part: np.where(moved, values, np.nan) for part, values in parts.items()})

    def parts(self, stage: str) -> Mapping[str, Scores]:
        """Return the columns of a stage by part, except `score` and `rank`."""
        own = dict(stages(self).get(stage, {}))
        own.pop(SCORE, None)
        own.pop(RANK, None)
        return own

    def take(self, places: Ids | Sequence[int]) -> Candidates:
        """Return the rows at the given positions, in that order."""
        places = np.asarray(places, np.int64)
        columns = dict(zip(self.columns, map(getitem, self.columns.values(), repeat(places)), strict=False))
        if self.passages:
            passages = tuple(self.passages[each] for each in places.tolist())
        else:
            passages = ()
        return Candidates(self.ids[places], columns, self.rankings, passages)

    def head(self, limit: int) -> Candidates:
        """Return the first `limit` rows."""
        if limit >= len(self.ids):
            return self
        columns = {name: values[:limit] for name, values in self.columns.items()}
        return Candidates(self.ids[:limit], columns, self.rankings, self.passages[:limit])

    def scored(self, scores: Scores, ties: Scores | None = None) -> Candidates:
        """Return the rows by new scores, greatest first; ties go to the lowest of `ties`, then to the lower id.

        Values that differ only in the last bits, by rounding, are ties. NaN comes last.
        """
        falling = -np.round(scores, 12)
        order = np.lexsort((self.ids, falling) if ties is None else (self.ids, ties, falling))
        return self.with_column(SCORE, scores).take(order)

    def place(self, id: int) -> int | None:
        """Return the position of a chunk, from 0, or None if it is not a candidate."""
        places = np.flatnonzero(self.ids == id)
        if len(places):
            return int(places[0])
        return None

    def ranks(self) -> Scores:
        """Return the rank of each row, from 1."""
        return np.arange(1, len(self.ids) + 1, dtype=np.float64)


def joined(rankings: Mapping[str, Ranking], pool: int | None = None) -> Candidates:
    """Return the ids among the first `pool` of any ranking (None: all), ascending, with rank and score in each."""
    return placed(pool_of(rankings, pool), rankings)


def alone(name: str, ranking: Ranking) -> Candidates:
    """Return the candidates of a single channel, in its order and with its scores."""
    ranks = np.arange(1, len(ranking) + 1, dtype=np.float64)
    columns = {f"{name}/rank": ranks, f"{name}/score": ranking.scores, SCORE: ranking.scores}
    return Candidates(ranking.ids, columns, {name: ranking})


def stacked(first: Candidates, second: Candidates) -> Candidates:
    """Return the rows of two tables, the first's on top, with the columns of both padded with NaN."""
    columns = {}
    for name in dict.fromkeys((*first.columns, *second.columns)):
        columns[name] = np.concatenate([first[name], second[name]])
    ids = np.concatenate([first.ids, second.ids])
    return Candidates(ids, columns, passages=(*first.passages, *second.passages))


def placed(ids: Ids, rankings: Mapping[str, Ranking]) -> Candidates:
    """Return the given distinct ids with their rank and score in each ranking."""
    columns = {}
    for name, ranking in rankings.items():
        columns[f"{name}/rank"], columns[f"{name}/score"] = places_in(ranking, ids)
    return Candidates(ids, columns, rankings)


def pool_of(rankings: Mapping[str, Ranking], pool: int | None = None) -> Ids:
    """Return the distinct ids among the first `pool` of any ranking, ascending."""
    if not rankings:
        return np.empty(0, np.int64)
    ids = np.sort(np.concatenate([*map(getitem, map(attrgetter("ids"), rankings.values()), repeat(slice(pool)))]))
    first = np.ones(len(ids), bool)
    np.not_equal(ids[1:], ids[:-1], out=first[1:])
    return ids[first]


def places_in(ranking: Ranking, ids: Ids) -> tuple[Scores, Scores]:
    """Return the best rank, from 1, and the score of each id in a ranking; NaN if missing.

    `ids` must be distinct.
    """
    ascends = bool((ids[1:] > ids[:-1]).all())
    if kernels.compiled and ascends:
        ranks, scores = np.empty((2, len(ids)))
        kernels.compiled.ranks(ids, ranking.ids, ranking.scores, ranks, scores)
        return ranks, scores
    ranks, scores = np.full((2, len(ids)), np.nan)
    if len(ids):
        if ascends:
            places = np.minimum(ids.searchsorted(ranking.ids), len(ids) - 1)
        else:
            order = np.argsort(ids)
            places = order[np.minimum(ids.searchsorted(ranking.ids, sorter=order), len(ids) - 1)]
        # Backwards, so that the best of several ranks of an id is written last.
        known = np.flatnonzero(ids[places] == ranking.ids)[::-1]
        ranks[places[known]], scores[places[known]] = known + 1.0, ranking.scores[known]
    return ranks, scores


# Explanations, written from the columns; only surfaces read them


def page(table: Candidates, always: Collection[str] = ()) -> list[Hit]:
    """Return the rows of a table with fetched passages as hits, with their scores and explanations."""
    columns = (table[SCORE].tolist(), trails(table, always), table[RELEVANCE].tolist())
    hits = []
    for hit, score, why, relevance in zip(table.passages, *columns, strict=True):
        known = relevance == relevance
        rated = {"relevance": relevance, "quality": quality(relevance)} if known else {}
        hits.append(hit.retold(score=score, why=why, **rated))
    return hits


def trails(table: Candidates, always: Collection[str] = ()) -> list[tuple[Why, ...]]:
    """Return the values of the stages for each row, in order.

    A stage without a value is omitted from a row's explanation, except channels and stages in `always`. Values are
    integers if the column's unit is whole.
    """
    every = {*table.rankings, *always}
    rows: list[list[Why]] = [[] for _ in table.ids]
    for stage, parts in stages(table).items():
        columns = []
        for part, values in parts.items():
            columns.append((part, values.tolist(), declared(f"{stage}/{part}").unit in (COUNT, PLACE)))
        for place, row in enumerate(rows):
            known: dict[str, Any] = {}
            for part, values, whole in columns:
                if (value := values[place]) == value:
                    known[part] = int(value) if whole else value
            if known or stage in every:
                rank = known.pop(RANK, None)
                score = known.pop(SCORE, None)
                detail = {part.strip(): value for part, value in known.items()}
                row.append(Why(stage, rank, score, detail))
    return [tuple(row) for row in rows]


def stages(table: Candidates) -> Mapping[str, Mapping[str, Scores]]:
    """Return the columns of a table by stage and part, in the order of their creation."""
    found: dict[str, dict[str, Scores]] = {}
    for name, values in table.columns.items():
        stage, slash, part = name.partition("/")
        if slash:
            found.setdefault(stage, {})[part] = values
    return found


def quality(relevance: float) -> str:
    """Return the level of a relevance: `high` from .85, `medium` from .7, otherwise `low`."""
    if relevance >= HIGH:
        return "high"
    if relevance >= MEDIUM:
        return "medium"
    return "low"
