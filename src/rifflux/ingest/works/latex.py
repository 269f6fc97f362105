"""LaTeX sources: a document is a work, its statements, proofs and sections are passages.

`\\ref` and its relatives become links of the kind `refers` to labels, which are identifiers of the work that has them;
`\\cite` becomes a link to the entry of the `.bib` file, or to what the `\\bibitem` names. The preamble's simple macros
are expanded. What does not balance is told with its place, and the rest goes on.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
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
_INPUT = re.compile(r"\\(?:input|include|subfile)\s*\{([^{}]+)\}")
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
        self._own_labels = frozenset(_LABEL.findall(body))

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
        homes = {label: self._home(label, outline) for label in _listed_in(_REFERENCE, self.body)}
        yield from (Link(name, "refers") for name in homes.values() if name)
        _tell(
            notes,
            "\\ref",
            "refers to no label of the document or its folder",
            [each for each in homes if not homes[each]],
        )

    def _home(self, label: str, outline: Outline) -> str:
        """The name of a label: of this document, or of another of the folder, whose name may stand in front of it."""
        if label in outline.labels or label in self._own_labels:
            return f"{self.source.name}:{label}"
        for path, labels in _folder(self.source.path.parent).labels.items():
            inner = label.removeprefix(f"{path.stem}-")
            if path != self.source.path and inner in labels:
                return f"{self.source.name_of(path)}:{inner}"
        return ""

    def _citations(self, notes: Notes) -> Iterator[Link]:
        items = self._items()
        bibliographies = [
            self.source.name_of(path)
            for name in ([] if self.source.alone else _listed_in(_BIBLIOGRAPHY, self.head))
            if (path := self.source.path.parent / (name if name.endswith(".bib") else f"{name}.bib")).is_file()
        ]
        cited = _listed_in(_CITATION, self.body)
        unknown = [key for key in cited if key not in items]
        yield from (Link(name) for key in cited for name in items.get(key, ()))
        if bibliographies:
            yield from (Link(f"{bibliographies[0]}:{key}") for key in unknown)
        else:
            _tell(notes, "\\cite", "cites what no bibliography of the document has", unknown)

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


def _tell(notes: Notes, command: str, what: str, names: list[str]) -> None:
    """One note for all names that lead nowhere."""
    if names:
        more = f", and so do {len(names) - 1} more" if len(names) > 1 else ""
        notes.append(f"{command}{{{names[0]}}} {what}{more}")


def _listed_in(pattern: re.Pattern[str], text: str) -> list[str]:
    """The names in the arguments of a command, which may hold several, each once."""
    names = (name.strip() for match in pattern.finditer(text) for name in match[1].split(","))
    return [name for name in dict.fromkeys(names) if name]


def _is_part(path: Path) -> bool:
    """Whether another document of the folder inputs the file."""
    inputs = _folder(path.parent).inputs
    return any(path.stem in names for other, names in inputs.items() if other != path)


@dataclass(frozen=True, slots=True)
class _Folder:
    """What the documents of a folder define and input, by file."""

    labels: Mapping[Path, frozenset[str]]
    inputs: Mapping[Path, frozenset[str]]


def _folder(folder: Path) -> _Folder:
    paths = sorted(folder.glob("*.tex"))
    return _read_folder(tuple((path, path.stat().st_mtime_ns) for path in paths))


@lru_cache(maxsize=4)
def _read_folder(files: tuple[tuple[Path, int], ...]) -> _Folder:
    """Read every file once; `files` are paths with their times of change."""
    texts = {path: path.read_text("utf-8", "replace") for path, _ in files}
    return _Folder(
        {path: frozenset(_LABEL.findall(text)) for path, text in texts.items()},
        {path: frozenset(Path(name.strip()).stem for name in _INPUT.findall(text)) for path, text in texts.items()},
    )
