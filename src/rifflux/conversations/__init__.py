"""Conversations: messages of a user, added, imported, searched through the turns around them."""

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
