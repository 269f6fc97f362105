"""Pack the blocks of one section into passages of about the same size."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from rifflux.ingest.chunking.splitting import CODE, PROSE, TABLE, Cut, cut_evenly, pieces, trimmed
from rifflux.types import Block, Span

__all__ = ["Count", "Pack"]

#: How many tokens of the embedder a text has; additive over words.
Count = Callable[[str], int]

_CUTS: Mapping[str, Sequence[Cut]] = {"code": CODE, "table": TABLE}
# A word that a tokenizer gives up on counts as one token however long it is, so length counts too.
_CHARACTERS_PER_TOKEN = 16


@dataclass(frozen=True, slots=True)
class _Unit:
    """A span that is not cut further. Where it begins a passage, `header` goes in front.

    `gap` is the size of what stands between it and the unit before, in no block but in the passage of both.
    """

    start: int
    end: int
    size: int
    gap: int = 0
    header: str = ""
    header_size: int = 0


@dataclass(frozen=True, slots=True)
class Pack:
    """Packs the blocks of a section of `text` into passages of `budget` tokens, `limit` at the most.

    What happens in one section never moves a boundary in another.
    """

    text: str
    count: Count
    budget: int
    limit: int

    def __call__(self, section: Iterable[Block]) -> Iterator[tuple[str, Span]]:
        """The text and span of each passage, in order."""
        units = self._with_gaps(unit for block in section for unit in self._units(block))
        for group in self._groups(self._with_lead_ins(units)):
            header, start, end = group[0].header, group[0].start, group[-1].end
            body = self.text[start:end]
            yield (f"{header}\n{body}" if header else body), (start, end)

    # From blocks to units

    def _units(self, block: Block) -> Iterator[_Unit]:
        """The block as one unit, or as many if it is too long; none if it is blank."""
        span = trimmed(self.text, block.start, block.end)
        if span is None:
            return
        size = self._size(*span)
        if size <= self.limit:
            yield _Unit(*span, size)
        elif block.header:
            yield from self._continued(block, *span)
        else:
            yield from self._cut(*span, size, _CUTS.get(block.kind, PROSE), self.budget)

    def _continued(self, block: Block, start: int, end: int) -> Iterator[_Unit]:
        """The pieces of a block that repeat its header, unless that takes too much of the room."""
        header, header_size = block.header, self._size_of(block.header)
        if 2 * header_size > self.budget:
            header, header_size = "", 0
        body = start + len(header) if self.text.startswith(header, start) else start
        size = self._size(body, end)
        units = self._cut(body, end, size, _CUTS.get(block.kind, PROSE), self.budget - header_size)
        for first in units:
            yield replace(first, start=start, size=first.size + (header_size if body > start else 0))
            break
        for unit in units:
            yield replace(unit, header=header, header_size=header_size)

    def _cut(self, start: int, end: int, size: int, cuts: Sequence[Cut], most: int) -> Iterator[_Unit]:
        """Units of at most `most` tokens, cut as gently as can be; `size` is that of the whole span."""
        if size <= most or end - start == 1:
            yield _Unit(start, end, size)
            return
        parts = pieces(self.text, start, end, cuts[0]) if cuts else cut_evenly(self.text, start, end, size // most + 1)
        for piece in parts:
            yield from self._cut(*piece, self._size(*piece), cuts[1:], most)

    def _with_gaps(self, units: Iterable[_Unit]) -> Iterator[_Unit]:
        end: int | None = None
        for unit in units:
            gap = "" if end is None else self.text[end : unit.start].strip()
            yield replace(unit, gap=self._size_of(gap)) if gap else unit
            end = unit.end

    def _with_lead_ins(self, units: Iterable[_Unit]) -> list[_Unit]:
        """The units, where one that ends in a colon is kept with what it introduces, if both fit."""
        joined: list[_Unit] = []
        for unit in units:
            last = joined[-1] if joined else None
            both = last.size + unit.gap + unit.size if last else 0
            if last and self.text[last.end - 1] in ":：" and both <= self.budget:
                joined[-1] = replace(last, end=unit.end, size=both)
            else:
                joined.append(unit)
        return joined

    def _size(self, start: int, end: int) -> int:
        return self._size_of(self.text[start:end])

    def _size_of(self, text: str) -> int:
        return max(self.count(text), -(-len(text) // _CHARACTERS_PER_TOKEN))

    # From units to passages

    def _groups(self, units: list[_Unit]) -> list[list[_Unit]]:
        """The units in runs: filled in order, then without runts."""
        if not units:
            return []
        if _total(units) <= self.limit:
            return [units]
        return self._balanced(self._joined(self._filled(units)))

    def _filled(self, units: Iterable[_Unit]) -> list[list[_Unit]]:
        """Runs filled up to the budget in turn, so that an edit moves no boundary in front of it."""
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
        """Runs where a small one joins its neighbour if there is room below the limit."""
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
        """The runs, the last two made alike if the last is small: 130 + 130 rather than 250 + 10."""
        if len(groups) < 2 or 2 * _total(groups[-1]) >= self.budget:
            return groups
        *others, first, second = groups
        units = first + second
        splits = ((units[:cut], units[cut:]) for cut in range(1, len(units)))
        sizes = ((max(_total(left), _total(right)), left, right) for left, right in splits)
        _, left, right = min(sizes, key=lambda split: split[0])
        return [*others, left, right]


def _total(units: Sequence[_Unit]) -> int:
    """The tokens of a passage made of these units."""
    first = units[0]
    return first.header_size - first.gap + sum(unit.gap + unit.size for unit in units)
