"""Names that stand for one thing: codes, section numbers, versions, names of programs; found to the letter.

D40 · PII-2024-0042 · 30 CFR 250.1725 · § 12.4 · v1.2.3 · E0502 · parseHTTPHeader · snake_case · std::vec · C++
"""

from __future__ import annotations

import re

__all__ = ["identifiers", "named_results"]

_NUMBERED = r"[^\W\d_]*\d+[^\W\d_]*(?:[.\-/:][^\W_]+)+|(?:[^\W\d_]+\d|\d+[^\W\d_])[^\W_]*"
_IDENTIFIER = re.compile(
    rf"""
    (?<![\w])
    (?: \d{{1,4}}\s+[A-Z]{{2,}}(?:\s+(?:§|[Pp]art|[Ss]ec\.?))?\s+\d[\w.\-]*\w    # 30 CFR 250.1725
      | §+\s*\d[\w.\-]*                                                          # § 12.4
      | (?:Lemma|Theorem|Definition|Proposition|Corollary|Section|Chapter|Figure|Table|Tag|RFC|ISO|CVE)\s+\d[\w.\-:]*
      | [A-Z]{{2,}}[A-Za-z]*(?:-[A-Za-z0-9]+)*-\d\w*(?:-\w+)*                          # PII-2024-0042, IL-6, GPT-4
      | {_NUMBERED}                                                              # D40, PII-2024-0042, 75.1725, v1.2
      | [a-z]+(?:[A-Z][a-z0-9]*)+ | (?:[A-Z][a-z0-9]+){{2,}}                       # camelCase, PascalCase
      | \w+(?:_\w+)+ | _+\w+                                                     # snake_case, __init__
      | \w+(?:::\w+)+                                                            # std::vec
      | [A-Za-z](?:\+\+|\#)                                                      # C++, C#
      | [A-Za-z]\w*(?:\.[a-z_]\w+)+(?=\(|\s|$)                                    # json.loads
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
    found = (match.group().strip() for match in _IDENTIFIER.finditer(text))
    return list(dict.fromkeys(each for each in found if not _is_ordinary(each)))


def _is_ordinary(text: str) -> bool:
    return bool(_ORDINARY.match(text) or _COUNT.match(text))


# Results and objects of mathematics that bear a name

_WHOSE = r"[A-Z][^\W\d_]+(?:['’]s?)?"
_RESULTS = (
    "theorem|lemma|proposition|corollary|conjecture|formula|criterion|inequality|identity|principle|hypothesis|axiom"
    "|problem|paradox|law|algorithm|test|duality|correspondence|sequence|construction|decomposition|normalization"
)
_OBJECTS = (
    "condition|property|number|constant|function|polynomial|group|ring|field|algebra|module|scheme|stack|space|bundle"
    "|sheaf|functor|category|complex|variety|curve|surface|manifold|measure|transform|operator|basis|extension|topology"
)
_NAMED = re.compile(
    rf"(?<!\w)(?P<whose>{_WHOSE}(?:(?:\s*(?:--?|[‐‑–—])\s*|\s+)(?:{_WHOSE}))*)(?:\s+\w+)?\s+(?:{_RESULTS}|(?P<object>{_OBJECTS}))s?(?!\w)"
    rf"|(?<!\w)(?:theorem|lemma|conjecture)\s+of\s+{_WHOSE}(?:(?:\s*(?:--?|[‐‑–—])\s*|\s+and\s+){_WHOSE})*"
)
#: Words that begin a sentence, and are nobody's name.
_NOBODY = re.compile(
    r"\A(?:(?:A|An|The|Every|Any|Each|Some|Is|Are|Does|Do|Let|If|When|What|Which|Why|How|Who|Prove|Show|State|Find|Give"
    r"|Explain|Use|Using|Proof|On|In|Of|For|By|See|This|That|Finite|Free|Flat|Smooth|Compact|Local|Short|Long|Exact"
    r"|Noetherian|Abelian|Affine|Projective|Prime|Normal|Open|Closed|Main|Fundamental|Tensor|Linear)\s+)+"
)


#: A longer question is a sentence, which begins with a capital whatever its first word is, and mentions objects such as
#: Hausdorff spaces while it is about something else.
_LONGEST_NAME = 5


def named_results(text: str) -> list[str]:
    """The named results and objects in a text: `Hahn–Banach theorem`, `Zorn's lemma`, `Hilbert scheme`; each once."""
    sentence = len(text.split()) > _LONGEST_NAME
    found = []
    for match in _NAMED.finditer(text):
        said = match["object"] or (not match.start() and (match["whose"] or "-").isalpha())
        name = _NOBODY.sub("", match.group(), count=1) if _NOBODY.match(match.group()) else match.group()
        if (name[:1].isupper() and not (sentence and said)) or " of " in name:
            found.append(name)
    return list(dict.fromkeys(found))
