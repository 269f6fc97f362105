"""Jobs: work that outlives the request that started it, visible to all processes of a service.

A job runs in a thread of the process that started it, which writes its progress to the registry every other second. A
job without a recent write was interrupted: its process has died. What it stored until then stays.
"""

from __future__ import annotations

import logging
import secrets
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from rifflux.service.nouns import JobRecord as JobRecord
from rifflux.service.registry import Registry
from rifflux.service.write_behind import WriteGate
from rifflux.types import Progress

RUNNING = "running"
DONE = "done"
FAILED = "failed"
CANCELLED = "cancelled"
INTERRUPTED = "interrupted"
#: Seconds between two writes of a running job's progress, and seconds after the last one until it counts as
#: interrupted.
BEAT_S = 2.0
LOST_S = 10.0
#: Seconds for which a job is kept after its last write.
RETENTION_S = 7 * 86_400.0
#: The most running jobs of a user, in all processes.
MOST_RUNNING = 8
#: Seconds to wait for jobs to stop when the process ends or their user is deleted.
GRACE_S = 10.0
_LOOK_AGAIN_S = 0.05
_log = logging.getLogger(__name__)


class Stopped(Exception):
    """Raised by `Job.progress` in a cancelled job."""


@dataclass(frozen=True, slots=True)
class JobOutcome:
    """The outcome of a job: an HTTP status, and the report as JSON."""

    status: int
    report: str


class Job:
    """A job that runs in this process. `outcome` is its result, or the exception that it failed with."""

    def __init__(self, record: JobRecord, now: Callable[[], float], save: Callable[[JobRecord], Sequence[str]]) -> None:
        self._record = record
        self._now = now
        self._save = save
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self.outcome: Future[JobOutcome] = Future()
        self.thread: threading.Thread | None = None

    @property
    def record(self) -> JobRecord:
        """Return the current record of the job."""
        return self._record

    def progress(self, stage: str, done: int, total: int | None) -> None:
        """Record progress. Raises `Stopped` if the job was cancelled.

        Stored items are counted in the transaction that stores them, so that the count survives a crash, and nothing is
        stored for a user who was deleted.
        """
        if self._stop.is_set():
            raise Stopped
        before = self._record
        self._change(stage=stage, done=done, total=total, seen_at=self._now())
        if done and self._save(self._record):
            self._stop.set()
            self._change(stage=before.stage, done=before.done, total=before.total)
            raise Stopped

    def stop(self) -> None:
        """Cancel the job the next time that it reports progress."""
        self._stop.set()

    def end(self, state: str, status: int = 0, report: str = "", error: str = "") -> None:
        """Record how the job ended."""
        now = self._now()
        self._change(state=state, status=status, report=report, error=error, seen_at=now, ended_at=now)

    def seen(self) -> None:
        """Record that the job is still running."""
        if self._record.state == RUNNING:
            self._change(seen_at=self._now())

    def _change(self, **changed: Any) -> None:
        with self._lock:
            self._record = replace(self._record, **changed)


class Jobs:
    """The jobs of a registry. Safe to share between threads.

    `describe` turns the exception of a failed job into a status and JSON.
    """

    def __init__(
        self,
        registry: Registry,
        describe: Callable[[Exception], tuple[int, str]],
        *,
        most: int = MOST_RUNNING,
        now: Callable[[], float] = time.time,
    ) -> None:
        self.most = most
        self._registry = registry
        self._describe = describe
        self._now = now
        self._lock = threading.Lock()
        self._writing = threading.Lock()
        self._local: dict[str, Job] = {}
        self._closing = threading.Event()
        self._gate = WriteGate()
        self._beat: threading.Thread | None = None

    def begin(self, user: str, kind: str, name: str = "") -> Job | None:
        """Record a new job, which `run` starts; None if the user has the most running jobs already."""
        now = self._now()
        record = JobRecord(secrets.token_hex(8), user, kind, name, created_at=now, seen_at=now)
        if not self._registry.begin_job(record, self.most, now - LOST_S, now - RETENTION_S):
            return None
        job = Job(record, self._now, self._count)
        with self._lock:
            self._local[record.id] = job
            if self._beat is None:
                self._beat = threading.Thread(target=self._keep_writing, name="jobs", daemon=True)
                self._beat.start()
        return job

    def _count(self, record: JobRecord) -> Sequence[str]:
        """Write one job within the open transaction; return its id if it was cancelled."""
        with self._gate.passing() as passed:
            return self._registry.put_jobs([record]) if passed else [record.id]

    def run(self, job: Job, work: Callable[[Progress], JobOutcome]) -> None:
        """Start the work of a job in a separate thread."""
        name = f"job-{job.record.id}"
        job.thread = threading.Thread(target=self._run, args=(job, work), name=name, daemon=True)
        job.thread.start()

    def abandon(self, job: Job) -> None:
        """Drop a job that was recorded but never started."""
        job.end(CANCELLED)
        self._write()

    def _run(self, job: Job, work: Callable[[Progress], JobOutcome]) -> None:
        outcome: JobOutcome | None = None
        failure: Exception | None = None
        try:
            outcome = work(job.progress)
            job.end(DONE, outcome.status, outcome.report)
        except Stopped as stopped:
            failure = stopped
            job.end(INTERRUPTED if self._closing.is_set() else CANCELLED)
        except Exception as error:
            failure = error
            if self._gate.is_closed:
                # The index was closed meanwhile, which is not a fault.
                job.end(INTERRUPTED)
            else:
                status, described = self._describe(error)
                job.end(FAILED, status, error=described)
        self._write()
        if outcome is not None:
            job.outcome.set_result(outcome)
        else:
            job.outcome.set_exception(failure)

    def get(self, id: str) -> JobRecord | None:
        """Return a job of any process, or None."""
        found = self._registry.job(id)
        return found and self._latest(found)

    def list(self, user: str | None = None) -> list[JobRecord]:
        """Return the jobs of a user, or of all users, the newest first."""
        return [self._latest(record) for record in self._registry.jobs(user)]

    def _latest(self, record: JobRecord) -> JobRecord:
        """Return the current state of a job: interrupted if its process has not written it recently."""
        job = self._local.get(record.id)
        if job is not None:
            return job.record
        if record.state == RUNNING and self._now() - record.seen_at > LOST_S:
            return replace(record, state=INTERRUPTED, ended_at=record.seen_at)
        return record

    def stop(self, user: str, id: str | None = None, *, seconds: float = 0.0) -> bool:
        """Cancel a job of a user, or all of them; return True if they end within `seconds`."""
        for job in [*self._local.values()]:
            if job.record.user == user and id in (None, job.record.id):
                job.stop()
        self._registry.stop_jobs(user, id)
        until = time.monotonic() + seconds
        while any(each.state == RUNNING and id in (None, each.id) for each in self.list(user)):
            if time.monotonic() >= until:
                return False
            time.sleep(_LOOK_AGAIN_S)
        return True

    def close(self) -> None:
        """Stop the jobs of this process; what they stored stays, and each is marked as interrupted.

        A job that does not stop in time is not written after this returns: its process ends, and others report it as
        interrupted.
        """
        self._closing.set()
        until = time.monotonic() + GRACE_S
        jobs = [*self._local.values()]
        for job in jobs:
            job.stop()
        for job in jobs:
            if job.thread:
                job.thread.join(max(until - time.monotonic(), 0.0))
        self._write()
        if not self._gate.close(GRACE_S):
            _log.warning("the state of a job is still being written: the index is closed meanwhile")

    def _keep_writing(self) -> None:
        while not self._closing.wait(BEAT_S):
            self._write()

    def _write(self) -> None:
        """Write the progress of all jobs of this process; what cannot be written now is written next time."""
        with self._writing:
            jobs = [*self._local.values()]
            for job in jobs:
                job.seen()
            records = [job.record for job in jobs]
            stopped = self._written(records)
            if stopped is None:
                return
            for job, record in zip(jobs, records, strict=True):
                if record.id in stopped:
                    job.stop()
                if record.state != RUNNING:
                    with self._lock, suppress(KeyError):
                        del self._local[record.id]

    def _written(self, records: Sequence[JobRecord]) -> Sequence[str] | None:
        """Write records, and return the ids of cancelled jobs; None if they cannot be written now."""
        with self._gate.passing() as passed:
            if not records or not passed:
                return ()
            try:
                return self._registry.put_jobs(records)
            except Exception as error:  # whatever keeps it from being written, such as a disk that is full
                _log.warning("the state of jobs was not written: %s", error)
                return None
