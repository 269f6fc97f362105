"""Times mentioned in queries and texts: `June 2015`, `12. Juni 2015`, `2015-04`, `last week`, `before 2015`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, timedelta
from functools import cache

from rifflux.text.lexicon import word_lists
from rifflux.types import Moment

#: A plausible publication year that is not part of a number or a name.
YEAR_OF_WORK = re.compile(r"(?<![\w.-])(?:1[4-9]|20)\d\d(?![\w-]|\.\d)")

#: Ambiguous names of months: without a year or a preceding word of time, they must be capitalized.
_WORDS_TOO = frozenset(("may", "march", "mars", "mai", "mei"))
_COUNTS = {"a": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "ten": 10}
_DAYS = {"day": 1, "week": 7}

_YEAR = r"(?:19|20)\d\d(?!\w)"
_DAY = r"(?:0?[1-9]|[12]\d|3[01])(?:st|nd|rd|th|er|º|\.)?(?!\w)"
_OF = r"(?:(?:of|de|del|di|do)\s+)?"


#: The start of a separate token: no letter, digit, dot or hyphen before it.
_START = r"(?<![^\W_])(?<![.\-])"
_DATED = rf"""{_START}(?:
    (?P<y1>(?:19|20)\d\d)(?:-(?P<m1>0[1-9]|1[0-2])|(?P<s>[-/.])(?P<m2>0?[1-9]|1[0-2])(?P=s)(?P<d2>0?[1-9]|[12]\d|3[01]))
      (?:(?![^\W_]|[-/.]\d)|(?=T\d))
    | (?P<d3>0?[1-9]|[12]\d|3[01])\.(?P<m3>0?[1-9]|1[0-2])\.(?P<y3>{_YEAR})
    | (?:(?P<d4>{_DAY})[\s-]+{_OF})?(?P<m4>MONTH)\.?(?:,?\s+|-){_OF}(?P<y4>{_YEAR})
    | (?P<m5>MONTH)\.?\s+(?P<d5>{_DAY}),?\s+(?P<y5>{_YEAR})
    )"""
_YEARLY = rf"""{_START}(?:
    (?P<d1>{_DAY})[\s-]+{_OF}(?P<m1>FULL)
    | (?P<m2>FULL)\s+(?P<d2>{_DAY})
    | (?P<before>in|during|im|en|em|last|this)\s+(?:early\s+|mid\s+|late\s+)?(?P<m3>FULL)
    )(?![-/.]\d)"""
_WHOLE_YEAR = rf"""(?<!\w)(?:in|during|before|after|since|until|im\s+jahr|en|em|nel)\s+(?:the\s+year\s+)?
    (?P<y>{_YEAR})(?![-/.–]\d)"""
_COUNT = rf"\d{{1,3}}|{'|'.join(_COUNTS)}"
_RELATIVE = rf"""(?<![\w-])(?:
    (?P<day>yesterday|today)
    | (?P<which>last|past|previous|this)\s+(?P<unit>week|month|year)(?!\s+of\b)
    | (?:last|past|previous)\s+(?P<many>{_COUNT})\s+(?P<units>day|week|month|year)s?
    | (?P<back>{_COUNT})\s+(?P<ago>day|week|month|year)s?\s+ago
    )(?![\w-])"""
_BOUND = re.compile(r"\b(before|until|after|since)\s+(?:the\s+)?$", re.IGNORECASE)
#: The weekend before a day is neither that day nor everything before it.
_BESIDE = r"""\b(?:\w+day|(?:day|week|weekend|month|year|night|morning|evening)s?)\s+(?:before|after)
    \s+(?:the\s+)?$"""
_ANY_YEAR = re.compile(r"(?:19|20)\d\d")
_WORD = re.compile(r"[^\W\d_]+")
#: The characters before and after a year in which the rest of its date may be.
_BEFORE = 28
_BEHIND = 10
#: A text without a year, a month name or one of these words mentions no time.
_UNITS = frozenset(("today", "yesterday", "day", "days", "week", "weeks", "month", "months", "year", "years"))


@cache
def _months(*kinds: str) -> dict[str, int]:
    """Return the numbers of the months by name in seven languages, of the kinds `full` and `short`."""
    lists = word_lists("months")
    return {name: number for kind in kinds for number in range(1, 13) for name in lists[f"{number} {kind}"]}


@cache
def _telling_words() -> frozenset[str]:
    return _UNITS.union(_months("full"))


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    """Compile a pattern when a text may match it, since compiling takes longer than parsing most queries.

    `MONTH` in it is replaced by the names of months, `FULL` by the unabbreviated ones.
    """
    for mark, names in (("MONTH", _months("short", "full")), ("FULL", _months("full"))):
        pattern = pattern.replace(mark, "(?:" + "|".join(sorted(names, key=len, reverse=True)) + r")(?!\w)")
    return re.compile(pattern, re.VERBOSE | re.IGNORECASE)


def today() -> date:
    """Return the current date in UTC, the time zone of all dates of an index."""
    return datetime.now(UTC).date()


def moments_in(text: str, clock: Callable[[], date] = today) -> tuple[Moment, ...]:
    """Return the times mentioned in a query, in order, excluding ambiguous years and months."""
    if not _ANY_YEAR.search(text) and _telling_words().isdisjoint(_WORD.findall(text.lower())):
        return ()
    found: list[tuple[int, Moment]] = []
    used_spans: list[tuple[int, int]] = []
    for pattern, read in ((_DATED, _dated), (_YEARLY, _yearly), (_WHOLE_YEAR, _year), (_RELATIVE, _relative)):
        for match in _compiled(pattern).finditer(text):
            start, end = match.span()
            free = all(end <= first or last <= start for first, last in used_spans)
            beside = _compiled(_BESIDE).search(text[:start])
            if free and not beside and (moment := read(match, clock)):
                used_spans.append((start, end))
                found.append((start, _bounded(moment, text[:start], clock)))
    return tuple(moment for _, moment in sorted(found, key=lambda each: each[0]))


def dates_in(text: str) -> Iterator[tuple[date, date]]:
    """Yield the first and last day of each day or month in a text that includes the year."""
    end = 0
    for year in _ANY_YEAR.finditer(text):
        if year.start() < end:
            continue
        window = max(0, year.start() - _BEFORE)
        for match in _compiled(_DATED).finditer(text, window, year.end() + _BEHIND):
            if match.end() > year.start() and (moment := _dated(match)):
                end = match.end()
                yield moment.since, moment.until


def _dated(match: re.Match[str], clock: Callable[[], date] = today) -> Moment | None:
    parts = {name[0]: value for name, value in match.groupdict().items() if value and name != "s"}
    return _spanned(match[0], int(parts["y"]), parts["m"], parts.get("d"))


def _spanned(words: str, year: int, month: str, day: str | None, *, yearly: bool = False) -> Moment | None:
    """Return a month or day of a year; None if the month has no such day."""
    if month.isdigit():
        number = int(month)
    else:
        number = _months("short", "full")[month.lower()]
    try:
        first = date(year, number, int(re.sub(r"\D", "", day)) if day else 1)
    except ValueError:
        return None
    return Moment(words.strip(" ,."), first, first if day else _month_end(first), yearly)


def _yearly(match: re.Match[str], clock: Callable[[], date]) -> Moment | None:
    """Return a month or day of any year; `last June` is the latest that is over, `this June` this year's."""
    month = match["m1"] or match["m2"] or match["m3"]
    day = match["d1"] or match["d2"]
    word = match["before"] or ""
    if month.lower() in _WORDS_TOO and month.islower() and not word:
        return None
    # A leap year has every day.
    if word.lower() not in ("last", "this"):
        return _spanned(match[0], 2000, month, day, yearly=True)
    now = clock()
    over = word.lower() == "last" and _months("full")[month.lower()] >= now.month
    return _spanned(match[0], now.year - over, month, day)


def _year(match: re.Match[str], clock: Callable[[], date]) -> Moment:
    words = match["y"]
    year = int(match["y"])
    moment = Moment(words, date(year, 1, 1), date(year, 12, 31))
    return _bounded(moment, match[0][: match.start("y") - match.start()], clock)


def _relative(match: re.Match[str], clock: Callable[[], date]) -> Moment | None:
    """Return a time relative to today; weeks begin on Monday, and the past week ends today."""
    now = clock()
    words = match[0]
    try:
        if match["day"]:
            day = now - timedelta(days=match["day"].lower() == "yesterday")
            return Moment(words, day, day)
        if match["many"]:
            return Moment(words, _back(now, _count(match["many"]), match["units"].lower()), now)
        if match["ago"]:
            unit = match["ago"].lower()
            return _around(words, _back(now, _count(match["back"]), unit), unit)
        which = match["which"].lower()
        unit = match["unit"].lower()
        if which == "past":
            return Moment(words, _back(now, 1, unit), now)
        return _around(words, now if which == "this" else _back(now, 1, unit), unit)
    except (ValueError, OverflowError):  # before the calendar begins
        return None


def _count(words: str) -> int:
    if words.isdecimal():
        return int(words)
    return _COUNTS[words.lower()]


def _back(now: date, count: int, unit: str) -> date:
    """Return the date `count` units earlier, or the last of its month if that is shorter."""
    if unit in _DAYS:
        return now - timedelta(days=count * _DAYS[unit])
    months = now.year * 12 + now.month - 1 - count * (12 if unit == "year" else 1)
    first = date(months // 12, months % 12 + 1, 1)
    return first.replace(day=min(now.day, _month_end(first).day))


def _around(words: str, day: date, unit: str) -> Moment:
    """Return the day, or the week, month or year that contains it."""
    if unit == "day":
        return Moment(words, day, day)
    if unit == "week":
        monday = day - timedelta(days=day.weekday())
        return Moment(words, monday, monday + timedelta(days=6))
    if unit == "month":
        return Moment(words, day.replace(day=1), _month_end(day))
    return Moment(words, date(day.year, 1, 1), date(day.year, 12, 31))


def _month_end(day: date) -> date:
    if (day.year, day.month) < (9999, 12):
        following = date(day.year + day.month // 12, day.month % 12 + 1, 1)
    else:
        following = None
    if following:
        return following - timedelta(days=1)
    return date.max


def _bounded(moment: Moment, before: str, clock: Callable[[], date]) -> Moment:
    """Return the time before, until, after or since a moment, if such a word precedes it."""
    bound = _BOUND.search(before)
    if not bound or moment.yearly:
        return moment
    word = bound[1].lower()
    since = moment.since
    until = moment.until
    now = clock()
    if word in ("before", "until"):
        since, until = date.min, since - timedelta(days=1) if word == "before" else until
    else:
        if word == "after":
            since = until + timedelta(days=1)
        until = max(now, until)
    return Moment(f"{word} {moment.words}", since, until)
