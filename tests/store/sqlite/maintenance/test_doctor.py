"""Doctor finds every fault that is put in, mends what can be made anew, and loses nothing that cannot."""

from __future__ import annotations

import shutil
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import apsw
import numpy as np
import pytest

import rifflux
from rifflux import Document, Index
from rifflux.index.salvage import diagnose
from rifflux.store.sqlite.connection.tables import TABLES
from rifflux.store.sqlite.lexical import words_index as words
from rifflux.store.sqlite.semantic import vector_index
from rifflux.types import WITHHELD
from rifflux.works import Work
from tests.support.places import word

DOCUMENTS = 40

NAN = np.float32(np.nan).tobytes() + np.ones(64, np.int16).tobytes()
ZERO = np.float32(0).tobytes() + np.zeros(64, np.int16).tobytes()
LONG = np.float32(0.1).tobytes() + np.full(64, 30, np.int16).tobytes()

#: What is done to the database behind everybody's back, and what doctor calls it.
FAULTS: dict[str, Any] = {
    "vectors missing": ("delete from vector where chunk % 3 = 0", "have no vector"),
    "vector of another text": ("update vector set hash = hash + 1 where chunk = 3", "older text"),
    "vector of a strange model": ("update vector set model = 77 where chunk = 3", "another model"),
    "vector without a chunk": ("update vector set chunk = 777 where chunk = 3", "no chunk"),
    "vector too short": ("update vector set rounded = zeroblob(8) where chunk = 3", "older text of it, or to another"),
    "vector not a number": ("update vector set rounded = ?1 where chunk = 3", "hold no numbers", NAN),
    "vector of no length": ("update vector set rounded = ?1 where chunk = 3", "no length", ZERO),
    "vector too long": ("update vector set rounded = ?1 where chunk = 3", "hold no numbers", LONG),
    "vector of another owner": ("update vector set owner = 5 where chunk = 3", "another owner"),
    "chunk of another owner": ("update chunk set owner = 5 where id = 3", "another owner"),
    "model of another dimension": ("update model set dimension = 32", "another model"),
    "two models in use": ("insert into model values (9, 'x', 'hash', 64, 'f', 'x', 'active')", "in use besides"),
    "model in a strange state": (
        "insert into model values (9, 'x', 'hash', 64, 'f', 'x', 'odd')",
        "a state that nobody",
    ),
    "chunks without document": ("delete from document where id = 3", "lost their document"),
    "documents without text": ("delete from document_text where document = 3", "lost their text"),
    "documents without file": ("update document set file = 99 where id = 3", "lost their file"),
    "documents of nobody": ("update document set owner = 5 where id = 3", "owner that nobody knows"),
    "text without document": ("update document_text set document = 99 where document = 3", "document_text have lost"),
    "links from nowhere": ("insert into link values (99, 'a', 'cites', 1.0)", "link have lost"),
    "tags of nothing": ("insert into tag values (99, 's', 'v')", "tag have lost"),
    "terms missing": ("delete from chunk_terms where rowid in (3, 4)", "missing from the word index"),
    "terms left over": ("insert into chunk_terms (rowid, body) values (999, 'stray')", "belong to no chunk"),
    "terms damaged": ("update chunk_terms_data set block = zeroblob(30) where id > 10", "word index is damaged"),
    "terms torn out": ("delete from chunk_terms_data where id > 10", "word index is damaged"),
    "another analyzer": ("insert or replace into setting values ('analysis', '0')", "another version of the analyzer"),
    "text changed": ("update chunk set text = 'The osprey dives.' where id = 3", "another text than was indexed"),
    "chunks missing": ("delete from chunk where id = 2", "lacks some of its chunks"),
    "no JSON": ("update document set metadata = '{' where id = 3", "other than JSON"),
    "no generation": ("delete from setting where name = 'generation'", "does not count its changes"),
    "owner zero gone": ("delete from owner where id = 0", "unnamed owner"),
}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A closed index of documents; the second one has several chunks."""
    path = tmp_path_factory.mktemp("made") / "index.db"
    long = "\n\n".join(f"# Part {part}\n\n" + f"The long heron {part} stands in the river. " * 60 for part in range(3))
    with rifflux.open(path, model="hash") as index:
        index.add(
            Document("d0", "The first heron."),
            Document("d1", long),
            *(Document(f"d{number}", f"The heron {word(number)} stands.") for number in range(2, DOCUMENTS)),
        )
    return path


@pytest.fixture
def db(made: Path, tmp_path: Path) -> Path:
    """A copy of that index, to be damaged."""
    return Path(shutil.copy(made, tmp_path / "index.db"))


@pytest.fixture(scope="module")
def six_hundred(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The file of an index of 600 documents, closed."""
    path = tmp_path_factory.mktemp("large") / "index.db"
    with rifflux.open(path, model="hash") as index:
        texts = (" ".join(word(number * 50 + place) for place in range(50)) for number in range(600))
        index.add(*(Document(f"d{number}", text) for number, text in enumerate(texts)), embed=False)
    return path.read_bytes()


def inject(db: Path, statement: str, *bound: Any) -> None:
    """Change the database as only a fault could."""
    connection = apsw.Connection(str(db))
    connection.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 0)
    connection.execute("pragma foreign_keys = off")
    connection.execute(statement, bound)
    connection.close()


def found(index: Index) -> dict[str, str]:
    """What the first words of each document find first."""
    return {
        f"d{number}": index.search(word(number), mode="lexical", top_k=1)[0].text for number in (2, 4, 9, DOCUMENTS - 1)
    }


class TestFaults:
    def test_a_new_index_is_sound(self, db: Path) -> None:
        assert diagnose(db) == []
        assert rifflux.repair(db).done == ()

    @pytest.mark.parametrize("name", FAULTS)
    def test_each_fault_is_found_and_mended(self, db: Path, name: str) -> None:
        statement, sign, *bound = FAULTS[name]
        with rifflux.open(db) as index:
            before = found(index)
        inject(db, statement, *bound)
        problems = diagnose(db)
        assert any(sign in problem.what for problem in problems), problems
        assert all(problem.cure in (rifflux.Cure.REPAIR, rifflux.Cure.INDEX) for problem in problems)
        assert not any(problem.unreadable for problem in problems)
        repaired = rifflux.repair(db)
        assert (repaired.problems, repaired.original) == ((), None)
        assert repaired.done
        assert diagnose(db) == []
        with rifflux.open(db) as index:
            assert found(index) == before
            status = index.status()
            assert status.embedded_chunks == status.chunks
            assert index.search(f"heron {word(9)}", mode="semantic")

    def test_chunks_that_lost_their_document_are_kept_and_found(self, db: Path) -> None:
        inject(db, "delete from document where id = 3")
        rifflux.repair(db)
        with rifflux.open(db) as index:
            (hit,) = index.search(word(2), mode="lexical")
            assert (hit.namespace, hit.text) == ("recovered", f"The heron {word(2)} stands.")
            assert index.document(hit.key).text == hit.text
            index.add(Document("d2", f"The heron {word(2)} stands."))
            assert index.admin.check() == []

    def test_a_text_that_was_changed_is_put_right_by_its_chunks(self, db: Path) -> None:
        with rifflux.open(db) as index:
            text = index.document("d1").text
            hits = [(hit.id, hit.text) for hit in index.search("long heron", mode="lexical")]
        other = zlib.compress(text.replace("heron 1 stands", "h\u00e9ron 1 stands").encode())
        inject(db, "update document_text set compressed = ? where document = 2", other)
        inject(db, "delete from chunk where document = 2 and position = 1")
        rifflux.repair(db)
        with rifflux.open(db) as index:
            assert index.document("d1").text == text
            assert [(hit.id, hit.text) for hit in index.search("long heron", mode="lexical")] == hits

    def test_what_is_recovered_stays_its_owners_and_as_closed_as_it_was(self, db: Path) -> None:
        with rifflux.open(db) as index:
            ann = index.scoped(rifflux.Scope("ann"))
            ann.add(Document("mine", "A secret kingfisher."))
            index.works.add(Work("Closed", "A zyzzyva without a license."))
        inject(db, "delete from document where key in ('mine', 'Closed')")
        rifflux.repair(db)
        with rifflux.open(db) as index:
            assert index.search("kingfisher", mode="lexical").hits == ()
            ann = index.scoped(rifflux.Scope("ann"))
            assert ann.search("kingfisher", mode="lexical")[0].text == "A secret kingfisher."
            (hit,) = index.search("zyzzyva", mode="lexical")
            assert (hit.namespace, hit.text) == ("works/recovered", WITHHELD)
            assert index.admin.check() == []

    def test_named_owners_keep_what_is_theirs(self, db: Path) -> None:
        with rifflux.open(db) as index:
            ann = index.scoped(rifflux.Scope("ann"))
            ann.add(Document("mine", "A secret kingfisher."))
        inject(db, "update owned_terms_data set block = zeroblob(30) where id > 10")
        assert diagnose(db)
        rifflux.repair(db)
        with rifflux.open(db) as index:
            assert index.search("kingfisher", mode="lexical").hits == ()
            assert index.scoped(rifflux.Scope("ann")).search("kingfisher", mode="lexical")[0].key == "mine"
            assert index.admin.check() == []

    def test_a_model_that_became_another_is_told(self, db: Path) -> None:
        inject(db, "update model set fingerprint = 'other'")
        (problem,) = diagnose(db)
        assert "another model now" in problem.what
        assert problem.cure is rifflux.Cure.SWITCH_MODEL
        inject(db, "update model set spec = 'gone', name = 'gone'")
        assert "cannot be loaded" in diagnose(db)[0].what

    def test_a_document_of_blanks_lacks_nothing(self, tmp_path: Path) -> None:
        with rifflux.open(tmp_path / "index.db", model="hash") as index:
            index.add(*(Document(f"d{number}", blank) for number, blank in enumerate(["\n", "\u2028", "\x0b\x0c", ""])))
            assert index.admin.check() == []
            assert index.document("d1").text == "\u2028"

    def test_files_with_incomplete_documents_are_read_again(self, tmp_path: Path) -> None:
        folder, db = tmp_path / "notes", tmp_path / "index.db"
        folder.mkdir()
        (folder / "a.md").write_text("\n\n".join(f"# Part {n}\n\n" + f"Heron {n} stands. " * 90 for n in range(3)))
        with rifflux.open(db, model="hash") as index:
            index.add(folder)
        inject(db, "delete from chunk where id = 2")
        assert "read when their folders are next indexed" in " ".join(rifflux.repair(db).done)
        with rifflux.open(db) as index:
            index.sync()
            assert index.admin.check() == []


class TestDamage:
    @pytest.fixture
    def pages(self, db: Path) -> Iterator[int]:
        """How many pages the index has; it is in one file."""
        connection = apsw.Connection(str(db))
        connection.pragma("journal_mode", "delete")
        yield connection.pragma("page_count")
        connection.close()

    def page_of(self, db: Path, table: str, *, leaf: bool = True) -> int:
        connection = apsw.Connection(str(db))
        kind = "leaf" if leaf else "internal"
        place = connection.execute(
            "select pageno from dbstat where name = ? and pagetype = ? order by path limit 1 offset 1", (table, kind)
        ).get
        connection.close()
        assert isinstance(place, int)
        return place

    def overwrite(self, db: Path, page: int, content: bytes = b"\xa5" * 8192) -> None:
        with db.open("r+b") as file:
            file.seek((page - 1) * 8192)
            file.write(content)

    def test_a_damaged_page_costs_no_more_than_what_was_on_it(self, db: Path, pages: int) -> None:
        self.overwrite(db, self.page_of(db, "chunk"))
        assert any(problem.unreadable for problem in diagnose(db))
        damaged = db.read_bytes()
        repaired = rifflux.repair(db)
        assert repaired.original is not None
        assert Path(repaired.original).read_bytes() == damaged
        assert repaired.problems == ()
        with rifflux.open(db) as index:
            assert index.status().documents == DOCUMENTS
            assert len(index.search("heron", top_k=100, mode="lexical", collapse=False)) > DOCUMENTS // 3
            assert index.admin.check() == []

    @pytest.mark.parametrize("table", ["document", "document_text", "vector", "chunk_terms_data", "setting", "model"])
    def test_whichever_page_is_damaged_the_rest_is_saved(self, db: Path, pages: int, table: str) -> None:
        connection = apsw.Connection(str(db))
        page: Any = connection.execute("select rootpage from sqlite_master where name = ?", (table,)).get
        connection.close()
        self.overwrite(db, page)
        repaired = rifflux.repair(db)
        assert repaired.problems == ()
        with rifflux.open(db, model="hash") as index:
            index.add(Document("new", "A kingfisher."))
            assert index.search(word(9), mode="lexical")[0].text == f"The heron {word(9)} stands."
            assert index.admin.check() == []

    @pytest.mark.parametrize("header", [bytes(100), b"\xff" * 100, b"SQLite format 3\0" + b"\xff" * 84])
    def test_a_damaged_header_is_made_anew(self, db: Path, pages: int, header: bytes) -> None:
        self.overwrite(db, 1, header)
        with pytest.raises(rifflux.UnusableIndex, match=r"rifflux\.repair"):
            rifflux.open(db)
        assert rifflux.repair(db).problems == ()
        with rifflux.open(db) as index:
            assert index.status().documents == DOCUMENTS

    @pytest.mark.slow
    def test_a_file_that_was_cut_off_gives_what_is_left(self, db: Path, pages: int) -> None:
        with db.open("r+b") as file:
            file.truncate((pages * 2 // 3) * 8192)
        assert rifflux.repair(db).original
        with rifflux.open(db, model="hash") as index:
            assert index.admin.check() == []

    @pytest.mark.slow
    @pytest.mark.parametrize("share", [0.35, 0.5, 0.6, 0.8, 0.95])
    def test_repairing_a_file_that_was_cut_off_ends_soon(
        self, tmp_path: Path, six_hundred: bytes, share: float, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """At most as many statements as its pages have room for rows: nothing is tried without end."""
        path = tmp_path / "index.db"
        data = six_hundred
        path.write_bytes(data[: int(len(data) * share)])
        executed: list[str] = []

        def count(connection: apsw.Connection) -> None:
            def note(_: object, statement: str, __: object) -> bool:
                executed.append(statement)
                return True

            connection.exec_trace = note

        monkeypatch.setattr(apsw, "connection_hooks", [*apsw.connection_hooks, count])
        rifflux.repair(path)
        assert len(executed) <= 1024 * len(data) // 8192
        with rifflux.open(path, model="hash") as index:
            assert index.admin.check() == []

    @pytest.mark.parametrize(
        "content",
        [
            pytest.param(b"hello", id="a line"),
            pytest.param(b"hello " * 9000, id="a text"),
            pytest.param(b"", id="nothing"),
            pytest.param(b"\n\r\x05\x02" * 40_000, id="bytes that pages begin with"),
            pytest.param(b"create virtual table chunk_terms_docsize\n" * 9000, id="words of our own"),
            pytest.param(bytes(range(256)) * 400, id="bytes"),
            pytest.param(b"SQLite format 3\0", id="a header cut off"),
            pytest.param(b"SQLite format 3\0" + bytes(3000), id="half a page"),
            pytest.param(b"SQLite format 3\0" + bytes(80_000), id="a header and nothing"),
        ],
    )
    def test_what_is_no_index_is_refused_at_once_and_left_alone(
        self, tmp_path: Path, content: bytes, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """At once: nothing is copied and no statement is executed."""
        path = tmp_path / "notes.txt"
        path.write_bytes(content)
        opened: list[object] = []
        monkeypatch.setattr(apsw, "connection_hooks", [*apsw.connection_hooks, opened.append])
        with pytest.raises(rifflux.NotAnIndex) as refused:
            rifflux.repair(path)
        assert opened == []
        assert refused.value.cure in (rifflux.Cure.OTHER_INDEX, rifflux.Cure.ADD)
        assert path.read_bytes() == content
        assert list(tmp_path.iterdir()) == [path]

    @pytest.mark.parametrize("place", [".", "folder"])
    def test_no_folder_is_replaced_by_a_copy(
        self, db: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
    ) -> None:
        monkeypatch.chdir(tmp_path)
        kept = tmp_path / "folder" / "notes.md"
        kept.parent.mkdir()
        kept.write_text("kept")
        with pytest.raises(rifflux.InvalidArgument, match="is a folder"):
            rifflux.restore(db, place)
        assert kept.read_text() == "kept"

    def test_a_folder_and_a_path_to_nothing_are_refused(self, tmp_path: Path) -> None:
        with pytest.raises(rifflux.NotAnIndex, match="is a folder"):
            rifflux.repair(tmp_path)
        with pytest.raises(rifflux.NotFound):
            rifflux.repair(tmp_path / "nothing.db")

    def test_a_first_page_that_is_lost_is_made_anew(self, db: Path, pages: int) -> None:
        """Not only the header: all of the page."""
        self.overwrite(db, 1)
        assert rifflux.repair(db).problems == ()
        with rifflux.open(db) as index:
            assert index.status().documents == DOCUMENTS

    @pytest.mark.parametrize("tables", ["document (x)", "document (x); create table chunk (x)"])
    def test_a_database_of_another_program_is_left_alone(self, tmp_path: Path, tables: str) -> None:
        path = tmp_path / "other.db"
        connection = apsw.Connection(str(path))
        connection.execute(f"create table {tables}; insert into document values (1)").fetchall()
        connection.close()
        before = path.read_bytes()
        with pytest.raises(rifflux.NotAnIndex, match="another program"):
            rifflux.repair(path)
        assert path.read_bytes() == before
        assert list(tmp_path.iterdir()) == [path]

    @pytest.mark.parametrize("suffix", ["-wal", "-shm"])
    def test_garbage_in_the_log_or_beside_it_loses_nothing_that_was_moved(self, db: Path, suffix: str) -> None:
        db.with_name(db.name + suffix).write_bytes(b"garbage" * 10_000)
        with rifflux.open(db) as index:
            assert index.status().documents == DOCUMENTS
            assert index.admin.check() == []

    def test_a_log_that_was_cut_off_loses_only_its_end(self, db: Path, tmp_path: Path) -> None:
        copy = tmp_path / "copy.db"
        with rifflux.open(db, model="hash") as index:
            index.add(Document("late", "A kingfisher."))
            copy.write_bytes(db.read_bytes())
            log = db.with_name(db.name + "-wal").read_bytes()
        copy.with_name("copy.db-wal").write_bytes(log[: len(log) - 5000])
        with rifflux.open(copy, model="hash") as index:
            assert index.status().documents >= DOCUMENTS
            assert [problem for problem in index.admin.check() if "no vector" not in problem.what] == []

    def test_a_damaged_index_is_not_backed_up_as_if_it_were_sound(self, db: Path, pages: int, tmp_path: Path) -> None:
        self.overwrite(db, self.page_of(db, "chunk"))
        with rifflux.open(db) as index, pytest.raises(rifflux.DamagedIndex, match="not kept"):
            index.admin.backup(tmp_path / "copy.db")
        assert not (tmp_path / "copy.db").exists()
        assert not list(tmp_path.glob("*.partial*"))


class TestMissingTables:
    """A database that lacks a table says so wherever it is opened, and doctor makes it whole."""

    @pytest.mark.parametrize("table", sorted(TABLES))
    def test_it_is_told_and_made_anew(self, db: Path, table: str) -> None:
        inject(db, f"drop table {table}")
        with pytest.raises(rifflux.DamagedIndex, match=rf"no table {table}[\s\S]*rifflux\.repair"):
            rifflux.open(db)
        (problem,) = diagnose(db)
        assert problem.unreadable
        repaired = rifflux.repair(db)
        assert repaired.problems == ()
        assert Path(str(repaired.original)).exists()
        with rifflux.open(db) as index:
            assert index.admin.check() == []
            assert index.search(word(3), mode="lexical") or table == "document_text"

    @pytest.mark.parametrize("table", ["chunk", "document", "document_text", "file"])
    def test_files_are_read_again(self, tmp_path: Path, table: str) -> None:
        (tmp_path / "a.md").write_text("The heron stands.")
        with rifflux.open(tmp_path / "index.db", model="hash") as index:
            index.add(tmp_path / "a.md")
        inject(tmp_path / "index.db", f"drop table {table}")
        assert rifflux.repair(tmp_path / "index.db").problems == ()
        with rifflux.open(tmp_path / "index.db", model="hash") as index:
            index.add(tmp_path / "a.md")
            # Chunks that had lost their documents are kept besides.
            assert {hit.text for hit in index.search("heron", mode="lexical")} == {"The heron stands."}
            assert index.document("a.md").text == "The heron stands."
            assert index.admin.check() == []

    def test_one_that_goes_while_it_is_open(self, db: Path) -> None:
        with rifflux.open(db) as index:
            inject(db, "drop table chunk_terms")
            with pytest.raises(rifflux.DamagedIndex, match=r"rifflux\.repair"):
                index.search("river", mode="lexical")


class TestDerived:
    @pytest.fixture
    def built(self, db: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        """That index with its words file and its matrix of packed vectors beside it, as large ones have them."""
        monkeypatch.setattr(words, "LEAST", 1)
        monkeypatch.setattr(vector_index, "LEAST", 1)
        with rifflux.open(db) as index:
            index.admin.accelerate()
        assert diagnose(db) == []
        return db

    def spoil(self, place: Path) -> None:
        """Turn every byte round of the largest file."""
        path = max(
            (each for each in [place, *place.rglob("*")] if each.is_file()), key=lambda each: each.stat().st_size
        )
        path.write_bytes(bytes(255 - byte for byte in path.read_bytes()))

    @pytest.mark.parametrize("name", ["words", "vectors"])
    def test_what_is_damaged_is_found_and_built_anew(self, built: Path, name: str) -> None:
        self.spoil(built.with_name(f"{built.name}.{name}"))
        (problem,) = diagnose(built)
        assert "cannot be used" in problem.what
        assert problem.cure is rifflux.Cure.BUILD
        with rifflux.open(built) as index:
            assert index.search(word(9))[0].text == f"The heron {word(9)} stands."
        repaired = rifflux.repair(built)
        assert repaired.problems == ()
        assert diagnose(built) == []

    @pytest.mark.parametrize("name", ["words", "vectors"])
    @pytest.mark.parametrize("fault", ["gone", "older"])
    def test_what_is_not_built_is_no_problem(self, built: Path, name: str, fault: str) -> None:
        place = built.with_name(f"{built.name}.{name}")
        if fault == "older":
            keep = shutil.copytree if place.is_dir() else shutil.copy
            keep(place, place.with_name("older"))
            inject(built, f"update derived set token = '' where name = '{name}'")
            with rifflux.open(built) as index:
                index.admin.accelerate()
        place.rename(place.with_name("elsewhere"))
        if fault == "older":
            place.with_name("older").rename(place)
        assert diagnose(built) == []
        with rifflux.open(built) as index:
            found = index.search(word(9))
            assert found[0].text == f"The heron {word(9)} stands."
            assert found.trace.degraded == ()


class TestBackup:
    def test_a_copy_holds_what_was_committed_when_it_was_made(self, db: Path, tmp_path: Path) -> None:
        copy = tmp_path / "copies" / "copy.db"
        seen = []
        with rifflux.open(db, model="hash") as index, rifflux.open(db, model="hash") as writer:
            done = index.admin.backup(
                copy, progress=lambda *told: seen.append(writer.add(Document("late", "A kingfisher.")))
            )
            assert (done.path, done.bytes) == (str(copy), copy.stat().st_size)
        assert seen
        assert [each.name for each in copy.parent.iterdir()] == ["copy.db"]
        with rifflux.open(copy, model="hash") as index:
            assert index.status().documents == DOCUMENTS
            assert index.admin.check() == []
            assert index.search(word(9))[0].text == f"The heron {word(9)} stands."

    def test_what_is_there_is_replaced_only_by_force(self, db: Path, tmp_path: Path) -> None:
        target = tmp_path / "copy.db"
        target.write_text("precious")
        with rifflux.open(db, model="hash") as index:
            with pytest.raises(rifflux.InvalidArgument, match="force=True"):
                index.admin.backup(target)
            assert target.read_text() == "precious"
            index.admin.backup(target, force=True)
            with pytest.raises(rifflux.InvalidArgument, match="itself"):
                index.admin.backup(db, force=True)
            with pytest.raises(rifflux.InvalidArgument, match="folder"):
                index.admin.backup(tmp_path, force=True)
            with rifflux.open(target, model="hash") as other:
                other.add(Document("x", "y"))
                with pytest.raises(rifflux.InvalidArgument, match="in use"):
                    index.admin.backup(target, force=True)
        assert diagnose(target) == []

    def test_an_index_in_memory_can_be_kept(self, tmp_path: Path) -> None:
        with rifflux.open(":memory:", model="hash") as index:
            index.add(Document("a", "The heron stands in the river."))
            index.admin.backup(tmp_path / "kept.db")
        with rifflux.open(tmp_path / "kept.db") as index:
            assert index.search("heron")[0].key == "a"

    def test_the_commands_copy_and_mend(self, run: Any, db: Path, tmp_path: Path) -> None:
        assert run.json("backup", "copy.db", "--db", db)["bytes"] > 0
        assert "--force" in run.refusal("backup", "copy.db", "--db", db)
        inject(db, FAULTS["terms missing"][0])
        report = run.json("doctor", "--db", db, status=1)
        assert report["problems"][0]["what"] == "2 chunks are missing from the word index"
        mended = run.json("doctor", "--repair", "--db", db)
        assert (mended["sound"], mended["original"]) == (True, None)
        assert mended["done"] == ["2 chunks are missing from the word index: put them in"]
