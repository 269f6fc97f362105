"""Measure how well a formula is found that is asked for in another notation.

    python -m bench formulas FOLDER [--queries 300] [--json]

FOLDER holds a `corpus.jsonl` of LaTeX texts, such as the Stacks Project's. Formulas that stand in one document only are
drawn from it, each to find that document by: rewritten by this program's own tables, which share nothing with the
analyzer's, into Unicode, into plain ASCII, and into LaTeX spaced and braced otherwise. `verbatim` asks for them as they
stand. The index is searched by words alone, with each way to read mathematics: `none` is the plain
analyzer, to which a formula is text like any other (Unicode, stems and identifiers, no mathematics); `latex` is what
texts of all kinds get, and works got first; `notation` is what works get, with formulas searched as phrases.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from rifflux.index import Index, open_index
from rifflux.session.profile import profile
from rifflux.text.analyzer import MATHEMATICS
from rifflux.types import Document

SEED = 20260222
DEPTH = 10
SHORTEST, LONGEST = 8, 60
#: A formula needs so many different signs for its document to be told from the others by it.
FEWEST_SIGNS = 4

_FORMULA = re.compile(r"\$([^$]+)\$")
_ALLOWED = re.compile(r"[A-Za-z0-9\s{}_^()\[\],.:=+*/|'!<>\\-]+")
_SIGN = re.compile(r"\\[A-Za-z]+|[A-Za-z]+|\d+")
_COMMAND = re.compile(r"\\([A-Za-z]+)\s*")
_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
#: Mathematical alphabets, with the letters that Unicode has elsewhere.
_SCRIPT = {**{c: chr(0x1D49C + i) for i, c in enumerate(_LETTERS)},
           **dict(zip("BEFHILMRego", "ℬℰℱℋℐℒℳℛℯℊℴ", strict=True))}  # fmt: skip
_FRAKTUR = {**{c: chr(0x1D504 + i) for i, c in enumerate(_LETTERS)}, **dict(zip("CHIRZ", "ℭℌℑℜℨ", strict=True))}
_BOLD = {c: chr(0x1D400 + i) for i, c in enumerate(_LETTERS)}
_DOUBLE = {**{c: chr(0x1D538 + i) for i, c in enumerate(_LETTERS)}, **dict(zip("CHNPQRZ", "ℂℍℕℙℚℝℤ", strict=True))}
_FACES: Mapping[str, Mapping[str, str]] = {
    "mathcal": _SCRIPT, "mathfrak": _FRAKTUR, "mathbf": _BOLD, "mathbb": _DOUBLE, "mathrm": {}, "text": {},
    "mathit": {},
}  # fmt: skip
_UNICODE = {
    "to": "→", "longrightarrow": "⟶", "in": "∈", "subset": "⊂", "supset": "⊃", "otimes": "⊗", "times": "×", "geq": "≥",
    "leq": "≤", "circ": "∘", "cap": "∩", "cup": "∪", "wedge": "∧", "oplus": "⊕", "bigoplus": "⨁", "cong": "≅",
    "mapsto": "↦", "infty": "∞", "bullet": "•", "setminus": "∖", "sum": "∑", "prod": "∏", "partial": "∂", "ldots": "…",
    "alpha": "α", "beta": "β", "gamma": "γ", "delta": "δ", "epsilon": "ε", "eta": "η", "theta": "θ", "kappa": "κ",
    "lambda": "λ", "mu": "μ", "nu": "ν", "xi": "ξ", "pi": "π", "rho": "ρ", "sigma": "σ", "tau": "τ", "phi": "φ",
    "varphi": "φ", "chi": "χ", "psi": "ψ", "omega": "ω", "Gamma": "Γ", "Delta": "Δ", "Lambda": "Λ", "Sigma": "Σ",
    "Omega": "Ω", "Phi": "Φ", "Psi": "Ψ", "ell": "ℓ", "emptyset": "∅",
}  # fmt: skip
_ASCII = {
    **{name: name for name in _UNICODE}, "to": "->", "longrightarrow": "->", "geq": ">=", "leq": "<=", "otimes": "(x)",
    "oplus": "(+)", "varphi": "phi", "ell": "l", "mapsto": "|->", "ldots": "...",
}  # fmt: skip
#: Commands that stand for words, whatever the notation.
_WORDS = {
    "Spec", "Hom", "Ext", "Tor", "Ker", "Coker", "Im", "Ob", "Mor", "dim", "lim", "colim", "det", "deg", "Sh", "Sch",
    "QCoh", "Pic", "NL", "CH",
}  # fmt: skip
_RAISED = str.maketrans("0123456789+-ni", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻ⁿⁱ")
_LOWERED = str.maketrans("0123456789+-ijnmkx", "₀₁₂₃₄₅₆₇₈₉₊₋ᵢⱼₙₘₖₓ")


@dataclass(frozen=True)
class Formula:
    """A formula as it stands in the one document that holds it."""

    latex: str
    document: str


# Notations


def unicode(latex: str) -> str:
    """The formula in Unicode characters: 𝒪_X, H¹, →."""
    text = _faced(latex, lambda letter, face: _FACES[face].get(letter, letter))
    text = _COMMAND.sub(lambda command: _UNICODE.get(command[1], f" {command[1]} "), text)
    text = re.sub(r"([_^])\s+", r"\1", text)
    text = re.sub(r"\^(?:\{([\d+ni-]+)\}|([\dni]))", lambda high: (high[1] or high[2]).translate(_RAISED), text)
    text = re.sub(r"_(?:\{([\d+ijnmkx-]+)\}|([\dijnmkx]))", lambda low: (low[1] or low[2]).translate(_LOWERED), text)
    return _tidy(re.sub(r"(?<![_^])\{(\w)\}", r"\1", text))


def ascii(latex: str) -> str:
    """The formula as it is typed in a mail: O_X, H^1, ->."""
    text = _faced(latex, lambda letter, _: letter)
    text = _COMMAND.sub(lambda command: f" {_ASCII.get(command[1], command[1])} ", text)
    text = re.sub(r"([_^])\s*\{\s*([A-Za-z0-9]+)\s*\}", r"\1\2 ", text)
    text = re.sub(r"([_^])\s+", r"\1", re.sub(r"\s+([_^])", r"\1", text))
    return _tidy(re.sub(r"(?<![_^])\{([A-Za-z0-9]+)\}", r"\1", text))


def respaced(latex: str) -> str:
    """The formula in LaTeX with other blanks and braces: `\\mathcal O_{X}`."""
    text = re.sub(r"\\(math\w+)\{(\w)\}", r"{\\\1 \2}", latex)
    text = re.sub(r"([_^])(\w|\*)", r"\1{\2}", text)
    text = re.sub(r"\s*(\\to|\\subset|\\otimes|\\times|=|:|\+)\s*", r" \1 ", text)
    return "$" + re.sub(r"\(\s*", "( ", text) + "$"


def verbatim(latex: str) -> str:
    """The formula as it stands."""
    return f"${latex}$"


NOTATIONS: Mapping[str, Callable[[str], str]] = {
    "unicode": unicode, "ascii": ascii, "respaced": respaced, "verbatim": verbatim
}  # fmt: skip


def _faced(latex: str, letter: Callable[[str, str], str]) -> str:
    """Letters with a face, `\\mathcal{F}` or `\\mathcal F`, as `letter` has them."""
    faces = "|".join(_FACES)

    def replaced(match: re.Match[str]) -> str:
        return "".join(letter(each, match[1]) for each in match[2] or match[3])

    return re.sub(rf"\\({faces})(?:\{{(\w+)\}}|\s+(\w))", replaced, latex)


def _tidy(text: str) -> str:
    return " ".join(text.replace("\\", "").split())


# Queries


def formulas(documents: Iterable[Document], count: int) -> list[Formula]:
    """Formulas of one document each, drawn evenly; every one changes in each other notation."""
    holding: dict[str, set[str]] = defaultdict(set)
    spelt: dict[str, str] = {}
    for document in documents:
        for match in _FORMULA.finditer(document.text):
            bare = re.sub(r"[\s{}]|\\(?:math\w+|text)(?![a-z])|'", "", match[1])
            holding[bare].add(document.key)
            spelt[bare] = " ".join(match[1].split())
    rare = (Formula(spelt[bare], *keys) for bare, keys in sorted(holding.items()) if len(keys) == 1)
    fit = [formula for formula in rare if _is_fit(formula.latex)]
    if len(fit) < count:
        raise SystemExit(f"only {len(fit)} formulas of the corpus are fit; ask for so many with --queries")
    return random.Random(SEED).sample(fit, count)


def _is_fit(latex: str) -> bool:
    """Whether a formula can be written in every notation, and is not the same in two."""
    if not SHORTEST <= len(latex) <= LONGEST or not _ALLOWED.fullmatch(latex) or latex.count("{") != latex.count("}"):
        return False
    known = {*_UNICODE, *_WORDS, *_FACES}
    if any(command not in known for command in _COMMAND.findall(latex)):
        return False
    written = {make(latex) for make in NOTATIONS.values()}
    return len(set(_SIGN.findall(latex))) >= FEWEST_SIGNS and len(written) == len(NOTATIONS)


def documents(corpus: Path) -> Iterator[Document]:
    """The documents of a collection's corpus."""
    for line in corpus.read_text("utf-8").split("\n"):
        if line.strip():
            record = json.loads(line)
            yield Document(record["_id"], record["text"], record["title"])


def index_of(found: Iterable[Document], mathematics: str) -> Index:
    """An index of the documents, in memory and without vectors."""
    index = open_index(":memory:", profile=replace(profile("works"), mathematics=mathematics))
    index.add(*found, embed=False)
    return index


def reciprocal_rank(index: Index, query: str, document: str) -> float:
    """One over the rank of the document among the first ten, or 0."""
    hits = index.search(query, top_k=DEPTH, mode="lexical", one_per_document=True)
    return next((1 / rank for rank, hit in enumerate(hits, start=1) if hit.key == document), 0.0)


def measured(corpus: Path, count: int) -> dict[str, dict[str, float]]:
    """MRR@10 by how the index reads mathematics, and by notation."""
    found = list(documents(corpus))
    wanted = formulas(found, count)
    table: dict[str, dict[str, float]] = {}
    for mathematics in MATHEMATICS:
        print(f"{mathematics} …", file=sys.stderr)
        with index_of(found, mathematics) as index:
            table[mathematics] = {
                notation: sum(reciprocal_rank(index, write(each.latex), each.document) for each in wanted) / count
                for notation, write in NOTATIONS.items()
            }
        rewritten = [table[mathematics][notation] for notation in NOTATIONS if notation != "verbatim"]
        table[mathematics]["all but verbatim"] = sum(rewritten) / len(rewritten)
    return table


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--queries", type=int, default=300)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--show", type=int, default=0, help="print so many of the queries instead")
    arguments = parser.parse_args()
    corpus = arguments.folder / "corpus.jsonl"
    if arguments.show:
        for formula in formulas(list(documents(corpus)), arguments.queries)[: arguments.show]:
            print(formula.document, *(write(formula.latex) for write in NOTATIONS.values()), sep="   ")
        return
    table = measured(corpus, arguments.queries)
    if arguments.json:
        print(json.dumps(table, indent=2))
        return
    print(f"{arguments.queries} formulas, MRR@{DEPTH}")
    columns = [*NOTATIONS, "all but verbatim"]
    print(f"{'':10}" + "".join(f"{column:>18}" for column in columns))
    for mathematics, row in table.items():
        print(f"{mathematics:10}" + "".join(f"{row[column]:18.3f}" for column in columns))
