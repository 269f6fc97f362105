"""Documents are found by name: in any form, on every surface that may change a score, and never low."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

import rifflux
from rifflux import Document, Index
from rifflux.retrieve.query.naming import letters_of
from rifflux.session.profile import profile
from tests.support.exploring import examples

SUBJECTS = ("Pumps", "Valves in winter", "Storage of salt", "Noise", "The crane", "Emergency exits")
DOCUMENTS = [
    *(
        Document(
            f"{kind.lower()}-{number:02}",
            f"It is about {subject.lower()}. See also {kind} {number % 6 + 1}, and what the office wrote on pumps.",
            f"{kind} {number}: {subject}" if kind == "Rule" else f"{subject}, {kind.lower()}",
        )
        for kind in ("Rule", "Report", "Letter")
        for number, subject in enumerate(SUBJECTS, 1)
    ),
    *(Document(f"k{number}", f"The part fits pump {number}.", f"TQ-{number}-B") for number in range(4410, 4416)),
]
TITLES = {document.title: document.key for document in DOCUMENTS}


@pytest.fixture(scope="module")
def index() -> Iterator[Index]:
    with rifflux.open(":memory:", model="hash") as index:
        index.add(*DOCUMENTS)
        yield index


@pytest.fixture(scope="module")
def works() -> Iterator[Index]:
    with rifflux.open(":memory:", model="hash", profile=replace(profile("works"), mathematics="notation")) as index:
        index.add(*DOCUMENTS)
        yield index


FORMS: tuple[Callable[[str], str], ...] = (
    *(str, str.lower, str.upper, lambda text: f"{text}?", lambda text: f"“{text}”"),
    *(lambda text: text.replace(" ", "-"), lambda text: re.sub(r"[^\w\s]", " ", text)),
    lambda text: re.sub(r"(?<![\w.])(\d+)", r"0\1", text),
    lambda text: f"before lunch they were arguing about {text} and nobody knew more",
)


@examples(60)
@given(st.sampled_from(sorted(TITLES)), st.sampled_from(FORMS))
def test_a_title_in_any_form_finds_its_document_first_and_it_is_not_low(
    index: Index, title: str, form: Callable[[str], str]
) -> None:
    first = index.search(form(title)).hits[0]
    assert first.key == TITLES[title]
    assert first.quality != "low"


@pytest.mark.parametrize(
    ("question", "key"),
    [
        *((question, "rule-03") for question in ("Rule 3", "rule 03", "3 rule", "Rule3", "rule-3", "rule #3")),
        *((question, "k4412") for question in ("TQ-4412-B", "tq 4412 b", "TQ4412B", "the TQ-4412-B part")),
        *((question, "letter-02") for question in ("ValvesInWinterLetter", "valves in witner, letter")),
    ],
)
def test_codes_and_numbers_meet_however_they_are_written(index: Index, question: str, key: str) -> None:
    assert index.search(question).hits[0].key == key


def test_a_part_of_a_code_finds_its_family(index: Index) -> None:
    found = {hit.key for hit in index.search("TQ", top_k=6).hits}
    assert found == {f"k{number}" for number in range(4410, 4416)}


@examples(40)
@given(st.sampled_from(sorted(TITLES)), st.integers(2, 4))
def test_what_alone_begins_with_a_question_is_not_below_its_place_by_words(
    index: Index, title: str, width: int
) -> None:
    asked = " ".join(title.split()[:width])
    begun = [each for each in TITLES if letters_of(each).startswith(letters_of(asked))]
    by_words, found = ([hit.key for hit in index.search(asked, mode=mode).hits] for mode in ("lexical", "hybrid"))
    if len(begun) == 1:
        assert found.index(TITLES[title]) <= by_words.index(TITLES[title])


def test_why_tells_that_a_document_was_named(index: Index) -> None:
    verdict = index.why("rule 03", "rule-03")
    assert verdict.hit is not None
    assert any("identifier: title" in why.detail for why in verdict.hit.why)


def test_ranks_alone_decide_where_rrf_fuses(index: Index) -> None:
    hits = index.search("Rule 3", fusion="rrf", rerank="none").hits
    assert not any("identifier: title" in why.detail for hit in hits for why in hit.why)
    assert "rule-03" in [hit.key for hit in hits]


@pytest.mark.parametrize("question", ["Rule 3", "rule 03", "Storage of salt, report", "storage-of-salt-report"])
def test_works_are_named_too(works: Index, question: str) -> None:
    key = "rule-03" if "3" in question else "report-03"
    assert works.search(question).hits[0].key == key
