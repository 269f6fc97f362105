"""Times: what a question says of when lifts what is of that time, by an explained factor."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

import numpy as np

from rifflux.retrieve.pipeline import Plan
from rifflux.retrieve.table import MOMENT, SCORE, Candidates, declare
from rifflux.text.dates import timestamp
from rifflux.text.moments import dates_in
from rifflux.types import Hit, Moment, Scores

STAGE = "moments"
declare("moments/*", "factor", "the factor for being of a time that the question names: by its date, name or text")
#: What a date in the text counts, which may be that of something else, where one's own counts 1.
MENTIONED = 0.7


@dataclass(frozen=True)
class Moments:
    """Candidates of a time that the question names count up to `factor` times more.

    A candidate is of a time by the date of its document, by a date in its path, title or headings, and, a little less,
    by one in its text. The best `top` candidates are looked at.
    """

    factor: float = 2.0
    top: int = 100

    def __call__(self, plan: Plan, table: Candidates) -> Candidates:
        """Lift the scores of candidates of the time; a column for each time that some candidate is of."""
        shares = {each.words: np.array([share(each, hit) for hit in table.passages]) for each in plan.query.times}
        shares = {words: values for words, values in shares.items() if values.any()}
        if not shares:
            return table
        best = np.maximum.reduce([*shares.values()])
        factors = {}
        for words, values in shares.items():
            # A leading space keeps what is typed apart from the columns `rank` and `score`.
            factors[f" {words}"] = np.where(values > 0, self._factor(values), np.nan)
        return table.with_column(MOMENT, best).factored(STAGE, factors, table[SCORE] * self._factor(best))

    def _factor(self, shares: Scores) -> Scores:
        return np.asarray(1 + (self.factor - 1) * shares)


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
