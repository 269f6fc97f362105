"""The file of terms beside the word index: what begins how is told at once, and nothing that occurs is missing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rifflux.store.sqlite import SqliteStore
from rifflux.store.sqlite.connection.derived import BackgroundBuilder
from rifflux.store.sqlite.connection.engine import location_of
from rifflux.store.sqlite.lexical import word_index as words
from rifflux.store.sqlite.lexical import word_index_terms as words_terms
from rifflux.testing import change
from tests.support.exploring import examples

TERMS = st.sets(st.text("abcé|", min_size=1, max_size=4), max_size=12)


@examples(60)
@given(sections=st.lists(TERMS, min_size=1, max_size=5), start=st.sampled_from(["", "a", "ab", "é", "|", "cc"]))
def test_what_begins_so_is_told_however_it_came(
    tmp_path_factory: pytest.TempPathFactory, sections: list[set[str]], start: str
) -> None:
    place = tmp_path_factory.mktemp("terms")
    words_terms.write(place, sections[0])
    for section in sections[1:]:
        words_terms.extend(place, section)
    every = set().union(*sections)
    found = words_terms.TermDictionary(place).beginning(start, 2, 3)
    assert sorted(found) == sorted(each for each in every if each.startswith(start) and 2 <= len(each) <= 3)


def test_a_section_that_was_not_written_to_its_end_harms_no_other(tmp_path: Path) -> None:
    words_terms.write(tmp_path, ["heron", "river"])
    words_terms.extend(tmp_path, ["heroic", "hinge"])
    path = tmp_path / words_terms.NAME
    path.write_text(path.read_text("utf-8")[:-3], "utf-8")
    words_terms.extend(tmp_path, ["hinge", "hat"])
    found = set(words_terms.TermDictionary(tmp_path).beginning("h", 1, 9))
    assert {"heron", "heroic", "hinge", "hat"} <= found


def test_many_sections_become_one(tmp_path: Path) -> None:
    words_terms.write(tmp_path, [])
    for number in range(200):
        words_terms.extend(tmp_path, [f"w{number}"])
    text = (tmp_path / words_terms.NAME).read_text("utf-8")
    assert text.count("\n\n") <= words_terms.MOST_SECTIONS
    assert len(set(words_terms.TermDictionary(tmp_path).beginning("w", 1, 9))) == 200


def test_what_was_added_is_seen_by_the_next_question(tmp_path: Path) -> None:
    words_terms.write(tmp_path, ["heron"])
    vocabulary = words_terms.TermDictionary(tmp_path)
    assert vocabulary.beginning("h", 1, 9) == ["heron"]
    words_terms.extend(tmp_path, ["heroic"])
    assert set(vocabulary.beginning("h", 1, 9)) == {"heron", "heroic"}
    assert vocabulary.beginning("h", 6, 9) == ["heroic"]


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[SqliteStore]:
    monkeypatch.setattr(words, "LEAST_CHUNKS", 1)
    monkeypatch.setattr(BackgroundBuilder, "require", lambda self: None)
    monkeypatch.setattr(BackgroundBuilder, "suggest", lambda self: None)
    store = SqliteStore.open(str(tmp_path / "index.db"))
    yield store
    store.close()


@pytest.mark.parametrize("owner", ["", "ann"])
def test_the_vocabulary_is_that_of_the_tables_whatever_changed(store: SqliteStore, tmp_path: Path, owner: str) -> None:
    view = store.of(owner)
    view.catalog.put("c", change("a", "heron river", "heroic hinge"))
    view.catalog.put("c", change("b", "heron harbour"))
    store.accelerate()
    index = view.database.words.of(0 if not owner else 1)
    assert index is not None
    assert (index.place / words_terms.NAME).exists()
    view.catalog.put("c", change("d", "hermit heron"))
    view.catalog.remove("c", ["b"])
    steps = []
    for _ in range(2):
        steps.append(dict(view.lexical.vocabulary("he", 1, 9)))
        store.accelerate()
    assert steps[0] == steps[1] == {"heron": 2, "heroic": 1, "hermit": 1}
    assert not view.lexical.vocabulary("ha", 1, 9)


def test_without_the_file_the_tables_tell(store: SqliteStore, tmp_path: Path) -> None:
    store.catalog.put("c", change("a", "heron river"))
    store.accelerate()
    (location_of(tmp_path / "index.db", "words") / words_terms.NAME).unlink()
    assert dict(store.lexical.vocabulary("h", 1, 9)) == {"heron": 1}
    store.catalog.put("c", change("b", "hinge"))
    store.accelerate()
    assert dict(store.lexical.vocabulary("h", 1, 9)) == {"heron": 1, "hing": 1}


@pytest.mark.parametrize("owner", ["", "ann"])
def test_terms_are_counted_as_the_tables_count_them_whatever_changed(store: SqliteStore, owner: str) -> None:
    view = store.of(owner)
    for key, text in (("a", "heron river"), ("b", "heron harbour"), ("e", "heron stone")):
        view.catalog.put("c", change(key, text))
    store.accelerate()
    view.catalog.put("c", change("d", "hermit heron heron"))
    view.catalog.remove("c", ["b"])
    view.catalog.put("c", change("a", "river owl"))
    view.catalog.put("c", change("e", "heron stone", metadata={"colour": "grey"}))
    expected = {"heron": 2, "river": 1, "hermit": 1, "owl": 1, "stone": 1}
    index = view.database.words.of(0 if not owner else 1)
    assert index is not None
    for _ in range(2):
        with view.view.reading() as (connection, _):
            found = index.frequencies(connection, ["heron", "river", "harbour", "hermit", "owl", "stone", "none"])
        assert found == expected
        store.accelerate()
