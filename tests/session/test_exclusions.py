"""What is left out of a folder is left out by later runs too, until it is named again."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import rifflux
from rifflux import Index


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
    assert index.remove("[ab].md", str(folder / "archive" / "c.md")) == 2
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
