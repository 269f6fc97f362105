"""Questions are classified by what they name, with reasons; what they name lifts what holds it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import rifflux
from rifflux import Document, Index


@pytest.fixture
def index() -> Iterator[Index]:
    with rifflux.open(":memory:", model="hash") as index:
        region = [
            Document(f"r{n}", f"Region D{n} holds a chest and a door.", title=f"Region D{n}") for n in range(1, 60)
        ]
        index.add(
            *region,
            Document("notes", "In region D40 we met nobody. D40 is north of D41. D40 again.", title="Notes"),
            Document("aboleth", "A huge eel that enslaves minds.", title="Aboleth"),
            Document("eel", "Unlike an aboleth, the common eel is harmless. Aboleth lore is old.", title="Eels"),
            Document("safety", "The safety requirements of the mine: helmets, lamps, exits.", title="Safety"),
        )
        yield index


@pytest.mark.parametrize(
    ("question", "kind", "specificity"),
    [
        ("D40", "identifier", 1.0),
        ("Tell me about D40", "identifier", 1.0),
        ("Tell me about Room D40", "mixed", 0.5),
        ("What are the safety requirements?", "conceptual", 0.0),
        ("Aboleth", "identifier", 1.0),
        ('"a chest and a door"', "identifier", 1.0),
    ],
)
def test_the_sort_of_question_and_its_reasons(index: Index, question: str, kind: str, specificity: float) -> None:
    found = index.classify(question)
    assert (found.kind, found.specificity) == (kind, specificity)
    assert found.reasons


@pytest.mark.parametrize(
    ("question", "best"), [("D40", "r40"), ("Tell me about D40", "r40"), ("d4", "r4"), ("Aboleth", "aboleth")]
)
def test_what_is_named_comes_first(index: Index, question: str, best: str) -> None:
    assert index.search(question)[0].key == best


def test_a_short_code_is_not_found_in_a_longer_one(index: Index) -> None:
    lifted = [hit for hit in index.search("Region D4", top_k=50) if hit.because("anchors")]
    assert {hit.key for hit in lifted if "d4" in hit.because("anchors").detail} == {"r4"}


def test_a_question_that_is_one_identifier_skips_the_embedder(index: Index) -> None:
    trace = index.search("D40").trace
    assert "embed" not in trace.milliseconds
    assert trace.effective_mode == "lexical"
    assert any("identifier" in note.text for note in trace.notes)
    assert index.search("Tell me about region D40").trace.effective_mode == "hybrid"


@pytest.mark.parametrize(
    "question", ["Aboleth", "aboleth", "D-40", "D 40", "d40", "30CFR75.17", "30 cfr 75.17", "pii 2024 0042"]
)
def test_what_is_classified_as_one_identifier_skips_the_embedder(index: Index, question: str) -> None:
    """Names of one word and other spellings of codes too: one classification decides both."""
    index.add(
        Document("rule", "30 CFR 75.17: operators shall inspect the lamps.", title="§ 75.17"),
        Document("ticket", "PII-2024-0042 was closed.", title="Ticket"),
        *(Document(f"t{n}", f"PII-2024-00{n} is open.", title="Ticket") for n in range(50, 90)),
    )
    understood, found = index.classify(question), index.search(question)
    assert (understood.kind, understood.specificity) == ("identifier", 1.0)
    assert "embed" not in found.trace.milliseconds
    assert found[0].key in ("aboleth", "r40", "rule", "ticket")


@pytest.mark.parametrize("question", ["a chest", "Tell me about D40", "door 40", "helmets and lamps"])
def test_every_other_question_is_embedded(index: Index, question: str) -> None:
    assert "embed" in index.search(question).trace.milliseconds


def test_a_rare_word_that_nothing_is_called_by_is_searched_by_meaning_too(index: Index) -> None:
    index.add(
        Document("soup", "The ladle hangs by the stove.", title="Kitchen"),
        *(Document(f"w{number}", f"Wall {number} of the keep.", title=f"Wall {number}") for number in range(60)),
    )
    assert index.classify("ladle").names == ("ladle",)
    assert index.search("ladle").trace.effective_mode == "hybrid"


def test_an_identifier_that_occurs_nowhere_is_searched_by_meaning_too(index: Index) -> None:
    assert index.search("Q99").trace.effective_mode == "hybrid"


def test_anchors_multiply_the_score_and_say_so(index: Index) -> None:
    hit = index.search("Tell me about region D40", rerank="none")[0]
    fused, lifted = hit.because("adaptive"), hit.because("anchors")
    assert fused is not None
    assert lifted is not None
    others, named = 1.0, 1.0
    for name, factor in lifted.detail.items():
        if name.startswith("identifier"):
            named = max(named, factor)
        else:
            others *= factor
    assert lifted.score == pytest.approx((fused.score or 0) * min(others, 4.0) * named)


def test_reciprocal_ranks_are_left_as_they_are(index: Index) -> None:
    for hit in index.search("Tell me about region D40", fusion="rrf"):
        assert hit.because("anchors") is None
