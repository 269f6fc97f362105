"""Fusions as JSON, for the settings of an index."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any, cast

from rifflux.errors import InvalidArgument
from rifflux.retrieve.fuse import FUSIONS, Fuse

__all__ = ["dump_fusion", "load_fusion"]


def dump_fusion(fusion: Fuse) -> str:
    """Return a fusion as a JSON object: its name and its knobs."""
    return json.dumps(asdict(cast(Any, fusion)), sort_keys=True)


def load_fusion(text: str) -> Fuse:
    """Return the fusion that `dump_fusion` wrote. Raises `InvalidArgument` for one that this version does not know."""
    try:
        knobs = json.loads(text)
        return FUSIONS[knobs["name"]](**knobs)
    except (ValueError, TypeError, KeyError) as error:
        raise InvalidArgument(
            f"the index was tuned to a fusion that cannot be used ({error}): remove it with 'rifflux tune --reset'"
        ) from None
