"""Who may ask: tokens, each of a user and with a role. A secret is shown once, and only its digest is kept."""

from __future__ import annotations

import hashlib
import hmac
import operator
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

from rifflux.errors import InvalidArgument, NotFound
from rifflux.service.write_behind import Later
from rifflux.store import EVERYONE, Erased, Registry, Token

__all__ = ["ADMIN", "ROLES", "USER", "Accounts"]

USER, ADMIN = "user", "admin"
ROLES = (USER, ADMIN)
_PREFIX = "rfx"
_ID_BYTES, _SECRET_BYTES = 6, 32
#: A token's last use is written at most this often: a search must not become a write.
_SECONDS_BETWEEN_MARKS = 60.0


@dataclass(frozen=True, slots=True)
class Accounts:
    """Makes, checks and revokes tokens. A token reads `rfx_ID_SECRET`; `now` is the clock, in seconds since 1970.

    `later` writes when a token was last used: at once, or where nobody waits for it.
    """

    register: Registry
    now: Callable[[], float] = time.time
    later: Later = operator.call

    def create(self, user: str, role: str = USER, label: str = "") -> tuple[Token, str]:
        """Return a new token and its text, which can never be shown again. Raises `InvalidArgument`."""
        if not user or user != user.strip() or len(user) > 200 or not user.isprintable():
            raise InvalidArgument("a user's name is 1 to 200 printable characters without spaces around them")
        if user == EVERYONE or user in self.register.sharing.groups():
            raise InvalidArgument(f"{user} names several users, in 'rifflux collections share': choose another name")
        if role not in ROLES:
            raise InvalidArgument(f"no role {role!r}; choose one of {', '.join(ROLES)}")
        token = Token(secrets.token_hex(_ID_BYTES), user, role, label, self.now())
        secret = secrets.token_urlsafe(_SECRET_BYTES)
        self.register.put_token(token, _digest(secret))
        return token, f"{_PREFIX}_{token.id}_{secret}"

    def check(self, text: str) -> Token | None:
        """Return the valid token of a text, or None; takes as long for a wrong secret as for a right one."""
        prefix, _, rest = text.partition("_")
        id, _, secret = rest.partition("_")
        found = self.register.token(id) if prefix == _PREFIX else None
        token, digest = found or (None, _digest(""))
        if not hmac.compare_digest(_digest(secret), digest) or token is None or token.revoked_at is not None:
            return None
        now = self.now()
        if now - (token.used_at or 0.0) > _SECONDS_BETWEEN_MARKS:
            self.later(partial(self.register.mark_used, id, now))
            token = replace(token, used_at=now)
        return token

    def list(self) -> list[Token]:
        """Return all tokens, the revoked ones too."""
        return self.register.tokens()

    def delete(self, user: str) -> Erased:
        """Delete a user: tokens, conversations, memories, documents, feedback and usage, in one transaction.

        It cannot be undone. Copies of the index keep what they have; words of deleted texts leave the database's
        full-text table, and vectors the file next to it, when these are next made. Raises `NotFound` if nothing is
        kept of the user.
        """
        erased = self.register.erase(user) if user else None
        if not erased:
            raise NotFound(f"nothing is kept of a user {user!r}: check the spelling, also of capitals")
        return erased

    def revoke(self, id: str) -> None:
        """Make a token useless at once and for ever. Raises `NotFound` if there is none that is valid."""
        if not self.register.revoke(id, self.now()):
            raise NotFound(f"no valid token {id!r}: 'rifflux tokens list' shows them")


def _digest(secret: str) -> bytes:
    """SHA-256: secrets are 256 random bits, so a slow hash would only cost time."""
    return hashlib.sha256(secret.encode()).digest()
