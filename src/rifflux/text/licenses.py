"""Licenses: one spelling of each, and what it permits to show. A license that is not known permits nothing.

A text is known only as a whole: what is added to a license, such as *for figures only*, makes it another one, which
nobody knows. In an expression every license must be known.
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

# What a license permits, and the rules by which an administrator decides about licenses by name


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


# Creative Commons' licenses by code, address and name: every version, port and language
#
# All of them let everybody copy the whole or parts, word for word, with credit. So the text may be shown, also without
# derivatives (ND), for a passage is quoted as it stands, and for no commercial purpose (NC): who serves an index for
# money closes these by a rule, `CC-BY-NC*`. See <https://creativecommons.org/share-your-work/cclicenses/>.


_VERSION = r"(?P<version>1\.0|2\.0|2\.1|2\.5|3\.0|4\.0)"
#: The jurisdictions that have ports.
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
#: The marks and dedications, each with its SPDX identifier.
_FREE = ((_ZERO, "CC0-1.0"), (_MARK, "CC-PDM-1.0"), (_DEDICATED, "CC-PDDC"))


def creative_commons(text: str) -> str | None:
    """Return the identifier of the license that a text in small letters is and nothing else; None if it is none."""
    for pattern, name in _FREE:
        if pattern.fullmatch(text):
            return name
    match = _ADDRESS.fullmatch(text) or _CODE.fullmatch(text) or _NAME.fullmatch(text)
    if not match or text.startswith(("by", "creative commons license")):
        return None
    parts = match.groupdict()
    if text.startswith("attribution") and not parts["version"]:  # a word of everyday, not the name of a license
        return None
    terms = {_term_code(each) for each in re.findall(rf"{_TERM}|nc|nd|sa", parts["terms"])}
    if {"ND", "SA"} <= terms:
        return None
    port = parts.get("port") or _PLACES.get(parts.get("place") or "", "")
    named = ["CC", "BY", *(each for each in ("NC", "ND", "SA") if each in terms), parts["version"], port.upper()]
    return "-".join(filter(None, named))


def _term_code(word: str) -> str:
    """Return the code of a term that is spelled out."""
    if len(word) == 2:
        return word.upper()
    if word.startswith("share"):
        return "SA"
    if word.startswith("non"):
        return "NC"
    return "ND"


# Licenses by name: SPDX's identifiers and names, what people call them, and addresses


#: Of arXiv's own licenses, the first lets arXiv alone show the text. Its metadata, abstracts among them, is CC0
#: (<https://info.arxiv.org/help/api/tou.html>).
_ARXIV = re.compile(
    r"(?:https?://)?(?:www\.)?arxiv\.org/licenses/(nonexclusive-distrib/1\.0|assumed-1991-2003)/?(?:license\.html)?"
    r"|arxiv-(nonexclusive-distrib-1\.0|assumed-1991-2003)"
)
_ARXIV_NAMED = re.compile(
    r"arxiv(?:\.org)?(?: perpetual,?)? non-?exclusive(?: distrib(?:ution)?)?(?: licen[cs]e)?(?: to distribute)?"
    r"(?: 1\.0)?"
)
#: What stands at an address, whose last part is the license's identifier.
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
    """Return what a license permits that has an identifier of `named`."""
    if name.startswith("arXiv-"):
        return Permission.ABSTRACT
    return Permission.TEXT


def is_exception(name: str) -> bool:
    """Return True if a license `WITH` this allows more than without."""
    return name.lower() in _exceptions()


@cache
def _licenses() -> Mapping[str, str]:
    """Return the identifiers of licenses by these and by all names, in small letters."""
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
    """Return the identifiers of licenses by the pages that state them."""
    return {page: id for id, pages in phrase_lists("license_pages").items() for page in pages}


@cache
def _exceptions() -> frozenset[str]:
    return frozenset(id.lower() for sort, id, _ in _table() if sort == "exception")


def _table() -> list[list[str]]:
    lines = FOLDER.joinpath("spdx.tsv").read_text("utf-8").splitlines()
    return [line.split("\t") for line in lines if not line.startswith("#")]


# What sources write of a license: names, expressions such as `MIT OR Apache-2.0`, sentences around them


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
