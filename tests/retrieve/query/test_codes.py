"""Numbers and codes meet in whatever spelling the index has them; what a question repeats counts more by words."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import rifflux
from rifflux import Document, Index
from rifflux.retrieve.query.reading import MOST_REPEATS, understand
from rifflux.text.analyzer import Analyzer
from tests.support.statements import statements

#: A question of a line runs ten; beside them are four spellings, eight codes, one ranking a number of repetitions.
MOST_STATEMENTS = 30

DOCUMENTS = [
    Document("rfc", "Key words for use in documents.", title="RFC 2119"),
    Document("joined", "Another standard.", title="ISO9001"),
    Document("part", "A part of a pump.", title="BX-9004-D"),
    Document("dotted", "A clause.", title="8.14.9"),
    Document("padded", "An incident.", title="Case 0042"),
    Document("chapter", "On ships.", title="Chapter 7"),
    Document("rule", "Tests of dust.", title="31 KFR § 58.133"),
    Document("near", "Tests of noise.", title="31 KFR § 58.134"),
    *(Document(f"other{number}", f"filler text of number {number} and chapter words") for number in range(100, 140)),
]


@pytest.fixture(scope="module")
def index() -> Iterator[Index]:
    with rifflux.open(":memory:", model="hash") as index:
        index.add(*DOCUMENTS)
        yield index


@pytest.mark.parametrize(
    ("question", "document"),
    [
        ("RFC2119", "rfc"),
        ("rfc-2119", "rfc"),
        ("ISO 9001", "joined"),
        ("BX9004-D", "part"),
        ("bx 9004 d", "part"),
        ("8 14 9", "dotted"),
        ("08.14.9", "dotted"),
        ("case 42", "padded"),
        ("chapter 07", "chapter"),
        ("ch. 7", "chapter"),
        ("tell me about chap. 7", "chapter"),
        ("31KFR58133", "rule"),
        ("what does 31kfr58133 say", "rule"),
    ],
)
@pytest.mark.parametrize("mode", ["hybrid", "lexical"])
def test_spellings_of_codes_meet(index: Index, question: str, document: str, mode: str) -> None:
    assert index.search(question, mode=mode, top_k=1)[0].key == document


def test_a_number_without_its_sign_that_may_be_two_is_searched_as_both() -> None:
    with rifflux.open(":memory:", model="hash") as index:
        for title in ("31 KFR § 58.133", "31 KFR § 581.33", "31 KFR § 60.1"):
            index.add(Document(title, "Tests of dust.", title=title))
        found = index.search("31KFR58133", mode="lexical")
        assert {hit.key for hit in found.hits[:2]} == {"31 KFR § 58.133", "31 KFR § 581.33"}
        assert "'31KFR58133' in other spellings: also searched 31 kfr 58.133, 31 kfr 581.33" in [
            note.text for note in found.trace.notes
        ]


def test_other_spellings_are_told(index: Index) -> None:
    notes = [note.text for note in index.search("RFC2119").trace.notes]
    assert "'RFC2119' in other spellings: also searched rfc 2119" in notes


def test_words_that_ask_are_not_searched_for(index: Index) -> None:
    asked = index.search("Could you tell me what chapter 7 is about?")
    assert asked[0].key == "chapter"
    assert asked[0].relevance == pytest.approx(index.search("chapter 7")[0].relevance, abs=0.01)
    assert index.search("tell me about RFC 2119").trace.effective_mode == "hybrid"


def test_a_hit_without_the_number_is_not_high(index: Index) -> None:
    hits = [hit for hit in index.search("RFC 2120", top_k=5) if hit.key == "rfc"]
    assert hits
    assert all(hit.quality != "high" for hit in hits)


def test_what_a_question_repeats_counts_more() -> None:
    words = [Document("river", "the river is wide"), Document("cliff", "the cliff is high")]
    with rifflux.open(":memory:", model="hash") as index:
        index.add(*words, *(Document(f"d{number}", f"nothing of it, {number}") for number in range(8)))
        plain = {hit.key: hit.score for hit in index.search("river cliff", mode="lexical")}
        again = {hit.key: hit.score for hit in index.search("river cliff cliff cliff", mode="lexical")}
        assert plain["river"] == pytest.approx(plain["cliff"])
        assert again["cliff"] == pytest.approx(plain["cliff"] * 9 * 3 / (8 + 3))
        assert again["river"] == pytest.approx(plain["river"])


def pages() -> dict[str, str]:
    numbers = range(3000)
    return {
        "words": " ".join(f"word{number % 700} pump" for number in numbers),
        "numbers": " ".join(map(str, numbers)),
        "words and numbers": " ".join(f"chapter {number}" for number in numbers),
        "unknown": " ".join(f"zorb{number} {number}" for number in numbers),
        "codes": " ".join(f"AB-{number}.{number % 9}" for number in numbers),
    }


@pytest.mark.parametrize("page", pages().values(), ids=pages())
def test_a_pasted_page_runs_few_statements(page: str) -> None:
    with statements() as run, rifflux.open(":memory:", model="hash") as index:
        index.add(*DOCUMENTS)
        run.clear()
        index.search(page, mode="lexical")
    assert len(run) <= MOST_STATEMENTS


def test_a_word_that_is_repeated_often_counts_no_more_than_one_repeated_some_times() -> None:
    some, often = (understand("pump " * times + "valve", Analyzer()).worths for times in (MOST_REPEATS, 3000))
    assert some == often
