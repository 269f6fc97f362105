"""The analyzer: text becomes terms, the same way for documents and queries, whatever engine stores them.

    "The cacheTTL of D40, per 30 CFR 250.1725"  →  cachettl cach ttl d40 30 cfr 250.1725 250 1725

Words are folded (NFKC, case, diacritics), stop words dropped and the rest stemmed. Identifiers are kept whole *and*
split, so that both `cacheTTL` and `cache` find it; mathematics keeps its scripts (`H^1`, `O_X`); scripts without
spaces become bigrams.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from itertools import pairwise
from typing import Generic, TypeVar

from rifflux.errors import InvalidArgument
from rifflux.text.lexicon import stop_words

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

#: The characters of scripts without spaces, for use inside [] of an expression.
CJK = "\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0002fa1f"
_SYMBOL = "\u2190-\u23ff\u2600-\u27bf\u2900-\u2bff\U0001f000-\U0001faff"

#: One token: word characters joined by single inner connectors, with C++, C#, C^* kept.
_WORD = r"{w}+(?:[-.'/:@&+*^~]{w}+|\*-{w}+)*(?:\+\+|#|\^?\*(?!\w))?"
_TOKEN = re.compile(_WORD.format(w=r"\w"))
#: Plain words that a writer may as well join: e-mail and email, non-zero and nonzero meet in the joined form.
_HYPHENATED = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)+\Z")
_PART = re.compile(r"[^\W_]+")
#: camelCase, HTTPServer, version2Beta: the words inside one name; beyond ASCII, over its letters' shapes.
_HUMP = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+")
_HUMP_SHAPE = re.compile(r"A+(?=Aa)|A?a+|A+|0+")
_GROUPED_DIGITS = re.compile(r",(?<=\d,)(?=\d{3}\b)")
#: Typographic forms of the apostrophe and the hyphen.
_VARIANTS = (("’", "'"), ("‘", "'"), ("ʼ", "'"), ("‐", "-"), ("‑", "-"))


def fold(text: str) -> str:
    """Case-folded, compatibility-normalised text without diacritics."""
    if text.isascii():
        return text.lower()
    decomposed = unicodedata.normalize("NFKD", text.casefold())
    return unicodedata.normalize("NFC", "".join(c for c in decomposed if not unicodedata.combining(c)))


@dataclass(frozen=True, slots=True)
class _Scripts:
    """The patterns for what is not ASCII. Their character classes take 15 ms to compile, which plain text never needs.

    `special` finds scripts without spaces and symbols, `run` a CJK run, `token` is `_TOKEN` with both as tokens.
    """

    special: re.Pattern[str]
    run: re.Pattern[str]
    token: re.Pattern[str]


@cache
def _scripts() -> _Scripts:
    return _Scripts(
        special=re.compile(f"[{CJK}{_SYMBOL}]"),
        run=re.compile(f"[{CJK}]"),
        token=re.compile(rf"[{CJK}]+|[{_SYMBOL}]|" + _WORD.format(w=rf"[^\W{CJK}]")),
    )


def checked_language(language: object) -> str:
    """Return the name of a language that texts can be analyzed in. Raises `InvalidArgument`."""
    import Stemmer

    known = sorted({*Stemmer.algorithms(), "none"})
    if language not in known:
        raise InvalidArgument(f"unknown language {language!r}: choose one of {', '.join(known)}")
    return str(language)


#: Tokens that are remembered: natural language repeats itself, so most words are analyzed once.
_MOST_TOKENS = 65_536


class Memo(dict[K, V], Generic[K, V]):
    """A cache that makes missing values; it is emptied when full. `keep` rejects rare keys."""

    def __init__(self, make: Callable[[K], V], keep: Callable[[K], bool] | None = None) -> None:
        super().__init__()
        self._make = make
        self._keep = keep

    def __missing__(self, key: K) -> V:
        value = self._make(key)
        if self._keep is None or self._keep(key):
            if len(self) >= _MOST_TOKENS:
                self.clear()
            self[key] = value
        return value


@dataclass(frozen=True)
class Analyzer:
    """Turns text into terms. `language` is a Snowball name (`english`, `german`, …) or `none` for no stemming.

    `mathematics` is a name of `MATHEMATICS`: texts that are not about it lose by more than `latex`.
    """

    language: str = "english"
    mathematics: str = "latex"

    def __post_init__(self) -> None:
        if self.mathematics not in MATHEMATICS:
            raise InvalidArgument(f"no {self.mathematics!r} for mathematics; choose one of {', '.join(MATHEMATICS)}")

        checked_language(self.language)

    def of(self, language: str) -> Analyzer:
        """Return the analyzer of another language that reads mathematics alike; this one for an empty name."""
        if not language or language == self.language:
            return self
        return analyzer(language, self.mathematics)

    def beside(self, stands_for: Mapping[str, Mapping[str, str]], language: str) -> Analyzer:
        """Return the analyzer of texts of a language that are compared with a question read in another one.

        `stands_for` has by language the terms of the question that its terms stand for; they become those.
        """
        found = self.of(language)
        terms = stands_for.get(found.language)
        if terms:
            return _standing_for(found, tuple(sorted(terms.items())))
        return found

    def __reduce__(self) -> tuple[Callable[[str, str], Analyzer], tuple[str, str]]:
        """Pickle the settings alone: another process has its own memory of tokens."""
        return analyzer, (self.language, self.mathematics)

    @property
    def revision(self) -> int:
        return REVISIONS[self.mathematics]

    @cached_property
    def _terms(self) -> Memo[str, tuple[str, ...]]:
        return Memo(self._analyze)

    @cached_property
    def _words(self) -> Memo[str, tuple[str, ...]]:
        return Memo(lambda word: tuple(self.terms(word)))

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

    @cached_property
    def _joined(self) -> Memo[str, str]:
        known = self._terms
        return Memo(lambda word: " ".join(term for token in _tokens_of(word) for term in known[token]))

    def terms(self, text: str) -> list[str]:
        """Return the terms of `text` in order of appearance, with duplicates."""
        known = self._terms
        return [term for token in _tokens_of(self._plain(text)) for term in known[token]]

    def words(self, text: str) -> list[tuple[str, list[str]]]:
        """Return what stands between blanks in the plain spelling of `text`, each with its tokens, not folded."""
        words = self._plain(text).split()
        return list(zip(words, (_tokens_of(word) for word in words), strict=True))

    def terms_of(self, token: str) -> tuple[str, ...]:
        return self._terms[token]

    def of_word(self, word: str) -> tuple[str, ...]:
        """Return the terms of a word, remembered: for questions, whose words are looked at again and again."""
        return self._words[word]

    def joined(self, text: str) -> str:
        """Return the terms of `text` as one string with single spaces between: what an engine is given to index."""
        # No token reaches across a space, so what stands between two spaces is looked up as a whole: that takes a
        # fifth of the time of finding its tokens.
        known = self._joined
        return " ".join([terms for word in self._plain(text).split() if (terms := known[word])])

    @cached_property
    def _plain(self) -> Callable[[str], str]:
        return MATHEMATICS[self.mathematics]

    def _analyze(self, token: str) -> tuple[str, ...]:
        if not token.isascii() and _scripts().run.match(token):
            return tuple(first + second for first, second in pairwise(token)) or (token,)
        if token.isalpha() and (token.islower() or token.istitle() or token.isupper()):
            return self._word(token)
        return self._identifier(token)

    def _word(self, word: str) -> tuple[str, ...]:
        word = word.casefold()
        if word in self._stop:
            return ()
        # English writes its loan words with and without accents; elsewhere the stemmer needs them.
        if self.language == "english":
            stem = self._stem(fold(word))
        else:
            stem = fold(self._stem(word))
        if stem:
            return (stem,)
        return ()

    def _identifier(self, token: str) -> tuple[str, ...]:
        """Return the whole and the parts of a token that is more than a plain word, each once."""
        whole = fold(token)
        parts = [hump for part in _PART.findall(token) for hump in _humps(part)]
        if len(parts) == 1 and len(parts[0]) == len(token):
            return self._word(token)
        split = [term for part in parts if fold(part) != whole for term in self._word(part)]
        if _HYPHENATED.match(token):
            whole = "".join(self._word(token.replace("-", "").lower()))
        # Apostrophes only join words: don't, Smith's, L'Hôpital.
        return tuple(dict.fromkeys(split if "'" in token else [whole, *split]))


@dataclass(frozen=True)
class _Bridged(Analyzer):
    """Analyzes in one language, and gives the terms of a question in another language where these are alternatives."""

    terms_for: tuple[tuple[str, str], ...] = ()

    @cached_property
    def _known(self) -> Mapping[str, str]:
        return dict(self.terms_for)

    def _analyze(self, token: str) -> tuple[str, ...]:
        known = self._known
        return tuple(known.get(term, term) for term in super()._analyze(token))


@lru_cache(maxsize=64)
def _standing_for(analyzer: Analyzer, terms: tuple[tuple[str, str], ...]) -> Analyzer:
    return _Bridged(analyzer.language, analyzer.mathematics, terms)


def tokens(text: str) -> list[str]:
    """Return the tokens of `text` after Unicode and LaTeX normalisation: words, identifiers, CJK runs, symbols."""
    return _tokens_of(_latex(text))


def _composed(text: str) -> str:
    """Return the text with every character in its plain spelling."""
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text)
        for variant, plain in _VARIANTS:
            text = text.replace(variant, plain)
    if "," in text:
        return _GROUPED_DIGITS.sub("", text)
    return text


def _latex(text: str) -> str:
    return plain_math(_composed(text))


def _notation(text: str) -> str:
    from rifflux.text.notation import one_notation

    # First, as composing turns H¹ into H1.
    return _composed(one_notation(text))


#: How a text is brought to its plain spelling: as if it held no mathematics, with the ways of LaTeX to write one
#: symbol, or with all notations of a formula.
MATHEMATICS: Mapping[str, Callable[[str], str]] = {"none": _composed, "latex": _latex, "notation": _notation}
#: Raised when a way to read mathematics makes other terms of a text than before: an index is recorded with the one that
#: made its terms, and `rifflux doctor --repair` makes them again.
REVISIONS: Mapping[str, int] = {"none": 1, "latex": 1, "notation": 2}


def _tokens_of(plain: str) -> list[str]:
    """Return the tokens of text in its plain spelling."""
    if not plain.isascii() and _scripts().special.search(plain):
        return _scripts().token.findall(plain)
    return _TOKEN.findall(plain)


def _humps(part: str) -> list[str]:
    """Return the words inside one name: `parseHTTPHeader` → parse, HTTP, Header; a code such as `D40` is one."""
    if part.isascii():
        humps = _HUMP.findall(part)
    else:
        humps = [part[hump.start() : hump.end()] for hump in _HUMP_SHAPE.finditer(_shape(part))]
    if len(humps) > 1 and all(len(hump) <= 2 or hump.isdigit() for hump in humps):
        return [part]
    return humps


def _shape(part: str) -> str:
    """Return a name with capitals as A, other letters as a, digits as 0: one expression then serves all alphabets."""
    return "".join("A" if char.isupper() else "a" if char.isalpha() else "0" for char in part)


@lru_cache(maxsize=32)
def analyzer(language: str = "english", mathematics: str = "latex") -> Analyzer:
    """Return the analyzer of a language, shared so that its memory of tokens is too."""
    return Analyzer(language, mathematics)


# How much a term says, by how few chunks hold it


#: What FTS5 gives a term that half of all chunks or more hold.
LEAST = 1e-6


def idf(chunks: int, frequency: int) -> float:
    """Return Lucene's idf, which is never negative (Robertson and Zaragoza 2009, with 1 added)."""
    return math.log(1 + (chunks - frequency + 0.5) / (frequency + 0.5))


def okapi_idf(chunks: int, frequency: int) -> float:
    """Return the idf of FTS5's bm25(): Robertson's own, and next to nothing for what half of all chunks hold."""
    if 2 * frequency >= chunks:
        return LEAST
    return math.log((chunks - frequency + 0.5) / (frequency + 0.5))


# LaTeX and Unicode mathematics brought to the plain spelling that the analyzer can read


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
