"""The text of a document that was read from a file is stored once, in its passages, and read as it was."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import apsw
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rifflux
from rifflux import Document
from rifflux.store.catalog import AnalyzedChunk, DocumentChange, FileState, FileUpdate, Placed, Selection
from rifflux.store.sqlite import SqliteStore
from rifflux.types import Chunk

Passage = tuple[int, int, str]

TEXTS = st.text(st.characters(codec="utf-8"), max_size=60)


@st.composite
def split(draw: st.DrawFn) -> tuple[str, list[Passage]]:
    """A text and passages of it, which may overlap, leave something out, or differ from their spans."""
    text = draw(TEXTS)
    passages = []
    for _ in range(draw(st.integers(0, 6))):
        start = draw(st.integers(0, len(text)))
        end = draw(st.integers(start, len(text)))
        part = text[start:end]
        passages.append((start, end, draw(st.sampled_from([part, part, "head\n" + part, part.swapcase()]))))
    return text, passages


@pytest.fixture(scope="module")
def store() -> Iterator[SqliteStore]:
    store = SqliteStore.open(":memory:")
    store.catalog.write(FileUpdate("here", FileState("a.md", 1, 1, "hash"), None))
    yield store
    store.close()


@given(split())
def test_a_text_is_read_as_it_was_whatever_its_passages_are(
    store: SqliteStore, given: tuple[str, list[Passage]]
) -> None:
    text, passages = given
    chunks = [Chunk(number, number, part, (start, end)) for number, (start, end, part) in enumerate(passages)]
    change = DocumentChange(
        Document("a", text), "a.md", tuple(AnalyzedChunk(each, "", "", "word", each.id) for each in chunks)
    )
    store.catalog.write(Placed("here", change, ("here", "a.md")))
    (found,) = store.catalog.documents(Selection("here"), with_text=True)
    assert found.document.text == text
    assert store.catalog.documents_at([("here", "a")])["here", "a"].text == text
    ((whole, length),) = store.view.rows("select whole, length(text_left(compressed, null)) from document_text")
    differs = any(len(part) == end - start and part != text[start:end] for start, end, part in passages)
    assert whole == differs
    held = {place for start, end, part in passages if part == text[start:end] for place in range(start, end)}
    if "\0" not in text:
        assert length == (len(text) if differs else len(text) - len(held))


def rows(db: Path, statement: str) -> list[Any]:
    with closing(apsw.Connection(str(db))) as connection:
        return connection.execute(statement).fetchall()


def test_what_was_read_from_files_is_stored_once_and_read_as_it_was(tmp_path: Path) -> None:
    texts = {
        "long.md": "\n\n".join(f"# Part {part}\n\n" + f"Größe {part} läuft. " * 300 for part in range(9)),
        "table.csv": "name,place\n" + "".join(f"heron {row},river {row}\n" for row in range(2000)),
        "signs.txt": "\n \t a heron \U0001f989 \"quoted\" \\ back\n\n\n\u65e5\u672c\u8a9e  ",
        "blank.txt": " \n\n ",
    }  # fmt: skip
    db = tmp_path / "index.db"
    folder = tmp_path / "texts"
    folder.mkdir()
    for name, text in texts.items():
        (folder / name).write_text(text, "utf-8")
    with rifflux.open(db, model="hash:32") as index:
        index.add(folder)
        index.add([Document("added", texts["long.md"])])
        before = {each: index.document(each).text for each in texts}
        assert before["long.md"] == texts["long.md"]
    stored = dict(rows(db, "select key, whole from document join document_text on document = id"))
    assert stored["long.md"] == 0
    assert stored["added"] == 1
    held = dict(rows(db, "select key, length(compressed) from document join document_text on document = id"))
    assert held["long.md"] < 0.2 * held["added"]
    # A changed file is stored anew, and read as it is.
    (folder / "long.md").write_text(texts["long.md"].replace("Part 3", "Piece 3"), "utf-8")
    with rifflux.open(db, model="hash:32") as index:
        index.add(folder)
        assert index.document("long.md").text == texts["long.md"].replace("Part 3", "Piece 3")
        assert {each: index.document(each).text for each in texts if each != "long.md"} == {
            each: text for each, text in before.items() if each != "long.md"
        }
        assert index.admin.check() == []


def test_a_lost_rest_is_made_again_and_a_lost_passage_read_again(tmp_path: Path) -> None:
    db = tmp_path / "index.db"
    folder = tmp_path / "texts"
    folder.mkdir()
    text = "\n\n".join(f"# Part {part}\n\n" + f"The heron {part} stands. " * 200 for part in range(4))
    (folder / "a.md").write_text(text, "utf-8")
    (folder / "b.md").write_text(text.replace("heron", "owl"), "utf-8")
    with rifflux.open(db, model="hash:32") as index:
        index.add(folder)
    with closing(apsw.Connection(str(db))) as connection:
        connection.execute("delete from document_text where document = 1")
        connection.execute("update chunk set text = replace(text, 'owl 2', 'elk 2') where document = 2")
    assert rifflux.diagnose(db)
    rifflux.repair(db)
    with rifflux.open(db, model="hash:32") as index:
        for part in range(4):
            assert f"The heron {part} stands." in index.document("a.md").text
        assert "owl 3" in index.document("b.md").text
        index.add(folder)
        assert index.document("b.md").text == text.replace("heron", "owl")
        assert index.search("owl 2", mode="lexical")[0].key == "b.md"
        assert index.admin.check() == []
