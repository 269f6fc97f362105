"""What sources write of a license: names, expressions such as `MIT OR Apache-2.0`, sentences around them.

A text is known only as a whole: what is added to a license, such as *for figures only*, makes it another one, which
nobody knows. In an expression every license must be known.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache

from rifflux.text.licenses.names import built_in, is_exception, named
from rifflux.text.licenses.rules import NO_RULES, Permission, Rules, ruled

#: A longer text is the license itself or a contract, and not read.
LONGEST = 400
#: What sources write where they know of none.
_NONE = frozenset(
    {"", "unknown", "none", "null", "n/a", "n/a.", "na", "unspecified", "not specified", "none known", "no license"}
    | {"-", "?", "unknown license", "not available", "false", "0"}
)
#: Other forms of a space and of a hyphen. No other character outside of ASCII is one of a license's name.
_SPELLINGS = str.maketrans({"\u00a0": " ", "\u2010": "-", "\u2011": "-", "\u2012": "-", "\u2013": "-"})
_FRAME = re.compile(
    r"(?:this (?:article|book|chapter|document|paper|preprint|work) is |this is an open access article )?"
    r"(?:distributed|licen[cs]ed|made available|published|released)? ?"
    r"under (?:the terms of )?(?:the |an? )?(?P<license>.+)",
    re.IGNORECASE,
)
_LAST = re.compile(r"(?P<first>.+?)[,:;]? ?(?:\((?P<inner>[^()]+)\)|(?P<address>https?://\S+?))\.?")
_OPERATOR = re.compile(r"\s+(and|or)\s+|([()])", re.IGNORECASE)
_WITH = re.compile(r"(?P<license>.+) with (?P<exception>\S+)", re.IGNORECASE)
_SEPARATOR = re.compile(r"\s*[;,|]\s*|(?<=\w)/(?=\w)")


@dataclass(frozen=True, slots=True)
class _Read:
    """A license that was read: its spelling, and what it permits; not `single` if it is an expression."""

    name: str
    permission: Permission
    single: bool = True


def license_of(text: str | None) -> str | None:
    """Return the license of a source, as an SPDX expression if it is known, else as it stands; None for none."""
    plain = " ".join((text or "").translate(_SPELLINGS).split())
    if plain.lower() in _NONE:
        return None
    found = _read(plain, ())
    if found:
        return found.name
    return plain


def is_known(license: str, rules: Rules = NO_RULES) -> bool:
    """Return True if the rules or the table say what a license permits, be it nothing."""
    return _read(" ".join(license.translate(_SPELLINGS).split()), tuple(rules.items())) is not None


def permission_of(license: str | None, rules: Rules = NO_RULES) -> Permission:
    """Return what a license permits, by the rules first; nothing if it is not known."""
    plain = " ".join((license or "").translate(_SPELLINGS).split())
    if plain.lower() in _NONE:
        return Permission.NOTHING
    found = _read(plain, tuple(rules.items()))
    if found:
        return found.permission
    return Permission.NOTHING


def joined(licenses: Iterable[str | None]) -> str | None:
    """Return the license of what is under several at once; what is not known stays so, and closes all."""
    return " AND ".join(sorted({_operand(each) for each in licenses if each})) or None


def _operand(license: str) -> str:
    found = _read(license, ())
    if not found:  # its brackets must not pair with those of others
        return license.translate(str.maketrans("()", "[]"))
    if " OR " in found.name:
        return f"({found.name})"
    return found.name


@lru_cache(maxsize=4096)
def _read(text: str, rules: tuple[tuple[str, Permission], ...]) -> _Read | None:
    """Return the license that a text is as a whole, None if it is none that is known."""
    known = dict(rules)
    if (permission := ruled(text, known)) is not None:
        return _Read(named(text) or text, permission)
    if len(text) > LONGEST or not text.isascii():
        return None
    found = _one(text, known) or _pair(text, known) or _expression(text, known) or _several(text, known)
    if found is None and (match := _FRAME.fullmatch(text)):
        return _read(match["license"].removesuffix("."), rules)
    return found


def _one(text: str, rules: Rules) -> _Read | None:
    """Return a single license; by the rules, by its name, with an exception that allows more."""
    permission = ruled(text, rules)
    if permission is not None:
        return _Read(named(text) or text, permission)
    if name := named(text) or named(re.sub(r" licen[cs]e\.?$|\.$", "", text, flags=re.IGNORECASE)):
        permission = ruled(name, rules)
        return _Read(name, built_in(name) if permission is None else permission)
    match = _WITH.fullmatch(text)
    if match and is_exception(match["exception"]) and (found := _one(match["license"], rules)):
        return _Read(f"{found.name} WITH {match['exception']}", found.permission)
    return None


def _pair(text: str, rules: Rules) -> _Read | None:
    """Read a license named twice: `Creative Commons Attribution 4.0 (CC BY 4.0)`, `CC BY http://…`."""
    match = _LAST.fullmatch(text)
    if not match:
        return None
    told = [_one(each, rules) for each in (match["first"], match["inner"] or match["address"])]
    one, other = told
    if one is None or other is None:
        return None
    if other.name.startswith(one.name):
        return other
    if one.name.startswith(other.name):
        return one
    return _all([one, other])


def _several(text: str, rules: Rules) -> _Read | None:
    """Return licenses that a list names, all of which hold."""
    parts = [each for each in _SEPARATOR.split(text) if each]
    found = [_one(each, rules) for each in parts]
    known = [each for each in found if each]
    if len(parts) > 1 and len(known) == len(parts):
        return _all(known)
    return None


def _all(found: list[_Read]) -> _Read:
    names = " AND ".join(f"({each.name})" if " OR " in each.name else each.name for each in found)
    return _Read(names, min(each.permission for each in found), single=False)


def _expression(text: str, rules: Rules) -> _Read | None:
    """Return the license of an expression with AND, OR and brackets, None if it is none or not all is known."""
    tokens = [each.strip() for each in _OPERATOR.split(text) if each and each.strip()]
    if len(tokens) < 2:
        return None
    try:
        rest = iter([*tokens, ""])
        found, end = _either(rest, next(rest), rules)
    except (ValueError, RecursionError):
        return None
    if end == "":
        return found
    return None


def _either(rest: Iterator[str], token: str, rules: Rules) -> tuple[_Read, str]:
    """Read licenses with OR between them, of which one may choose; return the token behind them."""
    found, token = _both(rest, token, rules)
    while token.lower() == "or":
        other, token = _both(rest, next(rest), rules)
        found = _Read(f"{found.name} OR {other.name}", max(found.permission, other.permission), single=False)
    return found, token


def _both(rest: Iterator[str], token: str, rules: Rules) -> tuple[_Read, str]:
    """Read licenses with AND between them, all of which hold; return the token behind them."""
    found, token = _term(rest, token, rules)
    while token.lower() == "and":
        other, token = _term(rest, next(rest), rules)
        found = _all([found, other])
    return found, token


def _term(rest: Iterator[str], token: str, rules: Rules) -> tuple[_Read, str]:
    """Read a license, or an expression in brackets; return the token behind it. Raises `ValueError` if it is none."""
    if token == "(":
        found, end = _either(rest, next(rest), rules)
        if end != ")":
            raise ValueError("a bracket is not closed")
    else:
        found_one = _one(token, rules)
        if found_one is None:
            raise ValueError(f"{token!r} is no license that is known")
        found = found_one
    return found, next(rest, "")
