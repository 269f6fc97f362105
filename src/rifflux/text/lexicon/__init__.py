"""Word lists in text files, loaded when first needed.

A line of a list is `key: words`; repeated keys continue their list. Lines that begin with `#` are comments.
`mathematics.txt` has the format of synonyms instead, and `spdx.tsv` is a table written by `scripts/build_licenses.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path

FOLDER = Path(__file__).parent


@cache
def word_lists(name: str) -> Mapping[str, frozenset[str]]:
    """Return the lists of `NAME.txt` by key, as words separated by blanks."""
    return {key: frozenset(text.split()) for key, text in _entries(name).items()}


@cache
def phrase_lists(name: str) -> Mapping[str, tuple[str, ...]]:
    """Return the lists of `NAME.txt` by key, as phrases separated by semicolons."""
    return {key: tuple(phrase.strip() for phrase in text.split(";")) for key, text in _entries(name).items()}


@cache
def stop_words(language: str) -> frozenset[str]:
    """Return the case-folded stop words of a Snowball language with diacritics; empty if it has no list."""
    return word_lists("stop_words").get("english" if language == "porter" else language, frozenset())


def _entries(name: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for line in FOLDER.joinpath(f"{name}.txt").read_text("utf-8").splitlines():
        key, colon, text = line.partition(": ")
        if colon and not line.startswith("#"):
            found[key] = f"{found[key]} {text}" if key in found else text
    return found
