"""What of a passage is quoted: its sentences that speak to the question, and nothing of a table of contents."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rifflux.evidence.choose import is_contents, sentences_for
from rifflux.index import open_index
from rifflux.works import Passage, Work
from rifflux.works.export import verify


@pytest.mark.parametrize(
    "text",
    [
        "2.2 Naming . . . . . 14\n2.3 Types . . . . . . 15\n3 Values ........ 20",
        "2.2 Naming . . . . 14 2.3 Types . . . . 15 3 Values of things and their names . . . 20",
        "Contents\n1 Introduction 1\n1.1 Aims 2\n2 Methods 5\n2.1 Data 6\nA Tables 40",
        "Preface …… ix\nLemmas …… 3\nIndex …… 99",
    ],
)
def test_a_table_of_contents_is_no_evidence(text: str) -> None:
    assert is_contents(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "We use a, b, ..., 10 values and then, ..., 20 more of them.",
        "Lemma 2.2. Every group of order 4 is abelian.\nProof. By inspection of the 4 cases.",
        "1 Introduction\nNames matter. In 1970\nthere were few of them.\nIn 1980 there were 40",
        "The sum a_1 + ... + a_n is at most 3, and b_1 + ... + b_n at most 4, whatever c_1, ..., c_9 are.",
    ],
)
def test_what_says_something_is(text: str) -> None:
    assert not is_contents(text)


def test_contents_are_passed_over_for_what_they_point_to() -> None:
    contents = "2.1 Naming lemmas . . . . 13\n2.2 Lemma on naming . . . . 14\n2.3 Types . . . . . . 15"
    manual = Work(
        "Manual",
        passages=(
            Passage(contents, "page", ("Page 2",)),
            Passage("On naming, a lemma says much.", "page", ("Page 14",)),
        ),
        license="CC0-1.0",
    )
    only = Work("Other", passages=(Passage(contents + "\n9 Naming . . . 99", "page", ("Page 2",)),), license="CC0-1.0")
    with open_index(":memory:", model="hash", profile="works") as index:
        index.works.add(manual, only)
        items = index.retrieve("naming lemma", min_relevance=0.0).evidence.items
    assert [(item.title, item.text) for item in items] == [("Manual", "On naming, a lemma says much.")]


TEXT = "We begin here. A cat sat on the mat. Dogs bark. Cats sleep on a mat. Nothing else is known. The end is near."


def says(*words: str) -> Any:
    return lambda sentence: any(word in sentence.casefold() for word in words)


@pytest.mark.parametrize(
    ("text", "words", "quoted"),
    [
        (TEXT, ("mat",), "A cat sat on the mat. Dogs bark. Cats sleep on a mat."),
        (TEXT, ("elephant",), TEXT),
        ("A cat. A mat.", ("mat",), "A cat. A mat."),
        (f"{TEXT} \\begin{{enumerate}} \\item x \\end{{enumerate}}", ("mat",), None),
    ],
)
def test_passages_are_cut_to_their_sentences(text: str, words: tuple[str, ...], quoted: str | None) -> None:
    start, end = sentences_for(text, (0, len(text)), says(*words))
    assert text[start:end] == (text if quoted is None else quoted)


def test_a_passage_that_begins_or_ends_within_a_sentence_is_cut_to_whole_ones() -> None:
    text = "It was said by many of us that a mat is flat. A mat is red. A mat is old. A mat is never wholly round."
    start, end = sentences_for(text, (text.index("that a mat"), text.index("wholly")), says("mat"))
    assert text[start:end] == "A mat is red. A mat is old."


@given(
    st.lists(st.sampled_from(["A mat is red.", "Dogs bark!", "- an item\n", "| a | b |\n", "# Head\n", " \n\n", "x"]))
)
def test_what_is_quoted_stands_within_the_passage(parts: list[str]) -> None:
    text = " ".join(parts)
    start, end = sentences_for(f"..{text}..", (2, 2 + len(text)), says("mat"))
    assert 2 <= start <= end <= 2 + len(text)


def test_quoted_sentences_can_be_verified() -> None:
    work = Work("On cats", TEXT, license="CC0-1.0")
    with open_index(":memory:", model="hash", profile="works") as index:
        index.works.add(work)
        pack = index.retrieve("what sits on a mat?", min_relevance=0.0).evidence
        assert verify(pack, index.admin.store) == []
    (item,) = pack.items
    assert item.text == "Cats sleep on a mat." or item.text.startswith("A cat sat on the mat.")
    assert TEXT[slice(*item.span)] == item.text
