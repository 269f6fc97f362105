"""What `Index.add` takes, and what the words for it are."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import rifflux
from rifflux import Document, Index, InvalidArgument, NotFound

HERON = {"key": "heron", "text": "The heron stands in the river."}
OTTER = Document("otter", "The otter dives.")


@pytest.fixture
def index() -> Iterator[Index]:
    with rifflux.open(":memory:", model="hash") as index:
        yield index


def test_mappings_documents_paths_and_iterables_of_them(index: Index, tmp_path: Path) -> None:
    (tmp_path / "vole.md").write_text("A vole hides.")
    report = index.add(HERON, [OTTER, {"key": "kite", "text": "A kite.", "metadata": {"shop": 1}}], iter([tmp_path]))
    assert report.indexed_files == 4
    assert len(index) == index.status().documents == 4
    assert {hit.key for hit in index.search("kite", filter={"metadata": {"shop": 1}})} == {"kite"}


def test_an_index_without_documents_is_still_one(index: Index) -> None:
    assert len(index) == 0
    assert index


def test_a_text_is_no_path(index: Index) -> None:
    with pytest.raises(NotFound, match=r"Document\(KEY, TEXT\)"):
        index.add("some text about herons")


@pytest.mark.parametrize("wrong", [{}, {"key": "a"}, {"text": "a"}, HERON | {"project": "x"}, 5, b"x"])
def test_what_is_no_document_is_refused(index: Index, wrong: object) -> None:
    with pytest.raises(InvalidArgument):
        index.add(wrong)  # type: ignore[arg-type]
    assert len(index) == 0


def test_a_wrong_filter_names_the_right_shape(index: Index) -> None:
    with pytest.raises(InvalidArgument, match=r"filter=\{'metadata': \{'project': …\}\}"):
        index.search("heron", filter={"project": "shop"})


def test_sync_reads_again_and_remove_removes(index: Index, tmp_path: Path) -> None:
    index.add(tmp_path, OTTER)
    (tmp_path / "vole.md").write_text("A vole hides.")
    assert index.sync().indexed_files == 1
    index.remove("otter")
    assert len(index) == 1
