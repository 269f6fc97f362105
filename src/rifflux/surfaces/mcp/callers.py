"""Who calls a server that asks for tokens: the user of a token, and the index as that user has it."""

from __future__ import annotations

import logging
import math
import threading
from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace

from anyio import to_thread
from mcp.server.auth.middleware.auth_context import get_access_token
from mcp.server.auth.provider import AccessToken

from rifflux import Guard, Index, OutOfScope, RiffluxError, Scope, TokenExpired
from rifflux.service.accounts import ADMIN, Accounts
from rifflux.service.usage import Ledger, Meter, Prices
from rifflux.surfaces.mcp.workspace import OpenIndex, Workspace

__all__ = ["Caller", "Callers"]

#: Users whose view of the index is kept between calls, with the models of its rerankers.
MOST_VIEWS = 256
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Caller:
    """Who calls a tool."""

    user: str
    role: str

    @property
    def is_admin(self) -> bool:
        """Return True if files of the server are theirs to have indexed."""
        return self.role == ADMIN


class Callers:
    """Checks the tokens of the workspace's configured index, and keeps each user's view of it.

    A verifier of tokens as the SDK asks for one. Calls of models are held against each user's budget of a month.
    """

    def __init__(self, workspace: Workspace, prices: Prices | None = None, budget: float = 0.0) -> None:
        self._workspace = workspace
        self._prices, self._budget = prices, budget or math.inf
        self._lock = threading.Lock()
        self._views: OrderedDict[Caller, OpenIndex] = OrderedDict()
        self._opened = workspace.open(create=True)
        self._ledger = self._account(self._opened)

    async def verify_token(self, token: str) -> AccessToken | None:
        """Return whom a token is of; None if it is not valid. Raises `TokenExpired`."""
        return await to_thread.run_sync(self._checked, token)

    def _checked(self, text: str) -> AccessToken | None:
        try:
            registry = self._workspace.open().index.admin.store.registry
            token = Accounts(registry, later=_if_it_can).check(text)
        except TokenExpired:
            raise
        except RiffluxError as error:
            _log.error("no token can be checked: %s", error)
            return None
        if token is None:
            return None
        return AccessToken(token=text, client_id=token.id, scopes=[token.role], subject=token.user)

    def caller(self) -> Caller:
        """Return who makes the call under way. Raises `OutOfScope` if nobody does."""
        token = get_access_token()
        if token is None or not token.subject:
            raise OutOfScope("this call came without a token: send 'Authorization: Bearer rfx_...'")
        return Caller(token.subject, *token.scopes)

    def view(self, opened: OpenIndex) -> OpenIndex:
        """Return the index as the caller has it, their calls of models metered."""
        caller = self.caller()
        with self._lock:
            self._look_at(opened)
            known = self._views.pop(caller, None) or self._made(caller)
            self._views[caller] = known
            while len(self._views) > MOST_VIEWS:
                self._views.popitem(last=False)
            return known

    def common(self, opened: OpenIndex) -> OpenIndex:
        """Return the index as nobody in particular has it, the caller's calls of models metered."""
        with self._lock:
            self._look_at(opened)
            return replace(opened, index=self._metered(opened.index, self.caller()))

    def _look_at(self, opened: OpenIndex) -> None:
        """Forget what was known of another file, where this one is in its place."""
        if opened is not self._opened:
            self._views.clear()
            self._opened, self._ledger = opened, self._account(opened)

    def _made(self, caller: Caller) -> OpenIndex:
        index = self._opened.index.scoped(Scope(caller.user, caller.is_admin))
        return replace(self._opened, index=self._metered(index, caller))

    def _metered(self, index: Index, caller: Caller) -> Index:
        meter = Meter(self._ledger, caller.user)
        return index.using(guard=Guard(meter.refusal, meter.note))

    def _account(self, opened: OpenIndex) -> Ledger:
        return Ledger(opened.index.admin.store.registry, self._prices, self._budget, later=_if_it_can)

    def close(self) -> None:
        """Write what waits of the spendings."""
        _if_it_can(self._ledger.flush)


def _if_it_can(write: Callable[[], None]) -> None:
    """Write what is only kept for the record; an index that cannot be written does without."""
    with suppress(RiffluxError):
        write()
