"""Find what source code says about itself in words: docstrings, comments in blocks, and comments of several lines.

A definition is quoted as code, but what it does, what a parameter means and what its default is stand in the
documentation inside it, which reads as prose.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from rifflux.answer.blocks import AnswerBlock, blocks
from rifflux.types import Span

#: Strings over several lines, comments between marks, and at least two lines that each begin with the same mark.
_DOCUMENTED = re.compile(
    r"(?P<quote>\"\"\"|''')(?P<quoted>.*?)(?P=quote)"
    r"|/\*+(?P<between>.*?)\*+/"
    r"|^[ \t]*(?P<mark>#+|//+|--+|;+)(?![!{])[^\n]*(?:\n[ \t]*(?P=mark)[^\n]*)+",
    re.DOTALL | re.MULTILINE,
)
#: What precedes the words in a line of a comment.
_LINE_MARK = re.compile(r"[ \t]*(?:(?:#+|//+|--+|;+)[:!]?|\*(?!\S))[ \t]?")
_WORDS = re.compile(r"[^\W\d_]{2,}\s+[^\W\d_]{2,}")


@dataclass(frozen=True, slots=True)
class _Text:
    """The words of a piece of documentation, with the place of each of its lines here and in the code."""

    text: str
    places: Sequence[tuple[int, int]]

    def span_of(self, span: Span) -> Span:
        """Return the place in the code of a span of the text."""
        return self._place_of(span[0]), self._place_of(span[1])

    def _place_of(self, place: int) -> int:
        here, there = max(each for each in self.places if each[0] <= place)
        return there + place - here


def documentation(text: str) -> list[Span]:
    """Return the places of the documentation in source code."""
    found = []
    for match in _DOCUMENTED.finditer(text):
        span = match.span("quoted") if match["quoted"] else match.span("between") if match["between"] else match.span()
        if _WORDS.search(text, *span):
            found.append(span)
    return found


def documented_blocks(text: str, spans: Sequence[Span]) -> Iterator[AnswerBlock]:
    """Yield the blocks of the documentation that stands at some places in code, each with its place there."""
    for start, end in spans:
        words = _words(text, start, end)
        for block in blocks(words.text):
            yield replace(block, span=words.span_of(block.span))


def _words(text: str, start: int, end: int) -> _Text:
    """Return a piece of documentation without the marks of comments and without the indentation of all its lines."""
    lines: list[tuple[int, str]] = []
    place = start
    is_marked = all(_LINE_MARK.match(line) for line in text[start:end].splitlines()[1:] if line.strip())
    for line in text[start:end].splitlines(keepends=True):
        mark = _LINE_MARK.match(line) if is_marked else None
        first = mark.end() if mark else 0
        lines.append((place + first, line[first:].rstrip()))
        place += len(line)
    indents = [len(line) - len(line.lstrip()) for _, line in lines[1:] if line.strip()]
    least = min(indents, default=0)
    written: list[str] = []
    places: list[tuple[int, int]] = []
    length = 0
    for number, (there, line) in enumerate(lines):
        blanks = len(line) - len(line.lstrip())
        cut = blanks if not number else min(least, blanks)
        places.append((length, there + cut))
        written.append(line[cut:])
        length += len(line) - cut + 1
    return _Text("\n".join(written), places)
