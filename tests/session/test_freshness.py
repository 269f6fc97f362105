"""An index tells how far it is behind its files."""

from __future__ import annotations

import os
import shutil
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import rifflux
from rifflux import Document, Index
from rifflux.session import freshness as module
from rifflux.text.dates import timestamp
from rifflux.types import Freshness, Scope
from tests.support.commands import PATIENCE


def freshness(index: Index) -> Freshness:
    """What the trace of a search says."""
    found = index.search("heron", mode="lexical").trace.freshness
    assert found
    return found


@pytest.fixture
def synced(index: Index, folder: Path) -> Index:
    """The folder, indexed a while after it was written."""
    earlier = time.time() - 60
    for path in [folder, *folder.rglob("*")]:
        os.utime(path, (earlier, earlier))
    index.add(folder)
    return index


def test_right_after_a_run_nothing_is_behind(synced: Index, folder: Path) -> None:
    found = freshness(synced)
    assert (found.files, found.sampled_files, found.changed_files, found.changed_folders) == (3, 3, 0, 0)
    assert found.note is None
    assert found.synced_at
    assert (timestamp(found.synced_at) or 0) > folder.stat().st_mtime
    assert synced.search("standing herons").trace.notes == ()


def edit(folder: Path) -> None:
    (folder / "cache.md").write_text("Changed.")


def remove(folder: Path) -> None:
    (folder / "birds/heron.txt").unlink()


def edit_and_date_back(folder: Path) -> None:
    path = folder / "cache.md"
    before = path.stat()
    path.write_text(path.read_text().swapcase())
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert path.stat().st_size == before.st_size


@pytest.mark.parametrize("change", [edit, edit_and_date_back, remove])
def test_a_file_that_changed_or_is_gone_is_told(synced: Index, folder: Path, change: Callable[[Path], None]) -> None:
    change(folder)
    assert freshness(synced).changed_files == 1
    (note,) = synced.search("standing herons").trace.notes
    assert (note.code, note.text) == ("index.stale", "1 of 3 files changed since they were read")
    (stale,) = synced.status().degraded
    assert (stale.code, stale.text) == ("index.stale", "1 of 3 files changed since they were read")
    synced.add(folder)
    assert synced.status().degraded == ()


def test_a_new_file_is_told_by_its_folder(synced: Index, folder: Path) -> None:
    (folder / "birds/new.md").write_text("A kingfisher.")
    found = freshness(synced)
    assert (found.changed_files, found.changed_folders) == (0, 1)
    assert "come or gone in 1 folders" in (found.note or "")
    synced.sync()
    assert synced.status().freshness == Freshness(4, 4, 0, 0, synced.status().freshness.synced_at)


def test_a_search_looks_again_only_after_a_while_and_never_waits(
    synced: Index, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert freshness(synced).changed_files == 0
    edit(folder)
    assert freshness(synced).changed_files == 0, "it looked again at once"
    monkeypatch.setattr(synced._view.sampler, "_next_at", 0.0)
    answered = threading.Event()
    real = module.look

    def slowly(*arguments: Any) -> Freshness:
        assert answered.wait(PATIENCE), "the search waited for it"
        return real(*arguments)

    monkeypatch.setattr(module, "look", slowly)
    assert freshness(synced).changed_files == 0
    answered.set()
    deadline = time.monotonic() + PATIENCE
    while freshness(synced).changed_files == 0 and time.monotonic() < deadline:
        time.sleep(0.01)
    assert freshness(synced).changed_files == 1


def test_of_many_files_some_are_looked_at_and_the_rest_is_reckoned(
    index: Index, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(300):
        (folder / f"{number}.txt").write_text(f"Heron {number}.")
    index.add(folder)
    for number in range(0, 300, 2):
        (folder / f"{number}.txt").write_text("Changed.")
    found = freshness(index)
    assert 20 < found.sampled_files <= module.FEW
    assert 30 < found.changed_files < 270
    assert (found.note or "").startswith("about ")
    assert len(index.admin.store.catalog.some_files(10)[1]) <= 10
    assert (
        index.admin.store.catalog.some_files(1000)[0]
        == len(index.admin.store.catalog.some_files(1000)[1])
        == index.status().files
        == 303
    )
    assert index.status().freshness.changed_files == 150


def test_how_many_files_others_have_does_not_show_in_the_sample(index: Index, folder: Path, tmp_path: Path) -> None:
    ann, bob = index.scoped(Scope("ann")), index.scoped(Scope("bob"))
    for number in range(20):
        (folder / f"{number}.txt").write_text(f"Heron {number}.")
    ann.add(folder, embed=False)
    many = tmp_path / "many"
    many.mkdir()
    for number in range(100):
        (many / f"{number}.txt").write_text(f"Egret {number}.")
    bob.add(many, embed=False)
    total, sampled = ann.admin.store.catalog.some_files(10)
    assert (total, len(sampled)) == (23, 10)
    assert {root for root, _ in sampled} == {str(folder)}


def test_a_folder_that_is_gone_is_told_by_status_and_is_no_change(synced: Index, folder: Path) -> None:
    shutil.rmtree(folder)
    found = freshness(synced)
    assert (found.changed_files, found.changed_folders, found.note) == (0, 0, None)
    assert found.missing_roots == (str(folder),)
    assert synced.search("standing herons").trace.notes == ()
    (gone,) = synced.status().degraded
    assert (gone.code, gone.data) == ("root.missing", {"root": str(folder)})


def test_who_comes_back_is_not_told_of_the_folders_from_before(index: Index, folder: Path) -> None:
    ann = index.scoped(Scope("ann"))
    ann.add(folder)
    shutil.rmtree(folder)
    assert freshness(ann).missing_roots == (str(folder),)
    index.admin.delete_user("ann")
    ann.add(Document("note", "herons stand"))
    assert freshness(ann) == Freshness(0, 0, 0, 0, None)


def test_an_empty_index_and_one_of_documents_are_up_to_date(index: Index) -> None:
    assert freshness(index) == Freshness(0, 0, 0, 0, None)
    index.add(rifflux.Document("note", "A heron."))
    assert index.status().freshness == Freshness(0, 0, 0, 0, None)


def test_status_tells_how_much_is_embedded(index: Index, folder: Path) -> None:
    index.add(folder, embed=False)
    chunks = index.status().chunks
    missing = index.status().degraded[0]
    assert (missing.code, missing.data["missing"], missing.data["chunks"]) == ("vectors.missing", chunks, chunks)


@pytest.mark.slow
def test_the_command_line_tells_it(run: Any, folder: Path, tmp_path: Path) -> None:
    db = tmp_path / "index.db"
    run("index", folder, "--db", db)
    edit(folder)
    assert run.json("search", "heron", "--db", db)["diagnostics"]["freshness"]["changed_files"] == 1
    assert "1 of 3 files changed" in run("search", "heron", "--db", db).stderr
    assert "1 of 3 files changed" in run("status", "--db", db).stderr
