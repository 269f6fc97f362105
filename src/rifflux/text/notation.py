"""Mathematics in one notation: LaTeX, Unicode and plain spellings of a formula become the same plain text.

`$\\mathcal{O}_{X}$`, 𝒪_X and `O_X` become `O_X`; `R^1f_*\\mathcal{F}`, R¹f_*ℱ and `R^1 f_* F` become `R^1 f_star F`;
`C^*`-algebra, `C*-algebra` and C-star algebra become `C^star algebra`. Faces of letters (script, bold, hats) and primes
are dropped, symbols become words, scripts are attached to what bears them, the lower one first. Nothing is solved or
understood. More is rewritten here than in `text.math`, which serves texts that may hold no mathematics at all.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache

from rifflux.text.symbols import SAME, SUBSCRIPTS, SUPERSCRIPTS, greek_commands, unicode_commands

__all__ = ["one_notation"]

#: What a text without any mathematics does not hold.
_SUSPECT = re.compile(
    r"[\\$^_*′]|[^\x00-\xff]|-star|->|--|[²³¹·×±¬]|[<>!]=|\([x+]\)|\b(?:[A-Za-z][-+:]\w|\d+[-+:][A-Za-z])"
)

# What is read before anything else

_BESIDE = re.compile(
    r"\\(?:begin|end)\s*\{[^{}]{0,40}\}(?:\[[^\[\]]{0,40}\])?"
    r"|\\(?:label|ref|eqref|cref|Cref|autoref|cite[tp]?|input|include|includegraphics)\s*(?:\[[^\[\]]*\])?\{[^{}]*\}"
    r"|\\[,;:!> \\{}|]|(?<=[\w$}])~(?=[\w\\$])"
)
_ACCENT = re.compile(r"\\(?:['\"`^~=.]\s*\{?|[HcvukrdbtL]\{)\\?([A-Za-z])\}?")
#: The code marks of Markdown around a formula.
_TICKED = re.compile(r"`([^`\n]*[\\^_*][^`\n]*)`")
#: What joins the names of people: Hahn--Banach in LaTeX, Hahn–Banach in print.
_JOINED_NAMES = re.compile(r"(?<=[^\W\d_])(?:--+|[–—])(?=[A-Z])")
_STAR_ALGEBRA = re.compile(r"(?<![A-Za-z0-9\\])([A-Z])(?:(?:\*|\\star ?)(?=[-\s.,;:)$]|\Z)|[- ]star(?=[-\s]))")
_GREEK_LETTER = re.compile(r"(?<![\u0370-\u03ff\u1f00-\u1fff])[\u0391-\u03f6](?![\u0370-\u03ff\u1f00-\u1fff])")

# Formulas

_FORMULA = re.compile(r"(\$\$?)(?P<dollars>[^$]*)\1|\\\((?P<round>.*?)\\\)|\\\[(?P<square>.*?)\\\]", re.DOTALL)
_PRIME = re.compile(r"(?<=[\w)}])(?:['′″]+|\\prime\b)(?=[\s_^(),.:;=$}\\]|\Z)|\^\s*\{?(?:\\prime\s*)+\}?")
#: An unbraced script: in a formula one character or command, elsewhere a run of letters or digits.
_SHORT = re.compile(r"\s*([_^])\s*(\\[A-Za-z]+|[A-Za-z0-9*!+])")
_BARE = re.compile(
    r"(?<=[A-Za-z0-9)\]}])\s?([_^])(\\[A-Za-z]+|-?\d+|[*!+]|(?<=\^)[A-Za-z](?=[A-Za-z][_^])|[A-Za-z]+(?![A-Za-z0-9]))"
)
#: Signs between two letters or numbers, which no blank need surround; a quotient stays together.
_SIGN = re.compile(r"(?<![\w^_.-])([A-Za-z](?=[-+:](?:[A-Za-z]|\d+)(?![\w.]))|\d+(?=[-+:][A-Za-z](?![\w.])))[-+:]")
_SIGNS = re.compile(r"(?<!\\)[-+*:=|,;.&]|\s+(?=/)|(?<=/)\s+")
_RESTRICTED = re.compile(r"\|\s*(?=_)")
#: What an ASCII writer has for symbols.
_ASCII = {"->": "to", "-->": "to", "|->": "mapsto", "<=": "leq", ">=": "geq", "!=": "neq"}
_ASCII |= {"(x)": "otimes", "(+)": "oplus"}
_ASCII_SYMBOL = re.compile(r"(?<=[\s\w)])(?:-{1,2}>|\|->|[<>!]=)|(?<=\s)\([x+]\)(?=[\s_^])")

# Commands and braces

_FACE = re.compile(
    r"\\(?:math(?:cal|bf|bb|frak|rm|it|sf|scr|tt|op|bin|rel|ord|normal)|text(?:it|bf|rm|tt|sf|sl|up|sc|normal)?|emph"
    r"|operatorname\*?|overline|underline|wide(?:tilde|hat)|over(?:right|left)arrow|bar|hat|tilde|vec|dot|ddot|check"
    r"|breve|acute|grave|bm|boldsymbol|pmb|mbox|hbox|rm|it|bf|sf|tt|sl|sc|em|cal|frak|Bbb|left|right|[bB]igg?[lrm]?"
    r"|displaystyle|textstyle|scriptstyle|(?:no)?limits|quad|qquad|noindent|medskip|smallskip|bigskip|item|par"
    r"|centering|hline|colon|c?dots|ldots|nonumber|notag|hspace\*?|vspace\*?|phantom|prime|mathstrut|strut|xymatrix|ar)"
    r"(?![A-Za-z])\s*(?:\{([^{}\\]*)\})?"
)
#: A command that the next one ends; it must not run into what that leaves.
_ABUTTING = re.compile(r"\\[A-Za-z]+(?=\\)")
_FRACTION = re.compile(r"\\[td]?frac\s*\{([^{}]*)\}\s*\{([^{}]*)\}")
_COMMAND = re.compile(r"\\([A-Za-z]+)\*? ?")
#: Braces around what bears a script or is a letter or two, and those inside a script.
_GROUP = re.compile(r"(?<![_^])\{([^{}]*)\}(?=\s*[_^])|(?<![_^])\{(\w{1,2})\}")
_NESTED = re.compile(r"([_^]\s*\{[^{}]*)\{([^{}]*)\}")
_BRACED = re.compile(r"\s*([_^])\s*\{([^{}]*)\}")
_NOT_IN_SCRIPT = re.compile(r"[^\w+*/^-]+")
#: Where a script ends, and where a command stood.
_END, _EDGE = "\x01", "\x02"
_UPPER_FIRST = re.compile(rf"\^([^_^{_END}\s]+){_END}_([^_^{_END}\s]+){_END}")
_ENDED = re.compile(rf"{_END}(?=[_^])|{_END}-?|(?<=\w){_EDGE}+(?=[^\W_])")
#: Deeper nested scripts are left as they are.
_DEPTH = 6


def one_notation(text: str) -> str:
    """Rewrite the mathematics of a text into plain words and scripts; text that holds none is unchanged."""
    if not _SUSPECT.search(text):
        return text
    text = _JOINED_NAMES.sub("-", _TICKED.sub(r"$\1$", text))
    if not text.isascii():
        text = _raised().sub(_as_script, text).translate(unicode_commands())
        text = _GREEK_LETTER.sub(lambda letter: greek_commands().get(letter[0], letter[0]), text)
    text = _BESIDE.sub(" ", _ACCENT.sub(r"\1", text))
    text = _FACE.sub(r"\1", _ABUTTING.sub(r"\g<0> ", text))
    text = _RESTRICTED.sub("", text)
    text = _FORMULA.sub(_formula, _STAR_ALGEBRA.sub(r"\1^*", text))
    text = _BARE.sub(r"\1{\2}", _SIGN.sub(r"\1 ", _PRIME.sub("", text)))
    text = _ASCII_SYMBOL.sub(lambda symbol: f" {_ASCII[symbol[0]]} ", text)
    return _attached(_without_commands(text))


@cache
def _raised() -> re.Pattern[str]:
    return re.compile(f"[{SUPERSCRIPTS}]+|[{SUBSCRIPTS}]+")


def _as_script(raised: re.Match[str]) -> str:
    sign = "^" if raised[0][0] in SUPERSCRIPTS else "_"
    return f"{sign}{{{unicodedata.normalize('NFKC', raised[0]).replace('−', '-')}}}"


def _formula(formula: re.Match[str]) -> str:
    """A formula with its scripts braced and its signs as blanks; it stays joined to the words that it touches."""
    inner = next(group for group in (formula["dollars"], formula["round"], formula["square"]) if group is not None)
    braced = _SHORT.sub(r"\1{\2}", _PRIME.sub("", inner))
    return "".join(_outside(braced)).strip()


def _outside(braced: str) -> list[str]:
    """The pieces of a formula in order, those outside of braces without signs."""
    pieces, depth, start = [], 0, 0
    for brace in re.finditer(r"[{}]", braced):
        piece = braced[start : brace.start()]
        pieces.append(piece if depth else _SIGNS.sub(" ", piece))
        pieces.append(brace[0])
        depth = max(0, depth + (1 if brace[0] == "{" else -1))
        start = brace.end()
    pieces.append(_SIGNS.sub(" ", braced[start:]))
    return pieces


def _without_commands(text: str) -> str:
    text = _FRACTION.sub(r" \1/\2 ", text)
    return _COMMAND.sub(lambda command: f"{_EDGE}{SAME.get(command[1], command[1])}{_EDGE}", text)


def _attached(text: str) -> str:
    """Text with its scripts joined to what bears them, and no other braces."""
    for _ in range(_DEPTH):
        joined = _BRACED.sub(_script, _NESTED.sub(r"\1\2", _GROUP.sub(r"\1\2", text)))
        if joined == text:
            break
        text = joined
    text = _UPPER_FIRST.sub(rf"_\2{_END}^\1{_END}", text).replace("{", " ").replace("}", " ")
    text = _ENDED.sub(lambda end: "" if end[0] == _END and text[end.end() : end.end() + 1] in ("_", "^") else " ", text)
    return text.replace(_EDGE, "")


def _script(script: re.Match[str]) -> str:
    content = "".join(script[2].split()).replace(_END, "").replace(_EDGE, "")
    named = {"*": "star", "!": "shriek"}.get(content, re.sub(r"^-", "neg", content))
    named = _NOT_IN_SCRIPT.sub(".", named).strip(".-/*+^")
    return f"{script[1]}{named}{_END}" if named else _END
