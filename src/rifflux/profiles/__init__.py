"""Profiles: what suits a kind of content, as values that assemble the pieces."""

from __future__ import annotations

from rifflux.errors import InvalidArgument
from rifflux.profiles.base import Profile
from rifflux.profiles.files import FILES

__all__ = ["PROFILES", "Profile", "profile"]

PROFILES = {FILES.name: FILES}


def profile(name: str | Profile) -> Profile:
    """The profile of a name; a profile is returned as it is."""
    if isinstance(name, Profile):
        return name
    if name not in PROFILES:
        raise InvalidArgument(f"no profile {name!r}; choose one of {', '.join(PROFILES)}")
    return PROFILES[name]
