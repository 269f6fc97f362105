"""Several at once, and runs that end before their time: the index stays valid and the next run goes on."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import rifflux
from rifflux import Index
from rifflux.ingest.sync import MOST_WORKERS
from rifflux.models.cores import available_cores
from tests.support.commands import PATIENCE
from tests.support.stuck import StuckAt

#: They start processes.
pytestmark = pytest.mark.slow

FILES = 300


@pytest.fixture
def big(tmp_path: Path) -> Path:
    """A folder that takes a second or more to index, and that several processes read."""
    folder = tmp_path / "big"
    folder.mkdir()
    for number in range(FILES):
        lines = (
            f"Line {line} of letter {number} is about herons and other birds of the river.\n" for line in range(240)
        )
        (folder / f"{number:03}.txt").write_text("".join(lines))
    return folder


def files_in(path: Path) -> int:
    """How many files an index holds, as another program sees it."""
    try:
        connection = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
        try:
            return int(connection.execute("select count(*) from file").fetchone()[0])
        finally:
            connection.close()
    except sqlite3.OperationalError:  # not made yet
        return 0


def processes() -> dict[int, int]:
    """The parent of every process that runs, by its id."""
    listed = subprocess.run(["ps", "-A", "-o", "pid=,ppid=,stat="], capture_output=True, text=True, check=True).stdout
    return {int(pid): int(parent) for pid, parent, state in map(str.split, listed.splitlines()) if state[0] != "Z"}


@pytest.mark.parametrize(
    ("stop", "status"), [(signal.SIGINT, 130), (signal.SIGKILL, -signal.SIGKILL)], ids=["Ctrl-C", "kill -9"]
)
def test_a_run_that_is_stopped_keeps_what_it_did_and_the_next_goes_on(
    run: Any, big: Path, tmp_path: Path, stop: signal.Signals, status: int
) -> None:
    db = tmp_path / "index.db"
    stuck = StuckAt("250.txt", tmp_path / "hook")
    process = subprocess.Popen(
        run.command("index", big, "--db", db),
        env=stuck.environment(run.environment),
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=run.hears_ctrl_c,
    )
    stuck.wait(process)
    deadline = time.monotonic() + PATIENCE
    while not files_in(db) and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.01)
    readers = [pid for pid, parent in processes().items() if parent == process.pid]
    assert len(readers) == (min(available_cores(), MOST_WORKERS) if available_cores() > 1 else 0)
    process.send_signal(stop)
    _, errors = process.communicate(timeout=PATIENCE)
    while processes().keys() & readers and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not processes().keys() & readers, "processes that read were left behind"
    assert process.returncode == status
    assert "Traceback" not in errors
    if stop == signal.SIGINT:
        assert "what was done so far is kept" in errors

    kept = files_in(db)
    assert 0 < kept < FILES
    problems = json.loads(run("doctor", "--db", db, "--json").stdout)["problems"]
    assert all("have no vector" in problem["what"] for problem in problems), problems
    assert run.json("search", "herons", "--db", db, "--mode", "lexical")["count"] == 10
    report = run.json("index", big, "--db", db)
    assert (report["indexed_files"], report["skipped_files"]) == (FILES - kept, kept)
    after = run.json("status", "--db", db)
    assert after["files"] == FILES
    assert after["embedded_chunks"] == after["chunks"]
    assert run("doctor", "--db", db).returncode == 0


def test_threads_search_while_another_indexes(index: Index, big: Path) -> None:
    index.add(big / "000.txt")
    failures: list[BaseException] = []
    done = threading.Event()

    def guarded(work: Callable[[], None]) -> None:
        try:
            work()
        except BaseException as error:
            failures.append(error)

    def ask() -> None:
        while not done.is_set():
            hits = index.search("herons of the river", top_k=5)
            assert len(hits) == 5
            assert all("herons" in hit.text for hit in hits)

    def fill() -> None:
        try:
            for number in range(1, 30):
                index.add(big / f"{number:03}.txt")
        finally:
            done.set()

    threads = [threading.Thread(target=guarded, args=(work,)) for work in (ask, ask, fill)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    assert failures == []
    assert index.status().files == 30
    assert index.admin.check() == []


def test_a_second_process_sees_what_the_first_committed(index: Index, folder: Path, run: Any, tmp_path: Path) -> None:
    index.add(folder)
    db = tmp_path / "index.db"
    assert run.json("search", "heron", "--db", db)["results"][0]["path"] == "birds/heron.txt"
    (folder / "new.md").write_text("A kingfisher.")
    run.json("index", folder, "--db", db)
    assert [hit.path for hit in index.search("kingfisher", mode="lexical")] == ["new.md"]


class TestReadOnly:
    @pytest.fixture
    def frozen(self, tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        """An index that may not be written."""
        path = tmp_path / "frozen" / "index.db"
        with rifflux.open(path, model="hash") as index:
            index.add(folder)
        path.chmod(0o444)
        path.parent.chmod(0o555)
        if os.access(path, os.W_OK):  # for root nothing is read-only; what asks first is told that it is
            monkeypatch.setattr(os, "access", lambda _, mode: mode != os.W_OK)
        return path

    def test_it_can_be_searched_and_looked_at(self, frozen: Path) -> None:
        with rifflux.open(frozen) as index:
            assert index.search("heron")[0].path == "birds/heron.txt"
            assert index.get("cache.md").title == "Cache"
            assert index.status().read_only
            assert index.admin.check() == []

    def test_writing_to_it_names_the_reason(self, frozen: Path, folder: Path) -> None:
        (folder / "new.md").write_text("A kingfisher.")
        with rifflux.open(frozen) as index, pytest.raises(rifflux.UnusableIndex, match="permissions"):
            index.add(folder)


def test_a_closed_index_says_so(index: Index, folder: Path) -> None:
    index.add(folder)
    index.close()
    with pytest.raises(rifflux.UnusableIndex, match="closed"):
        index.search("heron")
    index.close()
