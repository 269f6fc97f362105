"""Memories: short statements that an agent or application keeps about its user."""

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
    """Candidates per channel: four times the page, 40 at most, or as many as the page takes."""
    return max(min(4 * limit, 40), limit)


MEMORIES = Profile(
    "memories",
    # A memory is one passage, however long it may be.
    chunker=Chunker(target_tokens=4096, floor_tokens=4096),
    facets=("category",),
    pool=memory_pool,
    # Memories name their owner in nearly every line: a match of the name alone explains nothing of a question.
    fusion=Adaptive(explained=1.0),
).without("anchors", "code", "prefix rank", "times", "shortcut")


# Reranking memories: how well each answers, and besides how recent, how much used and how important it is


#: Memories grow old, unlike documents.
FRESH = WEIGHTS.but(freshness=0.15)
#: Recalled so often, a memory counts as used as can be.
MOST_USES = 32


@dataclass(frozen=True)
class Recall:
    """The components of `features` with freshness among them, and use and importance as two more.

    `uses` counts how often each hit was recalled before: its logarithm counts, up to `MOST_USES`. Importance is the
    metadata field of that name, from 1 to 10. Both have small weights: they decide between memories that answer alike.
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
