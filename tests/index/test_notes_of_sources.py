"""What a search of several sources says of the words and of the contents is true of all that was searched."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import rifflux
from rifflux import Document, Index, Scope
from rifflux.conversations import Conversation, Message, Thread

#: Words that each source alone holds, and near spellings of them that another source holds.
DOCUMENT, MESSAGE, MEMORY = "trait", "train", "brain"


@pytest.fixture
def ann() -> Iterator[Index]:
    """Open an index of somebody with documents, messages and memories that have near words."""
    with rifflux.open(":memory:", model="hash") as index:
        ann = index.scoped(Scope("ann"))
        ann.add(
            *(Document(f"{number}.md", f"The {DOCUMENT} of type {number} says what it drops.") for number in range(9))
        )
        told = Message("m0", "talk", f"Which {MESSAGE} do we take to Graz?", role="user", created_at="2024-05-01")
        ann.conversations.put(Thread(Conversation("talk", "Of travels"), (told,)))
        ann.memories.add(f"Ann reads about the {MEMORY} on Sundays", category="taste")
        yield ann


def notes_of(ann: Index, question: str) -> list[tuple[str, ...]]:
    """Return the notes of an answer and of a search over everything."""
    found = (ann.answer(question).notes, ann.everything(question).trace.notes)
    return [tuple(note.text for note in notes) for notes in found]


@pytest.mark.parametrize("word", [DOCUMENT, MESSAGE, MEMORY])
def test_a_word_that_one_source_holds_is_misspelt_in_none(ann: Index, word: str) -> None:
    for notes in notes_of(ann, f"What does the {word} say?"):
        assert not [note for note in notes if repr(word) in note]


def test_a_word_that_no_source_holds_is_corrected_by_each_and_said_to_be_unknown(ann: Index) -> None:
    for notes in notes_of(ann, "What does the trair say?"):
        unknown = " ".join(note for note in notes if "'trair'" in note)
        assert DOCUMENT in unknown
        assert MESSAGE in unknown


@pytest.mark.parametrize("holding", ["documents", "messages", "nothing"])
def test_nothing_is_said_to_be_there_only_where_no_source_holds_anything(holding: str) -> None:
    with rifflux.open(":memory:", model="hash") as index:
        ann = index.scoped(Scope("ann"))
        if holding == "documents":
            ann.add(Document("a.md", "The heron waits."))
        if holding == "messages":
            message = Message("m0", "talk", "The heron waits.", role="user")
            ann.conversations.put(Thread(Conversation("talk"), (message,)))
        for notes in notes_of(ann, '"kestrel fjord"'):
            assert any("nothing belongs to ann" in note for note in notes) == (holding == "nothing")


def test_a_condition_that_one_source_meets_is_not_said_to_be_met_by_none(ann: Index) -> None:
    limits = rifflux.Filter(paths=("3.md",))
    notes = ann.answer('"kestrel fjord"', filter=limits).notes
    assert not [note for note in notes if "3.md" in note.text]
    notes = ann.answer('"kestrel fjord"', filter=rifflux.Filter(paths=("none.md",))).notes
    assert [note for note in notes if "none.md" in note.text]
