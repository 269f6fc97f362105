"""Profiles: what suits a kind of content, as values that assemble the pieces."""

from __future__ import annotations

from importlib import import_module

from rifflux.errors import InvalidArgument
from rifflux.session.profile import Profile

__all__ = ["PROFILES", "Profile", "profile"]

#: Where the profile of each name is, as module:value.
PROFILES = {
    "files": "rifflux.session.files:FILES",
    "conversations": "rifflux.conversations.profile:CONVERSATIONS",
    "memories": "rifflux.memories.profile:MEMORIES",
    "works": "rifflux.works.profile:WORKS",
}


def profile(name: str | Profile) -> Profile:
    """The profile of a name; a profile is returned as it is."""
    if isinstance(name, Profile):
        return name
    if name not in PROFILES:
        raise InvalidArgument(f"no profile {name!r}; choose one of {', '.join(PROFILES)}")
    module, _, value = PROFILES[name].partition(":")
    found: Profile = getattr(import_module(module), value)
    return found
