"""All terms of a word index in a file of its folder, for finding near spellings.

FTS5 tells which terms begin with a letter by going through their postings, which takes a tenth of a second in a million
chunks; Tantivy does not tell at all. The file has a term a line, in sections that are sorted: one of the build, then
one for each time that new terms came. It lacks no term of what the word index covers. It may have some that occur no
more, or only in what was not committed after all: who asks counts what is of interest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

__all__ = ["NAME", "Counted", "beginning", "extend", "write"]

NAME = "terms"
#: From so many sections on they are made one.
MOST_SECTIONS = 64


@dataclass(frozen=True, slots=True)
class Counted(Mapping[str, int]):
    """Terms, each with the number of chunks that hold it, counted when asked for; 0 for one that occurs no more."""

    terms: frozenset[str]
    count: Callable[[list[str]], Mapping[str, int]]

    def __getitem__(self, term: str) -> int:
        if term not in self.terms:
            raise KeyError(term)
        return self.count([term]).get(term, 0)

    def __iter__(self) -> Iterator[str]:
        return iter(self.terms)

    def __len__(self) -> int:
        return len(self.terms)


def write(place: Path, terms: Iterable[str]) -> None:
    """Write the terms of a new word index."""
    new = place / f"{NAME}.new"
    new.write_text(_section(terms), "utf-8", newline="\n")
    new.replace(place / NAME)


def extend(place: Path, terms: Iterable[str]) -> None:
    """Add those terms that are not there yet. A file that was not there before would lack some: none is made."""
    path = place / NAME
    if not path.exists():
        return
    text = path.read_text("utf-8")
    known = set(text.split("\n"))
    new = {*terms} - known
    if new and text.count("\n\n") >= MOST_SECTIONS:
        write(place, known | new)
    elif new:
        with path.open("a", encoding="utf-8", newline="\n") as file:
            file.write(_section(new))


def _section(terms: Iterable[str]) -> str:
    # An empty line before it, also where the one before was not written to its end.
    return "\n" + "\n".join(sorted(filter(None, terms))) + "\n"


def beginning(text: str, start: str, shortest: int, longest: int) -> Iterator[str]:
    """The terms of a file's text that begin with `start` and have so many characters."""
    for section in text.split("\n\n"):
        lines = f"\n{section}\n"
        first, last = lines.find(f"\n{start}"), lines.rfind(f"\n{start}")
        if first < 0:
            continue
        for term in lines[first + 1 : lines.index("\n", last + 1)].split("\n"):
            if shortest <= len(term) <= longest and term.startswith(start):
                yield term
