"""Definitions in source files, found by Python's own parser and by patterns of lines: apart from what is measured."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.quality.packages import LANGUAGES, is_copy, is_test

__all__ = ["Definition", "definitions", "parts"]

#: Words of a sentence that is asked.
SENTENCE = (5, 30)
#: Characters of a name.
SHORTEST = 4
_EXPORT = r"^\s*(?:export\s+)?(?:default\s+)?(?:declare\s+)?(?:abstract\s+)?(?:async\s+)?"
_JAVASCRIPT = (
    _EXPORT + r"function\s*\*?\s*([\w$]+)",
    _EXPORT + r"class\s+(\w+)",
    r"^\s*[\w.]+\.(\w+)\s*=\s*(?:async\s+)?function\b",
    r"^(?:export\s+)?(?:const|let|var)\s+(\w+)\s*=\s*(?:async\s+)?(?:function\b|\([^)]*\)\s*=>|\w+\s*=>)",
    r"^  (?:static\s+|async\s+|get\s+|set\s+)*(\w+)\([^;]*\)\s*\{$",
)
_LINES: Mapping[str, Sequence[str]] = {
    "javascript": _JAVASCRIPT,
    "typescript": (*_JAVASCRIPT, _EXPORT + r"(?:const\s+)?(?:interface|type|enum)\s+(\w+)[\s<={]"),
    "go": (r"^func\s+(?:\([^)]*\)\s*)?(\w+)", r"^type\s+(\w+)"),
    "rust": (
        r"^\s*(?:pub(?:\([^)]*\))?\s+)?(?:const\s+|async\s+|unsafe\s+)*fn\s+(\w+)",
        r"^\s*(?:pub(?:\([^)]*\))?\s+)?(?:struct|enum|trait|union)\s+(\w+)",
        r"^\s*macro_rules!\s+(\w+)",
    ),
}
_NO_NAMES = {"constructor", "function", "switch", "while", "catch", "return", "super", "main", "test", "init", "else"}
_COMMENT = re.compile(r"^\s*(?:///?!?|/\*\*?|\*/|\*)\s?")
_ATTRIBUTE = re.compile(r"^\s*(?:#\[|@\w)")
_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")


@dataclass(frozen=True, slots=True)
class Definition:
    """A name, its language and file, the lines that define it, and the first sentence of its documentation."""

    name: str
    language: str
    file: str
    lines: tuple[int, ...]
    sentence: str


def definitions(tree: Path) -> list[Definition]:
    """Return what the sources of a tree define, of those names that only one file defines; no tests, no copies."""
    found: dict[tuple[str, str], Definition] = {}
    files: dict[str, set[str]] = {}
    for path in sorted(each for each in tree.rglob("*") if each.is_file()):
        file = path.relative_to(tree).as_posix()
        language = next((name for name, suffixes in LANGUAGES.items() if path.suffix in suffixes), None)
        if language and not is_copy(file) and not is_test(file):
            for name, line, sentence in _defined(path.read_text("utf-8"), language):
                files.setdefault(name, set()).add(file)
                old = found.get((name, file))
                lines = (*old.lines, line) if old else (line,)
                found[name, file] = Definition(name, language, file, lines, old.sentence if old else sentence)
    return [each for (name, _), each in found.items() if len(files[name]) == 1 and _is_fit(name)]


def parts(name: str) -> list[str]:
    """Return the words that an identifier is made of: `safe`, `join` of `safe_join` and of `safeJoin`."""
    return [part.lower() for part in _PART.findall(name)]


def _is_fit(name: str) -> bool:
    return len(name) >= SHORTEST and name not in _NO_NAMES and not name.startswith("__")


def _defined(text: str, language: str) -> Iterator[tuple[str, int, str]]:
    """Yield name, line and sentence of each definition."""
    if language == "python":
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                yield node.name, node.lineno, _sentence(ast.get_docstring(node) or "", node.name)
        return
    lines = text.split("\n")
    for row, line in enumerate(lines):
        name = next((match[1] for pattern in _LINES[language] if (match := re.match(pattern, line))), None)
        if name:
            yield name, row + 1, _sentence(_comment_above(lines, row), name)


def _comment_above(lines: Sequence[str], row: int) -> str:
    above: list[str] = []
    for line in reversed(lines[:row]):
        if not _COMMENT.match(line) and not _ATTRIBUTE.match(line):
            break
        if not _ATTRIBUTE.match(line):
            above.append(_COMMENT.sub("", line).replace("*/", ""))
    return "\n".join(reversed(above))


def _sentence(documentation: str, name: str) -> str:
    """Return the first sentence of a documentation without the name itself, or nothing if it is no sentence."""
    paragraph = re.split(r"\n\s*\n|\n\s*[@#]", documentation.strip())[0]
    if paragraph.startswith("@") or "://" in paragraph:
        return ""
    first = re.split(r"(?<=[.!?:])\s", " ".join(paragraph.split()))[0]
    plain = re.sub(rf"\b{re.escape(name)}\b|[`*\[\]{{}}]|@link", " ", first).rstrip(".:")
    words = plain.split()
    return " ".join(words) if SENTENCE[0] <= len(words) <= SENTENCE[1] else ""
