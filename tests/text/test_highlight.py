"""Highlighting marks the words that were asked for, and an excerpt shows where most of them stand."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rifflux.text.analyzer import analyzer
from rifflux.text.highlight import matches, stretch


def marked(text: str, query: str) -> list[str]:
    """The pieces of a text that a query highlights."""
    english = analyzer()
    return [text[start:end] for start, end in matches(text, english.terms(query), english)]


@pytest.mark.parametrize(
    ("text", "query", "expected"),
    [
        ("Cached entries expire.", "cache expiring", ["Cached", "expire"]),
        ("The `cache`, the (cache)!", "cache", ["cache", "cache"]),
        ("*Bold* and _slanted_ caches…", "bold slanted caches", ["Bold", "slanted", "caches"]),
        ("C++, not D.", "C++", ["C++"]),
        ("Call parseHTTPHeader now.", "header", ["parseHTTPHeader"]),
        ("30 CFR 250.1725 applies", "250.1725", ["250.1725"]),
        ("Café and cafe\u0301", "cafe", ["Café", "cafe\u0301"]),
        ("the and of", "the and of", []),
        ("nothing here", "cache", []),
        ("", "cache", []),
        ("東京都の天気は晴れ", "天気", ["天気"]),
        ("東京都の天気", "東京都", ["東京都"]),
        ("cache in 東京 cache", "東京 cache", ["cache", "東京", "cache"]),
    ],
)
def test_the_words_of_the_question_are_marked_without_their_punctuation(
    text: str, query: str, expected: list[str]
) -> None:
    assert marked(text, query) == expected


@given(st.text(), st.text())
def test_marks_are_in_order_and_never_overlap(text: str, query: str) -> None:
    spans = matches(text, analyzer().terms(query), analyzer())
    edges = [edge for span in spans for edge in span]
    assert edges == sorted(edges)
    assert all(0 <= start < end <= len(text) for start, end in spans)


def test_a_short_text_is_shown_whole() -> None:
    assert stretch("a few words", [(2, 5)], 100) == (0, 11)


def test_the_stretch_with_most_marks_wins_and_the_earliest_of_equals() -> None:
    text = "filler " * 50 + "cache " + "filler " * 50 + "cache and cache " + "filler " * 50 + "cache or cache " * 2
    spans = matches(text, ["cach"], analyzer())
    start, end = stretch(text, spans, 100)
    assert text[start:end].count("cache") == 4
    start, end = stretch(text[:-30], matches(text[:-30], ["cach"], analyzer()), 100)
    assert text[start:end].count("cache") == 2


def test_without_marks_the_beginning_is_shown() -> None:
    text = "words " * 100
    assert stretch(text, [], 60)[0] == 0


@given(st.lists(st.text("abcdefgh", min_size=1, max_size=12), min_size=1), st.integers(1, 60), st.data())
def test_a_stretch_is_cut_between_words_and_about_as_long_as_asked(
    words: list[str], length: int, data: st.DataObject
) -> None:
    text = " ".join(words)
    spans = data.draw(st.sampled_from([[], matches(text, [words[-1]], analyzer("none"))]))
    start, end = stretch(text, spans, length)
    assert start == 0 or text[start - 1] == " "
    assert end == len(text) or text[end] == " "
    assert min(length, len(text)) <= end - start <= length + 2 * 12


@pytest.mark.parametrize("character", ["x", "晴"])
def test_text_without_spaces_is_cut_all_the_same(character: str) -> None:
    start, end = stretch(character * 5_000, [(2_500, 2_502)], 100)
    assert start <= 2_500 < 2_502 <= end
    assert end - start <= 200
