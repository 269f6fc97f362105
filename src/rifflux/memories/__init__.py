"""Memories of a user: save, recall, supersede, forget."""

from rifflux.memories.memories import Memories
from rifflux.memories.model import Memory, Recalled, Rules, Saved

__all__ = ["Memories", "Memory", "Recalled", "Rules", "Saved"]
