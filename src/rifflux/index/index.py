"""The facade of an index over the views of one session."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cached_property, partial
from types import TracebackType
from typing import TYPE_CHECKING

from rifflux.errors import Cure, OutOfScope
from rifflux.requests import QuestionRequest, StreamRequest, takes
from rifflux.service.registry import Registry
from rifflux.session.profile import Profile
from rifflux.session.reading import Feedback, Reader
from rifflux.session.removing import Remover
from rifflux.session.searching import Searcher
from rifflux.session.session import IndexView, ValueCache, delegated
from rifflux.session.writing import Writer
from rifflux.store import find_documents
from rifflux.types import IndexReport, Scope

if TYPE_CHECKING:
    from rifflux.answer import Answerer
    from rifflux.answer.chats import Chats
    from rifflux.answer.model import Answer, AnswerEvent
    from rifflux.conversations import Conversations
    from rifflux.index.admin import Admin
    from rifflux.index.collections import Collections
    from rifflux.index.documents import Documents
    from rifflux.index.federated import Everything
    from rifflux.index.status import Status
    from rifflux.ingest.walk.find import Finder
    from rifflux.memories import Memories
    from rifflux.models.guarded import ModelCallFailed
    from rifflux.service.usage import Ledger
    from rifflux.session.policies import Policies
    from rifflux.works.catalog import WorksCatalog
    from rifflux.works.retrieval.retriever import WorksRetriever


class Index:
    """An open index. A context manager; safe to share between threads.

    `works`, `memories` and `conversations` are its domains, `admin` is for administration. Views by `scoped` or `using`
    share its resources and its lifetime; closing one closes all.
    """

    def __init__(self, view: IndexView) -> None:
        self._view = view
        self._scoped = ValueCache()

    def __enter__(self) -> Index:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __len__(self) -> int:
        """Return the number of documents that the caller may read."""
        return self._view.reading().store.totals().documents

    def __contains__(self, name: object) -> bool:
        """Return True if the caller may read a document of this key, path or identifier."""
        return isinstance(name, str) and bool(find_documents(self._view.reading().store.catalog, name))

    def __bool__(self) -> bool:
        """Return True: an index without documents is still one."""
        return True

    def close(self) -> None:
        """Close the index; everything stored is on disk already. In a scope, this closes nothing."""
        if self._view.user:
            return
        self._view.session.close()
        self._view.store.close()

    # Views

    @property
    def profile(self) -> Profile:
        """Return the profile that content is cut, ranked and searched through."""
        return replace(self._view.profile, facets=self._view.facets)

    def using(
        self,
        profile: Profile | None = None,
        *,
        stopped: Callable[[ModelCallFailed], None] | None = None,
        payer: str | None = None,
    ) -> Index:
        """Return a view of this index with another profile.

        `stopped` receives every failed call of a model with its cause; without it, the cause is logged. Calls of models
        are charged to `payer`, by default the user of the view; raises `OutOfScope` for another one in a scope.
        """
        view = self._view
        if view.user and payer not in (None, view.user):
            raise OutOfScope("a user pays for their own calls of models: take the index that was opened")
        payer = view.payer if payer is None else payer
        return Index(replace(view, profile=profile or self.profile, stopped=stopped or view.stopped, payer=payer))

    def scoped(self, scope: Scope) -> Index:
        """Return one user's view of this index: no data of others is found, counted or changed.

        It lives as long as the index it comes from; closing it closes nothing. Raises `OutOfScope` for another user's
        scope where the index is scoped already.
        """
        view = self._view.of(scope)
        return self._scoped((view.user, view.administrator), partial(Index, view))

    # Adding, searching, reading

    add = delegated(Writer, Writer.add)
    sync = delegated(Writer, Writer.sync)
    remove = delegated(Remover, Remover.remove)
    search = delegated(Searcher, Searcher.search, at_once=True)
    classify = delegated(Searcher, Searcher.classify)
    why = delegated(Searcher, Searcher.why)
    get = delegated(Reader, Reader.get)
    document = delegated(Reader, Reader.document)
    chunks = delegated(Reader, Reader.chunks)
    judge = delegated(Feedback, Feedback.judge)
    note = delegated(Feedback, Feedback.note)

    @takes(QuestionRequest)
    def answer(self, request: QuestionRequest) -> Answer:
        """Answer a question from what the caller may read, each sentence with its citations.

        Without a chat model, or with `extract`, sentences are quoted word for word; a model's sentences are kept as far
        as a source supports them. Evidence comes from at most `top_k` documents and `max_tokens` tokens: from documents
        and works, and in a scope from the user's own messages and memories too. `history` holds the turns before, each
        with `role` and `content`: a question that depends on them is completed, and `searched` says how.
        With `chat`, the id of a chat or `new`, they are those of the chat, and the answer is added to it. What models
        have not done within `deadline_ms` of the call is left out. Where no passage is likely to answer, the answer is
        `refused`, with the nearest passages. Raises `InvalidArgument`.
        """
        if not request.chat:
            return self._answerer.answer(request)
        answer = self._answerer.answer(self.chats.continued(request))
        return self.chats.recorded(answer, request.chat)

    @takes(StreamRequest)
    def answering(self, request: StreamRequest) -> Iterator[AnswerEvent]:
        """Stream the events of an answer: its `Sources`, its text, and finally `Done` or `Failed`.

        The arguments are those of `answer`. The model is stopped once `gone` returns true or the iterator is closed.
        """
        if not request.chat:
            return self._answerer.answering(request, request.gone)
        events = self._answerer.answering(self.chats.continued(request), request.gone)
        return self.chats.recording(events, request.chat)

    def watch(
        self,
        *,
        embed: bool = True,
        finder: Finder | None = None,
        stop: threading.Event | None = None,
        everybody: bool = False,
    ) -> Iterator[IndexReport]:
        """Update the index, then follow its files: saved changes can be found within a second.

        Yields a report of the first run, and then of each update, until `stop` is set. A folder that vanishes, such as
        an unmounted disk, stays in the index and is read again when it is back. The files are those of the caller's
        collections, or of `everybody`'s; in a scope that raises `OutOfScope`.
        """
        from rifflux.ingest.walk.find import Finder
        from rifflux.session.watching import Follower

        writer = Writer(self._view)
        if everybody:
            writers = writer.of_everybody
        else:
            writers = writer.own
        writers()
        return iter(Follower(writers, finder or Finder(), embed, stop or threading.Event()))

    def status(self) -> Status:
        """Return what the index holds and how it is set up."""
        from rifflux.index.status import status_of

        return status_of(self._view)

    @property
    def path(self) -> str:
        """Return the path that the index was opened by."""
        return self._view.session.path

    @property
    def user(self) -> str:
        """Return the user whose view this is; empty where it is nobody's."""
        return self._view.user

    @property
    def embedding_model(self) -> str:
        """Return the name of the model whose vectors the index holds, or will hold."""
        known = self._view.store.semantic.model()
        if known:
            return known.name
        return self._view.embedder.name

    def count_tokens(self, text: str) -> int:
        """Return the number of tokens of a text for the embedder."""
        return self._view.embedder.count_tokens(text)

    # What `rifflux.service` works on

    @property
    def policies(self) -> Policies:
        """Return the policies of the index, such as searching conversations by meaning too."""
        from rifflux.session.policies import Policies

        return Policies(self._view.store)

    @property
    def registry(self) -> Registry:
        """Return the records of accounts, collections, feedback, jobs and decisions."""
        return Registry(self._view.store)

    @property
    def ledger(self) -> Ledger:
        """Return the record of calls of models and of budgets."""
        return self._view.session.ledger

    # Domains, each created once

    @cached_property
    def admin(self) -> Admin:
        """Administration: checking, mending, copying, models, policies."""
        from rifflux.index.admin import Admin

        return Admin(self._view)

    @cached_property
    def collections(self) -> Collections:
        """Return the collections that the caller owns or reads: create, describe and share them."""
        from rifflux.index.collections import Collections

        return Collections(self._view)

    @cached_property
    def documents(self) -> Documents:
        """Return the single documents: put, upload, list and remove them."""
        from rifflux.index.documents import Documents

        return Documents(self._view)

    @cached_property
    def conversations(self) -> Conversations:
        """Return the conversations of the user of this scope. Raises `OutOfScope` without a scope."""
        from rifflux.conversations import Conversations
        from rifflux.conversations.profile import CONVERSATIONS

        if self._view.scope is None:
            raise OutOfScope("conversations belong to a user", cure=Cure.AS_USER)
        return Conversations(self._view.part(CONVERSATIONS.name, CONVERSATIONS), self.policies)

    @cached_property
    def memories(self) -> Memories:
        """Return the memories of the user of this view: save, recall, forget."""
        from rifflux.memories import Memories
        from rifflux.memories.profile import MEMORIES

        return Memories(self._view.part(MEMORIES.name, MEMORIES))

    @cached_property
    def chats(self) -> Chats:
        """Return the caller's recorded chats: reading, naming and deleting them."""
        from rifflux.answer.chats import Chats

        return Chats(self._view)

    @cached_property
    def works(self) -> WorksCatalog:
        """Return the research works of the index: import them, look them up, and review duplicates."""
        from rifflux.works.catalog import WorksCatalog

        return WorksCatalog(self._view)

    @cached_property
    def retrieve(self) -> WorksRetriever:
        """Return the retriever of research works with evidence: call it with a question."""
        from rifflux.works.retrieval.retriever import WorksRetriever

        return WorksRetriever.of_view(self._view)

    @cached_property
    def _answerer(self) -> Answerer:
        from rifflux.answer import Answerer
        from rifflux.index.sources import of_answers
        from rifflux.works.export import CITING

        return Answerer((*of_answers(self._view),), CITING, self._view.session.chat)

    @cached_property
    def everything(self) -> Everything:
        """Return the search of everything: knowledge, files, notes, tasks and conversations, each a list."""
        from rifflux.index.federated import Everything
        from rifflux.index.sources import of_everything

        return Everything((*of_everything(self._view),))
