"""What sort of question it is: one identifier, words around an identifier, or plain language; and why we think so."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from rifflux.text.analyzer import Analyzer
from rifflux.text.identifiers import labelled, named_results, numbered_results
from rifflux.types import Understanding

__all__ = ["classify"]

#: Above this share of identifiers among the words that mean something, a question is for one thing.
IDENTIFIER_SHARE = 0.5
#: Above this share it is a question about one thing.
MIXED_SHARE = 0.2
#: A word in at most this share of the chunks, or in this many, is rare enough to be a name.
RARE_SHARE, RARE_COUNT = 0.002, 2
_QUOTED = re.compile(r'"([^"]+)"')
#: Hahn–Banach is found where Hahn Banach is written, too.
_DASH = re.compile(r"(?<=[^\W\d_])\s?(?:--?|[‐‑–—−])\s?(?=[^\W\d_])")
#: Words that ask, and say nothing of what is asked for; the analyzer's stop words do the rest.
_ASKING = frozenset(
    ["tell", "explain", "show", "give", "find", "list", "describe", "please", "want", "know", "look", "search"]
)

Frequencies = Callable[[Sequence[str]], Mapping[str, int]]


def classify(text: str, analyzer: Analyzer, frequencies: Frequencies, documents: int) -> Understanding:
    """Classify a question; `frequencies` tells in how many of the `documents` chunks terms occur in this very index."""
    rest = _QUOTED.sub(" ", text)
    # A single word in quotes is mostly meant ironically or as a word; alone, it is what is looked for.
    quoted = [each for each in _QUOTED.findall(text) if len(analyzer.terms(each)) > 1 or not rest.strip()]
    # Anchors too, and yet words like others: a theorem is also described without its name.
    results = named_results(rest) if analyzer.mathematics == "notation" else []
    codes, rest = _codes(rest, analyzer)
    words = [word for word in _words(rest) if analyzer.of_word(word)]
    named = [f"{name!r} is a named result or object" for name in results]
    names = _names(words, analyzer, frequencies, documents, alone=not codes and not quoted)
    specific = len(codes) + len(quoted) + len(names)
    share = specific / max(1, len(codes) + len(quoted) + len(words))
    return Understanding(
        kind="identifier" if share > IDENTIFIER_SHARE else "mixed" if share > MIXED_SHARE else "conceptual",
        specificity=share,
        identifiers=(*codes, *quoted, *(_DASH.sub(" ", name) for name in results)),
        names=tuple(names),
        reasons=(*named, *_reasons(codes, quoted, names, words)),
    )


def _codes(text: str, analyzer: Analyzer) -> tuple[list[str], str]:
    """Return the identifiers in a text, each once, and the text without them."""
    codes = []
    for find in (numbered_results, labelled) if analyzer.mathematics == "notation" else (labelled,):
        for written, code in list(find(text)):
            codes.append(code)
            text = text.replace(written, " ")
    return list(dict.fromkeys(codes)), text


def _words(text: str) -> list[str]:
    words = (word.strip(".,;:!?()[]{}'") for word in text.split())
    return [word for word in words if word and word.lower() not in _ASKING]


def _names(
    words: Sequence[str], analyzer: Analyzer, frequencies: Frequencies, documents: int, *, alone: bool
) -> list[str]:
    """Return the words that are rare in this index and written as names inside the question, or are all of it."""
    single = alone and len(words) == 1
    candidates = [word for place, word in enumerate(words) if single or (place and word[0].isupper())]
    if not candidates:
        return []
    known = frequencies([term for word in candidates for term in analyzer.of_word(word)])
    most = max(RARE_COUNT, RARE_SHARE * documents)
    return [word for word in candidates if 0 < max(known.get(term, 0) for term in analyzer.of_word(word)) <= most]


def _reasons(codes: Sequence[str], quoted: Sequence[str], names: Sequence[str], words: Sequence[str]) -> list[str]:
    found = [f"{code!r} looks like an identifier" for code in codes]
    found += [f"{phrase!r} is quoted" for phrase in quoted]
    found += [f"{name!r} is rare in this index" for name in names]
    others = len(words) - len(names)
    return [*found, f"{others} other meaningful {'word' if others == 1 else 'words'}"]
