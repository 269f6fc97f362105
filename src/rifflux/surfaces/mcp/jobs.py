"""Runs of indexing, one at a time; those in the background have an id and a state, and can be cancelled."""

from __future__ import annotations

import logging
import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from rifflux import Busy, IndexReport, NotFound, Notice, Progress, RiffluxError

#: The number of ended jobs that are remembered.
MOST_JOBS = 20
#: Seconds that a run waits for another to end.
PATIENCE = 5.0
#: Seconds that a stopping server waits for its job.
GRACE = 10.0
_log = logging.getLogger(__name__)


class _Stopped(Exception):
    """Raised in a run that was cancelled."""


@dataclass
class ToolJob:
    """A run of indexing in the background; `state` is running, done, failed or cancelled."""

    id: str
    user: str
    state: str = "running"
    stage: str = ""
    done: int = 0
    total: int | None = None
    seconds: float = 0.0
    report: IndexReport | None = None
    error: Notice | None = None
    stop: threading.Event = field(default_factory=threading.Event)
    thread: threading.Thread | None = None

    def progress(self, stage: str, done: int, total: int | None) -> None:
        """Record progress. Raises `JobStopped` if the run was cancelled."""
        if self.stop.is_set():
            raise _Stopped
        self.stage = stage
        self.done = done
        self.total = total

    def __str__(self) -> str:
        return f"job {self.id}: {self.stage or 'starting'}, {self.done} of {self.total or '?'}"


class ToolJobs:
    """The runs of one server. Safe to share between threads."""

    def __init__(self) -> None:
        self._turn = threading.Lock()
        self._lock = threading.Lock()
        self._known: OrderedDict[str, ToolJob] = OrderedDict()

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Hold the indexing lock. Raises `Busy` if another run keeps it."""
        self._take()
        try:
            yield
        finally:
            self._turn.release()

    def _take(self) -> None:
        if not self._turn.acquire(timeout=PATIENCE):
            running = next((str(job) for job in self._known.values() if job.state == "running"), "of another call")
            raise Busy(f"files are being indexed already ({running}): ask again when that is done")

    def start(self, user: str, run: Callable[[Progress], IndexReport]) -> ToolJob:
        """Start a run in the background. Raises `Busy` if another is under way."""
        self._take()
        job = ToolJob(secrets.token_hex(4), user)
        job.thread = threading.Thread(target=self._run, args=(job, run), name=f"reindex-{job.id}", daemon=True)
        with self._lock:
            self._known[job.id] = job
            while len(self._known) > MOST_JOBS:
                self._known.popitem(last=False)
        job.thread.start()
        return job

    def _run(self, job: ToolJob, run: Callable[[Progress], IndexReport]) -> None:
        start = time.monotonic()
        state = "failed"
        try:
            job.report = run(job.progress)
            state = "done"
        except _Stopped:
            state = "cancelled"
        except RiffluxError as error:
            job.error = Notice.of(error)
        except Exception as error:
            _log.exception("job %s", job.id)
            text = f"a fault of its own ({type(error).__name__}): the server's log says more"
            job.error = Notice("fault", text)
        finally:
            job.seconds = round(time.monotonic() - start, 3)
            self._turn.release()
            job.state = state

    def of(self, user: str, id: str) -> ToolJob:
        """Return a job of a user. Raises `NotFound`."""
        job = self._known.get(id)
        if job is None or job.user != user:
            raise NotFound(f"no job {id!r}: take the id that starting one gave")
        return job

    def close(self) -> None:
        """Cancel the running jobs; what they stored stays."""
        for job in [*self._known.values()]:
            job.stop.set()
            if job.thread:
                job.thread.join(GRACE)
