"""LaTeX and Unicode mathematics brought to the plain spelling that the analyzer can read.

`\\mathcal{O}_X`, `{\\mathcal O}_X` and 𝒪_X all become `O_X`; `H^{1}` becomes `H^1`. Nothing is solved or understood:
only the ways of writing one symbol meet.
"""

import re

__all__ = ["plain_math"]

#: Commands that only change the look of what follows.
_FACE = re.compile(
    r"\\(?:mathcal|mathbf|mathbb|mathfrak|mathrm|mathit|mathsf|mathscr|mathop|textit|textbf|textrm|texttt|text"
    r"|emph|operatorname\*?|overline|widetilde|widehat|underline|bar|hat|tilde|boldsymbol)\b\s*"
)
#: Commands and environments that lay out the page and say nothing.
_LAYOUT = re.compile(
    r"\\(?:begin|end)\s*\{[^{}]{0,40}\}(?:\[[^\[\]]{0,40}\])?"
    r"|\\(?:label|ref|eqref|cite|input|include|includegraphics)\s*(?:\[[^\[\]]*\])?\{[^{}]*\}"
    r"|\\(?:item|left|right|big|Big|bigl|bigr|quad|qquad|noindent|medskip|smallskip|bigskip|it|bf|rm|sf|tt|em"
    r"|displaystyle|limits|nolimits|colon|ldots|cdots|dots|xymatrix|ar|hline|centering|par)\b"
    r"|\\[,;:!> ]"
)
#: `\\'etale`, `Erd\\H{o}s`, `\\"{u}ber`: an accent written as a command, before a single letter.
_ACCENT = re.compile(r"\\(?:['\"`^~=.]\s*\{?|[Hcvuk]\{)\\?([A-Za-z])\}?")
_SCRIPT = re.compile(r"(?<!\s)\s*([_^])\s*\{\s*([^{}\\\s]{1,12})\s*\}")
_BRACED_LETTER = re.compile(r"\{\s*(\w{1,3})\s*\}(?=\s*[_^])")
_COMMAND = re.compile(r"\\([A-Za-z]+)\*?")


def plain_math(text: str) -> str:
    """Rewrite LaTeX so that letters, scripts and names remain; text without a backslash or `^{` is unchanged."""
    if "\\" not in text and "^{" not in text and "_{" not in text:
        return text
    text = _ACCENT.sub(r"\1", text)
    text = _LAYOUT.sub(" ", text)
    text = _FACE.sub("", text)
    text = _BRACED_LETTER.sub(r"\1", text)
    text = _SCRIPT.sub(r"\1\2", text)
    return _COMMAND.sub(r" \1 ", text)
