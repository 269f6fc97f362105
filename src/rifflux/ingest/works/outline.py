"""A LaTeX document taken apart: sections, statements and proofs as passages, numbered as LaTeX numbers them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from rifflux.ingest.works.readable import readable
from rifflux.ingest.works.terms import DEFINITION, defined_terms
from rifflux.ingest.works.tex import argument
from rifflux.works import Passage

__all__ = ["Outline", "Theorem", "theorems"]

#: What statements are called where the document does not say; `proof` has no number.
_USUAL = (
    *(
        "theorem",
        "lemma",
        "proposition",
        "corollary",
        "definition",
        "remark",
        "example",
        "conjecture",
        "claim",
        "notation",
    ),
    *("exercise", "question", "problem", "assumption", "axiom", "fact", "observation", "construction", "situation"),
)
PROOF = "proof"
_LEVELS = {"part": -1, "chapter": 0, "section": 1, "subsection": 2, "subsubsection": 3, "paragraph": 4}
_MARK = re.compile(
    r"\\(?P<edge>begin|end)\s*\{(?P<name>[^{}]*)\}"
    r"|\\(?P<level>part|chapter|section|subsection|subsubsection|paragraph)(?P<star>\*?)\s*(?:\[[^\[\]]*\])?(?=\s*\{)"
)
_NEW_THEOREM = re.compile(
    r"\\newtheorem(?P<star>\*?)\s*\{(?P<name>[^{}]+)\}\s*(?:\[(?P<shared>[^\[\]]+)\])?\s*\{(?P<shown>[^{}]+)\}"
    r"\s*(?:\[(?P<within>[^\[\]]+)\])?"
)
_OPTION = re.compile(r"\s*\[((?:[^\[\]{}]|\{[^{}]*\})*)\]")
_LABEL = re.compile(r"\\label\s*\{([^{}]*)\}")
#: Terms that a heading names.
MOST_TERMS = 3
_VERBATIM = ("verbatim", "lstlisting", "comment", "minted")


@dataclass(frozen=True, slots=True)
class Theorem:
    """An environment for statements: what it is called, whose counter it uses, and what that starts anew with."""

    shown: str
    counter: str | None = None
    within: str = ""


def theorems(preamble: str) -> Mapping[str, Theorem]:
    """The environments that a document declares with `\\newtheorem`, besides the usual names."""
    known = {name: Theorem(name.capitalize(), name) for name in _USUAL}
    for match in _NEW_THEOREM.finditer(preamble):
        shared = known.get(match["shared"] or "")
        counter = None if match["star"] else (shared.counter if shared else match["name"])
        within = shared.within if shared else match["within"] or ""
        known[match["name"]] = Theorem(readable(match["shown"]), counter, within)
    return known


@dataclass
class _Open:
    """An environment that has begun: where, and where its content starts; the heading of a statement."""

    name: str
    start: int
    content: int
    heading: str = ""
    kind: str = ""


@dataclass
class Outline:
    """Goes through the body of a document. `place` tells where a character stands, `problems` what does not balance."""

    body: str
    known: Mapping[str, Theorem]
    place: Callable[[int], str]
    problems: list[str] = field(default_factory=list)
    abstract: str = ""
    labels: dict[str, str] = field(default_factory=dict)
    _sections: list[tuple[int, str]] = field(default_factory=list)
    _counts: dict[str, int] = field(default_factory=dict)
    _open: list[_Open] = field(default_factory=list)
    _passages: list[Passage] = field(default_factory=list)
    _start: int = 0
    _last: str = ""

    def passages(self) -> list[Passage]:
        """The passages of the body, in order."""
        for mark in _MARK.finditer(self.body):
            if self._open and self._open[-1].name in _VERBATIM and mark["name"] != self._open[-1].name:
                continue
            if mark["edge"] == "begin":
                self._begin(mark)
            elif mark["edge"] == "end":
                self._end(mark)
            else:
                self._section(mark)
        self._close_all(len(self.body), "the document ends")
        self._text(len(self.body))
        self._check_braces()
        return self._passages

    # Environments

    def _begin(self, mark: re.Match[str]) -> None:
        name = mark["name"].strip()
        statement = name.rstrip("*") in self.known or name.rstrip("*") == PROOF
        if statement and not any(each.kind for each in self._open):
            self._text(mark.start())
            option = _OPTION.match(self.body, mark.end())
            content = option.end() if option else mark.end()
            kind = self._kind(name)
            heading = self._heading(name, kind, readable(option[1]) if option else "")
            self._open.append(_Open(name, mark.start(), content, heading, kind))
        else:
            if name == "abstract":
                self._text(mark.start())
            self._open.append(_Open(name, mark.start(), mark.end()))

    def _end(self, mark: re.Match[str]) -> None:
        name = mark["name"].strip()
        if not any(each.name == name for each in self._open):
            self.problems.append(f"{self.place(mark.start())}: \\end{{{name}}} ends nothing that is open")
            return
        while self._open[-1].name != name:
            left = self._open[-1]
            self.problems.append(
                f"{self.place(mark.start())}: \\end{{{name}}} comes before the end of \\begin{{{left.name}}} "
                f"at {self.place(left.start)}"
            )
            self._close(mark.start(), mark.start())
        self._close(mark.start(), mark.end())

    def _close(self, end: int, after: int) -> None:
        """Close the innermost environment, whose content ends at `end`."""
        opened = self._open.pop()
        if opened.kind:
            self._add(self.body[opened.content : end], opened.kind, opened.heading)
            self._start = after
        elif opened.name == "abstract" and not any(each.kind for each in self._open):
            self.abstract = self.abstract or self.body[opened.content : end].strip()
            self._start = after

    def _close_all(self, at: int, why: str) -> None:
        while self._open:
            opened = self._open[-1]
            if opened.name != "document":
                self.problems.append(f"{self.place(opened.start)}: \\begin{{{opened.name}}} is still open where {why}")
            self._close(at, at)

    # Headings

    def _kind(self, name: str) -> str:
        """What a statement is, in one word: environments are called `thm` and shown as `Theorem`."""
        name = name.rstrip("*")
        return PROOF if name == PROOF else self.known[name].shown.lower().split()[0]

    def _heading(self, name: str, kind: str, option: str) -> str:
        if kind == PROOF:
            of = f" of {self._last}" if self._last else ""
            return option or f"Proof{of}"
        theorem = self.known[name.rstrip("*")]
        numbered = theorem.counter is not None and not name.endswith("*")
        self._last = f"{theorem.shown} {self._number(theorem)}" if numbered else theorem.shown
        return f"{self._last} ({option})" if option else self._last

    def _number(self, theorem: Theorem) -> str:
        counter = theorem.counter or ""
        self._counts[counter] = self._counts.get(counter, 0) + 1
        own = str(self._counts[counter])
        return f"{self._prefix(theorem.within)}.{own}" if theorem.within in _LEVELS else own

    def _prefix(self, level: str) -> str:
        """The number of the section that a counter belongs to: `2.1` for the first subsection of the second section."""
        first = next((name for name in ("chapter", "section") if self._counts.get(name)), "section")
        names = [name for name, depth in _LEVELS.items() if _LEVELS[first] <= depth <= _LEVELS[level]]
        return ".".join(str(self._counts.get(name, 0)) for name in names)

    def _section(self, mark: re.Match[str]) -> None:
        title = argument(self.body, mark.end())
        if title is None:
            self.problems.append(f"{self.place(mark.start())}: the braces of \\{mark['level']} are not closed")
            return
        if self._open and any(each.kind for each in self._open):
            self._close_all(mark.start(), f"a \\{mark['level']} begins")
        self._text(mark.start())
        self._start = title[1]
        level = _LEVELS[mark["level"]]
        if not mark["star"]:
            self._count(mark["level"])
        while self._sections and self._sections[-1][0] >= level:
            self._sections.pop()
        shown = readable(_LABEL.sub("", title[0]))
        number = "" if mark["star"] or level > _LEVELS["subsection"] else f"{self._prefix(mark['level'])} "
        self._sections.append((level, f"{number}{shown}"))
        self._last = ""

    def _count(self, level: str) -> None:
        """Count a section, and start anew what is counted within it."""
        self._counts[level] = self._counts.get(level, 0) + 1
        deeper = {name for name, depth in _LEVELS.items() if depth > _LEVELS[level]}
        within = {theorem.counter for theorem in self.known.values() if theorem.within in {level, *deeper}}
        for name in deeper | {each for each in within if each}:
            self._counts[name] = 0

    # Passages

    def _text(self, end: int) -> None:
        """Add what stands between two statements as a passage of its section."""
        if not any(each.kind for each in self._open):
            self._add(self.body[self._start : end], "section", "")
            self._start = max(self._start, end)

    def _add(self, text: str, kind: str, heading: str) -> None:
        labels = _LABEL.findall(text)
        bare = _LABEL.sub("", text).strip()
        if kind == DEFINITION and not heading.endswith(")"):
            terms = list(defined_terms(bare))[:MOST_TERMS]
            heading += f" ({', '.join(terms)})" if terms else ""
        headings = tuple(shown for _, shown in self._sections)
        for label in labels:
            self.labels[label] = heading or " > ".join(headings)
        if re.search(r"\w", re.sub(r"\\[A-Za-z]+|\{[^{}]*\}", "", bare)):
            self._passages.append(
                Passage(bare, kind, (*headings, heading) if heading else headings, labels[0] if labels else "")
            )

    def _check_braces(self) -> None:
        """Tell the first brace that has no partner."""
        unmatched = next(_unmatched(self.body), None)
        if unmatched is not None:
            self.problems.append(f"{self.place(unmatched)}: a brace {self.body[unmatched]!r} has no partner")


def _unmatched(text: str) -> Iterator[int]:
    open_at: list[int] = []
    for match in re.finditer(r"(?<!\\)(?:\\\\)*([{}])", text):
        if match[1] == "{":
            open_at.append(match.start(1))
        elif open_at:
            open_at.pop()
        else:
            yield match.start(1)
    yield from open_at
