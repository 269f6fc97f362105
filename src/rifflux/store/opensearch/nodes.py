"""The nodes of a cluster: which one gets a request that only reads, and when another one gets it, too."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from itertools import count
from operator import attrgetter
from queue import Empty, SimpleQueue
from typing import Any

#: Seconds for which a node that failed, or was slower than another one, is asked after the others.
REST_SECONDS = 30.0
#: The part of the remaining time after which another node is asked, too.
_PATIENCE = 0.15
#: The status of an answer that another node, or the same one a little later, may improve.
OVERLOADED = (429, 503, 504)
#: The name of the threads that wait for a node.
THREAD = "node of the cluster"


@dataclass
class Nodes:
    """The clients of a cluster's nodes, each of one node. Safe to share between threads.

    Nodes take turns. If one has not answered after a part of the time, another one is asked the same, and the first
    answer counts; so a node that hangs delays a request, and one that is slow still may answer. What is asked must only
    read.
    """

    clients: Sequence[Any]
    #: When each node failed last, by its place among the clients.
    failed: dict[int, float] = field(default_factory=dict)
    _turns: count[int] = field(default_factory=count)

    def close(self) -> None:
        """Close the connections."""
        for each in self.clients:
            each.close()

    def in_order(self) -> list[int]:
        """Return the places of the nodes by their turn: those that failed come last, the longest ago first."""
        total = len(self.clients)
        first = next(self._turns)
        limit = time.monotonic() - REST_SECONDS
        failed = {node: moment for node, moment in [*self.failed.items()] if moment > limit}
        return sorted(((first + number) % total for number in range(total)), key=lambda node: failed.get(node, 0.0))

    def request(self, name: str, seconds: float) -> Callable[..., Any]:
        """Return a request by its name, which takes at most so many seconds. It raises the client's errors."""

        def ask(**arguments: Any) -> Any:
            if len(self.clients) == 1:
                return self._answer(0, name, time.monotonic() + seconds, arguments)
            return self._first_answer(name, time.monotonic() + seconds, arguments)

        ask.__name__ = name.rpartition(".")[2]
        return ask

    def _answer(self, node: int, name: str, end: float, arguments: dict[str, Any]) -> Any:
        """Return a node's answer, and note that it failed or is well."""
        seconds = max(end - time.monotonic(), 0.01)
        parameters = {**arguments.get("params", {}), "request_timeout": seconds}
        try:
            answer = attrgetter(name)(self.clients[node])(**{**arguments, "params": parameters})
        except import_module("opensearchpy.exceptions").ConnectionError:
            self.failed[node] = time.monotonic()
            raise
        self.failed.pop(node, None)
        return answer

    def _first_answer(self, name: str, end: float, arguments: dict[str, Any]) -> Any:
        errors = import_module("opensearchpy.exceptions")
        answers: SimpleQueue[tuple[int, Any, BaseException | None]] = SimpleQueue()

        def ask(node: int) -> None:
            try:
                answers.put((node, self._answer(node, name, end, arguments), None))
            except BaseException as error:  # for the caller to handle; uncaught, it would be lost in the thread
                answers.put((node, None, error))

        waiting = self.in_order()
        pending: list[int] = []
        late = errors.ConnectionTimeout("TIMEOUT", "no node answered in time", None)
        error: BaseException = late
        while waiting or pending:
            if waiting:
                pending.append(waiting.pop(0))
                threading.Thread(target=ask, args=(pending[-1],), name=THREAD, daemon=True).start()
            left = max(end - time.monotonic(), 0.0)
            try:
                node, answer, failure = answers.get(timeout=left * _PATIENCE if waiting else left)
            except Empty:
                if time.monotonic() < end:
                    continue
                error = late
                break
            pending.remove(node)
            if failure is None:
                # Those that were asked before are slower, or hang.
                self.failed |= dict.fromkeys(pending, time.monotonic())
                return answer
            is_passing = isinstance(failure, errors.ConnectionError) and not isinstance(failure, errors.SSLError)
            if not is_passing and getattr(failure, "status_code", None) not in OVERLOADED:
                raise failure
            error = failure
        self.failed |= dict.fromkeys(pending, time.monotonic())
        raise error
