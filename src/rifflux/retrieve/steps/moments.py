"""Times: candidates of a time named in the query are boosted in proportion to its weight in the query."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

import numpy as np

from rifflux.retrieve.fuse.base import weights_of
from rifflux.retrieve.pipeline import Plan
from rifflux.retrieve.steps.anchors import boosted, explained_share, factor, strength
from rifflux.retrieve.table import MOMENT, SCORE, Candidates, declare
from rifflux.text.dates import timestamp
from rifflux.text.moments import dates_in
from rifflux.types import Hit, Moment

STAGE = "moments"
declare("moments/*", "factor", "the factor for a time named in the query, matched by date, name or text")
#: The value of a date in the text, which may be that of something else, where the document's own date counts 1.
MENTIONED = 0.7


@dataclass(frozen=True)
class Moments:
    """Boosts candidates of a time that the query names, by up to `greatest`.

    A candidate matches a time by its document's date, by a date in its path, title or headings, or, with less weight,
    by one in its text. The boost follows the rule for all boosts (see `anchors`): the year in a query about events of a
    year changes next to nothing, the month in `notes of June 2015` has the full effect. The best `top` candidates are
    examined.
    """

    greatest: float = 2.0
    top: int = 100

    def __call__(self, plan: Plan, table: Candidates) -> Candidates:
        """Boost the scores of candidates of the query's times, adding a column per matched time."""
        weights = weights_of(plan)
        strengths = {}
        for each in plan.query.times:
            sureness = np.array([share(each, hit) for hit in table.passages])
            if sureness.any():
                explained = explained_share(plan.query.tokens, weights, plan.query.words[each.words])
                strengths[each.words] = strength(explained, sureness)
        if not strengths:
            return table
        best = np.maximum.reduce([*strengths.values()])
        # A leading space separates user input from the columns `rank` and `score`.
        factors = {f" {words}": factor(self.greatest, values) for words, values in strengths.items()}
        lifted = np.nan_to_num(factor(self.greatest, best), nan=1.0)
        return boosted(table.with_column(MOMENT, best), lifted).factored(STAGE, factors, table[SCORE] * lifted)


def share(moment: Moment, hit: Hit) -> float:
    """Return how certainly a passage is of a time, in [0, 1]."""
    made = timestamp(hit.created_at or hit.updated_at)
    if made is None:
        day = None
    else:
        day = datetime.fromtimestamp(made, UTC).date()
    if day and moment.covers(day, day):
        return 1.0
    if _says(moment, f"{hit.key}\n{hit.title}\n{hit.heading_path}"):
        return 1.0
    if _says(moment, hit.text):
        return MENTIONED
    return 0.0


def _says(moment: Moment, text: str) -> bool:
    return any(moment.covers(since, until) for since, until in dates_in(text))
