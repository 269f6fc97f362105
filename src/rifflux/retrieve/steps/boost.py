"""The one rule for boosts: what a piece of evidence is worth is in proportion to what it explains of the question.

Names, identifiers, definitions, times and authors lift candidates by a factor. It is a bounded likelihood ratio, made
of three shares:

    explained   how much of the question the evidence explains: the idf of its terms, of that of all. A year in a
                question of twelve words explains little of it, a code that is the question explains it all
    separating  how well it tells candidates apart: what most of them share says little, unless it is all that was asked
    sureness    how sure the match is: 1 for an identifier, less for a date that a text only mentions

The evidence differs from step to step; what becomes of it does not.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np

from rifflux.types import Clause, Scores

#: Evidence for so much of a question explains it: the rest is how people ask.
ENOUGH = 2 / 3


def explained_share(weights: Mapping[Clause, float], terms: Collection[str]) -> float:
    """Return how much of a question some of its terms explain, in [0, 1]; `weights` are the idf of its clauses."""
    total = sum(weights.values())
    if not total:
        return 0.0
    held = sum(weight for clause, weight in weights.items() if all(term in terms for term in clause))
    return min(1.0, held / total / ENOUGH)


def strength(explained: float, sureness: Scores) -> Scores:
    """Return the strength of evidence for each candidate, in [0, 1]; `sureness` is 0 for those that lack it."""
    if not len(sureness):
        return sureness
    sharing = float(np.count_nonzero(sureness)) / len(sureness)
    separating = 1 - sharing * (1 - explained)
    return np.asarray(explained * separating * sureness)


def factor(greatest: float, strengths: Scores) -> Scores:
    """Return the factor for evidence of these strengths, from 1 to `greatest`; NaN for candidates that lack it."""
    return np.where(strengths > 0, 1 + (greatest - 1) * strengths, np.nan)
