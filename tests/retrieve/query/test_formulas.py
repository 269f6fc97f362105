"""A formula in a question is searched as a whole, so that what has it comes before what has its letters."""

from __future__ import annotations

from pathlib import Path

import pytest

import rifflux
from rifflux import Document
from rifflux.retrieve.query.expand import formulas
from rifflux.retrieve.query.reading import understand
from rifflux.text.analyzer import analyzer


def _found(text: str) -> list[str]:
    reader = analyzer("english", "notation")
    return [formula for formula, _ in formulas(understand(text, reader))]


@pytest.mark.parametrize(
    ("question", "formula"),
    [
        (r"is $R^1f_*\mathcal{F}$ coherent", "R^1 f_star F"),
        ("exactness of Hom_R(M, N) in both arguments", "Hom_R M N"),
        ("the limit of H¹(X, 𝒪_X) over n", "H^1 X O_X"),
    ],
)
def test_a_formula_is_recognised_within_a_sentence(question: str, formula: str) -> None:
    assert _found(question) == [formula]


@pytest.mark.parametrize("question", ["Noetherian rings", "Hahn-Banach theorem", "a ring", "X", "NASA ESA"])
def test_words_are_no_formula(question: str) -> None:
    assert _found(question) == []


@pytest.mark.parametrize("question", ["how many of 1 000 draws", "a walk from 0 1 to 2 3", "the value at 0 0 0 7"])
def test_numbers_side_by_side_are_no_formula(question: str) -> None:
    assert _found(question) == []


def test_pieces_of_a_formula_are_longer_than_what_others_have_too() -> None:
    reader = analyzer("english", "notation")
    ((_, phrases),) = formulas(understand("a^2 + b^2 = c^2 + d", reader))
    assert [*map(len, phrases[1:])] == [4] * len(phrases[1:])


@pytest.mark.parametrize(("profile", "count"), [("works", 1), ("files", 0)])
def test_only_indexes_that_read_notation_search_formulas_so(profile: str, count: int) -> None:
    with rifflux.open(":memory:", profile=profile, model="hash:64") as index:
        index.add(Document("a", "H^1(X, O_X) is finite"), embed=False)
        notes = index.search("is H^1(X, O_X) finite", mode="lexical").trace.notes
    assert [note.code for note in notes].count("query.formula") == count


@pytest.mark.parametrize("question", ["ℱ ⊗ 𝒢 → ℋ", r"$\mathcal F\otimes\mathcal G\to\mathcal H$", "F (x) G -> H"])
def test_what_has_the_formula_comes_first_in_any_notation(question: str) -> None:
    others = [Document(f"other {n}", f"something else about rings and ideals, number {n}") for n in range(9)]
    letters = Document("letters", r"$\mathcal{H}$, $\mathcal{G}$, $\mathcal{F} \oplus \mathcal{F}$, $\otimes$, $F$")
    formula = Document("formula", r"a natural map $\mathcal{F} \otimes \mathcal{G} \to \mathcal{H}$ of sheaves")
    with rifflux.open(":memory:", profile="works", model="hash:64") as index:
        index.add(letters, formula, *others, embed=False)
        results = index.search(question, mode="lexical")
    assert results[0].key == "formula"
    assert any("is a formula" in note.text for note in results.trace.notes)


def test_an_index_keeps_the_way_it_reads_mathematics(tmp_path: Path) -> None:
    path = tmp_path / "works.db"
    with rifflux.open(path, profile="works", model="hash:64") as index:
        index.add(Document("a", r"on $\mathcal{O}_X$-modules"), embed=False)
    with rifflux.open(path, model="hash:64") as index:
        assert index.profile.analyzer.mathematics == "notation"
        assert [hit.key for hit in index.search("𝒪_X", mode="lexical")] == ["a"]
