"""Features of a question's wording: its words, neighboring words and shape, without its subjects.

Words that no example contains are the subject of a question. A run of them becomes one gap, as do titles and
identifiers, so `Adam vs SGD` and `Lebesgue vs Riemann integration` have the same features: a gap, `vs`, a gap.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator

from rifflux.text.analyzer import fold

#: A gap of an example.
GAP = re.compile(r"\{\w\}")
#: Stand for a run of subject words, and for the beginning and end of a question.
SUBJECT = "_"
START = "^"
END = "$"
#: A word in fewer examples is a subject.
LEAST_EXAMPLES = 2
#: The first letters of a longer word are a feature: `compar`, `prereq`.
PREFIX = 5
#: More gaps than this are counted as this many; lengths are counted in steps of `STRIDE` words, at most `LONGEST`.
MOST_GAPS = 3
STRIDE = 3
LONGEST = 6

_QUOTED = re.compile(r"\"[^\"]*\"|“[^”]*”|‘[^’]{6,}’(?!\w)|(?<!\w)'[^']{6,}'(?!\w)")
_TITLE = re.compile(
    r"(?<![\w'’-])(?:[A-Z][\w'’-]*)(?:\s+(?:(?:of|the|and|in|on|for|to|a|an|with|from|by|under)\s+)*[A-Z][\w'’-]*){2,}"
)
_TOKEN = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*|\d[\w.:/-]*|[?,:;/&]")
_MARKS = frozenset("?,:;/&")
#: Shapes that are features, whatever the words are.
_SHAPES = (
    ("identifier", re.compile(r"\b10\.\d{4,}/|\b(?:arxiv|doi|pmid|isbn)\b|\bW\d{6,}", re.I)),
    ("year", re.compile(r"\b(?:1[4-9]|20)\d\d\b")),
    ("quoted", _QUOTED),
    ("title", _TITLE),
    ("owner", re.compile(r"\w['’]s? [\"“]?[A-Z]")),
)


def untitled(text: str, *, other: str = " _ ") -> str:
    """Return a text with `other` for each quotation and each run of three or more words capitalized like a title."""

    def replaced(title: re.Match[str]) -> str:
        # The first word of a text is capitalized anyway.
        if title.string[: title.start()].strip():
            return other
        return title[0].partition(" ")[0] + other

    return _TITLE.sub(replaced, _QUOTED.sub(other, text))


def known_words(texts: Iterable[str]) -> frozenset[str]:
    """Return the words that several examples contain outside of their gaps."""
    counts = Counter(word for text in texts for word in {*_tokens(GAP.sub(" ", text))})
    return frozenset(word for word, count in counts.items() if count >= LEAST_EXAMPLES and word[0].isalpha())


def features_of(text: str, known: frozenset[str]) -> set[str]:
    """Return the features of a text: words, pairs and triples of words and gaps, beginnings of words, and its shape."""
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
    """Yield the known words and marks, and one gap for each run of other words."""
    last = ""
    for token in tokens:
        bare = token.removesuffix("'s")
        if token in _MARKS or token in known:
            current = token
        elif bare in known:
            current = bare
        else:
            current = SUBJECT
        if current != SUBJECT or last != SUBJECT:
            yield current
        last = current
