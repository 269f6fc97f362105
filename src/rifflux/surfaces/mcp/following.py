"""Following the files of the served index while agents ask."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from rifflux import NotFound, RiffluxError
from rifflux.surfaces.mcp.workspace import Workspace

__all__ = ["watched"]

_log = logging.getLogger(__name__)
#: Seconds until the index is looked for again, and until a run that failed is repeated.
LOOK, RETRY = 0.5, 30.0


@contextmanager
def watched(workspace: Workspace) -> Iterator[None]:
    """Keep the configured index up to date with its files, in a thread, until the block ends."""
    stop = threading.Event()
    thread = threading.Thread(target=_follow, args=(workspace, stop), name="follow", daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def _follow(workspace: Workspace, stop: threading.Event) -> None:
    while not stop.is_set():
        try:
            _follow_one(workspace, stop)
        except NotFound:
            stop.wait(LOOK)
        except RiffluxError as error:
            _log.warning("the files are not followed for the next %.0f s: %s", RETRY, error)
            stop.wait(RETRY)


def _follow_one(workspace: Workspace, stop: threading.Event) -> None:
    """Follow an index until it is stopped, or another file is in its place."""
    opened = workspace.open()
    for report in opened.index.watch(finder=workspace.followed, stop=stop):
        for failure in report.failed:
            _log.warning("%s: %s", failure.path, failure.reason)
        if workspace.open() is not opened:
            return
