"""Pieces of a question's wording: its words, neighbours and shape, with subjects left out.

What the examples never say is what a question is about. A run of such words becomes one gap, as do titles and
identifiers, so `Adam vs SGD` and `Lebesgue vs Riemann integration` have the same pieces: a gap, `vs`, a gap.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator

from rifflux.text.analyzer import fold

#: A gap of an example.
GAP = re.compile(r"\{\w\}")
#: What stands for a run of words that are no wording, and for where a question begins and ends.
SUBJECT = "_"
START = "^"
END = "$"
#: A word of fewer examples is taken for a subject.
LEAST_EXAMPLES = 2
#: So many letters of a longer word are a piece of their own: `compar`, `prereq`.
PREFIX = 5
#: More gaps than this, and texts of more than `LONGEST` times `STRIDE` words, are counted alike.
MOST_GAPS = 3
STRIDE = 3
LONGEST = 6

_QUOTED = re.compile(r"\"[^\"]*\"|“[^”]*”|‘[^’]{6,}’(?!\w)|(?<!\w)'[^']{6,}'(?!\w)")
_TITLE = re.compile(
    r"(?<![\w'’-])(?:[A-Z][\w'’-]*)(?:\s+(?:(?:of|the|and|in|on|for|to|a|an|with|from|by|under)\s+)*[A-Z][\w'’-]*){2,}"
)
_TOKEN = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*|\d[\w.:/-]*|[?,:;/&]")
_MARKS = frozenset("?,:;/&")
#: What else tells of a wording, whatever the words are.
_SHAPES = (
    ("identifier", re.compile(r"\b10\.\d{4,}/|\b(?:arxiv|doi|pmid|isbn)\b|\bW\d{6,}", re.I)),
    ("year", re.compile(r"\b(?:1[4-9]|20)\d\d\b")),
    ("quoted", _QUOTED),
    ("title", _TITLE),
    ("owner", re.compile(r"\w['’]s? [\"“]?[A-Z]")),
)


def untitled(text: str, *, other: str = " _ ") -> str:
    """Return a text with `other` in the place of what is quoted, and of three words or more spelt as titles are."""
    return _TITLE.sub(lambda run: _opened(run, other), _QUOTED.sub(other, text))


def _opened(run: re.Match[str], other: str) -> str:
    """Replace a title, but not the word that the text begins with: every sentence begins with a capital."""
    first, _, _ = run[0].partition(" ")
    if not run.string[: run.start()].strip():
        return f"{first}{other}"
    return other


def known_words(texts: Iterable[str]) -> frozenset[str]:
    """Return the words that several examples say outside of their gaps."""
    counts = Counter(word for text in texts for word in {*_tokens(GAP.sub(" ", text))})
    return frozenset(word for word, count in counts.items() if count >= LEAST_EXAMPLES and word[0].isalpha())


def pieces(text: str, known: frozenset[str]) -> set[str]:
    """Return the pieces of a text: words, pairs and triples of them with its gaps, beginnings of words, its shape."""
    tokens = [*_tokens(untitled(text))]
    masked = [*_masked(tokens, known)]
    row = [START, *masked, END]
    found = {token for token in masked if token != SUBJECT}
    for length in (2, 3):
        found |= {" ".join(row[start : start + length]) for start in range(len(row) - length + 1)}
    found |= {f"{token[:PREFIX]}~" for token in tokens if len(token) > PREFIX and token[0].isalpha()}
    found |= {f"#{name}" for name, shape in _SHAPES if shape.search(text)}
    gaps = min(masked.count(SUBJECT), MOST_GAPS)
    words = min(len(text.split()) // STRIDE, LONGEST)
    return found | {f"#{gaps} gaps", f"#{words * STRIDE} words"}


def _tokens(text: str) -> Iterator[str]:
    for token in _TOKEN.findall(text):
        yield fold(token.replace("’", "'"))


def _masked(tokens: Iterable[str], known: frozenset[str]) -> Iterator[str]:
    """Yield the words and marks of a wording, and one gap for each run of others."""
    last = ""
    for token in tokens:
        bare = token.removesuffix("'s")
        last, before = (token if token in _MARKS or token in known else bare if bare in known else SUBJECT), last
        if last != SUBJECT or before != SUBJECT:
            yield last
