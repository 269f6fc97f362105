"""Times: what a question says of when lifts what is of that time, as far as the time is what was asked."""

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
declare("moments/*", "factor", "the factor for being of a time that the question names: by its date, name or text")
#: What a date in the text counts, which may be that of something else, where one's own counts 1.
MENTIONED = 0.7


@dataclass(frozen=True)
class Moments:
    """Candidates of a time that the question names count up to `greatest` times more.

    A candidate is of a time by the date of its document, by a date in its path, title or headings, and, a little less,
    by one in its text. What that is worth follows from the rule for all boosts (see `anchors`): the year in
    a question about events of a year moves next to nothing, the month in `notes of June 2015` all that it can. The best
    `top` candidates are looked at.
    """

    greatest: float = 2.0
    top: int = 100

    def __call__(self, plan: Plan, table: Candidates) -> Candidates:
        """Lift the scores of candidates of the time; a column for each time that some candidate is of."""
        weights = weights_of(plan)
        words = [terms for _, terms in plan.query.tokens]
        strengths = {}
        for each in plan.query.times:
            sureness = np.array([share(each, hit) for hit in table.passages])
            if sureness.any():
                explained = explained_share(words, weights, plan.query.words[each.words])
                strengths[each.words] = strength(explained, sureness)
        if not strengths:
            return table
        best = np.maximum.reduce([*strengths.values()])
        # A leading space keeps what is typed apart from the columns `rank` and `score`.
        factors = {f" {words}": factor(self.greatest, values) for words, values in strengths.items()}
        lifted = np.nan_to_num(factor(self.greatest, best), nan=1.0)
        return boosted(table.with_column(MOMENT, best), lifted).factored(STAGE, factors, table[SCORE] * lifted)


def share(moment: Moment, hit: Hit) -> float:
    """Return how surely a passage is of a time, in [0, 1]."""
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
