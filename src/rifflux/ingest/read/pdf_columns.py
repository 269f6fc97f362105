"""The columns of a PDF page, and its lines in reading order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

from rifflux.ingest.read.pdf_lines import Line, joined

#: The step between positions tried for a gutter, in points, and the minimum width of a gutter.
_STEP = 2.0
_NARROWEST = 6.0
#: The minimum number of lines in a column that fill this share of its width, with at least this many characters each.
_FEWEST = 4
_FILLED = 0.6
_LETTERS = 15
#: The minimum ratio of a column's lines to the lines that cross its gutter.
_CROSSING = 0.15
#: The maximum number of columns of a page, and the minimum width of one as a share of the text's width.
_MOST = 3
_SHARE = 0.2
#: The maximum distance of lines with the same baseline, in font sizes.
_SAME = 0.35


def in_columns(lines: Sequence[Line]) -> list[Line]:
    """Return the lines of a page in reading order: column by column between lines that cross all columns.

    Each line has its `column`, from 1; 0 is across columns, or on a page without any.
    """
    cuts = gutters(lines)
    if not cuts:
        return [joined(row) for row in rows(lines)]
    found: list[Line] = []
    waiting: list[list[Line]] = [[] for _ in range(len(cuts) + 1)]
    for row in rows(lines):
        crossing = [each for each in row if any(each.x0 < cut - 1 and each.x1 > cut + 1 for cut in cuts)]
        if crossing or (found and not any(waiting) and _ends(found[-1], row, cuts)):
            found += _emptied(waiting)
            found.append(joined(row))
        else:
            for each in row:
                waiting[sum(each.x0 >= cut - 1 for cut in cuts)].append(each)
    return [*found, *_emptied(waiting)]


def _ends(before: Line, row: Sequence[Line], cuts: Sequence[float]) -> bool:
    """Return True if a row is the last, short line of the paragraph of the line before, which spans columns."""
    line = row[0]
    is_near = 0 < before.y - line.y < 1.35 * line.size and abs(before.size - line.size) < 0.05 * line.size
    is_wide = before.column == 0 and before.x0 < cuts[0] and before.x1 > cuts[-1] + 5 * line.size
    return is_near and is_wide and row[-1].x1 < cuts[0] and abs(before.x0 - line.x0) < 0.3 * line.size


def _emptied(waiting: list[list[Line]]) -> Iterator[Line]:
    for number, column in enumerate(waiting, start=1):
        yield from (replace(joined(row), column=number) for row in rows(column))
        column.clear()


def rows(lines: Sequence[Line]) -> list[list[Line]]:
    """Return lines grouped by baseline, from the top of the page."""
    found: list[list[Line]] = []
    for line in sorted(lines, key=lambda each: (-each.y, each.x0)):
        if found and abs(found[-1][0].y - line.y) < _SAME * min(found[-1][0].size, line.size):
            found[-1].append(line)
        else:
            found.append([line])
    return found


def gutters(lines: Sequence[Line], crossing: float = _CROSSING) -> list[float]:
    """Return the positions of the gutters between columns, from left to right; none for one column.

    A gutter is a strip that few lines cross, between columns with lines that fill them. `crossing` is the minimum
    number of a column's lines per line that crosses.
    """
    wide = [each for each in lines if len(each.text) >= _LETTERS]
    if len(wide) < 2 * _FEWEST:
        return []
    ends = sorted(each.x1 for each in wide)
    left = min(each.x0 for each in wide)
    right = ends[len(ends) * 99 // 100]
    strips = list(_strips(wide, left, right))
    while strips:
        cuts = [(start + end) / 2 for start, end, _ in strips]
        worst = _worst(wide, [left, *cuts, right], [number for *_, number in strips], crossing)
        if worst is None and len(strips) < _MOST:
            return cuts
        del strips[worst if worst is not None else max(range(len(strips)), key=lambda place: strips[place][2])]
    return []


def _strips(lines: Sequence[Line], left: float, right: float) -> Iterator[tuple[float, float, int]]:
    """Yield the strips that fewer lines cross than their surroundings: beginning, end, and number of crossings."""
    margin = _SHARE * (right - left)
    places = [left + margin + step * _STEP for step in range(int((right - left - 2 * margin) / _STEP) + 1)]
    counts = [sum(each.x0 < place - 1 and each.x1 > place + 1 for each in lines) for place in places]
    if not counts:
        return
    usual = sorted(counts)[len(counts) // 2]
    start: int | None = None
    for place, count in enumerate([*counts, usual + 1]):
        low = count <= 0.5 * usual
        if low and start is None:
            start = place
        elif not low and start is not None:
            within = counts[start:place]
            lowest = [start + each for each, number in enumerate(within) if number <= min(within) + 1]
            if places[lowest[-1]] - places[lowest[0]] + 2 * _STEP >= _NARROWEST:
                yield places[lowest[0]], places[lowest[-1]], min(within)
            start = None


def _worst(lines: Sequence[Line], edges: Sequence[float], crossed: Sequence[int], crossing: float) -> int | None:
    """Return the index of a gutter that does not separate columns, or None if all do."""
    full = []
    for start, end in pairwise(edges):
        inside = [each for each in lines if each.x0 >= start - 2 and each.x1 <= end + 2]
        reach = max((each.x1 for each in inside), default=end) - min((each.x0 for each in inside), default=start)
        full.append(sum(each.width >= _FILLED * reach and reach > 0.6 * (end - start) for each in inside))
    for place, number in enumerate(crossed):
        if min(full[place], full[place + 1]) < max(_FEWEST, crossing * number):
            return place
    return None
