"""How far property tests look: at the same examples each time in `make test`, at ten times as many in `make fuzz`.

Those of `make fuzz` are random. `examples` gives a test another number of them than is usual, which grows alike.
"""

from __future__ import annotations

import os
from typing import Any

from hypothesis import settings

__all__ = ["PROFILE", "examples"]

USUAL, FUZZING = 100, 1000
settings.register_profile("test", derandomize=True, deadline=None, max_examples=USUAL)
settings.register_profile("fuzz", deadline=None, max_examples=FUZZING, print_blob=True)
#: The profile that is in force, by the environment.
PROFILE = os.environ.get("HYPOTHESIS_PROFILE", "test")
settings.load_profile(PROFILE)


def examples(count: int, **more: Any) -> settings:
    """Return settings for so many examples in `make test`."""
    return settings(max_examples=count * settings().max_examples // USUAL, **more)
