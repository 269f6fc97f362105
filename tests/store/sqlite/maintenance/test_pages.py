"""Pages are read without the engine: what is whole is told from what is not, and gives the rows that it holds."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import zlib
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import apsw
import pytest

import rifflux
from rifflux import Cure, DamagedIndex, Document
from rifflux.ingest.parallel.apart import sent
from rifflux.store.sqlite.connection.connect import connect, translated
from rifflux.store.sqlite.maintenance import extract
from rifflux.store.sqlite.maintenance.pages import INNER_TABLE, LEAF_TABLE, PAGE, DatabasePages
from tests.support.places import word

DOCUMENTS = 400


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("made") / "index.db"
    with rifflux.open(path, model="hash:64") as index:
        texts = (
            f"# Größe {number}\n\n" + f"marmot {number} läuft. " * (1 + number % 9 * 90) for number in range(DOCUMENTS)
        )
        index.add([Document(f"d{number}", text, metadata={"n": number}) for number, text in enumerate(texts)])
        # Even compressed, it needs several pages.
        index.add(Document("long", " ".join(word(number) for number in range(5000))))
    return path


@pytest.fixture
def db(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(made, tmp_path / "index.db"))


def pages_of(path: Path, table: str, kind: str) -> list[int]:
    with closing(apsw.Connection(str(path))) as connection:
        rows: Any = connection.execute(
            "select pageno from dbstat where name = ? and pagetype = ? order by path", (table, kind)
        )
        return [page for (page,) in rows]


def flip(path: Path, page: int, byte: int, bit: int = 0) -> None:
    data = bytearray(path.read_bytes())
    data[(page - 1) * PAGE + byte] ^= 1 << bit
    path.write_bytes(data)


def test_an_undamaged_file_is_whole_with_and_without_its_log(made: Path, tmp_path: Path) -> None:
    copy = Path(shutil.copy(made, tmp_path / "index.db"))
    with rifflux.open(copy, model="hash:64") as index:
        index.add([Document(f"new{number}", "A kingfisher. " * 900) for number in range(20)])
        for suffix in ("", "-wal"):
            shutil.copy(f"{copy}{suffix}", tmp_path / f"open.db{suffix}")
    for path, documents in ((made, DOCUMENTS), (copy, DOCUMENTS + 20), (tmp_path / "open.db", DOCUMENTS + 20)):
        with closing(DatabasePages.read(path)) as pages:
            assert pages.damaged == frozenset()
            assert bool(pages.log) == (path.name == "open.db")
            texts = [
                zlib.decompress(row.values[3]).decode()
                for number in range(1, len(pages) + 1)
                if pages.kind(number) == LEAF_TABLE
                for row in pages.rows(number)
                if [type(value) for value in row.values] == [type(None), int, int, bytes]
            ]
        assert len([text for text in texts if text.startswith(("# Größe", "A kingfisher"))]) == documents


def test_half_a_page_at_the_end_is_no_damage_while_the_log_has_it(db: Path, tmp_path: Path) -> None:
    """So it is left by a process that is killed while it moves the log."""
    killed = tmp_path / "killed.db"
    with rifflux.open(db, model="hash:64") as index:
        index.add([Document(f"new{number}", "A kingfisher. " * 900) for number in range(20)])
        for suffix in ("", "-wal"):
            shutil.copy(f"{db}{suffix}", f"{killed}{suffix}")
    with closing(DatabasePages.read(killed)) as pages:
        number = len(pages.data) // PAGE + 1
        half = pages.log[number][: PAGE // 2]
    with killed.open("ab") as file:
        file.write(half)
    with closing(DatabasePages.read(killed)) as pages:
        assert pages.damaged == frozenset()
    killed.with_name("killed.db-wal").unlink()
    with closing(DatabasePages.read(killed)) as pages:
        assert pages.damaged == {number}


@pytest.mark.parametrize("table", ["document", "document_text", "chunk", "vector", "chunk_terms_data"])
def test_a_bit_of_any_page_is_damage_for_whoever_reads_it(db: Path, table: str) -> None:
    for kind in ("leaf", "overflow"):
        for page in pages_of(db, table, kind)[:1]:
            flip(db, page, 5000)
            with closing(DatabasePages.read(db)) as pages:
                assert pages.damaged == {page}
            problems = rifflux.diagnose(db)
            assert [problem.cure for problem in problems] == [Cure.SALVAGE]
            assert problems[0].unreadable
            flip(db, page, 5000)
    assert rifflux.diagnose(db) == []


def test_a_page_of_zeros_is_damage(db: Path) -> None:
    page = pages_of(db, "document_text", "overflow")[0]
    data = bytearray(db.read_bytes())
    data[(page - 1) * PAGE : page * PAGE] = bytes(PAGE)
    db.write_bytes(data)
    assert [problem.cure for problem in rifflux.diagnose(db)] == [Cure.SALVAGE]


def test_a_text_that_is_not_the_one_stored_is_damage(db: Path) -> None:
    """As two long texts whose last pages were exchanged: each page is whole."""
    with closing(apsw.Connection(str(db))) as connection:
        data: Any = connection.execute("select compressed from document_text where document = 3").get
        other = zlib.compress(zlib.decompress(data) + b"x")
        connection.execute("update document_text set compressed = ? where document = 3", (other,))
    assert [problem.cure for problem in rifflux.diagnose(db)] == [Cure.REPAIR]
    with rifflux.open(db, model="hash:64") as index, pytest.raises(DamagedIndex, match="d2"):
        index.document("d2")
    assert rifflux.repair(db).problems == ()
    with rifflux.open(db, model="hash:64") as index:
        assert index.document("d2").text.endswith("x")


@pytest.mark.parametrize(
    "change",
    [
        "update chunk set text = cast(x'ff41' as text) where id = 3",
        "update document set title = cast(x'ff41' as text) where id = 3",
        "update document set metadata = cast(x'ff41' as text) where id = 3",
        "insert into setting values (cast(x'ff41' as text), 'x')",
    ],
)
def test_text_that_is_not_utf_8_is_damage_and_is_mended(db: Path, change: str) -> None:
    with closing(apsw.Connection(str(db))) as connection:
        connection.execute(change)
    (problem,) = rifflux.diagnose(db)
    assert problem.cure is Cure.SALVAGE
    assert "not UTF-8" in problem.what
    with rifflux.open(db, model="hash:64") as index:
        # What does not meet the damage is answered; nothing else is raised.
        for read in (lambda: index.search("marmot", top_k=1000), lambda: index.document("d2")):
            with suppress(DamagedIndex):
                read()
    assert rifflux.repair(db).problems == ()
    assert rifflux.diagnose(db) == []


@pytest.mark.parametrize("table", ["chunk", "document", "document_text", "file"])
def test_rows_are_found_below_a_page_that_is_lost(tmp_path: Path, table: str) -> None:
    """Nothing leads to them any more, and every one of them is there."""
    path = tmp_path / "index.db"
    folder = tmp_path / "files"
    folder.mkdir()
    for number in range(300):
        (folder / f"{number}.md").write_text(f"# Größe {number}\n\n" + f"marmot {number} läuft. " * 40)
    with rifflux.open(path, model="hash:64") as index:
        index.add(folder)
        before = index.status()
    (root, *others) = pages_of(path, table, "internal")
    assert not others
    data = bytearray(path.read_bytes())
    data[(root - 1) * PAGE : root * PAGE] = b"\xa5" * PAGE
    path.write_bytes(data)
    repaired = rifflux.repair(path)
    assert repaired.problems == ()
    with rifflux.open(path, model="hash:64") as index:
        after = index.status()
        assert (after.documents, after.chunks, after.files) == (before.documents, before.chunks, before.files)
        assert index.add(folder).failed == ()
        assert index.admin.check() == []


@pytest.mark.parametrize("table", ["chunk", "document", "document_text"])
def test_rows_are_found_where_the_page_above_them_was_exchanged_with_one_below(db: Path, table: str) -> None:
    """Each page is whole, and the table looks as if it had no more than one page."""
    one = (pages_of(db, table, "internal")[0] - 1) * PAGE
    other = (pages_of(db, table, "leaf")[1] - 1) * PAGE
    data = bytearray(db.read_bytes())
    data[one : one + PAGE], data[other : other + PAGE] = data[other : other + PAGE], data[one : one + PAGE]
    with rifflux.open(db, model="hash:64") as index:
        before = index.status()
    db.write_bytes(data)
    assert any(problem.unreadable for problem in rifflux.diagnose(db))
    assert rifflux.repair(db).problems == ()
    with rifflux.open(db, model="hash:64") as index:
        after = index.status()
        assert (after.documents, after.chunks) == (before.documents, before.chunks)


def test_inner_pages_name_the_pages_below(made: Path) -> None:
    with closing(DatabasePages.read(made)) as pages:
        (root,) = pages_of(made, "chunk", "internal")
        assert pages.kind(root) == INNER_TABLE
        assert sorted(pages.children(root)) == sorted(pages_of(made, "chunk", "leaf"))


def test_a_backup_removes_what_a_killed_one_left(db: Path, tmp_path: Path) -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    left = [tmp_path / f"copy.db.abc.{ended.pid}.partial{suffix}" for suffix in ("", "-journal")]
    others = [tmp_path / f"copy.db.abc.{os.getppid()}.partial", tmp_path / "copy.db.notes"]
    for each in (*left, *others):
        each.write_bytes(b"half")
    with rifflux.open(db, model="hash:64") as index:
        index.admin.backup(tmp_path / "copy.db")
    assert not any(each.exists() for each in left)
    assert all(each.exists() for each in others)


def test_what_a_killed_process_was_sent_is_removed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    folder = tmp_path / f"rifflux-abc.{ended.pid}.partial"
    folder.mkdir()
    (folder / "secret.pdf").write_bytes(b"half")
    with sent("note.md", b"# A note") as path:
        assert [each.name for each in tmp_path.iterdir()] == [path.parent.name]
    assert list(tmp_path.iterdir()) == []


def test_a_copy_of_what_is_in_the_log_has_checksums(db: Path, tmp_path: Path) -> None:
    """Pages of the log have none that holds, and more of them are written than a copy keeps in memory."""
    with rifflux.open(db, model="hash:64") as index, closing(apsw.Connection(str(db))) as reader:
        reader.execute("begin")
        reader.execute("select count(*) from document").fetchall()  # so that the log stays
        index.add([Document(f"d{number}", f"otter {number} swims. " * 400) for number in range(DOCUMENTS)], embed=False)
        assert db.with_name("index.db-wal").stat().st_size > 2**21
        index.admin.backup(tmp_path / "copy.db")
    rifflux.restore(tmp_path / "copy.db", tmp_path / "restored.db")
    for each in ("copy.db", "restored.db"):
        assert [problem for problem in rifflux.diagnose(tmp_path / each) if "vector" not in problem.what] == []


def test_an_export_that_does_not_fit_in_memory_has_checksums(
    db: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def with_little_memory(location: str, *, create: bool) -> tuple[apsw.Connection, bool]:
        connection, read_only = connect(location, create=create)
        connection.pragma("cache_size", 10)
        return connection, read_only

    monkeypatch.setattr(extract, "connect", with_little_memory)
    with rifflux.open(db, model="hash:64") as index:
        index.admin.extract(tmp_path / "part.db")
    assert [each for each in rifflux.diagnose(tmp_path / "part.db") if each.unreadable] == []


@pytest.mark.parametrize("column", ["headings", "metadata", "title", "kind", "language"])
def test_a_row_that_is_not_of_its_table_is_damage(db: Path, column: str) -> None:
    table = "chunk" if column == "headings" else "document"
    with closing(apsw.Connection(str(db))) as connection:
        connection.execute(f"update {table} set {column} = x'00ff'")
    with rifflux.open(db, model="hash:64") as index:
        reads: list[Callable[[], object]] = [lambda: index.search("marmot", mode="lexical"), lambda: index.chunks("d3")]
        for read in reads[:1] if column == "language" else reads:
            with pytest.raises(DamagedIndex, match="not of its table"):
                read()


@pytest.mark.parametrize(
    "message",
    [
        "no such fts5 table: main.chunk_terms",
        "invalid fts5 file format (found 0, expected 4 or 5) - run 'rebuild'",
        "vtable constructor failed: chunk_terms",
    ],
)
def test_what_sqlite_says_of_a_damaged_full_text_table_is_damage(message: str) -> None:
    with pytest.raises(DamagedIndex, match="is damaged"), translated("index.db"):
        raise apsw.SQLError(message)


@pytest.mark.parametrize("damage", ["zeros", "cut", "other", "no text"])
def test_a_text_that_cannot_be_read_is_put_together_again(db: Path, damage: str) -> None:
    with rifflux.open(db, model="hash:64") as index:
        before = index.document("long").text
    with closing(apsw.Connection(str(db))) as connection:
        where = "where document = (select id from document where key = 'long')"
        data: Any = connection.execute(f"select compressed from document_text {where}").get
        middle = len(data) // 2
        damaged = {
            "zeros": data[:middle] + bytes(2000) + data[middle + 2000 :],
            "cut": data[:middle],
            "other": b"\x01" + data[1:],
            "no text": zlib.compress(b"\xff" + before.encode()[1:]),
        }[damage]
        connection.execute(f"update document_text set compressed = ? {where}", (damaged,))
    assert [problem.cure for problem in rifflux.diagnose(db)] == [Cure.REPAIR]
    with rifflux.open(db, model="hash:64") as index, pytest.raises(DamagedIndex):
        index.document("long")
    assert rifflux.repair(db).problems == ()
    with rifflux.open(db, model="hash:64") as index:
        text = index.document("long").text
    assert len(text) >= len(before.rstrip())
    with closing(apsw.Connection(str(db))) as connection:
        chunks: list[Any] = connection.execute(f"select text, span_start, span_end from chunk {where}").fetchall()
    assert chunks
    assert [text[start:end] for _, start, end in chunks] == [part for part, _, _ in chunks]


def test_a_repair_after_the_end_of_a_text_became_zeros_is_sound(db: Path) -> None:
    page = pages_of(db, "document_text", "overflow")[-1]
    data = bytearray(db.read_bytes())
    data[(page - 1) * PAGE : page * PAGE] = bytes(PAGE)
    db.write_bytes(data)
    assert rifflux.diagnose(db)
    rifflux.repair(db)
    assert [each for each in rifflux.diagnose(db) if each.unreadable] == []
