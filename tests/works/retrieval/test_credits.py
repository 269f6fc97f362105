"""Who, where and when: authors, venues and years that questions and filters name, in any form."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import rifflux
from rifflux.errors import InvalidArgument
from rifflux.index import Index
from rifflux.types import Filter, Hit, Scope
from rifflux.works import Work

CACM, ACTA = "Communications of the ACM", "Acta Mathematica"


def work(title: str, *authors: str, year: int = 1970, venue: str = "", text: str = "") -> Work:
    return Work(title, text, authors, year, venue, license="CC0-1.0")


LIBRARY = (
    work("Go To Statement Considered Harmful", "E. W. Dijkstra", year=1968, venue=CACM),
    work("Guarded Commands and Nondeterminacy", "Edsger W. Dijkstra", year=1975, venue=CACM),
    work("Self-stabilizing Systems", "E. Dijkstra", year=1974, venue=CACM),
    work("On semaphores", "P. Hansen", text="The semaphores of Dijkstra are compared. Dijkstra's algorithm is used."),
    work("Shortest paths", "L. Ford", text="We improve on Dijkstra's algorithm; Dijkstra had proposed it."),
    work("Fields of force", "A. Maxwell", text="A field is given at every point. Sorting by field is fast."),
    work("Sorting records by field", "B. Baker", text="Each field of a record, sorted by field."),
    work("Random field models", "J. Field", text="A Markov random field."),
    work("Crop rotation", "C. Farmer", text="What grows in a field, and a field that rests."),
    work("Soil", "C. Farmer", text="The soil of a field; fields are ploughed, and a field lies fallow."),
    work("Finite fields", "E. Galois", text="A finite field, a field of characteristic p, and the prime field."),
    work("Forms", "B. Baker", text="Each field of a form has a label, and a field may be empty."),
    work("Gray code counters", "C. Farmer", text="The Gray code and other codes; a gray code counts."),
    work("Virtual memory", "J. Gray", year=1971, venue=CACM),
    work("Zur Theorie der Gruppen", "Bartel L. van der Waerden", year=1948, venue=ACTA),
    work("Collisions of hash functions", "Wang Xiaoyun", "Tim Berners-Lee", year=2005),
    work("Über formal unentscheidbare Sätze", "Kurt Gödel", year=1931, venue=ACTA),
    work("Women in computing", "R. Rich", text="Science and society."),
    work("A structure of the double helix", "J. Watson", venue="Nature", year=1953),
)
HIS = {work.title for work in LIBRARY if "Dijkstra" in work.authors[0]}


@pytest.fixture(scope="module")
def index() -> Iterator[Index]:
    with rifflux.open(":memory:", model="hash:64", profile="works") as index:
        index.works.add(*LIBRARY)
        yield index


def titles(hits: object) -> list[str]:
    assert isinstance(hits, tuple | list)
    return [hit.title for hit in hits if isinstance(hit, Hit)]


@pytest.mark.parametrize(
    "question",
    [
        "Dijkstra", "dijkstra", "E. W. Dijkstra", "Dijkstra, E. W.", "E.W. Dijkstra", "Edsger Dijkstra", "EW Dijkstra",
        "papers by Dijkstra", "papers by dijkstra", "articles written by E. Dijkstra", "What did Dijkstra publish?",
        "Dijkstra's papers", "list everything Dijkstra wrote", "publications of Dijkstra",
    ],
)  # fmt: skip
def test_an_authors_works_are_found_and_those_about_them_are_not(index: Index, question: str) -> None:
    assert set(titles(index.retrieve(question, top_k=3).reranked)) == HIS
    assert set(titles(index.search(question, top_k=3).hits)) == HIS
    assert set(titles(index.search(question, top_k=3, mode="lexical").hits)) == HIS


@pytest.mark.parametrize(
    ("question", "title"),
    [
        ("van der Waerden", "Zur Theorie der Gruppen"),
        ("papers by B. L. van der Waerden", "Zur Theorie der Gruppen"),
        ("Xiaoyun Wang", "Collisions of hash functions"),
        ("works by Wang", "Collisions of hash functions"),
        ("Berners Lee", "Collisions of hash functions"),
        ("papers by Goedel", "Über formal unentscheidbare Sätze"),
        ("Godel 1931", "Über formal unentscheidbare Sätze"),
        ("Dijkstra 1974", "Self-stabilizing Systems"),
        ("Dijkstra (1968)", "Go To Statement Considered Harmful"),
        ("Dijkstra's paper on guarded commands", "Guarded Commands and Nondeterminacy"),
        ("systems by Dijkstra", "Self-stabilizing Systems"),
        ("theorie in Acta Mathematica", "Zur Theorie der Gruppen"),
        ("virtual memory in CACM", "Virtual memory"),
        ("papers by Gray", "Virtual memory"),
        ("papers by J. Field", "Random field models"),
    ],
)
def test_names_in_other_forms_years_and_venues(index: Index, question: str, title: str) -> None:
    assert titles(index.retrieve(question).reranked)[0] == title
    assert titles(index.search(question).hits)[0] == title


@pytest.mark.parametrize(
    "question",
    ["sorting by field", "Sorting By Field", "field", "gray code", "Gray codes", "Dijkstra's algorithm",
     "Women in Science", "a field of force", '"Dijkstra"', "compilers and field"],
)  # fmt: skip
def test_words_of_a_subject_are_no_names(index: Index, question: str) -> None:
    with_names = index.retrieve(question)
    assert not [note for note in with_names.trace.notes if note.text.startswith(("by: ", "in: "))]


def test_what_was_recognized_is_told_with_the_evidence_for_it(index: Index) -> None:
    found = index.retrieve("papers by Dijkstra")
    (note,) = [note for note in found.trace.notes if note.text.startswith("by: Dijkstra")]
    assert "E. W. Dijkstra" in note.text
    assert "'by'" in note.text
    first = found.reranked[0]
    addends = first.because("works").detail
    assert addends["by: Dijkstra"] == 1
    assert first.relevance == 1
    searched = index.search("systems by Dijkstra").hits[0]
    assert searched.because("credits").detail["by: Dijkstra"] > 1


def test_why_tells_that_a_work_about_somebody_is_not_by_them(index: Index) -> None:
    verdict = index.why("papers by Dijkstra", "Shortest paths")
    assert "filter" in str(verdict)
    assert "authors" in str(verdict)


@pytest.mark.parametrize("author", ["Dijkstra", "Dijkstra, E. W.", "edsger dijkstra", "E. W. Dijkstra"])
def test_filters_take_authors_in_any_spelling(index: Index, author: str) -> None:
    expected = HIS
    assert set(titles(index.retrieve("systems", filter={"authors": author}).reranked)) == expected
    assert set(titles(index.search("systems", filter=Filter().of_works(author)).hits)) == expected
    assert set(titles(index.search("systems", filter={"metadata": {"authors": author}}).hits)) == expected
    assert {each.title for each in index.works.all(authors=author)} == expected


def test_filters_take_venues_and_years(index: Index) -> None:
    assert set(titles(index.retrieve("theory", filter={"venues": "Acta Math."}).reranked)) == {
        "Zur Theorie der Gruppen",
        "Über formal unentscheidbare Sätze",
    }
    early = index.retrieve("systems", filter={"venues": "cacm", "year": "1968-1971"})
    assert set(titles(early.reranked)) == {"Go To Statement Considered Harmful", "Virtual memory"}
    assert titles(index.retrieve("systems", filter={"authors": "Dijkstra", "year": 1974}).reranked) == [
        "Self-stabilizing Systems"
    ]
    assert titles(index.search("venue:CACM author:Gray memory").hits) == ["Virtual memory"]
    assert {each.title for each in index.works.all(venues="CACM", year="-1970")} == {
        "Go To Statement Considered Harmful"
    }


@pytest.mark.parametrize("year", ["then", "19", "1975-1970", True, "-"])
def test_years_that_cannot_be_are_refused(index: Index, year: str) -> None:
    with pytest.raises(InvalidArgument, match="year"):
        index.retrieve("systems", filter={"year": year})


def test_an_unknown_author_is_told_as_that(index: Index) -> None:
    found = index.retrieve("systems", filter={"authors": "Nobody"})
    assert not found.reranked
    assert any("Nobody" in note.text for note in found.trace.notes)


def test_several_authors_are_each_meant(index: Index) -> None:
    found = titles(index.retrieve("papers by Gray and Dijkstra", top_k=4).reranked)
    assert set(found) == HIS | {"Virtual memory"}


def test_identifiers_of_authors_lead_to_their_works(index: Index) -> None:
    with rifflux.open(":memory:", model="hash:64") as other:
        ids = ("orcid:0000-0002-1825-0097", "")
        other.works.add(Work("Mine", "A text.", ("A. Smith", "B. Jones"), author_ids=ids, license="CC0-1.0"))
        other.works.add(Work("Another's", "A text.", ("A. Smith",), license="CC0-1.0", year=1990))
        for written in ("0000-0002-1825-0097", "orcid:0000-0002-1825-0097", "https://orcid.org/0000-0002-1825-0097"):
            assert "Mine" in titles(other.retrieve("a text", filter={"authors": written}).reranked)


def test_works_whose_facts_are_not_told_are_not_found_by_their_authors() -> None:
    closed = Work("Closed things", "Text of closed things.", ("Ida Quillfeather",), 1871, "Annals of Vexation")
    with rifflux.open(":memory:", model="hash:64", profile="works") as index:
        index.works.add(closed, work("Open things", "Ann Able", text="Text of open things."))
        assert titles(index.retrieve("papers by Quillfeather").reranked) == ["Closed things"]
        index.policies.set("facts", "nobody")
        found = index.retrieve("papers by Quillfeather")
        assert not [note for note in found.trace.notes if "Quillfeather" in note.text and note.text.startswith("by:")]
        for author in ("Quillfeather", "Ida Quillfeather"):
            assert titles(index.retrieve("things", filter={"authors": author}).reranked) == []
        assert titles(index.retrieve("things", filter={"venues": "Annals of Vexation"}).reranked) == []
        assert titles(index.search("things", filter={"metadata": {"authors": "Ida Quillfeather"}}).hits) == []
        assert not index.works.all(authors="Quillfeather")


def test_of_others_works_nobody_learns_authors(index: Index) -> None:
    with rifflux.open(":memory:", model="hash:64", profile="works") as shared:
        shared.scoped(Scope("ann")).works.add(work("Hers", "Zoe Zimmer", text="A text of hers."))
        found = shared.scoped(Scope("bob")).retrieve("papers by Zimmer")
        assert not found.reranked
        assert not [note for note in found.trace.notes if note.text.startswith("by:")]


class TestReferences:
    @pytest.mark.parametrize("question", ["Watson helix structure 1953", "Watson 1953 helix"])
    def test_by_author_subject_and_year_are_looked_up(self, index: Index, question: str) -> None:
        found = index.retrieve(question)
        assert found.decision.intent.name == "lookup", found.decision.reason
        assert found.reranked[0].title == "A structure of the double helix"

    @pytest.mark.parametrize("question", ["earthquake damage 1953", "Watson helix", "Chile helix 1953"])
    def test_without_author_or_year_are_words(self, index: Index, question: str) -> None:
        assert index.retrieve(question).decision.intent.name == "keywords"
