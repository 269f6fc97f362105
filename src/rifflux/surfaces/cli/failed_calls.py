"""The log of failed calls of models on the command line, without those that a note reports."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

#: Long-running commands, whose log is read while they run.
LASTING = frozenset({"serve", "browse", "mcp", "--watch"})


class FailedCalls(logging.Handler):
    """Holds back log records of failed calls until it is clear whether the command reports them in a note."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self._records: list[logging.LogRecord] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Keep a record for later; an unexpected error, which has a traceback, is printed at once."""
        if record.exc_info and record.exc_info[0]:
            _print(record)
        else:
            self._records.append(record)

    def drop(self) -> None:
        """Drop the records so far: a note reports them."""
        self._records.clear()

    def print_rest(self) -> None:
        """Print the records that no note reported."""
        for record in self._records:
            _print(record)
        self._records.clear()


#: The failed calls of this process.
FAILED_CALLS = FailedCalls()


@contextmanager
def deferred_failures(arguments: Sequence[str]) -> Iterator[None]:
    """Hold back log records of failed calls while a command runs, unless it is a long-running one."""
    log = logging.getLogger("rifflux.models.guarded")
    if LASTING & set(arguments):
        yield
        return
    log.addHandler(FAILED_CALLS)
    log.propagate = False
    try:
        yield
    finally:
        log.removeHandler(FAILED_CALLS)
        log.propagate = True
        FAILED_CALLS.print_rest()


def _print(record: logging.LogRecord) -> None:
    if logging.lastResort:
        logging.lastResort.handle(record)
