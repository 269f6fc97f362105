"""Accents and letters that LaTeX writes as commands: `Erd{\\H o}s`, `\\v Cech`, `Weierstra{\\ss}`, and Łojasiewicz.

Accents are dropped and letters written out (Łoś is Los, Øksendal is Oksendal, Nœther is Noether), as the analyzer of
mathematics wants them: who asks for a name types it with or without.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

__all__ = ["PLAIN_LETTERS", "without_accents"]

_LETTERS = {
    "ss": "ss", "oe": "oe", "OE": "Oe", "ae": "ae", "AE": "Ae", "aa": "a", "AA": "A", "dj": "d", "DJ": "D",
    "o": "o", "O": "O", "l": "l", "L": "L",
}  # fmt: skip
#: Letters that Unicode takes for letters of their own, without an accent to be dropped; for `str.translate`.
PLAIN_LETTERS: Mapping[int, str] = str.maketrans(
    {"Ł": "L", "ł": "l", "Ø": "O", "ø": "o", "Œ": "Oe", "œ": "oe", "Æ": "Ae", "æ": "ae", "Đ": "D", "đ": "d"}
)

_SIGN, _NAME = r"['\"`^~=.]", "[Hcvukrdbt]"
#: What bears the accent: a letter, or a command of one letter with the blank that ends it.
_BEARER = r"(?:\\[A-Za-z](?![A-Za-z]) ?|[A-Za-z])"
_BORNE = rf"(?:\{{ ?{_BEARER} ?\}}|{_BEARER})"
_ACCENT = re.compile(
    rf"\{{ ?\\(?:{_SIGN} ?|{_NAME}(?: |(?=[\\{{]))){_BORNE} ?\}}"  # {\'e} {\H o} {\v{C}}
    rf"|\\(?:{_SIGN} ?|{_NAME} ?(?=\{{)){_BORNE}"  # \'e \'{e} \v{C} \"\i
    # \v Cech, Erd\H os: a part of a word, as `\c x` is a command of somebody's own in a formula.
    r"|\\[Hcvukr] (?:[A-Za-z](?=[a-z])|(?<=[A-Za-z]\\[Hcvukr] )[A-Za-z])"
)
_COMMANDS = "|".join(sorted(_LETTERS, key=len, reverse=True))
_LETTER = re.compile(rf"\{{ ?\\({_COMMANDS})(?![A-Za-z]) ?\}}|\\({_COMMANDS})(?![A-Za-z])(?:\{{\}}| (?=[a-z]{{2}}))?")


def without_accents(text: str) -> str:
    """Rewrite what LaTeX says of a letter into the plain letter."""
    if "\\" not in text:
        return text
    text = _ACCENT.sub(lambda accent: accent[0].strip("{} ")[-1], text)
    return _LETTER.sub(lambda letter: _LETTERS[letter[1] or letter[2]], text)
