"""The channels' scores become one. A fusion is a value: its knobs are its fields, calling it fuses.

Pure functions of the table and of what is known about candidates: the order of the channels does not matter, a
repeated id counts once at its best rank, and ties go to the best rank in any channel, then to the lower id.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from rifflux.errors import InvalidArgument
from rifflux.retrieve.fuse.base import Evidence, Fuse
from rifflux.retrieve.fuse.reciprocal import ReciprocalRank
from rifflux.retrieve.fuse.weighted import Adaptive, Balanced, Linear

__all__ = [
    "FUSIONS",
    "Adaptive",
    "Balanced",
    "Evidence",
    "Fuse",
    "Linear",
    "ReciprocalRank",
    "fusion_of",
]

#: Fusions by the name users choose them by.
FUSIONS: Mapping[str, Callable[[], Fuse]] = {
    "rrf": ReciprocalRank,
    "linear": Linear,
    "balanced": Balanced,
    "adaptive": Adaptive,
}


def fusion_of(choice: str | Fuse) -> Fuse:
    """Return the fusion of a name with its defaults; a fusion is returned as it is."""
    if not isinstance(choice, str) and callable(choice):
        return choice
    if choice not in FUSIONS:
        raise InvalidArgument(f"no fusion {choice!r}; choose one of {', '.join(FUSIONS)}")
    return FUSIONS[choice]()
