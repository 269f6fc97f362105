"""Nothing is forgotten by accident: a folder that is empty, elsewhere or mostly gone keeps what is indexed of it."""

from __future__ import annotations

import json
import os
import threading
from pathlib import Path

import pytest

from rifflux import Cure, Index
from rifflux.ingest.sync import MANY_MISSING
from tests.support.commands import PATIENCE


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    """A folder of notes, more than half of which are many."""
    vault = tmp_path / "vault"
    vault.mkdir()
    for number in range(2 * MANY_MISSING):
        (vault / f"note-{number}.md").write_text(f"# Note {number}\n\nmarmot {number}\n")
    return vault


def documents(index: Index) -> int:
    return index.status().documents


def test_an_emptied_folder_keeps_its_files_until_it_is_said_that_they_are_gone(
    index: Index, vault: Path, tmp_path: Path
) -> None:
    index.add(vault)
    vault.rename(tmp_path / "away")
    vault.mkdir()
    for report in (index.add(vault), index.sync()):
        assert report.deleted_files == 0
        assert [(failure.path, failure.code, failure.cure) for failure in report.failed] == [
            (str(vault), "root.lost", Cure.PRUNE)
        ]
        assert documents(index) == 2 * MANY_MISSING
    assert index.sync(prune=True).deleted_files == 2 * MANY_MISSING
    assert documents(index) == 0


def test_what_is_gone_comes_back_without_being_read_again(index: Index, vault: Path, tmp_path: Path) -> None:
    index.add(vault)
    vault.rename(tmp_path / "away")
    vault.mkdir()
    index.sync()
    vault.rmdir()
    (tmp_path / "away").rename(vault)
    report = index.sync()
    assert (report.indexed_files, report.skipped_files, report.failed) == (0, 2 * MANY_MISSING, ())


def test_a_folder_that_lost_most_of_its_files_keeps_them(index: Index, vault: Path) -> None:
    index.add(vault)
    for path in sorted(vault.iterdir())[: MANY_MISSING + 1]:
        path.unlink()
    report = index.sync()
    assert (report.deleted_files, [failure.code for failure in report.failed]) == (0, ["root.lost"])
    assert index.sync(prune=True).deleted_files == MANY_MISSING + 1


def test_half_of_a_folder_or_fewer_than_many_are_forgotten(index: Index, vault: Path) -> None:
    index.add(vault)
    for path in sorted(vault.iterdir())[:MANY_MISSING]:
        path.unlink()
    assert index.sync().deleted_files == MANY_MISSING
    for path in sorted(vault.iterdir())[: MANY_MISSING - 1]:
        path.unlink()
    assert index.sync().deleted_files == MANY_MISSING - 1


def test_files_that_only_moved_within_their_folder_are_not_lost(index: Index, vault: Path) -> None:
    index.add(vault)
    (vault / "inner").mkdir()
    for path in sorted(vault.glob("*.md")):
        path.rename(vault / "inner" / path.name)
    report = index.sync()
    assert (report.indexed_files, report.deleted_files, report.failed) == (2 * MANY_MISSING, 2 * MANY_MISSING, ())


def test_a_folder_on_another_device_keeps_what_is_gone(index: Index, vault: Path) -> None:
    index.add(vault)
    registry = index.registry
    registry.set("devices", json.dumps({str(vault): vault.stat().st_dev + 1}))
    assert index.sync().failed == ()  # as long as nothing is gone, a new number means nothing
    registry.set("devices", json.dumps({str(vault): vault.stat().st_dev + 1}))
    (vault / "note-0.md").unlink()
    report = index.sync()
    assert (report.deleted_files, [failure.code for failure in report.failed]) == (0, ["root.lost"])
    assert index.sync(prune=True).deleted_files == 1
    assert index.sync().failed == ()


def test_watching_keeps_what_an_emptied_folder_held(index: Index, vault: Path) -> None:
    index.add(vault)
    stop = threading.Event()
    started = threading.Event()
    lost = threading.Event()

    def follow() -> None:
        for report in index.watch(stop=stop):
            started.set()
            if any(failure.code == "root.lost" for failure in report.failed):
                lost.set()

    thread = threading.Thread(target=follow)
    thread.start()
    assert started.wait(PATIENCE)
    for path in vault.iterdir():
        path.unlink()
    found = lost.wait(PATIENCE)
    stop.set()
    thread.join(PATIENCE)
    assert found
    assert documents(index) > 0


def test_a_first_run_that_fails_is_taken_up_by_the_next(
    index: Index, vault: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr("rifflux.ingest.sync.Sync.__call__", _fail)
        with pytest.raises(OSError, match="input/output error"):
            index.add(vault)
    assert index.sync().indexed_files == 2 * MANY_MISSING


def _fail(*_: object) -> None:
    raise OSError("input/output error")


@pytest.mark.parametrize("year", [1901, 2300, 2446])
def test_a_file_of_any_date_is_stored_beside_the_others(index: Index, vault: Path, year: int) -> None:
    odd = vault / "note-0.md"
    moment = (year - 1970) * 31_556_952
    os.utime(odd, (moment, moment))
    if int(odd.stat().st_mtime) != moment:
        pytest.skip("the file system does not hold the date")
    report = index.add(vault)
    assert (report.indexed_files, report.failed) == (2 * MANY_MISSING, ())
    assert [remark.code for remark in report.remarks] == ["file.misdated"]
    again = index.add(vault)
    assert (again.indexed_files, again.remarks) == (0, ())
    assert index.status().freshness.changed_files == 0
