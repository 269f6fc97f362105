"""Which works are taken for one, which are for a person to say, and taking apart what was one by mistake."""

from __future__ import annotations

import random
from collections import Counter
from itertools import product
from typing import Any

import pytest

from rifflux import Index
from rifflux.errors import InvalidArgument
from rifflux.types import Identifier, Link
from rifflux.works import Work
from rifflux.works.merging import matching

TITLE = "Some remarks on the theory of graphs"


def _import(index: Index, *works: tuple[str, tuple[str, ...]]) -> tuple[int, list[str]]:
    """Works of 1947 from as many sources: how many they became, and why some may be one."""
    for number, (title, authors) in enumerate(works):
        index.works.add(Work(title, authors=authors, year=1947, license="CC0-1.0"), source=f"s{number}", embed=False)
    return index.status().documents, [doubt.reason for doubt in index.works.doubts()]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ((TITLE, ("Martin King Jr.",)), (TITLE, ("Martin King",))),
        ((TITLE, ("S. Łojasiewicz",)), (TITLE, ("S. Lojasiewicz",))),
        ((TITLE, ("A. Þórðarson-Yıldız",)), (TITLE, ("A. Thordarson-Yildiz",))),
        ((TITLE, ("S. Østergaard",)), (TITLE, ("S. Ostergaard",))),
        ((TITLE, ("S. Müller",)), (TITLE, ("S. Mueller",))),
        ((TITLE, ("Erdős P.",)), (TITLE, ("Pál Erdős", "others"))),
        ((r"On $\sigma$-algebras of Borel sets", ("F. Morel",)), ("On σ-algebras of Borel sets", ("Fabien Morel",))),
        ((r"The $\mathbb{A}^1$-homotopy of schemes", ("F. M",)), ("The A¹-homotopy of schemes", ("F. M",))),
        ((r"Sheaves on $\ell$-adic \'etale sites", ("F. M",)), ("Sheaves on ℓ-adic étale sites", ("F. M",))),
    ],
)
def test_spellings_of_one_title_and_name_meet(index: Index, one: Any, other: Any) -> None:
    assert _import(index, one, other) == (1, [])


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (("Introduction to algebraic geometry", ("A. Alpha", "others")),
         ("Introduction to algebraic geometry", ("B. Beta", "others"))),
        (("Computers in universities, III", ("L. Fein",)), ("Computers in universities, IV", ("L. Fein",))),
        ((TITLE, ("A. B",)), ("Another title with nothing of it", ("A. B",))),
    ],
)  # fmt: skip
def test_other_works_stay_apart_without_a_doubt(index: Index, one: Any, other: Any) -> None:
    assert _import(index, one, other) == (2, [])


@pytest.mark.parametrize(
    ("one", "other", "why"),
    [
        ("The theory of graphs and nets", "Theory of graphs and nets", "titles are similar"),
        ("Algebriac geometry and numbers today", "Algebraic geometry and numbers today", "titles are similar"),
        ("A study of things in general", "A study of things in general one", "titles are similar"),
        ("Topology", "Topology", "title is short"),
    ],
)  # fmt: skip
def test_wherever_titles_differ_the_pair_is_for_a_person_to_say(index: Index, one: str, other: str, why: str) -> None:
    documents, (reason,) = _import(index, (one, ("A. B",)), (other, ("A. B",)))
    assert documents == 2
    assert why in reason


def test_a_family_name_alone_is_doubtful_where_the_initials_differ(index: Index) -> None:
    documents, (reason,) = _import(index, (TITLE, ("Wei Wang",)), (TITLE, ("Li Wang",)))
    assert (documents, "family names alone" in reason) == (2, True)


def test_what_was_merged_by_mistake_is_taken_apart_and_stays_so(index: Index) -> None:
    one = Work("On coherent sheaves", license="CC0-1.0", identifiers=(Identifier("arxiv", "1001.0001"),))
    other = Work("On affine sheaves", license="CC0-1.0", identifiers=(Identifier("doi", "10.1000/b"),))
    both = Work("On affine sheaves", license="CC0-1.0", identifiers=(*one.identifiers, *other.identifiers))
    works = {"a": one, "b": other, "c": both}
    for source, work in works.items():
        index.works.add(work, source=source, embed=False)
    assert index.status().documents == 1
    index.works.decide("a:arxiv:1001.0001", "b:doi:10.1000/b", same=False)
    for _ in range(2):
        assert index.status().documents == 2
        parted = index.works.get("b:doi:10.1000/b").work
        assert (parted.title, parted.sources) == (other.title, ("b",))
        assert Identifier("arxiv", "1001.0001") not in parted.identifiers
        for source, work in works.items():
            assert index.works.add(work, source=source, embed=False).unchanged == 1
    assert index.works.doubts() == []
    index.works.decide("a:arxiv:1001.0001", "b:doi:10.1000/b", same=True)
    assert index.status().documents == 1


def test_an_identifier_of_two_works_stays_with_the_one_it_is_said_to_be_of(index: Index) -> None:
    doi = Identifier("doi", "10.2307/1969915")
    note = Work("A short note on sheaves", authors=("A. Lee",), identifiers=(doi,), license="CC0-1.0")
    serre = Work("Coherent sheaves", authors=("J.-P. Serre",), venue="Annals", identifiers=(doi,), license="CC0-1.0")
    citing = Work("On later sheaves", authors=("B. Ober",), citations=(Link(str(doi)),), license="CC0-1.0")
    works = {"notes": note, "list": serre, "later": citing}
    for source, work in works.items():
        index.works.add(work, source=source, embed=False)
    (doubt,) = index.works.doubts()
    assert doubt.one.startswith("list:")  # which says where the work was published
    index.works.decide(doubt.one, doubt.other, same=False)
    for _ in range(2):
        assert index.works.get(str(doi)).work.title == serre.title
        assert [hit.title for hit in index.works.get(str(doi)).cited_by] == [citing.title]
        assert index.works.get(doubt.other).cited_by == ()
        assert index.works.doubts() == []
        for source, work in works.items():
            index.works.add(work, source=source, embed=False)
    index.works.decide(doubt.one, doubt.other, same=True)
    assert index.status().documents == 2


def test_a_work_is_found_by_any_title_that_a_source_gave_it(index: Index) -> None:
    preprint = Work("Sheaves of nothing", authors=("A. Weil",), identifiers=(Identifier("doi", "10.1000/b"),))
    printed = Work("Vanishing theorems explained at length", authors=("A. Weil",), identifiers=preprint.identifiers)
    third = Work("Sheaves of nothing", authors=("André Weil",))
    for source, work in {"a": preprint, "b": printed, "c": third}.items():
        index.works.add(work, source=source, embed=False)
    assert index.status().documents == 1


def test_an_authors_works_are_compared_with_few_others_however_many_there_are(
    index: Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of 800 works of one author, and of 800 more, each is compared with a bounded number."""
    counts, judge, draw = Counter[str](), matching.compare, random.Random(7)

    def counting(one: Work, other: Work) -> matching.MatchVerdict:
        counts[part] += 1
        return judge(one, other)

    monkeypatch.setattr(matching, "compare", counting)
    words = ["".join(each) for each in product(("alge", "topo", "geo", "hyper"), ("bras", "metries", "plexes", "sets"))]
    for part in ("first", "more"):
        works = [Work(" ".join(draw.sample(words, 5)), authors=("Ann Able",), year=1950) for _ in range(800)]
        index.works.add(*works, source=part, embed=False)
    assert 0 < counts["first"] <= 800 * matching.MOST_CANDIDATES
    assert counts["more"] <= counts["first"]


def test_one_record_cannot_be_taken_apart_and_that_is_said(index: Index) -> None:
    index.works.add(Work(TITLE, identifiers=(Identifier("doi", "10.1000/b"),)), source="b", embed=False)
    with pytest.raises(InvalidArgument, match="not merged: they are one record"):
        index.works.decide("doi:10.1000/b", "b:doi:10.1000/b", same=False)
