"""Many processes on one index: nobody fails, nothing is lost, and who has to wait is told."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import apsw
import pytest

import rifflux
from rifflux import Document
from rifflux.errors import ModelMismatch
from rifflux.ingest.sync import Target, folders, remember
from rifflux.store import FieldWeights, ModelInfo, Placed, by_words
from rifflux.store.sqlite import SqliteStore
from rifflux.store.sqlite.connection import connect, locks
from rifflux.testing import change, words
from tests.support.commands import PATIENCE

#: They start processes.
pytestmark = pytest.mark.slow

WRITERS = READERS = 8
TURNS, DOCUMENTS = 3, 2

WRITER = f"""
import sys, rifflux
with rifflux.open(sys.argv[1], model="hash:16") as index:
    for turn in range({TURNS}):
        keys = [f"{{sys.argv[2]}}-{{turn}}-{{number}}" for number in range({DOCUMENTS})]
        index.add(*(rifflux.Document(key, f"The heron {{key}} stands in the river.") for key in keys))
"""
READER = """
import sys, rifflux
with rifflux.open(sys.argv[1], model="hash:16") as index:
    for _ in range(15):
        assert all("heron" in hit.text for hit in index.search("heron in the river"))
"""
HOLDER = """
import signal, sys
from rifflux.store import open_store
with open_store(sys.argv[1]).records.lease("read") as mine:
    print(mine, flush=True)
    signal.pause()
"""


def start(program: str, *arguments: object) -> subprocess.Popen[str]:
    """A process of its own."""
    command = [sys.executable, "-c", program, *map(str, arguments)]
    environment = {"PYTHONPATH": str(Path(rifflux.__file__).parents[1])}
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_writers_and_readers_work_at_once_from_the_first_moment(tmp_path: Path) -> None:
    db = tmp_path / "index.db"
    started = [start(WRITER, db, number) for number in range(WRITERS)] + [start(READER, db) for _ in range(READERS)]
    for process in started:
        _, errors = process.communicate(timeout=PATIENCE)
        assert (process.returncode, errors) == (0, "")
    with rifflux.open(db) as index:
        status = index.status()
        assert status.documents == WRITERS * TURNS * DOCUMENTS
        assert status.embedded_chunks == status.chunks == status.documents
        assert index.admin.check() == []


@pytest.mark.parametrize("closed", [False, True], ids=["being written", "written and closed"])
def test_an_index_may_be_created_while_another_process_opens_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, closed: bool
) -> None:
    db = tmp_path / "index.db"
    open_for_writing = connect._for_writing
    creators: list[rifflux.Index] = []
    opened_paths: set[Path] = set()

    def overtaken(path: Path) -> apsw.Connection:
        opened = open_for_writing(path)
        if path not in opened_paths:
            opened_paths.add(path)
            creators.append(rifflux.open(path, model="hash:16"))
            creators[0].add(Document("first", "The heron stands in the river."))
            if closed:
                creators[0].close()
        return opened

    monkeypatch.setattr(connect, "_for_writing", overtaken)
    with rifflux.open(db, model="hash:16") as index:
        index.add(Document("second", "The bittern stands in the reeds."))
        assert index.admin.check() == []
    creators[0].close()
    with rifflux.open(db) as index:
        assert index.status().documents == 2
        assert index.admin.check() == []


def test_a_second_indexer_waits_and_says_for_whom(tmp_path: Path, run: Any) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "a.md").write_text("The heron stands in the river.")
    db = tmp_path / "index.db"
    holder = start(HOLDER, db)
    assert holder.stdout is not None
    assert holder.stdout.readline() == "True\n"
    second = subprocess.Popen(
        run.command("index", "notes", "--db", db, "--json"),
        cwd=tmp_path, env=run.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert second.stderr is not None
    assert f"process {holder.pid} reads files into this index: waiting" in second.stderr.readline()
    assert second.poll() is None
    holder.kill()  # and with it goes its lock
    out, _ = second.communicate(timeout=PATIENCE)
    holder.communicate()
    assert second.returncode == 0
    assert f'"process {holder.pid} reads files into this index"' in out


def test_a_claim_is_had_by_one_at_a_time_and_free_after_an_error(tmp_path: Path) -> None:
    first, second = (SqliteStore.open(str(tmp_path / "index.db")) for _ in range(2))

    def fail() -> None:
        with (
            first.records.lease("read") as mine,
            second.records.lease("read") as too,
            second.records.lease("embed") as other,
        ):
            assert (mine, too, other) == (True, False, True)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    with second.records.lease("read") as mine:
        assert mine


def test_documents_are_added_and_embedded_while_another_process_embeds(tmp_path: Path) -> None:
    db = tmp_path / "index.db"
    with rifflux.open(db, model="hash") as index, rifflux.open(db, model="hash") as other:
        index.add(Document("old", "An owl."), embed=False)
        with other.admin.store.records.lease("embed"):
            report = index.add(Document("a", "The heron stands in the river."))
        assert (report.embedded_chunks, report.waited_for) == (1, ())
        assert index.search("heron", mode="semantic")[0].key == "a"
        assert index.status().chunks - index.status().embedded_chunks == 1


def test_roots_that_are_added_at_once_are_all_remembered(tmp_path: Path) -> None:
    stores = [SqliteStore.open(str(tmp_path / "index.db")) for _ in range(WRITERS)]
    targets = [Target(tmp_path / str(number), tmp_path / str(number)) for number in range(WRITERS)]
    with ThreadPoolExecutor(WRITERS) as threads:
        list(threads.map(remember, stores, targets))
    assert folders(stores[0]) == sorted(str(target.root) for target in targets)


def test_two_that_embed_first_agree_on_one_model(tmp_path: Path) -> None:
    stores = [SqliteStore.open(str(tmp_path / "index.db")) for _ in range(WRITERS)]
    models = [ModelInfo(f"m{number}", "hash", 2, f"f{number}", "hash:2") for number in range(WRITERS)]

    def use(store: SqliteStore, model: ModelInfo) -> bool:
        try:
            store.semantic.use_model(model)
        except ModelMismatch:
            return False
        return True

    with ThreadPoolExecutor(WRITERS) as threads:
        used = list(threads.map(use, stores, models))
    assert [model for model, mine in zip(models, used, strict=True) if mine] == [stores[0].semantic.model()]


class TestLog:
    @pytest.fixture
    def writer(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SqliteStore:
        """A store whose log counts as long soon."""
        monkeypatch.setattr(locks, "MOVE_FROM", 10)
        monkeypatch.setattr(locks, "WAIT_FROM", 40)
        monkeypatch.setattr(locks, "READERS_TIMEOUT_MS", 20)
        return SqliteStore.open(str(tmp_path / "index.db"))

    def write(self, store: SqliteStore, transactions: int) -> None:
        for number in range(transactions):
            store.catalog.write(Placed("c", change(f"d{number}", f"words {number} " * 200)))

    def test_a_reader_that_never_ends_stops_no_writer_and_afterwards_the_log_starts_anew(
        self, writer: SqliteStore, tmp_path: Path
    ) -> None:
        reader = SqliteStore.open(str(tmp_path / "index.db"))
        log = tmp_path / "index.db-wal"
        with reader.view.reading() as (connection, _):
            connection.execute("begin")
            assert connection.execute("select count(*) from chunk").get == 0
            self.write(writer, 40)
            grown = log.stat().st_size
            assert grown > 40 * 8192
            connection.execute("rollback")
        self.write(writer, 40)
        assert log.stat().st_size <= 1.2 * grown, "it was begun anew"
        assert len(by_words(reader, words("words"), 1000, FieldWeights())) == 40

    def test_readers_who_leave_no_gap_do_not_keep_it_growing(self, writer: SqliteStore, tmp_path: Path) -> None:
        done = threading.Event()

        def read() -> None:
            now, then = (SqliteStore.open(str(tmp_path / "index.db")).view.engine.connection for _ in range(2))
            while not done.is_set():
                then.execute("begin")
                then.execute("select count(*) from chunk").fetchall()
                if now.in_transaction:
                    now.execute("rollback")
                now, then = then, now
                time.sleep(0.002)

        with ThreadPoolExecutor() as threads:
            reading = threads.submit(read)
            log = tmp_path / "index.db-wal"
            until = time.monotonic() + PATIENCE
            written = 0
            while written < 150 or (log.stat().st_size >= written * 8192 and time.monotonic() < until):
                self.write(writer, 50)
                written += 50
            done.set()
            reading.result()
        assert log.stat().st_size < written * 8192, "it was never begun anew"
