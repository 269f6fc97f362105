"""The two things that a question compares."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from rifflux.text.analyzer import Analyzer, fold
from rifflux.types import Query

__all__ = ["Comparison", "comparison_in", "side_of"]

#: A side of more words is a sentence that happens to say `compared with`.
MOST_WORDS = 10

#: What a question is after stands at its beginning: a comparison after more words is mentioned.
MOST_BEFORE = 5

_BETTER = r"(?:better|worse|faster|slower|simpler|stronger|weaker|cheaper|safer|more \w+)"
#: How comparisons are worded. `says` is what tells, `tail` what both sides are compared for.
_WORDINGS = tuple(
    re.compile(wording, re.I)
    for wording in (
        r"\b(?<!symmetric )(?<!finite )(?<!divided )(?<!phase )"
        r"(?P<says>(?:differences?|distinctions?|contrasts?|comparisons?|trade-?offs?) between"
        r"|comparisons? of|compar(?:e|ing)(?: and contrast(?:ing)?)?|(?:relative )?merits of)\s+(?P<one>.+?)"
        r"\s+(?:and|with|to|against|versus|vs\.?)\s+(?P<other>.+)",
        r"\b(?P<says>how (?:does|do|is|are))\s+(?P<one>.+?)\s+differ(?:ent)?\s+from\s+(?P<other>.+)",
        r"\b(?P<says>how do)\s+(?P<one>.+?)\s+and\s+(?P<other>.+?)\s+differ\b",
        r"\b(?P<says>(?:advantages?|benefits?) of)\s+(?P<one>.+?)\s+over\s+(?P<other>.+)",
        r"^(?P<says>(?:should|shall) (?:I|we|one) (?:use|choose|prefer|take))\s+(?P<one>.+?)\s+or\s+(?P<other>.+)",
        r"\b(?P<says>what distinguishes)\s+(?P<one>.+?)\s+from\s+(?P<other>.+)",
        rf"\b(?P<says>which (?:one )?is {_BETTER})(?P<tail>\s+for\s[^,:]+)?[,:]?\s+(?P<one>.+?)\s+or\s+(?P<other>.+)",
        rf"^(?P<one>.+?)\s+or\s+(?P<other>.+?)[,:;?]?\s+(?P<says>which (?:one )?is {_BETTER})(?P<tail>\s+for\s.+)?",
        rf"^(?:is|are)\s+(?P<one>.+?)\s+(?P<says>{_BETTER} than)\s+(?P<other>.+)",
        r"^(?P<one>.+?)\s+(?P<says>versus|vs\.?|compared? (?:to|with)|in (?:comparison|contrast) (?:to|with)"
        r"|as opposed to|or rather)\s+(?P<other>.+)",
        r"^\W*(?P<says>contrast)\s+(?P<one>.+?)\s+(?:and|with)\s+(?P<other>.+)",
    )
)
#: How two things stand side by side where a comparison is asked for by name.
_JOINED = re.compile(r"^(?P<one>.+?)(?:\s+(?:and|or|with|to|against)\s+|\s*[,/]\s*)(?P<other>.+)", re.I)
_LEAD = re.compile(r"^(?:(?:what (?:is|are)|the|a|compare|comparison of)\s+)+", re.I)
_SENTENCE_ENDS = re.compile(r"[?!;]|(?<!\bvs)\.(?=\s|$)", re.I)
#: What both sides are compared for or in, though only the second says it.
_TAIL = re.compile(r"\s+(?:for|in|when|under|with (?:respect|regard) to|in terms of)\s+\S.*$", re.I)


@dataclass(frozen=True, slots=True)
class Comparison:
    """The two sides, and the words that tell of a comparison."""

    says: str
    sides: tuple[str, str]


def comparison_in(text: str, *, by_name: bool = False) -> Comparison | None:
    """Return the comparison that a text makes, or None where two different sides cannot be told.

    What only the second side says it is compared for holds for both: `A vs B for problem P` is A for P, and B for P.
    `by_name` says that a comparison was asked for, so that `A and B` is one too.
    """
    for wording in (*_WORDINGS, *((_JOINED,) if by_name else ())):
        found = wording.search(text)
        if found and len(text[: found.start()].split()) <= MOST_BEFORE and (sides := _sides(found)):
            return Comparison(found.groupdict().get("says", "").strip(), sides)
    return None


def _sides(found: re.Match[str]) -> tuple[str, str] | None:
    one, other = _SENTENCE_ENDS.split(found["one"])[-1], _SENTENCE_ENDS.split(found["other"])[0]
    tail = found.groupdict().get("tail") or ""
    if not tail and not _TAIL.search(one) and (shared := _TAIL.search(other)):
        tail, other = shared[0], other[: shared.start()]
    one, other = (_LEAD.sub("", side.strip()).strip(" \"'?.,:") for side in (one, other))
    told = one and other and fold(one) != fold(other)
    if not told or max(len(one.split()), len(other.split())) > MOST_WORDS:
        return None
    both = " ".join(tail.split()).rstrip("?.! ")
    return f"{one} {both}".strip(), f"{other} {both}".strip()


def side_of(query: Query, text: str, analyzer: Analyzer) -> Query:
    """Return the part of a question that one side of its comparison asks; limits hold for both."""
    terms = analyzer.terms(text)
    held, folded = frozenset(terms), fold(text).split()
    anchors = tuple(each for each in query.anchors if held.issuperset(each))
    names = query.understanding.names if query.understanding else ()
    named = [name for name in names if held.issuperset(analyzer.of_word(name))]
    others = [term for term in terms if not any(term in anchor for anchor in anchors)]
    variants = {
        variant: beside
        for variant, beside in zip(query.variants, query.beside, strict=True)
        if held.issuperset(beside or variant)
    }
    return replace(
        query,
        text=text,
        asked=text,
        terms=tuple(terms),
        clauses=tuple(dict.fromkeys((term,) for term in terms)),
        required=(),
        prefixes=tuple(each for each in query.prefixes if any(word.startswith(each) for word in (*terms, *folded))),
        variants=tuple(variants),
        beside=tuple(variants.values()),
        anchors=anchors,
        specificity=(len(anchors) + len(named)) / max(1, len(anchors) + len(others)),
        semantic_text=" ".join(text.replace('"', " ").split()),
    )
