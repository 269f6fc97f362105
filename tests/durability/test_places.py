"""Read-only files, folders and disks are searched; a full disk loses nothing; each refusal names the cure."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

import rifflux
from rifflux import Document, UnusableIndex
from tests.support.places import as_somebody_else, make_read_only, read_only_view, small_disk

QUESTION = "heron in the river"
LEFT_OPEN = """
import os, signal, sys, rifflux
index = rifflux.open(sys.argv[1], model="hash:16")
index.add(rifflux.Document("late", "A late heron stands in the river."))
os.kill(os.getpid(), signal.SIGKILL)
"""

REMOVES = """
import sys, rifflux
with rifflux.open(sys.argv[1], model="hash:16") as index:
    index.remove("early")
"""


def fill(path: Path) -> None:
    """Make an index with one document and close it."""
    with rifflux.open(path, model="hash:16") as index:
        index.add(Document("early", "The heron stands in the river."))


def run_program(program: str, path: Path) -> int:
    """Do something to an index in a process of its own; returns its exit status."""
    environment = {"PYTHONPATH": str(Path(rifflux.__file__).parents[1])}
    return subprocess.run([sys.executable, "-c", program, str(path)], env=environment, check=False).returncode


def leave_log(path: Path) -> None:
    """Add the document `late` in a process that is killed before it can move the log into the database."""
    assert run_program(LEFT_OPEN, path) == -signal.SIGKILL
    assert path.with_name(path.name + "-wal").stat().st_size


def look(path: Path, *expected: str) -> None:
    """All of the index's documents are found, it is sound, and adding is refused with the reason."""
    with rifflux.open(path, create=False, model="hash:16") as index:
        assert {hit.key for hit in index.search(QUESTION)} == set(expected)
        status = index.status()
        assert status.read_only
        assert status.documents == len(expected)
        assert index.admin.check() == []
        with pytest.raises(UnusableIndex, match="cannot be written"):
            index.add(Document("new", "A kingfisher."))


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that everybody may enter, unlike those of pytest."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    yield folder
    folder.chmod(0o755)
    shutil.rmtree(folder)


@pytest.fixture
def disk() -> Iterator[Path]:
    """A folder on a disk: what is in memory cannot be made immutable."""
    place = Path("/var/tmp")
    with tempfile.TemporaryDirectory(dir=place if place.is_dir() else None) as folder:
        yield Path(folder)


class TestReadOnly:
    def test_media_that_nobody_can_write(self, tmp_path: Path) -> None:
        with small_disk(tmp_path / "disk", 8192) as disk:
            fill(disk / "index.db")
            make_read_only(disk)
            look(disk / "index.db", "early")

    @pytest.mark.parametrize("shared", [True, False], ids=["with the shared memory", "copied without it"])
    def test_media_with_a_log_beside_the_index(self, tmp_path: Path, shared: bool) -> None:
        fill(tmp_path / "index.db")
        leave_log(tmp_path / "index.db")
        with small_disk(tmp_path / "disk", 8192) as disk:
            for suffix in ("", "-wal", "-shm")[: 3 if shared else 2]:
                shutil.copy(tmp_path / f"index.db{suffix}", disk / f"index.db{suffix}")
            make_read_only(disk)
            look(disk / "index.db", "early", "late")

    def test_a_file_that_belongs_to_somebody_else(self, open_folder: Path) -> None:
        path = open_folder / "index.db"
        fill(path)
        path.chmod(0o444)
        open_folder.chmod(0o555)
        as_somebody_else(lambda: look(path, "early"))

    def test_a_file_of_somebody_else_who_has_it_open(self, open_folder: Path) -> None:
        path = open_folder / "index.db"
        fill(path)
        with rifflux.open(path, model="hash:16") as index:
            index.add(Document("late", "A late heron stands in the river."))
            for file in open_folder.iterdir():
                file.chmod(0o444)
            open_folder.chmod(0o555)
            as_somebody_else(lambda: look(path, "early", "late"))

    def test_a_file_that_may_not_be_changed(self, disk: Path) -> None:
        path = disk / "index.db"
        fill(path)
        if subprocess.run(["chattr", "+i", str(path)], capture_output=True, check=False).returncode:
            pytest.skip("files cannot be made immutable here")
        try:
            look(path, "early")
        finally:
            subprocess.run(["chattr", "-i", str(path)], check=True)

    def test_what_its_owner_changes_later_is_read_anew(self, tmp_path: Path) -> None:
        (tmp_path / "own").mkdir()
        fill(tmp_path / "own" / "index.db")
        with (
            read_only_view(tmp_path / "own", tmp_path / "view") as view,
            rifflux.open(view / "index.db", model="hash:16") as index,
        ):
            assert {hit.key for hit in index.search(QUESTION)} == {"early"}
            leave_log(tmp_path / "own" / "index.db")
            assert {hit.key for hit in index.search(QUESTION)} == {"early", "late"}
            assert run_program(REMOVES, tmp_path / "own" / "index.db") == 0
            assert {hit.key for hit in index.search(QUESTION)} == {"late"}
            assert index.admin.check() == []


class TestFullDisk:
    def grow(self, path: Path) -> int:
        """Add documents until the disk is full; returns how many were reported as added."""
        added: list[int] = []

        def fill_up() -> None:
            for number in range(10_000):
                index.add(Document(f"d{number}", f"Heron {number} stands in the river. " * 60))
                added.append(number)

        with rifflux.open(path, model="hash:16") as index, pytest.raises(UnusableIndex, match="full"):
            fill_up()
        return len(added)

    def test_what_was_reported_is_kept_and_work_goes_on_when_there_is_space(self, tmp_path: Path) -> None:
        with small_disk(tmp_path / "disk", 3600) as disk:
            path = disk / "index.db"
            added = self.grow(path)
            assert added > 10
            with rifflux.open(path, create=False, model="hash:16") as index:
                assert len(index.search(QUESTION, top_k=1000, collapse=False)) >= 10
                assert index.status().documents >= added
                assert [problem for problem in index.admin.check() if "vector" not in problem.what] == []
            subprocess.run(["mount", "-o", "remount,size=9000k", str(disk)], check=True)
            with rifflux.open(path, create=False, model="hash:16") as index:
                index.add(Document("new", "A kingfisher."))
                assert index.search("kingfisher", mode="lexical")[0].key == "new"
                assert index.status().documents >= added + 1
                assert index.status().embedded_chunks == index.status().chunks
                assert index.admin.check() == []

    def test_where_not_a_byte_is_free_reading_goes_on(self, tmp_path: Path) -> None:
        with small_disk(tmp_path / "disk", 4000) as disk:
            path = disk / "index.db"
            with rifflux.open(path, model="hash:16") as index:
                index.add([Document(f"d{number}", f"Heron {number} stands in the river.") for number in range(50)])
            with suppress(OSError), (disk / "filler").open("wb", buffering=0) as filler:
                while filler.write(bytes(4096)):
                    pass
            assert shutil.disk_usage(disk).free == 0
            with rifflux.open(path, create=False, model="hash:16") as index:
                assert len(index.search(QUESTION, top_k=100)) == 50
                assert index.document("d7").text == "Heron 7 stands in the river."
                assert index.status().documents == 50
                assert index.admin.check() == []
                index.admin.backup(tmp_path / "copy.db")
                with pytest.raises(rifflux.DiskFull, match="What was stored is kept"):
                    index.add(Document("new", "A kingfisher."))
                with pytest.raises(rifflux.DiskFull):
                    index.admin.backup(disk / "copy.db")
            assert rifflux.diagnose(path) == []
            assert rifflux.diagnose(tmp_path / "copy.db") == []
            assert not list(disk.glob("*.partial*"))
            (disk / "filler").unlink()
            with rifflux.open(path, model="hash:16") as index:
                index.add(Document("new", "A kingfisher."))
                assert index.search("kingfisher", mode="lexical")[0].key == "new"

    def test_no_space_for_a_new_index(self, tmp_path: Path) -> None:
        with small_disk(tmp_path / "disk", 16) as disk:
            (disk / "filler").write_bytes(bytes(16 << 10))
            with pytest.raises(UnusableIndex, match="full"):
                rifflux.open(disk / "index.db")
