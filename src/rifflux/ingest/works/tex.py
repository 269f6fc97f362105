"""The text of a LaTeX document before it is taken apart: inputs, comments, macros, and arguments in braces."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from rifflux.errors import Unreadable
from rifflux.ingest.read.decode import decode
from rifflux.ingest.works.base import content

__all__ = ["Macros", "Manuscript", "argument", "macros_of", "manuscript"]

_COMMENT = re.compile(r"(?<!\\)((?:\\\\)*)%[^\n]*")
_INPUT = re.compile(r"\\(?:input|include|subfile)\s*\{([^{}]+)\}")
#: Files may include files so deep.
MOST_LEVELS = 8
#: Macros that use macros are followed so far; a text may grow by them to so many times its length.
MOST_ROUNDS, MOST_GROWTH = 5, 4


@dataclass
class Manuscript:
    """The text of a document with its inputs in place. `problems` are what was wrong on the way, with their places."""

    text: str = ""
    problems: list[str] = field(default_factory=list)
    _starts: list[int] = field(default_factory=list)
    _origins: list[tuple[Path, int]] = field(default_factory=list)

    def add(self, path: Path, line: int, text: str) -> None:
        """Append a stretch of a file that begins in `line`."""
        self._starts.append(len(self.text))
        self._origins.append((path, line))
        self.text += text

    def place(self, offset: int) -> str:
        """Where a character of the text stands: `paper.tex:12`."""
        number = bisect_right(self._starts, offset) - 1
        path, line = self._origins[max(number, 0)]
        return f"{path.name}:{line + self.text.count(chr(10), self._starts[max(number, 0)], offset)}"


def manuscript(path: Path) -> Manuscript:
    """Read a document, with what it inputs from its own folder."""
    whole = Manuscript()
    _read(path, path.parent.resolve(), whole, ())
    return whole


def _read(path: Path, root: Path, whole: Manuscript, above: tuple[Path, ...]) -> None:
    text = _COMMENT.sub(r"\1", decode(content(path)))
    start = 0
    for match in _INPUT.finditer(text):
        line = text.count("\n", 0, start) + 1
        whole.add(path, line, text[start : match.start()])
        start = match.end()
        target = _target(match[1].strip(), path, root)
        if target is None or target in above or len(above) >= MOST_LEVELS:
            at = text.count("\n", 0, match.start()) + 1
            whole.problems.append(
                f"{path.name}:{at}: the input {match[1]!r} is not there, outside, or goes in a circle"
            )
            continue
        try:
            _read(target, root, whole, (*above, path.resolve()))
        except Unreadable as error:
            whole.problems.append(f"{target.name} {error}")
    whole.add(path, text.count("\n", 0, start) + 1, text[start:])


def _target(name: str, path: Path, root: Path) -> Path | None:
    """The file that an input names, if it is one of the document's own."""
    for candidate in (path.parent / name, path.parent / f"{name}.tex", root / name, root / f"{name}.tex"):
        found = candidate.resolve()
        if found.is_file() and found.is_relative_to(root):
            return found
    return None


def argument(text: str, start: int) -> tuple[str, int] | None:
    """What stands in the braces that open at or after `start` (blanks between), and where they end."""
    while start < len(text) and text[start].isspace():
        start += 1
    if text[start : start + 1] != "{":
        return None
    depth = 0
    for place in range(start, len(text)):
        char = text[place]
        if char in "{}" and (place == 0 or text[place - 1] != "\\"):
            depth += 1 if char == "{" else -1
            if depth == 0:
                return text[start + 1 : place], place + 1
    return None


# Macros

_DEFINED = re.compile(
    r"\\(?:(?:re)?newcommand|providecommand|DeclareRobustCommand)\*?\s*\{?\\([A-Za-z]+)\}?\s*(?:\[(\d)\])?(\[[^\]]*\])?"
    r"|\\def\s*\\([A-Za-z]+)((?:#\d)*)"
)
_OPERATOR = re.compile(r"\\DeclareMathOperator\*?\s*\{?\\([A-Za-z]+)\}?")


@dataclass(frozen=True, slots=True)
class Macros:
    """The macros of a preamble, each with its number of arguments and what it stands for."""

    known: Mapping[str, tuple[int, str]]

    def expand(self, text: str) -> str:
        """The text with its macros replaced by what they stand for, as far as that is simple."""
        if not self.known:
            return text
        pattern = re.compile(r"\\(" + "|".join(sorted(map(re.escape, self.known), reverse=True)) + r")(?![A-Za-z])")
        most = MOST_GROWTH * len(text) + 1000
        for _ in range(MOST_ROUNDS):
            expanded = self._once(text, pattern)
            if expanded == text or len(expanded) > most:
                break
            text = expanded
        return text

    def _once(self, text: str, pattern: re.Pattern[str]) -> str:
        pieces, start = [], 0
        for match in pattern.finditer(text):
            if match.start() < start:
                continue
            filled = self._filled(text, match)
            if filled:
                pieces += [text[start : match.start()], filled[0]]
                start = filled[1]
        return "".join([*pieces, text[start:]])

    def _filled(self, text: str, match: re.Match[str]) -> tuple[str, int] | None:
        """What a use of a macro stands for, and where the use ends; None if its arguments are not in braces."""
        count, meaning = self.known[match[1]]
        end = match.end()
        for number in range(1, count + 1):
            found = argument(text, end)
            if found is None:
                return None
            given, end = found
            meaning = meaning.replace(f"#{number}", given)
        # A letter that follows must not become part of a command that the meaning ends with.
        ends_open = re.search(r"\\[A-Za-z]+\Z", meaning) and text[end : end + 1].isalpha()
        return meaning + " " * bool(ends_open), end


def macros_of(preamble: str) -> Macros:
    """The macros that a preamble defines. Those with an optional argument, or that use themselves, are left alone."""
    known: dict[str, tuple[int, str]] = {}
    for match in _DEFINED.finditer(preamble):
        name = match[1] or match[4]
        count = int(match[2] or 0) if match[1] else len(match[5]) // 2
        meaning = argument(preamble, match.end())
        if meaning and not match[3] and not re.search(rf"\\{name}(?![A-Za-z])", meaning[0]):
            known[name] = count, meaning[0]
    for match in _OPERATOR.finditer(preamble):
        if meaning := argument(preamble, match.end()):
            known[match[1]] = 0, rf"\operatorname{{{meaning[0]}}}"
    return Macros(known)
