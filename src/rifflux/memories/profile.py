"""Memories: short statements that an agent or application stores about its user."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from rifflux.ingest.chunking import Chunker
from rifflux.retrieve.fuse import Adaptive
from rifflux.retrieve.fuse.base import Weights
from rifflux.retrieve.pipeline import Plan
from rifflux.retrieve.steps.rerank.features import WEIGHTS, Features
from rifflux.retrieve.steps.rerank.stage import Resources, Scored
from rifflux.retrieve.table import Candidates
from rifflux.session.profile import Profile
from rifflux.types import Hit


def memory_pool(limit: int) -> int:
    """Return the candidates per channel: four times the page size up to 40, but at least the page size."""
    return max(min(4 * limit, 40), limit)


MEMORIES = Profile(
    "memories",
    # A memory is one passage, whatever its length.
    chunker=Chunker(target_tokens=4096, floor_tokens=4096),
    facets=("category",),
    pool=memory_pool,
    # Memories name their owner in nearly every line, so a match of the name alone explains nothing.
    fusion=Adaptive(explained=1.0),
).without("anchors", "code", "prefix rank", "times", "shortcut")


# The reranker of memories combines relevance, recency, use and importance.


#: Unlike documents, memories age.
FRESH = WEIGHTS.but(freshness=0.15)
#: The number of recalls at which the component for use reaches its maximum.
MOST_USES = 32


@dataclass(frozen=True)
class Recall:
    """The components of `features` with freshness enabled, plus use and importance.

    `uses` holds how often each hit was recalled: its logarithm counts, up to `MOST_USES`. Importance is the metadata
    field of that name, from 1 to 10. Both have small weights: they decide between memories that answer equally well.
    """

    resources: Resources
    uses: Callable[[Sequence[Hit]], Sequence[int]]
    weights: Weights = FRESH
    usage: float = 0.05
    importance: float = 0.05
    now: Callable[[], float] = time.time
    name: str = "recall"

    def __call__(self, plan: Plan, table: Candidates) -> Scored:
        """Score the memories; the parts are the addends of each score."""
        plain = Features(self.resources, self.weights, now=self.now)(plan, table)
        hits = table.passages
        rest = 1 - self.usage - self.importance
        used = self.usage * np.minimum(1.0, np.log1p(np.array(self.uses(hits))) / np.log1p(MOST_USES))
        weighty = self.importance * np.array([hit.metadata.get("importance", 1) for hit in hits], np.float64) / 10
        parts = {name: rest * part for name, part in plain.parts.items()} | {"usage": used, "importance": weighty}
        return Scored(rest * plain.scores + used + weighty, parts)
