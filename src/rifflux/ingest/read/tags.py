"""Read the tags in the text of a Markdown document: `#boat`, `#kitchen/cold`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache

from markdown_it import MarkdownIt

from rifflux.types import Block

#: Tags of a document.
MOST_TAGS = 100
#: The time to parse a paragraph grows with the square of its brackets. One with more of them has no tags.
MOST_BRACKETS = 1_000
#: A tag has one level or several and at least one letter. It starts a word.
_TAG = re.compile(r"(?<!\S)#(?=[\w/-]*[^\W\d_])(\w[\w/-]*)")
#: The label and the target of a link reference definition. What renderers accept behind the target differs, so it is
#: not looked at. A footnote (`[^1]: ...`) has text there instead of a target.
_DEFINITION = re.compile(r"^(?:[ \t>]|[-*+][ \t])*\[(?!\^)(?:\\.|[^\[\]\\])+\]:\s*\S+", re.MULTILINE)
#: Stands for a piece of a paragraph that is not text, so that what follows it starts no word.
_OBJECT = "\ufffc"


def tags_in(text: str, blocks: Iterable[Block]) -> Iterator[str]:
    """Yield the tags in the paragraphs and list items of a text, in order of appearance.

    A tag stands in the text that a reader sees. The targets of links, addresses, code, HTML and escaped characters are
    no tags.
    """
    for block in blocks:
        if block.kind not in ("paragraph", "item"):
            continue
        written = text[block.start : block.end]
        if "#" in written and written.count("[") <= MOST_BRACKETS:
            prose = _prose_of(_DEFINITION.sub(_OBJECT, written))
            yield from (tag.rstrip("/-") for tag in _TAG.findall(prose))


def _prose_of(written: str) -> str:
    """Return the plain text of inline Markdown. Anything else is replaced by a character that is no space."""
    parser = _parser()
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
def _parser() -> MarkdownIt:
    """Return a parser that keeps escaped characters apart from the text around them."""
    return MarkdownIt("commonmark", {"maxNesting": 24}).enable("strikethrough").disable("text_join")
