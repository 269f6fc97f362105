"""Rules of wording: which intent a question states, whether it asks for something, and how it refers to a work.

Words that ask are also terms of mathematics: a canonical divisor is not a canonical paper, a comparison theorem does
not compare, and related rates are not related works. So a word counts only next to the nouns that it describes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from rifflux.text.identifiers import named_results
from rifflux.types import Clause
from rifflux.works.intent.intents import IN, OUT
from rifflux.works.intent.lexicon import alternatives, group, words

_ONE = group("publication")
_MANY = group("publications")
_PUBLISHED = rf"(?:{_ONE}|{_MANY}|{alternatives('other publications')})"
#: A surname, with initials or without.
_NAME = r"(?:[A-Z]\.[ -]?)*[A-Z][^\W\d_]+(?:[-'’][^\W\d_]+)*"
_STATEMENT = group("statement")
_DONE = r"(?<!proved)(?<!proven)(?<!shown)(?<!given)(?<!implied)(?<!obtained)(?<!induced)(?<!generated)(?<!defined)"
_STUDY = group("study")

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
#: Words that ask for foundational works.
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
#: Words that ask for new works.
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
_BY = re.compile(rf"\b(?i:{_ONE}|{_STATEMENT}|result)\b(?:\s+\S+){{0,12}}?{_DONE}\s+by\s+{_NAME}")
_MANY_BY = re.compile(rf"\b(?i:{_ONE}|{_MANY}|{_STATEMENT}|results?)\s+(?:by|of)\s+{_NAME}")
_ENDS_BY = re.compile(rf"\S+{_DONE}\s+by\s+{_NAME}(?:(?:\s*,|\s+and|\s+&|,\s+and)?\s+{_NAME})*\W*$")

#: The rules in their order: the first that matches decides.
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
#: How people ask what a work cites (`OUT`), and what cites it (`IN`).
_DIRECTIONS = (
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

_BEGINS = re.compile(
    rf"\W*(?:{group('politeness')}\W+)*(?:{alternatives('opening')})\b",
    re.I,
)
#: A question that follows its subject: `the Beveridge report, do you hold it`.
_ASKS_BEHIND = re.compile(
    r"[,;:]\s*(?:(?:do|have|can|could) (?:you|we)|is (?:it|there)|which (?:one|of)|how do(?:es)?)\b", re.I
)
#: How a sentence in a longer text asks without a question mark.
_WISHES = re.compile(
    r"\W*(?:please\b|(?:give|show|find|get|tell|list|suggest|recommend) (?:me|us)\b|recommend\b|suggest\b|compare\b"
    r"|I(?:'d| would)? (?:like|need|want|look|am looking|wish)\b|I'm looking\b|(?:can|could) you\b)",
    re.I,
)
_PUBLICATIONS = re.compile(rf"\b(?:{_ONE}|{_MANY}|{alternatives('about publications')})\b", re.I)

_WORD = re.compile(r"[^\W\d_]+")
#: Words that ask for nothing else around the name of a result.
_AROUND_RESULT = words("around a result")
_DESCRIBES = re.compile(rf"{group('descriptive')}\Z", re.I)
_RESULT = re.compile(rf"{group('result')}s?\Z", re.I)
#: A version of a result may be described by this many words.
_VERSION_WORDS = 3
#: A question of at most this many content words is broad.
_BROAD_WORDS = 2


def stated_intent(text: str) -> tuple[str, str] | None:
    """Return the intent of the first rule that matches, and the matching words."""
    for name, rule in _RULES:
        if found := rule.search(text):
            return name, found[0].strip()
    return None


#: How people ask for somebody's works; `WHO` stands for the person.
_WORKS_OF = (
    rf"(?:all|any|other|more|the|only|just|\s)*{_MANY}\s+(?:(?:(?:that|which)\s+)?(?:are|were|have been)\s+)?"
    r"(?:(?:co-?)?(?:written|published|authored)\s+)?(?:by|of)\s+(?P<name>WHO)",
    rf"(?:what|which\s+{_MANY})\s+(?:(?:did|does|do|has|have|had)\s+)?(?P<name>WHO)\s+"
    r"(?:ever\s+)?(?:writes?|wrote|written|publish(?:e[sd])?|author(?:s|ed)?)",
    rf"(?P<name>WHO)['’]s?\s+(?:collected\s+|complete\s+|other\s+)?{_MANY}",
)
_WISH = r"\W*(?:(?:please|show|find|list|get|give|me|us|I|want|need|do you have)\s+)*"


def works_of(text: str, known: Sequence[str] = ()) -> str:
    """Return the person whose works are all that the question asks for, or "".

    `papers by Hamilton`, `works of Hamilton` and `what did Hamilton write` ask the same. A name in lower case is
    recognized if it is one of `known`.
    """
    people = "|".join([f"(?-i:{_NAME}(?:\\s+{_NAME}){{0,3}})", *(re.escape(each) for each in known)])
    for form in _WORKS_OF:
        found = re.fullmatch(rf"{_WISH}{form.replace('WHO', people)}\W*", text, re.IGNORECASE)
        if found:
            return found["name"]
    return ""


def citation_direction(text: str) -> str:
    """Return `out` if the question asks what a work cites, `in` if it asks what cites it, else ""."""
    return next((direction for direction, rule in _DIRECTIONS if rule.search(text)), "")


#: Words that are only about citations, and references to a work beside words that may mean something else.
CITING = re.compile(r"\bcit(?:e|es|ed|ing|ations?)\b", re.I)
CALLED = re.compile(r"[\"“]|\b(?:doi|arxiv|pmid|isbn|openalex)\b|\b10\.\d{4,}/|\w:\w", re.I)


_REQUEST = re.compile(rf"\b{group('request among keywords')}\b", re.I)


def has_request_word(text: str) -> bool:
    """Return True if keywords may ask for something after all."""
    return bool(_REQUEST.search(text))


def asks(text: str, *, alone: bool = True) -> bool:
    """Return True if a text asks for something; a sentence of a longer text (not `alone`) must say so expressly."""
    if not alone:
        return text.rstrip(" \"'”)").endswith("?") or bool(_WISHES.match(text))
    return "?" in text or bool(_BEGINS.match(text) or _ASKS_BEHIND.search(text) or _PUBLICATIONS.search(text))


def named_result(text: str, known: Mapping[str, Clause]) -> str:
    """Return the named result or object that is nearly all of a question, or ""; `known` has the terms of words."""
    for name in named_results(text):
        first = re.split(r"[\s'’-]", name, maxsplit=1)[0]
        capital = text.lstrip().startswith(name) and _DESCRIBES.match(first) and not re.match(r"\w+[-'’]", name)
        rest = _content(text.replace(name, " "), known, without=_AROUND_RESULT)
        before = _content(text.partition(name)[0], known, without=_AROUND_RESULT)
        most = 1
        if _RESULT.search(name) and not before:
            most = _VERSION_WORDS
        if not capital and len(rest) <= most:
            return name
    return ""


def is_result(name: str) -> bool:
    """Return True if a name is that of a result, such as a theorem, and not of an object."""
    return bool(_RESULT.search(name))


def is_bare(text: str, known: Mapping[str, Clause]) -> bool:
    """Return True if a question is keywords without a sentence."""
    typed = _WORD.findall(text)
    return bool(typed) and all(known[each] for each in typed)


#: Marks that may stand between plain words.
_MARKS = str.maketrans("", "", " -?.'’")


def is_broad(text: str, known: Mapping[str, Clause]) -> bool:
    """Return True if a question is one or two plain words."""
    return text.strip().translate(_MARKS).isalpha() and 0 < len(_content(text, known)) <= _BROAD_WORDS


def _content(text: str, known: Mapping[str, Clause], without: frozenset[str] = frozenset()) -> list[str]:
    """Return the words of a text that have terms."""
    return [word for word in _WORD.findall(text) if known[word] and word.lower() not in without]


# References to one work: its identifier, its title, or its authors and year as in a footnote

#: A title has at least this many capitalized words.
_CAPITALS = 3
_IDENTIFIER = re.compile(
    r"(?<![\w.])(?:(?:doi\W{0,2})?10\.\d{4,9}/[^\s\"'<>]+"
    r"|(?:arxiv\W{0,3}|arxiv\.org/\w+/)(?:\d{4}\.\d{4,5}|[a-z.-]+/\d{7})(?:v\d+)?"
    r"|\d\d(?:0[1-9]|1[0-2])\.\d{4,5}(?:v\d+)?(?![\w.]*\d)"
    r"|pmid\W{0,2}\d{4,}|isbn[\s:=-]*\d[\dX -]{8,}|97[89][\d-]{10,14}|openalex\W{0,2}W?\d{3,}|W\d{6,}"
    r"|tag\s+0[0-9A-Z]{3}(?!\w)|(?!https?:)[a-z][a-z0-9.-]{2,}:[a-z]*\d[\w./-]*)",
    re.I,
)
_YEAR = r"\(?(?<![\w.-])(?:1[4-9]|20)\d\d(?![\w-]|\.\d)\)?"
#: Several authors, then a year or words between commas; or one author with initials and a year, with a venue in
#: capitals and the year, or with the year in brackets.
_NOTE = re.compile(
    rf"{_NAME}(?:,? et al\b\.?|(?:, {_NAME})*,? (?:and|&) {_NAME})[\s,:]+"
    rf"(?:(?:\S+\s+){{0,9}}?{_YEAR}|[\"“A-Z][^?]*,\s[^?]*)"
    rf"|(?:[A-Z]\.[ -]?)+{_NAME},?\s+(?:[^\s?]+\s+){{0,9}}?{_YEAR}"
    rf"|{_NAME}(?:'s)?,?\s+(?:[^\s?]+\s+){{0,9}}?[A-Z]{{2,5}},?\s+{_YEAR}\W*\Z"
    rf"|{_NAME},?\s+\([^()]*{_YEAR}\)"
)
#: The most words of a note.
_NOTE_WORDS = 16


def identifier_in(text: str) -> str:
    """Return the first identifier in a text as typed, or ""."""
    found = _IDENTIFIER.search(text)
    if found:
        return found[0].rstrip(".,;)")
    return ""


def footnote_reference(text: str) -> str:
    """Return the reference that a text begins with, in the style of a footnote, or "".

    Examples are `Ford and Fulkerson 1956` and `Okun, Potential GNP, ASA 1962`. The author need not be known here.
    """
    found = _NOTE.match(text.strip())
    if found and len(text.split()) <= _NOTE_WORDS:
        return found[0].strip()
    return ""


#: A title with nothing else around it but names, a year and a few words.
_TITLE = re.compile(
    r"[^\w\"“]*(?P<lead>(?:[\w'’.-]+\s+){0,4}?)(?:[\"“](?P<quoted>[^\"”]{8,})[\"”]"
    r"|(?P<plain>(?:[A-Z]|[A-Za-z]+['’]s\s+[A-Z])[\w'’-]*"
    r"(?:\s+(?:[A-Z0-9][\w'’-]*|of|the|and|in|on|for|to|a|an|with|from))+))"
    r"(?P<rest>(?:[\s,]+(?:[A-Z][\w'’.-]*|by|et|al|and|&|\(?\d{4}\)?|please))*)\W*"
)
_BEFORE_TITLE = words("before a title")


def lone_title(text: str) -> tuple[str, bool]:
    """Return the title that is nearly all of a question, or "", and whether it certainly is one.

    It is if it is quoted, and capitalized or followed by an author: other quoted words may be a phrase that texts must
    contain.
    """
    found = _TITLE.fullmatch(text)
    if not found or not _BEFORE_TITLE.issuperset(found["lead"].lower().split()):
        return "", False
    title = found["quoted"] or found["plain"]
    is_capitalized = sum(word[0].isupper() for word in title.split()) >= _CAPITALS
    if found["quoted"]:
        return title, is_capitalized or bool(re.search(r"\bby\b", found["rest"]))
    return title if is_capitalized else "", False
