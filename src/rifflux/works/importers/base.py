"""The sources that importers take, and the entries they give."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path
from typing import IO, Any, TypeVar

from rifflux.errors import InvalidArgument, Unreadable
from rifflux.text.dates import parse_time
from rifflux.types import Failure, Identifier, Link, Tag
from rifflux.works import Work, identify, tagged

Record = Mapping[str, Any]
Noun = TypeVar("Noun")
#: Works announced for next year are printed with its number already.
YEARS_AHEAD = 1
#: The day that an issue is dated to may lie so far ahead.
AHEAD = timedelta(days=366)
EARLIEST_YEAR = 1000
MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_YEAR = re.compile(r"(?<!\d)\d{4}(?!\d)")
_CODES = re.compile(r"(?:[\s,;()]|\b(?:primary|secondary|msc|(?:19|20)\d\d)\b(?!-):?)+", re.IGNORECASE)
#: A file that is read as a whole may have so many bytes; JSON Lines may have any number.
LARGEST = 100 * 2**20


@dataclass(frozen=True, slots=True)
class WorkSource:
    """A file of works. Its keys are stored under the scheme `name`; `name_of` gives that of another file.

    Of one that is `alone` no other file is looked for: what it names is not its writer's to know of.
    """

    path: Path
    name: str
    name_of: Callable[[Path], str]
    alone: bool = False


@dataclass(frozen=True, slots=True)
class Entry:
    """A work as a source describes it, with the source's `key` for it and its `place` there.

    `notes` are the faults of parts that were left out.
    """

    place: str
    key: str
    work: Work
    notes: tuple[str, ...] = ()


#: Gives the works of a source in its order, and a `Failure` for each that could not be read.
Reader = Callable[[WorkSource], Iterator[Entry | Failure]]


class Problems(list[str]):
    """The problems with parts of one work; each check returns the part without them."""

    def identifiers(self, scheme: str, values: object) -> tuple[Identifier, ...]:
        """Return the identifiers of a scheme; `values` is one or a list, and may lack."""
        if isinstance(values, list | tuple):
            given = values
        else:
            given = [values]
        return self._checked(identify, scheme, [value for value in given if value not in (None, "")])

    def tags(self, scheme: str, values: object) -> tuple[Tag, ...]:
        """Return the tags of a scheme; `values` is one or a list."""
        return self._checked(tagged, scheme, values if isinstance(values, list | tuple) else [values])

    def _checked(self, make: Callable[[str, str], Noun], scheme: str, values: Sequence[object]) -> tuple[Noun, ...]:
        found: list[Noun] = []
        for value in values:
            try:
                found.append(make(scheme, str(value)))
            except InvalidArgument as error:
                self.append(str(error))
        return tuple(found)

    def year(self, value: object) -> int | None:
        """Return a year that can be, from a number or a text that names one: `1955`, `c. 1900`, `May 2020`."""
        if value in (None, ""):
            return None
        named = _YEAR.search(str(value))
        if named is None:
            self.append(f"its year {value!r} is no year of four digits")
            return None
        year = int(named[0])
        if self._can_be(_moment(named[0]), value):
            return year
        return None

    def date(self, value: object) -> str | None:
        """Return a date that can be, as ISO 8601; of one whose day or month cannot, what is left of it."""
        if value in (None, ""):
            return None
        text = str(value).strip()
        if moment := _moment(text):
            if self._can_be(moment, value):
                return text
            return None
        year = _YEAR.search(text)
        kept = next((each for each in (text[:7], year[0] if year else "") if _moment(each)), None)
        self.append(f"its date {text!r} is no date: {f'{kept} is kept of it' if kept else 'write it as 2024-05-01'}")
        if kept and self._can_be(_moment(kept), value):
            return kept
        return None

    def _can_be(self, moment: datetime | None, given: object) -> bool:
        """Return True if a year, given as such or as a day, has come or is about to."""
        now = datetime.now(UTC)
        is_year = moment and (moment.month, moment.day) == (1, 1)
        if moment and EARLIEST_YEAR <= moment.year <= now.year + YEARS_AHEAD and (is_year or moment <= now + AHEAD):
            return True
        self.append(f"its date {str(given)!r} lies in the future, or before {EARLIEST_YEAR}: left out")
        return False


def _moment(text: str) -> datetime | None:
    try:
        return parse_time(text)
    except (InvalidArgument, OverflowError):
        return None


def month_of(text: str) -> int:
    """Return the month that a number or an English name says; 0 if it says none."""
    text = text.strip("{} ").lower()
    if text.isdecimal():
        number = int(text)
    elif text[:3] in MONTHS:
        number = MONTHS.index(text[:3]) + 1
    else:
        number = 0
    if number <= 12:
        return number
    return 0


def codes(text: str) -> list[str]:
    """Return the codes in a text of a subject classification: `14F05 (14A15)`, `Primary: 14F05; secondary: 14A15`."""
    return [code for code in _CODES.split(text) if code]


def content(path: Path) -> bytes:
    """Return the bytes of a file. Raises `Unreadable` for one that is too large or cannot be read."""
    try:
        size = path.stat().st_size
        if size > LARGEST:
            raise Unreadable(f"is {size / 2**20:.0f} MB large: at most {LARGEST // 2**20} MB are read, so split it")
        return path.read_bytes()
    except OSError as error:
        raise Unreadable(f"cannot be read: {error.strerror}") from None


def local_link(source: str, key: str, kind: str = "cites") -> Link:
    """Return a link to what a source calls `key`."""
    return Link(f"{source}:{key}", kind)


# Works as JSON: the records of a file, one a line or in a list, read without holding a large file in memory


#: What holds a record a line, whatever its lines look like.
LINES = (".jsonl", ".ndjson")
#: So many lines of another file show whether it does.
LOOKED_AT = 50
#: Under which names a JSON object may hold its list of records.
_LISTS = ("results", "documents", "works", "items", "data", "references")

#: A record has these, and may have lists of others: what it cites.
_IS_WORK = frozenset(("title", "paperId"))

#: Where a record stands, and the record.
Placed = tuple[str, dict[str, Any]]


def records(path: Path) -> Iterator[Placed | Failure]:
    """Yield the place and the object of each record: `works.jsonl:12` by line, `works.json:12` by number in the list.

    A file of lines is read line by line, one that is a single JSON value as a whole; what ends in `.gz` is compressed.
    What is no object gives a `Failure`. Raises `Unreadable` if the file is neither.
    """
    try:
        yield from _by_line(path) if _has_lines(path) else _from_list(path)
    except UnicodeDecodeError as error:
        raise Unreadable(f"is not UTF-8 text ({error.reason} at byte {error.start}): convert it to UTF-8") from None
    except (OSError, EOFError) as error:
        raise Unreadable(f"cannot be read: {error}") from None


@contextmanager
def _opened(path: Path) -> Iterator[IO[str]]:
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "rt", encoding="utf-8-sig", newline="\n") as file:
        yield file


def _has_lines(path: Path) -> bool:
    """Return True if each line is a record: by the name, or if the first of several or half of them are objects."""
    if any(suffix in LINES for suffix in path.suffixes):
        return True
    with _opened(path) as file:
        lines = list(islice((line for line in file if not line.isspace()), LOOKED_AT))
    objects = [_is_object(line) for line in lines]
    return len(objects) > 1 and (objects[0] or 2 * sum(objects) >= len(objects))


def _is_object(line: str) -> bool:
    try:
        return isinstance(json.loads(line), dict)
    except (ValueError, RecursionError):
        return False


def _by_line(path: Path) -> Iterator[Placed | Failure]:
    with _opened(path) as file:
        for number, line in enumerate(file, start=1):
            if not line.isspace():
                try:
                    yield _placed(f"{path}:{number}", json.loads(line))
                except (ValueError, RecursionError) as error:
                    yield Failure(f"{path}:{number}", f"not valid JSON: {error}")


def _from_list(path: Path) -> Iterator[Placed | Failure]:
    with _opened(path) as file:
        try:
            value = json.load(file)
        except (ValueError, RecursionError) as error:
            raise Unreadable(f"is not valid JSON: {error}") from None
    if isinstance(value, dict) and isinstance(value.get("message"), dict):
        value = value["message"]  # so Crossref answers
    if isinstance(value, dict) and not _IS_WORK & value.keys():
        value = next((value[name] for name in _LISTS if isinstance(value.get(name), list)), [value])
    if isinstance(value, dict):
        value = [value]
    if not isinstance(value, list):
        raise Unreadable(f"holds no list of works: give one, or an object that has it as one of {', '.join(_LISTS)}")
    yield from (_placed(f"{path}:{number}", each) for number, each in enumerate(value, start=1))


def _placed(place: str, value: object) -> Placed | Failure:
    if not isinstance(value, dict):
        return Failure(place, "not a JSON object")
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return Failure(place, "holds half a character (a surrogate without its pair): mend the text")
    return place, value
