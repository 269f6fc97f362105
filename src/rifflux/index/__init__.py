"""The index: open it, add to it, search it."""

from rifflux.index.index import Index
from rifflux.index.opening import open_index
from rifflux.index.status import Status

__all__ = ["Index", "Status", "open_index"]
