"""Creative Commons' licenses by code, address and name: every version, port and language.

All of them let everybody copy the whole or parts, word for word, with credit. So the text may be shown, also without
derivatives (ND), for a passage is quoted as it stands, and for no commercial purpose (NC): who serves an index for
money closes these by a rule, `CC-BY-NC*`. See <https://creativecommons.org/share-your-work/cclicenses/>.
"""

from __future__ import annotations

import re

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
    told = match.groupdict()
    if text.startswith("attribution") and not told["version"]:  # a word of everyday, not the name of a license
        return None
    terms = {_term(each) for each in re.findall(rf"{_TERM}|nc|nd|sa", told["terms"])}
    if {"ND", "SA"} <= terms:
        return None
    port = told.get("port") or _PLACES.get(told.get("place") or "", "")
    named = ["CC", "BY", *(each for each in ("NC", "ND", "SA") if each in terms), told["version"], port.upper()]
    return "-".join(filter(None, named))


def _term(word: str) -> str:
    """Return the code of a term that is spelled out."""
    if len(word) == 2:
        return word.upper()
    if word.startswith("share"):
        return "SA"
    if word.startswith("non"):
        return "NC"
    return "ND"
