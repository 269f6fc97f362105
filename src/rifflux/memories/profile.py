"""Memories: short statements that an agent or application keeps about its user."""

from rifflux.ingest.chunking import Chunker
from rifflux.retrieve.fuse import ReciprocalRank
from rifflux.session.profile import Profile

__all__ = ["MEMORIES", "memory_pool"]


def memory_pool(limit: int) -> int:
    """Candidates per channel: four times the page, 40 at most."""
    return min(4 * limit, 40)


MEMORIES = Profile(
    "memories",
    # A memory is one passage, however long it may be.
    chunker=Chunker(target_tokens=4096, floor_tokens=4096),
    facets=("category",),
    pool=memory_pool,
    fusion=ReciprocalRank(k=60),
    anchors=False,
    shortcut=False,
)
