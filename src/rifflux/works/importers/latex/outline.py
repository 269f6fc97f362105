"""Split a LaTeX document into passages: sections, statements and proofs, numbered as LaTeX numbers them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

from rifflux.works import Passage
from rifflux.works.importers.latex.numbering import LEVELS, USUAL, Numbering
from rifflux.works.importers.latex.terms import DEFINITION, defined_terms
from rifflux.works.importers.latex.tex import LABEL, argument, bracketed, unmatched
from rifflux.works.importers.readable import readable

PROOF = "proof"
ABSTRACT = "abstract"
_MARK = re.compile(
    r"\\(?P<edge>begin|end)\s*\{(?P<name>[^{}]*)\}"
    r"|\\(?P<level>part|chapter|section|subsection|subsubsection|paragraph)(?P<star>\*?)\s*(?:\[[^\[\]]*\])?(?=\s*\{)"
    r"|\\(?P<appendix>appendix)(?![A-Za-z])"
    r"|\\(?P<count>setcounter|addtocounter)\s*\{(?P<counter>\w+)\}\s*\{(?P<value>-?\d+)\}"
)
_CITED = re.compile(r"[\s,;(]*(?:\b(?:see|cf\.?)\s*)?\\[cC]ite[a-zA-Z]*\*?\s*(?:\[[^\[\]]*\]\s*){0,2}\{[^{}]*\}")
_REFERRED = re.compile(r"\\(?:(?:eq)?(?P<bare>ref)|autoref|[cC]ref)\*?\s*\{(?P<label>[^{}]*)\}")
#: A placeholder for a reference in a heading until all numbers are known: with or without its kind, and the label.
_WAITING = re.compile("\u27e6([nk])([^\u27e7]*)\u27e7")
#: Commands without text.
_SILENT = re.compile(
    r"\\(?:bibliography|bibliographystyle|addbibresource|setcounter\s*\{\w+\}|addtocounter\s*\{\w+\})\s*\{[^{}]*\}"
    r"|\\(?:maketitle|tableofcontents|printbibliography|appendix)(?![A-Za-z])"
)
#: The maximum nesting of environments; TeX itself allows no more.
MOST_OPEN = 200
#: The maximum number of terms in a heading.
MOST_TERMS = 3
_VERBATIM = ("verbatim", "lstlisting", "comment", "minted")
#: Environments of restated theorems, whose first argument names the statement's environment.
_RESTATED = ("restatable", "thm-restate")
#: Environments that number equations, one in all or one per line.
_EQUATION = ("equation", "multline")
_EQUATIONS = ("align", "gather", "eqnarray", "alignat", "flalign")
_INNER = re.compile(r"\\(?P<edge>begin|end)\s*\{[^{}]*\}|(?P<row>\\\\)")
_UNNUMBERED = re.compile(r"\\(?:notag|nonumber|tag)(?![A-Za-z])")


@dataclass
class _Open:
    """An open environment: its start, the start of its content, and the heading of a statement."""

    name: str
    start: int
    content: int
    heading: str = ""
    kind: str = ""


@dataclass
class PaperOutline:
    """A scanner of a document's body. `place` returns the place of an offset; `problems` collects the faults."""

    body: str
    numbers: Numbering
    place: Callable[[int], str]
    problems: list[str] = field(default_factory=list)
    abstract: str = ""
    labels: dict[str, str] = field(default_factory=dict)
    _sections: list[tuple[int, str]] = field(default_factory=list)
    _names: dict[str, tuple[str, str]] = field(default_factory=dict)
    _open: list[_Open] = field(default_factory=list)
    _passages: list[Passage] = field(default_factory=list)
    _start: int = 0
    _last: str = ""
    _number: str = ""
    _heads: str = ""
    _is_too_deep: bool = False
    _last_abstract: int = -1

    def passages(self) -> list[Passage]:
        """Return the passages of the body in order."""
        self._last_abstract = self.body.rfind(r"\end{abstract}")
        for mark in _MARK.finditer(self.body):
            if self._open and self._open[-1].name in _VERBATIM and mark["name"] != self._open[-1].name:
                continue
            if mark["edge"] == "begin":
                self._begin(mark)
            elif mark["edge"] == "end":
                self._end(mark)
            elif mark["level"]:
                self._section(mark)
            else:
                self._count(mark)
        self._close_all(len(self.body), "the document ends")
        self._text(len(self.body))
        if (brace := unmatched(self.body)) is not None:
            self.problems.append(f"{self.place(brace)}: unmatched brace {self.body[brace]!r}")
        self.labels = {label: self._referred(heading) for label, heading in self.labels.items()}
        return [replace(each, headings=tuple(map(self._referred, each.headings))) for each in self._passages]

    # Environments

    def _begin(self, mark: re.Match[str]) -> None:
        name = mark["name"].strip()
        after = mark.end()
        if len(self._open) == MOST_OPEN:
            if not self._is_too_deep:
                self.problems.append(f"{self.place(mark.start())}: \\begin{{{name}}} is nested too deeply")
            self._is_too_deep = True
            return
        option = bracketed(self.body, after)
        if name in _RESTATED:
            inner = argument(self.body, option[1] if option else after)
            if inner:
                called = argument(self.body, inner[1])
            else:
                called = None
            statement = inner[0].strip() if inner else name
            after = called[1] if called else after
        else:
            statement = name
        bare = statement.rstrip("*")
        if (bare in self.numbers.theorems or bare == PROOF) and self._may_begin(mark):
            self._text(mark.start())
            kind = self._kind(bare)
            heading = self._heading(statement, kind, self._option(option[0]) if option else "")
            if option:
                content = max(after, option[1])
            else:
                content = after
            self._open.append(_Open(name, mark.start(), content, heading, kind))
        else:
            if name in (ABSTRACT, "thebibliography"):
                self._text(mark.start())
            elif name == "appendices":
                self.numbers.appendix()
            self._equations(name, mark.end())
            self._open.append(_Open(name, mark.start(), mark.end()))

    def _may_begin(self, mark: re.Match[str]) -> bool:
        """Return True if a statement counts: it is not inside another one, nor in an abstract that is closed later."""
        if any(each.name == ABSTRACT for each in self._open):
            if self._last_abstract > mark.start():
                return False
            self._close_all(mark.start(), "a statement begins")
        return not any(each.kind for each in self._open)

    def _equations(self, name: str, start: int) -> None:
        """Count the equations of an environment that begins at `start`."""
        if name not in (*_EQUATION, *_EQUATIONS):
            return
        end = self.body.find(rf"\end{{{name}}}", start)
        rows = [self.body[start : end if end >= 0 else start]]
        if name in _EQUATIONS:
            rows = [row for row in _rows(rows[0]) if row.strip()]
        self.numbers.step("equation", sum(not _UNNUMBERED.search(row) for row in rows))

    def _end(self, mark: re.Match[str]) -> None:
        name = mark["name"].strip()
        if not any(each.name == name for each in self._open):
            self.problems.append(f"{self.place(mark.start())}: \\end{{{name}}} has no matching \\begin")
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
        elif any(each.kind for each in self._open):
            return
        elif opened.name == ABSTRACT and not self.abstract:
            self.abstract = self.body[opened.content : end].strip()
            self._start = max(self._start, after)
        elif opened.name == "thebibliography":
            self._start = after

    def _close_all(self, at: int, why: str) -> None:
        while self._open:
            opened = self._open[-1]
            if opened.name != "document":
                self.problems.append(f"{self.place(opened.start)}: \\begin{{{opened.name}}} is still open where {why}")
            if opened.name == ABSTRACT and at == len(self.body):
                # Nothing marks the end of the abstract, so take its first paragraph.
                paragraph = self.body.find("\n\n", opened.content + 1)
                self._close(*(2 * [paragraph if paragraph >= 0 else at]))
            else:
                self._close(at, at)

    # Headings

    def _kind(self, name: str) -> str:
        """Return the kind of a statement in one word, so that one printed as `Main Theorem` is a theorem."""
        if name == PROOF:
            return PROOF
        words = self.numbers.theorems[name].name.lower().split() or [name]
        return next((word for word in words if word in USUAL), words[0])

    def _heading(self, name: str, kind: str, option: str) -> str:
        if kind == PROOF:
            of = f" of {self._last}" if self._last else ""
            return option or f"Proof{of}"
        theorem = self.numbers.theorems[name.rstrip("*")]
        self._last = theorem.name
        self._number = ""
        if theorem.counter is not None and not name.endswith("*"):
            self.numbers.step(theorem.counter)
            self._number = self.numbers.number(theorem.counter)
            self._last = f"{theorem.name} {self._number}"
        if option:
            return f"{self._last} ({option})"
        return self._last

    def _option(self, text: str) -> str:
        """Return the text of a statement's option without citations, with placeholders for references."""
        marked = _REFERRED.sub(
            lambda found: f"\u27e6{'n' if found['bare'] else 'k'}{found['label']}\u27e7", _CITED.sub("", text)
        )
        return readable(marked).rstrip(" .,")

    def _referred(self, heading: str) -> str:
        """Return a heading with placeholders replaced by the numbers that they refer to."""
        if "\u27e6" not in heading:
            return heading
        resolved = _WAITING.sub(lambda mark: self._names.get(mark[2], ("", ""))[mark[1] == "k"], heading)
        return " ".join(resolved.split())

    def _section(self, mark: re.Match[str]) -> None:
        title = argument(self.body, mark.end())
        if title is None:
            self.problems.append(f"{self.place(mark.start())}: the braces of \\{mark['level']} are not closed")
            return
        if any(each.kind or each.name == ABSTRACT for each in self._open):
            self._close_all(mark.start(), f"a \\{mark['level']} begins")
        self._text(mark.start())
        self._start = title[1]
        level = LEVELS[mark["level"]]
        if not mark["star"]:
            self.numbers.step(mark["level"])
        while self._sections and self._sections[-1][0] >= level:
            self._sections.pop()
        heading = readable(LABEL.sub("", title[0]))
        self._heads = "" if mark["star"] else self.numbers.number(mark["level"])
        numbered = self._heads and level <= LEVELS["subsection"]
        self._sections.append((level, f"{self._heads} {heading}" if numbered else heading))
        self._names.update((label, (self._heads, f"Section {self._heads}")) for label in LABEL.findall(title[0]))
        self._last = ""

    def _count(self, mark: re.Match[str]) -> None:
        """Begin the appendix, or set a counter."""
        if mark["appendix"]:
            self.numbers.appendix()
        elif mark["count"] == "setcounter":
            self.numbers.set_to(mark["counter"], int(mark["value"]))
        else:
            self.numbers.add(mark["counter"], int(mark["value"]))

    # Passages

    def _text(self, end: int) -> None:
        """Add the text between two statements as a passage of its section."""
        if not any(each.kind for each in self._open):
            self._add(self.body[self._start : end], "section", "")
            self._start = max(self._start, end)

    def _add(self, text: str, kind: str, heading: str) -> None:
        labels = LABEL.findall(text)
        self._name(text, kind)
        bare = _SILENT.sub("", LABEL.sub("", text)).strip()
        if kind == DEFINITION and not heading.endswith(")"):
            terms = list(defined_terms(bare))[:MOST_TERMS]
            heading += f" ({', '.join(terms)})" if terms else ""
        headings = tuple(title for _, title in self._sections)
        for label in labels:
            self.labels[label] = heading or " > ".join(headings)
        if re.search(r"\w", re.sub(r"\\[A-Za-z]+|\{[^{}]*\}", "", bare)):
            self._passages.append(
                Passage(bare, kind, (*headings, heading) if heading else headings, labels[0] if labels else "")
            )

    def _name(self, text: str, kind: str) -> None:
        """Record the number of the statement with the first label, or that of the heading before the text."""
        label = LABEL.search(text)
        before = text[: label.start()] if label else ""
        if label and kind == "section" and not before.strip() and self._heads:
            self._names.setdefault(label[1], (self._heads, f"Section {self._heads}"))
        elif label and kind not in ("section", PROOF) and r"\begin" not in before:
            self._names.setdefault(label[1], (self._number, self._last))
        self._heads = ""


def _rows(text: str) -> Iterator[str]:
    """Yield the rows of an aligned environment, ignoring those of matrices inside."""
    depth = start = 0
    for mark in _INNER.finditer(text):
        if mark["row"] and depth == 0:
            yield text[start : mark.start()]
            start = mark.end()
        elif not mark["row"]:
            depth += 1 if mark["edge"] == "begin" else -1
    yield text[start:]
