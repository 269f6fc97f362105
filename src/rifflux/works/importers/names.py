"""The names of people as sources write them, normalized to `Given Family`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

_AND = re.compile(r"\s+and\s+|\s*;\s*")
#: Placeholders for people without a name.
_OTHERS = re.compile(r"\s*\b(?:and\s+)?(?:others|et\.?\s+al)\.?\s*\Z", re.IGNORECASE)
_INITIALS = re.compile(r"(?:[^\W\d_]{1,2}\.[\s-]*|[A-Z]\b[\s-]*)+")
_ORCID = re.compile(r"\d{4}-\d{4}-\d{4}-\d{3}[\dXx]")
_OPENALEX = re.compile(r"openalex\.org/(A\d+)")
_SUFFIX = re.compile(r"(?:jr|sr)\.?|I{2,3}|IV", re.IGNORECASE)
#: Prefixes that continue a name: `De Jong, Aise Johan` is one person.
_PARTICLE = re.compile(
    r"(?:van|von|vom|zu|de[nrs]?|del|della|di|da|dos|du|la|le|el|al|bin|ben|ter|ten|st\.?)\s", re.IGNORECASE
)


def people(value: object) -> tuple[str, ...]:
    """Return the names in a list of texts or objects, or in one text separated by `and` or semicolons."""
    if isinstance(value, str):
        value = _AND.split(value)
    if not isinstance(value, list | tuple):
        return ()
    return tuple(name for each in value if (name := person(each)))


def people_known(value: object) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the names in a list, and the identifiers of each person: the ORCID iD and the OpenAlex number."""
    if not isinstance(value, list | tuple):
        return people(value), ()
    found = [(name, _ids(each)) for each in value if (name := person(each))]
    ids = tuple(known for _, known in found)
    return tuple(name for name, _ in found), ids if any(ids) else ()


def _ids(value: object) -> str:
    given = value if isinstance(value, Mapping) else {}
    orcid = next(filter(None, (_ORCID.search(str(given.get(name) or "")) for name in ("ORCID", "orcid"))), None)
    number = _OPENALEX.search(str(given.get("id") or ""))
    found = (f"orcid:{orcid[0].upper()}" if orcid else "", f"openalex:{number[1]}" if number else "")
    return " ".join(filter(None, found))


def split_names(text: str) -> list[str]:
    """Split a text at commas between names, not inside them: `John Smith, Jane Doe`, but `Smith, John`."""
    return [name for each in _AND.split(text) for name in _names_of_parts([part.strip() for part in each.split(",")])]


def _names_of_parts(parts: list[str]) -> Iterator[str]:
    parts = [part for part in parts if part]
    if len(parts) == 2 and not all(_is_whole(part) for part in parts):
        yield ", ".join(parts)
    elif len(parts) > 2 and len(parts) % 2 == 0 and all(_INITIALS.fullmatch(each) for each in parts[1::2]):
        yield from (f"{family}, {given}" for family, given in zip(parts[::2], parts[1::2], strict=True))
    elif len(parts) == 3 and any(_SUFFIX.fullmatch(part) for part in parts):
        yield ", ".join(parts)
    else:
        yield from parts


def _is_whole(part: str) -> bool:
    """Return True if a part between commas is a complete name: a given name and a family name."""
    return len(part.split()) > 1 and not _INITIALS.fullmatch(part) and not _PARTICLE.match(part)


def person(value: object) -> str:
    """Return one name from `Family, Given`, `Given Family`, or an object with `name`, or `given` and `family`.

    Returns an empty string for placeholders such as `others`.
    """
    return _OTHERS.sub("", _name(value))


def _name(value: object) -> str:
    if isinstance(value, Mapping):
        if isinstance(value.get("literal") or value.get("name"), str):
            return _name(value.get("literal") or value["name"])
        names = ("given", "dropping-particle", "non-dropping-particle", "family", "suffix")
        return " ".join(str(value[name]) for name in names if value.get(name))
    if isinstance(value, list | tuple):  # arXiv's [family, given, suffix]
        family, *rest = [str(part) for part in value] or [""]
        return " ".join(part for part in [*rest[:1], family, *rest[1:2]] if part)
    if isinstance(value, str):
        return _spoken(" ".join(value.split()))
    return ""


def _spoken(name: str) -> str:
    """Return `Family, Given`, `Family, Jr., Given` or `Family, Given, Jr.` in spoken order."""
    family, *rest = [part.strip() for part in name.split(",")]
    suffix = next((part for part in rest if _SUFFIX.fullmatch(part)), "")
    given = [part for part in rest if part != suffix]
    return " ".join(part for part in [*given, family, suffix] if part)
