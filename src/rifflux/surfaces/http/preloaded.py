"""Imports of the process that forks the workers: every worker then has the application from the start.

It opens no file and starts no thread, so a fork of it is as good as a new process.
"""

from __future__ import annotations

import gc
import os
import signal

import rifflux.surfaces.http.app
import rifflux.surfaces.http.serve  # noqa: F401

# Workers share these objects with this process until their memory pages are written to, as a garbage collection does.
gc.collect()
gc.freeze()

# Signals that end a service reach all its processes. This one must outlive the workers: only it learns how they ended,
# and reports that to the supervisor.
_previous = {number: signal.signal(number, signal.SIG_IGN) for number in (signal.SIGTERM, signal.SIGHUP)}


def _restore_signals() -> None:
    """Let a worker receive the signals that the process it was forked from ignores."""
    while _previous:
        number, handler = _previous.popitem()
        signal.signal(number, handler)


os.register_at_fork(after_in_child=_restore_signals)
