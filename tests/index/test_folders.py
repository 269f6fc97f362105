"""Folders of the same name in several roots are different folders: they are counted, named and searched apart."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import rifflux
from rifflux import Document, Filter, Index, Scope

#: Files by root and folder: two roots share a name besides.
FILES = {"guide/src": 3, "app/src": 2, "old/app/src": 1, "app/docs": 1}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Write the files."""
    home = tmp_path / "home"
    for folder, count in FILES.items():
        place = home / folder
        place.mkdir(parents=True)
        for number in range(count):
            (place / f"{number}.md").write_text(f"The heron of {folder} number {number} waits in the reeds.")
    return home


@pytest.fixture
def index(home: Path) -> Iterator[Index]:
    with rifflux.open(home.parent / "index.db", model="hash") as index:
        index.add(home / "guide", home / "app", home / "old" / "app")
        yield index


def folders_of(index: Index) -> dict[object, int]:
    """Return the values of the facet with their counts."""
    facets = {each.name: each for each in index.documents.facets()}
    return {each.value: each.documents for each in facets["folder"].values}


def test_each_is_counted_apart_and_named_by_as_much_of_its_root_as_it_takes(index: Index) -> None:
    assert folders_of(index) == {"guide/src": 3, "home/app/src": 2, "old/app/src": 1, "docs": 1}


def test_a_value_finds_as_many_documents_as_it_counts_and_only_those(index: Index, home: Path) -> None:
    for value, count in folders_of(index).items():
        for hits in (
            index.search("heron", top_k=20, filter=Filter(folders=(str(value),))),
            index.everything("heron", filter=Filter(folders=(str(value),))),
        ):
            assert len({(hit.root, hit.key) for hit in hits}) == count
            for hit in hits:
                assert f"{hit.root}/{hit.path}".startswith(str(home))
                assert f"/{value}/" in f"{hit.root}/{hit.path}"


def test_several_folders_are_not_mixed_with_others_of_the_same_roots(index: Index) -> None:
    found = index.search("heron", top_k=20, filter=Filter(folders=("guide/src", "app/docs")))
    assert len(found) == FILES["guide/src"] + FILES["app/docs"]


def test_a_name_alone_means_all_of_that_name(index: Index) -> None:
    assert len(index.search("heron", top_k=20, filter=Filter(folders=("src",)))) == 6
    assert len(index.search("heron", top_k=20, filter=Filter(folders=("app/src",)))) == 3


@pytest.mark.parametrize("folder", ["", "/", "none", "src/0.md", "eron", "../src", "%", "*"])
def test_what_is_no_folder_finds_nothing_and_says_so(index: Index, folder: str) -> None:
    found = index.search("heron", filter=Filter(folders=(folder,)))
    assert not found
    assert any("folder" in note.text for note in found.trace.notes)


def test_of_a_root_of_somebody_else_only_the_name_is_known(index: Index, home: Path) -> None:
    ann = index.scoped(Scope("ann"))
    ann.add(Document("src/mine.md", "The heron of ann."))
    index.collections.share("library", "ann")
    values = folders_of(ann)
    assert sum(values.values()) == sum(FILES.values()) + 1
    assert values["guide/src"] == 3
    assert not [value for value in values if "home" in str(value) or "old" in str(value)]
    assert len(ann.search("heron", top_k=20, filter=Filter(folders=("guide/src",)))) == 3
    for probe in ("home/guide/src", f"{home}/guide/src", f"{home}/guide/src"[1:], "old/app/src"):
        assert not ann.search("heron", filter=Filter(folders=(probe,)))
        assert not ann.everything("heron", filter=Filter(folders=(probe,)))
        assert ann.answer("heron", filter=Filter(folders=(probe,))).refused
