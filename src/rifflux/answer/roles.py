"""Find what a claim says of another than its source: two that changed places, or a name where another one stands."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rifflux.answer.alignment import Alignment, TextClause

#: The words that change places are at most so many on each side.
LONGEST = 3
#: Exchanged, each side stands beside this larger share of the words of its clause, and both together this.
EACH_GAINS = 0.3
BOTH_GAIN = 0.6
#: The words of a clause that stand beside another name, at least.
BESIDE = 2
_BY = re.compile(r"\b(?:by|von|durch|par|por)\b", re.IGNORECASE)


@dataclass(frozen=True)
class _Part:
    """Adjacent words of a clause that occur in one clause of the source, and the words beside them there."""

    clause: int
    first: int
    end: int
    beside: tuple[int, ...]


def exchanged(alignment: Alignment) -> bool:
    """Return True if two parts of a claim would stand beside more of the source's words in each other's clause."""
    clauses = alignment.claim.clauses
    stands: NDArray[np.bool_] = np.asarray(alignment.clauses.any(axis=1))
    parts = [each for each in _parts(alignment) if _share(each, clauses[each.clause], stands, each) <= 1 - EACH_GAINS]
    for place, first in enumerate(parts):
        for second in parts[place + 1 :]:
            if first.clause == second.clause:
                continue
            own, other = clauses[first.clause], clauses[second.clause]
            if _counts(first, own, stands, first) and _counts(second, other, stands, second):
                here = _share(first, other, stands, second) - _share(first, own, stands, first)
                there = _share(second, own, stands, first) - _share(second, other, stands, second)
                if min(here, there) >= EACH_GAINS and here + there >= BOTH_GAIN:
                    return True
    return False


def _parts(alignment: Alignment) -> list[_Part]:
    found: list[_Part] = []
    for number, clause in enumerate(alignment.claim.clauses):
        for length in range(1, min(LONGEST, len(clause.words) - 1) + 1):
            for first in range(clause.words.start, clause.words.stop - length + 1):
                places = alignment.clauses[first : first + length].all(axis=0)
                if places.any():
                    beside = np.flatnonzero((alignment.clauses & places).any(axis=1))
                    found.append(_Part(number, first, first + length, tuple(beside.tolist())))
    return found


def _counts(part: _Part, clause: TextClause, stands: NDArray[np.bool_], without: _Part) -> bool:
    """Return True if words of a clause stand in the source."""
    return any(stands[each] for each in clause.words if not without.first <= each < without.end)


def _share(part: _Part, clause: TextClause, stands: NDArray[np.bool_], without: _Part) -> float:
    """Return the share of a clause's words that stand beside a part in the source, without those of another part."""
    words = [each for each in clause.words if stands[each] and not without.first <= each < without.end]
    return sum(each in part.beside for each in words) / max(len(words), 1)


def misplaced(alignment: Alignment, names: frozenset[str]) -> bool:
    """Return True if a name does what another one does in the source: both in one clause in turn, or in another."""
    return any(
        _turned(alignment, clause, names) or _elsewhere(alignment, clause, names) for clause in alignment.claim.clauses
    )


def _named(alignment: Alignment, clause: TextClause, names: frozenset[str]) -> list[int]:
    return [each for each in clause.words if alignment.claim.terms[each] & names]


def _turned(alignment: Alignment, clause: TextClause, names: frozenset[str]) -> bool:
    """Return True if two names stand around a word in the other order than in the source, and neither is passive."""
    claim, source = alignment.claim, alignment.source
    named = _named(alignment, clause, names)
    for first in named:
        for second in named:
            if first >= second or claim.terms[first] & claim.terms[second]:
                continue
            for other in source.clauses:
                behind = [each for each in other.words if source.terms[each] & claim.terms[first]]
                before = [each for each in other.words if source.terms[each] & claim.terms[second]]
                if not behind or not before or min(behind) < max(before):
                    continue
                between = alignment.stands[first + 1 : second, max(before) + 1 : min(behind)]
                if between.any() and bool(_BY.search(clause.text)) == bool(_BY.search(other.text)):
                    return True
    return False


def _elsewhere(alignment: Alignment, clause: TextClause, names: frozenset[str]) -> bool:
    """Return True if the words beside a name stand beside another one in the source, and never beside this one."""
    source = alignment.source
    named = _named(alignment, clause, names)
    beside = [each for each in clause.words if each not in named and alignment.stands[each].any()]
    if len(beside) < BESIDE:
        return False
    counts = alignment.clauses[beside].sum(axis=0)
    best = source.clauses[int(counts.argmax())]
    if counts.max() < BESIDE:
        return False
    for name in named:
        own = alignment.claim.terms[name]
        places = [any(source.terms[word] & own for word in each.words) for each in source.clauses]
        if any(places) and not alignment.clauses[beside][:, places].any():
            return any(source.terms[word] & names and not source.terms[word] & own for word in best.words)
    return False
