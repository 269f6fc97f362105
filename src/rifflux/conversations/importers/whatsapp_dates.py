"""Inferring the date format of a WhatsApp chat: which number is the day, and which half of the day is meant."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import datetime

from rifflux.conversations.importers.base import Tally

_BEFORE_NOON = "上午|午前|오전|凌晨|早上|ص"
_AFTER_NOON = "下午|午後|오후|晚上|中午|م"
#: `[31.12.24, 23:59:59] `, `12/31/24, 11:59 PM - `, `[2024. 12. 31. 오후 11:59:59] ` and what lies between.
HEAD = re.compile(
    rf"""[\u200e\u200f\ufeff]*\[?
    (?P<first>\d{{1,4}})[./-]\s?(?P<second>\d{{1,2}})[./-]\s?(?P<third>\d{{2,4}})\.?
    (?:[,،]|\s(?:klo|um|kl\.|o))?\s+
    (?P<before>(?:{_BEFORE_NOON}|{_AFTER_NOON})\s?)?
    (?P<hour>\d{{1,2}})[:.](?P<minute>\d{{2}})(?:[:.](?P<second_of>\d{{2}}))?
    (?:\s?(?P<after>[ap]\.?\s?m\.?|{_BEFORE_NOON}|{_AFTER_NOON})(?!\w))?
    (?:\]\s*|\s+[-–]\s+)""",
    re.VERBOSE | re.IGNORECASE,
)
DAY = "day"
MONTH = "month"
_PM = re.compile(rf"p|{_AFTER_NOON}", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Stamp:
    """A raw timestamp: three numbers and a time; `half` is 0 before noon, 1 after noon, None for 24-hour clocks."""

    numbers: tuple[int, int, int]
    time: tuple[int, int, int]
    half: int | None

    @staticmethod
    def of(found: re.Match[str]) -> Stamp:
        """Parse the timestamp at the beginning of a line."""
        half = found["before"] or found["after"]
        return Stamp(
            (int(found["first"]), int(found["second"]), int(found["third"])),
            (int(found["hour"]), int(found["minute"]), int(found["second_of"] or 0)),
            None if half is None else int(bool(_PM.match(half))),
        )


@dataclass(slots=True)
class Dates:
    """Infers from all dates of a file which number is the day.

    A number above 12 decides. Without one, messages are chronological: the reading with fewer steps back in time wins.
    """

    first: str = ""
    _possible: set[str] = field(default_factory=lambda: {DAY, MONTH})
    _backwards: dict[str, int] = field(default_factory=lambda: {DAY: 0, MONTH: 0})
    _last: dict[str, tuple[int, int, int]] = field(default_factory=dict)
    _usual: str = DAY

    def see(self, found: re.Match[str]) -> None:
        """Record one date."""
        stamp = Stamp.of(found)
        one, two, year = stamp.numbers
        if one > 31:
            return
        if one > 12:
            self._possible.discard(MONTH)
        if two > 12:
            self._possible.discard(DAY)
        # Only regions that write English as in America put the month first, with AM and PM.
        self._usual = MONTH if stamp.half is not None and "/" in found[0] else DAY
        for order, date in ((DAY, (year, two, one)), (MONTH, (year, one, two))):
            self._backwards[order] += date < self._last.get(order, date)
            self._last[order] = date

    def settle(self, tally: Tally) -> None:
        """Decide which number is the day, and add a note if the file leaves it open."""
        day = self._backwards[DAY]
        month = self._backwards[MONTH]
        if len(self._possible) == 1:
            (self.first,) = self._possible
        elif day != month:
            self.first = DAY if day < month else MONTH
        else:
            self.first = self._usual
            if self._last and self._last[DAY] != self._last[MONTH]:
                text = f"the file does not tell days from months: dates were read with the {self.first} first"
                tally.note("import.ambiguous_dates", text)

    def read(self, stamp: Stamp) -> datetime | None:
        """Return the time of a message in the phone's time zone, or None for an invalid date."""
        one, two, three = stamp.numbers
        if one > 31:
            year = one
            month = two
            day = three
        else:
            year, (day, month) = three, ((one, two) if self.first == DAY else (two, one))
        hour, minute, second = stamp.time
        if stamp.half is not None:
            hour = hour % 12 + 12 * stamp.half
        try:
            return datetime(year + 2000 if year < 100 else year, month, day, hour, minute, second)
        except ValueError:
            return None
