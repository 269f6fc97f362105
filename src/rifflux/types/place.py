"""Where a document is, when several owners are read as one: its namespace then names its owner, too."""

from __future__ import annotations

__all__ = ["of_owner", "parted"]

#: Stands between a namespace and its owner; no name of either holds it.
_OWNED = "\x1e"


def of_owner(namespace: str, owner: str | None) -> str:
    """Return a namespace as a view of several owners names it; without an owner, as everybody's own view does."""
    return namespace if owner is None else f"{namespace}{_OWNED}{owner}"


def parted(namespace: str) -> tuple[str, str | None]:
    """Return a namespace and its owner, as far as the name says whose it is."""
    name, owned, owner = namespace.partition(_OWNED)
    return name, owner if owned else None
