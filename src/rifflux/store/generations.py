"""Vectors of several models in one index: the generation in use, one that is built beside it, those that are going."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from rifflux.store.base import ModelInfo

__all__ = ["Generation", "Generations", "State"]


class State(StrEnum):
    """What becomes of a generation: it is built, then searched, then dropped. One at most is built, one is active."""

    BUILDING = "building"
    ACTIVE = "active"
    RETIRED = "retired"


@dataclass(frozen=True, slots=True)
class Generation:
    """The vectors of one model: how many of the index's chunks have one, of all owners."""

    model: ModelInfo
    state: State
    vectors: int
    chunks: int


class Generations(Protocol):
    """The generations of an index. Every change is one transaction, and concerns all owners."""

    def all(self) -> list[Generation]:
        """The active one first, then one that is built, then those that are dropped."""
        ...

    def begin(self, model: ModelInfo) -> None:
        """Build vectors of a model, or go on where that was interrupted, while searches use those there are.

        Raises `InvalidArgument` for the active model, and while another one is built.
        """
        ...

    def finish(self) -> bool:
        """Let searches use the built vectors from now on, and retire the others; False if a chunk still lacks one."""
        ...

    def abort(self) -> ModelInfo | None:
        """Retire what is being built; returns its model, or None if there was nothing."""
        ...

    def drop(self, most: int) -> int:
        """Drop at most so many vectors of retired generations; returns how many, 0 once nothing is left of them."""
        ...
