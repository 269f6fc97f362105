"""The nouns of answers: the answer, its sentences and citations, and the events by which it comes about."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from rifflux.errors import RiffluxError
from rifflux.evidence.pack import EvidencePack
from rifflux.types import UNTOLD, Notice, Span

#: What answers are by that no model wrote.
EXTRACT = "extract"


@dataclass(frozen=True, slots=True)
class Citation:
    """A pointer from a sentence of an answer to a passage of its pack.

    `number` is the passage's in the pack, `span` where in the document's text that stands which speaks for the
    sentence, and `sentence` the place of the sentence among those of the answer, from 0.
    """

    number: int
    chunk_id: str
    span: Span
    sentence: int


@dataclass(frozen=True, slots=True)
class AnswerSentence:
    """A sentence of an answer, or a table or a piece of code. `span` is its place in the text, its marks left out.

    `support` is the share of its words that stand in what it cites: 1 for a quotation. Of a quoted block of several
    sentences, `answering` is the place in the answer's text of the one that answers.
    """

    text: str
    span: Span
    citations: tuple[int, ...]
    support: float
    answering: Span | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer that stands in the sources of its pack.

    `text` has the marks of its citations behind each sentence, such as `[1]`: the number of a passage of `pack`. Where
    it is `refused`, the text is empty, `reason` says why, and the pack holds the nearest passages. `by` is `extract`
    for sentences quoted word for word, else the model that wrote it. `searched` is what was searched for: another text
    than the `question` where that leans on the one before it. `confidence` is the relevance of the best passage.
    `withdrawn` are the sentences of the model that stand in no source, `dropped` counts citations of what is no source.
    `tokens` are those that the model took. `degraded` says what was missing, and `notes` what else is to be known.
    `chat` is the id of the chat that it was recorded in.
    """

    question: str
    searched: str
    text: str
    sentences: tuple[AnswerSentence, ...]
    citations: tuple[Citation, ...]
    refused: bool
    reason: str
    by: str
    pack: EvidencePack
    confidence: float = 0.0
    withdrawn: tuple[str, ...] = ()
    dropped: int = 0
    tokens: int = 0
    degraded: tuple[Notice, ...] = ()
    notes: tuple[Notice, ...] = ()
    milliseconds: Mapping[str, float] = field(default_factory=dict)
    chat: str = ""


@dataclass(frozen=True, slots=True)
class AnswerEvent:
    """An event of an answer that comes about; `name` is what it is called on every surface."""

    @property
    def name(self) -> str:
        """Return `sources`, `delta`, `cited`, `withdrawn`, `done` or `error`."""
        kind = type(self).__name__.lower()
        if kind == "failed":
            return "error"
        return kind


@dataclass(frozen=True, slots=True)
class Sources(AnswerEvent):
    """The passages that an answer may cite, before its first word; those nearest to it where it will be refused.

    Where a `model` is asked, `quotations` is the answer in quotations, to be read until the model's comes.
    """

    question: str
    searched: str
    pack: EvidencePack
    confidence: float
    notes: tuple[Notice, ...] = ()
    model: str = ""
    quotations: str = ""


@dataclass(frozen=True, slots=True)
class Delta(AnswerEvent):
    """More of the text. All of them, put together, are the text.

    `answering` is the place in it of the sentence of a quoted block that answers.
    """

    text: str
    answering: Span | None = field(default=None, metadata=UNTOLD)


@dataclass(frozen=True, slots=True)
class Cited(AnswerEvent):
    """A citation of the sentence that the deltas before it completed."""

    citation: Citation


@dataclass(frozen=True, slots=True)
class Withdrawn(AnswerEvent):
    """A sentence that the model wrote and that stands in no source: neither the text nor a delta has it.

    `at` is the place in the text where it would have stood.
    """

    text: str
    at: int
    reason: str


@dataclass(frozen=True, slots=True)
class Done(AnswerEvent):
    """The whole answer; nothing follows."""

    answer: Answer


@dataclass(frozen=True, slots=True)
class Failed(AnswerEvent):
    """There is no answer; nothing follows."""

    message: str
    error: RiffluxError = field(metadata=UNTOLD)
