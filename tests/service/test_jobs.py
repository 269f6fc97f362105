"""Jobs of several processes on one registry: what each tells of the others', and what becomes of those that end."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from rifflux.service.jobs import CANCELLED, DONE, INTERRUPTED, RUNNING, JobOutcome, Jobs, Stopped
from rifflux.service.registry import Registry
from rifflux.store import Store, open_store
from rifflux.types import Progress
from tests.support.commands import PATIENCE


class Clock:
    """A clock that is set by hand."""

    moment = 1_700_000_000.0

    def __call__(self) -> float:
        return self.moment


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def stores(tmp_path: Path) -> Iterator[list[Store]]:
    """An index as two processes have it open."""
    stores = [open_store(tmp_path / "index.db") for _ in range(2)]
    yield stores
    for store in stores:
        store.close()


@pytest.fixture
def jobs(stores: list[Store], clock: Clock) -> Iterator[list[Jobs]]:
    """The jobs of each process."""
    jobs = [Jobs(Registry(store), lambda error: (500, "{}"), now=clock) for store in stores]
    yield jobs
    for each in jobs:
        each.close()


def test_a_job_that_nobody_writes_about_was_interrupted(jobs: list[Jobs], clock: Clock) -> None:
    here, other = jobs
    job = other.begin("ann", "works")
    assert job
    other.close()
    clock.moment += 9.0
    found = here.get(job.record.id)
    assert found
    assert found.state == RUNNING
    clock.moment += 100.0
    assert [each.state for each in here.list("ann")] == [INTERRUPTED]
    # It no longer counts among those that are running.
    assert all(here.begin("ann", "works") for _ in range(here.most))
    assert here.begin("ann", "works") is None


def test_what_was_counted_in_a_transaction_is_kept_with_it(jobs: list[Jobs], stores: list[Store]) -> None:
    here, other = jobs
    job = here.begin("ann", "works")
    assert job
    catalog = Registry(stores[0])
    with stores[0].transaction():
        catalog.set("stored", "3")
        job.progress("store", 3, 9)
    found = other.get(job.record.id)
    assert found
    assert (found.done, stores[1].records.setting("stored")) == (3, "3")


@pytest.mark.parametrize("end", ["cancelled", "erased"])
def test_one_that_is_to_end_stores_nothing_more(jobs: list[Jobs], stores: list[Store], end: str) -> None:
    here, other = jobs
    begun, go_on = threading.Event(), threading.Event()

    def work(progress: Progress) -> JobOutcome:
        progress("store", 1, 9)
        begun.set()
        go_on.wait()
        with stores[0].transaction():
            stores[0].records.set("stored", "more")
            progress("store", 2, 9)
        return JobOutcome(200, "{}")

    job = here.begin("ann", "works")
    assert job
    here.run(job, work)
    begun.wait()
    if end == "erased":
        Registry(stores[1]).erase("ann")
    else:
        other.stop("ann", job.record.id)
    go_on.set()
    with pytest.raises(Stopped):
        job.outcome.result()
    assert stores[1].records.setting("stored") is None
    found = other.get(job.record.id)
    if end == "erased":
        assert found is None
        assert here.get(job.record.id) is None
    else:
        assert found
        assert (found.state, found.done) == (CANCELLED, 1)


def test_its_end_is_told_before_whoever_waits_goes_on(jobs: list[Jobs]) -> None:
    here, other = jobs
    job = here.begin("ann", "works")
    assert job
    here.run(job, lambda progress: JobOutcome(201, '{"a": 1}'))
    assert job.outcome.result().status == 201
    found = other.get(job.record.id)
    assert found
    assert (found.state, found.status, found.report) == (DONE, 201, '{"a": 1}')


def test_one_that_does_not_stop_in_time_writes_nothing_after_closing(
    stores: list[Store], clock: Clock, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("rifflux.service.jobs.GRACE_S", 0.05)
    described: list[Exception] = []

    def describe(error: Exception) -> tuple[int, str]:
        described.append(error)
        return 500, "{}"

    here = Jobs(Registry(stores[0]), describe, now=clock)
    begun, go_on = threading.Event(), threading.Event()

    def work(progress: Progress) -> JobOutcome:
        begun.set()
        assert go_on.wait(PATIENCE)
        stores[0].records.set("stored", "late")
        return JobOutcome(200, "{}")

    job = here.begin("ann", "works")
    assert job
    here.run(job, work)
    assert begun.wait(PATIENCE)
    here.close()
    stores[0].close()
    go_on.set()
    assert job.outcome.exception(PATIENCE) is not None
    assert (described, caplog.text) == ([], "")
    clock.moment += 100.0
    found = Registry(stores[1]).job(job.record.id)
    assert found
    assert found.state == RUNNING
    assert [each.state for each in Jobs(Registry(stores[1]), describe, now=clock).list("ann")] == [INTERRUPTED]


@pytest.mark.parametrize("step", range(4))
def test_nothing_is_written_about_a_job_once_closing_returned(
    stores: list[Store], clock: Clock, monkeypatch: pytest.MonkeyPatch, step: int
) -> None:
    monkeypatch.setattr("rifflux.service.jobs.GRACE_S", 0.05)
    here = Jobs(Registry(stores[0]), lambda error: (500, "{}"), now=clock)
    begun, go_on = threading.Event(), threading.Event()

    def work(progress: Progress) -> JobOutcome:
        for done in range(1, 5):
            if done == step + 1:
                begun.set()
                assert go_on.wait(PATIENCE)
            progress("store", done, 4)
        return JobOutcome(200, "{}")

    job = here.begin("ann", "works")
    assert job
    here.run(job, work)
    assert begun.wait(PATIENCE)
    here.close()
    before = Registry(stores[1]).job(job.record.id)
    go_on.set()
    with pytest.raises(Stopped):
        job.outcome.result(PATIENCE)
    here._write()
    assert Registry(stores[1]).job(job.record.id) == before
