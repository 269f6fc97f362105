"""LaTeX and HTML markup as readable Unicode: titles, names and venues, with formulas left as they are."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from html.parser import HTMLParser
from typing import TYPE_CHECKING

from rifflux.errors import Cure, MissingExtra

if TYPE_CHECKING:
    from pylatexenc.latex2text import LatexNodes2Text

#: The elements of titles and abstracts from publishers: HTML, JATS and MathML.
_ELEMENT = re.compile(
    r"[abpiu]|em|strong|su[bp]|span|br|tt|small|scp?|italic|bold|roman|title|sec|inline-formula|(?:jats|mml):[\w-]+"
    r"|m(?:ath|i|n|o|row|su[bp]|subsup|text|frac|sqrt|over|under|underover|fenced|stretchy|style|space|table|t[rd])|semantics|annotation(?:-xml)?"
)
#: The characters before the second and third child of an element.
_SCRIPTS = {"msup": "^", "msub": "_", "msubsup": "_^", "mover": " ", "munder": "_", "munderover": "_^", "mfrac": "/"}


def readable(latex: str) -> str:
    """Convert LaTeX to text: accents and symbols become characters, commands are removed, formulas stay."""
    if not set("\\{}~$-`'") & set(latex):
        return " ".join(latex.split())
    try:
        text = str(_decoder().latex_to_text(latex))
    except Exception:  # malformed LaTeX raises any exception; the raw text is better than none
        text = latex
    return " ".join(text.split())


def unmarked(text: str) -> str:
    """Remove HTML, JATS and MathML markup: `L<sup>2</sup> &amp; <i>p</i>-adic` becomes `L^2 & p-adic`."""
    for _ in range(2):  # Some sources escape twice.
        if not set("<&") & set(text):
            break
        text = _Unmarked.of(text)
    return " ".join(text.split())


class _Unmarked(HTMLParser):
    """Collects the text between known tags; anything that only resembles a tag, such as `a<b`, is text."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self._pieces: list[str] = []
        self._open: list[tuple[str, int]] = []

    @classmethod
    def of(cls, text: str) -> str:
        parser = cls()
        parser.feed(text)
        parser.close()
        return "".join(parser._pieces)

    def handle_data(self, data: str) -> None:
        if not any(name.startswith("annotation") for name, _ in self._open):
            self._pieces.append(data)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if not _ELEMENT.fullmatch(tag) or any(value is None for _, value in attrs):
            self._pieces.append(self.get_starttag_text() or "")
            return
        if self._open:
            outer, parts = self._open[-1]
            self._open[-1] = outer, parts + 1
            self._pieces.append(_SCRIPTS.get(outer, "")[parts - 1 : parts] if parts else "")
        name = tag.removeprefix("mml:")
        self._pieces.append(
            {"sup": "^", "sub": "_", "br": " ", "p": " ", "title": " "}.get(name.removeprefix("jats:"), "")
        )
        if name != "br":
            self._open.append((name, 0))

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._pieces.append(" " if _ELEMENT.fullmatch(tag) else self.get_starttag_text() or "")

    def handle_endtag(self, tag: str) -> None:
        name = tag.removeprefix("mml:")
        if any(name == each for each, _ in self._open):
            while self._open.pop()[0] != name:
                pass
        elif not _ELEMENT.fullmatch(tag):
            self._pieces.append(f"</{tag}>")


@cache
def _decoder() -> LatexNodes2Text:
    with needed("LaTeX"):
        from pylatexenc.latex2text import LatexNodes2Text

    # It logs every mistake of an author to stderr.
    logging.getLogger("pylatexenc").setLevel(logging.CRITICAL)
    return LatexNodes2Text(math_mode="verbatim", keep_comments=True)


@contextmanager
def needed(what: str) -> Iterator[None]:
    """Convert a missing package to an error that names the extra. Raises `MissingExtra`."""
    try:
        yield
    except ImportError as error:
        raise MissingExtra(f"importing {what} needs a parser", cure=Cure.INSTALL, package="rifflux[works]") from error
