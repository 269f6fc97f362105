"""Words too common to tell documents apart."""

from __future__ import annotations

from rifflux.text.lexicon import word_lists


def stop_words(language: str) -> frozenset[str]:
    """Return the stop words of a Snowball language, case-folded, with diacritics; empty for one without a list."""
    return word_lists("stop_words").get("english" if language == "porter" else language, frozenset())
