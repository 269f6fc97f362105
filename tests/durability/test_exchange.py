"""An index is replaced in one step: wherever that is interrupted, the old or the new one is there, and all of it."""

from __future__ import annotations

import gzip
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import rifflux
from rifflux import Busy, Cure, DamagedIndex, Document, InvalidArgument, NotAnIndex, NotFound
from tests.support.commands import PATIENCE

DOCUMENTS = 40
#: What changes names and files, by the place where it is called.
CALLS = ((Path, "hardlink_to"), (Path, "replace"), (Path, "unlink"), (os, "fsync"))


class _Killed(BaseException):
    """The process ends here."""


@contextmanager
def killed_at(number: int) -> Iterator[list[int]]:
    """End the process, as it seems, at a call that changes names or files; yields the number of calls so far."""
    count = [0]
    patched = pytest.MonkeyPatch()

    def counted(original: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **options: Any) -> Any:
            count[0] += 1
            if count[0] >= number:
                raise _Killed
            return original(*arguments, **options)

        return call

    for place, name in CALLS:
        patched.setattr(place, name, counted(getattr(place, name)))
    remove = shutil.rmtree
    # A killed process leaves its folder.
    patched.setattr(shutil, "rmtree", lambda *given, **more: count[0] < number and remove(*given, **more))
    try:
        yield count
    except _Killed:
        pass
    finally:
        patched.undo()


def keys(path: Path) -> set[str]:
    with rifflux.open(path, model="hash", create=False) as index:
        return {document.key for document in index.documents.list().documents}


@pytest.fixture(scope="module")
def damaged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with an index without a header, the last ten documents of which are only in its log."""
    folder = tmp_path_factory.mktemp("damaged")
    path = folder / "work.db"
    with rifflux.open(path, model="hash") as index:
        index.add([Document(f"d{number}", f"marmot {number}") for number in range(DOCUMENTS - 10)])
    with rifflux.open(path, model="hash") as index:
        index.add([Document(f"d{number}", f"marmot {number}") for number in range(DOCUMENTS - 10, DOCUMENTS)])
        for suffix in ("", "-wal"):
            shutil.copy(f"{path}{suffix}", folder / f"index.db{suffix}")
    for left in folder.glob("work.db*"):
        left.unlink()
    with (folder / "index.db").open("r+b") as file:
        file.write(bytes(100))
    return folder


def test_a_repair_that_is_killed_at_any_step_loses_nothing(damaged: Path, tmp_path: Path) -> None:
    everything = {f"d{number}" for number in range(DOCUMENTS)}
    number = 1
    while True:
        folder = tmp_path / str(number)
        shutil.copytree(damaged, folder)
        path = folder / "index.db"
        with killed_at(number) as count:
            rifflux.repair(path)
        rifflux.repair(path)
        assert keys(path) == everything, f"killed at call {number}"
        assert rifflux.diagnose(path) == []
        assert not list(folder.glob("*.new-*"))
        if count[0] < number:
            break
        number += 1
    assert number > 5


def test_a_restore_that_is_killed_at_any_step_leaves_the_old_or_the_new_index(tmp_path: Path) -> None:
    number = 1
    seen = set()
    while True:
        folder = tmp_path / str(number)
        folder.mkdir()
        path = folder / "index.db"
        copy = folder / "copy.db"
        with rifflux.open(path, model="hash") as index:
            index.add(Document("old", "marmot"))
            index.admin.backup(copy)
            index.add(Document("new", "marmot"))
        with killed_at(number) as count:
            rifflux.restore(copy, path)
        found = frozenset(keys(path))
        assert found in ({"old"}, {"old", "new"})
        seen.add(found)
        if found == {"old"}:
            (kept,) = folder.glob("index.db.replaced-*[0-9]")
            assert keys(kept) == {"old", "new"}
        if count[0] < number:
            break
        number += 1
    assert len(seen) == 2


def test_a_copy_is_restored_where_no_index_is(tmp_path: Path) -> None:
    with rifflux.open(tmp_path / "index.db", model="hash") as index:
        index.add(Document("old", "marmot"))
        index.admin.backup(tmp_path / "copy.db")
    restored = rifflux.restore(tmp_path / "copy.db", tmp_path / "other.db")
    assert (restored.documents, restored.previous) == (1, None)
    assert keys(tmp_path / "other.db") == {"old"}


def test_a_copy_without_vectors_and_one_of_an_older_version_are_restored(tmp_path: Path) -> None:
    with rifflux.open(tmp_path / "index.db", model="hash") as index:
        index.add(Document("old", "marmot"))
        index.add(Document("new", "marmot at dawn"), embed=False)
        index.admin.backup(tmp_path / "copy.db")
    restored = rifflux.restore(tmp_path / "copy.db", tmp_path / "other.db")
    assert [problem.cure for problem in restored.problems] == [Cure.INDEX]
    assert keys(tmp_path / "other.db") == {"old", "new"}
    former = tmp_path / "former.db"
    kept = Path(__file__).parents[1] / "store" / "sqlite" / "schema-2.db.gz"
    former.write_bytes(gzip.decompress(kept.read_bytes()))
    assert rifflux.restore(former, tmp_path / "migrated.db").problems == ()
    with rifflux.open(tmp_path / "migrated.db", create=False, model="hash:32") as index:
        assert index.status().schema_version > 2


@pytest.mark.skipif(os.name == "nt", reason="links need a right there")
def test_an_index_behind_a_link_is_the_index(tmp_path: Path) -> None:
    path = tmp_path / "index.db"
    with rifflux.open(path, model="hash") as index:
        index.add([Document(f"d{number}", f"marmot {number}") for number in range(DOCUMENTS)])
        index.admin.backup(tmp_path / "copy.db")
    (tmp_path / "links").mkdir()
    link = tmp_path / "links" / "link.db"
    link.symlink_to(path)
    assert rifflux.diagnose(link) == []
    with rifflux.open(link, create=False) as index:
        index.add(Document("late", "pika"))
    with pytest.raises(InvalidArgument, match="is the index itself"):
        rifflux.restore(link, path)
    with path.open("r+b") as file:
        file.write(bytes(100))
    rifflux.repair(link)
    assert keys(path) == {"late", *(f"d{number}" for number in range(DOCUMENTS))}
    rifflux.restore(tmp_path / "copy.db", link)
    assert "late" not in keys(path)
    # Nothing is put beside the link.
    assert [each.name for each in link.parent.iterdir()] == [link.name]


def test_what_is_no_sound_copy_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "index.db"
    copy = tmp_path / "copy.db"
    with rifflux.open(path, model="hash") as index:
        index.add([Document(f"d{number}", f"marmot {number}") for number in range(DOCUMENTS)])
        index.admin.backup(copy)
        with pytest.raises(Busy, match=r"has .* open"):
            rifflux.restore(copy, path)
    before = path.read_bytes()
    with pytest.raises(InvalidArgument, match="is the index itself"):
        rifflux.restore(path, path)
    with pytest.raises(NotFound):
        rifflux.restore(tmp_path / "missing.db", path)
    (tmp_path / "note.md").write_text("# No copy\n")
    with pytest.raises(NotAnIndex):
        rifflux.restore(tmp_path / "note.md", path)
    with copy.open("r+b") as file:
        file.seek(3 * 8192)
        file.write(os.urandom(20 * 8192))
    with pytest.raises(DamagedIndex, match=r"the copy .*copy\.db is damaged \(.*\): restore another one") as raised:
        rifflux.restore(copy, path)
    assert str(path) not in str(raised.value)
    whole = copy.read_bytes()
    copy.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(DamagedIndex, match=r"the copy .*copy\.db is damaged"):
        rifflux.restore(copy, path)
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(NotAnIndex):
        rifflux.restore(pipe, path)
    assert path.read_bytes() == before
    assert not list(tmp_path.glob("*.replaced-*"))


def test_an_index_with_several_connections_is_in_use_for_other_processes(tmp_path: Path) -> None:
    path = tmp_path / "index.db"
    copy = tmp_path / "copy.db"
    with rifflux.open(path, model="hash") as index:
        index.add([Document(f"d{number}", f"marmot {number}") for number in range(DOCUMENTS)])
        index.admin.backup(copy)
        # Neither opening it again nor reading its pages may give up the locks.
        with rifflux.open(path, model="hash"):
            pass
        assert index.admin.check() == []
        assert rifflux.diagnose(path) == []
        program = f"import rifflux; rifflux.restore({str(copy)!r}, {str(path)!r})"
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=PATIENCE)
        assert "Busy: another process has" in done.stderr
        log = path.with_name(f"{path.name}-wal")
        reading = f"import rifflux; rifflux.open({str(path)!r}, model='hash').close()"
        subprocess.run([sys.executable, "-c", reading], check=True, timeout=PATIENCE)
        assert log.exists(), "the other process took itself for the last one"
        index.add(Document("late", "a wombat"))
    with rifflux.open(path, model="hash") as index:
        assert index.get("late")
