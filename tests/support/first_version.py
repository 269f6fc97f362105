"""An index as the first version of the schema made it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import apsw


@contextmanager
def first_version(path: Path) -> Iterator[apsw.Connection]:
    """Make an empty index of the first version, and close it after the block."""
    connection = apsw.Connection(str(path))
    try:
        connection.execute(Path(__file__).with_suffix(".sql").read_text("utf-8"))
        yield connection
    finally:
        connection.close()
