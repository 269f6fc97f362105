"""What belongs to which folder: equal names, nested folders, single files, and what is gone."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import rifflux
from rifflux import Index
from tests.support.embedder import Counting


def found(index: Index, query: str) -> list[str]:
    """The paths that hold a word."""
    return sorted(hit.path for hit in index.search(query, mode="lexical"))


@pytest.fixture
def pair(tmp_path: Path) -> tuple[Path, Path]:
    """Two folders that each hold README.md."""
    one, two = tmp_path / "one", tmp_path / "two"
    for folder in (one, two):
        folder.mkdir()
        (folder / "README.md").write_text(f"The project called {folder.name}, a heron.")
    return one, two


class TestEqualNames:
    def test_they_are_two_documents(self, index: Index, pair: tuple[Path, Path]) -> None:
        index.add(*pair)
        assert index.status().documents == 2
        assert found(index, "heron") == ["README.md", "README.md"]
        assert [index.get(str(folder / "README.md")).text.count(folder.name) for folder in pair] == [1, 1]

    def test_a_bare_name_is_refused_with_the_places_it_may_mean(self, index: Index, pair: tuple[Path, Path]) -> None:
        index.add(*pair)
        with pytest.raises(rifflux.InvalidArgument, match="2 documents") as refused:
            index.get("README.md")
        for folder in pair:
            assert str(folder / "README.md") in str(refused.value)
            index.get(str(folder / "README.md"))

    def test_indexing_one_folder_again_never_deletes_from_the_other(
        self, index: Index, pair: tuple[Path, Path]
    ) -> None:
        # A folder that lost everything keeps what was read of it.
        (pair[0] / "other.md").write_text("A heron.")
        index.add(*pair)
        (pair[0] / "README.md").unlink()
        assert index.add(pair[0], prune=True).deleted_files == 1
        assert index.get("README.md").text.startswith("The project called two")


class TestNestedFolders:
    def test_a_wider_folder_takes_over(self, index: Index, folder: Path) -> None:
        index.add(folder / "birds")
        index.add(folder)
        assert found(index, "heron") == ["birds/heron.txt"]
        assert index.status().roots == (str(folder),)
        assert index.status().embedded_chunks == index.status().chunks

    def test_a_wider_folder_embeds_only_what_is_new(self, tmp_path: Path, folder: Path) -> None:
        embedder = Counting()
        with rifflux.open(tmp_path / "index.db", model=embedder) as index:
            index.add(folder / "birds")
            index.add(folder)
        assert len(embedder.seen) == len(set(embedder.seen))

    def test_a_folder_inside_a_known_one_is_brought_up_to_date_there(self, index: Index, folder: Path) -> None:
        index.add(folder)
        (folder / "birds/heron.txt").write_text("The egret stands in the river.")
        (folder / "cache.md").write_text("Changed too, but not asked for.")
        report = index.add(folder / "birds")
        assert (report.indexed_files, report.skipped_files) == (1, 1)
        assert found(index, "egret") == ["birds/heron.txt"]
        assert found(index, "asked") == []

    def test_pruning_stays_below_what_was_asked_for(self, index: Index, folder: Path) -> None:
        index.add(folder)
        (folder / "birds/heron.txt").unlink()
        (folder / "cache.md").unlink()
        assert index.add(folder / "birds").deleted_files == 1
        assert found(index, "oldest heron") == ["cache.md"]

    def test_what_the_wider_folder_ignores_stays_with_the_folder_that_was_named(
        self, index: Index, folder: Path
    ) -> None:
        (folder / ".gitignore").write_text("birds/\n")
        index.add(folder / "birds")
        index.add(folder)
        assert found(index, "heron") == ["heron.txt"]
        assert set(index.status().roots) == {str(folder), str(folder / "birds")}

    @pytest.mark.parametrize("pattern", ["drafts/", "/drafts", "dr*", "drafts/*.md"])
    def test_an_ignored_folder_that_is_named_survives_its_parent(
        self, index: Index, folder: Path, pattern: str
    ) -> None:
        (folder / ".gitignore").write_text(f"{pattern}\n")
        (folder / "drafts").mkdir()
        (folder / "drafts/idea.md").write_text("A kingfisher.")
        index.add(folder)
        index.add(folder / "drafts/idea.md" if "md" in pattern else folder / "drafts")
        assert found(index, "kingfisher") == ["idea.md"]
        index.add(folder)
        index.sync()
        assert found(index, "kingfisher") == ["idea.md"]

    def test_a_hidden_folder_that_is_named_is_indexed_and_survives_its_parent(self, index: Index, folder: Path) -> None:
        (folder / ".drafts").mkdir()
        (folder / ".drafts/idea.md").write_text("A kingfisher.")
        index.add(folder / ".drafts")
        index.add(folder)
        assert found(index, "kingfisher") == ["idea.md"]


class TestSingleFiles:
    def test_only_the_named_file_is_indexed(self, index: Index, folder: Path) -> None:
        report = index.add(folder / "birds/heron.txt")
        assert (report.indexed_files, report.indexed_paths) == (1, (str(folder / "birds/heron.txt"),))
        assert index.status().documents == 1

    def test_a_later_update_does_not_take_in_its_neighbours(self, index: Index, folder: Path) -> None:
        index.add(folder / "birds/heron.txt")
        (folder / "birds/heron.txt").write_text("The egret.")
        report = index.sync()
        assert (report.indexed_files, index.status().documents) == (1, 1)
        assert found(index, "egret") == ["heron.txt"]

    def test_a_file_of_a_known_folder_belongs_to_it(self, index: Index, folder: Path) -> None:
        index.add(folder)
        index.add(folder / "birds/heron.txt")
        assert found(index, "heron") == ["birds/heron.txt"]


class TestUpdating:
    def test_everything_added_before_is_looked_at(self, index: Index, folder: Path, pair: tuple[Path, Path]) -> None:
        index.add(folder, pair[0])
        (folder / "new.md").write_text("A kingfisher.")
        (pair[0] / "README.md").write_text("An osprey.")
        assert index.sync().indexed_files == 2
        assert found(index, "kingfisher osprey") == ["README.md", "new.md"]

    def test_a_folder_that_was_empty_is_remembered(self, index: Index, tmp_path: Path) -> None:
        inbox = tmp_path / "inbox"
        inbox.mkdir()
        index.add(inbox)
        (inbox / "letter.txt").write_text("A kingfisher.")
        assert index.sync().indexed_files == 1

    def test_a_folder_that_is_gone_is_reported_and_kept_while_the_others_go_on(
        self, index: Index, folder: Path, pair: tuple[Path, Path]
    ) -> None:
        index.add(folder, pair[0])
        shutil.rmtree(pair[0])
        (folder / "new.md").write_text("A kingfisher.")
        report = index.sync()
        assert [failure.path for failure in report.failed] == [str(pair[0])]
        assert (report.failed[0].code, report.failed[0].cure) == ("gone", rifflux.Cure.FORGET)
        assert found(index, "project kingfisher") == ["README.md", "new.md"]

    def test_naming_what_is_gone_forgets_it_and_nothing_else(
        self, index: Index, folder: Path, pair: tuple[Path, Path]
    ) -> None:
        index.add(folder, pair[0])
        shutil.rmtree(pair[0])
        assert index.add(pair[0]).deleted_files == 1
        assert index.status().roots == (str(folder),)
        assert index.sync().failed == ()

    def test_a_path_that_never_was_is_refused_before_anything_is_done(self, index: Index, folder: Path) -> None:
        with pytest.raises(rifflux.NotFound, match="nowhere"):
            index.add(folder, folder / "nowhere")
        assert index.status().documents == 0
