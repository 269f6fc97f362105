"""The order of an answer: complete the question, gather evidence, refuse or write, and say how it came about."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from rifflux.answer.documented import documentation
from rifflux.answer.extract import Quotation, RankedBlocks, chosen, compares, marked, numbered, ranked
from rifflux.answer.gather import Evidence, Place, gather
from rifflux.answer.history import ASSISTANT, Turn, checked_history, completed, follows, item_meant
from rifflux.answer.model import EXTRACT, Answer, AnswerEvent, Done, Failed, Sources
from rifflux.answer.sufficient import Sufficiency, sufficiency
from rifflux.answer.support import SourcePassage
from rifflux.answer.writing import Draft, quoted, written
from rifflux.errors import ModelError, RiffluxError
from rifflux.evidence.pack import Citing, pack_digest
from rifflux.requests import QuestionRequest
from rifflux.session.arguments import checked_deadline, checked_filter, checked_query
from rifflux.session.federation import Source
from rifflux.session.searching import Searcher
from rifflux.text.turns import TurnLead, turn_lead
from rifflux.types import Filter, Hit, Notice, Span

if TYPE_CHECKING:
    from rifflux.models.chat import ChatModel
    from rifflux.models.streamed import Streaming

#: The passages that a refused answer is given with.
NEAREST = 3
#: The probability of an answer from which on a chat model is asked for what is refused without one.
POSSIBLE = 0.18
#: Tokens that a model may write of an answer, and of a question that it completes; seconds for the latter.
ANSWER_TOKENS = 1_024
REWRITE_TOKENS = 80
REWRITE_S = 1.5
#: Characters of a question that a model completed.
LONGEST_QUESTION = 400

_NOTHING_TO_QUOTE = "no text of these passages can be quoted"
_NOTHING_NEW = "these passages say no more than the answer before"


@dataclass(frozen=True)
class Answerer:
    """Answers questions from sources, whose first holds documents; with a `chat` model, in its words.

    `citing` says how documents are cited.
    """

    sources: Sequence[Source]
    citing: Citing
    chat: ChatModel | None = None

    def answer(self, request: QuestionRequest) -> Answer:
        """Return an answer. Raises what made it fail."""
        for event in self.answering(request):
            if isinstance(event, Failed):
                raise event.error
            if isinstance(event, Done):
                return event.answer
        raise AssertionError("the last event is an answer or an error")

    def answering(self, request: QuestionRequest, gone: Callable[[], bool] | None = None) -> Iterator[AnswerEvent]:
        """Stream the events of an answer; the last one is `Done` or `Failed`."""
        return self._run(request, gone or (lambda: False)).events()

    def look_up(self, request: QuestionRequest) -> Prepared:
        """Return what is found for a question before anything is refused or written."""
        return self._run(request, lambda: False).found()

    def _run(self, request: QuestionRequest, gone: Callable[[], bool]) -> _Run:
        checked_query(request.question)
        turns, notes = checked_history(request.history)
        answer_input = _AnswerInput(
            question=request.question,
            history=turns,
            filter=checked_filter(request.filter),
            top_k=request.top_k,
            max_tokens=request.max_tokens,
            deadline=checked_deadline(request.deadline_ms),
        )
        return _Run(self, answer_input, None if request.extract else self.chat, gone, notes)


@dataclass(frozen=True, slots=True)
class _AnswerInput:
    """A question with its history, filter and limits."""

    question: str
    history: Sequence[Turn]
    filter: Filter
    top_k: int
    max_tokens: int
    deadline: float | None


@dataclass(frozen=True, slots=True)
class Prepared:
    """The evidence for a question as it was `searched` for, its blocks in their order, and if it is enough.

    `given` are the answers before a question that was completed: they are not given again.
    """

    searched: str
    evidence: Evidence
    passages: Sequence[SourcePassage]
    ranking: RankedBlocks
    enough: Sufficiency
    given: Sequence[str] = ()


@dataclass
class _Run:
    """One question on its way to an answer; `chat` is None for one in quotations."""

    answerer: Answerer
    input: _AnswerInput
    chat: ChatModel | None
    gone: Callable[[], bool]
    notes: list[Notice] = field(default_factory=list)
    degraded: list[Notice] = field(default_factory=list)
    tokens: int = 0
    started: float = field(default_factory=time.perf_counter)

    def events(self) -> Iterator[AnswerEvent]:
        """Give the events; an error is the last one."""
        try:
            yield from self._events()
        except RiffluxError as error:
            yield Failed(str(error), error)

    def _events(self) -> Iterator[AnswerEvent]:
        found = self.found()
        searched = found.searched
        evidence = found.evidence
        enough = found.enough
        self.degraded += evidence.degraded
        self.notes += evidence.notes
        reason = enough.reason
        quotations: list[Quotation] = []
        may_answer = self.chat is not None and enough.probability >= POSSIBLE
        if reason and not may_answer:
            evidence = replace(evidence, pack=replace(evidence.pack, items=evidence.pack.items[:NEAREST]))
        elif not reason:
            quotations = chosen(found.ranking, found.given, comparing=compares(self.input.question))
            quotations = marked(quotations, found.ranking.question)
            if not self.chat:
                evidence, quotations = numbered(evidence, quotations)
        if enough.notice and not self.chat:
            self.notes.append(enough.notice)
        evidence = replace(evidence, pack=replace(evidence.pack, digest=pack_digest(evidence.pack)))
        sources = Sources(self.input.question, searched, evidence.pack, evidence.pack.confidence, tuple(self.notes))
        draft = Draft()
        by = EXTRACT
        if not self.chat or not (may_answer or not reason):
            yield sources
        else:
            preview = Draft()
            for _ in quoted(preview, quotations):
                pass
            yield replace(sources, model=self.chat.model, quotations=preview.text)
            embedder = found.ranking.question.embedder if found.ranking.question else None
            passages = [replace(each, embedder=embedder) for each in found.passages]
            yield from self._by_model(self.chat, searched, draft, passages)
            if self.gone():
                return
            if draft.sentences:
                by = self.chat.model
                reason = ""
            elif draft.declined:
                by = self.chat.model
                reason = f"{self.chat.model} finds no answer in these passages"
        if by == EXTRACT:
            self.degraded += found.ranking.missing
            if self.chat and enough.notice:
                self.notes.append(enough.notice)
            yield from quoted(draft, quotations)
        if not reason and not draft.sentences:
            reason = _NOTHING_NEW if found.given else _NOTHING_TO_QUOTE
        yield Done(self._answer(searched, evidence, draft, reason, by))

    def _answer(self, searched: str, evidence: Evidence, draft: Draft, reason: str, by: str) -> Answer:
        milliseconds = round((time.perf_counter() - self.started) * 1000, 3)
        return Answer(
            self.input.question,
            searched,
            draft.text,
            tuple(draft.sentences),
            tuple(draft.citations),
            refused=bool(reason),
            reason=reason,
            by=by,
            pack=evidence.pack,
            confidence=evidence.pack.confidence,
            withdrawn=tuple(draft.withdrawn),
            dropped=draft.dropped,
            tokens=self.tokens,
            degraded=tuple(dict.fromkeys(self.degraded)),
            notes=tuple(dict.fromkeys(self.notes)),
            milliseconds={**evidence.milliseconds, "answer": milliseconds},
        )

    def _by_model(
        self, chat: ChatModel, question: str, draft: Draft, passages: Sequence[SourcePassage]
    ) -> Iterator[AnswerEvent]:
        """Stream what the model writes; where it fails, what it wrote before that stands."""
        from rifflux.answer.prompts import answering

        messages = answering(question, passages, self.input.history)
        pieces = self._streaming(chat)(
            messages, max_tokens=ANSWER_TOKENS, deadline=self.input.deadline, gone=self.gone, spent=self._spent
        )
        try:
            yield from written(draft, pieces, passages)
        except ModelError as error:
            if draft.sentences:
                how = "the answer ends here"
            else:
                how = "sentences are quoted instead"
            self.degraded.append(Notice.of(error, "answer.model_failed", f"{error}; {how}"))
        else:
            if not draft.sentences and not draft.declined:
                text = f"nothing that {chat.model} wrote stands in the sources; sentences are quoted instead"
                self.degraded.append(Notice("answer.unsupported", text))
        finally:
            pieces.close()

    def found(self) -> Prepared:
        """Return what was found: a question that leans on the one before it is completed.

        One that does not seem to is completed, too, if that finds something better. A model completes only what nothing
        answers alone.
        """
        question = self.input.question
        history = self.input.history
        searcher = Searcher(self.answerer.sources[0].view)
        if not history:
            return self._looked_up(question)
        item = item_meant(question, history, searcher)
        own = f"{question} {item}".strip()
        alone: Prepared | None = None
        if not item and not follows(question, searcher):
            alone = self._looked_up(question)
        leans = alone is None or bool(alone.enough.reason)
        searched = (self._rewritten(question) if self.chat and leans else "") or completed(own, history, searcher)
        together = self._looked_up(searched, own)
        if alone and alone.enough.fits_better_than(together.enough):
            return alone
        return together

    def _looked_up(self, text: str, follow_up: str = "") -> Prepared:
        evidence = gather(
            self.answerer.sources,
            text,
            self.input.filter,
            self.answerer.citing,
            top_k=self.input.top_k,
            max_tokens=self.input.max_tokens,
            deadline=self.input.deadline,
        )
        passages = _passages(evidence)
        given: list[str] = []
        if follow_up:
            given = [turn.content for turn in self.input.history if turn.role == ASSISTANT]
        start = time.perf_counter()
        ranking = ranked(evidence, passages, follow_up, given)
        blocks = round((time.perf_counter() - start) * 1000, 3)
        evidence = replace(evidence, milliseconds={**evidence.milliseconds, "blocks": blocks})
        enough = sufficiency(evidence, ranking.blocks, is_completed=bool(follow_up))
        return Prepared(text, evidence, passages, ranking, enough, given)

    def _rewritten(self, question: str) -> str:
        """Return the question as the model completes it; empty where it does not in time."""
        from rifflux.answer.prompts import rewriting

        assert self.chat
        streaming = replace(self._streaming(self.chat), first_s=REWRITE_S, next_s=REWRITE_S)
        limit = time.perf_counter() + REWRITE_S
        if self.input.deadline:
            limit = min(limit, self.input.deadline)
        messages = rewriting(question, self.input.history)
        try:
            said = "".join(
                streaming(messages, max_tokens=REWRITE_TOKENS, deadline=limit, gone=self.gone, spent=self._spent)
            )
        except ModelError:
            return ""
        line = re.sub(r"<think>.*?(?:</think>|\Z)", "", said, flags=re.DOTALL).strip().partition("\n")[0].strip(" \"'")
        if 0 < len(line) <= LONGEST_QUESTION:
            return line
        return ""

    def _streaming(self, chat: ChatModel) -> Streaming:
        from rifflux.models.streamed import Streaming

        return Streaming(chat, self.answerer.sources[0].view.calls)

    def _spent(self, tokens: int) -> None:
        self.tokens += tokens


def _passages(evidence: Evidence) -> list[SourcePassage]:
    """Return the passages of the pack that have a text, as sentences are compared with them."""
    found: list[SourcePassage] = []
    leads: dict[str, TurnLead | None] = {}
    chunks: dict[Place, Sequence[Hit]] = {}
    for item in evidence.pack.items:
        if not item.text:
            continue
        source = evidence.found_of(item)
        hit = next((hit for hit in source.hits if hit.id == item.chunk_id), None)
        analyzer = source.searcher.analyzer.beside(source.query.languages.stands_for, hit.language if hit else "")
        is_code = hit is not None and hit.kind == "code"
        document = source.documents.get(hit.place) if hit else None
        lead: TurnLead | None = None
        documented: list[Span] = []
        if document and is_code:
            documented = _within(documentation(document.text), item.span)
        elif document:
            if document.text not in leads:
                leads[document.text] = turn_lead(document.text)
            lead = leads[document.text]
        sections: Sequence[tuple[int, str]] = ()
        if hit and hit.span != item.span:
            if hit.place not in chunks:
                chunks[hit.place] = source.searcher.view.store.catalog.chunks_of(*hit.place)
            sections = _sections(chunks[hit.place], item.span)
        found.append(SourcePassage(item, analyzer, is_code, lead, sections, documented=documented))
    return found


def _within(spans: Sequence[Span], outer: Span) -> list[Span]:
    """Return what of some spans lies within another one, counted from where that starts."""
    start, end = outer
    return [(max(0, each[0] - start), min(each[1], end) - start) for each in spans if each[0] < end and start < each[1]]


def _sections(chunks: Sequence[Hit], span: Span) -> list[tuple[int, str]]:
    """Return where the sections of a document begin within a span of it, and the headings of each."""
    inside = [each for each in chunks if each.span[0] < span[1] and span[0] < each.span[1]]
    return [(max(0, each.span[0] - span[0]), each.heading_path) for each in inside]
