"""Recognition of conversation turns in plain text: a transcript, an exported chat, an interview.

There is no list of formats. The leads before the turns of a document have one shape, with a few recurring names: "Ann:
", "[2024-01-17 13:05] <ann> ", "**Ann** (19:30): " and others. A name and a time may also be a line of their own above
the turn.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from rifflux.types import Span

#: The characters of a document inspected to recognize its turns, and the maximum length of a lead.
READ = 20_000
LONGEST_LEAD = 72
#: The minimum number of turns, the minimum average per speaker, and the minimum share of lines (or paragraphs).
LEAST = 4
LEAST_EACH = 2
LEAST_SHARE = 0.5
#: The share of names followed by the same one as before, above which they are fields of records.
SAME_NEXT = 0.7
#: The maximum number of words of a name.
LONGEST_NAME = 4

#: The possible ends of a lead.
_END = re.compile(r"[:>\])][*_]*(?=\s|\Z)")
#: The beginnings of headings, rows and items.
_OTHER = tuple(" \t#|+-.")
#: A time of day in the shape of a lead.
_TIME = re.compile(r"0[:.]0")
#: The characters of names, dates and times.
_SHAPE = re.compile(r"[a0\s*_\[\]()<>:,/.–—-]+")
_NUMBER = re.compile(r"\d+")
_NAME = re.compile(r"[^\W\d_]+(?:[ .'’_-]+[^\W\d_]+)*")
_LINE = re.compile(r"[^\n]+")
_PARAGRAPH = re.compile(r"\S[^\n]*(?:\n[^\n]*\S[^\n]*)*")


@dataclass(frozen=True, slots=True)
class TurnLead:
    """The lead of each turn of a document: its shape and the names of the speakers."""

    shape: str
    names: frozenset[str]

    def begins(self, line: str) -> bool:
        """Return True if a turn begins with a line."""
        return bool(self.lead_of(line))

    def lead_of(self, line: str) -> str:
        """Return the lead that a line begins with; empty if no turn begins there."""
        known = (lead for lead, shape, name in _leads(line) if shape == self.shape and name in self.names)
        return next(known, "")


def turn_lead(text: str) -> TurnLead | None:
    """Return the form of leads of a document, or None if it is not a conversation."""
    text = text[:READ]
    lines = [line.group() for line in _LINE.finditer(text)]
    paragraphs = [paragraph.group() for paragraph in _PARAGRAPH.finditer(text)]
    by_shape: dict[str, list[str]] = {}
    for line in lines:
        for _, shape, name in _leads(line):
            by_shape.setdefault(shape, []).append(name)
    best: TurnLead | None = None
    most = 0
    for shape, names in by_shape.items():
        counts = Counter(names)
        known = frozenset(name for name, count in counts.items() if count > 1 or "0" in shape)
        turns = sum(counts[name] for name in known)
        changes = sum(one != other for one, other in pairwise(names))
        if len(known) > 2 and "0" not in shape and _is_cycle(names):
            continue
        if len(known) < 2 or turns < max(LEAST, LEAST_EACH * len(known), most + 1) or 2 * changes < turns:
            continue
        lead = TurnLead(shape, known)
        leading = sum(lead.begins(paragraph) for paragraph in paragraphs)
        if turns >= LEAST_SHARE * len(lines) or leading >= max(LEAST, LEAST_SHARE * len(paragraphs)):
            best = lead
            most = turns
    return best


def turns(text: str, lead: TurnLead) -> list[Span]:
    """Return the spans of turns in a text; a line without a lead continues the turn before it."""
    starts = [line.start() for line in _LINE.finditer(text) if lead.begins(line.group())]
    ends = [*starts, len(text)][1:]
    return [(start, start + len(text[start:end].rstrip())) for start, end in zip(starts, ends, strict=True)]


def _is_cycle(names: Sequence[str]) -> bool:
    """Return True if most names are followed by the same one, as fields of records are and speakers are not."""
    following: dict[str, Counter[str]] = {}
    for name, after in pairwise(names):
        following.setdefault(name, Counter())[after] += 1
    return sum(max(after.values()) for after in following.values()) > SAME_NEXT * (len(names) - 1)


def _leads(line: str) -> Sequence[tuple[str, str, str]]:
    """Return the possible leads of a line, each with its shape and name."""
    found: list[tuple[str, str, str]] = []
    if line.startswith(_OTHER):
        return found
    ends = [end.end() for end in _END.finditer(line, 0, LONGEST_LEAD)]
    whole = line.partition("\n")[0].rstrip()
    for end in dict.fromkeys((*ends, len(whole))):
        written = line[:end]
        name = " ".join(_NAME.findall(written)).casefold()
        if end <= LONGEST_LEAD and name and len(name.split()) <= LONGEST_NAME:
            shape = _NAME.sub("a", _NUMBER.sub("0", written))
            if _SHAPE.fullmatch(shape) and (end in ends or _TIME.search(shape)):
                found.append((written, shape, name))
    return found
