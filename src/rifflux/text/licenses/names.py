"""Licenses by name: SPDX's identifiers and names, what people call them, and addresses."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files

from rifflux.text.licenses.creative_commons import creative_commons
from rifflux.text.licenses.rules import Permission

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
#: What people call licenses besides the names that SPDX has.
_CALLED = {
    "MIT": ("mit", "the mit license", "mit/expat", "expat", "mit licence"),
    "Apache-2.0": ("apache 2", "apache 2.0", "apache2", "apache license, version 2.0", "apache license version 2.0",
                   "apache software license 2.0", "apache-2", "asl 2.0", "apache license 2"),
    "BSD-3-Clause": ("bsd", "bsd license", "new bsd", "new bsd license", "modified bsd license", "bsd 3-clause",
                     "bsd 3-clause license", "3-clause bsd", "bsd-3"),
    "BSD-2-Clause": ("bsd 2-clause", "bsd 2-clause license", "simplified bsd", "2-clause bsd", "bsd-2"),
    "GPL-2.0-only": ("gpl v2", "gplv2", "gpl-v2", "gpl 2", "gpl 2.0", "gnu gpl v2", "gnu gplv2", "gpl2"),
    "GPL-3.0-only": ("gpl v3", "gplv3", "gpl-v3", "gpl 3", "gpl 3.0", "gnu gpl v3", "gnu gplv3", "gpl3",
                     "gnu general public license v3.0", "gnu general public license v3"),
    "GPL-2.0-or-later": ("gplv2+", "gpl v2 or later"),
    "GPL-3.0-or-later": ("gplv3+", "gpl v3 or later"),
    "LGPL-2.1-only": ("lgpl v2.1", "lgplv2.1", "lgpl 2.1"),
    "LGPL-3.0-only": ("lgpl v3", "lgplv3", "lgpl 3.0", "lgpl 3"),
    "AGPL-3.0-only": ("agpl v3", "agplv3", "agpl 3.0", "agpl 3", "gnu agplv3"),
    "MPL-2.0": ("mpl 2", "mpl2", "mpl v2"),
    "GFDL-1.3-or-later": ("gfdl", "gnu fdl", "gnu free documentation license"),
    "ISC": ("isc",),
    "ODbL-1.0": ("odbl", "open database license"),
    "ODC-By-1.0": ("odc-by", "odc by"),
    "PDDL-1.0": ("pddl", "odc-pddl"),
    "OGL-UK-3.0": ("open government licence v3.0", "open government license v3.0", "ogl v3.0", "ogl v3"),
    "EUPL-1.2": ("eupl", "eupl 1.2"),
    "LPPL-1.3c": ("lppl", "lppl 1.3c"),
    "Unlicense": ("unlicense", "the unlicense"),
}  # fmt: skip
#: What stands at an address, whose last part is the license's identifier.
_AT = re.compile(
    r"https?://(?:www\.)?(?:spdx\.org/licenses|opensource\.org/licenses?)/(?P<id>[\w.+-]+?)(?:\.html|\.php)?/?"
)
_ADDRESSES = {
    "apache.org/licenses/license-2.0": "Apache-2.0",
    "gnu.org/licenses/gpl-3.0": "GPL-3.0-only",
    "gnu.org/licenses/gpl": "GPL-3.0-only",
    "gnu.org/licenses/old-licenses/gpl-2.0": "GPL-2.0-only",
    "gnu.org/licenses/lgpl-3.0": "LGPL-3.0-only",
    "gnu.org/licenses/agpl-3.0": "AGPL-3.0-only",
    "gnu.org/licenses/fdl-1.3": "GFDL-1.3-or-later",
    "gnu.org/copyleft/fdl": "GFDL-1.3-or-later",
    "mozilla.org/mpl/2.0": "MPL-2.0",
    "mozilla.org/en-us/mpl/2.0": "MPL-2.0",
    "opendatacommons.org/licenses/odbl/1-0": "ODbL-1.0",
    "opendatacommons.org/licenses/by/1-0": "ODC-By-1.0",
    "opendatacommons.org/licenses/pddl/1-0": "PDDL-1.0",
    "nationalarchives.gov.uk/doc/open-government-licence/version/3": "OGL-UK-3.0",
}
_PAGE = re.compile(r"https?://(?:www\.)?(?P<page>.+?)(?:\.en)?(?:\.html|\.txt)?/?")
_CLASSIFIER = re.compile(r"(?:license :: )?osi approved :: ")


def named(text: str) -> str | None:
    """Return the identifier of the one license that a text is, and nothing else; None if it is none that is known."""
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
        return _ADDRESSES.get(match["page"])
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
    for id, names in _CALLED.items():
        found |= dict.fromkeys(names, id)
    return found


@cache
def _exceptions() -> frozenset[str]:
    return frozenset(id.lower() for sort, id, _ in _table() if sort == "exception")


def _table() -> list[list[str]]:
    lines = files(__package__).joinpath("spdx.tsv").read_text("utf-8").splitlines()
    return [line.split("\t") for line in lines if not line.startswith("#")]
