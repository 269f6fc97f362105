"""Reading of reStructuredText by lines: sections, literal blocks, directives, lists and tables.

Inline markup is left as written. Nothing is executed or included.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate

from rifflux.ingest.read.base import LONGEST_HEADING, File, OutlineBuilder, decode, document_of, shortened
from rifflux.types import Block, Parsed

_ADORNMENT = re.compile(r"([!-/:-@\[-`{-~])\1*[ \t]*")
_EXPLICIT = re.compile(r"[ \t]*\.\.(?:[ \t]+(.*))?$")
_DIRECTIVE = re.compile(r"(?:\|[^|]+\|[ \t]+)?([\w:.+-]+)::(?:[ \t]|$)")
_SUBSTANCE = re.compile(r"\[[^\]]+\][ \t]|_[^:]+:[ \t]+\S|__ ")  # footnotes, citations, links to somewhere
_ITEM = re.compile(
    r"[ \t]*(?:[-*+•‣]|(?:\d+|#|[a-zA-Z]|[ivxlcdm]+)[.)]|\((?:\d+|#|[a-zA-Z])\)|:[^:\s][^:\n]*:)(?=\s|$)"
)
_GRID = re.compile(r"[ \t]*\+(?:-+\+)+[ \t]*$")
_GRID_HEAD = re.compile(r"[ \t]*\+(?:=+\+)+[ \t]*$")
_SIMPLE = re.compile(r"[ \t]*=+(?:[ \t]+=+)+[ \t]*$")
_INDENT = re.compile(r"[ \t]*")
_INLINE = (
    (re.compile(r"(?::[\w:.+-]+:)?`([^`<]*?)\s*<[^`<>]*>`_{0,2}"), r"\1"),
    (re.compile(r"``(.+?)``"), r"\1"),
    (re.compile(r"(?::[\w:.+-]+:)?`~?([^`]+)`_{0,2}"), r"\1"),
    (re.compile(r"(\*{1,2})(?=\S)(.+?)(?<=\S)\1"), r"\2"),
    (re.compile(r"\|(?=\S)([^|]+)(?<=\S)\|"), r"\1"),
    (re.compile(r"\\(.)"), r"\1"),
)

_CODE = frozenset(
    [
        *("code", "code-block", "console", "doctest", "graphviz", "ipython", "jupyter-execute", "math", "mermaid"),
        *("parsed-literal", "productionlist", "prompt", "raw", "sourcecode", "testcode", "testoutput", "uml"),
    ]
)
_TABLES = frozenset(["csv-table", "list-table"])
# Directives that control the rendering and have no content for readers.
_SILENT = frozenset(["contents", "currentmodule", "default-role", "highlight", "meta", "module", "role", "sectnum"])


def read_rst(file: File) -> Iterator[Parsed]:
    """Yield the document of a reStructuredText file, titled by its first section."""
    text = decode(file.data)
    scan = _scan(text)
    yield Parsed(document_of(file, text, "rst", scan.title), scan.outline.finish())


def rst_blocks(text: str) -> tuple[Block, ...]:
    """Return the blocks of a reStructuredText document."""
    return _scan(text).outline.finish()


@dataclass(slots=True)
class _RstScan:
    """The lines, the start of each, and the blocks found so far."""

    lines: Sequence[str]
    starts: Sequence[int]
    title: str = ""
    styles: list[str] = field(default_factory=list)
    outline: OutlineBuilder = field(default_factory=OutlineBuilder)

    def block(self, row: int, stop: int, kind: str = "paragraph", header: str = "") -> None:
        """Add the lines from `row` up to `stop` as a block."""
        while stop > row and not self.lines[stop - 1].strip():
            stop -= 1
        if stop > row:
            end = self.starts[stop - 1] + len(self.lines[stop - 1].rstrip())
            self.outline.block(self.starts[row], end, kind, header)

    def line(self, row: int) -> str:
        """Return the line at `row` without trailing space; empty outside the text."""
        if 0 <= row < len(self.lines):
            return self.lines[row].rstrip()
        return ""

    def indent(self, row: int) -> int:
        """Return the column at which the line at `row` begins."""
        space = _INDENT.match(self.lines[row])
        if space:
            return len(space.group().expandtabs(8))
        return 0

    def body(self, row: int, indent: int) -> int:
        """Return the row after the lines from `row` on that are indented deeper than `indent`, or blank."""
        while row < len(self.lines) and (not self.lines[row].strip() or self.indent(row) > indent):
            row += 1
        return row


#: Reads the element that begins at a non-blank row. Returns the row after it, or the same row for another element.
_Rule = Callable[[_RstScan, int], int]


def _scan(text: str) -> _RstScan:
    lines = text.split("\n")
    scan = _RstScan(lines, list(accumulate((len(line) + 1 for line in lines), initial=0)))
    row = 0
    while row < len(lines):
        if lines[row].strip():
            row = next(after for rule in _RULES if (after := rule(scan, row)) > row)
        else:
            row += 1
    return scan


def _section(scan: _RstScan, row: int) -> int:
    """Read a section title with a line under it, or with one above and one below."""
    over = _ADORNMENT.fullmatch(scan.line(row))
    title_row = row + 1 if over else row
    title = scan.line(title_row)
    under = _ADORNMENT.fullmatch(scan.line(title_row + 1))
    if not title or under is None or _ADORNMENT.fullmatch(title):
        return row
    if over and (over.group() != under.group() or len(over.group()) < 2):
        return row
    if not over and (title[0].isspace() or len(under.group()) < min(4, len(title))):
        return row
    style = under[1] + ("^" if over else "")
    if style not in scan.styles:
        scan.styles.append(style)
    words = _plain(title)
    scan.title = scan.title or words
    end = scan.starts[title_row] + len(title)
    scan.outline.heading(scan.styles.index(style) + 1, words, scan.starts[title_row], end)
    if len(title) > LONGEST_HEADING:
        scan.block(title_row, title_row + 1)
    return title_row + 2


def _transition(scan: _RstScan, row: int) -> int:
    """Read a line of punctuation between blank lines."""
    alone = not scan.line(row - 1) and not scan.line(row + 1)
    rule = _ADORNMENT.fullmatch(scan.line(row))
    if alone and rule and len(rule.group()) >= 4:
        return row + 1
    return row


def _explicit(scan: _RstScan, row: int) -> int:
    """Read a directive, footnote, link target or comment: an element that begins with two dots."""
    explicit = _EXPLICIT.match(scan.line(row))
    if explicit is None:
        return row
    stop = scan.body(row + 1, scan.indent(row))
    markup = explicit[1] or ""
    directive = _DIRECTIVE.match(markup)
    if directive is None:
        if _SUBSTANCE.match(markup):
            scan.block(row, stop)
        return stop
    name = directive[1]
    if name in _SILENT:
        return stop
    if name in _CODE or name in _TABLES:
        scan.block(row, stop, "code" if name in _CODE else "table")
        return stop
    # An admonition, a figure, an entry of an API: its head and first paragraph, then the rest of its content.
    return _paragraph(scan, row)


def _grid_table(scan: _RstScan, row: int) -> int:
    if not _GRID.match(scan.line(row)):
        return row
    stop = row
    while scan.line(stop).lstrip().startswith(("+", "|")):
        stop += 1
    head = next((at for at in range(row, stop) if _GRID_HEAD.match(scan.line(at))), None)
    scan.block(row, stop, "table", _joined(scan, row, head))
    return stop


def _simple_table(scan: _RstScan, row: int) -> int:
    if not _SIMPLE.match(scan.line(row)):
        return row
    borders = [row]
    for at in range(row + 1, len(scan.lines)):
        if _SIMPLE.match(scan.line(at)):
            borders.append(at)
            if not scan.line(at + 1):  # the line below a header is never blank
                break
    if len(borders) == 1:
        return row
    head = borders[1] if len(borders) > 2 else None
    scan.block(row, borders[-1] + 1, "table", _joined(scan, row, head))
    return borders[-1] + 1


def _joined(scan: _RstScan, row: int, last: int | None) -> str:
    if last is None:
        return ""
    return "\n".join(scan.lines[row : last + 1])


def _doctest(scan: _RstScan, row: int) -> int:
    if not scan.line(row).lstrip().startswith(">>> "):
        return row
    stop = _until_blank(scan, row)
    scan.block(row, stop, "code")
    return stop


def _items(scan: _RstScan, row: int) -> int:
    """Read the items of a list or a field list without blank lines between; each is a block."""
    if not _ITEM.match(scan.line(row)):
        return row
    stop = _until_blank(scan, row)
    indent = scan.indent(row)
    begin = row
    for at in range(row + 1, stop):
        if scan.indent(at) == indent and _ITEM.match(scan.line(at)):
            scan.block(begin, at, "item")
            begin = at
    return _with_literal(scan, begin, stop, "item")


def _paragraph(scan: _RstScan, row: int) -> int:
    return _with_literal(scan, row, _until_blank(scan, row), "paragraph")


def _with_literal(scan: _RstScan, row: int, stop: int, kind: str) -> int:
    """Add a block, and the literal block that two colons at its end announce; return the row after them."""
    last = scan.line(stop - 1)
    if scan.line(row).strip() != "::":
        scan.block(row, stop, kind)
    if not last.endswith("::") or _EXPLICIT.match(scan.line(row)):
        return stop
    begin = stop
    while begin < len(scan.lines) and not scan.line(begin):
        begin += 1
    after = scan.body(begin, scan.indent(row))
    scan.block(begin, after, "code")
    return max(stop, after)


def _until_blank(scan: _RstScan, row: int) -> int:
    while scan.line(row):
        row += 1
    return row


_RULES: Sequence[_Rule] = (
    *(_explicit, _section, _transition, _grid_table, _simple_table, _doctest),
    *(_items, _paragraph),
)


def _plain(title: str) -> str:
    """Return a title without its inline markup."""
    words = title[: 4 * LONGEST_HEADING]
    for pattern, plain in _INLINE:
        words = pattern.sub(plain, words)
    return shortened(" ".join(words.split()))
