"""Reading, chunking and analyzing in other processes while this one writes.

An interpreter runs one thread at a time, and preparing text takes four times as long as storing it. The processes are
plain children that communicate over pipes: nothing is forked (threads and model runtimes do not survive that), and the
calling program is not imported again, as `multiprocessing` would. Each has the limits of a reader, and is replaced when
a file exceeds them.
"""

from __future__ import annotations

import json
import os
import pickle
import signal
import subprocess
import sys
from collections import Counter, deque
from collections.abc import Iterable, Iterator
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from contextlib import suppress
from queue import SimpleQueue
from typing import IO

from rifflux.ingest.parallel.limits import FRUGAL, LATE, MB, OUT_OF_MEMORY, has_swollen, late, too_large
from rifflux.ingest.parallel.worker import receive, send
from rifflux.ingest.prepare import Given, JobResult, Preparer, ReadJob, Task, do, finished, given_up
from rifflux.types.limits import READER_LIMITS, ReaderLimits

#: The maximum number of jobs, and of bytes, per message, which has a cost of its own.
BUNDLE_JOBS = 64
BUNDLE_BYTES = 2**18
_START = (
    "import json, sys; path = sys.stdin.buffer.readline() or sys.exit(); sys.path[:] = json.loads(path); "
    "from rifflux.ingest.parallel.worker import serve; serve()"
)

LOST = "reading it ended the process that read it: out of memory, or a fault in the library for its format"
#: The number of processes that a file may end before it fails, and the number if something else may have ended them.
TRIES = 2
KILLED_TRIES = 4
#: The exit status of a process ended from outside: by the system when it runs out of memory, for one.
KILLED = -getattr(signal, "SIGKILL", 9)
#: Seconds that a process may take to end after closing its output.
ENDING_S = 5.0

Bundle = tuple[ReadJob | Given, ...]
#: A result, as bytes for `pickle.loads` if it comes from another process: this thread does no work on it.
Outcome = bytes | JobResult
Waiting = deque[tuple[tuple[Task, ...], Future[list[Outcome]]]]


class Lost(Exception):
    """Raised when a worker process has died."""


class Unable(Exception):
    """Raised when a worker could not be set up, so that others could not either."""


class Worker:
    """One worker process. `setup` is its configuration; it is `fresh` until it has done a job."""

    def __init__(self, setup: bytes) -> None:
        # In a process group of its own, so that Ctrl-C reaches only this process, which then ends the others.
        self.process = subprocess.Popen(
            [sys.executable, "-c", _START],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=os.environ | FRUGAL,
            process_group=0 if os.name == "posix" else None,
        )
        self.fresh = True
        self._ready = False
        with suppress(OSError):
            self._input.write(json.dumps(sys.path).encode() + b"\n")
            send(self._input, setup)

    @property
    def _input(self) -> IO[bytes]:
        assert self.process.stdin
        return self.process.stdin

    def ask(self, bundle: Bundle, done: list[Outcome]) -> None:
        """Append the result of each job to `done`. Raises `Lost` or `Unable`."""
        output = self.process.stdout
        assert output
        try:
            if not self._ready:
                receive(output)
                self._ready = True
            send(self._input, pickle.dumps(bundle))
            for _ in bundle:
                done.append(receive(output))
                self.fresh = False
        except (OSError, EOFError) as error:
            raise (Lost if self._ready else Unable) from error

    def status(self) -> int:
        """Return the exit status of a process that has closed its output."""
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(ENDING_S)
        return self.process.poll() or 0

    def kill(self) -> None:
        """End the process immediately."""
        self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout):
            with suppress(OSError):
                assert stream
                stream.close()


class WorkerPool:
    """A pool of worker processes. If `prepare` cannot be sent to them, they only read, and this process prepares."""

    def __init__(self, number: int, prepare: Preparer, limits: ReaderLimits = READER_LIMITS) -> None:
        self._prepare = prepare
        self._limits = limits
        self._closed = False
        try:
            self._setup = pickle.dumps((prepare, limits, os.getpid()))
        except Exception:  # whatever an object that cannot be pickled raises
            self._setup = self._for_reading
        self._idle: SimpleQueue[Worker] = SimpleQueue()
        self._workers = [Worker(self._setup) for _ in range(number)]
        for worker in self._workers:
            self._idle.put(worker)
        # Each thread waits for a process, which costs nothing; this interpreter only handles the answers.
        self._threads = ThreadPoolExecutor(number, thread_name_prefix="reading")

    @property
    def _for_reading(self) -> bytes:
        """Return the setup of processes that only read."""
        return pickle.dumps((None, self._limits, os.getpid()))

    def close(self) -> None:
        """End the processes, whatever they are doing."""
        self._closed = True
        for worker in self._workers:
            worker.kill()
        self._threads.shutdown(cancel_futures=True)

    def __call__(self, jobs: Iterable[Task]) -> Iterator[tuple[Task, JobResult]]:
        """Yield each job with its result, in the order of the jobs. Only a few are taken ahead."""
        waiting: Waiting[Task] = deque()
        for bundle in bundled(jobs):
            waiting.append((bundle, self._threads.submit(self._done, bundle)))
            if len(waiting) > 2 * len(self._workers):
                yield from self._first(waiting)
        while waiting:
            yield from self._first(waiting)

    def _first(self, waiting: Waiting[Task]) -> Iterator[tuple[Task, JobResult]]:
        bundle, done = waiting.popleft()
        for job, outcome in zip(bundle, done.result(), strict=True):
            result = pickle.loads(outcome) if isinstance(outcome, bytes) else outcome
            yield job, finished(job, result, self._prepare)

    def _done(self, bundle: Bundle) -> list[Outcome]:
        """Return the results of some jobs. A job that exceeds its limits fails alone."""
        done: list[Outcome] = []
        ended: Counter[int] = Counter()  # how many processes each job has ended
        worker = self._idle.get()
        try:
            while len(done) < len(bundle):
                try:
                    worker.ask(bundle[len(done) :], done)
                except Unable:
                    if self._setup == self._for_reading:
                        done += [do(job, self._prepare) for job in bundle[len(done) :]]
                    self._setup = self._for_reading
                    worker = self._instead_of(worker)
                except Lost:
                    status = worker.status()
                    place = len(done)
                    ended[place] += 1
                    # Memory that earlier files used is free in another process.
                    final = status == LATE or (status == OUT_OF_MEMORY and worker.fresh)
                    if final or ended[place] >= (KILLED_TRIES if status == KILLED else TRIES):
                        done.append(self._failed(bundle[place], status))
                    worker = self._instead_of(worker)
            if has_swollen(worker.process.pid, self._limits.memory_mb * MB):
                worker = self._instead_of(worker)
        finally:
            self._idle.put(worker)
        return done

    def _failed(self, job: ReadJob | Given, status: int) -> JobResult:
        if status == LATE:
            return given_up(job, late(self._limits.processor_s), "slow", self._limits.key)
        if status == OUT_OF_MEMORY:
            return given_up(job, too_large(self._limits.memory_mb), "large", self._limits.key)
        # With any other signal it ended by itself, and would again.
        return given_up(job, LOST, "broken", self._limits.key if status < 0 and status != KILLED else "")

    def _instead_of(self, worker: Worker) -> Worker:
        worker.kill()
        if self._closed:
            raise CancelledError
        fresh = Worker(self._setup)
        self._workers[self._workers.index(worker)] = fresh
        return fresh


def bundled(jobs: Iterable[Task]) -> Iterator[tuple[Task, ...]]:
    """Yield the jobs in bundles."""
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
