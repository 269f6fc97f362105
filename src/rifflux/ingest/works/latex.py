"""LaTeX sources: a document is a work, its statements, proofs and sections are passages.

`\\ref` and its relatives become links of the kind `refers` to labels, which are identifiers of the work that has them;
`\\cite` becomes a link to the entry of the `.bib` file, or to what the `\\bibitem` names. The preamble's simple macros
are expanded. What does not balance is told with its place, and the rest goes on.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from rifflux.ingest.works.base import Entry, Notes, Source
from rifflux.ingest.works.outline import Outline, theorems
from rifflux.ingest.works.readable import readable
from rifflux.ingest.works.tex import Macros, Manuscript, argument, macros_of, manuscript
from rifflux.types import Failure, Identifier, Link
from rifflux.works import Passage, Work, parse_identifier
from rifflux.works.licences import licence_of

__all__ = ["read"]

_REFERENCE = re.compile(r"\\(?:eq|page|auto|name|[cC])?ref\*?\s*\{([^{}]+)\}")
_CITATION = re.compile(r"\\[cC]ite[a-zA-Z]*\*?\s*(?:\[[^\[\]]*\]\s*){0,2}\{([^{}]+)\}")
_BIBLIOGRAPHY = re.compile(r"\\(?:bibliography|addbibresource)\s*\{([^{}]+)\}")
_BIBITEM = re.compile(r"\\bibitem\s*(?:\[(?:[^\[\]{}]|\{[^{}]*\})*\])?\s*\{([^{}]+)\}")
_LABEL = re.compile(r"\\label\s*\{([^{}]*)\}")
_MENTIONED = re.compile(r"10\.\d{4,9}/[^\s{}\\,;]+|arxiv:\s*[\w./-]+\d", re.IGNORECASE)
_YEAR = re.compile(r"\b(1[6-9]\d\d|20\d\d)\b")
_THANKS = re.compile(r"\\(?:thanks|footnote|inst|affil|email|address)\s*(?=\{)")
_BEGIN, _END = re.compile(r"\\begin\s*\{document\}"), re.compile(r"\\end\s*\{document\}|\\bye\b")


def read(source: Source) -> Iterator[Entry | Failure]:
    """The work of a LaTeX document; none for a file that another document of its folder inputs."""
    whole = manuscript(source.path)
    begin = _BEGIN.search(whole.text)
    if begin is None and _is_part(source.path):
        return
    start = begin.end() if begin else 0
    end = _END.search(whole.text, start)
    preamble, body = whole.text[:start], whole.text[start : end.start() if end else len(whole.text)]
    outline = Outline(body, theorems(preamble), lambda offset: whole.place(start + offset))
    passages = outline.passages()
    if begin and not end:
        outline.problems.append(f"{whole.place(len(whole.text))}: \\end{{document}} is missing")
    yield _Paper(source, whole, preamble, body, macros_of(preamble)).entry(outline, passages)


class _Paper:
    """What a document says of itself outside of its passages."""

    def __init__(self, source: Source, whole: Manuscript, preamble: str, body: str, macros: Macros) -> None:
        self.source = source
        self.whole = whole
        self.head = preamble + body
        self.body = body
        self.macros = macros

    def entry(self, outline: Outline, passages: list[Passage]) -> Entry:
        """The work, with all that did not balance."""
        source, expand = self.source, self.macros.expand
        notes = Notes([*self.whole.problems, *outline.problems])
        key = source.path.stem
        years = _YEAR.findall(self._said("date"))
        named = parse_identifier(key.replace("_", "/"))
        work = Work(
            title=readable(expand(self._said("title"))) or key,
            abstract=expand(outline.abstract),
            authors=tuple(self._authors()),
            year=notes.year(years[-1]) if years else None,
            identifiers=(
                *((named,) if named and named.scheme == "arxiv" else ()),
                *notes.identifier("doi", self._said("doi")),
                *(Identifier(source.name, label) for label in outline.labels),
            ),
            tags=(*notes.tags("msc", self._listed("subjclass")), *notes.tags("keyword", self._listed("keywords"))),
            passages=tuple(replace(each, text=expand(each.text)) for each in passages),
            citations=(*self._references(outline, notes), *self._citations(notes)),
            licence=licence_of(self._said("licence") or self._said("license")),
        )
        return Entry(str(source.path), key, work, tuple(notes))

    def _said(self, command: str) -> str:
        """The argument of a command, or nothing."""
        match = re.search(rf"\\{command}\s*(?:\[[^\[\]]*\]\s*)?(?=\{{)", self.head)
        found = argument(self.head, match.end()) if match else None
        return found[0] if found else ""

    def _listed(self, command: str) -> list[str]:
        words = re.sub(r"(?i)\b(?:primary|secondary)\b:?", ",", self._said(command))
        return [text for each in re.split(r"[,;]|\\sep|\\and", words) if (text := readable(each).strip(" .:"))]

    def _authors(self) -> Iterator[str]:
        """The names of each `\\author`, without thanks and affiliations."""
        for match in re.finditer(r"\\author\s*(?:\[[^\[\]]*\]\s*)?(?=\{)", self.head):
            found = argument(self.head, match.end())
            text = found[0] if found else ""
            while thanks := _THANKS.search(text):
                note = argument(text, thanks.end())
                text = text[: thanks.start()] + (text[note[1] :] if note else "")
            for name in re.split(r"\\and\b|\\And\b|,?\s+and\s+|,", text):
                if person := readable(name.split(r"\\")[0]):
                    yield person

    def _references(self, outline: Outline, notes: Notes) -> Iterator[Link]:
        for label in _listed_in(_REFERENCE, self.body):
            name = self._home(label, outline)
            if name:
                yield Link(name, "refers")
            else:
                notes.append(f"\\ref{{{label}}} refers to no label of the document or its folder")

    def _home(self, label: str, outline: Outline) -> str:
        """The name of a label: of this document, or of another of the folder, whose name may stand in front of it."""
        if label in outline.labels or label in _LABEL.findall(self.body):
            return f"{self.source.name}:{label}"
        for path in sorted(self.source.path.parent.glob("*.tex")):
            inner = label.removeprefix(f"{path.stem}-")
            if path != self.source.path and f"\\label{{{inner}}}" in path.read_text("utf-8", "replace"):
                return f"{self.source.name_of(path)}:{inner}"
        return ""

    def _citations(self, notes: Notes) -> Iterator[Link]:
        items = self._items()
        bibliographies = [
            self.source.name_of(path)
            for name in _listed_in(_BIBLIOGRAPHY, self.head)
            if (path := self.source.path.parent / (name if name.endswith(".bib") else f"{name}.bib")).is_file()
        ]
        for key in _listed_in(_CITATION, self.body):
            if key in items:
                yield from (Link(name) for name in items[key])
            elif bibliographies:
                yield Link(f"{bibliographies[0]}:{key}")
            else:
                notes.append(f"\\cite{{{key}}} cites what no bibliography of the document has")

    def _items(self) -> dict[str, list[str]]:
        """The identifiers that each `\\bibitem` mentions; one without any keeps its own key."""
        items: dict[str, list[str]] = {}
        found = list(_BIBITEM.finditer(self.body))
        ends = [*(item.start() for item in found[1:]), len(self.body)]
        for item, end in zip(found, ends, strict=False):
            text = self.body[item.end() : end]
            mentioned = [parse_identifier(each.rstrip(".")) for each in _MENTIONED.findall(text)]
            names = [str(each) for each in mentioned if each]
            items[item[1].strip()] = names or [f"{self.source.name}.bib:{item[1].strip()}"]
        return items


def _listed_in(pattern: re.Pattern[str], text: str) -> list[str]:
    """The names in the arguments of a command, which may hold several, each once."""
    names = (name.strip() for match in pattern.finditer(text) for name in match[1].split(","))
    return [name for name in dict.fromkeys(names) if name]


def _is_part(path: Path) -> bool:
    """Whether another document of the folder inputs the file."""
    wanted = re.compile(rf"\\(?:input|include|subfile)\s*\{{(?:\./)?{re.escape(path.stem)}(?:\.tex)?\}}")
    others = (each for each in path.parent.glob("*.tex") if each != path)
    return any(wanted.search(each.read_text("utf-8", "replace")) for each in others)
