"""The two sides of a comparison: by wordings that compare and nothing else, and in any wording once one is asked for.

In any wording, sides stand around a word that joins them (`versus`, `than`, `or`, `and`). Before the first and behind
the second, words that only ask or compare are let go; what both share is said once: a purpose behind the second
(`A vs B for C`), or a noun behind two words that describe it (`topological and algebraic K-theory`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from rifflux.text.analyzer import fold

#: A side of more words is a sentence that happens to say `compared with`.
MOST_WORDS = 10
#: What a question is after stands at its beginning: a comparison after more words is mentioned.
MOST_BEFORE = 5

_BETTER = (
    r"(?:better|worse|best|worst|preferable|superior|inferior|faster|slower|simpler|stronger|weaker|cheaper|dearer"
    r"|safer|easier|harder|larger|smaller|higher|lower|stabler|(?:more|less|most|least) \w+)"
)
#: How comparisons are worded. `says` holds the words that compare, `tail` the purpose of both.
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
#: What joins two sides where a comparison is asked for, the most telling first.
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
#: What is compared of two sides, or done with them, as it is said before the first.
_RESPECTS = (
    r"(?:relative|comparative|comparable|direct) (?:\w+ )?\w+ (?:of|between)"
    r"|(?:performance|accuracy|efficacy|(?:cost-)?effectiveness|safety|outcomes|predictions|estimates|results|approaches"
    r"|benchmarks?|(?:head-to-head )?trials|gap|choice|relation|relationship|rivalry|(?:in|non-in|su)(?:f|p)eriority"
    r"|dissimilarities|side-by-side|arguments|case|account)\s+(?:of|for|between|from)(?:\s+the theories of)?"
    r"|performance gap between|limits of(?=.* compared)|what (?:speaks for|makes|separates|divides)"
    r"|papers that pit|(?:torn|deciding) between|(?:switch(?:ing)?|mov(?:e|ing)) from|replac(?:e|ing)"
    r"|go(?:ing)? (?:for|with)|(?:it )?matters? whether|worth|(?:gain|lose) by|mixing up|distinguishing"
    r"|set(?= .* (?:beside|against|side by side))|where (?:do|does)|(?:any|some)(?:body|one)(?: measured)?"
    r"|(?:(?:under )?(?:what|which) )?(?:conditions|circumstances)|looking for|something that|different|close|better"
    r"|still|also|keep|with|that of|those (?:of|from)|whats|diff|head to head|pick one for \w+"
)
#: Words that ask or compare, as they stand before the first side.
_ASKING = re.compile(
    rf"(?:(?:{_RESPECTS}|which\s+(?:\S+\s+){{0,4}}?{_BETTER}|what sets|how (?:well|much)|(?:tell|show) me|weigh up"
    r"|(?:what|which|when|why|how|whether|is|are|was|were|does|do|did|can|could|would|will|should|shall|has|have|in|it"
    r"|ways?|respects?|there|any|the|a|an|i|we|one|you|between|among|of|on|to|for|about|and|or|both"
    r"|use|choose|choosing|prefer|pick|take|weigh|compare|contrast|comparing|contrasting|evaluate"
    r"|differences?|distinguish(?:es)?|distinctions?|contrasts?|comparisons?|similarit(?:y|ies)|pros|cons|advantages?"
    r"|disadvantages?|benefits?|drawbacks?|strengths?|weaknesses|merits?|trade-?offs?|please|explain|describe|discuss))"
    r"(?![\w'’-])[\s:,]*)+",
    re.I,
)
_VERBS = (
    r"(?:(?:do(?:es)?|is|are|was|were|be|works?|performs?|runs?|converges?|gives?|yields?|has|have|lacks?|cannot|can't"
    r"|doesn't|don't|not|a|an|the|as|any|up|apart|stack|stacks|fares?)\s+)*"
)
_PREDICATE = (
    rf"[\s,]+{_VERBS}(?:{_BETTER}(?:\s+(?:results?|performance|accuracy|error|choice|option|one))?|differ(?:s|ent)?|compared?"
    r"|side by side|head to head|equivalent|alike|distinguish\w*|distinct|apart|lacks?|cannot(?: do)?|can't(?: do)?"
    r"|do(?:es)? not(?: have)?|do(?:es)?n'?t(?: have)?|have(?: in common)?|do|part ways|part company|agree|disagree"
    rf"|diverge|deviate|obsolete|in disguise|win|square with|the same|same|outperform\w*|beats?|good|stand|stack)\b"
)
#: Words that compare behind the second side, up to the purpose of both; and at the end of the first.
_COMPARED = re.compile(rf"{_PREDICATE}(?P<tail>\s+(?:for|in|at|on|when|under|with)\s.+)?.*$", re.I)
_ENDS = re.compile(rf"{_PREDICATE}\W*$", re.I)
_CLAUSES = re.compile(r"[,:;?!—–]\s+|[?!]|(?<!\bvs)\.(?=\s|$)", re.I)
_SENTENCE_ENDS = re.compile(r"[?!;]|(?<!\bvs)\.(?=\s|$)", re.I)
#: What both sides are compared for or in, though only the second says it.
_TAIL = re.compile(r"\s+(?:for|in|on|when|under|with (?:respect|regard) to|in terms of)\s+\S.*$", re.I)
_EDGES = " \"'?.,:;!“”"
#: Words that describe the noun behind them: by their ending, as a code, or in capitals.
_ADJECTIVE = re.compile(
    r"non-?\w+|\w+-(?:first|down|up|based|order|level|term|driven|time|dimensional|free)"
    r"|(?!(?:logic|music|topic|arithmetic|rhetoric|traffic|metric|fabric|clinic|signal|animal|metal|interval|journal|trial"
    r"|material|crystal|capital|hospital|library|theory|memory|history|category|laboratory|factory|directory|territory"
    r"|table|cable|variable|vegetable|grammar|calendar|scholar|sugar)\Z)\w{2,}(?:al|ic|ive|ous|ian|ar|ary|ory|less|ble"
    r"|ish|ese|ean|ist)"
    r"|left|right|upper|lower|flat|free|open|closed|weak|strong|soft|hard|high|low|finite|infinite|discrete|deep|shallow"
    r"|big|small|large|long|short|early|late|old|young|new|male|female|rural|urban|private|sparse|dense|first|second"
    r"|third|single|double|pure|mixed|exact|black|white|red|blue|green|wet|dry|cold|hot|warm|fast|slow|rich|poor",
    re.I,
)
_CODE = re.compile(r"(?=\w*\d)[\w-]+|[A-Z]{2,}")
_NAME = re.compile(r"[A-Z][a-zß-ÿ]+")
_DETERMINES = re.compile(r"(?:the|a|an|its|their|of|on|in|for)\Z", re.I)


@dataclass(frozen=True, slots=True)
class Comparison:
    """The two sides, and the words that tell of a comparison."""

    says: str
    sides: tuple[str, str]


def comparison_in(text: str) -> Comparison | None:
    """Return the comparison that a text makes in so many words, or None without two different sides.

    What only the second side says it is compared for holds for both: `A vs B for problem P` is A for P, and B for P.
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
    """Return the two sides of a text that compares, in whatever words; None without two different ones."""
    if found := comparison_in(text):
        return found.sides
    return next(_joined(text), None)


def _joined(text: str) -> Iterator[tuple[str, str]]:
    """Yield the sides around each word that joins them: of single clauses first, then of the whole text."""
    clauses = [*filter(None, (each.strip() for each in _CLAUSES.split(text)))]
    for joint in _JOINTS:
        for part in dict.fromkeys((*clauses, text.strip(_EDGES))):
            for found in joint.finditer(part):
                if sides := _freed(part[: found.start()], part[found.end() :]):
                    yield sides


def _freed(one: str, other: str) -> tuple[str, str] | None:
    """Return what stands before and behind a word that joins, without words that ask or compare."""
    compared = _COMPARED.search(other)
    tail = (compared and compared["tail"]) or ""
    return _completed(_ENDS.sub("", one), _COMPARED.sub("", other), tail)


def _completed(one: str, other: str, tail: str) -> tuple[str, str] | None:
    """Return two sides with what they share, or None if they are not two or too long."""
    if not tail and not _TAIL.search(one) and (shared := _TAIL.search(other)):
        tail = shared[0]
        other = other[: shared.start()]
    one, other = (_bare(side) for side in (one, other))
    if not one or not other or fold(one) == fold(other) or max(len(one.split()), len(other.split())) > MOST_WORDS:
        return None
    both = " ".join(tail.split()).rstrip("?.! ")
    return f"{one}{_head(one, other)} {both}".strip(), f"{other} {both}".strip()


def _bare(side: str) -> str:
    side = side.strip(_EDGES)
    asking = _ASKING.match(side)
    # A side may be called as an article is.
    return side[asking.end() if asking else 0 :].strip(_EDGES) or (side if len(side) == 1 else "")


def _head(one: str, other: str) -> str:
    """Return the noun that the second side has for both, where the first is but a word that describes it."""
    first, *rest = other.split()
    if len(one.split()) != 1 or not rest or _DETERMINES.match(rest[0]):
        return ""
    alike = any(kind.fullmatch(one) and kind.fullmatch(first) for kind in (_CODE, _NAME))
    if alike or _ADJECTIVE.fullmatch(one):
        return f" {' '.join(rest)}"
    return ""
