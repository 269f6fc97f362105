"""A user's chats: questions with their answers, recorded to be read again, continued, named, exported and deleted.

A chat is a document without passages in a part of the index of its own: no search finds it, no answer is taken from
it, nobody but its user sees it, and it goes with its user.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Collection, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace

from rifflux.answer.history import ASSISTANT, USER
from rifflux.answer.model import Answer, AnswerEvent, Done
from rifflux.errors import Conflict, InvalidArgument, NotFound, ReadOnlyIndex
from rifflux.requests import ChatChanges, QuestionRequest, takes
from rifflux.session.arguments import checked_text
from rifflux.session.session import IndexView
from rifflux.store import DocumentChange, Order, Placed, Removal, Selection
from rifflux.types import UNTOLD, Document, Notice
from rifflux.types.nouns import iso_time

#: The part of an index that holds chats, their namespace in it, and the kind of document that one is.
PART = "chats"
NAMESPACE = "chats"
CHAT = "chat"
#: The reason that stands instead of an answer whose source its reader may not read any more.
NO_LONGER_SHARED = "this answer cites a document that is no longer shared with you"
#: What is given instead of an id to begin a chat.
NEW = "new"
#: Chats of a page of a list, unless another number is given.
PAGE = 100
#: Answers of a chat, and characters of the title that a chat gets from its first question.
MOST_ANSWERS = 500
LONGEST_TITLE = 80


@dataclass(frozen=True, slots=True)
class ChatSource:
    """A passage that an answer cites; `number` is its mark in the text.

    `owner` is whose documents it was among, empty where those were the user's own.
    """

    number: int
    document: str
    collection: str
    title: str
    heading_path: str
    chunk_id: str
    owner: str = field(default="", metadata=UNTOLD)


@dataclass(frozen=True, slots=True)
class ChatAnswer:
    """A question of a chat with its answer: `text` is empty where it was refused, and `reason` says why.

    It is empty, too, where it cites what its reader may not read any more.
    """

    question: str
    searched: str
    text: str
    reason: str
    by: str
    answered_at: str
    sources: tuple[ChatSource, ...] = ()


@dataclass(frozen=True, slots=True)
class Chat:
    """A chat of a user; `answers` are empty in a list of chats. Times are ISO 8601."""

    id: str
    title: str
    created_at: str
    updated_at: str
    count: int
    answers: tuple[ChatAnswer, ...] = ()

    @property
    def markdown(self) -> str:
        """Return the chat as Markdown: each question as a heading, its answer, and what that cites."""
        parts = [f"# {self.title}"]
        for each in self.answers:
            parts.append(f"## {' '.join(each.question.split())}")
            parts.append(each.text or f"*Not answered: {each.reason}*")
            parts += [f"[{source.number}] {source.title or source.document}" for source in each.sources]
        return "\n\n".join(parts) + "\n"


class Chats:
    """The chats of one user, in the part of the index that holds them; `view` is the user's of the documents."""

    def __init__(self, view: IndexView) -> None:
        self._view = view
        self._store = view.part(PART, view.profile).store
        self._now = view.session.now

    def list(self, after: str = "", limit: int = PAGE) -> list[Chat]:
        """Return so many chats without their answers, the one that was continued last first; `after` one of them.

        Raises `InvalidArgument` where there is no such chat.
        """
        place = None
        if after:
            place = (NAMESPACE, after)
            if self._store.catalog.document(*place) is None:
                raise InvalidArgument(f"no chat {after!r}: begin at the first page of the list of chats again")
        rows = self._store.catalog.documents(Selection(NAMESPACE), Order.NEWEST, after=place, most=limit)
        return [_chat_of(row.document) for row in rows]

    def get(self, id: str) -> Chat:
        """Return a chat with its answers; what cites a source that the user may not read any more is left out of them.

        Raises `NotFound`.
        """
        chat = self._recorded(id)
        owners = frozenset(source.owner for each in chat.answers for source in each.sources if source.owner)
        if not owners:
            return chat
        gone = owners - frozenset(self._view.reading().labels)
        return replace(chat, answers=tuple(_without(each, gone) for each in chat.answers))

    def _recorded(self, id: str) -> Chat:
        id = checked_text("the id of a chat", id)
        row = self._store.catalog.document(NAMESPACE, id)
        if row is None:
            raise NotFound(f"no chat {id!r}: take an id from the list of chats")
        answers = tuple(_answer_of(line) for line in row.text.splitlines())
        return replace(_chat_of(row), answers=answers)

    @takes(ChatChanges)
    def edit(self, id: str, request: ChatChanges) -> Chat:
        """Give a chat another title. Raises `NotFound` and `InvalidArgument`."""
        title = " ".join(checked_text("title", request.title).split())
        if not title:
            raise InvalidArgument("a title has at least one character")
        with self._store.transaction():
            self._put(replace(self._recorded(id), title=title))
        return self.get(id)

    def delete(self, id: str) -> None:
        """Delete a chat for good. Raises `NotFound`."""
        with self._store.transaction():
            self._recorded(id)
            self._store.catalog.write(Removal(NAMESPACE, [id]))

    def continued(self, request: QuestionRequest) -> QuestionRequest:
        """Return a question with the turns of its chat before it. Raises `NotFound`."""
        if request.chat in (None, NEW):
            return request
        history: list[Mapping[str, str]] = []
        for each in self.get(request.chat).answers:
            if each.text:
                history.append({"role": USER, "content": each.question})
                history.append({"role": ASSISTANT, "content": each.text})
        return replace(request, history=(*history, *request.history))

    def recording(self, events: Iterator[AnswerEvent], id: str) -> Iterator[AnswerEvent]:
        """Pass on the events of an answer, which is added to a chat once it is done."""
        for event in events:
            if isinstance(event, Done):
                event = Done(self.recorded(event.answer, id))
            yield event

    def recorded(self, answer: Answer, id: str) -> Answer:
        """Add an answer to a chat, and return it with the chat's id; with a notice where nothing can be recorded."""
        try:
            return replace(answer, chat=self.record(answer, id).id)
        except ReadOnlyIndex as error:
            notice = Notice.of(error, "chat.read_only", f"this answer is not recorded: {error}")
            return replace(answer, notes=(*answer.notes, notice))

    def record(self, answer: Answer, id: str = NEW) -> Chat:
        """Add an answer to a chat, or begin one with it. Raises `NotFound`, and `Conflict` for a chat that is full."""
        moment = iso_time(self._now(), "auto")
        cited = {each.number for each in answer.citations}
        view = self._view.reading()
        owners = {label: owner for owner, label in view.labels.items() if not view.owns(owner)}
        sources = [
            ChatSource(
                number=item.number,
                document=item.key,
                collection=item.collection,
                title=item.title,
                heading_path=item.heading_path,
                chunk_id=item.chunk_id,
                owner=owners.get(item.collection, ""),
            )
            for item in answer.pack.items
            if item.number in cited
        ]
        made = ChatAnswer(
            question=answer.question,
            searched=answer.searched,
            text=answer.text,
            reason=answer.reason,
            by=answer.by,
            answered_at=moment,
            sources=tuple(sources),
        )
        with self._store.transaction():
            if id == NEW:
                title = " ".join(answer.question.split())
                if len(title) > LONGEST_TITLE:
                    title = title[:LONGEST_TITLE].rsplit(" ", 1)[0] + "…"
                chat = Chat(f"chat{secrets.token_hex(8)}", title, moment, moment, 0)
            else:
                chat = self._recorded(id)
            if chat.count == MOST_ANSWERS:
                raise Conflict(f"this chat has {MOST_ANSWERS} answers, and holds no more: begin another one")
            chat = replace(chat, updated_at=moment, count=chat.count + 1, answers=(*chat.answers, made))
            self._put(chat)
        return chat

    def _put(self, chat: Chat) -> None:
        text = "\n".join(json.dumps(asdict(each), ensure_ascii=True) for each in chat.answers)
        metadata = {"count": chat.count, "begun": chat.created_at}
        row = Document(chat.id, text, chat.title, CHAT, chat.updated_at, metadata=metadata)
        self._store.catalog.write(Placed(NAMESPACE, DocumentChange(row, chat.id, ())))


def _chat_of(row: Document) -> Chat:
    """Return a chat without its answers: documents are in order of the moment that they were created at."""
    return Chat(row.key, row.title, row.metadata["begun"], row.created_at or "", row.metadata["count"])


def _without(answer: ChatAnswer, gone: Collection[str]) -> ChatAnswer:
    """Return an answer without its text and sources if one of these is of an owner whose documents are gone."""
    if any(source.owner in gone for source in answer.sources):
        return replace(answer, text="", reason=NO_LONGER_SHARED, sources=())
    return answer


def _answer_of(line: str) -> ChatAnswer:
    row = json.loads(line)
    sources = tuple(ChatSource(**each) for each in row.pop("sources"))
    return ChatAnswer(**row, sources=sources)
