"""The identifiers of a paper, distinguished from those of the works that it mentions.

A page may contain many identifiers. One is the paper's own if its position and form show it:

- arXiv's stamp in the margin, or on a line by itself;
- the properties of the file;
- a publisher's statement on the first page: in the running head or foot, above the abstract, or in small print. Apart
  from the identifier it contains only bibliographic facts, such as journal, volume, dates and copyright;
- a citation of the paper itself: the sentence around the identifier contains the paper's title.

Identifiers in a marked footnote, a list of references, or any other sentence belong to other works, which are cited.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from rifflux.ingest.read.pdf_lines import Line
from rifflux.text.names import families, plain
from rifflux.text.schemes import parse_identifier
from rifflux.types import Identifier
from rifflux.works.importers.paper.front import Front
from rifflux.works.importers.paper.pages import SMALL, Pages, block_text, plain_line

_STAMP = re.compile(
    r"arXiv:\s*(?P<id>[\w./-]+?\d)(?:v\d+)?\s*\[(?P<category>[\w.-]+)\]\s*\d{1,2}\s*\w{3}\s*(?P<year>\d{4})"
)
_OLD_STAMP = re.compile(r"arXiv:\s*(?P<id>[a-z-]+/\d{7})(?:v\d+)?\s*\d{1,2}\s*\w{3}\s*(?P<year>\d{4})")
_DOI = re.compile(r"(?:\bdoi:?\s*|\bdoi\.org/)(10\.\d{4,9}/[^\s\"<>]+)", re.IGNORECASE)
#: The properties of a file that may contain its DOI within text.
_TEXT_PROPERTIES = ("subject", "keywords")

#: The raised or leading mark of a footnote.
_NOTE_MARK = re.compile(r"[*∗†‡§¶#]|\(?\d{1,2}[).]?\s|[a-z]\)\s|\[\w{1,12}\]")
#: The beginning of a sentence that mentions another work.
_MENTION = re.compile(
    r"\W*(?:see|cf|compare|comments?|repl(?:y|ies)|response|errat(?:um|a)|corrigend(?:um|a)|corrections?|addend(?:um|a)"
    r"|retraction|review|extends?|supersedes?|replaces?|follows|following|based|after|proof|original|related)\b",
    re.IGNORECASE,
)
#: The words that make up a publisher's statement of identity, apart from capitalized names.
_STATEMENT_WORD = re.compile(
    r"(?:an?|the|this|its|all|and|or|und|et|al|de[sr]?|die|of|in|on|at|as|by|for|via|is|was|has|been|held|no|found"
    r"|doi|digital|object|identifier|e?issn|isbn|id|url|article|paper|pages?|pp|vol(?:ume)?|issue|number|supplement"
    r"|journal|proceedings|conference|series|society|press|university|ltd|gmbh|edition|special|international"
    r"|copyright|authors?|licensed|licensee|open|access|rights|reserved|permission|please|how|cite|citation|date"
    r"|accepted|appear(?:ed|s)?|available|electronic(?:ally)?|final|first|form|authenticated|online|preprint"
    r"|publi(?:shed|cation|sher)|received|revised|submitted|title|version"
    r"|jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?"
    r"|nov(?:ember)?|dec(?:ember)?)",
    re.IGNORECASE,
)
#: Phrases of such statements whose single words may also mention another work.
_STATEMENT_RUN = re.compile(r"\b(?:to (?:appear|cite)|see front matter|available from|submitted to)\b", re.IGNORECASE)
_LETTERS = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")
_URL = re.compile(r"(?:https?://|www\.|(?:dx\.)?doi\.org/?)\S*", re.IGNORECASE)
#: A surname with initials before or after it.
_PERSON = re.compile(
    r"(?:\b[A-Z]\.[ -]*)+(?P<last>[A-Z][^\W\d_]+(?:[-'’][^\W\d_]+)*)"
    r"|(?P<first>[A-Z][^\W\d_]+(?:[-'’][^\W\d_]+)*),?\s+[A-Z]\.(?!\w)"
)
_SENTENCE_END = re.compile(r"(?<=[^\W\d_]{3})[.!?;]\s+(?=[^\W_])|(?<=\))[.!?;]\s+|(?<=\d)[.;]\s+(?=[^\W\d_])")
#: The minimum share of the title's words in a citation of the paper itself.
_OWN_TITLE = 0.7
#: In line heights: the maximum distance between lines of a paragraph.
_NEAR = 1.75


@dataclass(frozen=True, slots=True)
class ArxivStamp:
    """The stamp of arXiv on a first page: number, category and year."""

    number: str
    category: str
    year: str


@dataclass(frozen=True, slots=True)
class Identity:
    """The identifiers of a paper (`own`), and those of the works that its first page mentions.

    `contradicting` are several DOIs that all have the position and form of the paper's own.
    """

    own: tuple[Identifier, ...] = ()
    mentioned: tuple[Identifier, ...] = ()
    contradicting: tuple[str, ...] = ()


def stamp_of(pages: Pages, lists: Sequence[tuple[int, int]]) -> ArxivStamp | None:
    """Return the arXiv stamp of a first page: in the margin, or on a line by itself outside references and notes."""
    left_out = [*_listed(pages, lists), *(line for line in pages.notes if line.page == 1)]
    for text in (pages.margin, *(plain_line(line) for line in pages.first if not _is_part(line, left_out))):
        for form in (_STAMP, _OLD_STAMP):
            if text is pages.margin:
                found = form.search(text)
            else:
                found = form.match(text)
            if found:
                return ArxivStamp(found["id"], found.groupdict().get("category", ""), found["year"])
    return None


def identity_of(
    pages: Pages,
    front: Front,
    lists: Sequence[tuple[int, int]],
    facts: Mapping[str, str],
    stem: str,
    stamp: ArxivStamp | None,
) -> Identity:
    """Return the identifiers of a paper and of the works mentioned on its first page.

    `lists` are the spans of references among the lines, `facts` the properties of the file, and `stem` its name.
    """
    own = list(_arxiv(stem, stamp))
    stated = dict.fromkeys(_dois_of_properties(facts))
    mentioned: dict[Identifier, None] = {}
    printed: dict[Identifier, None] = {}
    for paragraph in _paragraphs(pages, front, lists):
        for sentence, identifier in _sentences(paragraph.text):
            is_statement = paragraph.official and _is_statement(sentence, front)
            if not paragraph.listed and (is_statement or _cites_itself(sentence, front.title)):
                printed[identifier] = None
            else:
                mentioned[identifier] = None
    found = [*(stated or printed)]
    if len(found) == 1:
        own += found
    cited = [each for each in (*mentioned, *(printed if stated else ())) if each not in own]
    if len(found) > 1:
        contradicting = tuple(map(str, found))
    else:
        contradicting = ()
    return Identity(tuple(dict.fromkeys(own)), tuple(cited), contradicting)


def _arxiv(stem: str, stamp: ArxivStamp | None) -> Iterator[Identifier]:
    """Yield the arXiv number of the stamp, or else of the file name."""
    known = parse_identifier(f"arxiv:{stamp.number}" if stamp else stem.replace("_", "/"))
    if known and known.scheme == "arxiv":
        yield known


def _dois_of_properties(facts: Mapping[str, str]) -> Iterator[Identifier]:
    """Yield the DOIs in the properties of a file."""
    if value := facts.get("doi", ""):
        known = parse_identifier(value) or parse_identifier(f"doi:{value}")
        if known:
            yield known
            return
    for name in _TEXT_PROPERTIES:
        for sentence, identifier in _sentences(facts.get(name, "")):
            if _is_bibliographic(sentence):
                yield identifier


# The first page in paragraphs


@dataclass(frozen=True, slots=True)
class _Paragraph:
    """A paragraph of the first page; `official` if publishers state a paper's identity in this position.

    A `listed` paragraph belongs to the references.
    """

    text: str
    official: bool
    listed: bool


def _paragraphs(pages: Pages, front: Front, lists: Sequence[tuple[int, int]]) -> Iterator[_Paragraph]:
    """Yield the paragraphs of the first page."""
    body = [line for line in pages.lines if line.page == 1]
    notes = [line for line in pages.notes if line.page == 1]
    listed = _listed(pages, lists)
    before_body = body[: front.end]
    top = max((line.y for line in body), default=0.0)
    foot = min((line.y for line in (*body, *notes)), default=0.0)
    abstract = frozenset(plain(front.abstract).split())
    for stack in _stacks(pages.first):
        text = block_text(stack, pages.words)
        first = stack[0]
        is_listed = any(_is_part(line, listed) for line in stack)
        if is_listed or abstract.issuperset(plain(text).split()):
            official = False
        elif _is_part(first, notes):
            official = not _begins_note(first)
        elif _is_part(first, body):
            official = _is_part(first, before_body) or first.size < SMALL * pages.body
        else:
            official = first.y > top or stack[-1].y < foot  # a running head or foot
        yield _Paragraph(text, official, is_listed)


def _listed(pages: Pages, lists: Sequence[tuple[int, int]]) -> list[Line]:
    """Return the reference lines on the first page."""
    return [line for span in lists for line in pages.lines[slice(*span)] if line.page == 1]


def _is_part(line: Line, others: Iterable[Line]) -> bool:
    """Return True if a line overlaps one of the others; columns may split the lines of a page differently."""
    return any(abs(line.y - each.y) < 1 and line.x0 < each.x1 and each.x0 < line.x1 for each in others)


def _begins_note(line: Line) -> bool:
    """Return True for the first line of a footnote, which begins with a mark."""
    has_raised_mark = line.text != line.words and not line.text.startswith(line.words[:1])
    return has_raised_mark or bool(_NOTE_MARK.match(line.text))


def _stacks(lines: Iterable[Line]) -> Iterator[list[Line]]:
    """Yield stacks of close lines of one size; each note begins its own."""
    for _, column in groupby(lines, key=lambda each: each.column):
        stack: list[Line] = []
        for line in column:
            if stack and not _goes_on(stack[-1], line):
                yield stack
                stack = []
            stack.append(line)
        if stack:
            yield stack


def _goes_on(before: Line, line: Line) -> bool:
    same_row = abs(before.y - line.y) < 0.3 * line.size
    is_near = same_row or 0 < before.y - line.y < _NEAR * max(before.size, line.size)
    return is_near and abs(before.size - line.size) < 0.1 * line.size and not _begins_note(line)


# What a sentence says of its identifier


def _sentences(text: str) -> Iterator[tuple[str, Identifier]]:
    """Yield each sentence that contains a DOI, without the DOI, and the DOI."""
    for found in _DOI.finditer(text):
        known = parse_identifier(found[1].rstrip(".,;)]"))
        if known is None:
            continue
        starts = [each.end() for each in _SENTENCE_END.finditer(text, 0, found.start())]
        start = starts[-1] if starts else 0
        following = _SENTENCE_END.search(text, found.end())
        end = following.start() if following else len(text)
        yield f"{text[start : found.start()]} {text[found.end() : end]}".strip(), known


def _cites_itself(sentence: str, title: str) -> bool:
    """Return True for a sentence that contains most words of the paper's title in order."""
    own = plain(title).split()
    words = iter(plain(sentence).split())
    matching = sum(word in words for word in own)
    return len(own) > 1 and matching >= _OWN_TITLE * len(own)


def _is_statement(sentence: str, front: Front) -> bool:
    """Return True for a publisher's statement of the paper's identity, which names no one but its authors."""
    people = [match["last"] or match["first"] for match in _PERSON.finditer(sentence)]
    own = families(front.authors)
    if people and not any(plain(name) in own for name in people):
        return False
    return _is_bibliographic(sentence)


def _is_bibliographic(sentence: str) -> bool:
    """Return True for a purely bibliographic sentence: capitalized names, numbers and words of publishing."""
    bare = _STATEMENT_RUN.sub(" ", _URL.sub(" ", sentence))
    if _MENTION.match(bare):
        return False
    return all(word[0].isupper() or _STATEMENT_WORD.fullmatch(word) for word in _LETTERS.findall(bare))
