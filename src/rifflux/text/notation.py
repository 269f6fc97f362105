"""Normalization of mathematics: LaTeX, Unicode and plain spellings of a formula become the same plain text.

`$\\mathcal{O}_{X}$`, 𝒪_X and `O_X` become `O_X`; `R^1f_*\\mathcal{F}`, R¹f_*ℱ and `R^1 f_* F` become `R^1 f_star F`;
`C^*`-algebra, `C*-algebra` and C-star algebra become `C^star algebra`. Letter styles (script, bold, hats) and primes
are dropped, symbols become words, and scripts are attached to their bases, subscripts first. The rewriting is purely
textual. It goes further than `analyzer.plain_math`, which serves texts that may contain no mathematics at all.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache

from rifflux.text.symbols import (
    PLAIN_LETTERS,
    SAME,
    SUBSCRIPTS,
    SUPERSCRIPTS,
    greek_commands,
    unicode_commands,
    without_accents,
)

#: Matches any text that contains mathematics.
_SUSPECT = re.compile(
    r"[\\$^_*~′ØøÆæ]|[^\x00-\xff]|star[- ]|nfinity[- ]|<su[bp]>|->|--|[²³¹·×±¬]|[<>!]=|\([x+]\)"
    r"|\b(?:[A-Za-z][-+:]\w|\d+[-+:][A-Za-z])"
)

# Rewritten before anything else

#: Long gaps would be scanned repeatedly below; two line breaks end a paragraph and with it a formula.
_GAP = re.compile(r"\s{2,}")
_BESIDE = re.compile(
    r"\\(?:begin|end)\s*\{[^{}]{0,40}\}(?:\[[^\[\]]{0,40}\])?"
    r"|\\(?:label|ref|eqref|cref|Cref|autoref|cite[tp]?|input|include|includegraphics)\s*(?:\[[^\[\]]*\])?\{[^{}]*\}"
    r"|\\[,;:!> \\{}|]|(?<=[\w$)}])~(?=[\w\\$])"
)
#: Markdown's code marks around a formula, and its escaping backslashes.
_TICKED = re.compile(r"`([^`\n\\^_*]*[\\^_*][^`\n]*)`")
_ESCAPED = re.compile(r"\\(?<!\\\\)([*_])")
#: Scripts in HTML and old TeX.
_RAISED = re.compile(
    r"<su([bp])>([^<>]{1,40})</su\1>|\\(?:text)?s(?:ub|uper)script(?![A-Za-z]) ?|\\s[bp](?![A-Za-z]) ?"
)
#: The dash between people's names: Hahn--Banach in LaTeX, Hahn–Banach in print.
_JOINED_NAMES = re.compile(r"(?<=[^\W\d_])(?:--+|[–—−]|\\textendash ?)(?=[^\W\d_a-z])")
#: Combining marks that do not form a letter of their own with the one that they modify.
_MARKS = re.compile(r"[\u0300-\u036f\u20d0-\u20f0]+")
#: 𝒪X, as copied from print.
_STRUCTURE_SHEAF = re.compile(r"(?<=[𝒪𝓞])(?=[A-Z\U0001d434-\U0001d44d](?!\w))")
_HYPHEN = r"[-‐‑–]"
_STAR_ALGEBRA = re.compile(
    rf"(?<![A-Za-z0-9\\])(?:([A-Z])(?:(?:\*|\\star ?)(?={_HYPHEN}|[\s.,;:)$\\]|\Z)|-star(?=[-\s]))"
    rf"|([Aa][Ww]|[Jj][Bb]?[Ww]?|[B-Zb-z])(?:\*|\\star ?|[- ]?star)(?=(?:{_HYPHEN}|\s){{1,2}}(?:[Ss]ub|pre)?"
    r"(?:[Aa]lgebra|[Tt]riple|ALGEBRA|[Nn]orm|[Cc]ategor|[Bb]undle|[Mm]odule|[Dd]ynamic|[Tt]ensor|[Ii]somorph"
    r"|[Hh]omomorph|[Tt]opolog|[Ii]dentit|[Ii]dentif|[Ee]nvelop|[Cc]orrespond|[Cc]ross)))"
)
#: The star of a *-homomorphism.
_STAR = re.compile(r"(?<![\w)}\]*^\\$])(?:\\\((?:\*|\\ast ?|\\star ?)\\\)|\*)(?=-[A-Za-z])")
_INFINITY = re.compile(r"(?<![\w\\])[Ii]nfinity(?=[- ](?:categor|topos|topoi|groupoid|operad|bundle|cosmos|stack))")
_GREEK_LETTER = re.compile(r"(?<![\u0370-\u03ff\u1f00-\u1fff])[\u0391-\u03f6](?![\u0370-\u03ff\u1f00-\u1fff])")

# Formulas

#: Formulas in brackets, which do not nest, and the delimiters of others.
_FORMULA = re.compile(r"\\\((?P<round>(?:[^\\]|\\[^()])*)\\\)|\\\[(?P<square>(?:[^\\]|\\[^\[\]])*)\\\]", re.DOTALL)
_DOLLARS = re.compile(r"(\$(?<!\\\$)\$?)")
#: Text between two amounts of money, and between the end of a formula and the start of the next.
_AMOUNT = re.compile(r"\d[\d.,]*\s+[A-Za-z]{2,}")
_PROSE = re.compile(r"(?<![\\A-Za-z{])[A-Za-z]{2,}\s+[A-Za-z]{2,}")
_PRIME = re.compile(r"(?<=[\w)}])(?:['′″]+|\\prime\b)(?=[\s_^(),.:;=$}\\]|\Z)|\^\s*\{?(?:\\prime\s*)+\}?")
#: An unbraced script: in a formula one character or command, elsewhere a run of letters or digits.
_SHORT = re.compile(r"(?<!\s)\s*([_^])\s*(\\[A-Za-z]+|[A-Za-z0-9*!+])")
#: H ^ 1, where the sign belongs to one letter.
_SPACED = re.compile(r"(?<![\w\\])([A-Za-z]) ?([_^]) (?=(?:[A-Za-z]|\d{1,3})(?!\w))")
_BARE = re.compile(
    r"(?<=[A-Za-z0-9)\]}])\s?([_^])(\\[A-Za-z]+|-?\d+|[*!+]|(?<=\^)[A-Za-z](?=[A-Za-z][_^])|[A-Za-z]+(?![A-Za-z0-9]))"
)
#: Signs between two letters or numbers, with or without blanks; a quotient stays together.
_SIGN = re.compile(r"(?<![\w^_.-])([A-Za-z](?=[-+:](?:[A-Za-z]|\d+)(?![\w.]))|\d+(?=[-+:][A-Za-z](?![\w.])))[-+:]")
_SIGNS = re.compile(r"(?<!\\)[-+*:=|,;.&]|(?<!\s)\s+(?=/)|(?<=/)\s+")
_RESTRICTED = re.compile(r"\|\s*(?=_)")
#: ASCII substitutes for symbols.
_ASCII = {"->": "to", "-->": "to", "|->": "mapsto", "<=": "leq", ">=": "geq", "!=": "neq"}
_ASCII |= {"(x)": "otimes", "(+)": "oplus"}
_ASCII_MARK = re.compile(r"[<>!]=|->|\([x+]\)")
_ASCII_SYMBOL = re.compile(r"(?<=[\s\w)])(?:-{1,2}>|\|->|[<>!]=)|(?<=\s)\([x+]\)(?=[\s_^])")

# Commands and braces

_FACE = re.compile(
    r"\\(?:math(?:cal|bf|bb|frak|rm|it|sf|scr|tt|op|bin|rel|ord|normal)|text(?:it|bf|rm|tt|sf|sl|up|sc|normal)?|emph"
    r"|operatorname\*?|overline|underline|wide(?:tilde|hat)|over(?:right|left)arrow|bar|hat|tilde|vec|dot|ddot|check"
    r"|breve|acute|grave|bm|boldsymbol|pmb|mbox|hbox|rm|it|bf|sf|tt|sl|sc|em|cal|frak|Bbb|left|right|[bB]igg?[lrm]?"
    r"|displaystyle|textstyle|scriptstyle|(?:no)?limits|quad|qquad|noindent|medskip|smallskip|bigskip|item|par"
    r"|centering|hline|colon|c?dots|ldots|nonumber|notag|hspace\*?|vspace\*?|phantom|prime|mathstrut|strut|ensuremath|xymatrix|ar)"
    r"(?![A-Za-z])\s*(?:\{([^{}\\]*)\})?"
)
#: A command directly followed by another, which must not merge with what that leaves.
_ABUTTING = re.compile(r"\\[A-Za-z]+(?=\\)")
_FRACTION = re.compile(r"\\[td]?frac\s*\{([^{}]*)\}\s*\{([^{}]*)\}")
_COMMAND = re.compile(r"\\([A-Za-z]+)\*? ?")
#: Braces around the base of a script or around one or two letters, and those inside a script.
_GROUP = re.compile(r"(?<![_^])\{([^{}]*)\}(?=\s*[_^])|(?<![_^])\{(\w{1,2})\}")
_NESTED = re.compile(r"([_^]\s*\{[^{}]*)\{([^{}]*)\}")
_BRACED = re.compile(r"(?<!\s)\s*([_^])\s*\{([^{}]*)\}")
_NOT_IN_SCRIPT = re.compile(r"[^\w+*/^-]+")
#: The marks for the end of a script and for the place of a command.
_END = "\x01"
_EDGE = "\x02"
_UPPER_FIRST = re.compile(rf"\^([^_^{_END}\s]+){_END}_([^_^{_END}\s]+){_END}")
_ENDED = re.compile(rf"{_END}(?=[_^])|{_END}-?|(?<=\w){_EDGE}+(?=[^\W_])")
#: More deeply nested scripts are left as they are.
_DEPTH = 6


def one_notation(text: str) -> str:
    """Rewrite the mathematics in a text as plain words and scripts; other text is unchanged."""
    if not _SUSPECT.search(text):
        return text
    text = _unescaped(_GAP.sub(lambda gap: "\n\n" if gap[0].count("\n") > 1 else gap[0][0], text))
    if "$" in text:
        text = _bracketed(text)
    if not text.isascii():
        text = _from_unicode(text)
    text = without_accents(text)
    if "--" in text or "\\textendash" in text or not text.isascii():
        text = _JOINED_NAMES.sub("-", text)
    text = _BESIDE.sub(" ", text)
    if "-" in text:
        text = _STAR.sub("star", text)
    if "nfinity" in text:
        text = _INFINITY.sub(r"\\infty ", text)
    text = _FACE.sub(r"\1", _ABUTTING.sub(r"\g<0> ", text))
    text = _RESTRICTED.sub("", text)
    text = _STAR_ALGEBRA.sub(r"\1\2^*", text)
    if "\\" in text:
        text = _FORMULA.sub(lambda found: _formula(found["round"] or found["square"] or ""), text)
    return _attached(_without_commands(_outside_formulas(text)))


def _unescaped(text: str) -> str:
    """Remove Markdown's marks around formulas and rewrite raised text as scripts."""
    if "`" in text:
        text = _TICKED.sub(r"$\1$", text)
    if "\\" in text or "<su" in text:
        text = _RAISED.sub(_html_script, _ESCAPED.sub(r"\1", text))
    return text


def _outside_formulas(text: str) -> str:
    """Normalize scripts and signs outside marked formulas."""
    if "_ " in text or "^ " in text:
        text = _SPACED.sub(r"\1\2", text)
    text = _BARE.sub(r"\1{\2}", _SIGN.sub(r"\1 ", _PRIME.sub("", text)))
    if _ASCII_MARK.search(text):
        text = _ASCII_SYMBOL.sub(lambda symbol: f" {_ASCII[symbol[0]]} ", text)
    return text


def _html_script(script: re.Match[str]) -> str:
    if script[2] is not None:
        return f"{'^' if script[1] == 'p' else '_'}{{{script[2]}}}"
    if "sub" in script[0] or "sb" in script[0]:
        return "_"
    return "^"


def _from_unicode(text: str) -> str:
    """Rewrite symbols, letters of mathematical alphabets and raised characters as LaTeX."""
    text = _MARKS.sub("", unicodedata.normalize("NFC", _STRUCTURE_SHEAF.sub("_", text)))
    text = _raised().sub(_as_script, text).translate(unicode_commands()).translate(PLAIN_LETTERS)
    return _GREEK_LETTER.sub(lambda letter: greek_commands().get(letter[0], letter[0]), text)


@cache
def _raised() -> re.Pattern[str]:
    return re.compile(f"[{SUPERSCRIPTS}]+|[{SUBSCRIPTS}]+")


def _as_script(raised: re.Match[str]) -> str:
    sign = "^" if raised[0][0] in SUPERSCRIPTS else "_"
    return f"{sign}{{{unicodedata.normalize('NFKC', raised[0]).replace('−', '-')}}}"


def _bracketed(text: str) -> str:
    """Rewrite formulas between dollars as `\\(x\\)`, leaving dollars that delimit none."""
    before, *rest = _DOLLARS.split(text)
    marks = [*rest[::2], ""]
    texts = [*rest[1::2], ""]
    written = [before]
    at = 0
    while marks[at]:
        if marks[at] == marks[at + 1] and _is_formula(marks[at], texts[at], texts[at + 1]):
            written += [_in_brackets(texts[at]), texts[at + 1]]
            at += 1
        elif marks[at : at + 2] == ["$", "$$"] and _is_formula("$", texts[at], ""):
            # `$x$$y$` are two formulas.
            written.append(_in_brackets(texts[at]))
            marks[at + 1] = "$"
        else:
            written += [marks[at], texts[at]]
        at += 1
    return "".join(written)


def _is_formula(mark: str, inner: str, after: str) -> bool:
    """Return True if the text between two dollars is a formula, not prose between amounts or formulas."""
    if not inner.strip() or "\n\n" in inner:
        return False
    if mark == "$$":
        return True
    if _AMOUNT.match(inner):
        return False
    if not inner[0].isspace() and not inner[-1].isspace():
        return not after[:1].isdigit()
    return not inner[0].isdigit() and not _PROSE.search(inner) and not (after[:1].isalnum() or after[:1] == "\\")


def _in_brackets(inner: str) -> str:
    """Put a formula in brackets, with the blanks at its edges outside."""
    return f"{' ' if inner[0].isspace() else ''}\\({inner.strip()}\\){' ' if inner[-1].isspace() else ''}"


def _formula(inner: str) -> str:
    """Normalize a formula: braced scripts, blanks for signs, no blanks at the edges."""
    return "".join(_outside(_SHORT.sub(r"\1{\2}", _PRIME.sub("", inner)))).strip()


def _outside(braced: str) -> list[str]:
    """Return the pieces of a formula in order, without signs outside braces."""
    pieces = []
    depth = 0
    start = 0
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
    """Attach scripts to their bases and remove all other braces."""
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
    if named:
        return f"{script[1]}{named}{_END}"
    return _END
