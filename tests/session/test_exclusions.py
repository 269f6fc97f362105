"""What is left out of a folder is left out by later runs too, until it is named again."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

import rifflux
from rifflux import Index, NotFound
from rifflux.surfaces.cli import index as _index  # noqa: F401 (the commands)
from rifflux.surfaces.cli import remove as _remove  # noqa: F401
from rifflux.surfaces.cli import status as _status  # noqa: F401
from rifflux.surfaces.cli.app import app


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Notes, an archive of them, and a file whose name is a pattern."""
    folder = tmp_path / "notes"
    (folder / "archive").mkdir(parents=True)
    (folder / "a.md").write_text("Herons fish.")
    (folder / "b.log").write_text("Owls hoot.")
    (folder / "archive" / "c.md").write_text("Otters swim.")
    (folder / "[ab].md").write_text("Wrens sing.")
    return folder


@pytest.fixture
def index(tmp_path: Path) -> Iterator[Index]:
    with rifflux.open(tmp_path / "i.db", model="hash") as index:
        yield index


def found(index: Index) -> set[str]:
    hits = index.search("herons owls otters wrens", mode="lexical")
    return {hit.key for hit in hits}


def test_patterns_are_recorded_with_their_folder(index: Index, folder: Path) -> None:
    index.add(folder, embed=False, exclude=["archive/", "*.log"])
    assert found(index) == {"a.md", "[ab].md"}
    for report in (index.sync(embed=False), index.add(folder, embed=False)):
        assert (report.deleted_files, report.skipped_kinds) == (0, {"excluded": 2})
    assert index.status().exclusions == {str(folder): ("archive/", "*.log")}
    index.add(folder, embed=False, exclude=[])
    assert found(index) == {"a.md", "b.log", "archive/c.md", "[ab].md"}
    assert index.status().exclusions == {}


def test_a_removed_file_stays_removed_until_it_is_named(index: Index, folder: Path) -> None:
    index.add(folder, embed=False)
    assert index.remove("[ab].md", str(folder / "archive" / "c.md")).documents == 2
    (folder / "[ab].md").write_text("Wrens sing at dawn.")
    index.sync(embed=False)
    assert found(index) == {"a.md", "b.log"}
    index.add(folder / "[ab].md", embed=False)
    index.sync(embed=False)
    assert found(index) == {"a.md", "b.log", "[ab].md"}


def test_a_file_that_is_named_is_taken_from_what_a_pattern_excludes(index: Index, folder: Path) -> None:
    index.add(folder, embed=False, exclude=["*.log"])
    (folder / "d.log").write_text("Owls hunt.")
    index.add(folder / "b.log", embed=False)
    index.sync(embed=False)
    assert found(index) == {"a.md", "b.log", "archive/c.md", "[ab].md"}


def test_a_pattern_removes_what_matches_now_and_later(index: Index, folder: Path) -> None:
    index.add(folder, embed=False)
    planned = index.remove("*.log", "archive/", dry_run=True)
    assert (planned.documents, planned.names) == (2, (str(folder / "archive/c.md"), str(folder / "b.log")))
    assert found(index) == {"a.md", "b.log", "archive/c.md", "[ab].md"}
    assert index.remove("*.log", "archive/").documents == 2
    (folder / "d.log").write_text("Owls hunt.")
    report = index.sync(embed=False)
    assert (found(index), report.deleted_files, report.skipped_kinds) == ({"a.md", "[ab].md"}, 0, {"excluded": 3})
    assert index.status().removed == {str(folder): ("*.log", "/archive/")}
    index.add(folder, embed=False, exclude=["a.md"])
    assert found(index) == {"[ab].md"}
    index.add(folder / "archive", folder / "d.log", embed=False)
    index.sync(embed=False)
    assert found(index) == {"[ab].md", "archive/c.md", "d.log"}
    index.add(folder, embed=False, exclude=[])
    assert found(index) == {"a.md", "b.log", "archive/c.md", "d.log", "[ab].md"}
    assert index.status().removed == {}


def test_a_folder_and_a_file_alone_are_removed_by_their_paths(index: Index, folder: Path) -> None:
    alone = folder.parent / "alone.md"
    alone.write_text("Herons stand alone.")
    index.add(folder, alone, embed=False)
    removed = index.remove(str(folder / "archive"), str(alone))
    assert removed.names == (str(folder / "archive/c.md"), str(alone))
    alone.write_text("Herons stand.")
    index.sync(embed=False)
    assert found(index) == {"a.md", "b.log", "[ab].md"}
    index.remove(str(folder))
    assert (found(index), index.status().roots) == (set(), ())
    with pytest.raises(NotFound):
        index.remove("*.log")


def test_a_mailbox_is_removed_as_a_file(index: Index, folder: Path) -> None:
    (folder / "inbox.jsonl").write_text('{"id": "x", "text": "Owls hoot."}\n{"id": "y", "text": "Wrens sing."}\n')
    index.add(folder, embed=False)
    assert index.remove(str(folder / "inbox.jsonl"), dry_run=True).documents == 2
    assert index.remove("inbox.jsonl").documents == 2
    (folder / "inbox.jsonl").write_text('{"id": "z", "text": "Owls hoot again."}\n')
    index.sync(embed=False)
    assert "z" not in found(index)


def test_a_name_without_meaning_removes_nothing(index: Index, folder: Path) -> None:
    index.add(folder, embed=False)
    for names in (("a.md", "nothing.md"), ("a.md", "*.pdf")):
        with pytest.raises(NotFound):
            index.remove(*names)
    assert found(index) == {"a.md", "b.log", "archive/c.md", "[ab].md"}


def test_the_command_line_removes(tmp_path: Path, folder: Path) -> None:
    common = ["--db", str(tmp_path / "c.db")]
    CliRunner().invoke(app, ["index", str(folder), "--no-embed", *common])
    planned = CliRunner().invoke(app, ["remove", "*.log", "--dry-run", *common]).stdout
    assert planned.splitlines()[-1] == "1 document would be removed"
    done = json.loads(CliRunner().invoke(app, ["remove", "b.log", "archive/", "--json", *common]).stdout)
    assert done == {"documents": 2, "names": [f"{folder}/archive/c.md", f"{folder}/b.log"], "dry_run": False}
    status = CliRunner().invoke(app, ["status", *common]).stdout
    assert "/b.log, /archive/" in status
