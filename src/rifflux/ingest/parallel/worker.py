"""A process that reads files for another one: it receives its settings once, then does jobs until its input ends."""

from __future__ import annotations

import gc
import io
import os
import pickle
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from copyreg import dispatch_table
from dataclasses import fields
from operator import attrgetter
from typing import IO, TYPE_CHECKING, BinaryIO

from rifflux.ingest.parallel.limits import MB, OUT_OF_MEMORY, allow, confine, is_short
from rifflux.ingest.prepare import Preparer, do
from rifflux.store import AnalyzedChunk, DocumentChange
from rifflux.types import Chunk, Document
from rifflux.types.limits import ReaderLimits

if TYPE_CHECKING:
    from _typeshed import DataclassInstance


def serve() -> None:
    """Do the jobs from standard input and write each result to standard output, within the limits of a reader."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the process that started this one says when to stop
    incoming = sys.stdin.buffer
    gc.set_threshold(50_000, 20, 50)
    # Closing a pipe without a reader fails once more, and unless that happens here, Python 3.13 reports it at exit.
    with suppress(EOFError, BrokenPipeError), _private_output() as outgoing:
        setup: tuple[Preparer | None, ReaderLimits, int] = pickle.loads(receive(incoming))
        prepare, limits, parent = setup
        confine(limits.memory_mb * MB, parent)
        send(outgoing, dumps(None))
        while True:
            jobs = pickle.loads(receive(incoming))
            try:
                for job in jobs:
                    allow(limits.processor_s)
                    outcome = do(job, prepare)
                    if outcome.failures and is_short(limits.memory_mb * MB):
                        raise MemoryError
                    send(outgoing, dumps(outcome))
            except MemoryError:
                os._exit(OUT_OF_MEMORY)


def _private_output() -> BinaryIO:
    """Return a private standard output: output printed by libraries goes to standard error."""
    private = os.dup(sys.stdout.fileno())
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    return os.fdopen(private, "wb")


# Messages between the reading processes and the writing one, preceded by their length


_LENGTH = 8


def _by_fields(cls: type[DataclassInstance]) -> Callable[[object], tuple[type, tuple[object, ...]]]:
    """Return a reducer that pickles a dataclass by its fields: five times as fast as the default with slots."""
    values = attrgetter(*(each.name for each in fields(cls)))
    return lambda value: (cls, values(value))


_REDUCE = dict(dispatch_table) | {cls: _by_fields(cls) for cls in (AnalyzedChunk, Chunk, Document, DocumentChange)}


def dumps(value: object) -> bytes:
    """Return a value as bytes for `pickle.loads`."""
    stream = io.BytesIO()
    pickler = pickle.Pickler(stream, pickle.HIGHEST_PROTOCOL)
    pickler.dispatch_table = _REDUCE
    pickler.dump(value)
    return stream.getvalue()


def send(stream: IO[bytes], message: bytes) -> None:
    """Write a message. Raises `OSError` if there is no reader any more."""
    stream.write(len(message).to_bytes(_LENGTH))
    stream.write(message)
    stream.flush()


def receive(stream: IO[bytes]) -> bytes:
    """Read a message. Raises `EOFError` if the other side is gone, even within a message."""
    length = int.from_bytes(_exactly(stream, _LENGTH))
    return _exactly(stream, length)


def _exactly(stream: IO[bytes], length: int) -> bytes:
    data = stream.read(length)
    if len(data) < length:
        raise EOFError("the other process is gone")
    return data
