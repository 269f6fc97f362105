"""`.gitignore` rules, judged one entry at a time on the way down, as git itself does.

Libraries that match whole paths let a rule for a folder speak for everything below it, which goes wrong where
a deeper file contradicts a higher one. A walker asks about each entry once, and enters no ignored folder.
The tests hold this against `git check-ignore`. Syntax: https://git-scm.com/docs/gitignore
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

#: The files that hold rules for their folder; where they disagree, the later one wins.
IGNORE_FILES = (".gitignore", ".riffluxignore")

_POSIX_CLASSES = {
    "alnum": "a-zA-Z0-9",
    "alpha": "a-zA-Z",
    "blank": " \\t",
    "cntrl": "\\x00-\\x1f\\x7f",
    "digit": "0-9",
    "graph": "\\x21-\\x7e",
    "lower": "a-z",
    "print": "\\x20-\\x7e",
    "punct": "!-/:-@\\[-`{-~",
    "space": "\\s",
    "upper": "A-Z",
    "xdigit": "0-9a-fA-F",
}

#: What may stand before stars that stand for folders, and after them.
_BEFORE_FOLDERS = re.compile(r"[^*?\[\\]*|.*/", re.DOTALL)
_AFTER_FOLDERS = re.compile(r"\\?/|\Z")


@dataclass(frozen=True, slots=True)
class Rule:
    """One line of an ignore file. `anchored` rules see the path below their file, others only the name."""

    regex: re.Pattern[str]
    ignores: bool
    anchored: bool
    folders_only: bool


@dataclass(frozen=True, slots=True)
class Ignores:
    """The rules in force in a folder: the nearest file first, and in each file the last line first.

    Each level is the length of its folder's path (with its slash), and its rules.
    """

    levels: tuple[tuple[int, tuple[Rule, ...]], ...] = ()

    def __call__(self, path: str, *, folder: bool) -> bool:
        """Return True if the entry at `path` (without a slash at its end) is ignored; its parents are not."""
        name = path[path.rfind("/") + 1 :]
        for start, rules in self.levels:
            for rule in rules:
                if rule.folders_only and not folder:
                    continue
                if rule.regex.fullmatch(path, start) if rule.anchored else rule.regex.fullmatch(name):
                    return rule.ignores
        return False

    def under(self, prefix: str, lines: Sequence[str]) -> Ignores:
        """These rules after those of `lines`, which hold below `prefix` (empty, or ending in a slash)."""
        # Comments, blank lines and broken patterns make none.
        rules = tuple(filter(None, (_rule(each) for each in reversed(lines))))
        if rules:
            return Ignores(((len(prefix), rules), *self.levels))
        return self

    def inside(self, folder: Path, prefix: str) -> Ignores:
        """These rules after those of the ignore files in `folder`, whose path is `prefix`."""
        lines: list[str] = []
        for name in IGNORE_FILES:
            lines += read_lines(folder / name)
        return self.under(prefix, lines)


def read_lines(file: Path) -> list[str]:
    """Return the lines of an ignore file; none if it can't be read. Undecodable bytes match the same in names."""
    try:
        return lines_in(file.read_bytes())
    except OSError:
        return []


def lines_in(data: bytes) -> list[str]:
    """Return the lines of an ignore file's content."""
    text = data.decode("utf-8-sig", "surrogateescape")
    return text.replace("\r\n", "\n").removesuffix("\r").split("\n")


def _rule(line: str) -> Rule | None:
    if line.startswith("#"):
        return None
    pattern = re.sub(r"(?<!\\) +$", "", line)
    negated = pattern.startswith("!")
    pattern = pattern[negated:]
    folders_only = pattern.endswith("/")
    pattern = pattern[:-1] if folders_only else pattern
    anchored = "/" in pattern
    try:
        regex = re.compile(_translate(pattern.removeprefix("/")), re.DOTALL)
    except (ValueError, re.error):  # git too takes a broken pattern for one that matches nothing
        return None
    if pattern:
        return Rule(regex, not negated, anchored, folders_only)
    return None


def _translate(pattern: str) -> str:
    """Return a glob as a regular expression for a full match. Raises `ValueError` where the glob is broken."""
    out: list[str] = []
    i = 0
    while i < len(pattern):
        char = pattern[i]
        if char == "*":
            piece, i = _translate_stars(pattern, i)
        elif char == "[":
            piece, i = _translate_class(pattern, i + 1)
        elif char == "\\":
            if i + 1 == len(pattern):
                raise ValueError("nothing to escape")
            piece = re.escape(pattern[i + 1])
            i += 2
        else:
            piece = "[^/]" if char == "?" else re.escape(char)
            i += 1
        out.append(piece)
    return "".join(out)


def _translate_stars(pattern: str, start: int) -> tuple[str, int]:
    """Return what a run of stars matches, and where the rest begins.

    Two or more stand for folders where they are all that is between two slashes, or the ends. Git compares what is
    before the first wildcard apart, so to it the stars of `a**/b` too are at the beginning.
    """
    end = len(pattern) - len(pattern[start:].lstrip("*"))
    crosses = end - start > 1 and _BEFORE_FOLDERS.fullmatch(pattern, 0, start) and _AFTER_FOLDERS.match(pattern, end)
    if not crosses:
        return "[^/]*", end
    if pattern.startswith("/", end):
        return ("(?:.*/)?", end + 1)
    return (".*", end)


def _translate_class(pattern: str, i: int) -> tuple[str, int]:
    """Return the character class that opens before `i`, and where it ends."""
    negated = pattern[i : i + 1] in ("!", "^")
    i += negated
    first = i
    out = []
    while i == first or pattern[i : i + 1] != "]":
        if i >= len(pattern):
            raise ValueError("a character class without end")
        posix = re.compile(r"\[:(\w*):\]").match(pattern, i)
        if posix:
            if posix[1] not in _POSIX_CLASSES:
                raise ValueError("an unknown character class")
            out.append(_POSIX_CLASSES[posix[1]])
            i = posix.end()
            continue
        piece, i = _class_item(pattern, i)
        out.append(piece)
    if not any(out):  # only a range that runs backwards
        return "[^/]" if negated else "(?!)", i + 1
    return f"(?!/)[{'^' if negated else ''}{''.join(out)}]", i + 1


def _class_item(pattern: str, i: int) -> tuple[str, int]:
    """Return a character or a range at `i` of a class, and where the next begins."""
    low, i = _class_char(pattern, i)
    if pattern[i : i + 1] == "-" and pattern[i + 1 : i + 2] not in ("", "]"):
        high, i = _class_char(pattern, i + 1)
        return (f"{re.escape(low)}-{re.escape(high)}" if low <= high else ""), i
    return re.escape(low), i


def _class_char(pattern: str, i: int) -> tuple[str, int]:
    if pattern[i] == "\\":
        i += 1
    if i >= len(pattern):
        raise ValueError("a character class without end")
    return pattern[i], i + 1
