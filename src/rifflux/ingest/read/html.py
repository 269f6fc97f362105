"""HTML: the main text of a page, with its headings, lists, tables and code."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

from lxml import etree
from lxml import html as lxml_html
from lxml.html import HtmlElement as Element

from rifflux.errors import Unreadable
from rifflux.ingest.read.base import File, TextBuilder, decode
from rifflux.types import Parsed

#: Elements without text of the page's own.
_NOISE = " | ".join(
    [
        *("//script", "//style", "//noscript", "//template", "//svg", "//iframe", "//object", "//dialog"),
        *("//button", "//select", "//textarea", "//input"),
        *("//nav", "//body/footer", "//*[@role='navigation']", "//*[@hidden]"),
        # Links of headings to themselves.
        "//a[contains(concat(' ', @class, ' '), ' headerlink ')]",
        "//a[text() and contains('¶ # §', normalize-space())]",
    ]
)
_INLINE_NAMES = """
    a abbr acronym b bdi bdo big cite code data del dfn em font i img ins kbd label mark math q rp rt ruby s samp small
    span strike strong sub sup time tt u var wbr
"""
_INLINE = frozenset(_INLINE_NAMES.split())
_ITEMS = ("li", "dt", "dd")
_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_CHARSET = re.compile(rb"""<meta[^>]{0,200}?charset\s*=\s*["']?\s*([\w.:-]+)""", re.IGNORECASE)
#: In a page of fewer characters nothing is removed.
_SHORT = 500
#: The minimum length of a passage, and the share of passages that the main text's element contains.
_PASSAGE = 40
_MOST = 0.9
#: Elements that are not passages of their own: parts of one, and the title in the head.
_APART = _INLINE | {"title"}
#: These elements are part of the main text and never contain all of it.
_LEAVES = frozenset({"p", "li", "dd", "dt", "td", "pre", "blockquote"})


def read(file: File) -> Iterator[Parsed]:
    """Yield the page's main text as one document, with the page's own metadata.

    Nothing is ever fetched. Raises `Unreadable` for binary data.
    """
    build = TextBuilder()
    tree = _parse(_decode(file.data))
    if tree is None:
        yield build.parsed(file, "html")
        return
    facts = _facts(tree)
    title = facts.pop("title", "")
    _TreeWalk(build).add(_main(tree))
    yield build.parsed(file, "html", title, **facts)


def add_markup(build: TextBuilder, markup: str) -> None:
    """Append all text of a piece of HTML, such as the body of a mail."""
    tree = _parse(markup)
    if tree is not None:
        _TreeWalk(build).add(tree)


def _decode(data: bytes) -> str:
    """Return the text of a page in UTF-8, in its declared encoding, or in the detected one."""
    declared = _CHARSET.search(data, 0, 4096)
    try:
        data.decode()
    except UnicodeDecodeError:
        if declared and b"\0" not in data and declared[1].lower() not in (b"utf-8", b"utf8"):
            try:
                return data.decode(declared[1].decode("ascii"), "replace")
            except (LookupError, UnicodeError):
                pass
    return decode(data)


def _parse(markup: str) -> Element | None:
    """Return the tree of a page without its noise, or None if it is empty. Raises `Unreadable`."""
    # As bytes: lxml rejects strings with an encoding declaration, as XHTML has.
    parser = lxml_html.HTMLParser(encoding="utf-8", remove_comments=True, remove_pis=True, huge_tree=True)
    try:
        tree = lxml_html.document_fromstring(markup.replace("\0", "").encode("utf-8", "replace"), parser=parser)
    except (etree.ParserError, etree.XMLSyntaxError):
        return None
    if any(error.type == etree.ErrorTypes.ERR_RESOURCE_LIMIT for error in parser.error_log):
        raise Unreadable("is nested too deeply")  # the parser gave up in the middle
    for noise in tree.xpath(_NOISE):
        noise.drop_tree()
    for formula in tree.xpath("//math[@alttext] | //math[.//annotation]"):
        _write_as_tex(formula)
    return tree


def _write_as_tex(formula: Element) -> None:
    """Replace the parts of a MathML formula, which contain single symbols, by its TeX source."""
    tex = formula.get("alttext") or "".join(formula.xpath(".//annotation[contains(@encoding, 'tex')]//text()"))
    if tex:
        for part in list(formula):
            formula.remove(part)
        formula.text = f"${tex.strip()}$"


def _facts(tree: Element) -> dict[str, Any]:
    """Return the title, author, date, language, description and keywords that the page declares."""
    facts: dict[str, Any] = {"title": _first(tree, "//head/title", "//meta[@property='og:title']/@content", "//h1")}
    facts["author"] = _first(tree, "//meta[@name='author' or @name='dc.creator']/@content")
    published = "//meta[@property='article:published_time' or @name='date' or @name='dcterms.date']/@content"
    facts["date"] = _first(tree, published, "//time[@pubdate]/@datetime")
    facts["language"] = tree.get("lang") or tree.get("{http://www.w3.org/XML/1998/namespace}lang") or ""
    facts["description"] = _first(tree, "//meta[@name='description' or @property='og:description']/@content")
    words = [word.strip() for word in _first(tree, "//meta[@name='keywords']/@content").split(",")]
    return {name: value for name, value in {**facts, "keywords": [*filter(None, words)]}.items() if value}


def _first(tree: Element, *queries: str) -> str:
    for node in itertools.chain.from_iterable(tree.xpath(query) for query in queries):
        text = " ".join((node if isinstance(node, str) else node.text_content()).split())
        if text:
            return text
    return ""


def _main(tree: Element) -> Element:
    """Return the innermost element with the main text: the one marked so, or the one with most unlinked text."""
    for marked in ("//main", "//*[@role='main']", "//article"):
        found = tree.xpath(marked)
        if len(found) == 1 and found[0].text_content().strip():
            return found[0]
    lengths = _text_lengths(tree)
    if not lengths or len(" ".join(tree.text_content().split())) < _SHORT:
        return tree
    most = [holder for holder, length in lengths.items() if length >= _MOST * lengths[tree]]
    return max(most, key=lambda holder: sum(1 for _ in holder.iterancestors()))


def _text_lengths(tree: Element) -> Counter[Element]:
    """Return the length of running text in each element: long passages, without their links."""
    lengths: Counter[Element] = Counter()
    for node in tree.iterdescendants():
        if node.tag in _APART:
            length = 0
        else:
            length = len(" ".join(_unlinked(node).split()))
        if length >= _PASSAGE:
            lengths.update(dict.fromkeys(node.iterancestors(), length))
            lengths[node] += 0 if node.tag in _LEAVES else length
    return lengths


def _unlinked(node: Element) -> str:
    """Return the text of a block without that of its links and of the blocks in it."""
    inline = ("".join(child.itertext()) if child.tag in _INLINE - {"a"} else "" for child in node)
    return (node.text or "") + "".join(text + (child.tail or "") for text, child in zip(inline, node, strict=True))


class _TreeWalk:
    """Appends a tree to a text, block by block; running text is collected until its block ends.

    It is event-based rather than recursive: pages with unclosed tags are nested many hundreds deep.
    """

    def __init__(self, build: TextBuilder) -> None:
        self.build = build
        self.running: list[str] = []
        self.items = 0
        self.marker = ""

    def add(self, tree: Element) -> None:
        """Append the content of `tree`."""
        walk = etree.iterwalk(tree, events=("start", "end"))
        for event, node in walk:
            if event == "end":
                self._close(node)
                self.running.append("" if node is tree else node.tail or "")
            elif self._added_whole(node):
                walk.skip_subtree()
            else:
                self._open(node)
                self.running.append(node.text or "")
        self._flush()

    def _added_whole(self, node: Element) -> bool:
        """Append an element that is handled in one piece and return True, or return False for other elements."""
        is_whole = node.tag in _HEADINGS or node.tag in ("head", "pre") or (node.tag == "table" and _is_data(node))
        if is_whole:
            self._flush()
        if node.tag in _HEADINGS:
            self.build.heading(_HEADINGS[node.tag], _line(node))
        elif node.tag == "pre":
            self.build.add(_marked(self._marker(), "".join(node.itertext())), kind="code")
        elif is_whole and node.tag == "table":
            self._table(node)
        return is_whole

    def _open(self, node: Element) -> None:
        if node.tag == "br":
            self.running.append("\n")
        elif node.tag not in _INLINE:
            self._flush()
        if node.tag in _ITEMS:
            self.items += 1
            self.marker = _marker_of(node)

    def _close(self, node: Element) -> None:
        if node.tag not in _INLINE and node.tag != "br":
            self._flush()
        if node.tag in _ITEMS:
            self.items -= 1
            self.marker = ""

    def _table(self, table: Element) -> None:
        caption = " ".join(_line(each) for each in table.findall("caption"))
        self.build.add(caption)
        rows = [(row, " | ".join(_line(cell) for cell in row)) for row in table.iter("tr")]
        rows = [(row, line) for row, line in rows if line.strip(" |")]
        header = itertools.takewhile(lambda each: all(cell.tag == "th" for cell in each[0]), rows)
        lines = "\n".join(line for _, line in rows)
        self.build.add(lines, kind="table", header="\n".join(line for _, line in header))

    def _flush(self) -> None:
        """End the running block, collapsing white space except line breaks."""
        lines = [" ".join(line.split()) for line in _unbroken(self.running)]
        self.running = []
        text = "\n".join(line for line in lines if line)
        if text:
            self.build.add(self._marker() + text, kind="item" if self.items else "paragraph")

    def _marker(self) -> str:
        marker = self.marker
        self.marker = ""
        return marker


def _unbroken(pieces: list[str]) -> list[str]:
    """Return the lines of `pieces`: only a piece that is a line break ends one."""
    lines = itertools.groupby(pieces, lambda piece: piece == "\n")
    return ["".join(group) for is_break, group in lines if not is_break]


def _line(node: Element) -> str:
    """Return all text in `node` on one line, with its blocks separated by spaces."""
    pieces: list[str] = []
    for event, each in etree.iterwalk(node, events=("start", "end")):
        apart = each.tag not in _INLINE
        if event == "start":
            pieces.append(" " if apart else "")
            pieces.append(each.text or "")
        elif each is not node:
            pieces.append(" " if apart else "")
            pieces.append(each.tail or "")
    return " ".join("".join(pieces).split())


def _is_data(table: Element) -> bool:
    """Return True if a table contains data; one with blocks of text in its cells only arranges the page."""
    return not table.xpath(".//table | .//h1 | .//h2 | .//h3 | .//ul | .//ol | .//pre | .//p[2]") and bool(
        table.xpath(".//tr[2] | .//tr/*[2]")
    )


def _marker_of(item: Element) -> str:
    parent = item.getparent()
    if item.tag != "li":
        return ""
    if parent is not None and parent.tag == "ol":
        return f"{parent.index(item) + 1}. "
    return "- "


def _marked(marker: str, code: str) -> str:
    if marker:
        return f"{marker}\n{code}"
    return code
