"""The profile of conversations: messages of people and assistants."""

from rifflux.errors import Cure
from rifflux.ingest.chunking import Chunker
from rifflux.retrieve.steps.diversity import DOCUMENT, Diversity
from rifflux.session.profile import Profile
from rifflux.store import FieldWeights


def pool_of_forty(top_k: int) -> int:
    """Forty messages from each channel, or as many as the page takes."""
    return max(40, top_k)


CONVERSATIONS = Profile(
    "conversations",
    readers="rifflux.conversations.importers:FORMATS",
    # A part of a long message leaves room for the turns before it in what is embedded.
    chunker=Chunker(target_tokens=180, tolerance=0.25),
    facets=("role", "speaker", "project", "source"),
    # Fields are: conversation, speaker and date; the neighbours' words; the message's own. Its length is for the most
    # part that of its neighbours, and says little of it.
    weights=FieldWeights(headings=0.5, b=0.4),
    pool=pool_of_forty,
    diversity=Diversity(group=DOCUMENT),
    cure=Cure.EMBED_MESSAGES,
)
