"""Files that cannot be read are reported and the run goes on; odd ones that can be read are found."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from rifflux import Index
from rifflux.ingest.walk.find import Finder


def broken_pdf(path: Path) -> None:
    path.write_bytes(b"%PDF-1.7\nnothing of the kind")


def lying_docx(path: Path) -> None:
    path.write_bytes(b"PK\x03\x04 only the first bytes of an archive")


def lying_notebook(path: Path) -> None:
    path.write_text("{ this was never JSON")


BROKEN: dict[str, Callable[[Path], None]] = {
    "report.pdf": broken_pdf,
    "letter.docx": lying_docx,
    "sheet.ipynb": lying_notebook,
}


def found(index: Index, query: str) -> list[str]:
    return [hit.path for hit in index.search(query, mode="lexical")]


@pytest.mark.parametrize("name", BROKEN)
class TestBrokenFiles:
    @pytest.fixture(autouse=True)
    def broken(self, folder: Path, name: str) -> Path:
        path = folder / name
        BROKEN[name](path)
        return path

    def test_they_are_reported_and_the_others_are_indexed(self, index: Index, folder: Path, broken: Path) -> None:
        report = index.add(folder)
        assert [failure.path for failure in report.failed] == [str(broken)]
        assert report.failed[0].reason
        assert report.indexed_files == 3
        assert found(index, "heron") == ["birds/heron.txt"]

    def test_they_are_reported_again_while_unchanged(self, index: Index, folder: Path) -> None:
        first = index.add(folder)
        again = index.add(folder)
        assert again.failed == first.failed == index.status().unreadable_files
        assert again.indexed_files == 0

    def test_of_very_many_only_the_first_are_named(
        self, index: Index, folder: Path, broken: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for number in range(4):
            BROKEN[broken.name](broken.with_stem(f"{broken.stem}{number}"))
        index.add(folder)
        monkeypatch.setattr("rifflux.index.status.MOST_UNREADABLE", 2)
        status = index.status()
        assert (len(status.unreadable_files), sum(status.failed_kinds.values())) == (2, 5)

    def test_mended_they_are_indexed_and_reported_no_more(self, index: Index, folder: Path, broken: Path) -> None:
        index.add(folder)
        broken.unlink()
        (folder / "mended.md").write_text("A kingfisher at last.")
        assert index.add(folder).failed == index.status().unreadable_files == ()
        assert found(index, "kingfisher") == ["mended.md"]


def test_a_file_that_breaks_keeps_what_it_gave_before_until_it_is_mended(index: Index, folder: Path) -> None:
    note = folder / "records.jsonl"
    note.write_text('{"_id": "a", "text": "A kingfisher."}\n')
    index.add(folder)
    note.write_bytes(b"\x00\x01\x02 not text any more")
    index.add(folder)
    note.write_text('{"_id": "a", "text": "An osprey."}\n')
    index.add(folder)
    assert found(index, "kingfisher") == []
    assert found(index, "osprey") == ["records.jsonl"]


def test_a_file_too_large_is_skipped_with_the_limit_and_the_cure(index: Index, folder: Path) -> None:
    (folder / "huge.txt").write_text("word " * 1000)
    report = index.add(folder, finder=Finder(max_bytes=1000))
    assert report.failed == ()
    assert [skipped.path for skipped in report.skipped] == [str(folder / "huge.txt")]
    assert "max_file_mb" in report.skipped[0].reason
    assert (report.indexed_files, report.skipped_files) == (3, 1)


def test_a_file_without_permission_is_reported_and_kept(index: Index, folder: Path) -> None:
    locked = folder / "cache.md"
    index.add(folder)
    locked.write_text("Changed, and then locked.")
    locked.chmod(0)
    try:
        locked.read_bytes()
        pytest.skip("this user may read everything")
    except PermissionError:
        pass
    report = index.add(folder)
    assert [failure.path for failure in report.failed] == [str(locked)]
    assert found(index, "oldest") == ["cache.md"]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "latin-1", "utf-16", "utf-16-le"])
def test_text_in_another_encoding_is_found(index: Index, folder: Path, encoding: str) -> None:
    text = "Das Mädchen fährt über die Brücke nach Köln und grüßt höflich die müden Gänse am Fluß.\n" * 3
    bom = b"\xff\xfe" if encoding == "utf-16-le" else b""
    (folder / "gruss.txt").write_bytes(bom + text.encode(encoding))
    assert index.add(folder).failed == ()
    assert found(index, "Brücke Gänse")[:1] == ["gruss.txt"]
    assert "Mädchen" in index.get("gruss.txt").text


@pytest.mark.parametrize("text", ["", "\n\n", "\ufeff"])
def test_an_empty_file_is_no_failure_and_is_found_by_its_name(index: Index, folder: Path, text: str) -> None:
    (folder / "kingfisher.md").write_text(text)
    assert index.add(folder).failed == ()
    assert index.status().files == 4
    assert found(index, "kingfisher") == ["kingfisher.md"]


def test_a_file_of_only_a_heading_is_found_by_it(index: Index, folder: Path) -> None:
    (folder / "stub.md").write_text("# Kingfishers of the north\n")
    index.add(folder)
    assert found(index, "kingfisher") == ["stub.md"]
