"""In an index of works, what a question names comes first, however either writes it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import rifflux
from rifflux import Document, Index
from rifflux.types import Identifier

WORKS = [
    Document("hahn", "Every functional extends.", title="The Hahn–Banach theorem"),
    Document("banach", "Hahn met Banach. The Banach theorem, hahn-banach, a theorem of Hahn.", title="Banach and Hahn"),
    Document("star", "A $C^*$-algebra has an approximate unit.", title="On a C*-algebra"),
    Document("decoy", "c algebra star algebra unit approximate", title="C algebra, approximate unit of an algebra"),
    Document("lemma", "See Lemma~10.3.2 for the proof.", title="A proof"),
    Document("other", "Lemma 10.3 and Lemma 10.3.21 hold. Lemma 10.3.21.", title="Lemma 10.3"),
    Document("06Z4", "A functor.", title="Adequate functors", identifiers=(Identifier("stacks", "06Z4"),)),
    Document(
        "machine", "A tag machine reads tag 06Z4, and a tag; tag 06Z4 is a tag.", title="Tag 06Z4 and tag systems"
    ),
]


@pytest.fixture(scope="module")
def works() -> Iterator[Index]:
    with rifflux.open(":memory:", model="hash", profile="works") as index:
        index.add(*WORKS)
        yield index


@pytest.mark.parametrize(
    ("question", "best"),
    [
        *((question, "06Z4") for question in ("06Z4", "tag 06Z4", "Tag 06Z4", "what is tag 06Z4?")),
        *((question, "hahn") for question in ("Hahn–Banach theorem", "hahn-banach theorem", "Hahn-Banach Theorem")),
        *((question, "lemma") for question in ("Lemma 10.3.2", "Lemma~10.3.2", "Lem. 10.3.2")),
        *((question, "star") for question in ("C*-algebra", "c* algebras", "C*–algebra", "C star algebra")),
    ],
)
def test_what_is_named_comes_first(works: Index, question: str, best: str) -> None:
    assert works.search(question)[0].key == best
    assert works.retrieve(question).reranked[0].key == best


def test_an_identifier_says_that_it_lifted(works: Index) -> None:
    lifted = works.search("Tag 06Z4")[0].because("anchors")
    assert lifted is not None
    assert "identifier: 06z4" in lifted.detail
    assert works.classify("Tag 06Z4").kind == "identifier"


def test_a_name_without_a_hyphen_is_the_same_name(works: Index) -> None:
    assert works.classify("Hahn–Banach theorem").identifiers == ("Hahn Banach theorem",)


def test_terms_of_another_analyzer_are_told_and_made_anew() -> None:
    with rifflux.open(":memory:", model="hash", profile="works") as index:
        index.add(WORKS[0])
        index.admin.store.records.set("analysis", "1")
        (told,) = index.search("functional").trace.degraded
        assert told.code == "analyzer.outdated"
        assert told in index.retrieve("functional").trace.degraded
        assert told in index.status().degraded
        assert any("1 chunks were made by another version" in done for done in index.admin.repair().done)
        assert (index.search("functional").trace.degraded, index.admin.check()) == ((), [])
        assert index.search("functional")
