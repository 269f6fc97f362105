"""Callers of a server with tokens: the user of a token, and that user's view of the index."""

from __future__ import annotations

import logging
import threading
from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace

from anyio import to_thread
from mcp.server.auth.middleware.auth_context import get_access_token
from mcp.server.auth.provider import AccessToken

from rifflux import OutOfScope, RiffluxError, Scope, TokenExpired
from rifflux.service.accounts import ADMIN, Accounts
from rifflux.surfaces.mcp.workspace import OpenIndex, Workspace

#: Users whose views of the index are cached between calls, with their rerankers.
MOST_VIEWS = 256
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ToolCaller:
    """The caller of a tool."""

    user: str
    role: str

    @property
    def is_admin(self) -> bool:
        """Return True if they may index files of the server."""
        return self.role == ADMIN


class Callers:
    """Checks the tokens of the workspace's configured index, and keeps each user's view of it.

    A verifier of tokens as the SDK asks for one.
    """

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._lock = threading.Lock()
        self._views: OrderedDict[ToolCaller, OpenIndex] = OrderedDict()
        self._opened = self._serving(workspace.open(create=True))

    async def verify_token(self, token: str) -> AccessToken | None:
        """Return the access of a token; None if it is invalid. Raises `TokenExpired`."""
        return await to_thread.run_sync(self._checked, token)

    def _checked(self, text: str) -> AccessToken | None:
        try:
            registry = self._workspace.open().index.registry
            token = Accounts(registry, later=_if_it_can).check(text)
        except TokenExpired:
            raise
        except RiffluxError as error:
            _log.error("no token can be checked: %s", error)
            return None
        if token is None:
            return None
        return AccessToken(token=text, client_id=token.id, scopes=[token.role], subject=token.user)

    def caller(self) -> ToolCaller:
        """Return the caller of the current call. Raises `OutOfScope` if there is none."""
        token = get_access_token()
        if token is None or not token.subject:
            raise OutOfScope("this call came without a token: send 'Authorization: Bearer rfx_...'")
        return ToolCaller(token.subject, *token.scopes)

    def view(self, opened: OpenIndex) -> OpenIndex:
        """Return the caller's view of the index."""
        caller = self.caller()
        with self._lock:
            self._look_at(opened)
            known = self._views.pop(caller, None) or self._made(caller)
            self._views[caller] = known
            while len(self._views) > MOST_VIEWS:
                self._views.popitem(last=False)
            return known

    def common(self, opened: OpenIndex) -> OpenIndex:
        """Return the common view of the index; calls of models are charged to the caller."""
        with self._lock:
            self._look_at(opened)
            return replace(opened, index=opened.index.using(payer=self.caller().user))

    def _look_at(self, opened: OpenIndex) -> None:
        """Drop the views of a file that this one has replaced."""
        if opened is not self._opened:
            self._views.clear()
            self._opened = self._serving(opened)

    def _made(self, caller: ToolCaller) -> OpenIndex:
        return replace(self._opened, index=self._opened.index.scoped(Scope(caller.user, caller.is_admin)))

    def _serving(self, opened: OpenIndex) -> OpenIndex:
        """Return an index that records every call of a model, so that users can see their usage."""
        opened.index.ledger.served(_if_it_can)
        return opened


def _if_it_can(write: Callable[[], None]) -> None:
    """Write a record, unless the index cannot be written."""
    with suppress(RiffluxError):
        write()
