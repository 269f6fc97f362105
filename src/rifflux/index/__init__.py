"""The index: open it, add to it, search it."""

from rifflux.index.index import Index
from rifflux.index.opening import open_index
from rifflux.index.opening import open_index as open

__all__ = ["Index", "open", "open_index"]
