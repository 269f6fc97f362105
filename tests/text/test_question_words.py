"""Words that ask, apart from what is asked for."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rifflux.text.question_words import framed

SUBJECTS = ["Zorn's lemma", "D40", "error handling", "30 CFR 250.1725", "information retrieval", "the borrow checker"]


@pytest.mark.parametrize("subject", SUBJECTS)
@pytest.mark.parametrize(
    "wording",
    [
        "{}",
        "What is {}?",
        "Tell me about {}",
        "Explain {}",
        "explain {} please",
        "Where is {} described?",
        "details on {}",
        "{} meaning",
        "Could you find what we have on {}",
        "How does {} work?",
        "can you please give me some information regarding {}",
        "I'd like to know more about {}",
        "Hi, can you help me understand {}?",
        "what do the documents say about {}",
        "what does {} stand for",
        "Can you summarize the chapter on {}",
    ],
)
def test_the_subject_is_left_whatever_the_wording(wording: str, subject: str) -> None:
    assert framed(wording.format(subject), "english").subject.strip(" ?.").removeprefix("the ") == (
        subject.removeprefix("the ")
    )


@pytest.mark.parametrize(
    "question",
    [
        "find duplicates in list",
        "show databases",
        "how do I convert a string",
        "who wrote chapter 7",
        "How does it differ from a slice",
        "Tell me",
        "show me",
        "what is it",
        "",
        "?",
    ],
)
def test_commands_kinds_of_questions_and_questions_of_nothing_else_stay(question: str) -> None:
    assert framed(question, "english").subject == question


@pytest.mark.parametrize(
    ("language", "question", "subject"),
    [
        ("german", "Erkläre mir bitte den Vertrag", "Vertrag"),
        ("german", "Was ist ein Vertrag?", "Vertrag?"),
        ("french", "Parlez-moi de la relativité", "relativité"),
        ("french", "Expliquez la relativité", "relativité"),
        ("spanish", "Dime algo sobre mónadas", "mónadas"),
        ("italian", "Parlami di monadi", "monadi"),
        ("portuguese", "Fale sobre mônadas", "mônadas"),
        ("dutch", "Vertel iets over monaden", "monaden"),
        ("finnish", "Kerro minulle monadeista", "Kerro minulle monadeista"),
    ],
)
def test_in_the_languages_that_have_stop_words(language: str, question: str, subject: str) -> None:
    assert framed(question, language).subject == subject


@given(st.text(max_size=80), st.sampled_from(["english", "german", "french", "none"]))
def test_nothing_is_lost_and_a_subject_is_always_left(text: str, language: str) -> None:
    found = framed(text, language)
    assert "".join((found.before + found.subject + found.after).split()) == "".join(text.split())
    assert bool(found.subject.strip()) == bool(text.strip())


@pytest.mark.parametrize(
    "question",
    [r"$I + \mathfrak m_A$", r"$n\in \mathcal{O}_S^*$", r"$t : (S, \mathcal{O}_S) \to (S', \mathcal{O}_{S'})$"],
)
def test_letters_of_a_formula_ask_nothing(question: str) -> None:
    found = framed(question, "english")
    assert (found.before, found.subject, found.after) == ("", question, "")


def test_what_asks_for_a_formula_is_parted_from_it() -> None:
    found = framed(r"what is $\mathcal{O}_X$", "english")
    assert (found.before, found.subject) == ("what is", r"$\mathcal{O}_X$")
