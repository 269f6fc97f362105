"""What users type is read as they mean it, and nothing they type is an error."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rifflux.retrieve.query.reading import understand
from rifflux.store import FieldWeights, Placed, by_words
from rifflux.store.sqlite import SqliteStore
from rifflux.testing import change
from rifflux.text.analyzer import analyzer
from rifflux.types import Filter, Query

STORE = SqliteStore.open(":memory:")
STORE.catalog.write(Placed("c", change("a", "some words")))


def read(text: str, *facets: str) -> Query:
    return understand(text, analyzer(), facets)


def words(query: Query) -> set[str]:
    return {term for (term,) in query.clauses}


def test_plain_words_are_alternatives() -> None:
    query = read("cache entries")
    assert query.clauses == (("cach",), ("entri",))
    assert query.semantic_text == "cache entries"


def test_a_phrase_is_required_word_by_word() -> None:
    query = read('about "cache entries" here')
    assert query.required == (("cach", "entri"),)
    assert query.semantic_text == "about cache entries here"


def test_a_phrase_mentioned_in_a_longer_question_counts_extra_but_is_not_required() -> None:
    query = read('What did Caroline take away from the book "Becoming Nicole"?')
    assert query.required == ()
    assert {("becom", "nicol"), ("becom",), ("nicol",), ("book",)} <= set(query.clauses)


def test_a_minus_excludes_a_word_or_a_phrase() -> None:
    query = read('cache -redis -"two words"')
    assert query.excluded == (("redi",), ("two", "word"))
    assert "redis" not in query.semantic_text


@pytest.mark.parametrize("text", ["10 -5 degrees", "state-of-the-art", "a - b", "foo-bar"])
def test_a_minus_inside_or_before_a_number_excludes_nothing(text: str) -> None:
    assert read(text).excluded == ()


def test_a_star_after_a_word_asks_for_its_beginning() -> None:
    assert read("configuration*").prefixes == ("configuration", "configur")
    assert read("C* algebra").prefixes == ()


def test_declared_fields_filter_and_others_are_words() -> None:
    query = read('speaker:Ann speaker:"Bob B" note:this kind:markdown', "speaker")
    assert query.filter == Filter(kinds=("markdown",), metadata={"speaker": ["Ann", "Bob B"]})
    assert "note:thi" in words(query) or "note" in words(query)


def test_a_web_address_is_no_field() -> None:
    assert read("https://example.com", "https").filter == Filter()


@pytest.mark.parametrize(
    "text",
    [
        'C++ "quoted',
        "a/b:c@d",
        "AND OR NOT (",
        "🚀",
        "NEAR(a b, 3)",
        "title:x body:y ^z",
        "* ** -* -- -",
        '"" "',
        "\x00\x01",
        "\ud800",
        "word " * 2000,
        '"' * 500,
        "(" * 500,
        "x:" * 500,
    ],
)
def test_nothing_is_an_error_nor_read_as_the_engines_syntax(text: str) -> None:
    by_words(STORE, read(text, "x"), 5, FieldWeights())


@given(st.text())
def test_any_text_can_be_asked(text: str) -> None:
    by_words(STORE, read(text, "field"), 5, FieldWeights())


@given(st.text(alphabet='abc "-*:()^+{}\\AND OR NOT NEAR', max_size=60))
def test_any_mixture_of_syntax_can_be_asked(text: str) -> None:
    by_words(STORE, read(text, "a"), 5, FieldWeights())


@given(st.lists(st.sampled_from(["cache", "entry", "queue", "ttl"]), min_size=1))
def test_plain_questions_lose_no_word(asked: list[str]) -> None:
    assert words(read(" ".join(asked))) == set(analyzer().terms(" ".join(asked)))


@given(
    st.lists(
        st.sampled_from(
            ["sheaves", "A-B", "-banana", '-"two words"', "author:Serre", 'author:"J P"', "year:1955", "doi:10.1/x",
             '"flat maps"', "sta*", "-", '"', "a:b:c", "kind:note", "–x", "x -", "-1"]
        ),
        max_size=8,
    ),
    st.sampled_from([" ", "  ", "\t"]),
)  # fmt: skip
def test_a_question_comes_apart_into_what_it_asks_and_what_it_leaves_out(pieces: list[str], space: str) -> None:
    text = space.join(pieces)
    whole = read(text, "author", "year")
    asked = read(whole.phrasing.body, "author", "year")
    limits = read(whole.phrasing.limits, "author", "year")
    assert (limits.filter, limits.excluded) == (whole.filter, whole.excluded)
    assert (asked.clauses, asked.required, asked.prefixes) == (whole.clauses, whole.required, whole.prefixes)
    assert (asked.filter, asked.excluded) == (Filter(), ())
    assert (limits.clauses, limits.required, limits.prefixes) == ((), (), ())


@pytest.mark.parametrize(("typed", "stored"), [("1955", 1955), ("-3", -3), ("2.5", 2.5), ("1955", "1955")])
def test_a_facet_finds_a_number_as_it_finds_a_text(typed: str, stored: object) -> None:
    store = SqliteStore.open(":memory:")
    store.catalog.write(Placed("c", change("a", "sheaves", first_id=1, metadata={"year": stored})))
    store.catalog.write(Placed("c", change("b", "sheaves", first_id=2, metadata={"year": 7})))
    found = by_words(store, read(f"sheaves year:{typed}", "year"), 5, FieldWeights())
    assert found.ids.tolist() == [1]
