"""Reading of Markdown: CommonMark with tables and front matter, with blocks parsed by markdown-it-py.

Inline markup is left as written, because the words in it are searched.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import accumulate
from textwrap import dedent

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock

from rifflux.ingest.read.base import LONGEST_HEADING, File, OutlineBuilder, decode, document_of, plain_heading
from rifflux.types import Block, Parsed

_KINDS = {"fence": "code", "code_block": "code", "table_open": "table", "html_block": "paragraph"}
_LEAVES = {"paragraph_open", "heading_open", *_KINDS}
_NEWLINE = re.compile(r"\r\n?|\n")
# Comments, and tags without content of their own: closing ones, and those with no attributes but these.
_SILENT_HTML = re.compile(
    r"<!--.*?(?:-->|\Z)|</[a-z][^<>]*>"
    r"|<[a-z][\w-]*(?:\s+(?:id|name|class|style)\s*=\s*(?:\"[^\"]*\"|'[^']*'))*\s*/?>",
    re.DOTALL | re.IGNORECASE,
)


def read_markdown(file: File) -> Iterator[Parsed]:
    """Yield the document of a Markdown file, titled by its front matter or its top heading.

    Tags in its text (`#boat`) are added to those of the front matter.
    """
    text = decode(file.data)
    front = front_matter(text)
    scan = _scan(text, front.end)
    blocks = scan.outline.finish()
    tags = _tags(front.values.get("tags"), text, blocks)
    title = front.values.get("title") or scan.title
    document = replace(
        document_of(file, text, "markdown", str(title)),
        created_at=date_in(front.values, "created", "created_at", "date") or file.created_at,
        updated_at=date_in(front.values, "updated", "updated_at", "modified", "lastmod") or file.updated_at,
        metadata={**front.values, "tags": tags} if tags else front.values,
    )
    yield Parsed(document, blocks)


def markdown_blocks(text: str) -> tuple[Block, ...]:
    """Return the blocks of a Markdown text, without front matter."""
    return _scan(text, front_matter(text).end).outline.finish()


def _tags(given: Value | None, text: str, blocks: Iterable[Block]) -> list[str]:
    """Return the distinct tags of the front matter and of the prose."""
    if isinstance(given, str):
        listed = given.split(",")
    elif isinstance(given, list):
        listed = given
    else:
        listed = []
    found = [each.strip().removeprefix("#") for each in listed]
    found += tags_in(text, blocks)
    return list(dict.fromkeys(filter(None, found)))[:MOST_TAGS]


@dataclass(slots=True)
class _MarkdownScan:
    """The result of scanning the tokens: headings with their levels, and blocks."""

    headings: list[tuple[int, str]] = field(default_factory=list)
    opens_with_heading: bool = True
    outline: OutlineBuilder = field(default_factory=OutlineBuilder)

    @property
    def title(self) -> str:
        """Return the first heading of level one, or a lower one that opens the text and has no equal."""
        first = next((words for level, words in self.headings if level == 1), "")
        if first or not (self.headings and self.opens_with_heading):
            return first
        top, words = self.headings[0]
        if all(level > top for level, _ in self.headings[1:]):
            return words
        return ""


def _scan(text: str, offset: int) -> _MarkdownScan:
    """Scan `text` from `offset` on with markdown-it, and record each leaf block."""
    source = text[offset:]
    # The start of each line, and finally the end of the text.
    if "\r" in source:
        starts = [offset, *(offset + newline.end() for newline in _NEWLINE.finditer(source)), offset + len(source)]
    else:
        starts = list(accumulate((len(line) + 1 for line in source.split("\n")), initial=offset))
    scan = _MarkdownScan()
    item: int | None = None  # the first line of a list item that nothing has been read of
    tokens = _parser().parse(source)
    for index, token in enumerate(tokens):
        if token.type == "list_item_open":
            item = token.map[0] if token.map else None
        elif token.type in _LEAVES and token.map:
            first, last = token.map
            if token.type == "heading_open" and token.level == 0:
                level = int(token.tag[1:])
                markup = tokens[index + 1].content
                title = plain_heading(markup)
                start = starts[first]
                end = start + len(text[start : starts[last]].rstrip())
                scan.headings.append((level, title))
                scan.outline.heading(level, title, start, end)
                if len(markup) > LONGEST_HEADING:  # the breadcrumb does not hold all of it
                    scan.outline.block(start, end)
                continue
            kind = _KINDS.get(token.type) or ("paragraph" if item is None else "item")
            start = starts[first if item is None else item]
            end = starts[last]
            item = None
            _block(scan, kind, start, end, text)
    return scan


def _block(scan: _MarkdownScan, kind: str, start: int, end: int, text: str) -> None:
    source = text[start:end]
    if source.lstrip().startswith("<") and not _SILENT_HTML.sub("", source).strip():
        return
    scan.opens_with_heading &= bool(scan.headings)
    if kind == "table":
        header = "\n".join(source.split("\n", 2)[:2])
    else:
        header = ""
    scan.outline.block(start, start + len(source.rstrip()), kind, header)


# The parser


# Blocks nested deeper than this are skipped; a list takes two levels.
_DEEPEST = 100


@cache
def _parser() -> MarkdownIt:
    """Return a parser of blocks only. Link definitions count as text: people search for their targets."""
    parser = (
        MarkdownIt("commonmark", {"maxNesting": _DEEPEST}).enable("table").disable(["inline", "text_join", "reference"])
    )
    parser.block.ruler.before("table", "prose", _prose)
    return parser


# A line that can only begin a paragraph and cannot end one: it starts with a letter, a quote, code, emphasis etc., but
# not with a possible marker, rule, underline or table.
_PROSE_LINE = re.compile(r"[^\W\d_]|[\"'“‘«(\\$!/]|`(?!``)|\*\*?[^\s*]|__?[^\s_]|\d+(?![\d.)])")


def _prose(state: StateBlock, start_line: int, _end_line: int, silent: bool) -> bool:
    """Recognise the usual paragraph immediately: a rule for markdown-it.

    Its own rules try every other sort of block on each line of each paragraph, twice, which takes two thirds of the
    time. A paragraph with any line other than `_PROSE_LINE` is left to them.
    """
    if silent or state.is_code_block(start_line):
        return False
    line = start_line
    while line < state.lineMax and not state.isEmpty(line):
        if not _PROSE_LINE.match(state.src, state.bMarks[line] + state.tShift[line]):
            return False
        line += 1
    state.line = line
    state.push("paragraph_open", "p", 1).map = [start_line, line]
    state.push("paragraph_close", "p", -1)
    return True


# The metadata before a Markdown text: `key: value` lines and lists between two lines of `---`


_FENCED = re.compile(r"---[ \t]*\n(.*?)^(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL | re.MULTILINE)
_ENTRY = re.compile(r"""^(?:"([^"\n]+)"|'([^'\n]+)'|([^\s:#'"\[\]{}-][^:\n]*?))[ \t]*:(?:[ \t]+(.*))?$""")
_ITEM = re.compile(r"[ \t]*-(?:[ \t]+(.*))?$")
_COMMENT = re.compile(r"(?:^|[ \t]+)#.*$")
_FLOW_ITEM = re.compile(r"""\s*("(?:[^"\\]|\\.)*"|'(?:[^']|'')*'|[^,]*)\s*(?:,|$)""")
_QUOTED = re.compile(r"""\s*(?:"((?:[^"\\]|\\.)*)"|'((?:[^']|'')*)')\s*(?:#.*)?""")
_ESCAPE = re.compile(r"\\(.)")
_NUMBER = re.compile(r"[-+]?(?:0|[1-9]\d*)(\.\d+)?")
_ISO_DATE = re.compile(r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?\s?(?:Z|[+-]\d\d:?\d\d)?)?")
_WORDS: Mapping[str, bool | None] = {"true": True, "false": False, "null": None, "~": None, "": None}


#: A scalar, or a list of texts.
Value = bool | int | float | str | list[str]


@dataclass(frozen=True, slots=True)
class FrontMatter:
    """The values by key, in the order of the file, and the position of the text after them."""

    values: Mapping[str, Value] = field(default_factory=dict)
    end: int = 0


def front_matter(text: str) -> FrontMatter:
    """Return the values between `---` lines at the very start of `text`; none if that is not a list of keys."""
    fenced = _FENCED.match(text)
    if fenced is None:
        return FrontMatter()
    lines = fenced.group(1).split("\n")
    first = next((line for line in lines if _COMMENT.sub("", line).strip()), "")
    if first and not _ENTRY.match(first):
        return FrontMatter()  # a text between two rules
    values = {key: _value(scalar, rest) for key, scalar, rest in _entries(lines)}
    return FrontMatter({key: value for key, value in values.items() if value is not None}, fenced.end())


def date_in(values: Mapping[str, Value], *keys: str) -> str | None:
    """Return the first of these keys with an ISO 8601 date, normalized: a `T` before the time, no spaces."""
    for key in keys:
        value = values.get(key)
        if isinstance(value, str) and _ISO_DATE.fullmatch(value):
            day = value[:10]
            time = value[11:].replace(" ", "")
            if time:
                return f"{day}T{time}"
            return day
    return None


def _entries(lines: list[str]) -> list[tuple[str, str, list[str]]]:
    """Return each key with the text after its colon and the lines that belong to it."""
    entries: list[tuple[str, str, list[str]]] = []
    for line in lines:
        entry = _ENTRY.match(line)
        if entry:
            key = entry[1] or entry[2] or entry[3]
            entries.append((key, (entry[4] or "").strip(), []))
        elif entries and line.strip() and not line.startswith("#"):
            entries[-1][2].append(line)
    return entries


def _value(scalar: str, rest: list[str]) -> Value | None:
    if scalar[:1] in {"|", ">"}:
        return dedent("\n".join(rest)).strip()
    if not scalar.startswith(('"', "'")):
        scalar = _COMMENT.sub("", scalar)
    if scalar.startswith("[") and scalar.endswith("]"):
        return [_unquoted(item) for found in _FLOW_ITEM.finditer(scalar[1:-1]) if (item := found[1].strip())]
    items = [_ITEM.match(line) for line in rest]
    if not scalar and items and all(items):
        return [_unquoted(_uncommented(item[1] or "")) for item in items if item]
    if rest:  # a scalar over several lines, or a mapping: kept as it is written
        return "\n".join(part for part in (scalar, dedent("\n".join(rest)).rstrip()) if part)
    return _scalar(scalar)


def _uncommented(scalar: str) -> str:
    if scalar.startswith(('"', "'")):
        return scalar
    return _COMMENT.sub("", scalar)


def _scalar(scalar: str) -> Value | None:
    if scalar.lower() in _WORDS:
        return _WORDS[scalar.lower()]
    number = _NUMBER.fullmatch(scalar)
    if number:
        if number[1]:
            return float(scalar)
        return int(scalar)
    return _unquoted(scalar)


def _unquoted(scalar: str) -> str:
    quoted = _QUOTED.fullmatch(scalar)
    if quoted is None:
        return scalar.strip()
    if quoted[1] is not None:
        return _ESCAPE.sub(r"\1", quoted[1])
    return quoted[2].replace("''", "'")


# Tags in the text: `#boat`, `#kitchen/cold`


#: The maximum number of tags per document.
MOST_TAGS = 100
#: Parsing a paragraph takes time quadratic in its brackets. A paragraph with more of them has no tags.
MOST_BRACKETS = 1_000
#: A tag has one or more levels and at least one letter. It starts a word.
_TAG = re.compile(r"(?<!\S)#(?=[\w/-]*[^\W\d_])(\w[\w/-]*)")
#: The label and the target of a link reference definition. Renderers differ in what they accept after the target, so
#: the rest is ignored. A footnote (`[^1]: ...`) has text there instead of a target.
_DEFINITION = re.compile(r"^(?:[ \t>]|[-*+][ \t])*\[(?!\^)(?:\\.|[^\[\]\\])+\]:\s*\S+", re.MULTILINE)
#: Replaces a piece of a paragraph that is not text, so that the text after it does not start a word.
_OBJECT = "\ufffc"


def tags_in(text: str, blocks: Iterable[Block]) -> Iterator[str]:
    """Yield the tags in the paragraphs and list items of a text, in order of appearance.

    A tag is in the text that a reader sees. Targets of links, addresses, code, HTML and escaped characters are not
    tags.
    """
    for block in blocks:
        if block.kind not in ("paragraph", "item"):
            continue
        written = text[block.start : block.end]
        if "#" in written and written.count("[") <= MOST_BRACKETS:
            prose = _prose_of(_DEFINITION.sub(_OBJECT, written))
            yield from (tag.rstrip("/-") for tag in _TAG.findall(prose))


def _prose_of(written: str) -> str:
    """Return the plain text of inline Markdown, with everything else replaced by a non-space character."""
    parser = _inline_parser()
    pieces = []
    links = 0
    for token in parser.inline.parse(written, parser, {}, []):
        if token.type in ("softbreak", "hardbreak"):
            pieces.append("\n")
        elif token.type == "text" and not links:
            pieces.append(token.content)
        elif token.nesting == 0:
            pieces.append(_OBJECT)
        elif token.type in ("link_open", "link_close"):
            links += token.nesting
            pieces.append(_OBJECT)
    return "".join(pieces)


@cache
def _inline_parser() -> MarkdownIt:
    """Return a parser that separates escaped characters from the text around them."""
    return MarkdownIt("commonmark", {"maxNesting": 24}).enable("strikethrough").disable("text_join")
