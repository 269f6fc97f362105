"""The analyser: text becomes terms, the same way for documents and queries, whatever engine stores them.

    "The cacheTTL of D40, per 30 CFR 250.1725"  →  cachettl cach ttl d40 30 cfr 250.1725 250 1725

Words are folded (NFKC, case, diacritics), stop words dropped and the rest stemmed. Identifiers are kept whole *and*
split, so that both `cacheTTL` and `cache` find it; mathematics keeps its scripts (`H^1`, `O_X`); scripts without
spaces become bigrams.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property, lru_cache

from rifflux.errors import InvalidArgument
from rifflux.text.math import plain_math
from rifflux.text.stopwords import stop_words

__all__ = ["Analyser", "analyser"]

_CJK = "\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0002fa1f"
_SYMBOL = "\u2190-\u23ff\u2600-\u27bf\u2900-\u2bff\U0001f000-\U0001faff"

#: One token: a CJK run, a symbol, or word characters joined by single inner connectors, with C++, C#, C^* kept.
_TOKEN = re.compile(
    rf"[{_CJK}]+"
    rf"|[{_SYMBOL}]"
    rf"|[^\W{_CJK}]+(?:[-.'/:@&+*^~][^\W{_CJK}]+|\*-[^\W{_CJK}]+)*(?:\+\+|#|\^?\*(?!\w))?"
)
_PART = re.compile(r"[^\W_]+")
#: camelCase, HTTPServer, version2Beta: the words inside one name, over its letters' shapes (see _shape).
_HUMP = re.compile(r"A+(?=Aa)|A?a+|A+|0+")
_CJK_RUN = re.compile(rf"[{_CJK}]")
_GROUPED_DIGITS = re.compile(r"(?<=\d),(?=\d{3}\b)")
#: Typographic forms of the apostrophe and the hyphen.
_VARIANTS = str.maketrans("’‘ʼ‐‑", "'''--")
_CACHE_LIMIT = 200_000


def fold(text: str) -> str:
    """Case-folded, compatibility-normalised text without diacritics."""
    if text.isascii():
        return text.lower()
    decomposed = unicodedata.normalize("NFKD", text.casefold())
    return unicodedata.normalize("NFC", "".join(c for c in decomposed if not unicodedata.combining(c)))


class _Terms(dict[str, tuple[str, ...]]):
    """Token to terms, remembered: natural language repeats itself, so most tokens are analysed once."""

    def __init__(self, analyse: Callable[[str], Iterator[str]]) -> None:
        self._analyse = analyse

    def __missing__(self, token: str) -> tuple[str, ...]:
        if len(self) >= _CACHE_LIMIT:
            self.clear()
        terms = self[token] = tuple(dict.fromkeys(self._analyse(token)))
        return terms


@dataclass(frozen=True)
class Analyser:
    """Turns text into terms. `language` is a Snowball name (`english`, `german`, …) or `none` for no stemming."""

    language: str = "english"
    _cached: dict[str, object] = field(default_factory=dict, repr=False, compare=False)

    def __post_init__(self) -> None:
        import Stemmer

        known = {*Stemmer.algorithms(), "none"}
        if self.language not in known:
            raise InvalidArgument(f"no language {self.language!r}; choose one of {', '.join(sorted(known))}")

    @cached_property
    def _terms(self) -> _Terms:
        return _Terms(self._analyse)

    @cached_property
    def _stem(self) -> Callable[[str], str]:
        if self.language == "none":
            return str
        import Stemmer

        # The cache above remembers whole tokens, so the stemmer's own would only cost memory.
        return Stemmer.Stemmer(self.language, 0).stemWord  # type: ignore[no-any-return]

    @cached_property
    def _stop(self) -> frozenset[str]:
        return stop_words(self.language)

    def terms(self, text: str) -> list[str]:
        """The terms of `text` in order of appearance, duplicates kept."""
        known = self._terms
        return [term for token in tokens(text) for term in known[token]]

    def joined(self, text: str) -> str:
        """The terms of `text` as one string with single spaces between: what an engine is given to index."""
        return " ".join(self.terms(text))

    def _analyse(self, token: str) -> Iterator[str]:
        if _CJK_RUN.match(token):
            yield from _bigrams(token)
        elif token.isalpha() and (token.islower() or token.istitle() or token.isupper()):
            yield from self._word(token)
        else:
            yield from self._identifier(token)

    def _word(self, word: str) -> Iterator[str]:
        word = word.casefold()
        if word in self._stop:
            return
        # English writes its loan words with and without accents; elsewhere the stemmer needs them.
        stem = self._stem(fold(word)) if self.language == "english" else fold(self._stem(word))
        if stem:
            yield stem

    def _identifier(self, token: str) -> Iterator[str]:
        """The whole and the parts of a token that is more than a plain word."""
        whole = fold(token)
        parts = [hump for part in _PART.findall(token) for hump in _humps(part)]
        # Apostrophes only join words: don't, Smith's, L'Hôpital.
        if "'" not in token and not (len(parts) == 1 and len(parts[0]) == len(token)):
            yield whole
        for part in parts:
            if fold(part) != whole or len(parts) == 1:
                yield from self._word(part)


def tokens(text: str) -> list[str]:
    """The tokens of `text` after Unicode and LaTeX normalisation, before folding: words, identifiers, CJK runs, symbols."""
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text)
        text = text.translate(_VARIANTS)
    return _TOKEN.findall(_GROUPED_DIGITS.sub("", plain_math(text)))


def _humps(part: str) -> list[str]:
    """The words inside one name: `parseHTTPHeader` → parse, HTTP, Header; short codes such as `D40` stay whole."""
    humps = [part[hump.start() : hump.end()] for hump in _HUMP.finditer(_shape(part))]
    if len(humps) > 1 and all(len(hump) <= 2 or hump.isdigit() for hump in humps):
        return [part]
    return humps


def _shape(part: str) -> str:
    """A name with every capital as A, other letter as a, digit as 0: one expression then serves all alphabets."""
    return "".join("A" if char.isupper() else "a" if char.isalpha() else "0" for char in part)


def _bigrams(run: str) -> Iterator[str]:
    if len(run) == 1:
        yield run
    for first, second in zip(run, run[1:], strict=False):
        yield first + second


@lru_cache(maxsize=32)
def analyser(language: str = "english") -> Analyser:
    """The analyser of a language, shared so that its memory of tokens is too."""
    return Analyser(language)
