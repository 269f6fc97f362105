"""Rules that read the intent of a question from its wording, tried one after the other.

Words that ask are also terms of mathematics: a canonical divisor is no canonical paper, a comparison theorem compares
nothing here, related rates are no related works. So a word counts only next to the nouns it is said of.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from rifflux.text.analyzer import fold
from rifflux.text.identifiers import named_results
from rifflux.types import Clause, Query
from rifflux.works.retrieval.intent import IN, OUT

_ONE = r"(?:paper|article|book|work|publication|preprint|monograph|thesis)"
_MANY = (
    r"(?:papers|articles|books|works|publications|preprints|monographs|theses|texts|textbooks|references|literature)"
)
_PUBLISHED = rf"(?:{_ONE}|{_MANY}|text|textbook|reference|source|sources|treatise|treatment|contributions?|account)"
#: A surname, with initials or without.
NAME = r"(?:[A-Z]\.[ -]?)*[A-Z][^\W\d_]+(?:[-'’][^\W\d_]+)*"
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
_STATED = re.compile(
    r"\b(?:state|recall|(?:exact |precise )?(?:statement|formulation|wording|hypotheses|assumptions|proof) (?:of|in))\b"
    rf".*\b{_STATEMENT}s?\b|\bwhat\b.*\b{_STATEMENT}s?\b.*\b(?:say|state|assert|claim)s?\b",
    re.I,
)
_NUMBERED = re.compile(rf"\b(?:{_STATEMENT}|tag)\s+[\d(]?[\w.]*\d|\breference for\b", re.I)
_BY = re.compile(rf"\b(?i:{_ONE}|{_STATEMENT}|result)\b(?:\s+\S+){{0,12}}?{_DONE}\s+by\s+{NAME}")
_MANY_BY = re.compile(rf"\b(?i:{_ONE}|{_MANY}|{_STATEMENT}|results?)\s+(?:by|of)\s+{NAME}")
_ENDS_BY = re.compile(rf"\S+{_DONE}\s+by\s+{NAME}(?:(?:\s*,|\s+and|\s+&|,\s+and)?\s+{NAME})*\W*$")

#: The rules in their order: what holds first decides.
_RULES = (
    ("prereq", _PREREQ),
    ("related", _RELATED),
    ("lookup", _BY),
    ("survey", FOUNDATIONAL),
    ("survey", _SURVEY),
    ("lookup", _STATED),
    ("lookup", _NUMBERED),
    ("lookup", _MANY_BY),
    ("lookup", _ENDS_BY),
)

_CITE = r"(?:cite|quote|reference|refer(?: back)? to|draw (?:up)?on|rely (?:up)?on)"
_CITES = r"(?:cites?|cited|citing|quotes?|references?|refers? to|referring to|referencing|mentions?)"
#: How it is asked what a work cites, and what cites it: whatever stands in the place of the work.
_CITED_WAYS = (
    (OUT, re.compile(rf"\b(?:does|do|did)\s+\S.*?\b{_CITE}\b", re.I)),
    (OUT, re.compile(r"\bcited\s+(?:by|in|within)\s+(?!which\b|whom\b|who\b|what\b|other\b)\S", re.I)),
    (OUT, re.compile(r"\b(?:that|which|what)\s+\S.*\bcites\W*$", re.I)),
    (OUT, re.compile(r"\b(?:reference list|references|bibliography|works cited|citations)\s+(?:in|from|made by)\s"
                     r"|\b(?:reference list|references|bibliography)\s+of\s", re.I)),
    (IN, re.compile(rf"\b(?:who|that|which|what|{_ONE}|{_MANY}|everything|anything|everyone|anyone|somebody|anybody)"
                    rf"\s+(?:(?:has|have|had|also|later|since|then|in turn)\s+)*{_CITES}\s", re.I)),
    (IN, re.compile(r"\b(?:where|how often|how much|by whom|by which)\b.*\bcited\b|\bcited\s+by\s+wh|\bciting\b"
                    r"|\b(?:citations?|references)\s+(?:to|of)\s", re.I)),
)  # fmt: skip

#: How what asks for something begins, and what only questions about publications or learning speak of.
_BEGINS = re.compile(
    r"\W*(?:(?:please|hi|hello|hey|so|and|well)\W+)*(?:what|which|who|whom|whose|how|why|where|when|whether|does|do|did|is"
    r"|are|was|were|can|could|should|shall|would|will|has|have|any(?:thing)?|give|show|find|get|list|tell|name|suggest"
    r"|recommend|compare|contrast|explain|describe|summari[sz]e|look|search|need|want|help|open|fetch|pull|locate|state"
    r"|I|I'm|I'd|I've|we need|we want|we are looking|by whom|in which|on which|in what|from which)\b",
    re.I,
)
#: How a question behind what it is about begins: `the Beveridge report, do you hold it`.
_ASKS_BEHIND = re.compile(
    r"[,;:]\s*(?:(?:do|have|can|could) (?:you|we)|is (?:it|there)|which (?:one|of)|how do(?:es)?)\b", re.I
)
#: How a sentence among others asks without a question mark.
_WISHES = re.compile(
    r"\W*(?:please\b|(?:give|show|find|get|tell|list|suggest|recommend) (?:me|us)\b|recommend\b|suggest\b|compare\b"
    r"|I(?:'d| would)? (?:like|need|want|look|am looking|wish)\b|I'm looking\b|(?:can|could) you\b)",
    re.I,
)
_PUBLICATIONS = re.compile(
    rf"\b(?:{_ONE}|{_MANY}|reading|readings|bibliography|studies|scholarship|sources|study plan|roadmap|prerequisites?"
    r"|background|beginners?|primer|versus|vs)\b",
    re.I,
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


#: How somebody's works are asked for; `WHO` stands for the person.
_WORKS_OF = (
    rf"(?:all|any|other|more|the|only|just|\s)*{_MANY}\s+(?:(?:(?:that|which)\s+)?(?:are|were|have been)\s+)?"
    r"(?:(?:co-?)?(?:written|published|authored)\s+)?(?:by|of)\s+(?P<name>WHO)",
    rf"(?:what|which\s+{_MANY})\s+(?:(?:did|does|do|has|have|had)\s+)?(?P<name>WHO)\s+"
    r"(?:ever\s+)?(?:writes?|wrote|written|publish(?:e[sd])?|author(?:s|ed)?)",
    rf"(?P<name>WHO)['’]s?\s+(?:collected\s+|complete\s+|other\s+)?{_MANY}",
)
_WISH = r"\W*(?:(?:please|show|find|list|get|give|me|us|I|want|need|do you have)\s+)*"


def works_of(text: str, known: Sequence[str] = ()) -> str:
    """Return the name of the person whose works are asked for, and nothing else; in small letters, one that is `known`.

    `papers by Hamilton`, `works of Hamilton` and `what did Hamilton write` ask the same.
    """
    people = "|".join([f"(?-i:{NAME}(?:\\s+{NAME}){{0,3}})", *(re.escape(each) for each in known)])
    for form in _WORKS_OF:
        found = re.fullmatch(rf"{_WISH}{form.replace('WHO', people)}\W*", text, re.IGNORECASE)
        if found:
            return found["name"]
    return ""


def cited_way(text: str) -> str:
    """Return the direction of citations that is asked for: `out` for what a work cites, `in` for what cites it."""
    return next((way for way, rule in _CITED_WAYS if rule.search(text)), "")


#: What speaks of citations and of nothing else, and how a work is called next to what may mean something else.
_CITING = re.compile(r"\bcit(?:e|es|ed|ing|ations?)\b", re.I)
_CALLED = re.compile(r"[\"“]|\b(?:doi|arxiv|pmid|isbn|openalex)\b|\b10\.\d{4,}/|\w:\w", re.I)


def asks_citations(text: str) -> bool:
    """Return True if a question is after the citations of a work, beyond doubt."""
    return bool(cited_way(text) and (_CITING.search(text) or _CALLED.search(text)))


#: What asks for something even among bare words.
_TELLING = re.compile(
    r"\b(?:differences?|trade-?offs?|comparisons?|compared|surveys?|overviews?|reviews?|literature|bibliography|sota"
    r"|prerequisites?|prereqs?|basics|beginners?|background|roadmap|introduct\w+|intro|primer|tutorials?|fundamentals"
    r"|related|similar|neighbou?rs|references|citations?|citing|alternatives|history|landscape|trends|papers?|theorem"
    r"|lemma|(?:1[4-9]|20)\d\d)\b",
    re.I,
)


def tells(text: str) -> bool:
    """Return True if bare words may ask for something after all."""
    return bool(_TELLING.search(text))


def asks(text: str, *, alone: bool = True) -> bool:
    """Return True if a text asks for something; a sentence that is not `alone` does only in so many words."""
    if not alone:
        return text.rstrip(" \"'”)").endswith("?") or bool(_WISHES.match(text))
    return "?" in text or bool(_BEGINS.match(text) or _ASKS_BEHIND.search(text) or _PUBLICATIONS.search(text))


def names_one(text: str, words: Mapping[str, Clause]) -> str:
    """Return the named result or object that a question asks for, and hardly anything else; empty if none."""
    for name in named_results(text):
        first = re.split(r"[\s'’-]", name, maxsplit=1)[0]
        capital = text.lstrip().startswith(name) and _DESCRIBES.match(first) and not re.match(r"\w+[-'’]", name)
        rest = [word for word in _content(text.replace(name, " "), words) if word.lower() not in _ASIDE]
        if _RESULT.search(name) and _begins(text, name, words):
            most = _VERSION
        else:
            most = 1
        if not capital and len(rest) <= most:
            return name
    return ""


def is_result(name: str) -> bool:
    """Return True if a name is that of a result, such as a theorem, and not of an object."""
    return bool(_RESULT.search(name))


def _begins(text: str, name: str, words: Mapping[str, Clause]) -> bool:
    """Return True if nothing that means something stands before a name."""
    before = _content(text.partition(name)[0], words)
    return all(word.lower() in _ASIDE for word in before)


def is_bare(text: str, words: Mapping[str, Clause]) -> bool:
    """Return True if a question is words without a sentence."""
    typed = _WORD.findall(text)
    return bool(typed) and all(words[each] for each in typed)


#: What may stand between plain words.
_MARKS = str.maketrans("", "", " -?.'’")


def is_broad(text: str, words: Mapping[str, Clause]) -> bool:
    """Return True if a question is one or two plain words."""
    return text.strip().translate(_MARKS).isalpha() and 0 < len(_content(text, words)) <= _BROAD


def said(rule: re.Pattern[str], text: str) -> str:
    """Return the first words of a text that a rule is about; empty where there are none."""
    found = rule.search(text)
    if found:
        return found[0].strip()
    return ""


def _content(text: str, words: Mapping[str, Clause]) -> list[str]:
    """Return the words that mean something."""
    return [*filter(words.__getitem__, _WORD.findall(text))]


def side_of(query: Query, text: str) -> Query:
    """Return the part of a question that one side of its comparison asks; limits hold for both."""
    terms = query.words[text]
    held = frozenset(terms)
    folded = fold(text).split()
    anchors = tuple(each for each in query.anchors if held.issuperset(each))
    if query.understanding:
        names = query.understanding.names
    else:
        names = ()
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
