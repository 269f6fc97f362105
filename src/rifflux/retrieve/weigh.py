"""Components times weights: one sum for the reranker `features`, for works and for calibration."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from rifflux.errors import InvalidArgument
from rifflux.types import Scores

__all__ = ["Weights", "weighed"]


@dataclass(frozen=True, slots=True)
class Weights(Mapping[str, float]):
    """How much each component counts, by its name; only the proportions matter."""

    by_name: Mapping[str, float]

    def __post_init__(self) -> None:
        values = self.by_name.values()
        if any(not math.isfinite(value) or value < 0 for value in values) or not any(values):
            raise InvalidArgument("feature weights must be finite and not negative, and some above zero")

    def __getitem__(self, name: str) -> float:
        return self.by_name[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.by_name)

    def __len__(self) -> int:
        return len(self.by_name)

    def but(self, **changes: float) -> Weights:
        """Return these weights with some replaced. Raises `InvalidArgument` for a component that is none."""
        if unknown := sorted(changes.keys() - self.by_name.keys()):
            raise InvalidArgument(f"no component {unknown[0]!r} to weigh; choose from {', '.join(self.by_name)}")
        return Weights({**self.by_name, **{name: float(weight) for name, weight in changes.items()}})

    def shares(self) -> dict[str, float]:
        """Return the weights divided by their sum."""
        total = sum(self.by_name.values())
        return {name: weight / total for name, weight in self.by_name.items()}


def weighed(components: Mapping[str, Scores], weights: Mapping[str, float]) -> tuple[Scores, dict[str, Scores]]:
    """Return the sum of the components times their weights, and the addend of each; in the order of the weights."""
    addends = {name: weight * components[name] for name, weight in weights.items()}
    return np.sum(list(addends.values()), axis=0), addends
