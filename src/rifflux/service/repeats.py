"""Answers to requests with an idempotency key, for a day."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable
from dataclasses import dataclass

from rifflux.errors import Conflict, InvalidArgument
from rifflux.service.nouns import RecordedAnswer
from rifflux.service.registry import Registry

#: Seconds for which an answer is kept, and its maximum size in bytes.
RETENTION_S = 86_400.0
MOST_BYTES = 1_000_000


@dataclass(frozen=True, slots=True)
class Repeats:
    """Requests by user and key, with their answers."""

    registry: Registry
    now: Callable[[], float] = time.time

    def begin(self, user: str, key: str, request: bytes) -> RecordedAnswer | None:
        """Record that a request is being answered, or return its earlier answer.

        Raises `Conflict` while it is still being answered, and `InvalidArgument` for another request with its key.
        """
        request_record = RecordedAnswer(user, key, hashlib.sha256(request).digest(), self.now())
        known = self.registry.begin_answer(request_record, request_record.time - RETENTION_S)
        if known and known.request != request_record.request:
            raise InvalidArgument("this Idempotency-Key belongs to another request: give each request a key of its own")
        if known and not known.status:
            raise Conflict(
                "the request with this Idempotency-Key is being answered: ask again later. If that stays so, the "
                "service was stopped meanwhile: look whether it was done, and send it with another key if not"
            )
        return known

    def end(self, user: str, key: str, status: int, body: bytes) -> None:
        """Store the answer to a request, unless it failed: then it may be retried."""
        stored = status < 400 and len(body) <= MOST_BYTES
        self.registry.end_answer(user, key, *((status, body) if stored else (0, b"")))
