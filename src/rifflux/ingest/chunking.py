"""Cutting of documents into chunks: passages that read well on their own and fit the embedder."""

from __future__ import annotations

import json
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from itertools import groupby, pairwise
from json.encoder import encode_basestring_ascii as _quoted
from operator import attrgetter
from pkgutil import resolve_name

from rifflux.errors import Unreadable
from rifflux.types import Block, Chunk, Document, Span

#: Returns the number of the embedder's tokens in a text; additive over words.
Count = Callable[[str], int]


def embedding_text(title: str, headings: Sequence[str], text: str) -> str:
    """Return the text to embed: title, breadcrumb and text on separate lines, without repetition."""
    if headings and title == headings[0]:
        title = ""
    return "\n".join(filter(None, (title, " > ".join(headings), text)))


def identity_of(owner: str, namespace: str, key: str) -> str:
    """Return the identity of a document across all owners, so that no two chunks get the same id."""
    # JSON contains no raw line break, so no owner's identity equals one without an owner.
    if owner:
        return json.dumps([owner, namespace, key])
    return f"{namespace}\n{key}"


def hash_of(text: str) -> int:
    """Return a positive 63-bit hash of a text."""
    digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest) >> 1


def chunk_id(identity: str, headings: Sequence[str], text: str, occurrence: int) -> int:
    """Return a stable positive 63-bit id for the `occurrence`-th chunk of this text under these headings.

    `identity` is the document's. The id depends on nothing else, so edits elsewhere in the document preserve it.
    """
    parts = ", ".join(_quoted(heading) for heading in headings)
    return hash_of(f"[{_quoted(identity)}, [{parts}], {_quoted(text)}, {occurrence}]")  # JSON: no two are written alike


@dataclass(frozen=True, slots=True)
class Chunker:
    """Packs the blocks of a document into chunks of about `target_tokens`, including title and breadcrumb.

    A chunk contains whole blocks under one breadcrumb, on one page; only a block that is too long by itself is cut, a
    table between rows (repeating its header), code between lines, prose between sentences. A short section is a chunk
    of its own. Title and breadcrumb leave the text at least `floor_tokens`; a chunk may exceed its budget by
    `tolerance` if that avoids a cut.
    """

    target_tokens: int = 250
    floor_tokens: int = 128
    tolerance: float = 0.1

    def __call__(
        self, document: Document, blocks: Sequence[Block], count: Count, *, identity: str, most: int | None = None
    ) -> list[Chunk]:
        """Return the chunks of `document` in order; `identity` identifies it across the index.

        Every character of the blocks except white space is in the span of exactly one chunk. Raises `Unreadable` for
        more than `most` chunks.
        """
        chunks: list[Chunk] = []
        seen: Counter[tuple[tuple[str, ...], str]] = Counter()
        for (headings, page), section in groupby(blocks, key=attrgetter("headings", "page")):
            # The breadcrumb is embedded with each chunk, so it takes its share of the budget.
            context = count(embedding_text(document.title, headings, ""))
            budget = max(self.target_tokens - context, min(self.floor_tokens, self.target_tokens))
            pack = Pack(document.text, count, budget, int(budget * (1 + self.tolerance)))
            for text, span in pack.passages(section):
                key = (headings, text)
                number = chunk_id(identity, headings, text, seen[key])
                seen[key] += 1
                chunks.append(Chunk(number, len(chunks), text, span, headings, page))
                if most is not None and len(chunks) > most:
                    raise Unreadable(f"has more than {most:,} passages: split it", kind="large")
        return chunks


# Where a text too long for one chunk may be cut: at sentences, lines, clauses, words, in that order


#: Where to cut a text: after each match of a pattern, or at the ascending positions between `start` and `end` that a
#: function returns.
Cut = re.Pattern[str] | Callable[[str, int, int], Iterable[int]]

_ABBREVIATIONS = """
al approx apr aug ave ca capt cf co col corp dec dept dr ed eds eg eq esp est etc ext feb ff gen gov inc
jan jr jul jun lt ltd mar messrs mr mrs ms mt nov oct op prof rep rev sen sep sept sgt sr st univ viz vs
abs bspw bzw dra evtl ggf hrsg mlle mme nr sra str usw vgl
"""
# These are abbreviations only before a number: "No. 5", but "Did it work? No. We tried again."
_NUMBERED = "app art ch chap fig figs no nos p par pp ref sec sect tab vol §"
_STOP = re.compile(
    r"""(?<![.!?…])[.!?…]++["'”’»)\]*_`]*+\s++  # a stop, closing quotes and markup, space
      | [。！？｡]++[」』）】”’]*+\s*+           # East Asian stops need no space
    """,
    re.VERBOSE,
)
_LAST_WORD = re.compile(r"[^\s(\[\"'“‘*_]+$")
_LONGEST_WORD = 24
_ABBREVIATED = frozenset(_ABBREVIATIONS.split())
_ABBREVIATED_NUMBERED = frozenset(_NUMBERED.split())

BLANK_LINES = re.compile(r"\n(?:[ \t]*+\n)++")
_LINE_END = re.compile(r"\n+")
_CLAUSE_END = re.compile(r"[,;:](?=\s)\s+|[，、；：]\s*|\s[–—]\s+")
_CELL_END = re.compile(r"\||\t")
_JOINER = "\u200d"
# No script puts more marks on a character (Unicode's stream-safe format allows 30); longer sequences may be cut.
_MOST_MARKS = 32


def sentence_ends(text: str, start: int, end: int) -> Iterator[int]:
    """Yield the starts of all sentences except the first; abbreviations, initials and decimals do not end one."""
    for stop in _STOP.finditer(text, start, end):
        if stop.end() < end and _ends_sentence(text, start, stop):
            yield stop.end()


def _ends_sentence(text: str, start: int, stop: re.Match[str]) -> bool:
    if text[stop.start()] != ".":
        return True
    following = text[stop.end()]
    if following.islower():
        return False
    word = _LAST_WORD.search(text, max(start, stop.start() - _LONGEST_WORD), stop.start())
    if word is None:
        return True
    last = word.group().lower()
    if following.isdigit() and last in _ABBREVIATED_NUMBERED:
        return False
    if word.start() == start and last.isdigit():  # the number of a list item
        return False
    initial = len(last) == 1 and last.isalpha() and word.group().isupper()
    # A dot inside, as in "e.g." or "U.S.", but not as in "3.14." or "www.example.org."
    dotted = "." in last and all(len(part) == 1 and part.isalpha() for part in last.split("."))
    return not (initial or dotted or last in _ABBREVIATED)


#: The cuts for each sort of text, in the order in which they are tried.
PROSE: Sequence[Cut] = (sentence_ends, _LINE_END, _CLAUSE_END)
CODE: Sequence[Cut] = (BLANK_LINES, _LINE_END)
TABLE: Sequence[Cut] = (_LINE_END, _CELL_END)


def pieces(text: str, start: int, end: int, cut: Cut) -> Iterator[Span]:
    """Yield the non-blank spans between the cuts, without blank lines around them or trailing space."""
    if isinstance(cut, re.Pattern):
        stops: Iterable[int] = [found.end() for found in cut.finditer(text, start, end) if found.end() < end]
    else:
        stops = cut(text, start, end)
    for stop in (*stops, end):
        if (span := trimmed(text, start, stop)) is not None:
            yield span
        start = stop


def evenly(parts: int) -> Cut:
    """Return a cut into about `parts` pieces of similar length, between words, or else between characters."""

    def cut(text: str, start: int, end: int) -> Iterator[int]:
        step = max(1, (end - start) // parts)
        while end - start > step + step // 2:
            start = _soft_cut(text, start + step - step // 4, start + step) or _hard_cut(text, start + step, end)
            yield start

    return cut


def trimmed(text: str, start: int, end: int) -> Span | None:
    """Return the span without leading blank lines and trailing space, preserving indentation; None if blank."""
    piece = text[start:end]
    length = len(piece.rstrip())
    if not length:
        return None
    indented = piece.lstrip()
    first = len(piece) - len(indented)
    return start + piece.rfind("\n", 0, first) + 1, start + length


def _soft_cut(text: str, low: int, high: int) -> int | None:
    """Return the position after the last space in `low:high`, or None."""
    return next((position for position in range(high, low, -1) if text[position - 1].isspace()), None)


def _hard_cut(text: str, position: int, end: int) -> int:
    """Return the first position near `position` that does not separate a character from its marks."""
    last = min(position + _MOST_MARKS, end)
    return next((place for place in range(position, last) if not _belongs_to_previous(text, place)), last)


def _belongs_to_previous(text: str, position: int) -> bool:
    character = text[position]
    return (
        unicodedata.category(character) in {"Mn", "Mc", "Me"}
        or character == _JOINER
        or text[position - 1] == _JOINER
        or "\U0001f3fb" <= character <= "\U0001f3ff"  # skin tones
        or "\U000e0020" <= character <= "\U000e007f"  # tags of flags
        or "\udc00" <= character <= "\udfff"
    )


# The blocks of a text without a file


# Loaded on demand: a search chunks nothing and should not wait for a Markdown parser.
_BLOCKS = {
    "code": "rifflux.ingest.read.code:code_blocks",
    "markdown": "rifflux.ingest.read.markdown:markdown_blocks",
    "rst": "rifflux.ingest.read.rst:rst_blocks",
}
_MARKER = re.compile(r"[ \t]*(?:[-*+•‣◦]|\(?(?:\d{1,4}|[a-zA-Z])[.)])[ \t]")


def blocks_of(document: Document) -> tuple[Block, ...]:
    """Return the blocks of a document given as text rather than as a file, by its `kind` (otherwise paragraphs)."""
    if document.kind not in _BLOCKS:
        return plain_blocks(document.text)
    split: Callable[..., tuple[Block, ...]] = resolve_name(_BLOCKS[document.kind])
    if document.kind == "code":
        return split(document.text, str(document.metadata.get("language", "")))
    return split(document.text)


def plain_blocks(text: str) -> tuple[Block, ...]:
    """Return the paragraphs of a text, separated by blank lines; each list item is a block of its own."""
    blocks: list[Block] = []
    for start, end in pieces(text, 0, len(text), BLANK_LINES):
        lines = list(pieces(text, start, end, _LINE_END))
        marked = [bool(_MARKER.match(text, *line)) for line in lines]
        if sum(marked) < 2:
            blocks.append(Block(start, end))
            continue
        begins = [0, *(place for place, is_item in enumerate(marked) if is_item and place), len(lines)]
        for first, stop in pairwise(begins):
            kind = "item" if marked[first] else "paragraph"
            blocks.append(Block(lines[first][0], lines[stop - 1][1], kind))
    return tuple(blocks)


# Packing the blocks of one section into passages of similar size


_CUTS: Mapping[str, Sequence[Cut]] = {"code": CODE, "table": TABLE}
# A word that a tokenizer gives up on counts as one token however long it is, so the length counts too.
_CHARACTERS_PER_TOKEN = 16


@dataclass(frozen=True, slots=True)
class _Unit:
    """A span that is not cut further. If it begins a passage, `header` precedes it.

    `gap` is the size of the text between it and the unit before, which is in no block but in the passage of both.
    """

    start: int
    end: int
    size: int
    gap: int = 0
    header: str = ""
    header_size: int = 0


@dataclass(frozen=True, slots=True)
class Pack:
    """Packs the blocks of a section of `text` into passages of `budget` tokens, at most `limit`.

    Changes in one section never move a boundary in another.
    """

    text: str
    count: Count
    budget: int
    limit: int

    def passages(self, section: Iterable[Block]) -> Iterator[tuple[str, Span]]:
        """Yield the text and span of each passage, in order."""
        units = self._with_lead_ins(self._units(section))
        if not units:
            return
        if _total(units) <= self.limit:
            groups = [units]
        else:
            groups = self._balanced(self._joined(self._filled(units)))
        for group in groups:
            header = group[0].header
            start = group[0].start
            end = group[-1].end
            body = self.text[start:end]
            yield (f"{header}\n{body}" if header else body), (start, end)

    # From blocks to units

    def _units(self, section: Iterable[Block]) -> Iterator[_Unit]:
        """Yield each block as one unit, or as several if it is too long; none if it is blank."""
        end: int | None = None
        for block in section:
            span = trimmed(self.text, block.start, block.end)
            if span is None:
                continue
            size = self._size(self.text[slice(*span)])
            for unit in (_Unit(*span, size),) if size <= self.limit else self._cut_block(block, *span, size):
                if end is None:
                    gap = ""
                else:
                    gap = self.text[end : unit.start].strip()
                yield replace(unit, gap=self._size(gap)) if gap else unit
                end = unit.end

    def _cut_block(self, block: Block, start: int, end: int, size: int) -> Iterator[_Unit]:
        if block.header:
            return self._continued(block, start, end)
        return self._cut(start, end, size, _CUTS.get(block.kind, PROSE), self.budget)

    def _continued(self, block: Block, start: int, end: int) -> Iterator[_Unit]:
        """Yield the pieces of a block, repeating its header unless that takes too much of the budget."""
        header, header_size = block.header, self._size(block.header)
        if 2 * header_size > self.budget:
            header = ""
            header_size = 0
        if self.text.startswith(header, start):
            body = start + len(header)
        else:
            body = start
        size = self._size(self.text[body:end])
        units = self._cut(body, end, size, _CUTS.get(block.kind, PROSE), self.budget - header_size)
        for first in units:
            yield replace(first, start=start, size=first.size + (header_size if body > start else 0))
            break
        for unit in units:
            yield replace(unit, header=header, header_size=header_size)

    def _cut(self, start: int, end: int, size: int, cuts: Sequence[Cut], most: int) -> Iterator[_Unit]:
        """Yield units of at most `most` tokens, cut as gently as possible; `size` is that of the whole span."""
        if size <= most or end - start == 1:
            yield _Unit(start, end, size)
            return
        for piece in pieces(self.text, start, end, cuts[0] if cuts else evenly(size // most + 1)):
            yield from self._cut(*piece, self._size(self.text[slice(*piece)]), cuts[1:], most)

    def _with_lead_ins(self, units: Iterable[_Unit]) -> list[_Unit]:
        """Join each unit that ends with a colon to the next, if both fit into a chunk."""
        joined: list[_Unit] = []
        for unit in units:
            last = joined[-1] if joined else None
            if last:
                both = last.size + unit.gap + unit.size
            else:
                both = 0
            if last and self.text[last.end - 1] in ":：" and both <= self.budget:
                joined[-1] = replace(last, end=unit.end, size=both)
            else:
                joined.append(unit)
        return joined

    def _size(self, text: str) -> int:
        return max(self.count(text), -(-len(text) // _CHARACTERS_PER_TOKEN))

    # From units to passages: filled in order, then without tiny ones

    def _filled(self, units: Iterable[_Unit]) -> list[list[_Unit]]:
        """Return groups filled up to the budget in order, so that an edit moves no boundary before it."""
        groups: list[list[_Unit]] = []
        size = 0
        for unit in units:
            if groups and size + unit.gap + unit.size <= self.budget:
                groups[-1].append(unit)
                size += unit.gap + unit.size
            else:
                groups.append([unit])
                size = unit.size + unit.header_size
        return groups

    def _joined(self, groups: Iterable[list[_Unit]]) -> list[list[_Unit]]:
        """Return the groups with small ones joined to their neighbour if there is room below the limit."""
        joined: list[list[_Unit]] = []
        for group in groups:
            last = joined[-1] if joined else []
            small = last and 4 * min(_total(last), _total(group)) < self.budget
            if small and _total([*last, *group]) <= self.limit:
                last.extend(group)
            else:
                joined.append(list(group))
        return joined

    def _balanced(self, groups: list[list[_Unit]]) -> list[list[_Unit]]:
        """Return the groups, the last two balanced if the last is small: 130 + 130 rather than 250 + 10."""
        if len(groups) < 2 or 2 * _total(groups[-1]) >= self.budget:
            return groups
        *others, first, second = groups
        units = first + second
        splits = ((units[:cut], units[cut:]) for cut in range(1, len(units)))
        sizes = ((max(_total(left), _total(right)), left, right) for left, right in splits)
        _, left, right = min(sizes, key=lambda split: split[0])
        return [*others, left, right]


def _total(units: Sequence[_Unit]) -> int:
    """Return the number of tokens of a passage made of these units."""
    first = units[0]
    tokens = first.header_size - first.gap
    for unit in units:
        tokens += unit.gap + unit.size
    return tokens
