"""Files that change while they are read, odd names, a clock that goes back, an index that was cut or is another's."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

import pytest

import rifflux
from rifflux import Document, Index, RiffluxError
from rifflux.ingest.walk.inside import Place
from rifflux.store.sqlite.connection.connect import PAGE_BYTES
from rifflux.store.sqlite.lexical import words_index
from rifflux.store.sqlite.semantic import vector_index

DAY_S = 86_400.0


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "notes"
    folder.mkdir()
    for name in ("a.md", "b.md", "c.md"):
        (folder / name).write_text(f"Herons fish near {name}.\n")
    return folder


@pytest.fixture
def index(tmp_path: Path) -> Iterator[Index]:
    with rifflux.open(tmp_path / "index.db", model="hash") as index:
        yield index


def texts(index: Index) -> dict[str, str]:
    return {each.key: index.document(each.key).text for each in index.documents.list().documents}


def _grow(path: Path) -> None:
    with path.open("a") as file:
        file.write("Otters swim.\n")


def _shrink(path: Path) -> None:
    path.write_text("Owls.\n")


def _replace(path: Path) -> None:
    path.with_name("new").write_text("Wrens sing.\n")
    path.with_name("new").replace(path)


def _to_pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


@pytest.mark.parametrize("change", [_grow, _shrink, _replace, Path.unlink, _to_pipe])
def test_a_file_that_changes_while_it_is_read_is_read_as_it_is_or_fails_and_is_read_by_the_next_run(
    index: Index, folder: Path, monkeypatch: pytest.MonkeyPatch, change: Callable[[Path], None]
) -> None:
    opened = Place.open

    def change_first(place: Place) -> BinaryIO:
        path = folder / "b.md"
        if place.path == "b.md" and path.is_file() and "near b.md" in path.read_text():
            change(path)
        return opened(place)

    monkeypatch.setattr(Place, "open", change_first)
    first = index.add(folder, embed=False)
    assert first.found_files == first.indexed_files + first.failed_files == 3
    monkeypatch.setattr(Place, "open", opened)
    index.add(folder, embed=False)
    there = {path.name: path.read_text() for path in folder.glob("*.md") if path.is_file()}
    assert {key: text.strip() for key, text in texts(index).items()} == {
        key: text.strip() for key, text in there.items()
    }
    assert index.admin.check() == [] or index.status().embedded_chunks < index.status().chunks


def test_a_root_that_becomes_a_file_keeps_what_was_indexed_or_says_why(index: Index, folder: Path) -> None:
    index.add(folder, embed=False)
    shutil.rmtree(folder)
    folder.write_text("Owls hoot.")
    report = index.sync(embed=False)
    assert ["a file is in the place" in each.reason for each in report.failed] == [True]
    assert report.deleted_files == 0
    assert texts(index).keys() >= {"a.md", "b.md", "c.md"}
    # The file is named, and then the folder is back.
    assert index.add(folder, embed=False).indexed_files == 1
    folder.unlink()
    folder.mkdir()
    for name in ("a.md", "b.md", "c.md"):
        (folder / name).write_text("Herons fish.")
    assert index.sync(embed=False).found_files == 3
    assert texts(index).keys() == {"a.md", "b.md", "c.md"}
    assert index.status().roots == (str(folder),)


@pytest.mark.skipif(os.name == "nt", reason="such names are not possible there")
def test_files_of_odd_names_are_indexed_or_named_with_the_reason(index: Index, folder: Path) -> None:
    names = ["new\nline.md", "escape\x1b[31m.md", "\u202egnp.md", "a" * 252 + ".md"]
    for name in names:
        (folder / name).write_text("Herons fish.")
    invalid = os.path.join(os.fsencode(folder), b"invalid\xff.md")  # noqa: PTH118 (a name of bytes)
    with suppress(OSError), open(invalid, "wb") as file:  # noqa: PTH123
        file.write(b"Herons fish.")
    here = os.open(folder, os.O_RDONLY)
    for _ in range(30):  # beyond PATH_MAX
        os.mkdir("d" * 200, dir_fd=here)
        inner = os.open("d" * 200, os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = inner
    with os.fdopen(os.open("deep.md", os.O_CREAT | os.O_WRONLY, dir_fd=here), "wb") as deep:
        deep.write(b"Herons fish.")
    os.close(here)
    try:
        report = index.add(folder, embed=False)
        assert report.indexed_files >= 3 + len(names)
        assert {*names} <= texts(index).keys()
        left_out = sum(report.skipped_kinds.values())
        assert report.found_files == report.indexed_files + report.failed_files + left_out
        assert index.status().freshness.changed_files == 0
        reasons = {each.path: each.reason for each in report.failed}
        reasons |= {each.path: each.reason for each in report.skipped}
        assert all(reasons.values())
        assert any("invalid\\xff" in path for path in reasons) or not os.path.exists(invalid)  # noqa: PTH110
    finally:
        # The usual functions fail at such a path.
        top = folder / ("d" * 200)
        while top.exists():
            below = top / ("d" * 200)
            if below.exists():
                below.rename(folder / "inner")
            shutil.rmtree(top)
            if (folder / "inner").exists():
                (folder / "inner").rename(top)


def test_a_clock_that_goes_back_by_a_day_changes_nothing(
    index: Index, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    index.add(folder, embed=False)
    now = time.time
    monkeypatch.setattr(time, "time", lambda: now() - DAY_S)
    (folder / "d.md").write_text("Owls hoot.")
    os.utime(folder / "d.md", (now() - DAY_S, now() - DAY_S))
    report = index.add(folder, embed=False)
    assert (report.indexed_files, report.unchanged_files, report.deleted_files) == (1, 3, 0)
    assert index.search("owls", mode="lexical")[0].key == "d.md"
    assert index.status().freshness is not None


def test_an_index_that_was_cut_at_any_page_is_sound_or_named(tmp_path: Path) -> None:
    path = tmp_path / "index.db"
    with rifflux.open(path, model="hash:32") as made:
        made.add([Document(f"d{n}", f"Größe {n}. " * 60) for n in range(40)], embed=False)
    data = path.read_bytes()
    cut = tmp_path / "cut.db"
    for end in range(0, len(data), PAGE_BYTES):
        for each in tmp_path.glob("cut.db*"):
            each.unlink()
        cut.write_bytes(data[:end])
        with suppress(RiffluxError):
            assert [problem for problem in rifflux.diagnose(cut) if problem.is_damage]


def test_derived_files_of_another_index_answer_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(words_index, "LEAST", 1)
    monkeypatch.setattr(vector_index, "LEAST", 1)
    for name, bird in (("one", "heron"), ("other", "owl")):
        with rifflux.open(tmp_path / f"{name}.db", model="hash:32") as made:
            made.add([Document(f"{bird}{n}", f"The {bird} number {n} sits here.") for n in range(30)])
            made.admin.accelerate()
    expected = {}
    for ask in ("heron 7", "owl 7"):
        with rifflux.open(tmp_path / "one.db", model="hash:32") as made:
            expected[ask] = [(hit.key, hit.score) for hit in made.search(ask)]
    for each in tmp_path.glob("other.db.*"):
        if each.is_file() and not each.name.endswith(".lock"):
            shutil.copy(each, tmp_path / each.name.replace("other", "one"))
    for ask, hits in expected.items():
        with rifflux.open(tmp_path / "one.db", model="hash:32") as made:
            assert [(hit.key, hit.score) for hit in made.search(ask)] == hits
