"""The SQL statements that are run meanwhile."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import apsw

__all__ = ["statements"]


@contextmanager
def statements() -> Iterator[list[str]]:
    """Collect the statements run by connections that are opened inside."""
    run: list[str] = []

    def note(_: object, statement: str, bound: object) -> bool:
        run.append(statement)
        return True

    def hook(connection: apsw.Connection) -> None:
        connection.exec_trace = note

    apsw.connection_hooks.append(hook)
    try:
        yield run
    finally:
        apsw.connection_hooks.remove(hook)
