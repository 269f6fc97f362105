"""The profile of conversations: messages between people and assistants."""

from rifflux.errors import Cure
from rifflux.ingest.chunking import Chunker
from rifflux.retrieve.steps.diversity import DOCUMENT, Diversity
from rifflux.session.profile import Profile
from rifflux.store import FieldWeights


def pool_of_forty(top_k: int) -> int:
    """Return the candidates per channel: forty messages, but at least the page size."""
    return max(40, top_k)


CONVERSATIONS = Profile(
    "conversations",
    readers="rifflux.conversations.importers:FORMATS",
    # A part of a long message leaves room in the embedded window for the turns before it.
    chunker=Chunker(target_tokens=180, tolerance=0.25),
    facets=("role", "speaker", "project", "source"),
    # The fields are: conversation, speaker and date; the neighbours' words; the message's own. The length of the second
    # is mostly that of the neighbours, so it says little about the message.
    weights=FieldWeights(headings=0.5, b=0.4),
    pool=pool_of_forty,
    diversity=Diversity(group=DOCUMENT),
    cure=Cure.EMBED_MESSAGES,
)
