"""Processes that read beside the one that writes: the same index, whatever becomes of them."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from types import ModuleType

import pytest

import rifflux
from rifflux.ingest import sync
from rifflux.ingest.chunking import Chunker
from rifflux.ingest.parallel import pool
from rifflux.ingest.parallel.pool import LOST, WorkerPool
from rifflux.ingest.prepare import Preparer, ReadJob, do
from rifflux.ingest.walk.find import Finder, FoundFile
from rifflux.session import writing as adding
from rifflux.text.analyzer import analyzer
from rifflux.types import Document
from tests.support import deadly


def preparer(count: Callable[[str], int] = deadly.count) -> Preparer:
    return Preparer(analyzer("english"), Chunker(target_tokens=40, floor_tokens=20), count)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two hundred small files, one of them broken."""
    folder = tmp_path / "notes"
    folder.mkdir()
    for number in range(200):
        sentences = (f"Heron {number} met heron {other} at the river." for other in range(number % 7 * 20))
        (folder / f"{number:03}.md").write_text(f"# Letter {number}\n\n{' '.join(sentences)}")
    (folder / "broken.pdf").write_bytes(b"%PDF-1.7 and nothing more")
    return folder


def jobs(folder: Path) -> list[ReadJob]:
    return [ReadJob(str(folder), found) for found in Finder()(folder) if isinstance(found, FoundFile)]


@pytest.fixture
def running() -> Iterator[Callable[..., WorkerPool]]:
    """Starts workers that end with the test."""
    started: list[WorkerPool] = []

    def start(prepare: Preparer) -> WorkerPool:
        made = WorkerPool(2, prepare)
        started.append(made)
        return made

    yield start
    for each in started:
        each.close()


def test_they_do_what_this_process_would_do_in_the_same_order(folder: Path, running: Callable[..., WorkerPool]) -> None:
    todo = jobs(folder)
    alone = [(job, do(job, preparer())) for job in todo]
    assert list(running(preparer())(todo)) == alone
    assert any(outcome.failures for _, outcome in alone)


def test_a_killed_one_is_replaced_and_nothing_is_lost(folder: Path, running: Callable[..., WorkerPool]) -> None:
    made, todo = running(preparer()), jobs(folder)
    done = []
    for one, outcome in made(todo):
        done.append((one, outcome))
        if len(done) in (1, 100):
            for worker in made._workers:
                # One that died before is replaced once it is needed.
                with suppress(ProcessLookupError):
                    os.kill(worker.process.pid, signal.SIGKILL)
    assert done == [(job, do(job, preparer())) for job in todo]


def test_a_file_that_ends_its_reader_fails_alone(folder: Path, running: Callable[..., WorkerPool]) -> None:
    (folder / "100.md").write_text("A deadly one.")
    outcomes = {job.found.path: outcome for job, outcome in running(preparer())(jobs(folder))}
    failed = {path: outcome.failures[0].reason for path, outcome in outcomes.items() if outcome.failures}
    assert failed.keys() == {"100.md", "broken.pdf"}
    assert failed["100.md"] == LOST
    assert outcomes["100.md"].change is None, "it should be tried again by the next run"


def test_without_a_way_to_tell_them_how_to_count_they_only_read(
    folder: Path, running: Callable[..., WorkerPool]
) -> None:
    prepare = preparer(lambda text: len(text.split()))
    todo = jobs(folder)
    assert list(running(prepare)(todo)) == [(job, do(job, prepare)) for job in todo]


def test_what_they_do_not_know_is_done_here(
    folder: Path, running: Callable[..., WorkerPool], monkeypatch: pytest.MonkeyPatch
) -> None:
    here = ModuleType("only_here")
    vars(here)["count"] = deadly.count
    monkeypatch.setitem(sys.modules, "only_here", here)
    monkeypatch.setattr(deadly.count, "__module__", "only_here")
    todo = jobs(folder)[:5]
    assert list(running(preparer())(todo)) == [(job, do(job, preparer())) for job in todo]


def test_closing_ends_them(folder: Path) -> None:
    made = WorkerPool(2, preparer())
    next(made(jobs(folder)))
    made.close()
    assert all(worker.process.poll() is not None for worker in made._workers)


class TestIndexing:
    @pytest.fixture(autouse=True)
    def _always(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(sync, "WORTHWHILE", 0)

    def contents(self, path: Path, folder: Path, processes: int) -> tuple[object, ...]:
        with rifflux.open(path, model="hash") as index:
            report = index.add(folder, embed=False, processes=processes)
            assert index.admin.check() == []
            rows = [[(hit.id, hit.text) for hit in index.chunks(f"{number:03}.md")] for number in range(200)]
            ids = [pending.id for batch in index.admin.store.semantic.pending(1000) for pending in batch]
            return report.indexed_files, report.failed, report.chunks, rows, ids

    def test_the_index_is_the_same_as_without_them(self, tmp_path: Path, folder: Path) -> None:
        assert self.contents(tmp_path / "a.db", folder, 1) == self.contents(tmp_path / "b.db", folder, 2)

    def test_they_are_not_started_for_little(
        self, tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (folder / "broken.pdf").unlink()
        monkeypatch.setattr(sync, "WORTHWHILE", 10**9)
        monkeypatch.setattr(pool, "Worker", None)
        self.contents(tmp_path / "a.db", folder, 2)

    def test_documents_of_a_program_are_prepared_by_them_too(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(adding, "TOGETHER", 30)
        documents = [
            Document(str(number), f"Heron {number} met the owl. " * (number % 7), f"Letter {number}")
            for number in range(100)
        ]
        held = []
        for processes in (1, 2):
            with rifflux.open(tmp_path / f"{processes}.db", model="hash") as index:
                report = index.add(*documents, embed=False, processes=processes)
                assert (report.indexed_files, index.admin.check()) == (100, [])
                again = index.add(*documents, embed=False, processes=processes)
                assert (again.indexed_files, again.skipped_files) == (0, 100)
                held.append([[(hit.id, hit.text) for hit in index.chunks(each.key)] for each in documents])
        assert held[0] == held[1]
        assert all(held[0])
