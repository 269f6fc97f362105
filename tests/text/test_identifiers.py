"""Names that stand for one thing are told from ordinary words and numbers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rifflux.text.identifiers import labelled


def identifiers(text: str) -> list[str]:
    return [identifier for _, identifier in labelled(text)]


@pytest.mark.parametrize(
    "identifier",
    [
        *("D40", "CR10", "p53", "E0502", "GPT-4", "IL-6", "PII-2024-0042", "x86_64"),
        *("30 CFR 250.1725", "30 CFR 75.1725", "§ 250.17", "Lemma 10.3.2", "RFC 2119"),
        *("v1.2.3", "parseHTTPHeader", "snake_case_name", "__init__", "std::vec::Vec", "C++", "C#", "json.loads"),
    ],
)
@pytest.mark.parametrize("question", ["{}", "Tell me about {}", "what is {} for?"])
def test_identifiers_are_found_wherever_they_stand(identifier: str, question: str) -> None:
    assert identifiers(question.format(identifier)) == [identifier]


@pytest.mark.parametrize(
    "text",
    [
        "5th edition rules",
        "What are the safety requirements?",
        "in 2024 and the 1990s",
        "a 5-year plan with 3 steps",
        "1-2 days, 3.5 km, 10mg",
        "e.g. this, i.e. that",
        "state-of-the-art",
        "",
    ],
)
def test_ordinary_words_and_numbers_are_none(text: str) -> None:
    assert identifiers(text) == []


@given(st.text())
def test_any_text_can_be_looked_at(text: str) -> None:
    for found in identifiers(text):
        assert found in text


@pytest.mark.parametrize("text", ["tag 06Z4", "Tag 06Z4", "what is tag 06Z4?", "06Z4"])
def test_a_tag_is_found_with_and_without_its_label(text: str) -> None:
    assert identifiers(text) == ["06Z4"]


def test_a_tag_may_hold_no_letter() -> None:
    assert identifiers("tag 0012") == ["0012"]
    assert identifiers("0012") == []
