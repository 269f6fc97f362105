"""All terms of a word index in a file of its folder, for finding near spellings.

FTS5 finds which terms begin with a letter by going through their postings, which takes a tenth of a second in a million
chunks; Tantivy does not at all. The file has a term a line, in sections that are sorted: one of the build, then
one for each time that new terms came. It lacks no term of what the word index covers. It may have some that occur no
more, or only in what was never committed: `Lexical.vocabulary` counts them and leaves those out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from pathlib import Path

NAME = "terms"
#: From so many sections on they are made one.
MOST_SECTIONS = 64

ByLength = Mapping[int, list[str]]


class TermDictionary:
    """The terms of a word index's folder, read again when its file changed. Safe to share between threads.

    Those that begin alike are picked out once.
    """

    def __init__(self, place: Path) -> None:
        self._path = place / NAME
        self._read: tuple[tuple[int, int], Sequence[str], dict[str, ByLength]] = (0, 0), (), {}

    def beginning(self, start: str, shortest: int, longest: int) -> list[str]:
        """Return the terms of so many characters that begin with `start`.

        Raises `OSError` and `UnicodeDecodeError` where there is no such file, or a damaged one.
        """
        status = self._path.stat()
        state = status.st_mtime_ns, status.st_size
        if state != self._read[0]:
            text = self._path.read_text("utf-8")
            self._read = state, [f"\n{section}\n" for section in text.split("\n\n")], {}
        _, sections, picked = self._read
        if start not in picked:
            found = sorted((term for section in sections for term in _beginning(section, start)), key=len)
            picked[start] = {length: list(terms) for length, terms in groupby(found, len)}
        return [term for length in range(shortest, longest + 1) for term in picked[start].get(length, ())]


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


def _beginning(section: str, start: str) -> list[str]:
    """Return the terms of a section, each between two line ends, that begin with `start`."""
    if not start:
        return list(filter(None, section.split("\n")))
    first = section.find(f"\n{start}")
    last = section.rfind(f"\n{start}")
    if first < 0:
        return []
    terms = section[first + 1 : section.index("\n", last + 1)].split("\n")
    # A section that a crash cut short may stand in another, which is then not sorted.
    return [term for term in terms if term.startswith(start)]
