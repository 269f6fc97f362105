"""Profiles: what suits a kind of content, as values that assemble the pieces."""

from __future__ import annotations

from rifflux.errors import InvalidArgument
from rifflux.profiles.base import Profile
from rifflux.profiles.conversations import CONVERSATIONS
from rifflux.profiles.files import FILES
from rifflux.profiles.memories import MEMORIES
from rifflux.profiles.works import WORKS

__all__ = ["PROFILES", "Profile", "profile"]

PROFILES = {each.name: each for each in (FILES, CONVERSATIONS, MEMORIES, WORKS)}


def profile(name: str | Profile) -> Profile:
    """The profile of a name; a profile is returned as it is."""
    if isinstance(name, Profile):
        return name
    if name not in PROFILES:
        raise InvalidArgument(f"no profile {name!r}; choose one of {', '.join(PROFILES)}")
    return PROFILES[name]
