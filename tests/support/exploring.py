"""How far property tests look: at the same examples each time in `make test`, at ten times as many in `make fuzz`.

Those of `make fuzz` are random. `examples` gives a test another number of them than is usual, which grows alike.
"""

from __future__ import annotations

import os
from collections.abc import Collection
from typing import Any

from hypothesis import HealthCheck, settings

__all__ = ["PROFILE", "examples"]

USUAL, FUZZING = 100, 1000
#: How long an example takes depends on what else the machine does.
PATIENT = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("test", PATIENT, derandomize=True, max_examples=USUAL)
settings.register_profile("fuzz", PATIENT, max_examples=FUZZING, print_blob=True)
#: The profile that is in force, by the environment.
PROFILE = os.environ.get("HYPOTHESIS_PROFILE", "test")
settings.load_profile(PROFILE)


def examples(count: int = USUAL, *, suppress_health_check: Collection[HealthCheck] = (), **more: Any) -> settings:
    """Return settings for so many examples in `make test`."""
    return settings(
        max_examples=count * settings().max_examples // USUAL,
        suppress_health_check=[*suppress_health_check, *PATIENT.suppress_health_check],
        **more,
    )
