"""What else was searched is named in whole words, as texts that the caller may read write them."""

from __future__ import annotations

import pytest

import rifflux
from rifflux import Document, Scope
from rifflux.text.analyzer import analyzer
from rifflux.text.highlight import spelling_of


@pytest.mark.parametrize(
    ("clause", "text", "spelling"),
    [
        (("creatur",), "Of Creatures, large and small", "creatures"),
        (("creatur", "10"), "a creature, then\nCreature 10.", "creature 10"),
        (("notic", "month"), "Notice of the months", "notice months"),
        (("creatur", "10"), "creature 11", ""),
        (("heron",), "", ""),
    ],
)
def test_terms_are_spelled_as_in_the_text(clause: tuple[str, ...], text: str, spelling: str) -> None:
    assert spelling_of(clause, text, analyzer()) == spelling


@pytest.mark.parametrize(
    ("query", "note"),
    [
        ("CR10", "'CR 10' in other spellings: also searched creature 10"),
        ("kingfishr", "'kingfishr' occurs nowhere: also searched kingfisher"),
        ("Rechnnung", "'Rechnnung' occurs nowhere: also searched rechnungen"),
    ],
)
def test_a_note_names_whole_words(query: str, note: str) -> None:
    with rifflux.open(":memory:", model="hash") as index:
        index.add(Document("a.md", "Creature 10 watches a kingfisher.", "Of creatures"))
        index.documents.put(Document("b.md", "Die Rechnungen sind da.", language="german"))
        assert note in [each.text for each in index.search(query, mode="lexical").trace.notes]


def test_no_other_persons_spelling_is_named() -> None:
    with rifflux.open(":memory:", model="hash") as index:
        index.scoped(Scope("eve")).add(Document("e.md", "Kingfishers kingfishers kingfishers."))
        ann = index.scoped(Scope("ann"))
        ann.add(Document("a.md", "A kingfisher waits."))
        (note,) = ann.search("kingfishr").trace.notes
        assert note.text == "'kingfishr' occurs nowhere: also searched kingfisher"


def test_a_word_is_spelled_as_on_the_page_or_else_where_it_stands() -> None:
    with rifflux.open(":memory:", model="hash") as index:
        index.add(Document("a.md", "Herons wade. The kingfishers wait, and wait, and wait for the fish."))
        index.add(Document("b.md", "A kingfisher kingfisher and an owl."))
        for query, variant in (("kingfishr +herons", "kingfishers"), ("kingfishr +owl", "kingfisher")):
            (note,) = index.search(query, mode="lexical").trace.notes
            assert note.data["variants"] == [variant]
        (note,) = index.search("kingfishr +wade -fish", mode="lexical").trace.notes
        assert note.data["variants"] == ["kingfisher"]
