"""Schemes of identifiers and subject tags of works, and the normalization of their values.

Identifiers of unlisted schemes are stored unchanged, since sources have names of their own. Tags of unlisted schemes
are rejected, because a misspelt scheme would hide them from every filter.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from operator import mul
from urllib.parse import unquote

from rifflux.errors import InvalidArgument
from rifflux.text.names import TITLE
from rifflux.types import Identifier, Tag

#: Schemes whose identifiers denote the same work everywhere, the most telling first. ISBN is not one: chapters of a
#: book share it.
STRONG = ("arxiv", "doi", "openalex", "mr", "zbl", "pmid")

_DOI = re.compile(r"(?:(?:https?://)?(?:(?:dx|www)\.)?doi\.org/|doi(?::\s*|\s+))?(10\.\d{4,9}/\S+)", re.IGNORECASE)
_ARXIV_SITE = r"(?:https?://)?(?:\w+\.)?arxiv\.org/(?:abs|pdf|html|ps|format|e-print)/"
_ARXIV_NUMBER = r"(\d{4}\.\d{4,5}|[a-z][a-z-]*(?:\.[a-z]{2})?/\d{7})(?:v\d+)?"
_ARXIV = re.compile(
    rf"(?:{_ARXIV_SITE}|arxiv(?::\s*|\s+))?{_ARXIV_NUMBER}(?:\.pdf)?/?(?:[?#]\S*)?(?:\s*\[[\w.-]+\])?", re.IGNORECASE
)
#: An arXiv number within a text, and the preceding words that show that it is another work's.
_MENTIONED = re.compile(rf"(?<!\w)(?:{_ARXIV_SITE}|arxiv:\s*|abs/){_ARXIV_NUMBER}(?![\w.]*\d)", re.IGNORECASE)
_ANOTHERS = re.compile(
    r"\b(?:to|see|also|by|of|from|with|and|cf|for|extends|replaces|supersedes|(?<!available )(?<!preprint )on)\W*\Z",
    re.IGNORECASE,
)
_OPENALEX = re.compile(r"(?:(?:https?://)?(?:api\.)?openalex\.org/(?:works/)?|openalex:\s*)?(W\d+)", re.IGNORECASE)
#: A shorter number alone may be something else: a source's own key, or a name in a program.
_SHORT_OPENALEX = re.compile(r"W\d{1,3}", re.IGNORECASE)
#: The prefix of DOIs assigned by arXiv, which are another form of the arXiv identifier.
_ARXIV_DOI = "10.48550/arxiv."
_NAMED = re.compile(r"([A-Za-z][\w.-]*):\s*(\S.*)", re.DOTALL)


def _doi(text: str) -> str | None:
    match = _DOI.fullmatch(unquote(text))
    if match:
        return _unstopped(match[1]).lower()
    return None


def _unstopped(doi: str) -> str:
    """Remove the punctuation after a DOI; a closing bracket stays if the DOI opens it."""
    doi = doi.rstrip(".,;")
    while doi.endswith(")") and doi.count(")") > doi.count("("):
        doi = doi[:-1].rstrip(".,;")
    return doi


def _arxiv(text: str) -> str | None:
    if (doi := _doi(text)) and doi.startswith(_ARXIV_DOI):
        text = doi.removeprefix(_ARXIV_DOI)
    match = _ARXIV.fullmatch(text)
    # math.AG/0601001 and math/0601001 are one paper: the subject class is not part of the identifier.
    if match:
        return re.sub(r"\.[a-z]{2}/", "/", match[1].lower())
    return None


def _openalex(text: str) -> str | None:
    match = _OPENALEX.fullmatch(text)
    if match:
        return match[1].upper()
    return None


def _digits(text: str) -> str | None:
    """Return the first number without leading zeros in `MR0463157 (57 #3116)` or the URL of a record."""
    match = re.search(r"\d+", text)
    if match:
        return match[0].lstrip("0") or None
    return None


def _isbn(text: str) -> str | None:
    digits = re.sub(r"[\s-]|^isbn:?", "", text, flags=re.IGNORECASE).upper()
    if re.fullmatch(r"\d{9}[\dX]|\d{13}", digits):
        return digits
    return None


def _bare_isbn(text: str) -> bool:
    """Return True for a number that must be an ISBN: its check digit is valid."""
    digits = _isbn(text) or ""
    if len(digits) == 13:
        weighed = sum(int(digit) * (1 + 2 * (place % 2)) for place, digit in enumerate(digits))
        return digits.startswith(("978", "979")) and weighed % 10 == 0
    values = [10 if digit == "X" else int(digit) for digit in digits]
    return "-" in text and bool(values) and sum(map(mul, range(10, 0, -1), values)) % 11 == 0


def _zbl(text: str) -> str | None:
    match = re.search(r"(\d{4}\.\d{5}|\d{8})", text)
    if match:
        return match[1]
    return None


#: Normalizers of identifiers by scheme; they return None for invalid text.
_NORMAL: Mapping[str, Callable[[str], str | None]] = {
    "arxiv": _arxiv,
    "doi": _doi,
    "openalex": _openalex,
    "mr": _digits,
    "pmid": _digits,
    "zbl": _zbl,
    "isbn": _isbn,
}
_GUESSED = ("arxiv", "doi", "openalex")
#: The reserved schemes, which no source may use as its name.
SCHEMES = frozenset({*_NORMAL, TITLE})


def identify(scheme: str, text: str) -> Identifier:
    """Normalize an identifier of a scheme. Raises `InvalidArgument` if it is invalid."""
    scheme = scheme.strip().lower()
    text = text.strip()
    normal = _NORMAL.get(scheme)
    value = normal(text) if normal else text
    if not value or not re.fullmatch(r"[\w.-]+", scheme):
        raise InvalidArgument(f"{text!r} is not a valid identifier of the scheme {scheme!r}: correct it or omit it")
    if scheme == "doi" and value.startswith(_ARXIV_DOI):
        return Identifier("arxiv", value.removeprefix(_ARXIV_DOI))
    return Identifier(scheme, value)


def parse_identifier(text: str) -> Identifier | None:
    """Return the identifier that a text consists of, or None without a known scheme or form.

    Examples are `doi:10.1000/182`, `https://arxiv.org/abs/2101.00001v2`, `W2741809807` and `978-0-387-98403-2`.
    """
    text = text.strip()
    for scheme in _GUESSED:
        if _NORMAL[scheme](text) and not _SHORT_OPENALEX.fullmatch(text):
            return identify(scheme, text)
    if _bare_isbn(text):
        return identify("isbn", text)
    match = _NAMED.fullmatch(text)
    if match is None or match[2].startswith("//"):
        return None
    try:
        return identify(match[1], match[2])
    except InvalidArgument:
        return None


def mentioned_arxiv(text: str) -> Identifier | None:
    """Return the arXiv paper that a text names: `arXiv preprint arXiv:1906.01234`, `CoRR abs/1706.03762`.

    Returns None if there is none, there are several, or it is another work: `see also arXiv:…`, `Comment on arXiv:…`.
    """
    found = list(_MENTIONED.finditer(text))
    if len({match[1].lower() for match in found}) != 1 or any(_is_anothers(each) for each in found):
        return None
    return identify("arxiv", found[0][1])


def _is_anothers(mention: re.Match[str]) -> bool:
    before = mention.string[max(0, mention.start() - 40) : mention.start()]
    return _ANOTHERS.search(before) is not None


_MSC = re.compile(r"\d\d(?:-\d\d|-XX|[A-Z](?:xx|XX|\d\d))?")
_ARXIV_CATEGORY = re.compile(r"[a-z-]+(?:\.[A-Za-z-]{2,})?")

#: The form of tags by scheme: arXiv categories, Mathematics Subject Classification, codes of ACM and Computing Reviews,
#: OpenAlex topics and concepts, JEL and PACS codes, authors' keywords, and terms that a work defines.
TAG_SCHEMES: Mapping[str, re.Pattern[str]] = {
    "arxiv": _ARXIV_CATEGORY,
    "msc": _MSC,
    "acm": re.compile(r"[\w.]+"),
    "openalex": re.compile(r".+"),
    "jel": re.compile(r"[A-Z]\d{0,2}"),
    "pacs": re.compile(r"\d\d\.\d\d.*"),
    "keyword": re.compile(r".+"),
    "term": re.compile(r".+"),
}

#: Schemes whose tags are words that a query may contain; those of others are codes.
WORDED = frozenset({"keyword", "openalex", "term"})


#: arXiv archives without categories.
_WHOLE_ARCHIVES = frozenset(
    {"gr-qc", "hep-ex", "hep-lat", "hep-ph", "hep-th", "math-ph", "nucl-ex", "nucl-th", "quant-ph"}
)
_DOTTED_CATEGORY = re.compile(r"[a-z]+(?:-[a-z]+)?\.[A-Za-z]{2}(?:-[a-z]+)?")


def subject_scheme(text: str) -> tuple[str, str]:
    """Return the scheme and value of a subject given without a scheme: by prefix or form, else a keyword.

    `msc:14F05` names its scheme; `math.GT` has the form of an arXiv category, `57M25` that of an MSC code.
    """
    text = " ".join(text.split())
    scheme, colon, value = text.partition(":")
    if colon and value and scheme.strip().lower() in TAG_SCHEMES:
        return scheme.strip().lower(), value.strip()
    if text in _WHOLE_ARCHIVES or _DOTTED_CATEGORY.fullmatch(text):
        return "arxiv", text
    if len(text) > 2 and _MSC.fullmatch(text):
        return "msc", text
    return "keyword", text


def tagged(scheme: str, text: str) -> Tag:
    """Normalize a tag of a scheme. Raises `InvalidArgument` for an unknown scheme or an invalid tag."""
    scheme = scheme.strip().lower()
    text = " ".join(text.split())
    pattern = TAG_SCHEMES.get(scheme)
    if pattern is None:
        raise InvalidArgument(f"unknown tag scheme {scheme!r}: use one of {', '.join(TAG_SCHEMES)}")
    if not pattern.fullmatch(text):
        raise InvalidArgument(
            f"{text!r} is not a valid tag of the scheme {scheme!r}: correct it or use the scheme 'keyword'"
        )
    return Tag(scheme, text)
