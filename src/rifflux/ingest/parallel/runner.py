"""Doing the jobs of a run: in this process while they are few, in others beside it where there are many."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field

from rifflux.ingest.parallel.job import Outcome, do
from rifflux.ingest.parallel.pool import Task, Workers
from rifflux.ingest.prepare import Preparer

__all__ = ["MOST_WORKERS", "Reading"]

#: Bytes to read from which starting processes pays: one takes a third of a second until it does the first job.
WORTHWHILE = 4 * 2**20
#: The process that writes keeps up with about as many.
MOST_WORKERS = 4


@dataclass(slots=True)
class Reading:
    """Does jobs with `processes` at work, this one included. A context manager: the processes end with it."""

    prepare: Preparer
    processes: int
    _workers: Workers | None = None
    _open: ExitStack = field(default_factory=ExitStack)

    def __enter__(self) -> Reading:
        return self

    def __exit__(self, *error: object) -> None:
        self._workers = None
        self._open.close()

    def __call__(self, jobs: Iterable[Task], size: int) -> Iterator[tuple[Task, Outcome]]:
        """Each job with what became of it, in the order of the jobs; `size` is how many bytes they are to read."""
        if self._workers is None and self.processes > 1 and size >= WORTHWHILE:
            workers = Workers.start(min(self.processes, MOST_WORKERS), self.prepare)
            self._workers = self._open.enter_context(workers) if workers else None
        if self._workers:
            return self._workers(jobs)
        return ((job, do(job, self.prepare)) for job in jobs)
