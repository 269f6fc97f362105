"""What a question names to the letter comes first: theorems by name and number, works by their identifiers."""

from __future__ import annotations

from typing import Any

import pytest

import rifflux
from rifflux import Index

LEMMAS: list[dict[str, Any]] = [
    {"_id": "06Z4", "title": "Definition, Adequate functors", "text": "A functor on algebras.", "doi": "10.1000/xyz"},
    {"_id": "0BNT", "title": "Lemma, Marks", "text": "Words about a tag."},
    {"_id": "05UJ", "title": "Extension of functionals", "text": "The Hahn-Banach theorem extends functionals."},
    {
        "_id": "05UK",
        "title": "Spaces of Banach",
        "text": "A theorem of Banach, and one of Hahn.",
    },
    {"_id": "05UL", "title": "Other", "sections": [{"heading": "Lemma 10.3.2", "text": "Nothing in it."}]},
    *({"_id": f"x{n}", "title": f"Filler {n}", "text": f"A lemma, a tag and a theorem, number {n}."} for n in range(6)),
]


@pytest.fixture
def works(write: Any) -> Any:
    with rifflux.open(":memory:", profile="works", model="hash:64") as index:
        index.works.import_files(write("stacks.jsonl", *LEMMAS), license="CC0-1.0")
        yield index


@pytest.mark.parametrize("mode", ["lexical", "hybrid"])
@pytest.mark.parametrize(
    ("question", "key"),
    [
        ("tag 06Z4", "06Z4"),
        ("06Z4", "06Z4"),
        ("doi:10.1000/xyz", "06Z4"),
        ("Hahn–Banach theorem", "05UJ"),
        ("Hahn--Banach theorem", "05UJ"),
        ("Lemma 10.3.2", "05UL"),
    ],
)
def test_what_is_named_comes_first(works: Index, mode: str, question: str, key: str) -> None:
    assert works.search(question, mode=mode)[0].key == key


def test_a_name_is_told_and_lifts_what_holds_it(works: Index) -> None:
    results = works.search("Hahn-Banach theorem", fusion="linear")
    assert results.trace.understanding is not None
    assert "'Hahn-Banach theorem' is a named result or object" in results.trace.understanding.reasons
    assert results[0].because("anchors") is not None


def test_new_identifiers_are_searched_too(works: Index, write: Any) -> None:
    changed = [{**LEMMAS[0], "doi": "10.1000/abc"}, *LEMMAS[1:]]
    report = works.works.import_files(write("stacks.jsonl", *changed), license="CC0-1.0")
    assert (report.updated, report.unchanged) == (1, len(LEMMAS) - 1)
    assert works.search("10.1000/abc", mode="lexical")[0].key == "06Z4"
    assert not any(hit.key == "06Z4" for hit in works.search('"10.1000/xyz"', mode="lexical"))


THEOREMS: list[dict[str, Any]] = [
    {"_id": "hb", "title": "The Hahn-Banach theorem", "text": "A bounded functional on a subspace extends."},
    {
        "_id": "sep",
        "title": "Separation",
        "sections": [{"heading": "Theorem 2.1 (Banach–Steinhaus)", "text": "Bounded at each point."}],
    },
    {"_id": "use", "title": "Uses of the Hahn-Banach theorem", "text": "Of the Hahn-Banach theorem, many uses."},
    *({"_id": f"y{n}", "title": f"Filler {n}", "text": f"A lemma and a theorem, number {n}."} for n in range(6)),
]


@pytest.mark.parametrize(
    "question",
    [
        "the Hahn-Banach theorem",
        "State the Hahn-Banach theorem",
        "proof of the Hahn-Banach theorem",
        "How is the Hahn–Banach theorem proved?",
        "where can I find a proof of the Hahn-Banach theorem",
        "in which form does one need the Hahn-Banach theorem",
    ],
)
def test_the_source_of_a_named_result_is_exact_however_it_is_asked_for(write: Any, question: str) -> None:
    with rifflux.open(":memory:", profile="works", model="hash:64") as index:
        index.works.import_files(write("theorems.jsonl", *THEOREMS), license="CC0-1.0")
        found = index.retrieve(question)
        assert {item.key for item in found.evidence.items if item.exact} == {"hb"}


def test_a_passage_that_states_a_named_result_is_exact(write: Any) -> None:
    with rifflux.open(":memory:", profile="works", model="hash:64") as index:
        index.works.import_files(write("theorems.jsonl", *THEOREMS), license="CC0-1.0")
        found = index.retrieve("what is the proof of the Banach-Steinhaus theorem?")
        assert {item.key for item in found.evidence.items if item.exact} == {"sep"}
