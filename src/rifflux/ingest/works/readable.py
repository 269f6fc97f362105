"""LaTeX as people read it: titles, names and venues in Unicode, their formulas as they are."""

from __future__ import annotations

import logging
from functools import cache
from typing import Any

from rifflux.errors import MissingExtra

__all__ = ["needed", "readable"]


def readable(latex: str) -> str:
    """The text with accents and symbols as characters and without commands; formulas stay as they are."""
    if not set("\\{}~$-`'") & set(latex):
        return " ".join(latex.split())
    try:
        text = str(_decoder().latex_to_text(latex))
    except Exception:  # it raises anything at what is no LaTeX; the text itself is better than none
        text = latex
    return " ".join(text.split())


@cache
def _decoder() -> Any:
    with needed("LaTeX"):
        from pylatexenc.latex2text import LatexNodes2Text

    # It warns of every slip of an author on stderr.
    logging.getLogger("pylatexenc").setLevel(logging.CRITICAL)
    return LatexNodes2Text(math_mode="verbatim", keep_comments=True)


class needed:  # noqa: N801 - reads as a statement
    """Turns a missing package into an error that names the extra."""

    def __init__(self, what: str) -> None:
        self._what = what

    def __enter__(self) -> None:
        return

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        if isinstance(error, ImportError):
            raise MissingExtra(f"importing {self._what} needs a parser: pip install 'rifflux[works]'") from error
