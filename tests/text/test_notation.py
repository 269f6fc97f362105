"""Formulas are the same to the analyzer in every notation, and what is no formula is left alone."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rifflux.errors import InvalidArgument
from rifflux.text.analyzer import Analyzer, analyzer
from rifflux.text.notation import one_notation

SAME = [
    [r"$\mathcal{O}_X$", r"$\mathcal O_X$", r"${\mathcal O}_{X}$", r"\(\mathcal{O}_{X}\)", "𝒪_X", "𝒪ₓ", "O_X", "O_{X}"],
    ["C*-algebra", "C^*-algebra", "`C^*`-algebra", "$C^*$-algebra", "$C^{*}$-algebra", "C-star algebra", "C⋆-algebra"],
    ["C*-algebra", "c*-algebra", "C* algebra", "c-star algebra", "C star algebra", "C*–algebra", "C*‑algebra",
     r"C\*-algebra", "C<sup>*</sup>-algebra", r"$C\sp*$-algebra", r"C\textsuperscript{*}-algebra", "C＊-algebra"],
    ["AW*-algebra", "AW^*-algebra", "$AW^*$-algebra", "aw*-algebra"],
    ["JB*-triple", "JB^*-triple", "$JB^*$-triple"],
    ["*-homomorphism", "$*$-homomorphism", r"$\ast$-homomorphism", "∗-homomorphism", "star-homomorphism"],
    ["∞-category", r"$\infty$-category", "infinity-category"],
    ["Lemma 10.3.2", "Lemma~10.3.2", r"Lemma\ 10.3.2"],
    ["H^1", "H ^ 1", "H^ 1", r"$H\sp 1$", "H<sup>1</sup>"],
    ["𝒪_X", "𝒪X", "O _ X", r"$\mathcal{O}\sb X$", "O<sub>X</sub>", r"O\_X"],
    [r"$\overline{M}_{g,n}$", "M̄_{g,n}", "M_{g,n}", "ℳ̄_{g,n}"],
    ["H^1", "H¹", "$H^1$", "$H^{1}$", r"$\mathrm{H}^1$", "H^{1}"],
    ["$H^1_c(X, F)$", "$H_c^1(X,F)$", "H¹_c(X, F)", "H_c^1(X,F)", r"$H^{1}_{c} (X, \mathcal{F})$"],
    ["étale", "etale", r"\'etale", r"\'{e}tale", "e\u0301tale", "Étale"],
    ["Erdős", "Erdos", r"Erd\H{o}s", "ERDŐS", r"Erd{\H o}s", r"Erd\H os", r"Erd{\H{o}}s"],
    ["Čech", "Cech", r"\v{C}ech", r"\v Cech", r"{\v C}ech"],
    ["Bézout", r"B{\'e}zout", r"B\'ezout", r"B\'{e}zout", r"B{\'{e}}zout"],
    ["naïve", "naive", r'na\"{\i}ve', r'na\"\i ve'],
    ["Łojasiewicz", "Lojasiewicz", r"\L ojasiewicz", r"\L{}ojasiewicz", r"{\L}ojasiewicz"],
    ["Øksendal", "Oksendal", r"\O ksendal", r"{\O}ksendal"],
    ["Weierstraß", "Weierstrass", r"Weierstra{\ss}", r"Weierstra\ss"],
    ["Nœther", "Noether", r"N{\oe}ther", r"N\oe ther"],
    ["Stone–Čech", "Stone-Čech", "Stone--Čech", r"Stone--\v{C}ech", "Stone−Čech"],
    [r"$R^1f_*\mathcal{F}$", "R¹f_*ℱ", "R^1 f_* F", "R^1f_*F", r"$R^{1} f_{*} {\mathcal F}$"],
    [r"$M \otimes_{\mathcal{O}_X} N$", "M ⊗_{𝒪_X} N", r"$M\otimes_{\mathcal O_X}N$", "M (x)_{O_X} N"],
    [r"$k^{-1}$", "k⁻¹", "k^-1", "k^{-1}"],
    [r"$\alpha_i \in A_{\mathfrak p}$", "α_i ∈ A_𝔭", r"\alpha_{i}\in A_{\mathfrak{p}}", "alpha_i in A_p"],
    [r"$f : X \longrightarrow Y$", r"$f:X\to Y$", "f: X → Y", "f: X -> Y"],
    [r"$\ell$-adic", "ℓ-adic", "l-adic"],
    ["$p$-adic", "p-adic"],
    [r"$f'_! K^\bullet$", "f′_! K^•", r"f_!K^{\bullet}"],
    [r"$\mathbf{Z}/n\mathbf{Z}$", "ℤ/nℤ", r"\mathbb{Z}/n\mathbb{Z}"],
    [r"\(x_1, \ldots, x_n\)", "x₁, …, xₙ", "x_1, ..., x_n", r"\[ x_{1},\dots,x_{n} \]"],
    [r"$a \leq b$", "a ≤ b", r"$a\leqslant b$", "a <= b"],
]  # fmt: skip


@pytest.mark.parametrize("spellings", SAME, ids=lambda spellings: spellings[0])
def test_all_spellings_of_a_formula_give_equal_terms(spellings: list[str]) -> None:
    read = analyzer("english", "notation").terms
    terms = {spelling: read(spelling) for spelling in spellings}
    assert terms[spellings[0]]
    assert all(each == terms[spellings[0]] for each in terms.values()), terms


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("H^1", "H^2"),
        ("H^1", "H_1"),
        ("O_X", "O_Y"),
        ("X ⊗ Y", "X ⊕ Y"),
        (r"\alpha", r"\beta"),
        ("f_*", "f^*"),
        ("A ⊂ B", "A ∪ B"),
    ],
)
def test_different_symbols_stay_different(one: str, other: str) -> None:
    read = analyzer("english", "notation").terms
    assert read(one) != read(other)


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("it costs $5 and $10", "it costs 5 and 10"),
        (r"costs $5. The sheaf $\mathcal{O}_X$ and the $C^*$-algebra", "costs 5. The sheaf O_X and the C*-algebra"),
        (r"US$5 for the sheaf ($\mathcal{O}_X$)", "US 5 for the sheaf (O_X)"),
        (r"\$5 and $H^1$", "5 and H^1"),
        ("one $ alone, and $H^1$", "one alone, and H^1"),
        ("the $ H^1 $ of it", "the H^1 of it"),
        ("$x_1$$y_1$", "x_1 y_1"),
        ("$$H^1$$ and $$O_X$$", "H^1 and O_X"),
        ("$$\n\\text{sheaves that are quasi-coherent} \\to x_1\n$$", "sheaves that are quasi coherent x_1"),
        ("cut off $ here\n\n$H^1$ there", "cut off here H^1 there"),
    ],
)
def test_a_dollar_that_begins_no_formula_harms_none(text: str, plain: str) -> None:
    read = analyzer("english", "notation").terms
    assert read(text) == read(plain)


@pytest.mark.parametrize(
    "text",
    [
        "Well-known 3-fold p-adic methods, see 10.3.2 (and 12.4) of 30 CFR 250.1725.",
        "The e-mail of Smith's co-author; it's 50% of it/them: fine.",
        "Über die Größe von Straßen",
        "λόγος ἐν ἀρχῇ",
        "数学の本",
    ],
)
def test_text_without_formulas_gives_the_terms_it_always_gave(text: str) -> None:
    assert analyzer("english", "notation").terms(text) == analyzer("english", "latex").terms(text)


def test_the_other_ways_to_read_mathematics_are_as_they_were() -> None:
    text = r"$\mathcal{O}_X$ and H¹"
    assert analyzer("english").terms(text) == ["o_x", "o", "x", "h1"]
    assert analyzer("english", "none").terms(text) == ["mathcal", "o", "_x", "x", "h1"]
    with pytest.raises(InvalidArgument, match="notation"):
        Analyzer("english", "algebra")


letters = st.sampled_from(["x", "A", "f", r"\alpha", r"\mathcal{F}", "𝒢", "β", "ℤ", "12"])
scripts = st.sampled_from(["", "_i", "^2", "_{ij}", "^{n+1}", "_*", "^{-1}", "₂", "_{X_0}", r"^\bullet"])
atoms = st.builds("{}{}".format, letters, scripts)
between = st.sampled_from([" ", r" \to ", " ⊗ ", ", ", " = ", r"\times ", " + "])
formulas = st.builds(lambda first, rest: first + "".join(a + b for a, b in rest), atoms,
                     st.lists(st.tuples(between, atoms), max_size=4))  # fmt: skip


@given(formulas, st.booleans())
def test_what_is_in_one_notation_stays_as_it_is(formula: str, marked: bool) -> None:
    once = one_notation(f"${formula}$" if marked else formula)
    assert one_notation(once).split() == once.split()


@given(formulas)
def test_blanks_and_delimiters_make_no_difference_to_a_formula(formula: str) -> None:
    read = analyzer("english", "notation").terms
    assert read(f"${formula}$") == read(rf"\({formula}\)") == read(rf"\[ {formula} \]")


@given(st.text(max_size=60))
def test_any_text_is_read(text: str) -> None:
    assert all(" " not in term for term in analyzer("english", "notation").terms(text))


@given(st.text(st.sampled_from("\\{}_^$*ab1 ()-"), max_size=40))
def test_unbalanced_latex_is_read(text: str) -> None:
    assert not any(mark in one_notation(text) for mark in "\x01\x02")


dollars = st.sampled_from(["$", "$$", "5", "x_1", "sheaf", "\\", "-", "\\(", "\\)", "`", "star ", " ", "\n\n"])


@given(st.lists(dollars).map("".join))
def test_dollars_of_any_sort_are_read(text: str) -> None:
    once = one_notation(text)
    assert not any(mark in once for mark in "\x01\x02")
    assert analyzer("english", "notation").joined(text) == " ".join(analyzer("english", "notation").terms(text))
