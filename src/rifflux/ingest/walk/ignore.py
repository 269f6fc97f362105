"""`.gitignore` rules, applied to one entry at a time on the way down, as git itself does.

Libraries that match whole paths apply a rule for a folder to everything below it, which goes wrong if a deeper file
contradicts a higher one. A walk tests each entry once and does not enter ignored folders. The tests compare this with
`git check-ignore`. Syntax: https://git-scm.com/docs/gitignore
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

#: The files with rules for their folder; in conflicts, the later one wins.
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

#: What may precede stars that match folders, and what may follow them.
_BEFORE_FOLDERS = re.compile(r"[^*?\[\\]*|.*/", re.DOTALL)
_AFTER_FOLDERS = re.compile(r"\\?/|\Z")


@dataclass(frozen=True, slots=True)
class Rule:
    """One line of an ignore file. `anchored` rules match the path below their file, others only the name."""

    regex: re.Pattern[str]
    ignores: bool
    anchored: bool
    folders_only: bool


@dataclass(frozen=True, slots=True)
class Ignores:
    """The rules in effect in a folder: the nearest file first, and in each file the last line first.

    Each level is the length of its folder's path (with its slash), and its rules.
    """

    levels: tuple[tuple[int, tuple[Rule, ...]], ...] = ()

    def __call__(self, path: str, *, folder: bool) -> bool:
        """Return True if the entry at `path` (without a trailing slash) is ignored; its parents must not be."""
        name = path[path.rfind("/") + 1 :]
        for start, rules in self.levels:
            for rule in rules:
                if rule.folders_only and not folder:
                    continue
                if rule.regex.fullmatch(path, start) if rule.anchored else rule.regex.fullmatch(name):
                    return rule.ignores
        return False

    def under(self, prefix: str, lines: Sequence[str]) -> Ignores:
        """Return these rules after those of `lines`, which apply below `prefix` (empty, or ending with `/`)."""
        # Comments, blank lines and invalid patterns produce no rule.
        rules = tuple(filter(None, (_rule(each) for each in reversed(lines))))
        if rules:
            return Ignores(((len(prefix), rules), *self.levels))
        return self

    def inside(self, folder: Path, prefix: str) -> Ignores:
        """Return these rules after those of the ignore files in `folder`, whose path is `prefix`."""
        lines: list[str] = []
        for name in IGNORE_FILES:
            lines += read_lines(folder / name)
        return self.under(prefix, lines)


def read_lines(file: Path) -> list[str]:
    """Return the lines of an ignore file, or none if it can't be read. Undecodable bytes match the same in names."""
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
    """Return a glob as a regular expression for a full match. Raises `ValueError` for an invalid glob."""
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
    """Return the pattern for a run of stars, and the position after it.

    Two or more match folders if they are all that is between two slashes, or the ends. Git compares the text before the
    first wildcard separately, so it treats the stars of `a**/b` as being at the beginning too.
    """
    end = len(pattern) - len(pattern[start:].lstrip("*"))
    crosses = end - start > 1 and _BEFORE_FOLDERS.fullmatch(pattern, 0, start) and _AFTER_FOLDERS.match(pattern, end)
    if not crosses:
        return "[^/]*", end
    if pattern.startswith("/", end):
        return ("(?:.*/)?", end + 1)
    return (".*", end)


def _translate_class(pattern: str, i: int) -> tuple[str, int]:
    """Return the pattern of the character class that opens before `i`, and the position after it."""
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
    """Return the pattern of a character or range at `i` of a class, and the position after it."""
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
