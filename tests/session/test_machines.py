"""Two machines that index into one place leave each other's folders alone, also where their paths are equal."""

from __future__ import annotations

import platform
import shutil
from pathlib import Path

import pytest

import rifflux
from rifflux import Cure, NotFound
from rifflux.store import STORES, Store
from rifflux.testing.memory import MemoryStore


class Shared:
    """An engine that several machines open: it is not a file of any of them."""

    store: Store

    @classmethod
    def open(cls, location: str, **options: object) -> Store:
        del location, options
        return cls.store


@pytest.fixture
def index(monkeypatch: pytest.MonkeyPatch) -> rifflux.Index:
    Shared.store = MemoryStore()
    monkeypatch.setitem(STORES, "shared", f"{__name__}:Shared")
    monkeypatch.setattr(platform, "node", lambda: "one")
    return rifflux.open("shared://place", model="hash:16")


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    notes = tmp_path / "notes"
    notes.mkdir()
    for name in ("heron", "otter"):
        (notes / f"{name}.md").write_text(f"# {name}\n\nThe {name} fishes.\n")
    return notes


def test_a_folder_of_the_same_path_on_another_machine_removes_nothing(
    index: rifflux.Index, notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    index.add(notes)
    monkeypatch.setattr(platform, "node", lambda: "two")
    (notes / "heron.md").unlink()
    (notes / "kestrel.md").write_text("# kestrel\n\nThe kestrel hovers.\n")
    for report in (index.add(notes), index.sync()):
        assert report.deleted_files == 0
        assert [(failure.code, failure.cure) for failure in report.failed] == [("root.elsewhere", Cure.PRUNE)]
    assert {hit.key for hit in index.search("fishes hovers", mode="lexical")} == {"heron.md", "otter.md", "kestrel.md"}
    assert index.sync(prune=True).deleted_files == 1
    (notes / "otter.md").unlink()
    assert index.sync().deleted_files == 1


def test_a_file_of_the_same_path_on_another_machine_replaces_nothing(
    index: rifflux.Index, notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    index.add(notes)
    monkeypatch.setattr(platform, "node", lambda: "two")
    (notes / "heron.md").write_text("# heron\n\nThe heron sleeps.\n")
    (notes / ".riffluxignore").write_text("otter.md\n")
    for report in (index.add(notes), index.add(notes, force=True), index.sync()):
        assert (report.indexed_files, report.deleted_files) == (0, 0)
        (failure,) = report.failed
        assert (failure.code, failure.cure) == ("root.elsewhere", Cure.PRUNE)
        assert (failure.data["files"], failure.data["different"]) == (1, 1)
    assert {hit.key for hit in index.search("fishes", mode="lexical")} == {"heron.md", "otter.md"}
    monkeypatch.setattr(platform, "node", lambda: "one")
    (notes / ".riffluxignore").unlink()
    assert index.sync().indexed_files == 1
    assert {hit.key for hit in index.search("sleeps", mode="lexical")} == {"heron.md"}
    # It is taken over by the other machine.
    monkeypatch.setattr(platform, "node", lambda: "two")
    (notes / "heron.md").write_text("# heron\n\nThe heron waits.\n")
    assert index.add(notes, prune=True).failed == ()
    (notes / "heron.md").write_text("# heron\n\nThe heron waits for fish.\n")
    assert index.sync().indexed_files == 1


def test_a_folder_that_only_another_machine_has_is_neither_missing_nor_forgotten(
    index: rifflux.Index, notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    index.add(notes)
    monkeypatch.setattr(platform, "node", lambda: "two")
    shutil.rmtree(notes)
    assert index.sync().failed == ()
    assert index.admin.view.freshness_now().missing_roots == ()
    with pytest.raises(NotFound):
        index.add(notes)
    assert index.status().documents == 2
    monkeypatch.setattr(platform, "node", lambda: "one")
    assert [failure.kind for failure in index.sync().failed] == ["gone"]
    assert index.admin.view.freshness_now().missing_roots == (str(notes),)


def test_a_file_that_is_gone_where_it_was_read_is_removed(index: rifflux.Index, notes: Path) -> None:
    index.add(notes)
    (notes / "heron.md").unlink()
    assert index.sync().deleted_files == 1
