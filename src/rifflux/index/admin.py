"""Administration of an index as a whole, and access to its internals."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from rifflux.errors import Cure, InvalidArgument, OutOfScope
from rifflux.service.collections import user_of
from rifflux.service.registry import Registry
from rifflux.session.maintenance import Maintenance
from rifflux.session.policies import Policies
from rifflux.session.searching import Searcher
from rifflux.session.session import IndexView, delegated
from rifflux.session.writing import Writer
from rifflux.store import PART, Store
from rifflux.types import Notice, Progress

if TYPE_CHECKING:
    from rifflux.conversations import VectorsMade
    from rifflux.index.copying import CopyReport
    from rifflux.index.extract import Extracted, Issued
    from rifflux.models import Embedder
    from rifflux.service.nouns import Erased, LogEntry


class Admin:
    """Administers an index. In a scope, operations on others' data raise `OutOfScope`.

    `view` holds the session, the store, the profile and the guard.
    """

    def __init__(self, view: IndexView) -> None:
        self._view = self.view = view

    embed = delegated(Writer, Writer.embed)
    accelerate = delegated(Maintenance, Maintenance.accelerate)
    check = delegated(Maintenance, Maintenance.check)
    repair = delegated(Maintenance, Maintenance.repair)
    backup = delegated(Maintenance, Maintenance.backup)
    models = delegated(Maintenance, Maintenance.models)
    switch = delegated(Maintenance, Maintenance.switch)
    switching = delegated(Maintenance, Maintenance.switching)
    abort_switch = delegated(Maintenance, Maintenance.abort_switch)

    def extract(
        self,
        path: str | Path,
        collections: Sequence[str] = (),
        *,
        tokens: Sequence[Issued] = (),
        former: str | Path | None = None,
        progress: Progress | None = None,
    ) -> Extracted:
        """Copy what everyone may read to a new index file, and nothing else; see `rifflux.index.extract`."""
        from rifflux.index.extract import extract

        return extract(self._view, path, collections, tokens=tokens, former=former, progress=progress)

    def copy(self, target: str | Path, *, progress: Progress | None = None) -> CopyReport:
        """Copy the whole index to another place, a file or a cluster's address; see `rifflux.index.copying`.

        Others may use it meanwhile. If this is ended, the next call goes on; until the copy is complete, it cannot be
        opened. Raises `OutOfScope` in a scope, and `InvalidArgument` for a place that holds anything else.
        """
        from rifflux.index.copying import copy_store

        view = self._view
        if view.scope:
            raise OutOfScope("the whole index is no single user's to copy: ask an administrator")
        if view.store.local and view.store.local.state:
            raise InvalidArgument("users' data is in a state file: open the index without it to copy it")
        return copy_store(view.session.store, view.session.path, target, progress=progress)

    def delete_user(self, user: str) -> Erased:
        """Delete everything stored of a user and return the counts; see `Accounts.delete`. Raises `NotFound`."""
        from rifflux.service.accounts import Accounts

        return Accounts(Registry(self.store)).delete(user)

    def log(self, before: int | None = None, limit: int = 100) -> list[LogEntry]:
        """Return decisions on accounts, sharing and settings, the newest first, before the entry of an id."""
        return Registry(self.store).log(before, limit)

    def declare_facets(self, *names: str) -> None:
        """Let queries name these metadata fields as `field:value`, in all views of a user; stored in the index."""
        for name in names:
            if not name.isidentifier():
                raise InvalidArgument(f"{name!r} cannot be a facet: use letters, digits and underscores")
        self.store.records.set("facets", ",".join(names))
        self.view.session.declare_facets(self.view.user, self.view.profile, names)

    @property
    def embeds_here(self) -> bool:
        """Return True if the embedder runs in this process."""
        from rifflux.models.guarded import runs_here

        return runs_here(self.view.embedder)

    def warm(self) -> None:
        """Load the embedder if there are vectors to search."""
        if self.view.store.semantic.model():
            self.view.embedder.count_tokens("")

    def counts(self) -> Mapping[str, int]:
        """Count documents, chunks, chunks with a vector and files of all that the caller may read."""
        totals = self.view.reading().store.totals()
        return {
            "documents": totals.documents,
            "chunks": totals.chunks,
            "files": totals.files,
            "embedded_chunks": totals.embedded,
        }

    def embed_messages(self, progress: Progress | None = None) -> VectorsMade:
        """Make vectors for all users' messages that have none, such as those stored while `hybrid_search` was off.

        The cost is charged to each user; an exhausted budget does not affect other users. Raises `OutOfScope` in a
        scope, and `InvalidArgument` while messages are searched by words alone.
        """
        from rifflux.conversations import Conversations, VectorsMade
        from rifflux.conversations.profile import CONVERSATIONS

        if self.view.user:
            raise OutOfScope("others' messages are not yours", cure=Cure.EMBED_MESSAGES)
        part = self.view.part(CONVERSATIONS.name, CONVERSATIONS)
        everybody = Conversations(part, Policies(self.store))
        everybody.check_hybrid()
        embedded = waiting = 0
        degraded: dict[Notice, None] = {}
        for store in self.view.store.views():
            if store.owner.endswith(f"{PART}{CONVERSATIONS.name}"):
                own = Conversations(replace(part, store=store, payer=user_of(store.owner)), Policies(self.store))
                made = own.embed(progress)
                embedded += made.embedded
                waiting += made.waiting
                degraded.update(dict.fromkeys(made.degraded))
        return VectorsMade(embedded, waiting, tuple(degraded))

    def refreshing(self) -> tuple[int, int, bool]:
        """Return how many attempts to refresh all collections succeeded and failed, and whether they are fresh now.

        Raises `OutOfScope` in a scope.
        """
        from rifflux.session.freshness import is_fresh, refreshes_of

        stores = [writer.view.store for writer in Writer(self.view).of_everybody()]
        attempts = refreshes_of(stores)
        return attempts.succeeded, attempts.failed, is_fresh(stores)

    def personal_counts(self) -> Mapping[str, int]:
        """Count the conversations, messages and memories of the user; without a scope, those of all users."""
        from rifflux.index.status import personal_counts_of

        return personal_counts_of(self.view)

    def keep_up(self, stop: threading.Event) -> Iterator[str]:
        """Update derived files while other processes change the index, until `stop` is set; yield failures."""
        if self.view.store.local:
            yield from self.view.store.local.keep_up(stop)

    def leave_building(self) -> None:
        """Stop building derived files in the background: another process runs `keep_up`."""
        if self.view.store.local:
            self.view.store.local.leave_building()

    def probe(self) -> None:
        """Read a little of every table, and of the state file if there is one. Raises `UnusableIndex`."""
        self.view.store.probe()
        Registry(self.store).token("")

    @property
    def store(self) -> Store:
        """Return the owner's part of the store."""
        return self.view.store

    @property
    def embedder(self) -> Embedder:
        """Return the embedder without its guard; loaded when first needed."""
        return self.view.session.load()

    @property
    def searcher(self) -> Searcher:
        """Return the searcher with separate steps, for measuring and tuning them."""
        return Searcher(self.view)
