"""Names and numbers of mathematical results are found, however they are written, in time that grows with the text."""

from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rifflux.text.identifiers import named_results, numbered_results
from tests.support.commands import PATIENCE


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("the Hahn–Banach theorem", ["Hahn–Banach theorem"]),
        ("Hahn -- Banach theorem", ["Hahn -- Banach theorem"]),
        ("hahn-banach theorem", ["hahn-banach theorem"]),
        ("HAHN-BANACH THEOREM", ["HAHN-BANACH THEOREM"]),
        ("Hahn-Banach Theorem", ["Hahn-Banach Theorem"]),
        ("Prove Zorn's lemma", ["Zorn's lemma"]),
        ("prove zorn's lemma from the axiom of choice please", ["zorn's lemma"]),
        ("Yoneda's Lemma", ["Yoneda's Lemma"]),
        ("Fermat's Last Theorem", ["Fermat's Last Theorem"]),
        ("Łoś's theorem", ["Łoś's theorem"]),
        ("the van Kampen theorem", ["van Kampen theorem"]),
        ("the Seifert–van Kampen theorem", ["Seifert–van Kampen theorem"]),
        ("de Rham's theorem", ["de Rham's theorem"]),
        ("Banach fixed-point theorem", ["Banach fixed-point theorem"]),
        ("a proof of Banach's fixed point theorem without choice", ["Banach's fixed point theorem"]),
        ("where is the Baire category theorem used in analysis", ["Baire category theorem"]),
        ("Is the Hilbert scheme smooth", ["Hilbert scheme"]),
        ("Grothendieck spectral sequence", ["Grothendieck spectral sequence"]),
        ("the theorem of Stone and Weierstrass", ["theorem of Stone and Weierstrass"]),
        ("Theorem of Riemann and Roch", ["Theorem of Riemann and Roch"]),
        ("snake lemma", ["snake lemma"]),
        ("What is the implicit function theorem?", ["implicit function theorem"]),
        ("Every Noetherian ring", []),
        ("Main Theorem", []),
        ("the first theorem", []),
        ("a non-vanishing theorem for line bundles on surfaces", []),
        ("Valuation rings are stable under direct limits", []),
        ("Let X be a scheme", []),
        ("a short exact sequence", []),
        ("which of these is a lemma", []),
    ],
)
def test_named_results_are_found(text: str, names: list[str]) -> None:
    assert named_results(text) == names


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("see Lemma 10.3.2.", ["Lemma 10.3.2"]),
        ("lemma 10.3.2", ["Lemma 10.3.2"]),
        ("Lemma~10.3.2", ["Lemma 10.3.2"]),
        ("Lemma A.1 and Exercise II.5.6", ["Lemma A.1", "Exercise II.5.6"]),
        ("Thm 4.2, Thm. 4.2", ["Theorem 4.2", "Theorem 4.2"]),
        ("Remark 1.2, Example 1.3", ["Remark 1.2", "Example 1.3"]),
        ("Conjecture 1.4, Claim 2.3", ["Conjecture 1.4", "Claim 2.3"]),
        ("Eq. (3.2)", ["Equation 3.2"]),
        ("an example 2 dimensional", []),
        ("Theorem of 1905", []),
    ],
)
def test_numbered_results_are_found_by_their_whole_name(text: str, names: list[str]) -> None:
    assert [name for _, name in numbered_results(text)] == names


WORDS = ["Aa", "zorn's", "van", "theorem", "lemmas", "of", "and", "the", "X", "Łoś", "ring", "-", "--", "–", "~", "4.2"]


@given(st.text() | st.lists(st.sampled_from(WORDS)).map(" ".join) | st.lists(st.sampled_from(WORDS)).map("".join))
def test_what_is_found_stands_in_the_text(text: str) -> None:
    for name in named_results(text):
        assert name in text
    for written, _ in numbered_results(text):
        assert written in text


#: What a pattern might begin to match anywhere, and look far for its end: 30 s for the first alone, in quadratic time.
HOSTILE = """
from rifflux.text.analyzer import Analyzer
from rifflux.text.identifiers import labelled, named_results, numbered_results
READ = [Analyzer("english", "notation").joined, Analyzer("english", "latex").joined]
UNITS = ["Aa ", "Aa-", "zorn's ", "theorem of ", "of Aa and ", "Lemma ", "$", "$x", " ", "\\\\,", "\\\\(", "\\\\[x",
         "x_{", "}", "`^", "§", "aa.", "A", "1-", "\\\\'", "{\\\\", "$5 ", "_ ", "<sup>", "C*-", "star "]
for unit in UNITS:
    text = "$" + unit * (30_000 // len(unit)) + "x!"
    for look in (*READ, labelled, named_results, numbered_results):
        list(look(text))
"""


@pytest.mark.slow
def test_no_text_takes_long() -> None:
    subprocess.run([sys.executable, "-c", HOSTILE], check=True, timeout=PATIENCE)
