"""Leases: a claim of a task that ends by itself if its holder does."""

from __future__ import annotations

import os
import platform
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from rifflux.store.records import ABSENT, Put, Record, Records

#: Seconds until a lease ends that nobody renews, and between two looks at another's.
LEASE_SECONDS = 30.0
_LOOK_SECONDS = 0.1
_LEASE = "lease"


@dataclass(frozen=True, slots=True)
class Lease:
    """An exclusive claim of a task among all processes that have the index open. Clocks may differ by some seconds."""

    records: Records
    task: str

    @contextmanager
    def hold(self, *, patience: float = 0.0, waiting: Callable[[str], None] | None = None) -> Iterator[bool]:
        """Hold the lease within the block, which gets False if another has it for longer than `patience` seconds.

        `waiting` is called once with that other's name.
        """
        token = uuid.uuid4().hex
        end = time.monotonic() + patience
        while (holder := self._take(token)) is not None:
            if waiting:
                waiting(holder)
                waiting = None
            if time.monotonic() >= end:
                yield False
                return
            time.sleep(_LOOK_SECONDS)
        done = threading.Event()
        renewing = threading.Thread(target=self._renew, args=(token, done), name=f"lease {self.task}", daemon=True)
        renewing.start()
        try:
            yield True
        finally:
            done.set()
            renewing.join()
            self._extend(token, 0.0)

    def _take(self, token: str) -> str | None:
        """Take the lease; return the name of its holder if another has it."""
        found = self.records.get(_LEASE, self.task)
        if found and found.value["until"] > time.time():
            return str(found.value["holder"])
        value: dict[str, Any] = {"token": token, "holder": f"process {os.getpid()} on {platform.node()}"}
        value["until"] = time.time() + LEASE_SECONDS
        if self.records.write(Put(Record(_LEASE, self.task, value), found.version if found else ABSENT)):
            return None
        return "another process"

    def _renew(self, token: str, done: threading.Event) -> None:
        while not done.wait(LEASE_SECONDS / 3):
            if not self._extend(token, time.time() + LEASE_SECONDS):
                return

    def _extend(self, token: str, until: float) -> bool:
        """Set the end of the lease; return False if another has it."""
        found = self.records.get(_LEASE, self.task)
        if found is None or found.value["token"] != token:
            return False
        value = {**found.value, "until": until}
        self.records.write(Put(replace(found, value=value), found.version))
        return True
