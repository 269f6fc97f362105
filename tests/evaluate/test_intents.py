"""Labelled questions tell how often retrieval takes a question for what it asks."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import rifflux
from rifflux import Index
from rifflux.errors import InvalidArgument, NotFound
from rifflux.evaluate import LabelledQuestion, TakenFor, intents_of, read_labelled
from rifflux.evaluate.intents import summary

INTENTS = ("generic", "keywords", "lookup", "survey", "compare", "prereq", "related")
QUESTIONS = (
    "survey\tan overview of sorting networks\n"
    '{"intent": "compare", "text": "quicksort versus heapsort"}\n'
    "\n"
    "lookup\tgarbage collection\n"
)


@pytest.fixture
def index() -> Iterator[Index]:
    with rifflux.open(":memory:", profile="works", model="hash:32") as index:
        yield index


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "questions.tsv"
    path.write_text(QUESTIONS, "utf-8")
    return path


def test_a_line_is_an_intent_and_a_question_or_json(file: Path) -> None:
    assert read_labelled(file, INTENTS) == [
        LabelledQuestion("an overview of sorting networks", "survey"),
        LabelledQuestion("quicksort versus heapsort", "compare"),
        LabelledQuestion("garbage collection", "lookup"),
    ]


def test_questions_are_taken_for_what_a_retrieval_takes_them_for(index: Index, file: Path) -> None:
    found = intents_of(index, read_labelled(file, [*index.retrieve.intents]))
    for each in found:
        asked = index.retrieve(each.question.text).decision
        assert (each.intent, each.reason) == (asked.intent.name, asked.reason)
    assert [each.right for each in found] == [True, True, False]


def test_a_summary_counts_by_intent_and_tells_the_mistakes(index: Index, file: Path) -> None:
    told = summary(intents_of(index, read_labelled(file, INTENTS)))
    assert (told["questions"], told["right"]) == (3, 2)
    assert told["intents"] == {
        "survey": {"questions": 1, "right": 1},
        "compare": {"questions": 1, "right": 1},
        "lookup": {"questions": 1, "right": 0},
    }
    (wrong,) = told["wrong"]
    assert (wrong["query"], wrong["intent"]) == ("garbage collection", "lookup")
    assert wrong["taken_for"] in ("keywords", "generic")
    assert wrong["reason"]


def test_bare_words_may_be_labelled_generic() -> None:
    question = LabelledQuestion("garbage collection", "generic")
    assert TakenFor(question, "keywords", "").right
    assert TakenFor(question, "generic", "").right
    assert not TakenFor(question, "survey", "").right
    assert not TakenFor(LabelledQuestion("garbage collection", "keywords"), "generic", "").right


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "contains no question"),
        ("what is a sieve", "questions.tsv:1: write the intent, a tab, and the question"),
        ("lookup\t \n", "questions.tsv:1: write the intent, a tab, and the question"),
        ("\nwhim\twhat is a sieve", "questions.tsv:2: unknown intent 'whim'; choose from generic, keywords"),
        ('{"intent": "lookup"}', 'not an object with "intent" and "text"'),
        ('{"intent": ', 'not an object with "intent" and "text"'),
    ],
)
def test_a_wrong_line_is_told_with_its_place(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "questions.tsv"
    path.write_text(text, "utf-8")
    with pytest.raises(InvalidArgument) as caught:
        read_labelled(path, INTENTS)
    assert message in str(caught.value)


def test_a_file_that_is_no_text_is_told(tmp_path: Path) -> None:
    path = tmp_path / "questions.tsv"
    path.write_bytes(b"\xff\xfe\x00lookup")
    with pytest.raises(InvalidArgument, match="not UTF-8"):
        read_labelled(path, INTENTS)


def test_a_missing_file_is_told(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="no file"):
        read_labelled(tmp_path / "none.tsv", INTENTS)
