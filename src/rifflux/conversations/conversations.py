"""A user's conversations: adding, changing, importing and searching messages."""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from rifflux.conversations.model import (
    OTHERS,
    Conversation,
    ImportReport,
    Message,
    MessageHit,
    MessageResults,
    Thread,
    VectorsMade,
    WrittenMessage,
    as_edited,
    as_given,
    as_imported,
    bounded,
    checked_conversation,
    checked_message,
    completed,
    conversation_of,
    conversation_row,
    message_of,
    rows_in_order,
)
from rifflux.errors import Conflict, Cure, InvalidArgument, NotFound, NothingImported
from rifflux.requests import (
    HYBRID,
    LEXICAL,
    ConversationChanges,
    ConversationRequest,
    ConversationsFileRequest,
    ConversationsRequest,
    MessageChanges,
    MessageRequest,
    MessagesRequest,
    takes,
)
from rifflux.session.arguments import checked_period, checked_text
from rifflux.session.intake import UNBOUNDED, Intake
from rifflux.session.policies import HYBRID_SEARCH, Policies
from rifflux.session.searching import Searcher
from rifflux.session.session import IndexView
from rifflux.session.writing import Embedded, Writer
from rifflux.store import DocumentChange, Placed, Removal, Selection
from rifflux.types import Document, Failure, Hit, Notice, Progress

if TYPE_CHECKING:
    from rifflux.conversations.importers.base import Item, Tally
    from rifflux.conversations.writing import Merge, MessageWriter

#: The namespace of the conversations' own documents; no conversation id is empty.
CONVERSATIONS = ""
#: The longest page, and the maximum number of neighbouring turns on each side of a message.

#: The maximum number of conversations per transaction of an import, and of messages before another transaction begins.
#: Other writers wait for a whole transaction before each of their own, and an upload has five.
TOGETHER = MESSAGES_TOGETHER = 16

Value = TypeVar("Value", Conversation, Message)
#: The notice of a search by words alone that finds nothing.
BY_WORDS_ALONE = Notice(
    "messages.lexical",
    "messages are searched by their words alone; an administrator may have them searched by meaning too",
    Cure.POLICY,
    {"policy": "hybrid_search", "value": "on"},
)


class Conversations:
    """The conversations of one user, over a view of the part of the index that holds them.

    A message is found through its own words and those of the turns around it, and by meaning if the policy
    `hybrid_search` is on. New messages are embedded immediately if that policy is on or if `embed` is set.
    """

    def __init__(self, view: IndexView, policies: Policies) -> None:
        self._view = view
        self._store = view.store
        self._writer = Writer(view)
        self._policies = policies

    @property
    def hybrid(self) -> bool:
        """Return True if messages are also searched by meaning, which an administrator decides."""
        return bool(self._policies.get(HYBRID_SEARCH))

    # Conversations

    @takes(ConversationRequest)
    def add(self, request: ConversationRequest) -> Conversation:
        """Create a conversation, by default with a new id. Raises `InvalidArgument`, also for an existing id."""
        id = request.id or secrets.token_hex(8)
        created_at = request.created_at or _now()
        conversation = Conversation(id, request.title, request.project, request.archived, created_at)
        checked_conversation(conversation)
        with self._store.transaction():
            if self._store.catalog.document(CONVERSATIONS, conversation.id):
                raise Conflict(f"there is a conversation {conversation.id!r} already: edit it, or leave out its id")
            self._put(conversation_row(conversation))
        return conversation

    @takes(ConversationChanges)
    def edit(self, id: str, request: ConversationChanges) -> Conversation:
        """Change the given fields of a conversation; later imports preserve them. Raises `NotFound`."""
        with self._store.transaction():
            known = self.get(id)
            edited = checked_conversation(_changed(known, **vars(request)))
            if edited != known:
                self._put(as_edited(conversation_row(edited), self._row(id)))
                self._messages().retitle(edited)
        return edited

    def delete(self, id: str) -> int:
        """Delete a conversation with all its messages and return their number. Raises `NotFound`."""
        with self._store.transaction():
            self.get(id)
            removed = self._store.catalog.write(Removal(id, [row.key for row in rows_in_order(self._store, id)]))
            self._store.catalog.write(Removal(CONVERSATIONS, [id]))
        return removed

    def get(self, id: str) -> Conversation:
        """Return a conversation. Raises `NotFound`."""
        return conversation_of(self._row(id), self._count(id))

    def _count(self, namespace: str) -> int:
        return sum(count for _, count in self._store.catalog.values("namespace", Selection(namespace)))

    def _row(self, id: str) -> Document:
        row = self._store.catalog.document(CONVERSATIONS, id)
        if row is None:
            raise NotFound(f"no conversation {id!r}: take an id from the list of conversations, or from a search")
        return row

    @takes(ConversationsRequest)
    def list(self, request: ConversationsRequest) -> list[Conversation]:
        """Return conversations by date, optionally those of a project or by archived state."""
        project = request.project
        archived = request.archived
        rows = rows_in_order(self._store, CONVERSATIONS)
        counts = dict(self._store.catalog.values("namespace", Selection(), len(rows) + 1))
        found = [conversation_of(row, counts.get(row.key, 0)) for row in rows]
        return [each for each in found if project in (None, each.project) and archived in (None, each.archived)]

    def counts(self) -> Mapping[str, int]:
        """Count the conversations and their messages."""
        own = self._count(CONVERSATIONS)
        return {"conversations": own, "messages": self._store.totals().documents - own}

    def _put(self, row: Document) -> None:
        self._store.catalog.write(Placed(CONVERSATIONS, DocumentChange(row, row.key, ())))

    # Messages

    def messages(self, conversation_id: str) -> Sequence[Message]:
        """Return the messages of a conversation in order. Raises `NotFound`."""
        self.get(conversation_id)
        return [message_of(row, conversation_id) for row in rows_in_order(self._store, conversation_id)]

    def message(self, conversation_id: str, id: str) -> Message:
        """Return a message. Raises `NotFound`."""
        if conversation_id != CONVERSATIONS:
            row = self._store.catalog.document(conversation_id, id)
        else:
            row = None
        if row is None:
            raise NotFound(f"no message {id!r} in a conversation {conversation_id!r}: take its id from a search")
        return message_of(row, conversation_id)

    @takes(MessageRequest)
    def add_message(self, conversation_id: str, request: MessageRequest) -> WrittenMessage:
        """Add a message to a conversation, dated now if no date is given.

        Raises `NotFound` for an unknown conversation and `Conflict` for an existing id.
        """
        id = request.id or secrets.token_hex(8)
        created_at = request.created_at or _now()
        message = checked_message(
            Message(id, conversation_id, request.text, request.role, request.speaker, created_at, request.source)
        )
        with self._store.transaction():
            conversation = self.get(conversation_id)
            if self._store.catalog.document(conversation_id, id):
                raise Conflict(f"there is a message {id!r} already: edit it, or leave out the id")
            _, changes = self._messages().put(conversation, [message], as_edited)
        return WrittenMessage.of(message, self._embed(changes, request.embed).degraded)

    @takes(MessageChanges)
    def edit_message(self, conversation_id: str, id: str, request: MessageChanges) -> WrittenMessage:
        """Change the given fields of a message; only the windows that contain it are embedded again.

        Raises `NotFound`.
        """
        changes = dict(vars(request))
        embed = changes.pop("embed")
        with self._store.transaction():
            message = checked_message(_changed(self.message(conversation_id, id), **changes))
            _, rows = self._messages().put(self.get(conversation_id), [message], as_edited)
        return WrittenMessage.of(message, self._embed(rows, embed).degraded)

    def delete_message(self, conversation_id: str, id: str, *, embed: bool | None = None) -> None:
        """Delete a message. Raises `NotFound`."""
        with self._store.transaction():
            self.message(conversation_id, id)
            changes = self._messages().remove(conversation_id, id)
        self._embed(changes, embed)

    def put(self, thread: Thread, *, embed: bool | None = None) -> ImportReport:
        """Store a conversation with the given messages; other messages remain unless the thread is `whole`.

        Unlike an import, it overwrites the user's edits.
        """
        start = time.perf_counter()
        report, changes = self._bring(thread, as_given)
        made = self._embed(changes, embed)
        seconds = round(time.perf_counter() - start, 3)
        return replace(report, embedded=made.chunks, degraded=made.degraded, seconds=seconds)

    def import_files(
        self,
        *paths: str | Path,
        format: str | None = None,
        project: str | None = None,
        embed: bool | None = None,
        progress: Progress | None = None,
    ) -> ImportReport:
        """Import conversations from the exports of services: zips, files and folders; unchanged ones are skipped.

        The user's edits since the first import are preserved: title, project, archived state, message texts and added
        messages. Deleted conversations and messages are imported again. `format` is one of `importers.FORMATS`,
        recognized by content if omitted. `project` is assigned to all conversations. Failures are reported with their
        places while the rest continues; `progress` receives the number of messages read. Raises `NotFound` for a path
        that does not exist, before reading anything, and `NothingImported` if no message was found.
        """
        from rifflux.conversations.importers import Tally
        from rifflux.conversations.importers.sent import read_own

        tally = Tally()
        items = read_own(paths, format, tally, self._view.session.reader_limits)
        return self._import(items, tally, project, embed, progress)

    @takes(ConversationsFileRequest)
    def import_upload(self, name: str, data: bytes, request: ConversationsFileRequest) -> ImportReport:
        """Import one uploaded export, as `import_files` does; `name` is its file name.

        It is read in a separate process limited to 512 MB and 30 s; if it exceeds them, nothing is stored. Each
        conversation is stored completely or not at all. Vectors not made within `embed_seconds` are reported in
        `degraded` and made later. Raises `InvalidArgument`, before storing anything, for more chunks than `intake`
        allows; a conversation with an overlong message is reported as failed.
        """
        from rifflux.conversations.importers import Tally, checked_format
        from rifflux.conversations.importers.sent import LIMITS, read_sent

        intake = request.intake or UNBOUNDED
        tally = Tally()
        name = checked_text("the name of a file", name)
        limits = replace(self._view.session.reader_limits, answer_mb=LIMITS.answer_mb)
        with read_sent(name, data, checked_format(request.format), tally, limits, intake.place) as found:
            if intake.may_exceed(found.messages, found.characters):
                self._check_chunks(found.items(), intake)
            return self._import(
                found.items(), tally, request.project, request.embed, None, request.embed_seconds, intake, found.count
            )

    def _check_chunks(self, items: Iterable[Item], intake: Intake) -> None:
        """Raise `InvalidArgument` if the conversations have more chunks than one import may add."""
        prepare = self._messages().turns
        chunks = 0
        for item in items:
            if isinstance(item, Thread):
                chunks += sum(prepare.count_chunks(message.text) for message in item.messages)
                intake.check_request(chunks)

    def _import(
        self,
        items: Iterable[Item],
        tally: Tally,
        project: str | None,
        embed: bool | None,
        progress: Progress | None,
        embed_seconds: float | None = None,
        intake: Intake = UNBOUNDED,
        total: int | None = None,
    ) -> ImportReport:
        start = time.perf_counter()
        report = ImportReport()
        stored = 0
        intake.report("store", stored, total)
        for group in _groups(items):
            stored += len(group)
            report += self._import_group(group, project, intake, stored, total)
            if progress:
                progress("read", report.messages, None)
        report = replace(
            report,
            recognized=dict(tally.recognized),
            skipped=dict(tally.skipped),
            undated=tally.undated,
            notes=tuple(Notice(code, text) for text, code in tally.notes.items()),
        )
        if not report.messages:
            raise NothingImported(report.nothing)
        made = Embedded()
        if self.hybrid if embed is None else embed:
            made = self._writer.embed_imported(progress, embed_seconds)
        return replace(
            report, embedded=made.chunks, degraded=made.degraded, seconds=round(time.perf_counter() - start, 3)
        )

    def _import_group(
        self, group: Sequence[Item], project: str | None, intake: Intake, done: int, total: int | None
    ) -> ImportReport:
        """Store conversations in one transaction, or each in its own if one of them cannot be stored.

        Progress (`done` of `total`) is reported inside the transaction, so that cancelling there rolls it back.
        """
        try:
            with self._store.transaction():
                report = self._imported(group, project, intake)
                intake.report("store", done, total)
                return report
        except InvalidArgument:
            report = ImportReport()
            for item in group:
                try:
                    report += self._imported([item], project, intake)
                except InvalidArgument as error:
                    assert isinstance(item, Thread)
                    report += ImportReport(failed=(Failure.of(item.conversation.id, error),))
            intake.report("store", done, total)
            return report

    def _imported(self, items: Sequence[Item], project: str | None, intake: Intake) -> ImportReport:
        """Store conversations. Raises `InvalidArgument` for one that cannot be stored."""
        report = ImportReport()
        for item in items:
            if isinstance(item, Failure):
                report += ImportReport(failed=(item,))
                continue
            thread = item
            if project is not None:
                thread = replace(thread, conversation=replace(thread.conversation, project=project))
            report += self._bring(bounded(thread), as_imported, intake)[0]
        return report

    def _bring(
        self, thread: Thread, merge: Merge, intake: Intake = UNBOUNDED
    ) -> tuple[ImportReport, Sequence[DocumentChange]]:
        """Store a thread; return the outcome and the messages to embed."""
        conversation = replace(checked_conversation(thread.conversation), messages=0)
        messages = [*(checked_message(each) for each in thread.messages)]
        with self._store.transaction():
            known = self._store.catalog.document(CONVERSATIONS, conversation.id)
            row = conversation_row(conversation)
            if known:
                row = merge(conversation_row(completed(conversation, conversation_of(known))), known)
                conversation = conversation_of(row)
            if known != row:
                self._put(row)
                if known:
                    self._messages().retitle(conversation)
            removed = 0
            if thread.whole and known:
                removed = self._messages().keep(conversation.id, {message.id for message in messages})
            report, changes = self._messages().put(conversation, messages, merge)
            for change in changes:
                intake.check_document(change.document.key, len(change.chunks))
            return replace(report, conversations=int(known is None), removed=removed), changes

    def _messages(self) -> MessageWriter:
        from rifflux.conversations.writing import MessagePreparer, MessageWriter

        view = self._view
        turns = MessagePreparer(
            view.profile.analyzer, view.profile.chunker, view.embedder.count_tokens, self._store.owner
        )
        return MessageWriter(self._store, turns)

    def _embed(self, changes: Sequence[DocumentChange], embed: bool | None) -> Embedded:
        enabled = changes and (self.hybrid if embed is None else embed)
        if enabled:
            return self._writer.embed_changes(changes)
        return Embedded()

    def embed(self, progress: Progress | None = None, *, seconds: float | None = None) -> VectorsMade:
        """Embed the messages without a vector, such as those stored while `hybrid_search` was off.

        The work counts against the user's budget. With `seconds`, as many are embedded as fit in that time; the others
        follow in the background. Raises `InvalidArgument` while messages are searched by words alone.
        """
        self.check_hybrid()
        made = self._writer.embed_imported(progress, seconds)
        totals = self._store.totals()
        return VectorsMade(made.chunks, totals.chunks - totals.embedded, made.degraded)

    def check_hybrid(self) -> None:
        """Raise `InvalidArgument` if messages are searched by words alone and need no vectors."""
        if not self.hybrid:
            text = f"messages need no vectors now: {BY_WORDS_ALONE}"
            raise InvalidArgument(text, cure=Cure.POLICY, policy="hybrid_search", value="on")

    # Searching

    @takes(MessagesRequest)
    def search(self, request: MessagesRequest) -> MessageResults:
        """Search messages, returning `neighbors` turns before and after each hit.

        `top_k` is from 1 to 100. Filters apply before ranking; dates are ISO 8601, inclusive, and either end may be
        omitted. `fusion` combines words and meaning where both are searched, as in a search of files. Raises
        `InvalidArgument`.
        """
        since, until = checked_period(request.since, request.until)
        given = {"role": request.role, "project": request.project, "archived": request.archived}
        filter = {
            "since": since,
            "until": until,
            "metadata": {name: value for name, value in given.items() if value is not None},
            "namespaces": () if request.conversation_id is None else (request.conversation_id,),
        }
        with self._store.memoized():
            mode = self._policies.message_mode(HYBRID)
            found = Searcher(self._view).search(
                request.query,
                top_k=request.top_k,
                mode=mode,
                fusion=request.fusion,
                filter=filter,
                deadline_ms=request.deadline_ms,
            )
            further = request.neighbors + OTHERS if request.neighbors else 0
            rows = self._store.catalog.around([hit.place for hit in found], further, further)
        hits = (self._hit(hit, rows.get(hit.place, ()), request.neighbors) for hit in found)
        trace = found.trace
        if not found and mode == LEXICAL and not trace.notes and self._store.totals().chunks:
            trace = replace(trace, notes=(*trace.notes, BY_WORDS_ALONE))
        return MessageResults(request.query, tuple(hit for hit in hits if hit), trace)

    def _hit(self, hit: Hit, rows: Sequence[Document], neighbours: int) -> MessageHit | None:
        """Return a hit with its neighbouring turns from the given rows, or None if it was deleted meanwhile."""
        turns = [message_of(row, hit.namespace) for row in rows]
        place = next((place for place, turn in enumerate(turns) if turn.id == hit.key), None)
        if place is None:
            return None
        found = turns[place]
        around = (turns[:place][::-1], turns[place + 1 :])
        before, after = ([turn for turn in part if turn.branch in ("", found.branch)][:neighbours] for part in around)
        return MessageHit(found, hit.title, hit, tuple(before[::-1]), tuple(after))


def _groups(items: Iterable[Item]) -> Iterator[list[Item]]:
    """Yield the items of an import in groups that share a transaction, small enough for other writers to get a turn."""
    group: list[Item] = []
    messages = 0
    for item in items:
        group.append(item)
        messages += len(item.messages) if isinstance(item, Thread) else 0
        if len(group) == TOGETHER or messages >= MESSAGES_TOGETHER:
            yield group
            group = []
            messages = 0
    if group:
        yield group


def _changed(known: Value, **given: Any) -> Value:
    """Return a copy with the given fields changed, ignoring None."""
    return replace(known, **{name: value for name, value in given.items() if value is not None})


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
