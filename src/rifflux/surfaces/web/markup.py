"""Texts as trees of blocks, from which the page builds elements: text and positions, never markup.

Markdown is CommonMark with tables and struck words, as markdown-it-py reads it. HTML stays literal, images become their
alternative text, and only web and mail addresses become links. Other texts have paragraphs and tables.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import accumulate, pairwise
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.token import Token
from markdown_it.tree import SyntaxTreeNode

#: Deeper nesting, texts of more tokens and passages of more characters stay literal.
DEEPEST = 24
MOST_TOKENS = 60_000
LONGEST_PASSAGE = 20_000
#: Brackets in a passage take quadratic time: this bounds a text to half a second.
MOST_BRACKETS = 500_000
#: With more candidates for reference definitions, none are parsed.
MOST_REFERENCES = 500
_CODE = frozenset({"code", "notebook", "json"})
_LINK = re.compile(r"https?://|mailto:", re.IGNORECASE)
_FRONT = re.compile(r"---[ \t]*\n.*?^(?:---|\.\.\.)[ \t]*$", re.DOTALL | re.MULTILINE)
#: What follows the words of a link: its target, or the name of a reference.
_TARGET = re.compile(
    r"""\]\(\s*(?:<[^<>\n]*>|(?:\\.|[^\s\\()]|\([^\s()]*\))*)(?:\s+(?:"[^"]*"|'[^']*'|\([^()]*\)))?\s*\)|\]\[[^\]]*\]|\]"""
)
_NAMES = {
    "paragraph": "paragraph",
    "heading": "heading",
    "blockquote": "quote",
    "fence": "code",
    "code_block": "code",
    "bullet_list": "list",
    "ordered_list": "list",
    "list_item": "item",
    "hr": "rule",
    "hardbreak": "break",
    "table": "table",
    "tr": "row",
    "th": "head",
    "td": "cell",
    "em": "emphasis",
    "strong": "strong",
    "s": "struck",
    "code_inline": "literal",
    "image": "image",
}
_TYPED = {" ": r"(?:\n[> \t]*|\s)", "|": r"\\?\|"}
#: Characters that may separate the words of a passage from the next: addresses, titles.
AHEAD = 2_000
_BLANK = re.compile(r"\n[ \t]*(?:\n[ \t]*)+")


@dataclass(frozen=True, slots=True)
class Node:
    """A block, or a part of one: its kind, its position in the text, and either its words or its parts.

    `level` is that of a heading, or the first number of a list; `target` is the address of a link.
    """

    kind: str
    start: int
    end: int
    text: str = ""
    inside: tuple[Node, ...] = ()
    target: str = ""
    level: int = 0

    def as_json(self) -> dict[str, Any]:
        """Return it as JSON, without empty keys."""
        rest = {"text": self.text, "target": self.target, "level": self.level}
        if self.inside:
            inside = {"inside": [each.as_json() for each in self.inside]}
        else:
            inside = {}
        return {"kind": self.kind, "start": self.start, "end": self.end, **inside} | {
            k: v for k, v in rest.items() if v
        }


def layout(text: str, kind: str = "markdown", cuts: Iterable[int] = ()) -> list[Node]:
    """Return the blocks of a text, in order. Code keeps its lines, in pieces that begin at the cuts."""
    if kind in _CODE:
        places = [0, *sorted({each for each in cuts if 0 < each < len(text)}), len(text)]
        return [Node("code", start, end, text[start:end]) for start, end in pairwise(places)]
    return [*(_markdown(text) if kind == "markdown" else _lines(text, 0))]


def _markdown(text: str) -> Iterator[Node]:
    front = _FRONT.match(text)
    offset = front.end() if front else 0
    if front:
        yield Node("code", 0, offset, front[0])
    source = text[offset:]
    env: dict[str, Any] = {}
    parser = _parser(source.count("]:") <= MOST_REFERENCES)
    tokens = parser.parse(source, env)
    if len(tokens) > MOST_TOKENS or any(each.level >= DEEPEST - 2 for each in tokens):
        yield from _lines(text, offset)
        return
    _take_apart(parser, tokens, env)
    yield from _Placer(text, offset).blocks(SyntaxTreeNode(tokens))


def _take_apart(parser: MarkdownIt, tokens: Sequence[Token], env: dict[str, Any]) -> None:
    """Parse each passage into parts; expensive passages stay whole, as do those beyond the limit of parts."""
    brackets = parts = 0
    for token in (each for each in tokens if each.type == "inline"):
        brackets += token.content.count("[") ** 2
        if len(token.content) <= LONGEST_PASSAGE and brackets <= MOST_BRACKETS and parts <= MOST_TOKENS:
            token.children = parser.inline.parse(token.content, parser, env, [])
            parts += len(token.children)
        else:
            token.children = [Token("text", "", 0, content=token.content)]


@cache
def _parser(references: bool) -> MarkdownIt:
    """Return a parser of blocks that keeps escapes and entities separate, so that they can be located."""
    parser = MarkdownIt("commonmark", {"html": False, "maxNesting": DEEPEST}).enable(["table", "strikethrough"])
    return parser.disable(["inline", "text_join", *([] if references else ["reference"])])


@dataclass(slots=True)
class _Placer:
    """Converts parsed tokens to nodes, and locates each in the text in one pass."""

    text: str
    place: int
    starts: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        lines = self.text[self.place :].split("\n")
        self.starts = list(accumulate((len(line) + 1 for line in lines), initial=self.place))

    def blocks(self, parent: SyntaxTreeNode) -> Iterator[Node]:
        """Yield the parts of a block."""
        for each in parent.children:
            if each.type == "inline":
                yield from self.words(each)
            elif each.type in ("thead", "tbody"):
                yield from self.blocks(each)
            else:
                yield self.block(each)

    def block(self, given: SyntaxTreeNode) -> Node:
        """Return the node of a block."""
        end = self.place
        if given.map:
            self.place = max(self.place, self.starts[given.map[0]])
            end = min(self.starts[given.map[1]], len(self.text))
            end = self.place + len(self.text[self.place : end].rstrip())
        start = self.place
        kind = _NAMES[given.type]
        if kind == "code":
            written = given.content.rstrip("\n") or given.info
            return Node(kind, *self.found(written, end), written)
        if kind == "heading":
            level = int(given.tag[1:])
        else:
            level = 0
        if given.type == "ordered_list":
            level = int(given.attrs.get("start", 1)) or 1
        inside = tuple(self.blocks(given))
        return Node(kind, start, max(end, self.place), "", inside, level=level)

    def words(self, parent: SyntaxTreeNode) -> Iterator[Node]:
        """Yield the parts of a passage."""
        for each in parent.children:
            start = self.place
            if each.type in ("text", "text_special", "code_inline"):
                if each.type == "text_special":
                    written = each.markup
                else:
                    written = each.content
                if each.type == "code_inline":
                    self.place += len(each.markup) * self.text.startswith(each.markup, self.place)
                if written:
                    yield Node(_NAMES.get(each.type, "text"), *self.found(written), each.content)
            elif each.type == "softbreak":
                start, end = self.found("\n")
                yield Node("text", start, end, "\n")
            elif each.type == "image":
                self.place = self.text.find("![", self.place) + 2
                alt = each.content
                yield Node("image", *self.found(alt), alt or "image")
                self._pass_target()
            else:
                yield self._nested(each, start)

    def _nested(self, given: SyntaxTreeNode, start: int) -> Node:
        inside = tuple(self.words(given))
        if given.type != "link":
            return Node(_NAMES[given.type], start, self.place, "", inside)
        if given.info != "auto":
            self._pass_target()
        target = str(given.attrs.get("href", ""))
        return Node("link" if _LINK.match(target) else "reference", start, self.place, "", inside, target)

    def _pass_target(self) -> None:
        passed = _TARGET.match(self.text, self.place)
        self.place = passed.end() if passed else self.place

    def found(self, written: str, end: int | None = None) -> tuple[int, int]:
        """Return the next position of these words; words that are not found literally get the gap between."""
        if end is None:
            limit = self.place + len(written) + AHEAD
        else:
            limit = end
        start = self.text.find(written, self.place, limit)
        stop = start + len(written)
        if start < 0 and (match := _as_typed(written).search(self.text, self.place, limit)):
            start, stop = match.span()
        if start < 0:
            return self.place, self.place if end is None else end
        self.place = stop
        return start, stop


def _as_typed(written: str) -> re.Pattern[str]:
    """Return a pattern that finds words as typed: a blank may be a line break in code, a bar in a table is escaped."""
    return re.compile("".join(_TYPED.get(each, re.escape(each)) for each in written[:AHEAD]))


def _lines(text: str, start: int) -> Iterator[Node]:
    """Yield the paragraphs of plain text with their lines; cells between bars are a table."""
    breaks = [*((each.start(), each.end()) for each in _BLANK.finditer(text, start)), (len(text), len(text))]
    for end, behind in breaks:
        piece = text[start:end]
        if piece.strip():
            rows = piece.strip("\n").split("\n")
            is_table = len(rows) > 1 and all(" | " in row for row in rows)
            yield _table(start, rows) if is_table else Node("lines", start, end, piece)
        start = behind


def _table(start: int, rows: Sequence[str]) -> Node:
    made: list[Node] = []
    place = start
    for row in rows:
        made.append(Node("row", place, place + len(row), "", tuple(_cells(place, row))))
        place += len(row) + 1
    return Node("table", start, place - 1, "", tuple(made))


def _cells(start: int, row: str) -> Iterator[Node]:
    for each in re.finditer(r"[^|]+", row):
        words = each[0].strip()
        place = start + each.start() + each[0].find(words)
        yield Node("cell", place, place + len(words), "", (Node("text", place, place + len(words), words),))
