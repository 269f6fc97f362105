"""Where a document is, when several owners are read as one: its collection then names its owner, too."""

from __future__ import annotations

__all__ = ["of_owner", "parted"]

#: Stands between a collection and its owner; no name of either holds it.
_OWNED = "\x1e"


def of_owner(collection: str, owner: str | None) -> str:
    """Return a collection as a view of several owners names it; without an owner, as everybody's own view does."""
    return collection if owner is None else f"{collection}{_OWNED}{owner}"


def parted(collection: str) -> tuple[str, str | None]:
    """Return a collection and its owner, as far as the name says whose it is."""
    name, owned, owner = collection.partition(_OWNED)
    return name, owner if owned else None
