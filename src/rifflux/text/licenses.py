"""Licenses: their canonical names, and their permissions to display parts of works.

Unknown licenses permit nothing. A text is recognized only as a whole: an addition such as *for figures only* makes it a
different, unknown license. In an expression, every license must be known.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import IntEnum
from functools import cache, lru_cache
from typing import TypeAlias

from rifflux.errors import InvalidArgument
from rifflux.text.lexicon import FOLDER, phrase_lists

# Permissions of licenses, and an administrator's rules by license name


class Permission(IntEnum):
    """The parts of a work that users other than its owner may see, in addition to title and identifiers."""

    NOTHING = 0
    ABSTRACT = 1
    TEXT = 2


#: Permissions by lower-case license name; a trailing `*` matches any continuation of the name.
Rules: TypeAlias = Mapping[str, Permission]
NO_RULES: Rules = {}
#: Used in place of unreadable rules, some of which may have closed a license.
NO_LICENSE_OPENS: Rules = {"*": Permission.NOTHING}
#: The minimum number of characters before a `*`: shorter prefixes would open unintended licenses.
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
            raise InvalidArgument(f"{source}: {permission!r} is not a permission for {name!r}: {_CURE}")
        if not plain:
            raise InvalidArgument(f"{source}: {name!r} does not name a license: {_CURE}")
        if "*" in plain[:-1] or (plain[-1] == "*" and len(plain) <= LEAST_PREFIX):
            raise InvalidArgument(
                f"{source}: {name!r} is too general: put the * at the end, after at least {LEAST_PREFIX} characters"
            )
        rules[plain] = known
    return rules


def rules_in(text: str, source: str = "licenses") -> Rules:
    """Parse rules from JSON or from `NAME=text, OTHER=nothing`; empty text has none. Raises `InvalidArgument`."""
    given: object = text.strip()
    if str(given).startswith("{"):
        try:
            given = json.loads(text)
        except ValueError as error:
            raise InvalidArgument(f"{source} is not valid JSON ({error}): {_CURE}") from None
    else:
        pairs = [each.rpartition("=") for each in str(given).split(",") if each.strip()]
        given = {name.strip(): permission.strip() for name, _, permission in pairs}
    return checked_rules(given, source)


def spelled(rules: Rules) -> dict[str, str]:
    """Return rules in serializable form: each name with `text`, `abstract` or `nothing`."""
    return {name: permission.name.lower() for name, permission in sorted(rules.items())}


def ruled(name: str, rules: Rules) -> Permission | None:
    """Return the rules' permission for a license, by its name or the longest matching prefix; None without a match."""
    plain = _plain(name)
    if plain in rules:
        return rules[plain]
    fitting = [each for each in rules if each.endswith("*") and plain.startswith(each[:-1])]
    if fitting:
        return rules[max(fitting, key=len)]
    return None


def _plain(name: str) -> str:
    return " ".join(name.split()).casefold()


# Creative Commons licenses by code, URL and name: every version, port and language
#
# All of them allow verbatim copies of the whole or parts, with credit, so the text may be shown. That includes ND,
# because passages are quoted verbatim, and NC; operators who charge for an index close NC by a rule, `CC-BY-NC*`.
# See <https://creativecommons.org/share-your-work/cclicenses/>.


_VERSION = r"(?P<version>1\.0|2\.0|2\.1|2\.5|3\.0|4\.0)"
#: The jurisdictions with ported licenses.
_PORT = (
    r"(?P<port>am|ar|at|au|az|be|bg|br|ca|ch|cl|cn|co|cr|cz|de|dk|ec|ee|eg|es|fi|fr|ge|gr|gt|hk|hr|hu|ie|igo|il|in|it|jp"
    r"|kr|lu|mk|mt|mx|my|nl|no|nz|pe|ph|pl|pr|pt|ro|rs|scotland|se|sg|si|th|tw|ua|ug|uk|us|ve|vn|za)"
)
_PLACES = {
    "international": "", "unported": "", "generic": "", "int": "", "int.": "", "universal": "",
    "australia": "au", "austria": "at", "brazil": "br", "canada": "ca", "china": "cn", "france": "fr", "germany": "de",
    "igo": "igo", "india": "in", "ireland": "ie", "italy": "it", "japan": "jp", "netherlands": "nl",
    "new zealand": "nz", "poland": "pl", "portugal": "pt", "scotland": "scotland", "spain": "es", "switzerland": "ch",
    "uk": "uk", "united kingdom": "uk", "uk: england & wales": "uk", "united states": "us",
}  # fmt: skip
_PLACE = rf"(?P<place>{'|'.join(re.escape(each) for each in sorted(_PLACES, key=len, reverse=True))})"
_END = r"(?: public)?(?: licen[cs]e| deed)?"
_CODE = re.compile(
    r"(?:creative commons )?(?:cc[ -]?)?by(?P<terms>(?:[ -](?:nc|nd|sa))*)"
    rf"(?:[ -]v?{_VERSION}(?:[ -](?:{_PORT}|{_PLACE}))?)?{_END}"
)
_ADDRESS = re.compile(
    r"(?:https?://)?(?:www\.)?creativecommons\.org/licen[sc]es/by(?P<terms>(?:-(?:nc|nd|sa))*)"
    rf"(?:/{_VERSION}(?:/{_PORT})?)?(?:/(?:deed|legalcode)(?:\.[a-z]{{2}}(?:[-_][a-z]{{2,4}})?|\.txt)?|/rdf)?/?"
    r"(?:\?(?:ref=[\w-]+|lang=[\w-]+))?"
)
_TERM = r"non[ -]?commercial|no[ -]?deriv(?:ative)?s?(?: works)?|share[ -]?alike"
_NAME = re.compile(
    rf"(?P<owner>creative commons )?attribution(?P<terms>(?:[ -]*(?:{_TERM}))*)"
    rf"(?: licen[cs]e)?(?:,? (?:version |v)?{_VERSION}(?: {_PLACE})?)?{_END}"
)
_ZERO = re.compile(
    r"(?:https?://)?(?:www\.)?creativecommons\.org/publicdomain/zero/1\.0(?:/(?:deed|legalcode)(?:\.[a-z-]+)?)?/?(?:\?ref=[\w-]+)?"
    r"|(?:creative commons )?cc[ -]?(?:0|zero)(?:[ -]v?1\.0)?(?: universal)?(?: \(cc0 1\.0\))?"
    r"(?: public domain dedication)?(?: licen[cs]e)?"
    r"|creative commons zero(?: v?1\.0)?(?: universal)?(?: licen[cs]e)?"
)
_MARK = re.compile(
    r"(?:https?://)?(?:www\.)?creativecommons\.org/publicdomain/mark/1\.0(?:/deed(?:\.[a-z-]+)?)?/?"
    r"|(?:creative commons )?public domain mark(?: 1\.0)?(?: universal)?|(?:cc[ -])?pdm(?:[ -]1\.0)?"
)
_DEDICATED = re.compile(
    r"(?:https?://)?(?:www\.)?creativecommons\.org/licen[sc]es/publicdomain/?"
    r"|(?:in the )?public[ -]?domain(?: dedication)?|pd"
)
#: Public-domain marks and dedications, each with its SPDX identifier.
_FREE = ((_ZERO, "CC0-1.0"), (_MARK, "CC-PDM-1.0"), (_DEDICATED, "CC-PDDC"))


def creative_commons(text: str) -> str | None:
    """Return the identifier if the whole lower-case text names a Creative Commons license, or None."""
    for pattern, name in _FREE:
        if pattern.fullmatch(text):
            return name
    match = _ADDRESS.fullmatch(text) or _CODE.fullmatch(text) or _NAME.fullmatch(text)
    if not match or text.startswith(("by", "creative commons license")):
        return None
    parts = match.groupdict()
    if text.startswith("attribution") and not parts["version"]:  # an everyday word rather than the name of a license
        return None
    terms = {_term_code(each) for each in re.findall(rf"{_TERM}|nc|nd|sa", parts["terms"])}
    if {"ND", "SA"} <= terms:
        return None
    port = parts.get("port") or _PLACES.get(parts.get("place") or "", "")
    named = ["CC", "BY", *(each for each in ("NC", "ND", "SA") if each in terms), parts["version"], port.upper()]
    return "-".join(filter(None, named))


def _term_code(word: str) -> str:
    """Return the code of a license term that may be spelled out."""
    if len(word) == 2:
        return word.upper()
    if word.startswith("share"):
        return "SA"
    if word.startswith("non"):
        return "NC"
    return "ND"


# Licenses by SPDX identifier and name, informal names, and URLs


#: arXiv's own licenses, the first of which lets only arXiv show the text. Its metadata, including abstracts, is CC0
#: (<https://info.arxiv.org/help/api/tou.html>).
_ARXIV = re.compile(
    r"(?:https?://)?(?:www\.)?arxiv\.org/licenses/(nonexclusive-distrib/1\.0|assumed-1991-2003)/?(?:license\.html)?"
    r"|arxiv-(nonexclusive-distrib-1\.0|assumed-1991-2003)"
)
_ARXIV_NAMED = re.compile(
    r"arxiv(?:\.org)?(?: perpetual,?)? non-?exclusive(?: distrib(?:ution)?)?(?: licen[cs]e)?(?: to distribute)?"
    r"(?: 1\.0)?"
)
#: License URLs whose last part is the identifier.
_AT = re.compile(
    r"https?://(?:www\.)?(?:spdx\.org/licenses|opensource\.org/licenses?)/(?P<id>[\w.+-]+?)(?:\.html|\.php)?/?"
)
_PAGE = re.compile(r"https?://(?:www\.)?(?P<page>.+?)(?:\.en)?(?:\.html|\.txt)?/?")
_CLASSIFIER = re.compile(r"(?:license :: )?osi approved :: ")


def named(text: str) -> str | None:
    """Return the SPDX id if the whole text names exactly one known license."""
    plain = text.lower()
    if found := creative_commons(plain):
        return found
    if match := _ARXIV.fullmatch(plain):
        return f"arXiv-{(match[1] or match[2]).replace('/', '-')}"
    if _ARXIV_NAMED.fullmatch(plain):
        return "arXiv-nonexclusive-distrib-1.0"
    known = _licenses()
    plain = _CLASSIFIER.sub("", plain)
    if match := _AT.fullmatch(plain):
        return known.get(match["id"])
    if match := _PAGE.fullmatch(plain):
        return _pages().get(match["page"])
    return known.get(plain) or known.get(plain.replace(" ", "-"))


def built_in(name: str) -> Permission:
    """Return the default permission of a license, given its identifier from `named`."""
    if name.startswith("arXiv-"):
        return Permission.ABSTRACT
    return Permission.TEXT


def is_exception(name: str) -> bool:
    """Return True if an exception after `WITH` only adds permissions to a license."""
    return name.lower() in _exceptions()


@cache
def _licenses() -> Mapping[str, str]:
    """Return the identifiers of licenses by lower-case identifier and by all names."""
    found = {}
    for sort, id, name in _table():
        if sort == "license":
            for each in (name, id, f"{id}+"):
                found[each.lower()] = id
    for id, names in phrase_lists("license_names").items():
        found |= dict.fromkeys(names, id)
    return found


@cache
def _pages() -> Mapping[str, str]:
    """Return the identifiers of licenses by the URLs of their pages."""
    return {page: id for id, pages in phrase_lists("license_pages").items() for page in pages}


@cache
def _exceptions() -> frozenset[str]:
    return frozenset(id.lower() for sort, id, _ in _table() if sort == "exception")


def _table() -> list[list[str]]:
    lines = FOLDER.joinpath("spdx.tsv").read_text("utf-8").splitlines()
    return [line.split("\t") for line in lines if not line.startswith("#")]


# License statements of sources: names, expressions such as `MIT OR Apache-2.0`, and sentences around them


#: A longer text is the license itself or a contract, and is not parsed.
LONGEST = 400
#: Placeholders for an unknown license.
_NONE = frozenset(
    {"", "unknown", "none", "null", "n/a", "n/a.", "na", "unspecified", "not specified", "none known", "no license"}
    | {"-", "?", "unknown license", "not available", "false", "0"}
)
#: Variants of space and hyphen. No other non-ASCII character occurs in the name of a license.
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
    """A recognized license: its name and permission; not `single` if it is an expression."""

    name: str
    permission: Permission
    single: bool = True


def license_of(text: str | None) -> str | None:
    """Return the license of a source, as an SPDX expression if known or else verbatim; None if there is none."""
    plain = " ".join((text or "").translate(_SPELLINGS).split())
    if plain.lower() in _NONE:
        return None
    found = _read(plain, ())
    if found:
        return found.name
    return plain


def is_known(license: str, rules: Rules = NO_RULES) -> bool:
    """Return True if the rules or the table determine a license's permission, including nothing."""
    return _read(" ".join(license.translate(_SPELLINGS).split()), tuple(rules.items())) is not None


def permission_of(license: str | None, rules: Rules = NO_RULES) -> Permission:
    """Return the permission of a license, by the rules first; nothing if it is unknown."""
    plain = " ".join((license or "").translate(_SPELLINGS).split())
    if plain.lower() in _NONE:
        return Permission.NOTHING
    found = _read(plain, tuple(rules.items()))
    if found:
        return found.permission
    return Permission.NOTHING


def joined(licenses: Iterable[str | None]) -> str | None:
    """Return the license of a work under several at once; an unknown one stays verbatim and closes the work."""
    return " AND ".join(sorted({_operand(each) for each in licenses if each})) or None


def _operand(license: str) -> str:
    found = _read(license, ())
    if not found:  # its brackets must not pair with those around other operands
        return license.translate(str.maketrans("()", "[]"))
    if " OR " in found.name:
        return f"({found.name})"
    return found.name


@lru_cache(maxsize=4096)
def _read(text: str, rules: tuple[tuple[str, Permission], ...]) -> _Read | None:
    """Return the license named by the whole text, or None if it is unknown."""
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
    """Return a single license: by rule, by name, or with an exception that adds permissions."""
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
    """Parse a license named twice: `Creative Commons Attribution 4.0 (CC BY 4.0)`, `CC BY http://…`."""
    match = _LAST.fullmatch(text)
    if not match:
        return None
    one = _one(match["first"], rules)
    other = _one(match["inner"] or match["address"], rules)
    if one is None or other is None:
        return None
    if other.name.startswith(one.name):
        return other
    if one.name.startswith(other.name):
        return one
    return _all([one, other])


def _several(text: str, rules: Rules) -> _Read | None:
    """Parse a list of licenses, all of which apply."""
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
    """Parse an expression with AND, OR and brackets; None if it is not one or contains an unknown license."""
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
    """Parse licenses joined by OR, of which the user may choose one; also return the token after them."""
    found, token = _both(rest, token, rules)
    while token.lower() == "or":
        other, token = _both(rest, next(rest), rules)
        found = _Read(f"{found.name} OR {other.name}", max(found.permission, other.permission), single=False)
    return found, token


def _both(rest: Iterator[str], token: str, rules: Rules) -> tuple[_Read, str]:
    """Parse licenses joined by AND, all of which apply; also return the token after them."""
    found, token = _term(rest, token, rules)
    while token.lower() == "and":
        other, token = _term(rest, next(rest), rules)
        found = _all([found, other])
    return found, token


def _term(rest: Iterator[str], token: str, rules: Rules) -> tuple[_Read, str]:
    """Parse a license or a bracketed expression; also return the token after it. Raises `ValueError`."""
    if token == "(":
        found, end = _either(rest, next(rest), rules)
        if end != ")":
            raise ValueError("a bracket is not closed")
    else:
        found_one = _one(token, rules)
        if found_one is None:
            raise ValueError(f"{token!r} is not a known license")
        found = found_one
    return found, next(rest, "")
