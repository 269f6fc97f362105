"""The availability of refreshing: attempts by outcome, and whether an index is behind its files."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from rifflux.errors import OutOfScope
from rifflux.index import open_index
from rifflux.ingest.sync import Sync
from rifflux.types import Scope


def test_attempts_are_counted_by_outcome_and_across_openings(tmp_path: Path) -> None:
    folder, path = tmp_path / "notes", tmp_path / "index.db"
    folder.mkdir()
    (folder / "a.md").write_text("# Caches\n\nEntries live for ten minutes.\n")
    with open_index(path, model="hash") as index:
        assert index.admin.refreshing() == (0, 0, True)
        index.add(folder)
        index.sync()
        assert index.admin.refreshing() == (2, 0, True)
    shutil.move(folder, tmp_path / "elsewhere")
    with open_index(path, model="hash") as index:
        index.sync()
        succeeded, failed, fresh = index.admin.refreshing()
        assert (failed, fresh) == (1, False)
        assert succeeded == 2


def test_an_attempt_that_is_cut_off_by_an_error_failed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.md").write_text("# Caches\n")
    with open_index(tmp_path / "index.db", model="hash") as index:
        index.add(tmp_path / "a.md")

        def fail(*_: object) -> None:
            raise OSError("the disk does not answer")

        monkeypatch.setattr(Sync, "__call__", fail)
        with pytest.raises(OSError, match="does not answer"):
            index.sync()
        assert index.admin.refreshing()[:2] == (1, 1)


def test_an_index_behind_its_files_is_not_fresh_until_it_is_refreshed(tmp_path: Path) -> None:
    note = tmp_path / "notes" / "a.md"
    note.parent.mkdir()
    note.write_text("# Caches\n")
    with open_index(tmp_path / "index.db", model="hash") as index:
        index.add(note.parent)
        note.write_text("# Caches and more\n")
        os.utime(note, (1, 1))
        assert index.admin.refreshing()[2] is False
        index.sync()
        assert index.admin.refreshing()[2] is True
        with pytest.raises(OutOfScope):
            index.scoped(Scope("ann")).admin.refreshing()
