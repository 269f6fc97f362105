"""The packages that an exported server needs, at the versions installed here."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from importlib.metadata import PackageNotFoundError, distribution

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from rifflux import MissingExtra
from rifflux.surfaces.export.wheel import OURS


def needed(requirements: Collection[str], extras: Collection[str]) -> dict[str, str]:
    """Return the packages that Rifflux requires with some extras, transitively, each with its version.

    Raises `MissingExtra` if one of them is not installed.
    """
    found: dict[str, str] = {}
    seen: set[tuple[str, str]] = set()
    waiting = [*_applicable(requirements, extras)]
    while waiting:
        requirement = waiting.pop()
        name = canonicalize_name(requirement.name)
        if name == OURS or (name, str(requirement.extras)) in seen:
            continue
        seen.add((name, str(requirement.extras)))
        try:
            installed = distribution(name)
        except PackageNotFoundError:
            raise MissingExtra(
                f"an exported server needs {name}, which is not installed here: "
                f"pip install '{OURS}[{','.join(sorted(extras))}]'"
            ) from None
        found[name] = installed.version
        waiting += _applicable(installed.requires or (), requirement.extras)
    return dict(sorted(found.items()))


def _applicable(requirements: Iterable[str], extras: Collection[str]) -> Iterator[Requirement]:
    """Yield the requirements that apply on this machine, with some extras."""
    for requirement in (Requirement(requirement) for requirement in requirements):
        marker = requirement.marker
        if marker is None or any(marker.evaluate({"extra": extra}) for extra in ("", *extras)):
            yield requirement
