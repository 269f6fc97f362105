"""The values of conversations and messages, and their form as stored documents."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from operator import attrgetter
from typing import Any, TypeVar

from rifflux.errors import InvalidArgument
from rifflux.store import Order, Selection, Store
from rifflux.text.dates import parse_time
from rifflux.types import LONGEST_TITLE, Document, Failure, Hit, Notice, Page, bounded_title

#: Document kinds. A conversation's document has no text; its messages are the documents of a namespace named after its
#: id.
CONVERSATION = "conversation"
MESSAGE = "message"
#: The fields that a user may change in each, and those among them that are not stored in metadata.
_EDITABLE = {
    CONVERSATION: ("title", "project", "archived"),
    MESSAGE: ("text", "role", "speaker", "created_at", "source"),
}
_COLUMNS = frozenset(("title", "text", "created_at"))
_EDITED = "edited"
_ADDED = "added"
#: The maximum number of turns of other branches between a message and its neighbours.
OTHERS = 6
#: The maximum number of failures listed in the error of an import without messages.
_MOST_FAILURES = 3


@dataclass(frozen=True, slots=True)
class Conversation:
    """A sequence of messages. `created_at` is an ISO 8601 date or None; `messages` is their number."""

    id: str
    title: str = ""
    project: str = ""
    archived: bool = False
    created_at: str | None = None
    messages: int = 0


@dataclass(frozen=True, slots=True)
class Message:
    """One turn of a conversation; its id is unique within the conversation.

    `role` is the kind of speaker (`user`, `assistant`, …), `speaker` the person's name, if known. `created_at` is an
    ISO 8601 date or None; messages are ordered by date, then by insertion. `source` names the origin. `branch` is empty
    for the active branch, which the service displayed last; for an earlier wording of a question or an alternative
    answer it is the id of the message at which that branch begins.
    """

    id: str
    conversation_id: str
    text: str
    role: str = "user"
    speaker: str = ""
    created_at: str | None = None
    source: str = ""
    branch: str = ""

    @property
    def label(self) -> str:
        """Return the display name of the speaker."""
        return self.speaker or self.role


@dataclass(frozen=True, slots=True, eq=False)
class WrittenMessage(Message):
    """A message that was just stored; `degraded` says why it has no vector yet, so that only word search finds it.

    It equals the same message read later: the state of its vector is not part of it.
    """

    degraded: tuple[Notice, ...] = ()

    def __eq__(self, other: object) -> bool:
        mine = attrgetter(*Message.__slots__)
        if isinstance(other, Message):
            return mine(self) == mine(other)
        return NotImplemented

    def __hash__(self) -> int:
        return hash(attrgetter(*Message.__slots__)(self))

    @classmethod
    def of(cls, message: Message, degraded: tuple[Notice, ...]) -> WrittenMessage:
        """Return a message with the state of its vectors."""
        return cls(**{name: getattr(message, name) for name in Message.__slots__}, degraded=degraded)


@dataclass(frozen=True, slots=True)
class VectorsMade:
    """The outcome of embedding stored messages: chunks embedded, chunks still waiting, and why in `degraded`."""

    embedded: int = 0
    waiting: int = 0
    degraded: tuple[Notice, ...] = ()


@dataclass(frozen=True, slots=True)
class Thread:
    """A conversation with its messages in order: some of them, or all if it is `whole`."""

    conversation: Conversation
    messages: tuple[Message, ...]
    whole: bool = False


@dataclass(frozen=True, slots=True)
class MessageHit:
    """A message that matches a question, with its conversation's title and the turns `before` and `after` it.

    `hit` is the matching chunk of the message, with the explanation of its rank.
    """

    message: Message
    title: str
    hit: Hit
    before: tuple[Message, ...] = ()
    after: tuple[Message, ...] = ()

    @property
    def score(self) -> float:
        """Return the score, comparable among the hits of one search."""
        return self.hit.score


@dataclass(frozen=True, slots=True)
class Group:
    """The matching messages of one conversation, best first."""

    conversation_id: str
    title: str
    hits: tuple[MessageHit, ...]


@dataclass(frozen=True, slots=True)
class MessageResults(Page[MessageHit]):
    """The messages that a search found, best first, with the trace of the search."""

    def grouped(self) -> list[Group]:
        """Return the hits grouped by conversation, in the order of each conversation's best hit."""
        groups: dict[str, list[MessageHit]] = {}
        for hit in self.hits:
            groups.setdefault(hit.message.conversation_id, []).append(hit)
        return [Group(id, hits[0].title, tuple(hits)) for id, hits in groups.items()]


@dataclass(frozen=True, slots=True)
class ImportReport:
    """The outcome of an import: new conversations, messages by outcome, and failures with their places.

    `recognized` counts exports per format; `skipped` counts what was left out, by reason; `undated` counts messages
    stored without a date because theirs could not be parsed. `notes` holds further remarks. `degraded` says why stored
    messages have no vector yet, so that only word search finds them.
    """

    conversations: int = 0
    added: int = 0
    changed: int = 0
    unchanged: int = 0
    removed: int = 0
    embedded: int = 0
    failed: tuple[Failure, ...] = ()
    seconds: float = 0.0
    degraded: tuple[Notice, ...] = ()
    recognized: Mapping[str, int] = field(default_factory=dict)
    skipped: Mapping[str, int] = field(default_factory=dict)
    undated: int = 0
    notes: tuple[Notice, ...] = ()

    @property
    def messages(self) -> int:
        """Return the number of messages found, new or not."""
        return self.added + self.changed + self.unchanged

    @property
    def nothing(self) -> str:
        """Return why an import found no messages: what was recognized, left out and unreadable."""
        parts = ["nothing was imported: no message was found"]
        if self.recognized:
            parts.append(f"recognized: {', '.join(self.recognized)}")
        if self.skipped:
            parts.append(f"left out: {', '.join(f'{count:,} {what}' for what, count in self.skipped.items())}")
        parts += [f"{failure.path} {failure.reason}" for failure in self.failed[:_MOST_FAILURES]]
        if len(self.failed) > _MOST_FAILURES:
            parts.append(f"and {len(self.failed) - _MOST_FAILURES:,} more that could not be read")
        return "; ".join(parts)

    def __add__(self, other: ImportReport) -> ImportReport:
        """Return the sum of both reports."""
        sums: dict[str, Any] = {}
        for name in self.__slots__:
            one: Any = getattr(self, name)
            if isinstance(one, Mapping):
                sums[name] = dict(Counter(one) + Counter(getattr(other, name)))
            else:
                sums[name] = one + getattr(other, name)
        return ImportReport(**sums)


def conversation_row(conversation: Conversation) -> Document:
    """Return the stored form of a conversation."""
    metadata = {"project": conversation.project, "archived": conversation.archived}
    return Document(conversation.id, "", conversation.title, CONVERSATION, conversation.created_at, metadata=metadata)


def conversation_of(row: Document, messages: int = 0) -> Conversation:
    """Rebuild a conversation from its stored form."""
    metadata = row.metadata
    return Conversation(row.key, row.title, metadata["project"], metadata["archived"], row.created_at, messages)


def message_row(message: Message, conversation: Conversation) -> Document:
    """Return the stored form of a message, including the fields that filters use."""
    metadata: dict[str, object] = {"role": message.role, "speaker": message.speaker, "source": message.source}
    if message.branch:
        metadata["branch"] = message.branch
    metadata |= {"project": conversation.project, "archived": conversation.archived}
    return Document(message.id, message.text, conversation.title, MESSAGE, message.created_at, metadata=metadata)


def message_of(row: Document, conversation_id: str) -> Message:
    """Rebuild a message from its stored form."""
    metadata = row.metadata
    return Message(
        row.key,
        conversation_id,
        row.text,
        metadata["role"],
        metadata["speaker"],
        row.created_at,
        metadata["source"],
        metadata.get("branch", ""),
    )


def branch_of(row: Document) -> str:
    """Return the branch of a stored message; empty for the active branch."""
    return str(row.metadata.get("branch", ""))


def retitled(row: Document, conversation: Conversation) -> Document:
    """Return a stored message with the current title, project and state of its conversation."""
    metadata = {**row.metadata, "project": conversation.project, "archived": conversation.archived}
    return replace(row, title=conversation.title, metadata=metadata)


# Three ways to merge a given row with the stored one


def as_given(given: Document, known: Document | None) -> Document:
    """Return the given row, ignoring the stored one."""
    return given


def as_edited(given: Document, known: Document | None) -> Document:
    """Return the row as changed or added by a user, marked with the changed fields."""
    if known is None:
        return _marked(given, {_ADDED})
    changed = {name for name in _EDITABLE[given.kind] if _value(given, name) != _value(known, name)}
    return _marked(given, {*_edited(known), *changed})


def as_imported(given: Document, known: Document | None) -> Document:
    """Return the row of a repeated import, with the user's own changes and additions preserved."""
    if known is None:
        return given
    edited = _edited(known)
    if _ADDED in edited:
        return known
    columns: dict[str, Any] = {name: getattr(known, name) for name in edited & _COLUMNS}
    metadata = {name: known.metadata[name] for name in edited - _COLUMNS}
    return _marked(replace(given, **columns, metadata={**given.metadata, **metadata}), edited)


def was_added(row: Document) -> bool:
    """Return True if a user added this message, rather than an import."""
    return _ADDED in _edited(row)


def _value(row: Document, name: str) -> object:
    if name in _COLUMNS:
        return getattr(row, name)
    return row.metadata[name]


def _edited(row: Document) -> frozenset[str]:
    """Return the names of the fields that a user changed."""
    return frozenset(row.metadata.get(_EDITED, ()))


def _marked(row: Document, names: Collection[str]) -> Document:
    if names:
        return replace(row, metadata={**row.metadata, _EDITED: sorted(names)})
    return row


# Validation of what callers pass; each refusal names what is allowed


LONGEST_ID = 512
#: The fields of a conversation and of a message that have the length limit of a title.
_SHORT = ("title", "project", "role", "speaker", "source")
Value = TypeVar("Value", Conversation, Message)


def completed(given: Conversation, known: Conversation) -> Conversation:
    """Fill missing fields of a given conversation from the stored one; its creation date is preserved."""
    return replace(
        given,
        title=given.title or known.title,
        project=given.project or known.project,
        created_at=known.created_at or given.created_at,
    )


def bounded(thread: Thread) -> Thread:
    """Return a thread whose titles and names are cut to the limit, since every result carries them."""
    return replace(
        thread,
        conversation=_bounded(thread.conversation),
        messages=tuple([_bounded(message) for message in thread.messages]),
    )


def _bounded(value: Value) -> Value:
    cut: dict[str, Any] = {name: bounded_title(getattr(value, name)) for name in _too_long(value)}
    return replace(value, **cut) if cut else value


def _too_long(value: Conversation | Message) -> list[str]:
    """Return the names of the short texts that are too long."""
    texts = {name: getattr(value, name, None) for name in _SHORT}
    return [name for name, text in texts.items() if isinstance(text, str) and len(text) > LONGEST_TITLE]


def checked_conversation(conversation: Conversation) -> Conversation:
    """Return a conversation that can be stored. Raises `InvalidArgument`."""
    _id("conversation", conversation.id)
    if not isinstance(conversation.archived, bool):
        raise InvalidArgument(f"conversation {conversation.id!r}: archived is True or False")
    return _checked(f"conversation {conversation.id!r}", conversation, "title", "project")


def checked_message(message: Message) -> Message:
    """Return a message that can be stored, without characters that cannot be encoded. Raises `InvalidArgument`."""
    _id("message", message.id)
    _id("conversation", message.conversation_id)
    name = f"message {message.id!r}"
    if not isinstance(message.role, str) or not message.role.strip():
        raise InvalidArgument(f"{name} needs a role, such as user or assistant")
    return _checked(name, message, "text", "role", "speaker", "source", "branch")


def _id(what: str, id: str) -> None:
    if not isinstance(id, str) or not id.strip() or len(id) > LONGEST_ID or not id.isprintable():
        raise InvalidArgument(f"a {what} needs an id of 1 to {LONGEST_ID} printable characters, not {id!r}")


def _checked(what: str, value: Value, *names: str) -> Value:
    """Return a value with a valid or absent date, and with encodable texts in the named fields."""
    date = value.created_at
    if not isinstance(date, str | None):
        raise InvalidArgument(f"{what}: created_at must be a string such as '2024-05-01T12:00:00Z', not {date!r}")
    if date is not None:
        try:
            parse_time(date)
        except InvalidArgument as error:
            raise InvalidArgument(f"{what}: created_at: {error}") from None
    texts: dict[str, Any] = {}
    for name in names:
        if not isinstance(text := getattr(value, name), str):
            raise InvalidArgument(f"{what}: {name} must be a string, not {text!r}")
        texts[name] = text.encode("utf-8", "replace").decode().replace("\0", "")
    for name in _too_long(value):
        raise InvalidArgument(f"{what}: {name} has more than {LONGEST_TITLE:,} characters: make it shorter")
    return replace(value, **texts)


def rows_in_order(store: Store, conversation_id: str) -> list[Document]:
    """Return the stored messages of a conversation by date, or all conversations."""
    return [row.document for row in store.catalog.documents(Selection(conversation_id), Order.OLDEST, with_text=True)]
