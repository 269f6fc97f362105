"""Rules that read the intent of a question from its wording, tried one after the other.

Words that ask are also terms of mathematics: a canonical divisor is no canonical paper, a comparison theorem compares
nothing here, related rates are no related works. So a word counts only next to the nouns it is said of.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from rifflux.text.analyzer import fold
from rifflux.text.identifiers import named_results
from rifflux.types import Clause, Query

__all__ = ["FOUNDATIONAL", "RECENT", "comparison_in", "is_bare", "is_broad", "names_one", "said", "side_of", "worded"]

_ONE = r"(?:paper|article|book|work|publication|preprint|monograph|thesis)"
_MANY = (
    r"(?:papers|articles|books|works|publications|preprints|monographs|theses|texts|textbooks|references|literature)"
)
_PUBLISHED = rf"(?:{_ONE}|{_MANY}|text|textbook|reference|source|sources|treatise|treatment|contributions?|account)"
_NAME = r"(?:[A-Z]\.[ -]?)*[A-Z][^\W\d_]+(?:[-'’][^\W\d_]+)*"
_STATEMENT = r"(?:theorem|lemma|proposition|corollary|conjecture|definition)"
_DONE = r"(?<!proved)(?<!proven)(?<!shown)(?<!given)(?<!implied)(?<!obtained)(?<!induced)(?<!generated)(?<!defined)"
_STUDY = r"(?:read|study|learn|know|understand|master)"

_PREREQ = re.compile(
    r"\bprerequisites?\b|\blearning path\b|\bbackground (?:for|needed|required|reading|knowledge|material)\b"
    r"|^\W*before (?:reading|studying|learning|tackling)\b"
    r"|\b(?:what|which|reading|papers|books)\b.*\bbefore (?:I |we |one )?(?:read|study|learn|tackl)(?:ing)?\b"
    rf"|^\W*(?:what|which|things|topics|papers|books|material)\b.*\b(?:to|should \w+|must \w+|do \w+) {_STUDY}\b"
    r".*\b(?:before|first|prior to|to understand|in order to)\b"
    r"|\b(?:required|needed|necessary) to understand\b",
    re.I,
)
_RELATED = re.compile(
    rf"\b(?:{_ONE}|{_MANY}|research) (?:(?:that|which) (?:are|is) )?(?:closely |most )?(?:related|similar|akin) to\b"
    rf"|\b(?:related|similar) (?:{_ONE}|{_MANY}|research)\b"
    r"|\b(?:results|theorems) similar to\b"
    r"|^\W*(?:(?:what is|anything|something|find|more|show me) )?(?:closely )?(?:related|similar) to"
    r"(?! (?:an?|its|each|some|every|any)\b)"
    rf"|\b(?:papers?|articles?|books?|preprints?|publications?) like\b|^\W*more like\b|\b(?:who|what) cites\b"
    rf"|\b(?:{_ONE}|{_MANY}) (?:that |which )?(?:cit(?:e|es|ing)|(?:are |is )?cited by)\b",
    re.I,
)
#: Words that ask for what others are built on; further down, those that ask for what is new.
FOUNDATIONAL = re.compile(
    r"\b(?:foundational|seminal|pioneering|groundbreaking)\b|\bfoundations of\b"
    rf"|\b(?:classic|classical|canonical|fundamental|landmark|standard|influential|original|historical) {_PUBLISHED}\b",
    re.I,
)
_SURVEY = re.compile(
    r"(?<!sample )(?<!household )(?<!field )\bsurveys? (?:of|on|about|articles?|papers?)\b|\b(?:a|any|recent) survey\b"
    r"|(?<!sample )(?<!household )(?<!field )(?<=\w )surveys?\W*$"
    r"|\boverviews?\b|\bintroductions? to\b|\bstate of the art\b|\bliterature on\b|\breading list\b|\btextbooks?\b"
    r"|\b(?:references?|papers|books|works) (?:on|about)\b|\b(?:references|papers|books) for\b"
    r"|\bliterature reviews?\b|\breview (?:articles?|papers?)\b",
    re.I,
)
RECENT = re.compile(
    r"\brecent\b(?! common)|\bthis year\b"
    rf"|\b(?:latest|newest|current|new) (?:\w+ )?"
    rf"(?:{_MANY}|results|research|work|advances|developments|progress|trends)\b"
    r"|\bcurrent (?:state of the art|state of (?:research|knowledge))\b",
    re.I,
)
_NUMBERED = re.compile(rf"\b(?:{_STATEMENT}|tag)\s+[\d(]?[\w.]*\d|\breference for\b", re.I)
_BY = re.compile(rf"\b(?i:{_ONE}|{_STATEMENT}|result)\b(?:\s+\S+){{0,12}}?{_DONE}\s+by\s+{_NAME}")
_MANY_BY = re.compile(rf"\b(?i:{_ONE}|{_MANY}|{_STATEMENT}|results?)\s+(?:by|of)\s+{_NAME}")
_ENDS_BY = re.compile(rf"\S+{_DONE}\s+by\s+{_NAME}(?:(?:\s*,|\s+and|\s+&|,\s+and)?\s+{_NAME})*\W*$")

#: The rules in their order: what holds first decides.
_RULES = (
    ("prereq", _PREREQ),
    ("related", _RELATED),
    ("lookup", _BY),
    ("survey", FOUNDATIONAL),
    ("survey", _SURVEY),
    ("lookup", _NUMBERED),
    ("lookup", _MANY_BY),
    ("lookup", _ENDS_BY),
)

_WORD = re.compile(r"[^\W\d_]+")
#: What may be said around the name of a result without asking for anything else.
_ASIDE = frozenset(
    {"define", "definition", "exact", "find", "general", "name", "precise", "proof", "proofs", "prove", "proved"}
    | {"show", "state", "statement", "the", "version", "what"}
)
#: How words that describe end or read: at the beginning of a question their capital says nothing.
_DESCRIBES = re.compile(
    r"(?:\w+(?:al|ic|ive|ous|ed|ing|[ts]ion|ity|ness|ment|ial|ent|ant|ible|able|ary|ory|ian)"
    r"|current|comparison|related|similar|simple|double|perfect|chain|vector|line|base|limit|ring|group|set|flat|parallel"
    r"|large|small|fast|slow|real|complex|random|graph|string|search|matrix|data|number|tree|network|cover|word|time)\Z",
    re.I,
)
#: Of a result, a version may be asked for by so many words.
_RESULT = re.compile(
    r"(?:theorem|lemma|proposition|corollary|conjecture|criterion|inequality|formula|duality)s?\Z", re.I
)
_VERSION = 3
#: So few words that mean something are a broad question.
_BROAD = 2


def worded(text: str) -> tuple[str, str] | None:
    """Return the intent of the first rule that the wording fits, and the words that fit."""
    for name, rule in _RULES:
        if found := rule.search(text):
            return name, found[0].strip()
    return None


def names_one(text: str, words: Mapping[str, Clause]) -> str:
    """Return the named result or object that a question asks for, and hardly anything else; empty if none."""
    for name in named_results(text):
        first = re.split(r"[\s'’-]", name, maxsplit=1)[0]
        capital = text.lstrip().startswith(name) and _DESCRIBES.match(first) and not re.match(r"\w+[-'’]", name)
        rest = [word for word in _content(text.replace(name, " "), words) if word.lower() not in _ASIDE]
        most = _VERSION if _RESULT.search(name) and _begins(text, name, words) else 1
        if not capital and len(rest) <= most:
            return name
    return ""


def _begins(text: str, name: str, words: Mapping[str, Clause]) -> bool:
    """Return True if nothing that means something stands before a name."""
    before = _content(text.partition(name)[0], words)
    return all(word.lower() in _ASIDE for word in before)


def is_bare(text: str, words: Mapping[str, Clause]) -> bool:
    """Return True if a question is words without a sentence."""
    typed = _WORD.findall(text)
    return bool(typed) and all(map(words.__getitem__, typed))


#: What may stand between plain words.
_MARKS = str.maketrans("", "", " -?.'’")


def is_broad(text: str, words: Mapping[str, Clause]) -> bool:
    """Return True if a question is one or two plain words."""
    return text.strip().translate(_MARKS).isalpha() and 0 < len(_content(text, words)) <= _BROAD


def said(rule: re.Pattern[str], text: str) -> str:
    """Return the first words of a text that a rule is about; empty where there are none."""
    found = rule.search(text)
    return found[0].strip() if found else ""


def _content(text: str, words: Mapping[str, Clause]) -> list[str]:
    """Return the words that mean something."""
    return [*filter(words.__getitem__, _WORD.findall(text))]


# The two things that a question compares


#: A side of more words is a sentence that happens to say `compared with`.
MOST_WORDS = 10

#: What a question is after stands at its beginning: a comparison after more words is mentioned.
MOST_BEFORE = 5

_BETTER = r"(?:better|worse|faster|slower|simpler|stronger|weaker|cheaper|safer|more \w+)"
#: How comparisons are worded. `says` holds the words that compare, `tail` the purpose of both.
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
    """Return the comparison that a text makes, or None without two different sides.

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
    if not one or not other or fold(one) == fold(other) or max(len(one.split()), len(other.split())) > MOST_WORDS:
        return None
    both = " ".join(tail.split()).rstrip("?.! ")
    return f"{one} {both}".strip(), f"{other} {both}".strip()


def side_of(query: Query, text: str) -> Query:
    """Return the part of a question that one side of its comparison asks; limits hold for both."""
    terms = query.words[text]
    held, folded = frozenset(terms), fold(text).split()
    anchors = tuple(each for each in query.anchors if held.issuperset(each))
    names = query.understanding.names if query.understanding else ()
    named = [name for name in names if held.issuperset(query.words[name])]
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
        terms=terms,
        clauses=tuple(dict.fromkeys((term,) for term in terms)),
        required=(),
        prefixes=tuple(each for each in query.prefixes if any(word.startswith(each) for word in (*terms, *folded))),
        variants=tuple(variants),
        beside=tuple(variants.values()),
        anchors=anchors,
        specificity=(len(anchors) + len(named)) / max(1, len(anchors) + len(others)),
        semantic_text=" ".join(text.replace('"', " ").split()),
    )
