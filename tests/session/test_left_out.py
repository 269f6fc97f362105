"""What is in a folder and is not read is counted and named, by kind and reason; nothing is left out in silence."""

from __future__ import annotations

import sys
import zipfile
from pathlib import Path

import pytest

import rifflux
from rifflux import Finder, Index, Scope


def archive(path: Path) -> None:
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("content.xml", "<p>A heron.</p>")


#: Files that no reader takes: how each is made, and the kind that it is called.
UNREAD = {
    "book.epub": (archive, "ebook"),
    "letter.odt": (archive, "document"),
    "letter.rtf": (lambda path: path.write_text(r"{\rtf1\ansi A heron.}"), "document"),
    "letter": (lambda path: path.write_text(r"{\rtf1\ansi A heron.}"), "document"),
    "scan.png": (lambda path: path.write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(40)), "image"),
    "picture": (lambda path: path.write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(40)), "image"),
    "drawing.svg": (lambda path: path.write_text("<svg><text>A heron.</text></svg>"), "image"),
    "all.zip": (archive, "archive"),
    "packed": (archive, "archive"),
    "call.ogg": (lambda path: path.write_bytes(b"OggS\0" + bytes(40)), "audio"),
    "film.mp4": (lambda path: path.write_bytes(b"\0\0\0\x20ftyp" + bytes(40)), "video"),
    "tool": (lambda path: path.write_bytes(b"\x7fELF" + bytes(40)), "program"),
    "app.min.js": (lambda path: path.write_text("var heron=1;"), "generated"),
    "unknown.xyz": (lambda path: path.write_bytes(bytes(range(32)) * 9), "binary"),
    "nothing": (lambda path: path.touch(), "empty"),
    "big.md": (lambda path: path.write_text("A heron. " * 5000), "size"),
}


@pytest.fixture
def unread(folder: Path) -> Path:
    """The folder of notes, with one file of each kind that is not read."""
    for name, (make, _) in UNREAD.items():
        make(folder / name)
    return folder


def kinds() -> dict[str, int]:
    counts: dict[str, int] = {}
    for _, kind in UNREAD.values():
        counts[kind] = counts.get(kind, 0) + 1
    return counts


def test_each_is_named_with_its_kind_and_a_reason(index: Index, unread: Path) -> None:
    report = index.add(unread, finder=Finder(max_bytes=20_000))
    assert report.failed == ()
    assert {Path(each.path).name: each.kind for each in report.skipped} == {
        name: kind for name, (_, kind) in UNREAD.items()
    }
    assert all(each.reason for each in report.skipped)
    assert report.skipped_kinds == kinds()
    assert (report.indexed_files, report.skipped_files) == (3, len(UNREAD))
    assert [hit.path for hit in index.search("rtf1 ansi svg", mode="lexical")] == []


def test_all_files_are_accounted_for_in_each_run(index: Index, unread: Path) -> None:
    """Files in the folder = indexed + unchanged or left out + failed, in the first run and in the next."""
    (unread / "broken.pdf").write_bytes(b"%PDF-1.7\nnothing of the kind")
    files = sum(1 for each in unread.rglob("*") if each.is_file())
    for _ in range(2):
        report = index.add(unread, finder=Finder(max_bytes=20_000))
        assert report.indexed_files + report.skipped_files + len(report.failed) == files
        assert report.skipped_kinds == kinds()


def test_status_counts_what_is_left_out_until_it_is_gone(index: Index, unread: Path) -> None:
    finder = Finder(max_bytes=20_000)
    index.add(unread, finder=finder)
    assert index.status().left_out == kinds()
    for name in UNREAD:
        (unread / name).unlink()
    index.sync(finder=finder)
    assert index.status().left_out == {}


def test_others_do_not_see_what_is_left_out_of_a_folder_that_is_shared(index: Index, unread: Path) -> None:
    ann = index.scoped(Scope("ann"))
    ann.add(unread, collection="birds")
    ann.collections.share("birds", "bob")
    assert ann.status().left_out
    bob = index.scoped(Scope("bob"))
    assert bob.search("heron", mode="lexical")
    assert bob.status().left_out == {}


def test_text_that_became_something_unread_goes_from_the_index(index: Index, folder: Path) -> None:
    note = folder / "note"
    note.write_text("A kingfisher.")
    index.add(folder)
    note.write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(40))
    report = index.add(folder)
    assert [hit.path for hit in index.search("kingfisher", mode="lexical")] == []
    assert (report.deleted_files, report.skipped_kinds) == (1, {"image": 1})


@pytest.mark.skipif(sys.platform == "win32", reason="symbolic links need a privilege there")
def test_links_that_are_not_followed_are_counted_too(index: Index, folder: Path) -> None:
    (folder / "out.md").symlink_to("/etc")
    assert index.add(folder).skipped_kinds == {"link": 1}


def test_several_collections_are_counted_together(tmp_path: Path) -> None:
    with rifflux.open(tmp_path / "index.db", model="hash") as index:
        for name in ("one", "two"):
            (tmp_path / name).mkdir()
            (tmp_path / name / "scan.png").write_bytes(b"\x89PNG\r\n\x1a\n")
            index.add(tmp_path / name, collection=name)
        assert index.sync().skipped_kinds == {"image": 2}
