"""Leases: a claim of a task that ends by itself if its holder does."""

from __future__ import annotations

import os
import platform
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from math import inf
from typing import Any

from rifflux.store.opensearch.world import WorldRows

#: Seconds until a lease ends that nobody renews, and between two looks at another's.
LEASE_SECONDS = 30.0
_LOOK_SECONDS = 0.1


def locked(world: WorldRows, name: str) -> AbstractContextManager[bool]:
    """Exclude everybody else who takes this lock, for a short while."""
    return Lease(world, f"lock {name}").hold(patience=inf)


@dataclass(frozen=True, slots=True)
class Lease:
    """An exclusive claim of a task among all processes that have the index open. Clocks may differ by some seconds."""

    world: WorldRows
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
            found = self.world.read("lease", self.task)
            if found and found[0]["token"] == token:
                self.world.put_if("lease", self.task, {**found[0], "until": 0.0}, found[1])

    def _take(self, token: str) -> str | None:
        """Take the lease; return the name of its holder if another has it."""
        found = self.world.read("lease", self.task)
        if found and found[0]["until"] > time.time():
            return str(found[0]["holder"])
        value: dict[str, Any] = {"token": token, "holder": f"process {os.getpid()} on {platform.node()}"}
        value["until"] = time.time() + LEASE_SECONDS
        if self.world.put_if("lease", self.task, value, found[1] if found else None):
            return None
        return "another process"

    def _renew(self, token: str, done: threading.Event) -> None:
        while not done.wait(LEASE_SECONDS / 3):
            found = self.world.read("lease", self.task)
            if found is None or found[0]["token"] != token:
                return
            self.world.put_if("lease", self.task, {**found[0], "until": time.time() + LEASE_SECONDS}, found[1])
