"""Compare what is claimed with what the same question gives when it is asked again."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

#: Numbers are equal that differ by less than this share of the greater: vectors have seven digits, and processors add
#: in different orders. Ranks, keys and spans have no such leeway.
PRECISION = 1e-6
_MISSING = object()


def differences(claimed: object, again: object, where: str = "it") -> Iterator[str]:
    """Yield the places in which a JSON value that is claimed differs from that which was found again."""
    if isinstance(claimed, Mapping) and isinstance(again, Mapping):
        for name in (*again, *(name for name in claimed if name not in again)):
            if where == "it":
                inside = name
            else:
                inside = f"{where}.{name}"
            yield from differences(claimed.get(name, _MISSING), again.get(name, _MISSING), inside)
    elif _is_list(claimed) and _is_list(again):
        yield from _unlike(claimed, again, where)  # type: ignore[arg-type]
    elif not _same(claimed, again):
        yield f"{where}: {_quoted(claimed)} is claimed, asked again it is {_quoted(again)}"


def _unlike(claimed: Sequence[object], again: Sequence[object], where: str) -> Iterator[str]:
    if len(claimed) != len(again):
        yield f"{where}: {len(claimed)} are claimed, asked again there are {len(again)}"
    for place, (one, other) in enumerate(zip(claimed, again, strict=False), 1):
        yield from differences(one, other, f"{where}[{place}]")


def _is_list(value: object) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str)


def _same(one: object, other: object) -> bool:
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, int | float) and isinstance(other, int | float):
        return math.isclose(one, other, rel_tol=PRECISION, abs_tol=1e-12)
    return one == other


def _quoted(value: object) -> str:
    if value is _MISSING:
        return "nothing"
    return repr(value)[:60]
