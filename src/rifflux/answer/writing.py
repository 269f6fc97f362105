"""Write an answer sentence by sentence: quotations, or what a model streams, as far as it stands in the sources."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from rifflux.answer.extract import Quotation
from rifflux.answer.model import AnswerEvent, AnswerSentence, Citation, Cited, Delta, Withdrawn
from rifflux.answer.prompts import NO_ANSWER
from rifflux.answer.support import SourcePassage, Supported, code_in, supported
from rifflux.text.sentences import sentence_ends
from rifflux.types import Span

#: Sentences of a model's answer that are read.
MOST_SENTENCES = 60
#: Reasoning that some models think aloud before they answer.
_THOUGHT = re.compile(r"\s*<think(?:ing)?>", re.IGNORECASE)
_THOUGHT_END = re.compile(r"</think(?:ing)?>", re.IGNORECASE)
_MARK = re.compile(
    r"\s*[\[【]\s*(?:(?:source|passage|quelle|\^)\s*)?(\d[\d\s,;–-]*)(?:†[^\]】]*)?[\]】]", re.IGNORECASE
)
_CUT_MARK = re.compile(r"\s*[\[【][\d\s,;]*\Z")
_NUMBERS = re.compile(r"\d+")
_FENCED = re.compile(r"\s*(```|~~~)[^\n]*\n(.*?)(?:\n\s*\1\s*)?\Z", re.DOTALL)
_ITEM = re.compile(r"\s*(?:[-*+•]|\d{1,3}[.)])\s+")
_HEADING = re.compile(r"\A\s*#{1,6}\s+")
_WORD = re.compile(r"\w")

# What a reader's program might take for markup is no part of a sentence.
_ELEMENTS = (
    "a abbr address applet area article aside audio b base bdi bdo big blockquote body br button canvas caption center"
    " cite code col data dd del details dfn dialog dir div dl dt em embed fieldset figure font footer form frame"
    " frameset h1 h2 h3 h4 h5 h6 head header hgroup hr html i iframe image img input ins kbd label legend li link"
    " listing main map mark marquee math menu meta meter nav noscript object ol optgroup option output p param picture"
    " plaintext portal pre progress q rp rt ruby s samp script search section select slot small source span strike"
    " strong style sub summary sup svg table tbody td template textarea tfoot th thead time title tr track tt u ul var"
    " video wbr xmp"
)
_TAG = re.compile(
    rf"<(?:/?(?:{'|'.join(_ELEMENTS.split())})\b[^<>]*|/[^<>]*|!(?:--)?[^<>]*|\?[^<>]*|[a-z][\w:-]*\s[^<>]*=[^<>]*)(?:>|\Z)",
    re.IGNORECASE,
)
_ANGLED = re.compile(r"</?[a-z][^<>]*>", re.IGNORECASE)
_IMAGE = re.compile(r"!\[([^\[\]]*)\]\s*(?:\([^()]*(?:\([^()]*\)[^()]*)*\)?|\[[^\[\]]*\])")
_LINK = re.compile(r"\[([^\[\]]*)\]\([^()]*(?:\([^()]*\)[^()]*)*\)?")
_STRONG = re.compile(r"(\*\*|__)(?=\S)(.+?)(?<=\S)\1")
#: What has no shape of its own, and could make a text look like another one.
_UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff]")

_UNSUPPORTED = "it stands in no source"


@dataclass
class Draft:
    """An answer as far as it is written."""

    text: str = ""
    sentences: list[AnswerSentence] = field(default_factory=list)
    citations: list[Citation] = field(default_factory=list)
    withdrawn: list[str] = field(default_factory=list)
    dropped: int = 0
    declined: bool = False

    def add(
        self, text: str, found: Supported, apart: str, *, behind: str = " ", answering: Span | None = None
    ) -> Iterator[AnswerEvent]:
        """Add a sentence with its marks, `apart` from those before it, and give the events that say so."""
        apart = apart if self.text else ""
        start = len(self.text) + len(apart)
        numbers = tuple(dict.fromkeys(passage.item.number for passage, _ in found.passages))
        added = f"{apart}{text}{behind}{''.join(f'[{number}]' for number in numbers)}"
        self.text += added
        place = len(self.sentences)
        within: Span | None = None
        if answering:
            within = (len(apart) + answering[0], len(apart) + answering[1])
            answering = (start + answering[0], start + answering[1])
        self.sentences.append(AnswerSentence(text, (start, start + len(text)), numbers, found.support, answering))
        yield Delta(added, within)
        for passage, span in found.passages:
            citation = Citation(passage.item.number, passage.item.chunk_id, span, place)
            self.citations.append(citation)
            yield Cited(citation)

    def withdraw(self, text: str) -> Iterator[AnswerEvent]:
        """Note a sentence that is no part of the answer."""
        self.withdrawn.append(text)
        yield Withdrawn(text, len(self.text), _UNSUPPORTED)


def quoted(draft: Draft, quotations: Iterable[Quotation]) -> Iterator[AnswerEvent]:
    """Write sentences word for word, each with the passage that it is of."""
    for each in quotations:
        found = Supported(((each.passage, each.span),), 1.0)
        apart = "\n\n" if each.is_whole or each.label else "\n"
        answering = each.answering
        if answering:
            label = len(each.labelled) - len(each.text)
            answering = (label + answering[0], label + answering[1])
        behind = "\n" if each.is_whole else " "
        yield from draft.add(each.labelled, found, apart, behind=behind, answering=answering)


def written(draft: Draft, pieces: Iterable[str], passages: Sequence[SourcePassage]) -> Iterator[AnswerEvent]:
    """Write what a model streams, each sentence once it is whole and as far as it stands in a passage.

    Its citations are moved to passages in which it stands, and one that stands in none is withdrawn. What the model
    did not finish is left out.
    """
    for raw in _sentences(pieces):
        if _declines(raw) and not draft.sentences:
            draft.declined = True
            return
        yield from _checked(draft, raw, passages)
        if len(draft.sentences) + len(draft.withdrawn) >= MOST_SENTENCES:
            return


def _sentences(pieces: Iterable[str]) -> Iterator[str]:
    """Give the sentences of a stream with what stands around them, without what a model thinks aloud."""
    rest = ""
    thinks = False
    begun = False
    for piece in pieces:
        rest += piece
        if not begun:
            thinks = thinks or bool(_THOUGHT.match(rest))
            if thinks:
                if not (end := _THOUGHT_END.search(rest)):
                    continue
                rest = rest[end.end() :]
                thinks = False
            elif "<think".startswith(rest.strip().lower()[:6]) and len(rest.strip()) < len("<thinking>"):
                continue  # it may still become one
            begun = True
        while end_at := sentence_ends(rest, last=False):
            yield rest[:end_at]
            rest = rest[end_at:]
    while rest and not thinks:
        end_at = sentence_ends(rest, last=True) or len(rest)
        yield rest[:end_at]
        rest = rest[end_at:]


def _declines(raw: str) -> bool:
    return re.sub(r"[^A-Z]+", " ", raw.upper()).strip() == NO_ANSWER


def _checked(draft: Draft, raw: str, passages: Sequence[SourcePassage]) -> Iterator[AnswerEvent]:
    """Write a sentence, or withdraw it."""
    blanks = raw[: len(raw) - len(raw.lstrip())]
    if blanks.count("\n") > 1:
        apart = "\n\n"
    elif "\n" in blanks:
        apart = "\n"
    else:
        apart = " "
    if fenced := _FENCED.match(raw):
        code = _UNSEEN.sub("", fenced[2]).strip("\n")
        if passage := code_in(code, passages):
            found = Supported(((passage, passage.item.span),), 1.0)
            yield from draft.add(f"```\n{code}\n```", found, "\n\n", behind="\n")
        elif _WORD.search(code):
            yield from draft.withdraw(code)
        return
    numbers, text = _marks(raw)
    text = cleaned(text, passages)
    if not _WORD.search(text):
        return
    by_number = {each.item.number: each for each in passages}
    draft.dropped += sum(number not in by_number for number in numbers)
    cited = [by_number[number] for number in numbers if number in by_number]
    if found_in := supported(_ITEM.sub("", text, count=1), cited, passages):
        yield from draft.add(text, found_in, apart)
    else:
        yield from draft.withdraw(text)


def _marks(raw: str) -> tuple[list[int], str]:
    """Return the numbers that a sentence cites, each once, and the sentence without its marks."""
    numbers = [int(number[:9]) for mark in _MARK.finditer(raw) for number in _NUMBERS.findall(mark[1])]
    return list(dict.fromkeys(numbers)), _CUT_MARK.sub("", _MARK.sub("", raw))


def cleaned(text: str, passages: Sequence[SourcePassage] = ()) -> str:
    """Return a sentence as plain text: without links, images, what looks like an element of HTML, and the unseen.

    What stands in angle brackets in a passage too, such as `Vec<T>`, stays, unless HTML has an element of that name.
    """

    def literal(found: re.Match[str]) -> str:
        if any(found[0] in each.item.text for each in passages):
            return found[0]
        return ""

    text = _UNSEEN.sub("", text)
    for _ in range(3):  # what is taken out may leave another one
        before = text
        text = _ANGLED.sub(literal, _TAG.sub("", _LINK.sub(r"\1", _IMAGE.sub(r"\1", text))))
        if text == before:
            break
    else:
        text = text.replace("<", "")
    return _STRONG.sub(r"\2", _HEADING.sub("", text)).strip()
