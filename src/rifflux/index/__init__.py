"""The index: open it, add to it, search it."""

from rifflux.index.index import Index, open_index

__all__ = ["Index", "open_index"]
