"""HTTP servers that end at each signal that ends a command, after the requests under way."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from socket import socket

import uvicorn
from uvicorn.supervisors import Multiprocess
from uvicorn.supervisors.multiprocess import SIGNALS


class LocalServer(uvicorn.Server):
    """A server in this process.

    uvicorn leaves SIGHUP alone. Once the server has ended, the signal reaches the handler that it had before.
    """

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Handle signals until the block ends, then raise those that came again."""
        hang_up = getattr(signal, "SIGHUP", None)
        with super().capture_signals():
            in_main_thread = threading.current_thread() is threading.main_thread()
            if hang_up is None or not in_main_thread or signal.getsignal(hang_up) is signal.SIG_IGN:
                yield
                return
            before = signal.signal(hang_up, self.handle_exit)
            try:
                yield
            finally:
                signal.signal(hang_up, before)


class ServerProcesses(Multiprocess):
    """A server of several processes.

    uvicorn would restart them at SIGHUP. Once they have ended, the signal reaches the handler that it had before.
    """

    def __init__(self, config: uvicorn.Config, sockets: list[socket]) -> None:
        self._handlers = {number: signal.getsignal(number) for number in SIGNALS}
        self._ended_by: int | None = None
        super().__init__(config, sockets)

    def run(self) -> None:
        """Serve until a signal comes."""
        super().run()
        for number, handler in self._handlers.items():
            signal.signal(number, handler)
        if self._ended_by is not None:
            signal.raise_signal(self._ended_by)

    def handle_int(self) -> None:
        """End the server at Ctrl-C."""
        self._end(signal.SIGINT)

    def handle_term(self) -> None:
        """End the server at SIGTERM."""
        self._end(signal.SIGTERM)

    def handle_hup(self) -> None:
        """End the server at SIGHUP, unless that is to be ignored."""
        if self._handlers[signal.SIGHUP] is not signal.SIG_IGN:
            self._end(signal.SIGHUP)

    def _end(self, number: int) -> None:
        self._ended_by = number
        self.should_exit.set()
