"""The lexicon of mathematics: well-formed, and searched besides what a question says."""

from __future__ import annotations

from pathlib import Path

import pytest

import rifflux
from rifflux import Document
from rifflux.retrieve.query.expand import known_synonyms
from rifflux.text.analyzer import analyzer


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ("SES", "Every short exact sequence splits."),
        ("PID", "A principal ideal domain is factorial."),
        ("fields of char p", "Fields of characteristic p are odd."),
        ("fibre products", "Fiber products exist."),
        ("direct limit", "Colimits commute."),
        ("UFD", "A factorial ring has unique factors."),
    ],
)
def test_abbreviations_find_what_they_stand_for(asked: str, said: str) -> None:
    with rifflux.open(":memory:", profile="works", model="hash:64") as index:
        index.add(Document("wanted", said), *(Document(f"{n}", f"other words {n}") for n in range(5)), embed=False)
        results = index.search(asked, mode="lexical")
        assert results[0].key == "wanted"
        assert any("also searched" in note.text for note in results.trace.notes)


def test_only_indexes_that_read_notation_have_it() -> None:
    assert known_synonyms(None, analyzer("english", "latex")) is None


def test_the_users_own_file_adds_to_it(tmp_path: Path) -> None:
    own = tmp_path / "own.txt"
    own.write_text("PID, process id\nSES => socioeconomic status\n")
    known = known_synonyms(own, analyzer("english", "notation"))
    assert known is not None
    spellings = {source: [variant.spelling for variant in variants] for source, variants in known.rules.items()}
    assert spellings["pid",] == ["principal ideal domain", "process id"]
    assert spellings["ses",] == ["short exact sequence", "socioeconomic status"]
    assert known.longest >= 4
