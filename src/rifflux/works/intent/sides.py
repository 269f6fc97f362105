"""The two sides of a comparison: in wordings that only compare, or in any wording once a comparison is known.

In any wording, sides stand around a word that joins them (`versus`, `than`, `or`, `and`). Words before the first side
and behind the second that only ask or compare are dropped. What both sides share is written once: a purpose behind the
second (`A vs B for C`), or a noun behind two adjectives (`topological and algebraic K-theory`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from rifflux.text.analyzer import fold
from rifflux.types import Query
from rifflux.works.intent.lexicon import alternatives, group

#: The most words of a side: a longer one is a sentence that happens to say `compared with`.
MOST_WORDS = 10
#: The most words before a comparison: what a question asks for stands at its beginning.
MOST_BEFORE = 5

_BETTER = group("better")
#: Wordings of comparisons. `says` has the words that compare, `tail` the purpose of both sides.
_WORDINGS = tuple(
    re.compile(wording, re.I)
    for wording in (
        r"\b(?<!symmetric )(?<!finite )(?<!divided )(?<!phase )"
        r"(?P<says>(?:differences?|distinctions?|contrasts?|comparisons?|trade-?offs?) between"
        r"|comparisons? of|compar(?:e|ing)(?: and contrast(?:ing)?)?|(?:relative )?merits of"
        r"|(?:pros and cons|strengths and weaknesses|advantages and disadvantages) of)\s+(?P<one>.+?)"
        r"\s+(?:and|with|to|against|versus|vs\.?)\s+(?P<other>.+)",
        r"\b(?P<says>how (?:does|do|is|are))\s+(?P<one>.+?)\s+differ(?:ent)?\s+from\s+(?P<other>.+)",
        r"\b(?P<says>how do)\s+(?P<one>.+?)\s+and\s+(?P<other>.+?)\s+differ\b",
        r"\b(?P<says>(?:advantages?|benefits?) of)\s+(?P<one>.+?)\s+over\s+(?P<other>.+)",
        r"^(?P<says>(?:should|shall) (?:I|we|one) (?:use|choose|prefer|take|pick|go for))\s+(?P<one>.+?)"
        r"\s+(?:or|over|instead of|rather than)\s+(?P<other>.+)",
        r"^(?P<says>what (?:do|does|can))\s+(?P<one>.+?)\s+(?:have|offer|do|achieve|give) that\s+(?P<other>.+?)"
        r"\s+(?:lacks?|cannot|can't|do(?:es)?n't|do(?:es)? not|miss(?:es)?)\W*$",
        r"\b(?P<says>what distinguishes)\s+(?P<one>.+?)\s+from\s+(?P<other>.+)",
        rf"\b(?P<says>which (?:one )?is {_BETTER})(?P<tail>\s+for\s[^,:]+)?[,:]?\s+(?P<one>.+?)\s+or\s+(?P<other>.+)",
        rf"^(?P<one>.+?)\s+or\s+(?P<other>.+?)[,:;?]?\s+(?P<says>which (?:one )?is {_BETTER})(?P<tail>\s+for\s.+)?",
        rf"^(?:is|are)\s+(?P<one>.+?)\s+(?P<says>{_BETTER} than)\s+(?P<other>.+)",
        r"^(?P<one>.+?)\s+(?P<says>versus|vs\.?|compared? (?:to|with)|in (?:comparison|contrast) (?:to|with)"
        r"|as opposed to|or rather)\s+(?P<other>.+)",
        r"^\W*(?P<says>contrast)\s+(?P<one>.+?)\s+(?:and|with)\s+(?P<other>.+)",
        r"^(?P<one>[^,:/]+?)(?:\s*[,/&]\s*|\s+and\s+)(?P<other>[^,:/]+?)\s*[,:;-]?\s+"
        r"(?P<says>trade-?offs?|pros and cons|differences?|compared?|comparison|which is better|same or different)\W*$",
        r"^(?P<one>[\w-]+)\s+(?P<other>[\w-]+)\s+(?P<says>differences?|trade-?offs?)\W*$",
        r"^(?P<says>trade-?offs?|pros and cons|better|compare|same or different)[:,]\s*(?P<one>[^,:/;]+?)"
        r"(?:\s*[,;/&]\s*|\s+(?:and|or|vs\.?|versus)\s+)(?P<other>[^,:/;]+)$",
        r"^(?P<one>.+?)\s+(?P<says>against)\s+(?P<other>.+?)[,:]\s+(?P<tail>)\S.*$",
        r"^(?:does|do|would|will|can)\s+(?P<one>.+?)\s+"
        r"(?P<says>beats?|outperforms?|(?:has|have|offer) any? (?:edge|advantage) (?:on|over)"
        r"|(?:do|works?|performs?) (?:better|worse|as well) (?:than|as))\s+(?P<other>.+)",
    )
)
#: Words that join two sides of a known comparison, the most specific first.
_JOINTS = tuple(
    re.compile(joint, re.I)
    for joint in (
        r"\s(?:versus|vs\.?|as opposed to|rather than|instead of|in (?:comparison|contrast) (?:to|with)"
        r"|compared? (?:to|with)|relative to|next to)\s",
        r"\s(?:than|(?:set |stacks? up )?against)\s",
        r"\s(?:beats?|outperforms?|surpass(?:es)?|exceeds?|improves? (?:up)?on)\s",
        r"\s(?:apart |different |differs? )?from\s",
        r"\sover\s",
        r"\sthat\s(?=.*(?:lacks?|cannot|can't|do(?:es)?n't|do(?:es)? not|miss(?:es)?)\W*$)",
        r"\sor\s",
        r"\sand\s",
        r"\s(?:with|to|by)\s",
        r"\sas (?:good|well|fast|safe|accurate|effective|reliable|cheap) as\s|\sthe same \w+ as\s",
        r"\s(?:unlike|made|makes|replaces?|just|which|better|not)\s",
        r"\s(?:/|&|n)\s|;\s+",
        r",\s+|(?<=\w)/(?=\w)",
    )
)
#: Words that ask or compare, before the first side.
_BEFORE_SIDES = re.compile(
    rf"(?:(?:{alternatives('respect')}|which\s+(?:\S+\s+){{0,4}}?{_BETTER}|what sets|how (?:well|much)"
    rf"|(?:tell|show) me|weigh up|{group('before the sides')})"
    r"(?![\w'’-])[\s:,]*)+",
    re.I,
)
_PREDICATE = (
    rf"[\s,]+(?:{group('verb before a comparison')}\s+)*"
    rf"(?:{_BETTER}(?:\s+{group('behind better')})?|{alternatives('comparing behind the sides')})\b"
)
#: Words that compare: behind the second side, up to the purpose of both; and at the end of the first.
_COMPARED = re.compile(rf"{_PREDICATE}(?P<tail>\s+(?:for|in|at|on|when|under|with)\s.+)?.*$", re.I)
_ENDS = re.compile(rf"{_PREDICATE}\W*$", re.I)
_CLAUSES = re.compile(r"[,:;?!—–]\s+|[?!]|(?<!\bvs)\.(?=\s|$)", re.I)
_SENTENCE_ENDS = re.compile(r"[?!;]|(?<!\bvs)\.(?=\s|$)", re.I)
#: The purpose of both sides, which only the second one states.
_TAIL = re.compile(r"\s+(?:for|in|on|when|under|with (?:respect|regard) to|in terms of)\s+\S.*$", re.I)
_EDGES = " \"'?.,:;!“”"
#: Words that describe the noun behind them: by a list, as a code, or as a name.
_ADJECTIVE = re.compile(alternatives("adjective"), re.I)
_CODE = re.compile(r"(?=\w*\d)[\w-]+|[A-Z]{2,}")
_NAME = re.compile(r"[A-Z][a-zß-ÿ]+")
_DETERMINES = re.compile(r"(?:the|a|an|its|their|of|on|in|for)\Z", re.I)


@dataclass(frozen=True, slots=True)
class Comparison:
    """The two sides of a comparison, and the words that compare them."""

    says: str
    sides: tuple[str, str]


def comparison_in(text: str) -> Comparison | None:
    """Return the comparison that a text makes expressly, or None without two different sides.

    A purpose that only the second side states holds for both: `A vs B for problem P` is A for P, and B for P.
    """
    for wording in _WORDINGS:
        found = wording.search(text)
        if found and len(text[: found.start()].split()) <= MOST_BEFORE:
            one = _SENTENCE_ENDS.split(found["one"])[-1]
            other = _SENTENCE_ENDS.split(found["other"])[0]
            if sides := _completed(one, other, found.groupdict().get("tail") or ""):
                return Comparison(found.groupdict().get("says", "").strip(), sides)
    return None


def sides_in(text: str) -> tuple[str, str] | None:
    """Return the two sides of a text that compares, in any wording; None without two different sides."""
    if found := comparison_in(text):
        return found.sides
    return next(_joined(text), None)


def _joined(text: str) -> Iterator[tuple[str, str]]:
    """Yield the sides around each joining word: of single clauses first, then of the whole text."""
    clauses = [*filter(None, (each.strip() for each in _CLAUSES.split(text)))]
    for joint in _JOINTS:
        for part in dict.fromkeys((*clauses, text.strip(_EDGES))):
            for found in joint.finditer(part):
                if sides := _trimmed(part[: found.start()], part[found.end() :]):
                    yield sides


def _trimmed(one: str, other: str) -> tuple[str, str] | None:
    """Return the sides before and behind a joining word, without words that ask or compare."""
    compared = _COMPARED.search(other)
    tail = (compared and compared["tail"]) or ""
    return _completed(_ENDS.sub("", one), _COMPARED.sub("", other), tail)


def _completed(one: str, other: str, tail: str) -> tuple[str, str] | None:
    """Return two sides with what they share, or None if they are equal, empty or too long."""
    if not tail and not _TAIL.search(one) and (shared := _TAIL.search(other)):
        tail = shared[0]
        other = other[: shared.start()]
    one = _bare(one)
    other = _bare(other)
    if not one or not other or fold(one) == fold(other) or max(len(one.split()), len(other.split())) > MOST_WORDS:
        return None
    both = " ".join(tail.split()).rstrip("?.! ")
    return f"{one}{_shared_noun(one, other)} {both}".strip(), f"{other} {both}".strip()


def _bare(side: str) -> str:
    side = side.strip(_EDGES)
    before = _BEFORE_SIDES.match(side)
    rest = side[before.end() :].strip(_EDGES) if before else side
    # A side may have the name of an article: A.
    if not rest and len(side) == 1:
        return side
    return rest


def _shared_noun(one: str, other: str) -> str:
    """Return the noun that the second side has for both, if the first is only a word that describes it."""
    first, *rest = other.split()
    if len(one.split()) != 1 or not rest or _DETERMINES.match(rest[0]):
        return ""
    alike = any(kind.fullmatch(one) and kind.fullmatch(first) for kind in (_CODE, _NAME))
    if alike or _ADJECTIVE.fullmatch(one):
        return f" {' '.join(rest)}"
    return ""


def query_of_side(query: Query, text: str) -> Query:
    """Return the query for one side of a comparison, with the limits of the whole."""
    terms = query.words[text]
    of_side = frozenset(terms)
    folded = fold(text).split()
    anchors = tuple(each for each in query.anchors if of_side.issuperset(each))
    if query.understanding:
        names = query.understanding.names
    else:
        names = ()
    named = [name for name in names if of_side.issuperset(query.words[name])]
    others = [term for term in terms if not any(term in anchor for anchor in anchors)]
    variants = {
        variant: beside
        for variant, beside in zip(query.variants, query.beside, strict=True)
        if of_side.issuperset(beside or variant)
    }
    return replace(
        query,
        text=text,
        phrasing=replace(query.phrasing, body=text),
        tokens=((text, terms),),
        clauses=tuple(dict.fromkeys((term,) for term in terms)),
        required=(),
        prefixes=tuple(each for each in query.prefixes if any(word.startswith(each) for word in (*terms, *folded))),
        variants=tuple(variants),
        beside=tuple(variants.values()),
        anchors=anchors,
        specificity=(len(anchors) + len(named)) / max(1, len(anchors) + len(others)),
        semantic_text=" ".join(text.replace('"', " ").split()),
    )
