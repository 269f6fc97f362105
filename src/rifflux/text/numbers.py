"""English formatting of numbers."""

from __future__ import annotations

_ENDINGS = {1: "st", 2: "nd", 3: "rd"}


def ordinal(number: int) -> str:
    """Return the English ordinal of a number: `1st`, `22nd`, `113th`, `5,000th`."""
    if number // 10 % 10 == 1:
        ending = "th"
    else:
        ending = _ENDINGS.get(number % 10, "th")
    return f"{number:,}{ending}"
