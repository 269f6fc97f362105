"""The index: open it, add to it, search it."""

from rifflux.index.index import DEFAULT_MODEL, Index, Status, open_index

__all__ = ["DEFAULT_MODEL", "Index", "Status", "open_index"]
