"""LaTeX sources: a document is a work whose passages are its statements, proofs and sections.

`\\ref` and its relatives become links of kind `refers` to labels, which are identifiers of the work that defines them;
`\\cite` becomes a link to the entry of a `.bib` file, or to the identifiers in the `\\bibitem`, here or in the `.bbl`.
Simple macros of the preamble are expanded. Unbalanced markup is reported with its place, and the rest is imported.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import zip_longest

from rifflux.ingest.read.base import decode
from rifflux.text.licenses import license_of
from rifflux.types import Failure, Identifier, Link
from rifflux.works import Passage, Work, parse_identifier
from rifflux.works.importers.base import Entry, Problems, WorkSource, content
from rifflux.works.importers.latex.folder import is_part, labels_of, packages
from rifflux.works.importers.latex.numbering import numbering
from rifflux.works.importers.latex.outline import PaperOutline
from rifflux.works.importers.latex.tex import LABEL, Macros, Manuscript, argument, bracketed, macros_of, manuscript
from rifflux.works.importers.readable import readable

_REFERENCE = re.compile(r"\\(?:eq|page|auto|name|[cC])?ref\*?\s*\{([^{}]+)\}")
_CITATION = re.compile(r"\\[cC]ite[a-zA-Z]*\*?\s*(?:\[[^\[\]]*\]\s*){0,2}\{([^{}]+)\}")
_BIBLIOGRAPHY = re.compile(r"\\(?:bibliography|addbibresource)\s*\{([^{}]+)\}")
_BIBITEM = re.compile(
    r"\\bibitem\s*(?:\[(?:[^\[\]{}]|\{(?:[^{}]|\{[^{}]*\})*\})*\])?\s*\{([^{}]+)\}|\\entry\{([^{}]+)\}\{\w+\}"
)
_ENTRY = re.compile(r"^[ \t]*@\w+\s*[{(]\s*([^\s,{}()=]+)\s*,", re.MULTILINE)
_MENTIONED = re.compile(r"10\.\d{4,9}/[^\s{}\\,;]+|arxiv:\s*[\w./-]+\d", re.IGNORECASE)
_YEAR = re.compile(r"\b(1[6-9]\d\d|20\d\d)\b")
_NOTES = re.compile(r"\\(?:thanks|footnote(?:mark|text)?|titlenote|thanksref|tnoteref|label)(?![A-Za-z])")
_OF_NAMES = re.compile(
    r"\\(?:thanks|footnote(?:mark|text)?|thanksref|inst|affil|email|address|textsuperscript|orcid\w*|corref|fnref|label)(?![A-Za-z])"
)
#: A superscript that refers to an affiliation.
_RAISED = re.compile(r"\$\s*(?:\{\})?\^[^$]*\$")
_BEGIN = re.compile(r"\\begin\s*\{document\}")
_END = re.compile(r"\\end\s*\{document\}|\\bye\b")


def read(source: WorkSource) -> Iterator[Entry | Failure]:
    """Yield the work of a LaTeX document, or nothing for a file that another document inputs."""
    whole = manuscript(source.path)
    begin = _BEGIN.search(whole.text)
    if begin is None and not source.alone and is_part(source.path):
        return
    start = begin.end() if begin else 0
    end = _END.search(whole.text, start)
    preamble = whole.text[:start]
    body = whole.text[start : end.start() if end else len(whole.text)]
    if source.alone:
        declared = preamble
    else:
        declared = packages(preamble, source.path.parent) + preamble
    outline = PaperOutline(body, numbering(declared, body), lambda offset: whole.place(start + offset))
    passages = outline.passages()
    if begin and not end:
        outline.problems.append(f"{whole.place(len(whole.text))}: \\end{{document}} is missing")
    yield _LatexPaper(source, whole, preamble, body, macros_of(declared + body)).work_entry(outline, passages)


class _LatexPaper:
    """The facts of a document other than its passages."""

    def __init__(self, source: WorkSource, whole: Manuscript, preamble: str, body: str, macros: Macros) -> None:
        self.source = source
        self.whole = whole
        self.start = len(preamble)
        self.head = preamble + body
        self.body = body
        self.macros = macros
        self._own_labels = frozenset(LABEL.findall(body))

    def work_entry(self, outline: PaperOutline, passages: list[Passage]) -> Entry | Failure:
        """Return the work with notes on what did not balance; a `Failure` without a title and text."""
        source = self.source
        expand = self.macros.expand
        title = readable(expand(_without_notes(self._argument_of("title"))))
        if not (title or outline.abstract or passages):
            return Failure(str(source.path), "; ".join(["it has neither a title nor a text", *self.whole.problems]))
        notes = Problems([*self.whole.problems, *outline.problems])
        key = source.path.stem
        years = _YEAR.findall(self._argument_of("date"))
        named = parse_identifier(key.replace("_", "/"))
        work = Work(
            title=title or key,
            abstract=expand(outline.abstract),
            authors=tuple(self._authors()),
            year=notes.year(years[-1]) if years else None,
            identifiers=(
                *((named,) if named and named.scheme == "arxiv" else ()),
                *notes.identifiers("doi", self._argument_of("doi")),
                *(Identifier(source.name, label) for label in outline.labels),
            ),
            tags=(*notes.tags("msc", self._listed("subjclass")), *notes.tags("keyword", self._listed("keywords"))),
            passages=tuple(replace(each, text=expand(each.text)) for each in passages),
            citations=(*self._references(outline, notes), *self._citations(notes)),
            license=license_of(self._argument_of("license") or self._argument_of("licence")),
        )
        return Entry(str(source.path), key, work, tuple(notes))

    def _argument_of(self, command: str) -> str:
        """Return the argument of a command, or an empty string."""
        match = re.search(rf"\\{command}\s*(?:\[[^\[\]]*\]\s*)?(?=\{{)", self.head)
        if match:
            found = argument(self.head, match.end())
        else:
            found = None
        if found:
            return found[0]
        return ""

    def _listed(self, command: str) -> list[str]:
        words = re.sub(r"(?i)\b(?:primary|secondary)\b:?", ",", self._argument_of(command))
        return [text for each in re.split(r"[,;]|\\sep|\\and", words) if (text := readable(each).strip(" .:"))]

    def _authors(self) -> Iterator[str]:
        """Yield the names of each `\\author`, without thanks and affiliations."""
        for match in re.finditer(r"\\author\s*(?:\[[^\[\]]*\]\s*)?(?=\{)", self.head):
            found = argument(self.head, match.end())
            text = _RAISED.sub("", _without_notes(found[0] if found else "", _OF_NAMES))
            for name in re.split(r"\\and\b|\\And\b|,?\s+and\s+|,", text):
                if person := readable(name.split(r"\\")[0]):
                    yield person

    def _references(self, outline: PaperOutline, notes: Problems) -> Iterator[Link]:
        labels = _named_in(_REFERENCE, self.body)
        homes = {label: self._home(label, outline) for label in labels}
        yield from (Link(name, "refers") for name in homes.values() if name)
        lost = {label: labels[label] for label, name in homes.items() if not name}
        self._tell(notes, "\\ref", "does not match a label of the document or its folder", lost)

    def _home(self, label: str, outline: PaperOutline) -> str:
        """Return the identifier of a label of this document or of another in the folder, whose name may prefix it."""
        if label in outline.labels or label in self._own_labels:
            return f"{self.source.name}:{label}"
        for path, labels in labels_of(self.source.path.parent).items():
            inner = label.removeprefix(f"{path.stem}-")
            if path != self.source.path and inner in labels:
                return f"{self.source.name_of(path)}:{inner}"
        return ""

    def _citations(self, notes: Problems) -> Iterator[Link]:
        """Yield links to the `.bib` entries of citations, or else to the identifiers in their `\\bibitem`."""
        entries = self._entries()
        items = self._items()
        lost = {}
        for key, offset in _named_in(_CITATION, self.body).items():
            if key in entries:
                names = [entries[key]]
            else:
                names = items.get(key, [])
            yield from (Link(name) for name in names)
            if not names and key != "*":
                lost[key] = offset
        self._tell(notes, "\\cite", "does not match an entry of the document's bibliographies", lost)

    def _tell(self, notes: Problems, command: str, what: str, lost: Mapping[str, int]) -> None:
        """Add one note for all unresolved names, with the place of the first."""
        if lost:
            first, offset = next(iter(lost.items()))
            if len(lost) > 1:
                more = f" (and {len(lost) - 1} more like it)"
            else:
                more = ""
            notes.append(f"{self.whole.place(self.start + offset)}: {command}{{{first}}} {what}{more}")

    def _entries(self) -> dict[str, str]:
        """Return the identifier of each entry of the document's `.bib` files; the first file wins."""
        entries: dict[str, str] = {}
        for name in () if self.source.alone else _named_in(_BIBLIOGRAPHY, self.head):
            path = self.source.path.parent / (name if name.endswith(".bib") else f"{name}.bib")
            if path.is_file():
                source = self.source.name_of(path)
                for key in _ENTRY.findall(decode(content(path))):
                    entries.setdefault(key, f"{source}:{key}")
        return entries

    def _items(self) -> dict[str, list[str]]:
        """Return the identifiers mentioned by each `\\bibitem`, here or in the `.bbl`, or else its own key."""
        compiled = self.source.path.with_suffix(".bbl")
        text = self.body + (f"\n{decode(content(compiled))}" if compiled.is_file() and not self.source.alone else "")
        items: dict[str, list[str]] = {}
        found = list(_BIBITEM.finditer(text))
        for item, following in zip_longest(found, found[1:]):
            end = following.start() if following else len(text)
            entry = text[item.end() : end].partition(r"\end{thebibliography}")[0]
            mentioned = [parse_identifier(each.rstrip(".")) for each in _MENTIONED.findall(entry)]
            names = [str(each) for each in mentioned if each]
            key = (item[1] or item[2]).strip()
            items.setdefault(key, names or [f"{self.source.name}.bib:{key}"])
        return items


def _without_notes(text: str, notes: re.Pattern[str] = _NOTES) -> str:
    """Return a title or name without its footnotes."""
    pieces = []
    start = 0
    for note in notes.finditer(text):
        if note.start() >= start:
            option = bracketed(text, note.end())
            note_text = argument(text, option[1] if option else note.end())
            pieces.append(text[start : note.start()])
            if note_text:
                start = note_text[1]
            elif option:
                start = option[1]
            else:
                start = note.end()
    return "".join([*pieces, text[start:]])


def _named_in(pattern: re.Pattern[str], text: str) -> dict[str, int]:
    """Return the names in the arguments of a command, which may list several, with their first offsets."""
    found: dict[str, int] = {}
    for match in pattern.finditer(text):
        for name in match[1].split(","):
            if name.strip():
                found.setdefault(name.strip(), match.start())
    return found
