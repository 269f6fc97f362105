"""Names are read from the words file as they stand in the database, whatever changed since it was made."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rifflux.store import ChunkFacts, DocumentChange, Placed, Removal
from rifflux.store.sqlite import SqliteStore
from rifflux.store.sqlite.lexical.names_file import joined, pieces_of
from rifflux.testing import change
from rifflux.types import Identifier
from tests.support.exploring import examples

TITLES = (
    "",
    "Chapter 07",
    " U.S.A. – don't",
    "Café_au lait",
    "e\u0301cole",
    "naïve  DNA-binding, T4",
    "数学 II",
    "...",
)


@pytest.fixture
def filled(tmp_path: Path) -> Iterator[SqliteStore]:
    store = SqliteStore.open(str(tmp_path / "index.db"))
    for owner in ("", "ann"):
        store.of(owner).catalog.write(*(Placed("c", _document(owner, number)) for number in range(8)))
    store.local.build()
    yield store
    store.close()


def _document(owner: str, number: int, **other: object) -> DocumentChange:
    title = TITLES[number % len(TITLES)]
    fields: dict[str, object] = {
        "kind": "markdown" if number % 2 else "note",
        "metadata": {"aliases": [f"Alias {number}", "Chapter 07"]} if number % 3 == 1 else {"other": '"alias'},
        "identifiers": (Identifier("doi", f"10.1/{number}"), Identifier("arxiv", "1")) if number % 4 == 0 else (),
        "language": "german" if number == 5 else "",
    }
    start = 10_000 * len(owner) + 100 * number
    put = change(f"{owner}{number}.md", "one river", "two cache", title=title, first_id=start, **(fields | other))
    chunks = tuple(
        replace(each, chunk=replace(each.chunk, headings=("Part", f"{title} {place}")[: (number + place) % 3]))
        for place, each in enumerate(put.chunks)
    )
    return replace(put, chunks=chunks)


def _ids(owner: str) -> list[int]:
    return [10_000 * len(owner) + 100 * number + place for number in range(10) for place in range(2)]


def _facts(store: SqliteStore, owner: str) -> dict[int, ChunkFacts]:
    """Return the facts of all chunks as the database has them."""
    view = store.of(owner)
    plain = replace(view.catalog, words=None, known=type(view.catalog.known)())
    return dict(plain.facts(np.array(_ids(owner))))


def _from_file(store: SqliteStore, owner: str) -> dict[int, ChunkFacts]:
    """Return the facts that the words file has, without those that were added to it since."""
    view = store.of(owner).view
    index = store.database.words
    assert index
    with view.reading() as (connection, owners):
        seen = index.visible(connection, owners)
    return seen.facts(np.array(_ids(owner))) if seen else {}


def _check(store: SqliteStore, missing: int = 0) -> None:
    for owner in ("", "ann"):
        expected = _facts(store, owner)
        found = _from_file(store, owner)
        assert {id: expected[id] for id in found} == found
        assert len(expected) - len(found) == missing * (owner == "")
        assert [each.namespace for each in found.values()] == ["c"] * len(found)
        assert dict(store.of(owner).catalog.facts(np.array(_ids(owner)))) == expected


@given(st.text() | st.text("aB1 ._-'’\n²é數"))
@examples(300)
def test_a_name_is_made_of_its_pieces(name: str) -> None:
    pieces = [*pieces_of(name)]
    assert joined(pieces) == name


def test_the_file_has_the_names_of_every_chunk(filled: SqliteStore) -> None:
    _check(filled)


def test_another_fact_of_a_document_is_not_read_from_an_older_file(filled: SqliteStore) -> None:
    changes: tuple[dict[str, object], ...] = (
        {"identifiers": (Identifier("doi", "10.1/other"),)},
        {"metadata": {"aliases": ["Another name"]}, "kind": "markdown"},
        {"kind": "other"},
        {"language": "french"},
    )
    for number, other in enumerate(changes):
        filled.catalog.write(Placed("c", _document("", number, **other)))
        _check(filled, missing=2)
        filled.local.build()
        _check(filled)


def test_a_file_that_follows_is_one_that_is_made_anew(filled: SqliteStore, tmp_path: Path) -> None:
    filled.catalog.write(Placed("c", _document("", 8)), Placed("c", _document("", 1, metadata={})))
    filled.catalog.write(Removal("c", ["3.md"]))
    filled.local.build()
    _check(filled)
    place = tmp_path / "index.db.words"
    assert b"lait" not in place.read_bytes() or "Café_au lait" in {
        each.title for each in _facts(filled, "ann").values()
    }
    followed = _from_file(filled, "")
    place.unlink()
    index = filled.database.words
    assert index
    index.build()
    assert _from_file(filled, "") == followed


def test_a_name_that_is_gone_is_in_no_file(filled: SqliteStore, tmp_path: Path) -> None:
    filled.catalog.write(Placed("c", change("x", "river", title="Zyzzyva", first_id=900)))
    filled.local.build()
    place = tmp_path / "index.db.words"
    assert b"Zyzzyva" in place.read_bytes()
    filled.catalog.write(Removal("c", ["x"]))
    filled.local.build()
    assert b"Zyzzyva" not in place.read_bytes()


def test_a_row_that_is_damaged_is_left_to_the_database(filled: SqliteStore, tmp_path: Path) -> None:
    filled.view.engine.connection.execute("update document set title = x'00' where key = '2.md'")
    (tmp_path / "index.db.words").unlink()
    index = filled.database.words
    assert index
    index.build()
    found = _from_file(filled, "")
    assert not {200, 201} & found.keys()
    assert len(found) == 14
