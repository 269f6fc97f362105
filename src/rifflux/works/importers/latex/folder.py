"""The LaTeX files of a folder: their labels, and which are only parts of others."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from rifflux.works.importers.latex.tex import INPUT, LABEL, target, without_comments

#: Commands that only a complete document contains.
_WHOLE = re.compile(r"\\begin\s*\{document\}|\\bye\b|\\enddocument\b")
_PACKAGES = re.compile(r"\\(?:usepackage|RequirePackage|documentclass|LoadClass)\s*(?:\[[^\[\]]*\])?\s*\{([^{}]+)\}")
#: The maximum number of folders between a part and its document.
MOST_LEVELS = 3


@dataclass(frozen=True, slots=True)
class _TexFolder:
    """The labels and inputs of each file; `whole` are the complete documents."""

    labels: Mapping[Path, frozenset[str]]
    inputs: Mapping[Path, frozenset[Path]]
    whole: frozenset[Path]


def labels_of(folder: Path) -> Mapping[Path, frozenset[str]]:
    """Return the labels that each `.tex` file of a folder defines."""
    return _folder(folder).labels


def is_part(path: Path) -> bool:
    """Return True if a document in the file's folder or one above inputs the file, directly or indirectly."""
    part = path.resolve()
    for folder in [*part.parents][: MOST_LEVELS + 1]:
        found = _folder(folder)
        if any(part in _reached(document, folder, found) for document in found.whole if document != part):
            return True
    return False


def packages(preamble: str, folder: Path) -> str:
    """Return the source of the preamble's packages and class that are in the document's folder."""
    names = [name.strip() for match in _PACKAGES.finditer(preamble) for name in match[1].split(",")]
    files = [folder / f"{Path(name).name}.{kind}" for name in dict.fromkeys(names) for kind in ("cls", "sty")]
    return "".join(without_comments(path.read_text("utf-8", "replace")) for path in files if path.is_file())


def _reached(document: Path, root: Path, found: _TexFolder) -> set[Path]:
    """Return the files that a document inputs, directly or indirectly."""
    reached: set[Path] = set()
    waiting = [document]
    while waiting:
        path = waiting.pop()
        new = (found.inputs[path] if path in found.inputs else frozenset(_inputs(path, root))) - reached
        reached |= new
        waiting += new
    return reached


def _folder(folder: Path) -> _TexFolder:
    paths = sorted(folder.glob("*.tex"))
    return _read_folder(folder, tuple((path, path.stat().st_mtime_ns) for path in paths))


@lru_cache(maxsize=16)
def _read_folder(folder: Path, files: tuple[tuple[Path, int], ...]) -> _TexFolder:
    """Read every file of a folder once; `files` are paths with modification times, the cache key."""
    texts = {path: path.read_text("utf-8", "replace") for path, _ in files}
    return _TexFolder(
        {path: frozenset(LABEL.findall(text)) for path, text in texts.items()},
        {path.resolve(): frozenset(_targets(text, path, folder)) for path, text in texts.items()},
        frozenset(path.resolve() for path, text in texts.items() if _WHOLE.search(text)),
    )


def _inputs(path: Path, root: Path) -> Iterator[Path]:
    try:
        yield from _targets(path.read_text("utf-8", "replace"), path, root)
    except OSError:
        return


def _targets(text: str, path: Path, root: Path) -> Iterator[Path]:
    for match in INPUT.finditer(text):
        if found := target((match[1] or match[2]).strip(), path, root.resolve()):
            yield found
