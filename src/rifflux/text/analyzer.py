"""The analyzer, which turns text into terms identically for documents and queries and for all engines.

    "The cacheTTL of D40, per 30 CFR 250.1725"  →  cachettl cach ttl d40 30 cfr 250.1725 250 1725

Words are folded (NFKC, case, diacritics), stop words are dropped, and the rest is stemmed. Identifiers are kept whole
*and* split, so that both `cacheTTL` and `cache` match; mathematics keeps its scripts (`H^1`, `O_X`); scripts without
spaces become bigrams.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from itertools import filterfalse, pairwise
from typing import Any, Generic, TypeVar
from zlib import crc32

from rifflux.errors import InvalidArgument
from rifflux.text.lexicon import stop_words

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

#: The characters of scripts without spaces, for use inside [] of a pattern.
CJK = "\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0002fa1f"
_SYMBOL = "\u2190-\u23ff\u2600-\u27bf\u2900-\u2bff\U0001f000-\U0001faff"

#: A token: word characters joined by single inner connectors, including C++, C# and C^*.
_WORD = r"{w}+(?:[-.'/:@&+*^~]{w}+|\*-{w}+)*(?:\+\+|#|\^?\*(?!\w))?"
_TOKEN = re.compile(_WORD.format(w=r"\w"))
#: Words written with or without a hyphen: e-mail and email, non-zero and nonzero have the joined form in common.
_HYPHENATED = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)+\Z")
_PART = re.compile(r"[^\W_]+")
#: Signs around a word that are never a part of its token.
_AROUND = ".,;:!?()[]{}\"'"
#: The words inside one name: camelCase, HTTPServer, version2Beta; beyond ASCII, over the shapes of its letters.
_HUMP = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+")
_HUMP_SHAPE = re.compile(r"A+(?=Aa)|A?a+|A+|0+")
_GROUPED_DIGITS = re.compile(r",(?<=\d,)(?=\d{3}\b)")
#: Typographic forms of the apostrophe and the hyphen.
_VARIANTS = (("’", "'"), ("‘", "'"), ("ʼ", "'"), ("‐", "-"), ("‑", "-"))
#: The pieces of a name: words, letters that stand for words, numbers; and its runs of letters or digits.
PIECES = re.compile(r"\b[^\W\d_](?![^\W\d_])(?:[.\s]+[^\W\d_](?![^\W\d_]))+|[^\W\d_]+(?:['’][^\W\d_]+)*|\d+")
LETTERS = re.compile(r"[^\W\d_]+|\d+")


def fold(text: str) -> str:
    """Case-fold a text, apply compatibility normalization and remove diacritics."""
    if text.isascii():
        return text.lower()
    decomposed = unicodedata.normalize("NFKD", text.casefold())
    return unicodedata.normalize("NFC", "".join(filterfalse(unicodedata.combining, decomposed)))


def first_mark(name: str) -> int:
    """Return 16 bits of the first word or number of a name, folded and without leading zeros; 0 without one."""
    piece = LETTERS.search(fold(name))
    if not piece:
        return 0
    # Whoever compares marks compares the names too: other words may have the same.
    return crc32((piece[0].lstrip("0") or "0").encode("utf-8", "surrogatepass")) & 0xFFFF


@dataclass(frozen=True, slots=True)
class _Scripts:
    """The patterns for non-ASCII text. Their character classes take 15 ms to compile, which plain text never needs.

    `special` matches scripts without spaces and symbols, `run` a CJK run, and `token` is `_TOKEN` with both as tokens.
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
    """Check that texts can be analyzed in a language and return its name. Raises `InvalidArgument`."""
    import Stemmer

    known = sorted({*Stemmer.algorithms(), "none"})
    if language not in known:
        raise InvalidArgument(f"unknown language {language!r}: choose one of {', '.join(known)}")
    return str(language)


#: The maximum number of cached tokens; language repeats itself, so most words are analyzed once.
_MOST_TOKENS = 65_536


class Memo(dict[K, V], Generic[K, V]):
    """A cache that computes missing values and is emptied when full. `keep` rejects rare keys."""

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
    """Turns text into terms. `language` is a Snowball name (`english`, `german`, …), or `none` for no stemming.

    `mathematics` is a key of `MATHEMATICS`; anything beyond `latex` harms texts that are not mathematical.
    """

    language: str = "english"
    mathematics: str = "latex"

    def __post_init__(self) -> None:
        if self.mathematics not in MATHEMATICS:
            raise InvalidArgument(
                f"unknown setting {self.mathematics!r} of mathematics: choose one of {', '.join(MATHEMATICS)}"
            )

        checked_language(self.language)

    def of(self, language: str) -> Analyzer:
        """Return the analyzer for another language with the same mathematics; this one for an empty name."""
        if not language or language == self.language:
            return self
        return analyzer(language, self.mathematics)

    def beside(self, stands_for: Mapping[str, Mapping[str, str]], language: str) -> Analyzer:
        """Return the analyzer for a text in `language` that is compared with a query in another language.

        `stands_for` maps, by language, terms to the query's terms of which they are translations; they are replaced by
        those.
        """
        found = self.of(language)
        terms = stands_for.get(found.language)
        if terms:
            return _standing_for(found, tuple(sorted(terms.items())))
        return found

    def __reduce__(self) -> tuple[Callable[[str, str], Analyzer], tuple[str, str]]:
        """Pickle the settings only; another process has its own token cache."""
        return analyzer, (self.language, self.mathematics)

    @cached_property
    def revision(self) -> int:
        return REVISIONS[self.mathematics]

    @cached_property
    def _terms(self) -> Memo[str, tuple[str, ...]]:
        return Memo(self._analyze)

    @cached_property
    def _words(self) -> Memo[str, tuple[str, ...]]:
        known = self._terms
        # Normalization changes no plain word, but for spelled mathematics.
        may_skip = self.mathematics != "notation"

        def terms(word: str) -> tuple[str, ...]:
            if may_skip and word.isascii() and word.isalpha():
                return known[word]
            return tuple(self.terms(word))

        return Memo(terms)

    @cached_property
    def _stem(self) -> Callable[[str], str]:
        if self.language == "none":
            return str
        return self._stemmer.stemWord  # type: ignore[no-any-return]

    @cached_property
    def _stemmer(self) -> Any:
        import Stemmer

        # The cache above stores whole tokens, so the stemmer's own would only cost memory.
        return Stemmer.Stemmer(self.language, 0)

    @cached_property
    def _stop(self) -> frozenset[str]:
        return stop_words(self.language)

    @cached_property
    def _joined(self) -> Memo[str, str]:
        known = self._terms

        def joined(word: str) -> str:
            token = word.strip(_AROUND)
            if token.isalpha() and token.isascii():
                return " ".join(known[token])
            return " ".join([term for token in _tokens_of(word) for term in known[token]])

        return Memo(joined)

    def terms(self, text: str) -> list[str]:
        """Return the terms of `text` in order of appearance, with duplicates."""
        known = self._terms
        return [term for token in _tokens_of(self._plain(text)) for term in known[token]]

    def words(self, text: str) -> list[tuple[str, list[str]]]:
        """Split the normalized `text` at blanks, and return each word with its unfolded tokens."""
        words = self._plain(text).split()
        return list(zip(words, (_tokens_of(word) for word in words), strict=True))

    def stems(self, words: Sequence[str]) -> Sequence[str]:
        """Return the terms of words of ASCII letters in lower case; they are not remembered."""
        if self.language == "none":
            return words
        return self._stemmer.stemWords(words)  # type: ignore[no-any-return]

    def of_words(self, words: Sequence[str]) -> dict[str, tuple[str, ...]]:
        """Return the terms of words, as `of_word` does; those of plain ones are found together, and not remembered."""
        plain: dict[str, str] = {}
        found: dict[str, tuple[str, ...]] = {}
        may_skip = self.mathematics != "notation" and type(self) is Analyzer
        for word in words:
            if may_skip and word.isascii() and word.isalpha() and (word.islower() or word.istitle() or word.isupper()):
                plain[word] = word.lower()
            else:
                found[word] = self.of_word(word)
        terms = dict(zip(plain, self.stems([*plain.values()]), strict=True))
        return found | {
            word: (terms[word],) if terms[word] and lower not in self._stop else () for word, lower in plain.items()
        }

    @cached_property
    def terms_of(self) -> Callable[[str], tuple[str, ...]]:
        """Return the function from a token to its terms, which are remembered."""
        return self._terms.__getitem__

    @cached_property
    def of_word(self) -> Callable[[str], tuple[str, ...]]:
        """Return the function from a word to its terms, remembered: words of questions are looked at again and again.

        A word may be several tokens.
        """
        return self._words.__getitem__

    def joined(self, text: str) -> str:
        """Return the terms of `text` joined by single spaces, as indexed by the engines."""
        # No token extends across a space, so look up whole words: that takes a fifth of the time of tokenizing.
        known = self._joined
        return " ".join([terms for word in self._plain(text).split() if (terms := known[word])])

    def first_term(self, text: str) -> str:
        """Return the first term of `text`, or an empty string."""
        for word in self._plain(text).split():
            if terms := self._joined[word]:
                return terms.split(" ", 1)[0]
        return ""

    def is_made_of(self, text: str, expected: Collection[str]) -> bool:
        """Return True if these are the terms of `text`."""
        left = {*expected}
        for word in self._plain(text).split():
            for term in self._joined[word].split():
                if term not in expected:
                    return False
                left.discard(term)
        return not left

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
        if word.isascii():
            stem = self._stem(word)
        # English spells loan words with and without accents; in other languages the stemmer needs them.
        elif self.language == "english":
            stem = self._stem(fold(word))
        else:
            stem = fold(self._stem(word))
        if stem:
            return (stem,)
        return ()

    def _identifier(self, token: str) -> tuple[str, ...]:
        """Return the distinct whole and parts of a token that is more than a plain word."""
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
    """Analyzes one language, replacing terms by those of a query in another language that they translate."""

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
    """Return the tokens of `text` after Unicode and LaTeX normalization: words, identifiers, CJK runs, symbols."""
    return _tokens_of(plain_math(text))


def _composed(text: str) -> str:
    """Normalize the characters of a text: compatibility forms, apostrophes, hyphens and grouped digits."""
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text)
        for variant, plain in _VARIANTS:
            text = text.replace(variant, plain)
    if "," in text:
        return _GROUPED_DIGITS.sub("", text)
    return text


#: Commands that only change the appearance of their argument.
_FACE = re.compile(
    r"\\(?:mathcal|mathbf|mathbb|mathfrak|mathrm|mathit|mathsf|mathscr|mathop|textit|textbf|textrm|texttt|text"
    r"|emph|operatorname\*?|overline|widetilde|widehat|underline|bar|hat|tilde|boldsymbol)\b\s*"
)
#: Commands and environments of layout, without content.
_LAYOUT = re.compile(
    r"\\(?:begin|end)\s*\{[^{}]{0,40}\}(?:\[[^\[\]]{0,40}\])?"
    r"|\\(?:label|ref|eqref|cite|input|include|includegraphics)\s*(?:\[[^\[\]]*\])?\{[^{}]*\}"
    r"|\\(?:item|left|right|big|Big|bigl|bigr|quad|qquad|noindent|medskip|smallskip|bigskip|it|bf|rm|sf|tt|em"
    r"|displaystyle|limits|nolimits|colon|ldots|cdots|dots|xymatrix|ar|hline|centering|par)\b"
    r"|\\[,;:!> ]"
)
#: Accents as commands before a single letter: `\\'etale`, `Erd\\H{o}s`, `\\"{u}ber`.
_ACCENT = re.compile(r"\\(?:['\"`^~=.]\s*\{?|[Hcvuk]\{)\\?([A-Za-z])\}?")
_SCRIPT = re.compile(r"(?<!\s)\s*([_^])\s*\{\s*([^{}\\\s]{1,12})\s*\}")
_BRACED_LETTER = re.compile(r"\{\s*(\w{1,3})\s*\}(?=\s*[_^])")
_COMMAND = re.compile(r"\\([A-Za-z]+)\*?")


def plain_math(text: str) -> str:
    """Normalize the characters of a text, and rewrite LaTeX in it to letters, scripts and names."""
    text = _composed(text)
    if "\\" not in text and "^{" not in text and "_{" not in text:
        return text
    text = _ACCENT.sub(r"\1", text)
    text = _LAYOUT.sub(" ", text)
    text = _FACE.sub("", text)
    text = _BRACED_LETTER.sub(r"\1", text)
    text = _SCRIPT.sub(r"\1\2", text)
    return _COMMAND.sub(r" \1 ", text)


def _notation(text: str) -> str:
    from rifflux.text.notation import one_notation

    # This comes first, since composing turns H¹ into H1.
    return _composed(one_notation(text))


#: Normalizations of a text: without mathematics, with LaTeX's spellings of symbols, or with all notations of formulas.
MATHEMATICS: Mapping[str, Callable[[str], str]] = {"none": _composed, "latex": plain_math, "notation": _notation}
#: Increased when a normalization changes the terms of texts: an index records the revision that produced its terms, and
#: `rifflux doctor --repair` recomputes them.
REVISIONS: Mapping[str, int] = {"none": 1, "latex": 1, "notation": 2}


def _tokens_of(plain: str) -> list[str]:
    """Return the tokens of a normalized text."""
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
    """Map capitals to A, other letters to a and the rest to 0, so that one pattern serves all alphabets."""
    return "".join("A" if char.isupper() else "a" if char.isalpha() else "0" for char in part)


@lru_cache(maxsize=32)
def analyzer(language: str = "english", mathematics: str = "latex") -> Analyzer:
    """Return the shared analyzer of a language, and with it its token cache."""
    return Analyzer(language, mathematics)


# Inverse document frequency


#: FTS5's idf of a term in half of all chunks or more.
LEAST = 1e-6


def idf(chunks: int, frequency: int) -> float:
    """Return Lucene's idf, which is never negative (Robertson and Zaragoza 2009, plus 1)."""
    return math.log(1 + (chunks - frequency + 0.5) / (frequency + 0.5))


def okapi_idf(chunks: int, frequency: int) -> float:
    """Return the idf of FTS5's bm25(): Robertson's, and almost zero for terms in half of all chunks or more."""
    if 2 * frequency >= chunks:
        return LEAST
    return math.log((chunks - frequency + 0.5) / (frequency + 0.5))


# The edit distance of terms, and those near a misspelled one


@dataclass(frozen=True)
class NearSpelling:
    """Matches words within `most` edits of `term`.

    A store may first leave out terms whose `letters` or length are too different.
    """

    term: str
    most: int

    @cached_property
    def letters(self) -> frozenset[str]:
        """Return the letters of the term; one edit makes a difference of at most two between such sets."""
        return frozenset(self.term)

    def __call__(self, other: str) -> bool:
        """Return True if another word is within `most` edits."""
        if len(self.letters.symmetric_difference(other)) > 2 * self.most:
            return False
        return other.isalpha() and distance(self.term, other, self.most) <= self.most


class AnyOf(frozenset[str]):
    """Matches some words. A store may look these up instead of comparing each of its terms."""

    __call__ = frozenset.__contains__


def distance(one: str, other: str, most: int) -> int:
    """Return the edit distance of two words, or `most + 1` if it is larger than `most`.

    Restricted Damerau-Levenshtein distance: insertions, deletions, substitutions and swaps of neighbours; no part is
    edited twice.
    """
    if abs(len(one) - len(other)) > most:
        return most + 1
    one, other = _differing(one, other)
    if len(one) <= 1 and len(other) <= 1:
        return max(len(one), len(other))
    if most == 1:
        # Of more than one letter, only two that are swapped are one change.
        return 1 if len(one) == 2 and one == other[::-1] else 2
    before: list[int] = []
    last = list(range(len(other) + 1))
    for row, letter in enumerate(one, 1):
        line = [row]
        for column, against in enumerate(other, 1):
            value = min(last[column] + 1, line[-1] + 1, last[column - 1] + (letter != against))
            if before and column > 1 and letter == other[column - 2] and one[row - 2] == against:
                value = min(value, before[column - 2] + 1)
            line.append(value)
        if min(line) > most:
            return most + 1
        before = last
        last = line
    return min(last[-1], most + 1)


def _differing(one: str, other: str) -> tuple[str, str]:
    """Return both words without their common prefix and suffix, which do not affect the distance."""
    start = 0
    while start < min(len(one), len(other)) and one[start] == other[start]:
        start += 1
    one = one[start:]
    other = other[start:]
    end = 0
    while end < min(len(one), len(other)) and one[-1 - end] == other[-1 - end]:
        end += 1
    return one[: len(one) - end], other[: len(other) - end]
