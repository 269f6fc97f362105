"""Made-up collections, asked for what a title or key begins with, in forms made mechanically: naming harms none."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

import rifflux
from rifflux import Document, Index
from rifflux.retrieve.query.naming import letters_of
from tests.support.exploring import examples

SYLLABLES = ("ba", "ke", "lo", "mi", "nur", "pa", "ri", "sto", "tel", "vi", "wan", "zo")
KINDS = ("Rule", "Chapter", "Form", "Order")
#: So many documents, subjects that their titles and texts share, and collections.
DOCUMENTS, SUBJECTS, SEEDS = 24, 9, 3

FORMS: tuple[Callable[[str], str], ...] = (
    *(str, str.lower, str.upper, lambda text: f"{text}?", lambda text: f"“{text}”"),
    *(lambda text: text.replace(" ", "-"), lambda text: text.replace(" ", "_")),
    lambda text: re.sub(r"[^\w\s]", " ", text),
    lambda text: re.sub(r"(?<![\w.])(\d+)", r"0\1", text),
)


def _word(choice: random.Random) -> str:
    return "".join(choice.choices(SYLLABLES, k=choice.randint(2, 3)))


def _title(choice: random.Random, subjects: Sequence[str], number: int) -> str:
    subject = " ".join(choice.sample(subjects, choice.randint(1, 3)))
    forms = (f"{choice.choice(KINDS)} {number}: {subject}", f"{subject}, {choice.choice(KINDS).lower()}", subject)
    return choice.choice((*forms, f"{choice.choice('QTX')}{choice.choice('KLM')}-{number}-{choice.choice('AB')}"))


@cache
def _collection(seed: int) -> tuple[Index, dict[str, str]]:
    """Return an index of a seed's documents, and the title of each key; texts speak of each other's subjects."""
    choice = random.Random(seed)
    subjects = [_word(choice).capitalize() for _ in range(SUBJECTS)]
    titles = {
        f"{_word(choice)}/{_word(choice)}-{number}": _title(choice, subjects, number)
        for number in range(1, DOCUMENTS + 1)
    }
    index = rifflux.open(":memory:", model="hash")
    texts = (" ".join(choice.choices([*subjects, *KINDS, *titles.values()], k=12)) for _ in titles)
    index.add(*(Document(key, text, title) for (key, title), text in zip(titles.items(), texts, strict=True)))
    return index, titles


@examples(60)
@given(
    st.integers(0, SEEDS - 1), st.integers(0, DOCUMENTS - 1), st.booleans(), st.integers(1, 5), st.sampled_from(FORMS)
)
def test_naming_puts_nothing_that_begins_with_a_question_below_its_place_by_words(
    seed: int, place: int, by_key: bool, width: int, form: Callable[[str], str]
) -> None:
    index, titles = _collection(seed)
    key, title = [*titles.items()][place]
    beginning = " ".join((key if by_key else title).split()[:width])
    if not letters_of(beginning):
        return
    asked = form(beginning)
    begun = {
        each
        for each, other in titles.items()
        if any(f"{letters_of(name)} ".startswith(f"{letters_of(beginning)} ") for name in (each, other))
    }
    by_words, unnamed, found = (
        [hit.key for hit in each.search(asked, top_k=DOCUMENTS, mode=mode).hits]
        for each, mode in (
            (index, "lexical"),
            (index.using(index.profile.without("anchors")), "hybrid"),
            (index, "hybrid"),
        )
    )
    # Of several that begin so, each is meant: their own order is not of names. Meaning may lower one, but no name does.
    allowed = max(_before(key, ranking, begun) for ranking in (by_words, unnamed) if key in ranking)
    assert key not in by_words or _before(key, found, begun) <= allowed, asked


def _before(key: str, found: Sequence[str], begun: set[str]) -> int:
    """Return how many documents stand before one that do not begin as it does."""
    return sum(other not in begun for other in found[: found.index(key)])


@pytest.fixture(scope="module", autouse=True)
def _closed() -> object:
    """Close the indexes at the end."""
    yield
    for seed in range(SEEDS):
        _collection(seed)[0].close()
