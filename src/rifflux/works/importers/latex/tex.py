"""The source of a LaTeX document: inputs, comments, conditionals, macros and arguments."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

from rifflux.errors import Unreadable
from rifflux.ingest.read.base import decode
from rifflux.works.importers.base import content

_COMMENT = re.compile(r"(?<!\\)((?:\\\\)*)%[^\n]*")
#: Text that is not part of the document; a branch of a conditional is followed by `\\else` or `\\fi`.
_HIDING = re.compile(r"\\iffalse(?![A-Za-z])|(\\begin\{comment\})")
_CONDITION = re.compile(r"\\(if(?!f\b|thenelse|toggle|bool|blank|def\w|str|num)[A-Za-z@]*|else|fi)(?![A-Za-z])")
_BRACE = re.compile(r"(?<!\\)(?:\\\\)*([{}])")
_DELIMITER = re.compile(r"(?<!\\)[{}\]]")
LABEL = re.compile(r"\\label\s*\{([^{}]*)\}")
INPUT = re.compile(r"\\(?:input|include|subfile)\s*(?:\{([^{}]+)\}|(?<=input)\s+([^\s{}\\%]+))")
#: The maximum length of the text in brackets, which is a heading.
LONGEST_OPTION = 2000
#: The maximum depth of files that input files.
MOST_LEVELS = 8
#: The maximum depth of macros within macros, and the maximum growth of a text through them.
MOST_ROUNDS = 5
MOST_GROWTH = 4


@dataclass
class Manuscript:
    """The text of a document with its inputs in place. `problems` describe unresolved inputs, with their places."""

    text: str = ""
    problems: list[str] = field(default_factory=list)
    _starts: list[int] = field(default_factory=list)
    _origins: list[tuple[Path, int]] = field(default_factory=list)
    _breaks: list[int] = field(default_factory=list)

    def add(self, path: Path, line: int, text: str) -> None:
        """Append a stretch of a file that begins at `line`."""
        self._starts.append(len(self.text))
        self._origins.append((path, line))
        self._breaks += [len(self.text) + found.start() for found in re.finditer("\n", text)]
        self.text += text

    def place(self, offset: int) -> str:
        """Return the file and line of an offset: `paper.tex:12`."""
        number = bisect_right(self._starts, offset) - 1
        path, line = self._origins[max(number, 0)]
        lines = bisect_left(self._breaks, offset) - bisect_left(self._breaks, self._starts[max(number, 0)])
        return f"{path.name}:{line + lines}"


def manuscript(path: Path) -> Manuscript:
    """Read a document and the files that it inputs from its own folder."""
    whole = Manuscript()
    _read(path, path.parent.resolve(), whole, ())
    return whole


def _read(path: Path, root: Path, whole: Manuscript, above: tuple[Path, ...]) -> None:
    text = _alive(without_comments(decode(content(path))))
    start = 0
    for match in INPUT.finditer(text):
        line = text.count("\n", 0, start) + 1
        whole.add(path, line, text[start : match.start()])
        start = match.end()
        name = match[1] or match[2]
        found = target(name.strip(), path, root)
        if found is None or found in above or len(above) >= MOST_LEVELS:
            at = text.count("\n", 0, match.start()) + 1
            whole.problems.append(f"{path.name}:{at}: the input {name!r} is missing, outside the folder, or circular")
            continue
        try:
            _read(found, root, whole, (*above, path.resolve()))
        except Unreadable as error:
            whole.problems.append(f"{found.name} {error}")
    whole.add(path, text.count("\n", 0, start) + 1, text[start:])


def without_comments(text: str) -> str:
    """Remove the comments that begin with `%`."""
    return _COMMENT.sub(r"\1", text)


def _alive(text: str) -> str:
    """Remove what `\\iffalse` and `comment` hide, keeping line numbers."""
    pieces = []
    start = 0
    for hidden in _HIDING.finditer(text):
        if hidden.start() < start:
            continue
        if hidden[1]:
            end = _end_of_comment(text, hidden.end())
        else:
            end = _live_again(text, hidden.end())
        if end is None:
            break
        pieces += [text[start : hidden.start()], "\n" * text.count("\n", hidden.start(), end)]
        start = end
    return "".join([*pieces, text[start:]])


def _end_of_comment(text: str, start: int) -> int | None:
    end = text.find(r"\end{comment}", start)
    if end >= 0:
        return end + len(r"\end{comment}")
    return None


def _live_again(text: str, start: int) -> int | None:
    """Return the end of the conditional that hides text from `start`, or None if it is not closed."""
    depth = 1
    for mark in _CONDITION.finditer(text, start):
        depth += 1 if mark[1].startswith("if") else -(mark[1] == "fi" or depth == 1)
        if depth == 0:
            return mark.end()
    return None


def target(name: str, path: Path, root: Path) -> Path | None:
    """Return the file that an input names, or None if it is missing or outside the document's folder."""
    for candidate in (path.parent / name, path.parent / f"{name}.tex", root / name, root / f"{name}.tex"):
        found = candidate.resolve()
        if found.is_file() and found.is_relative_to(root):
            return found
    return None


def argument(text: str, start: int) -> tuple[str, int] | None:
    """Return the text in the braces that open at `start`, after blanks, and the offset after them."""
    start = _after_blanks(text, start)
    end = _pairs(text).get(start)
    if end is not None:
        return (text[start + 1 : end], end + 1)
    return None


def _after_blanks(text: str, start: int) -> int:
    while start < len(text) and text[start].isspace():
        start += 1
    return start


@lru_cache(maxsize=8)
def _pairs(text: str) -> Mapping[int, int]:
    """Map the offset of each opening brace to that of its closing brace, once per text."""
    pairs: dict[int, int] = {}
    waiting: list[int] = []
    for brace in _BRACE.finditer(text):
        if brace[1] == "{":
            waiting.append(brace.start(1))
        elif waiting:
            pairs[waiting.pop()] = brace.start(1)
    return pairs


def unmatched(text: str) -> int | None:
    """Return the offset of the first brace without a partner."""
    pairs = _pairs(text)
    partners = {*pairs, *pairs.values()}
    return next((at for brace in _BRACE.finditer(text) if (at := brace.start(1)) not in partners), None)


def bracketed(text: str, start: int) -> tuple[str, int] | None:
    """Return the text in the brackets that open at `start`, after blanks, and the offset after them."""
    start = _after_blanks(text, start)
    if text[start : start + 1] != "[":
        return None
    depth = 0
    for mark in _DELIMITER.finditer(text, start + 1, start + LONGEST_OPTION):
        if mark[0] in "{}":
            depth += 1 if mark[0] == "{" else -1
        elif mark[0] == "]" and depth == 0:
            return text[start + 1 : mark.start()], mark.end()
        if depth < 0:
            return None
    return None


# Macros

_DEFINED = re.compile(
    r"\\(?:(?:re)?newcommand|providecommand|DeclareRobustCommand)\*?\s*\{?\\([A-Za-z]+)\}?\s*(?:\[(\d)\])?(\[[^\]]*\])?"
    r"|\\def\s*\\([A-Za-z]+)((?:#\d)*)"
)
_OPERATOR = re.compile(r"\\DeclareMathOperator\*?\s*\{?\\([A-Za-z]+)\}?")


@dataclass(frozen=True, slots=True)
class Macros:
    """The macros of a preamble, each with its number of arguments and its replacement."""

    known: Mapping[str, tuple[int, str]]

    def expand(self, text: str) -> str:
        """Expand the macros in a text, up to `MOST_ROUNDS` deep and `MOST_GROWTH` times its length."""
        if not self.known:
            return text
        pattern = re.compile(
            r"\\(" + "|".join(sorted((re.escape(each) for each in self.known), reverse=True)) + r")(?![A-Za-z])"
        )
        most = MOST_GROWTH * len(text) + 1000
        for _ in range(MOST_ROUNDS):
            expanded = self._once(text, pattern)
            if expanded == text or len(expanded) > most:
                break
            text = expanded
        return text

    def _once(self, text: str, pattern: re.Pattern[str]) -> str:
        pieces = []
        start = 0
        for match in pattern.finditer(text):
            if match.start() < start:
                continue
            filled = self._filled(text, match)
            if filled:
                pieces += [text[start : match.start()], filled[0]]
                start = filled[1]
        return "".join([*pieces, text[start:]])

    def _filled(self, text: str, match: re.Match[str]) -> tuple[str, int] | None:
        """Expand one use of a macro and return its end; None if its arguments are not in braces."""
        count, meaning = self.known[match[1]]
        end = match.end()
        for number in range(1, count + 1):
            found = argument(text, end)
            if found is None:
                return None
            given, end = found
            meaning = meaning.replace(f"#{number}", given)
        # A letter that follows must not become part of a command at the end of the replacement.
        ends_open = re.search(r"\\[A-Za-z]+\Z", meaning) and text[end : end + 1].isalpha()
        return meaning + " " * bool(ends_open), end


def macros_of(preamble: str) -> Macros:
    """Return the macros that a preamble defines, except those with an optional argument and recursive ones."""
    known: dict[str, tuple[int, str]] = {}
    for match in _DEFINED.finditer(preamble):
        name = match[1] or match[4]
        if match[1]:
            count = int(match[2] or 0)
        else:
            count = len(match[5]) // 2
        meaning = argument(preamble, match.end())
        if meaning and not match[3] and not re.search(rf"\\{name}(?![A-Za-z])", meaning[0]):
            known[name] = count, meaning[0]
    for match in _OPERATOR.finditer(preamble):
        if meaning := argument(preamble, match.end()):
            known[match[1]] = 0, rf"\operatorname{{{meaning[0]}}}"
    return Macros(known)
