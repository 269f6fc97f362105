"""Tokens, each with a user and a role. A secret is printed once, and only its digest is stored."""

from __future__ import annotations

import hashlib
import hmac
import operator
import re
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

from rifflux.errors import Conflict, Cure, InvalidArgument, NotFound, OutOfScope, TokenExpired
from rifflux.service.nouns import EVERYONE, Erased, LogEntry, Token
from rifflux.service.registry import Registry
from rifflux.service.write_behind import Later
from rifflux.text.dates import parse_time, timestamp
from rifflux.types.nouns import iso_time

USER = "user"
ADMIN = "admin"
ROLES = (USER, ADMIN)
#: The most valid tokens of a user, by default.
MOST_TOKENS = 20
#: Characters of a token's label.
LONGEST_LABEL = 200
_PREFIX = "rfx"
_ID_BYTES = 6
_SECRET_BYTES = 32
#: A token's last use is written at most this often: a search must not become a write.
_SECONDS_BETWEEN_MARKS = 60.0
_DURATION = re.compile(r"(\d{1,6})\s*([hdw])")
_UNITS = {"h": 3_600.0, "d": 86_400.0, "w": 7 * 86_400.0}


@dataclass(frozen=True, slots=True)
class Accounts:
    """Creates, checks and revokes tokens. A token reads `rfx_ID_SECRET`; `now` is the clock, in seconds since 1970.

    `later` writes when a token was last used, immediately or in the background. `by` is the token of the caller, None
    for an administrator of the file: a user's token manages that user's tokens only, and creates none with more rights
    or a longer life. Changes are recorded in the log. No user may have more than `most_tokens` valid tokens at a time,
    whoever creates them.
    """

    register: Registry
    now: Callable[[], float] = time.time
    later: Later = operator.call
    by: Token | None = None
    most_tokens: int = MOST_TOKENS

    @property
    def rules(self) -> bool:
        """Return True if the caller may list, create and revoke the tokens of all users."""
        return self.by is None or self.by.role == ADMIN

    def create(self, user: str, role: str = USER, label: str = "", expires: str = "") -> tuple[Token, str]:
        """Return a new token and its text, which cannot be retrieved again.

        `expires` is how long it is valid, as `90d`, `12h` or `2w`, or when it ends, as an ISO 8601 date or time; empty
        for no expiry. Raises `InvalidArgument`, `OutOfScope` for more than the caller may grant, and `Conflict` for a
        user who has the most valid tokens already.
        """
        # Checked before the name: not everybody may know whether it is a group's.
        if self.by and not self.rules and (user, role) != (self.by.user, USER):
            raise OutOfScope(f"a token of {self.by.user} makes tokens of {self.by.user} with the role {USER} alone")
        if not user or user != user.strip() or len(user) > 200 or not user.isprintable():
            raise InvalidArgument("a user's name is 1 to 200 printable characters without spaces around them")
        if user == EVERYONE or user in self.register.sharing.groups():
            raise InvalidArgument(f"{user} stands for several users where collections are shared: choose another name")
        if role not in ROLES:
            raise InvalidArgument(f"no role {role!r}; choose one of {', '.join(ROLES)}")
        if len(label) > LONGEST_LABEL or not label.isprintable():
            raise InvalidArgument(f"a label is at most {LONGEST_LABEL} printable characters")
        until = self._granted(_moment(expires, self.now()) if expires else None)
        now = iso_time(self.now(), "auto")
        token = Token(secrets.token_hex(_ID_BYTES), user, role, label, now, expires_at=until)
        secret = secrets.token_urlsafe(_SECRET_BYTES)
        if until is None:
            about = f"role {role}"
        else:
            about = f"role {role}, until {_day(until)}"
        entry = self._entry("token.create", token, about)
        if not self.register.put_token(token, _digest(secret), entry, most=self.most_tokens):
            raise Conflict(
                f"{user} has {self.most_tokens} valid tokens, which is the limit: revoke one that is no longer needed, "
                "or have an administrator raise the limit"
            )
        return token, f"{_PREFIX}_{token.id}_{secret}"

    def _granted(self, until: str | None) -> str | None:
        """Return when a token ends that the caller may create. Raises `OutOfScope`."""
        if self.by is None or self.rules:
            return until
        if until is None or self.by.expires_at is None:
            if until is None:
                return self.by.expires_at
            return until
        if until > self.by.expires_at:
            raise OutOfScope(
                f"the token that asks ends at {_day(self.by.expires_at)}: no other can be valid for longer"
            )
        return until

    def check(self, text: str) -> Token | None:
        """Return the valid token of a text, or None; takes as long for a wrong secret as for a right one.

        Raises `TokenExpired` for one that was valid until a moment that has passed.
        """
        prefix, _, rest = text.partition("_")
        id, _, secret = rest.partition("_")
        if prefix == _PREFIX:
            found = self.register.token(id)
        else:
            found = None
        token, digest = found or (None, _digest(""))
        if not hmac.compare_digest(_digest(secret), digest) or token is None or token.revoked_at is not None:
            return None
        now = self.now()
        expires_at = timestamp(token.expires_at)
        if expires_at is not None and expires_at <= now:
            raise TokenExpired(
                f"this token expired on {_day(token.expires_at or '')}", cure=Cure.NEW_TOKEN, user=token.user
            )
        if not self.register.read_only and now - (timestamp(token.used_at) or 0.0) > _SECONDS_BETWEEN_MARKS:
            self.later(partial(self.register.mark_used, id, now))
            token = replace(token, used_at=iso_time(now, "auto"))
        return token

    def list(self, user: str | None = None) -> list[Token]:
        """Return the tokens of a user, or all that the caller may see, including revoked and expired ones.

        Raises `OutOfScope` for another user's.
        """
        if self.by and not self.rules:
            if user not in (None, self.by.user):
                raise OutOfScope("another user's tokens are an administrator's to see: leave out the user")
            user = self.by.user
        return self.register.tokens(user)

    def delete(self, user: str) -> Erased:
        """Delete a user's documents, conversations, memories, collections and tokens in one transaction.

        Feedback, usage, questions and their name in the log are deleted too. It cannot be undone. Their words and
        vectors leave the files of the index at once, but copies of the index keep them. Raises `NotFound` if there is
        no data of the user, and `OutOfScope` unless the caller is an administrator.
        """
        if not self.rules:
            raise OutOfScope("users are deleted by administrators: ask one")
        entry = LogEntry(self.by.user if self.by else "", "user.delete", iso_time(self.now(), "auto"), owner=user)
        if user:
            erased = self.register.erase(user, entry)
        else:
            erased = None
        if not erased:
            raise NotFound(f"nothing is kept of a user {user!r}: check the spelling, also of capitals")
        return erased

    def revoke(self, id: str) -> None:
        """Revoke a token for good.

        Raises `NotFound` if the caller can see no such valid token, and `OutOfScope` for one with more rights than the
        caller.
        """
        token = next((each for each in self.list() if each.id == id), None)
        if token and token.role != USER and not self.rules:
            raise OutOfScope(f"{id} is the token of an administrator: only such a token revokes it")
        if not token or not self.register.revoke(id, self.now(), self._entry("token.revoke", token)):
            raise NotFound(f"no valid token {id!r}", cure=Cure.LIST, things="tokens")

    def _entry(self, action: str, token: Token, about: str = "") -> LogEntry:
        by = self.by.user if self.by else ""
        return LogEntry(by, action, iso_time(self.now(), "auto"), token.id, token.user, detail=about)


def _digest(secret: str) -> bytes:
    """SHA-256: secrets are 256 random bits, so a slow hash would only cost time."""
    return hashlib.sha256(secret.encode()).digest()


def _moment(text: str, now: float) -> str:
    """Return when a token ends, as ISO 8601. Raises `InvalidArgument`."""
    span = _DURATION.fullmatch(text.strip())
    try:
        if span:
            end = now + int(span[1]) * _UNITS[span[2]]
        else:
            end = parse_time(text).timestamp()
    except InvalidArgument:
        raise InvalidArgument(
            f"a token is valid for a time such as 90d, 12h or 2w, or until a date such as 2027-01-01, not {text!r}"
        ) from None
    moment = iso_time(end, "auto")
    if end <= now:
        raise InvalidArgument(f"a token that ends at {_day(moment)} would never be valid: name a later moment")
    return moment


def _day(moment: str) -> str:
    """Return a moment in UTC as people read it, to the minute."""
    return f"{moment[:10]} {moment[11:16]} UTC"
