"""Mathematical symbols: Unicode characters by LaTeX command, and commands for the same symbol."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping
from functools import cache

_CHARACTERS = """
⊗ otimes ⊕ oplus ⊖ ominus ⊙ odot ⊠ boxtimes ⊞ boxplus ⨂ otimes ⨁ oplus × times ⋊ rtimes ⋉ ltimes ⋈ bowtie ∗ * ⋆ star
∘ circ • bullet ∙ bullet ⋅ cdot · cdot ∧ wedge ∨ vee ∩ cap ∪ cup ⋂ cap ⋃ cup ⊔ sqcup ⊓ sqcap ∐ coprod ⨿ coprod ∏ prod
∑ sum ∫ int ∮ oint ∂ partial ∇ nabla ∆ Delta √ sqrt ∞ infty ∅ emptyset ⌀ emptyset ℓ ell ℘ wp ℵ aleph ı imath ȷ jmath
→ to ⟶ to ⇒ Rightarrow ⟹ Rightarrow ← leftarrow ⟵ leftarrow ⇐ Leftarrow ↔ leftrightarrow ⇔ iff ⟺ iff ↦ mapsto ⟼ mapsto
↪ hookrightarrow ↠ twoheadrightarrow ↣ rightarrowtail ⇝ leadsto ↝ leadsto ⇉ rightrightarrows ↑ uparrow ↓ downarrow
∈ in ∉ notin ∋ ni ⊂ subset ⊃ supset ⊆ subset ⊇ supset ⊊ subsetneq ⊋ supsetneq ⊄ nsubset ⊑ sqsubset ∖ setminus
≤ leq ≥ geq ⩽ leq ⩾ geq ≪ ll ≫ gg ≠ neq ≡ equiv ≅ cong ≃ simeq ≈ approx ∼ sim ≐ doteq ≺ prec ≻ succ ∝ propto
⊢ vdash ⊨ models ⊤ top ⊥ perp ∣ mid ∤ nmid ∥ parallel ∀ forall ∃ exists ∄ nexists ¬ neg ± pm ∓ mp ÷ div
† dagger ‡ ddagger ♯ sharp ♭ flat ♮ natural ⋄ diamond □ square ◻ square △ triangle ▽ triangledown
⊲ triangleleft ⊳ triangleright ⌊ lfloor ⌋ rfloor ⌈ lceil ⌉ rceil ⟨ langle ⟩ rangle ⋯ ldots … ldots ⋮ ldots ⋱ ldots
＊ * ﹡ * ⁎ * ✱ *
"""
_GREEK = """
α alpha β beta γ gamma δ delta ε epsilon ϵ epsilon ζ zeta η eta θ theta ϑ theta ι iota κ kappa ϰ kappa λ lambda μ mu
ν nu ξ xi π pi ϖ pi ρ rho ϱ rho σ sigma ς sigma τ tau υ upsilon φ phi ϕ phi χ chi ψ psi ω omega
Γ Gamma Δ Delta Θ Theta Λ Lambda Ξ Xi Π Pi Σ Sigma Υ Upsilon Φ Phi Ψ Psi Ω Omega
"""

#: Commands that produce the same symbol as another, which represents both.
SAME: Mapping[str, str] = {
    **dict.fromkeys(("rightarrow", "longrightarrow", "xrightarrow"), "to"),
    **dict.fromkeys(("longleftarrow", "gets", "xleftarrow"), "leftarrow"),
    **dict.fromkeys(("Longrightarrow", "implies"), "Rightarrow"),
    **dict.fromkeys(("Leftrightarrow", "Longleftrightarrow"), "iff"),
    **dict.fromkeys(("le", "leqslant", "leqq"), "leq"),
    **dict.fromkeys(("ge", "geqslant", "geqq"), "geq"),
    **dict.fromkeys(("dots", "cdots", "vdots", "ddots", "dotsc", "dotsb"), "ldots"),
    "longmapsto": "mapsto", "ne": "neq", "land": "wedge", "lor": "vee", "lnot": "neg", "varnothing": "emptyset",
    "subseteq": "subset", "supseteq": "supset", "owns": "ni", "amalg": "coprod", "bigoplus": "oplus",
    "bigotimes": "otimes", "bigcup": "cup", "bigcap": "cap", "bigwedge": "wedge", "bigvee": "vee", "bigsqcup": "sqcup",
    "varphi": "phi", "varepsilon": "epsilon", "vartheta": "theta", "varrho": "rho", "varsigma": "sigma",
    "varkappa": "kappa", "varpi": "pi", "ast": "*", "ell": "l", "vert": "mid", "lvert": "mid", "rvert": "mid",
    "smallsetminus": "setminus", "backslash": "setminus", "leadsto": "leadsto", "rightsquigarrow": "leadsto",
    "hookrightarrow": "hookrightarrow", "inf": "inf", "iso": "cong", "dag": "dagger",
}  # fmt: skip

SUPERSCRIPTS = "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁼⁽⁾ⁿⁱᵃᵇᶜᵈᵉᶠᵍʰʲᵏˡᵐᵒᵖʳˢᵗᵘᵛʷˣʸᶻᴬᴮᴰᴱᴳᴴᴵᴶᴷᴸᴹᴺᴼᴾᴿᵀᵁⱽᵂ"
SUBSCRIPTS = "₀₁₂₃₄₅₆₇₈₉₊₋₌₍₎ₐₑₕᵢⱼₖₗₘₙₒₚᵣₛₜᵤᵥₓ"


def _pairs(text: str) -> Iterator[tuple[str, str]]:
    words = text.split()
    return zip(words[::2], words[1::2], strict=True)


@cache
def unicode_commands() -> Mapping[int, str]:
    """Return symbols and letters of the mathematical alphabets as LaTeX, for `str.translate`."""
    table = {ord(char): "*" if name == "*" else f"\\{name} " for char, name in _pairs(_CHARACTERS)}
    greek = greek_commands()
    for code in (*range(0x2100, 0x2150), *range(0x1D400, 0x1D800)):
        if unicodedata.decomposition(chr(code)).startswith("<font>"):
            plain = unicodedata.normalize("NFKC", chr(code))
            table[code] = greek.get(plain, plain)
    return table


@cache
def greek_commands() -> Mapping[str, str]:
    """Return the Greek letters as LaTeX; capitals that look like Latin ones are not symbols."""
    return {char: f"\\{name} " for char, name in _pairs(_GREEK)}


@cache
def symbol_names() -> frozenset[str]:
    """Return the names of the symbols in plain text."""
    names = {name for text in (_CHARACTERS, _GREEK) for _, name in _pairs(text)}
    return frozenset(SAME.get(name, name) for name in names) | {"star", "shriek"}


# Accented and special letters as LaTeX commands: `Erd{\H o}s`, `\v Cech`, `Weierstra{\ss}`, and Łojasiewicz


_LETTERS = {
    "ss": "ss", "oe": "oe", "OE": "Oe", "ae": "ae", "AE": "Ae", "aa": "a", "AA": "A", "dj": "d", "DJ": "D",
    "o": "o", "O": "O", "l": "l", "L": "L",
}  # fmt: skip
#: Letters that Unicode does not decompose into a base and an accent, for `str.translate`.
PLAIN_LETTERS: Mapping[int, str] = str.maketrans(
    {"Ł": "L", "ł": "l", "Ø": "O", "ø": "o", "Œ": "Oe", "œ": "oe", "Æ": "Ae", "æ": "ae", "Đ": "D", "đ": "d"}
)

_SIGN = r"['\"`^~=.]"
_NAME = "[Hcvukrdbt]"
#: The base of an accent: a letter, or a command of one letter with the blank that ends it.
_BEARER = r"(?:\\[A-Za-z](?![A-Za-z]) ?|[A-Za-z])"
_BORNE = rf"(?:\{{ ?{_BEARER} ?\}}|{_BEARER})"
_ACCENT = re.compile(
    rf"\{{ ?\\(?:{_SIGN} ?|{_NAME}(?: |(?=[\\{{]))){_BORNE} ?\}}"  # {\'e} {\H o} {\v{C}}
    rf"|\\(?:{_SIGN} ?|{_NAME} ?(?=\{{)){_BORNE}"  # \'e \'{e} \v{C} \"\i
    # \v Cech, Erd\H os: only within a word, since `\c x` is an author's own command in a formula.
    r"|\\[Hcvukr] (?:[A-Za-z](?=[a-z])|(?<=[A-Za-z]\\[Hcvukr] )[A-Za-z])"
)
_COMMANDS = "|".join(sorted(_LETTERS, key=len, reverse=True))
_LETTER = re.compile(rf"\{{ ?\\({_COMMANDS})(?![A-Za-z]) ?\}}|\\({_COMMANDS})(?![A-Za-z])(?:\{{\}}| (?=[a-z]{{2}}))?")


def without_accents(text: str) -> str:
    """Rewrite LaTeX's accented and special letters as plain letters."""
    if "\\" not in text:
        return text
    text = _ACCENT.sub(lambda accent: accent[0].strip("{} ")[-1], text)
    return _LETTER.sub(lambda letter: _LETTERS[letter[1] or letter[2]], text)
