"""Pages of the documentation, and the blocks in them that can be run."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

__all__ = ["ROOT", "Block", "Command", "blocks_of", "commands_of", "differences", "pages"]

ROOT = Path(__file__).parents[2]
_FENCE = re.compile(
    r"(?:<!-- not run: (?P<reason>[^\n]+?) -->\n)?"
    r"^(?P<indent> *)```(?P<language>[a-z]+)(?: title=\"(?P<title>[^\"\n]+)\")?\n(?P<text>.*?)^(?P=indent)```$",
    re.MULTILINE | re.DOTALL,
)
#: Ids, paths of the machine and figures differ from run to run; each becomes one sign.
_CHANGING = (
    (re.compile(r"rfx_\w+"), "TOKEN"),
    (re.compile(r"\bm?[0-9a-f]{16}\b"), "ID"),
    (re.compile(r"(?<![\w/])/(?:[\w.@+-]+/)+[\w.@+-]*"), "PATH"),
    # Dates and times, durations and sizes; fractions and what they order, which differ among processors.
    (re.compile(r"\d{4}-\d\d-\d\d(?:[T ][\d:.]+(?:Z|[+-][\d:]+)?)?|\b\d\d?:\d\d(?::\d\d)?\b"), "0"),
    (re.compile(r"\b\d[\d.,]*(?= ?(?:s|ms|kB|MB|GB|bytes|seconds|milliseconds|minutes)\b)"), "0"),
    (re.compile(r"\d+\.\d[\d.]*(?:e-?\d+)?"), "0"),
    (re.compile(r"\brank \d+"), "rank 0"),
    (re.compile(r"\s+"), " "),
)


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block: its language, the file that it is (`title`), and the reason if it is not run."""

    language: str
    title: str | None
    text: str
    reason: str | None
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Command:
    """A command of a console block, with the output that the page shows."""

    words: str
    shown: tuple[str, ...]
    status: int


def pages() -> list[Path]:
    """Return the pages that are written by hand, in the order of their paths."""
    return [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def blocks_of(text: str) -> Iterator[Block]:
    """Find the blocks of a page, in order."""
    for found in _FENCE.finditer(text):
        indent = found["indent"]
        lines = [line.removeprefix(indent) for line in found["text"].splitlines()]
        yield Block(
            found["language"], found["title"], "\n".join(lines) + "\n", found["reason"], found.start(), found.end()
        )


def commands_of(block: Block) -> list[Command]:
    """Split a console block at its `$`; `# exits 1` after a command is the status that it must have."""
    found: list[Command] = []
    for part in re.split(r"^\$ ", block.text, flags=re.MULTILINE)[1:]:
        lines = part.splitlines()
        length = next(place for place, line in enumerate(lines, 1) if not line.endswith("\\"))
        status = re.search(r"# exits (\d+)$", lines[length - 1])
        found.append(Command("\n".join(lines[:length]), tuple(lines[length:]), int(status[1]) if status else 0))
    return found


def differences(shown: tuple[str, ...], printed: str) -> str | None:
    """Return the first line in which output is not as shown; a line `...` stands for any lines."""
    actual = [line for line in map(_steady, printed.splitlines()) if line]
    place, free = 0, False
    for line in filter(str.strip, shown):
        if line.strip() == "...":
            free = True
            continue
        wanted = _steady(line)
        found = next((at for at in range(place, len(actual)) if _fits(wanted, actual[at])), None)
        if found is None or (found > place and not free):
            return f"shown: {line}\nprinted: {actual[place] if place < len(actual) else '(nothing more)'}"
        place, free = found + 1, False
    return None if free or place == len(actual) else f"not shown: {actual[place]}"


def _fits(wanted: str, actual: str) -> bool:
    """Return True if a line is as shown; one that is cut ends in `...`."""
    return actual.startswith(wanted.removesuffix("...").rstrip()) if wanted.endswith("...") else actual == wanted


def _steady(line: str) -> str:
    for pattern, sign in _CHANGING:
        line = pattern.sub(sign, line)
    return line.strip()
