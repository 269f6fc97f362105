"""What a license permits, and the rules by which an administrator says so of licenses by name."""

from __future__ import annotations

import json
from collections.abc import Mapping
from enum import IntEnum
from typing import TypeAlias

from rifflux.errors import InvalidArgument


class Permission(IntEnum):
    """The parts of a work that users other than its owner may see, in addition to title and identifiers."""

    NOTHING = 0
    ABSTRACT = 1
    TEXT = 2


#: What licenses permit, by their names in small letters; a name that ends in `*` is how names begin.
Rules: TypeAlias = Mapping[str, Permission]
NO_RULES: Rules = {}
#: What holds instead of rules that cannot be read: some of them may have closed a license.
NO_LICENSE_OPENS: Rules = {"*": Permission.NOTHING}
#: The fewest characters before a `*`: shorter beginnings would open licenses that nobody thought of.
LEAST_PREFIX = 4
_PERMISSIONS = {each.name.lower(): each for each in Permission}
_CURE = "write a license and text, abstract or nothing, such as 'publisher-specific-oa' = 'text'"


def checked_rules(given: object, source: str = "licenses") -> Rules:
    """Return the rules in a mapping of names to `text`, `abstract` or `nothing`. Raises `InvalidArgument`."""
    if not isinstance(given, Mapping):
        raise InvalidArgument(f"{source} must be a table, not {given!r}: {_CURE}")
    rules = {}
    for name, permission in given.items():
        known = _PERMISSIONS.get(str(permission).strip().lower())
        if isinstance(name, str):
            plain = _plain(name)
        else:
            plain = ""
        if known is None:
            raise InvalidArgument(f"{source}: {name!r} cannot let {permission!r} be shown: {_CURE}")
        if not plain:
            raise InvalidArgument(f"{source}: {name!r} names no license: {_CURE}")
        if "*" in plain[:-1] or (plain[-1] == "*" and len(plain) <= LEAST_PREFIX):
            raise InvalidArgument(
                f"{source}: {name!r} says too little: a * stands at the end, behind {LEAST_PREFIX} characters or more"
            )
        rules[plain] = known
    return rules


def rules_in(text: str, source: str = "licenses") -> Rules:
    """Return the rules that a text spells: JSON, or `NAME=text, OTHER=nothing`; none of an empty one."""
    given: object = text.strip()
    if str(given).startswith("{"):
        try:
            given = json.loads(text)
        except ValueError as error:
            raise InvalidArgument(f"{source} is no JSON ({error}): {_CURE}") from None
    else:
        pairs = [each.rpartition("=") for each in str(given).split(",") if each.strip()]
        given = {name.strip(): permission.strip() for name, _, permission in pairs}
    return checked_rules(given, source)


def spelled(rules: Rules) -> dict[str, str]:
    """Return rules as they are written: each name with `text`, `abstract` or `nothing`."""
    return {name: permission.name.lower() for name, permission in sorted(rules.items())}


def ruled(name: str, rules: Rules) -> Permission | None:
    """Return what the rules say of a license, the longest beginning that fits first; None if they say nothing."""
    plain = _plain(name)
    if plain in rules:
        return rules[plain]
    fitting = [each for each in rules if each.endswith("*") and plain.startswith(each[:-1])]
    if fitting:
        return rules[max(fitting, key=len)]
    return None


def _plain(name: str) -> str:
    return " ".join(name.split()).casefold()
