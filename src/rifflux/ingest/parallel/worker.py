"""A process that reads files for another one: it is told how, once, then does jobs until its input ends."""

from __future__ import annotations

import gc
import os
import pickle
import signal
import sys
from typing import BinaryIO

from rifflux.ingest.parallel.job import do
from rifflux.ingest.parallel.wire import dumps, receive, send
from rifflux.ingest.prepare import Preparer

__all__ = ["serve"]


def serve() -> None:
    """Do the jobs that come on standard input and answer on standard output, each answer a list of outcomes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the process that started this one says when to stop
    incoming, outgoing = sys.stdin.buffer, _private_output()
    gc.set_threshold(50_000, 20, 50)
    try:
        prepare: Preparer = pickle.loads(receive(incoming))
        send(outgoing, dumps(None))
        while True:
            jobs = pickle.loads(receive(incoming))
            send(outgoing, dumps([do(job, prepare) for job in jobs]))
    except (EOFError, BrokenPipeError):
        pass


def _private_output() -> BinaryIO:
    """Standard output for us alone: what a library prints there goes to standard error."""
    private = os.dup(sys.stdout.fileno())
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    return os.fdopen(private, "wb")
