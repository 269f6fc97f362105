"""Reading of source code: functions, classes and their methods, each under its name."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from pathlib import PurePosixPath

from rifflux.ingest.read.base import File, decode, document_of
from rifflux.ingest.read.definitions import Definition, by_grammar, by_indentation
from rifflux.types import Block, Parsed

_SUFFIXES = """
.bash .sh .zsh bash, .c .h c, .cc .cpp .cxx .hpp cpp, .clj clojure, .cs csharp, .css css, .dart dart,
.erl erlang, .ex .exs elixir, .f90 fortran, .go go, .hs haskell, .java java, .jl julia, .js .jsx .mjs javascript,
.json json, .kt .kts kotlin, .lua lua, .m objc, .ml ocaml, .nim nim, .php php, .pl .pm perl, .proto proto,
.ps1 powershell, .py .pyi python, .r r, .rb ruby, .rs rust, .scala scala, .scss scss, .sol solidity, .sql sql,
.svelte svelte, .swift swift, .tf hcl, .toml toml, .ts typescript, .tsx tsx, .vue vue, .yaml .yml yaml, .zig zig
"""
#: The language of a file by suffix, named as in tree-sitter's grammars.
LANGUAGES: Mapping[str, str] = {
    suffix: language for *suffixes, language in (each.split() for each in _SUFFIXES.split(",")) for suffix in suffixes
}

# What commonly precedes a definition directly: comments, decorators, attributes, templates.
_LEADING = re.compile(r"[ \t]*(?:#|//|/\*|\*|--|;|@|\[\[?\w|%|\"\"\"|template\b)")
_CLOSES = re.compile(r"(?:\W|\bend\b)*", re.ASCII)


def read_code(file: File) -> Iterator[Parsed]:
    """Yield the document of a source file, titled with the file's name."""
    text = decode(file.data)
    path = PurePosixPath(file.path)
    language = LANGUAGES.get(path.suffix.lower(), "")
    document = document_of(file, text, "code", path.name)
    if language:
        metadata = {"language": language}
    else:
        metadata = {}
    yield Parsed(replace(document, metadata=metadata), code_blocks(text, language))


def code_blocks(text: str, language: str = "") -> tuple[Block, ...]:
    """Return the blocks of source code: definitions with the comments above them, and the code between.

    The headings of a block are the names around it: `("Class", "method")`.
    """
    lines = text.split("\n")
    definitions = by_grammar(text, language) or by_indentation(lines)
    source = _Source(text, lines, list(accumulate((len(line) + 1 for line in lines), initial=0)))
    return tuple(_without_closers(text, source.blocks(definitions, 0, len(lines), ())))


@dataclass(frozen=True, slots=True)
class _Source:
    """A text, its lines, and the start of each line."""

    text: str
    lines: Sequence[str]
    starts: Sequence[int]

    def blocks(self, definitions: Sequence[Definition], row: int, stop: int, path: tuple[str, ...]) -> Iterator[Block]:
        """Yield the blocks of the lines from `row` up to `stop`; only blank lines are in none."""
        for definition in definitions:
            if definition.first < row:  # on one line with the one before
                continue
            first = self._with_comments(definition.first, row)
            yield from self._block(row, first, path)
            row = definition.last + 1
            if definition.name:
                inner = (*path, definition.name)
            else:
                inner = path
            yield from self.blocks(definition.children, first, row, inner)
        yield from self._block(row, stop, path)

    def _with_comments(self, row: int, lowest: int) -> int:
        """Return the first line of the comments and decorators directly above the line at `row`."""
        while row > lowest and _LEADING.match(self.lines[row - 1]):
            row -= 1
        return row

    def _block(self, row: int, stop: int, path: tuple[str, ...]) -> Iterator[Block]:
        while row < stop and not self.lines[row].strip():
            row += 1
        if row < stop:
            start = self.starts[row]
            end = start + len(self.text[start : self.starts[stop] - 1].rstrip())
            yield Block(start, end, "code", path)


def _without_closers(text: str, blocks: Iterator[Block]) -> Iterator[Block]:
    """Yield the blocks, with the brackets that close a class joined to its last method."""
    last: Block | None = None
    for block in blocks:
        if last is not None and _CLOSES.fullmatch(text, block.start, block.end):
            last = replace(last, end=block.end)
            continue
        if last is not None:
            yield last
        last = block
    if last is not None:
        yield last
