"""Names in any form: which titles a question means."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rifflux.retrieve.query.naming import Atom, NameIndex, Titles, atoms, likeness, matching_width, of_word
from rifflux.text.analyzer import analyzer

TITLES = [
    *(f"Chapter {number} Of things" for number in range(1, 30)),
    *(f"30 CFR § 250.{number} Requests" for number in range(1700, 1740)),
    *("Find the Path", "Path", "Acid Arrow", "Hahn v. Banach", "PII-2024-0042", "Functions of many variables"),
]


def of(text: str) -> list[Atom]:
    return atoms(text, partial(of_word, analyzer().of_word))


def meant(
    question: str, titles: Sequence[str], text: str = "", spellings: Mapping[str, Sequence[str]] | None = None
) -> list[str]:
    names = NameIndex(partial(of_word, analyzer().of_word))
    known = Titles(names, [*dict.fromkeys(map(names.number, titles))], {}, spellings=spellings or {})
    return [names.texts[number] for number in known.named(of(question), text or question)[0]]


def named(question: str, titles: Sequence[str] = TITLES) -> list[str]:
    return sorted(meant(question, titles))


@pytest.mark.parametrize(
    ("question", "title"),
    [
        *(
            (question, "Chapter 7 Of things")
            for question in ("Chapter 7", "chapter 7", "chapter-07", "Chapter7", "7 chapter", "ch. 7", "CHAPTER 007")
        ),
        *(
            (question, "30 CFR § 250.1725 Requests")
            for question in ("30 CFR 250.1725", "30 C.F.R. § 250.1725", "30cfr250.1725", "30 cfr 250 1725")
        ),
        ("250.1725 30 CFR", "30 CFR § 250.1725 Requests"),
        ("30 CFR section 250.1725", "30 CFR § 250.1725 Requests"),
        ("path, find the", "Find the Path"),
        ("find-the-path", "Find the Path"),
        ("banach v hahn", "Hahn v. Banach"),
        ("PII 2024 42", "PII-2024-0042"),
        ("pii20240042", ""),
        ("my colleague mentioned Find the Path during the meeting on Tuesday", "Find the Path"),
        ("does anyone remember Chapter 7 from last year's review", "Chapter 7 Of things"),
        ("according to 30 CFR 250.1725 is this still allowed", "30 CFR § 250.1725 Requests"),
    ],
)
def test_a_title_is_meant_in_any_form(question: str, title: str) -> None:
    assert named(question) == ([title] if title else [])


@pytest.mark.parametrize(
    "question",
    ["chapter 77", "30 CFR 250.1999", "things", "functions", "requests for many things", "40 CFR", "seven chapters"],
)
def test_what_no_title_says_alone_names_nothing(question: str) -> None:
    assert named(question) == []


def test_a_number_is_nothing_without_its_word() -> None:
    assert named("chapter 7", ["7", "Section 7", "Chapter 8"]) == []
    assert named("7", [f"Chapter {number}" for number in range(5, 15)]) == ["Chapter 7"]


def test_a_number_that_goes_on_is_another() -> None:
    titles = ["Lemma 10.3", "Lemma 10.4", "Lemma 10.5", "Lemma 11"]
    assert named("see Lemma 10.3.2 for the proof of it", titles) == []
    assert named("Lemma 10.3.2", titles) == []
    assert named("see Lemma 10.3 for the proof of it", titles) == ["Lemma 10.3"]


def test_a_beginning_with_a_number_counts_where_titles_are_numbered_so() -> None:
    claims = ["Interleukin-2 and inflammation induce programs", "Cells need interleukin-2", "Of mice"]
    assert named("stem cells with interleukin-2 and age", claims) == []


@given(st.sampled_from(TITLES), st.randoms(use_true_random=False))
def test_a_title_is_like_itself_in_any_order_of_its_words(title: str, chance: random.Random) -> None:
    found = of(title)
    shuffled = [*found]
    chance.shuffle(shuffled)
    assert likeness(shuffled, found, lambda _: 1.0) == pytest.approx((1.0, 1.0))
    assert likeness([], found, lambda _: 1.0) == (0.0, 0.0)


@given(st.text(max_size=60), st.text(max_size=60))
def test_any_two_texts_are_compared(one: str, other: str) -> None:
    like, held = likeness(of(one), of(other), lambda _: 1.0)
    assert 0 <= like <= held <= 1
    assert 0 <= matching_width(of(other), of(one)) <= len(of(other))


KINDS = [
    *(f"{kind}, Crystals in {what}" for kind in ("Lemma", "Remark", "Definition") for what in ("modules", "sheaves")),
    *("An Introduction to Crystals", "The functor of crystals", "Functor of crystals", "Crystals", "Overview"),
    *("Crystal growth", "Crystal growth in salt", "Storm Giant", "Storm Giant Lair", "Giant Storm Shield"),
]


@pytest.mark.parametrize(
    ("question", "title"),
    [
        ("Remark, Crystals in modules", "Remark, Crystals in modules"),
        ("remark-crystals-in-modules", "Remark, Crystals in modules"),
        ("crystals in modules, remark", "Remark, Crystals in modules"),
        ("before lunch they were arguing about Remark, Crystals in modules", "Remark, Crystals in modules"),
        ("functor of crystals", "Functor of crystals"),
        ("crystals functor of", "Functor of crystals"),
        ("the functor of crystals", "The functor of crystals"),
        ("StormGiant", "Storm Giant"),
        ("storm giants", "Storm Giant"),
        ("my colleague mentioned Storm Giant on Tuesday", "Storm Giant"),
        ("my colleague mentioned an Overview on Tuesday", "Overview"),
        ("my colleague mentioned the overview on Tuesday", ""),
    ],
)
def test_of_titles_that_agree_the_one_is_meant_that_was_written(question: str, title: str) -> None:
    assert named(question, KINDS) == ([title] if title else [])


def test_words_that_ask_may_belong_to_a_title() -> None:
    assert meant("crystals", KINDS, "An introduction to crystals") == ["An Introduction to Crystals"]


def test_a_title_of_words_that_say_nothing_is_meant_to_the_letter() -> None:
    titles = ["The Who", "Who", "The Band"]
    assert meant("the who", titles, "the who?") == ["The Who"]


def test_two_names_in_one_question_are_both_meant() -> None:
    question = "compare storm giant lair and crystal growth in salt"
    assert named(question, KINDS) == ["Crystal growth in salt", "Storm Giant Lair"]


def test_the_longest_of_numbered_names_in_a_sentence_is_meant() -> None:
    subjects = ("", ": Cells of mice")
    titles = [f"Volume {one}, Article {two}{subjects[two % 2]}" for one in range(1, 13) for two in range(1, 21)]
    question = "before lunch they were arguing about Volume 9, Article 17 and nobody knew more"
    assert named(question, titles) == ["Volume 9, Article 17: Cells of mice"]


def test_a_word_that_occurs_nowhere_is_read_as_titles_spell_it() -> None:
    found = meant("storm gaint lair", KINDS, spellings={"gaint": ["gait", "giant"]})
    assert found == ["Storm Giant Lair"]


FORMS = (
    *(str.lower, str.upper, str.title, lambda text: text.replace(" ", "-"), lambda text: text.replace(" ", "_")),
    *(lambda text: f"{text}?", lambda text: f'"{text}"', lambda text: f"  {text} ..."),
    lambda text: re.sub(r"(?<![\w.])\d", r"0\g<0>", text),
    lambda text: re.sub(r"[^\w\s]", " ", text),
    lambda text: " ".join([*text.split()[1:], text.split()[0]]) if not re.search(r"\d", text) else text,
)


@given(st.sampled_from([*TITLES, *KINDS]), st.lists(st.sampled_from(FORMS), max_size=4))
def test_case_order_marks_hyphens_and_zeros_name_the_same(title: str, forms: list[Callable[[str], str]]) -> None:
    question = title
    for form in forms:
        question = form(question)
    assert title in named(question, [*TITLES, *KINDS])


@given(st.sampled_from([*TITLES, *KINDS]))
def test_a_title_names_itself_before_all_others(title: str) -> None:
    assert named(title, [*TITLES, *KINDS]) == [title]


@given(st.sampled_from([*TITLES, *KINDS]), st.sampled_from(FORMS), st.randoms())
def test_names_met_before_change_nothing(title: str, form: Callable[[str], str], chance: random.Random) -> None:
    every = [*TITLES, *KINDS]
    candidates = [title, *chance.sample(every, 20)]
    question = form(f"what is {title}")
    alone = meant(question, candidates)
    names = NameIndex(partial(of_word, analyzer().of_word))
    for other in chance.sample(every, len(every)):
        names.number(other)
    known = Titles(names, [*dict.fromkeys(map(names.number, candidates))], {})
    assert [names.texts[number] for number in known.named(of(question), question)[0]] == alone
