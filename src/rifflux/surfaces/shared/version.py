"""What a surface says of its own version."""

from __future__ import annotations

from rifflux import __version__

__all__ = ["API_VERSION", "version_json"]

#: Grows when a key of an answer goes or changes its meaning, not when one is added.
API_VERSION = 2


def version_json() -> dict[str, str | int]:
    """Return the version of the package, and of the keys that it answers in."""
    return {"version": __version__, "api_version": API_VERSION}
