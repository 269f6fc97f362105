"""Read, chunk and analyze in other processes, while this one goes on writing.

One interpreter does one thing at a time, and preparing text takes four times as long as storing it. The processes are
plain children that talk over pipes: nothing is forked (threads and model runtimes do not survive that), and the
program that uses us is not imported again, as `multiprocessing` would.
"""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from contextlib import suppress
from queue import SimpleQueue
from typing import IO

from rifflux.ingest.parallel.worker import receive, send
from rifflux.ingest.prepare import Given, JobResult, Preparer, ReadJob, Task, do
from rifflux.types import Failure

#: Jobs go out together until they are so many, or so many bytes: a message has its price.
BUNDLE_JOBS = 64
BUNDLE_BYTES = 2**18
_START = (
    "import json, sys; path = sys.stdin.buffer.readline() or sys.exit(); sys.path[:] = json.loads(path); "
    "from rifflux.ingest.parallel.worker import serve; serve()"
)
LOST = "reading it ended the process that read it: out of memory, or a fault in the library for its format"

Bundle = tuple[ReadJob | Given, ...]
#: Outcomes, as bytes for `pickle.loads` where they come from another process: this thread is to do no work.
Found = bytes | list[JobResult]
Waiting = deque[tuple[tuple[Task, ...], Future[Found]]]


class Lost(Exception):
    """A worker that is gone."""


class Unable(Exception):
    """A worker that could not be set up, so that others could not either."""


class Worker:
    """One process. `setup` is what it needs to know."""

    def __init__(self, setup: bytes) -> None:
        # Of its own group, so that Ctrl-C reaches only this process, which then ends the others.
        self._process = subprocess.Popen(
            [sys.executable, "-c", _START],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            process_group=0 if os.name == "posix" else None,
        )
        self._ready = False
        with suppress(OSError):
            self._input.write(json.dumps(sys.path).encode() + b"\n")
            send(self._input, setup)

    @property
    def _input(self) -> IO[bytes]:
        assert self._process.stdin
        return self._process.stdin

    def ask(self, bundle: Bundle) -> bytes:
        """Return the outcomes of some jobs, as bytes for `pickle.loads`. Raises `Lost` or `Unable`."""
        output = self._process.stdout
        assert output
        try:
            if not self._ready:
                receive(output)
                self._ready = True
            send(self._input, pickle.dumps(bundle))
            return receive(output)
        except (OSError, EOFError) as error:
            raise (Lost if self._ready else Unable) from error

    def kill(self) -> None:
        """End the process at once."""
        self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            with suppress(OSError):
                assert stream
                stream.close()


class WorkerPool:
    """Processes that do jobs."""

    def __init__(self, number: int, prepare: Preparer, setup: bytes) -> None:
        self._prepare = prepare
        self._setup = setup
        self._closed = False
        self._idle: SimpleQueue[Worker] = SimpleQueue()
        self._workers = [Worker(setup) for _ in range(number)]
        for worker in self._workers:
            self._idle.put(worker)
        # Each thread waits for a process, which costs nothing; only what it has answered is this interpreter's work.
        self._threads = ThreadPoolExecutor(number, thread_name_prefix="reading")

    @classmethod
    def start(cls, number: int, prepare: Preparer) -> WorkerPool | None:
        """Return the processes, or None if the embedder is an object that cannot be sent to them."""
        try:
            setup = pickle.dumps(prepare)
        except Exception:  # whatever an object that cannot be pickled raises
            return None
        return cls(number, prepare, setup)

    def close(self) -> None:
        """End the processes, whatever they are at."""
        self._closed = True
        for worker in self._workers:
            worker.kill()
        self._threads.shutdown(cancel_futures=True)

    def __call__(self, jobs: Iterable[Task]) -> Iterator[tuple[Task, JobResult]]:
        """Yield each job with what became of it, in the order of the jobs. Only a few are taken ahead."""
        waiting: Waiting[Task] = deque()
        for bundle in bundled(jobs):
            waiting.append((bundle, self._threads.submit(self._done, bundle)))
            if len(waiting) > 2 * len(self._workers):
                yield from self._first(waiting)
        while waiting:
            yield from self._first(waiting)

    def _first(self, waiting: Waiting[Task]) -> Iterator[tuple[Task, JobResult]]:
        bundle, found = waiting.popleft()
        return _collected(bundle, found.result())

    def _done(self, bundle: Bundle, *, again: bool = True) -> Found:
        """Return the outcomes of some jobs. One that ends its process twice has failed, and no other with it."""
        try:
            return self._answer_of(bundle)
        except Unable:
            return [do(job, self._prepare) for job in bundle]
        except Lost:
            if len(bundle) > 1:
                return [outcome for job in bundle for _, outcome in _collected((job,), self._done((job,)))]
            if again:
                return self._done(bundle, again=False)
            return [JobResult(failures=(Failure(job.name, LOST),)) for job in bundle]

    def _answer_of(self, bundle: Bundle) -> bytes:
        worker = self._idle.get()
        try:
            return worker.ask(bundle)
        except Lost:
            worker = self._instead_of(worker)
            raise
        finally:
            self._idle.put(worker)

    def _instead_of(self, worker: Worker) -> Worker:
        worker.kill()
        if self._closed:
            raise CancelledError
        fresh = Worker(self._setup)
        self._workers[self._workers.index(worker)] = fresh
        return fresh


def _collected(bundle: tuple[Task, ...], found: Found) -> Iterator[tuple[Task, JobResult]]:
    return zip(bundle, pickle.loads(found) if isinstance(found, bytes) else found, strict=True)


def bundled(jobs: Iterable[Task]) -> Iterator[tuple[Task, ...]]:
    """Yield the jobs, some at a time."""
    bundle: list[Task] = []
    size = 0
    for job in jobs:
        bundle.append(job)
        size += job.size
        if len(bundle) >= BUNDLE_JOBS or size >= BUNDLE_BYTES:
            yield tuple(bundle)
            bundle = []
            size = 0
    if bundle:
        yield tuple(bundle)
