"""Weights of `features` as JSON, for the settings of an index."""

from __future__ import annotations

import json
from collections.abc import Mapping

from rifflux.errors import InvalidArgument
from rifflux.retrieve.steps.rerank.features import WEIGHTS
from rifflux.retrieve.weigh import Weights

__all__ = ["dump_weights", "load_weights"]


def dump_weights(weights: Weights) -> str:
    """Return weights as a JSON object by component, summing to 1."""
    return json.dumps({name: round(share, 6) for name, share in weights.shares().items()}, sort_keys=True)


def load_weights(text: str) -> Mapping[str, float]:
    """Return the weights that `dump_weights` wrote. Raises `InvalidArgument` for what this version does not know."""
    try:
        weights = {str(name): float(weight) for name, weight in json.loads(text).items()}
        WEIGHTS.but(**weights)
    except (ValueError, TypeError, AttributeError, InvalidArgument) as error:
        raise InvalidArgument(
            f"the index was tuned to feature weights that cannot be used ({error}): remove them with "
            "'rifflux tune --reset'"
        ) from None
    return weights
