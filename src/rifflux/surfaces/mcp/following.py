"""Follow the files of the served index."""

from __future__ import annotations

import logging
import threading

from rifflux import NotFound, RiffluxError
from rifflux.surfaces.mcp.workspace import Workspace

_log = logging.getLogger(__name__)
#: Seconds until a missing index is looked for again, and until a failed run is repeated.
LOOK = 0.5
RETRY = 30.0


def follow(workspace: Workspace, user: str, everybody: bool, stop: threading.Event) -> None:
    """Keep the configured index up to date with a user's files, or everybody's, until it is stopped."""
    while not stop.is_set():
        try:
            _follow_one(workspace, user, everybody, stop)
        except NotFound:
            stop.wait(LOOK)
        except RiffluxError as error:
            _log.warning("the files are not followed for the next %.0f s: %s", RETRY, error)
            stop.wait(RETRY)


def _follow_one(workspace: Workspace, user: str, everybody: bool, stop: threading.Event) -> None:
    """Follow an index until it is stopped, or its file is replaced."""
    opened = workspace.open()
    for report in opened.of(user).index.watch(finder=workspace.followed, stop=stop, everybody=everybody):
        for failure in report.failed:
            _log.warning("%s: %s", failure.path, failure.reason)
        if workspace.open() is not opened:
            return
