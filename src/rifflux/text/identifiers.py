"""Names that stand for one thing: codes, section numbers, versions, names of programs; found to the letter.

D40 · PII-2024-0042 · 30 CFR 250.1725 · § 12.4 · v1.2.3 · E0502 · parseHTTPHeader · snake_case · std::vec · C++
"""

from __future__ import annotations

import re
from collections.abc import Iterator

__all__ = ["identifiers", "labelled"]

_NUMBERED = r"[^\W\d_]*\d+[^\W\d_]*(?:[.\-/:][^\W_]+)+|(?:[^\W\d_]+\d|\d+[^\W\d_])[^\W_]*"
_IDENTIFIER = re.compile(
    rf"""
    (?<![\w])
    (?: \d{{1,4}}\s+[A-Z]{{2,}}(?:\s+(?:§|[Pp]art|[Ss]ec\.?))?\s+\d[\w.\-]*\w    # 30 CFR 250.1725
      | [Tt]ag\s+(?P<tag>0[0-9A-Za-z]{{3}})                                           # of the Stacks Project
      | (?<!§)§+\s*\d[\w.\-]*                                                          # § 12.4
      | (?:Lemma|Theorem|Definition|Proposition|Corollary|Section|Chapter|Figure|Table|Tag|RFC|ISO|CVE)\s+\d[\w.\-:]*
      | [A-Z]{{2}}[A-Za-z]*(?:-[A-Za-z0-9]+)*-\d\w*(?:-\w+)*                          # PII-2024-0042, IL-6, GPT-4
      | {_NUMBERED}                                                              # D40, PII-2024-0042, 75.1725, v1.2
      | [a-z]+(?:[A-Z][a-z0-9]*)+ | (?:[A-Z][a-z0-9]+){{2,}}                       # camelCase, PascalCase
      | \w+(?:_\w+)+ | _+\w+                                                     # snake_case, __init__
      | \w+(?:::\w+)+                                                            # std::vec
      | [A-Za-z](?:\+\+|\#)                                                      # C++, C#
      | [A-Za-z]\w*(?:\.[a-z_]\w+){{1,12}}(?=\(|\s|$)                                  # json.loads
    )
    (?!\w)
    """,
    re.VERBOSE,
)
#: What has a digit beside a letter and is still a common word.
_ORDINARY = re.compile(r"\d+(?:st|nd|rd|th|s|d|am|pm|k|m|x|%)?\Z|\d+(?:-\d+)?\Z", re.IGNORECASE)
_COUNT = re.compile(r"\d+(?:-[a-z]+)+\Z|[a-z]{3,}-\d{1,2}\Z|\d+[a-zµ]{1,3}(?:/[a-z]+)?\Z|\d{1,2}\.\d{1,2}\Z")


def identifiers(text: str) -> list[str]:
    """The identifiers in a text, in order, each once; ordinals, years, ranges, amounts and `5-year` are none."""
    return list(dict.fromkeys(identifier for _, identifier in labelled(text)))


def labelled(text: str) -> Iterator[tuple[str, str]]:
    """Each identifier as it is written, with a label that is no part of it, and without: `Tag 06Z4`, `06Z4`."""
    for match in _IDENTIFIER.finditer(text):
        written = match.group().strip()
        if match["tag"] or not _is_ordinary(written):
            yield written, match["tag"] or written


def _is_ordinary(text: str) -> bool:
    return bool(_ORDINARY.match(text) or _COUNT.match(text))
