"""Citations as evidence: their direction, how far they lift, and works asked about by author and title words."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

import rifflux
from rifflux import Index
from rifflux.index import open_index
from rifflux.types import Identifier, Link
from rifflux.works import Work
from rifflux.works.retrieval.score import FULL_LIFT


def work(
    key: str, title: str, abstract: str, author: str, *, cites: Iterable[str] = (), license: str | None = "CC0-1.0"
) -> Work:
    return Work(
        title,
        abstract,
        authors=(author,),
        identifiers=(Identifier("doi", f"10.1/{key}"),),
        citations=tuple(Link(f"doi:10.1/{each}") for each in cites),
        license=license,
    )


WORKS = (
    work("coherent", "Coherent algebraic sheaves", "Sheaf cohomology of varieties by covers.", "J.-P. Serre"),
    work("tohoku", "Homological algebra in categories", "Derived functors and sheaf cohomology.", "A. Grothendieck",
         cites=("coherent",)),
    work("survey", "Computing sheaf cohomology", "Sheaf cohomology by foundational references and algorithms.",
         "N. Newcomer", cites=("coherent", "tohoku", "pottery")),
    work("pottery", "Glazes of pottery", "Kilns and clay of the bronze age.", "P. Potter"),
    work("kilns", "Temperatures of kilns", "How hot a kiln was is told by its clay.", "K. Kiln", cites=("pottery",)),
    work("entropy", "The entropy formula for the Ricci flow", "A monotonic quantity along the flow.", "G. Perelman",
         cites=("threefolds",)),
    work("surgery", "Ricci flow with surgery", "The thin part of a solution.", "G. Perelman",
         cites=("threefolds", "entropy")),
    work("threefolds", "Three-manifolds of positive curvature", "Metrics evolve by their curvature.", "R. Hamilton"),
    work("bread", "Baking of bread", "Flour, water and salt.", "B. Baker", cites=("entropy",)),
)  # fmt: skip


@pytest.fixture(scope="module")
def index() -> Iterator[Index]:
    with open_index(":memory:", model="hash", profile="works") as index:
        index.works.add(*WORKS)
        yield index


def citations(found: rifflux.Retrieval) -> dict[str, float]:
    """Return the citation component of each work, by its key."""
    return {
        hit.key.rpartition("/")[2]: values["citation"]
        for hit, values in zip(found.reranked, found.components, strict=True)
    }


def packed(found: rifflux.Retrieval) -> set[str]:
    return {item.key.rpartition("/")[2] for item in found.evidence.items}


@pytest.mark.parametrize(
    "question", ["foundational references for sheaf cohomology", "a survey of sheaf cohomology", "sheaf cohomology"]
)
def test_a_work_is_canonical_by_being_cited_and_not_by_citing(index: Index, question: str) -> None:
    mode = "survey" if question == "sheaf cohomology" else None
    found = citations(index.retrieve(question, mode=mode))
    assert found["survey"] == 0
    assert found["coherent"] > found["tohoku"] > 0


def test_citations_of_the_best_lift_in_proportion_to_relevance(index: Index) -> None:
    found = index.retrieve("sheaf cohomology", mode="generic")
    weights = found.decision.intent.weights
    for values in found.components:
        relevance = weights["lexical"] * values["lexical"] + weights["semantic"] * values["semantic"]
        lift = min(1.0, relevance / (weights["lexical"] + weights["semantic"]) / FULL_LIFT)
        assert values["citation"] <= lift + 1e-9
        assert values["authority"] <= lift + 1e-9


@pytest.mark.parametrize("question", ["what to read before doi:10.1/coherent", "what does doi:10.1/coherent cite"])
def test_works_around_similar_ones_do_not_outrank_what_is_relevant(index: Index, question: str) -> None:
    found = index.retrieve(question)
    assert any("most similar works were followed" in note.text or "like it" in note.text for note in found.trace.notes)
    keys = [*citations(found)]
    assert keys[0] in ("tohoku", "survey")
    assert found.decision.intent.weights["citation"] < found.decision.intent.weights["semantic"]


def test_what_cites_a_work_is_packed_at_the_confidence_of_the_graph(index: Index) -> None:
    found = index.retrieve("who cites doi:10.1/entropy?")
    assert packed(found) == {"surgery", "bread"}  # a book on bread has no word in common with it
    assert found.evidence.confidence == 1.0
    assert not found.evidence.uncertain


def test_what_a_work_cites_is_packed_whole(index: Index) -> None:
    found = index.retrieve("which works does doi:10.1/survey cite?")
    assert packed(found) == {"coherent", "tohoku", "pottery"}
    assert not found.evidence.uncertain


@pytest.mark.parametrize(
    "question",
    [
        "which papers does Ricci flow with surgery cite?",
        "which works does 'Ricci flow with surgery' cite",
        "what does Perelman's flow with surgery cite",
    ],
)
def test_a_work_is_found_by_its_title_wherever_the_question_puts_it(index: Index, question: str) -> None:
    found = index.retrieve(question)
    assert (found.decision.intent.name, found.decision.cited) == ("related", "out")
    assert packed(found) == {"threefolds", "entropy"}


def test_what_a_work_is_built_on_is_packed_and_less_sure(index: Index) -> None:
    found = index.retrieve("what to read before doi:10.1/kilns")
    assert "pottery" in packed(found)
    bread = index.retrieve("what to read before doi:10.1/bread")
    (item,) = [each for each in bread.evidence.items if each.key.endswith("entropy")]
    assert 0.3 <= item.relevance < 1


@pytest.mark.parametrize(
    ("question", "intent"),
    [
        ("I want to understand Perelman's entropy paper", "prereq"),
        ("papers similar to Perelman's entropy paper", "related"),
        ("papers like the entropy paper by Perelman", "related"),
        ("Perelman's entropy paper", "lookup"),
        ("who cites Perelman's paper on entropy?", "related"),
    ],
)
def test_a_work_is_recognized_by_its_author_and_words_of_its_title(index: Index, question: str, intent: str) -> None:
    mode = intent if intent != "related" or "cites" not in question else None
    found = index.retrieve(question, mode=mode)
    assert (
        any("The entropy formula for the Ricci flow" in note.text for note in found.trace.notes) or intent == "lookup"
    )
    keys = [*citations(found)]
    if intent == "lookup":
        assert keys[0] == "entropy"
        assert found.evidence.items[0].exact
    else:
        assert "entropy" not in keys


def test_words_of_several_titles_of_an_author_name_none_and_that_is_told(index: Index) -> None:
    found = index.retrieve("papers similar to Perelman's Ricci flow paper", mode="related")
    assert any("can be 2 works" in note.text for note in found.trace.notes)


def test_authors_of_works_that_are_not_told_name_none() -> None:
    with open_index(":memory:", model="hash", profile="works") as index:
        index.works.add(work("x", "An entropy formula", "Flow.", "G. Perelman", license=None))
        index.policies.set("facts", "nobody")
        found = index.retrieve("papers similar to Perelman's entropy paper", mode="related")
        assert not any("it is about" in note.text for note in found.trace.notes)


def test_somebodys_works_are_one_class_of_question(index: Index) -> None:
    forms = (
        "papers by {}",
        "works by {}",
        "works of {}",
        "what did {} write",
        "{}'s papers",
        "which papers has {} written?",
    )
    for name in ("Perelman", "Unknown"):
        intents = {form: index.retrieve(form.format(name)).decision.intent.name for form in forms}
        assert set(intents.values()) == {"lookup"}, intents


def test_nothing_is_loaded_while_citations_are_followed_within_their_limit(tmp_path: Path) -> None:
    """The time that a module takes to load, at the first question of a process, would count against the limit."""
    script = f"""
import sys
import rifflux
from rifflux.works import Work
from rifflux.works.retrieval.stages import FollowCitations
follow = FollowCitations._neighbors
def followed(*arguments):
    before = set(sys.modules)
    found = follow(*arguments)
    print("loaded", sorted(set(sys.modules) - before))
    return found
FollowCitations._neighbors = followed
with rifflux.open({str(tmp_path / "index.db")!r}, profile="works", model="hash") as index:
    index.works.add(Work("Sheaf cohomology", "Of spaces.", license="CC0-1.0"), embed=False)
    index.retrieve("a survey of sheaf cohomology")
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "loaded []"
