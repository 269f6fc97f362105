"""A user's conversations: adding, importing, and searching messages in the context of neighbouring turns."""

from rifflux.conversations.conversations import Conversations
from rifflux.conversations.model import (
    Conversation,
    Group,
    ImportReport,
    Message,
    MessageHit,
    MessageResults,
    Thread,
    VectorsMade,
    WrittenMessage,
)

__all__ = [
    "Conversation",
    "Conversations",
    "Group",
    "ImportReport",
    "Message",
    "MessageHit",
    "MessageResults",
    "Thread",
    "VectorsMade",
    "WrittenMessage",
]
