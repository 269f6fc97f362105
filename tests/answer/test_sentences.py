"""How passages are cut into sentences: what is quoted is whole, and reads as it was meant."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rifflux.text.sentences import WHOLE, flowing, pieces


def cut(text: str) -> list[str]:
    """Return the sentences of a text as they are read, and tables and code as they stand."""
    found = ((piece, text[slice(*piece.span)]) for piece in pieces(text))
    return [sentence if piece.kind == WHOLE else flowing(sentence) for piece, sentence in found]


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("[a]: b.html\n[c]: https://d.org 'E'\n\nIt holds.", ["It holds."]),
        ("<!-- old -->\n<a id='x'></a>\nIt holds<!-- ignore -->. Always.", ["It holds.", "Always."]),
        ("> [!tip] Without the app\n> It runs in the\n> background.", ["It runs in the background."]),
        ("**Requirements**\n\nAn account. **Really** one.", ["An account.", "**Really** one."]),
        ("Title\n=====\n\nIt holds.", ["It holds."]),
        ("- [[Formulas]]\n- [[Views|How to view]], [[Maps]]\n- ![[a.png]]\n- It holds.", ["It holds."]),
        ("***Escaping.*** A creature flees. It is gone.", ["***Escaping.*** A creature flees.", "It is gone."]),
        ("{{#include ../a.rs}}\n::: warning\nIt holds.\n:::", ["It holds."]),
    ],
    ids=["definitions", "comments", "boxes", "bold", "underlined", "links", "run in", "directives"],
)
def test_what_says_nothing_is_no_sentence(text: str, sentences: list[str]) -> None:
    assert cut(text) == sentences


def test_a_line_that_is_broken_goes_on() -> None:
    text = (
        "We first covered traits in the [“Defining Shared Behavior with\nTraits”][traits] section of Chapter 10, but we"
        " did not discuss the details.\nShort line\nAnother one"
    )
    assert cut(text) == [
        "We first covered traits in the [“Defining Shared Behavior with Traits”][traits] section of Chapter 10, but we"
        " did not discuss the details.",
        "Short line",
        "Another one",
    ]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("a: 1 // Yes. No.\n```\n\nIt holds.", ["a: 1 // Yes. No.\n```", "It holds."]),
        ("It holds.\n\n```\na: 1. B", ["It holds.", "```\na: 1. B"]),
        ("It holds.\n\n```py\na: 1. B\n```\n", ["It holds.", "```py\na: 1. B\n```"]),
    ],
    ids=["begun before", "ends later", "whole"],
)
def test_code_that_a_passage_cuts_is_no_prose(text: str, found: list[str]) -> None:
    assert cut(text) == found


@given(st.text(st.sampled_from("aB .!?\n>*_#-|`[]()<>:1=~"), max_size=120))
def test_pieces_stand_one_behind_the_other(text: str) -> None:
    spans = [piece.span for piece in pieces(text)]
    assert spans == sorted(spans)
    assert all(start < end for start, end in spans)
    assert all(before[1] <= after[0] for before, after in pairwise(spans))
    assert all(text[start:end] == text[start:end].strip() for start, end in spans)


@given(st.text(max_size=80))
def test_a_sentence_reads_on_one_line_and_keeps_its_words(text: str) -> None:
    words = text.replace("<", "").replace(">", "")
    assert "\n" not in flowing(words)
    assert flowing(words).split() == words.split()
