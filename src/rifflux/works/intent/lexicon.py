"""The word lists of questions about works, `text/lexicon/intents.txt`, as parts of regular expressions."""

from __future__ import annotations

from rifflux.text.lexicon import phrase_lists


def group(name: str) -> str:
    """Return a list as a group, such as `(?:paper|article)`."""
    return f"(?:{alternatives(name)})"


def alternatives(name: str) -> str:
    """Return a list as alternatives, such as `paper|article`."""
    return "|".join(phrase_lists("intents")[name])


def words(name: str) -> frozenset[str]:
    """Return a list of plain words as a set."""
    return frozenset(phrase_lists("intents")[name])
