"""The input and output types of importers, checks of dates and identifiers, and reading of JSON records."""

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
#: Works announced for next year already carry its number.
YEARS_AHEAD = 1
#: The maximum lead of an issue date over today.
AHEAD = timedelta(days=366)
EARLIEST_YEAR = 1000
MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_YEAR = re.compile(r"(?<!\d)\d{4}(?!\d)")
_CODES = re.compile(r"(?:[\s,;()]|\b(?:primary|secondary|msc|(?:19|20)\d\d)\b(?!-):?)+", re.IGNORECASE)
#: The size limit in bytes of files that are read whole; JSON Lines have none.
LARGEST = 100 * 2**20


@dataclass(frozen=True, slots=True)
class WorkSource:
    """A file of works. Its keys are stored under the scheme `name`; `name_of` returns the scheme of another file.

    For an `alone` source, such as an upload, no other file is opened, because its author may not have access to it.
    """

    path: Path
    name: str
    name_of: Callable[[Path], str]
    alone: bool = False


@dataclass(frozen=True, slots=True)
class Entry:
    """A work as described by a source, with the source's `key` and its `place` in the file.

    `notes` describe the invalid parts that were left out.
    """

    place: str
    key: str
    work: Work
    notes: tuple[str, ...] = ()


#: Yields the works of a source in order, and a `Failure` for each entry that could not be read.
Reader = Callable[[WorkSource], Iterator[Entry | Failure]]


class Problems(list[str]):
    """Problems found in parts of one work; each check returns the valid values and records the others."""

    def identifiers(self, scheme: str, values: object) -> tuple[Identifier, ...]:
        """Return the identifiers of a scheme from one value or a list; empty values are ignored."""
        if isinstance(values, list | tuple):
            given = values
        else:
            given = [values]
        return self._checked(identify, scheme, [value for value in given if value not in (None, "")])

    def tags(self, scheme: str, values: object) -> tuple[Tag, ...]:
        """Return the tags of a scheme from one value or a list."""
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
        """Return a plausible year from a number or a text that contains one: `1955`, `c. 1900`, `May 2020`."""
        if value in (None, ""):
            return None
        named = _YEAR.search(str(value))
        if named is None:
            self.append(f"its year {value!r} is not a four-digit year")
            return None
        year = int(named[0])
        if self._can_be(_moment(named[0]), value):
            return year
        return None

    def date(self, value: object) -> str | None:
        """Return a plausible date as ISO 8601; an invalid day or month is dropped."""
        if value in (None, ""):
            return None
        text = str(value).strip()
        if moment := _moment(text):
            if self._can_be(moment, value):
                return text
            return None
        year = _YEAR.search(text)
        partial = next((each for each in (text[:7], year[0] if year else "") if _moment(each)), None)
        remedy = f"{partial} was used" if partial else "write it as 2024-05-01"
        self.append(f"its date {text!r} is not a date: {remedy}")
        if partial and self._can_be(_moment(partial), value):
            return partial
        return None

    def _can_be(self, moment: datetime | None, given: object) -> bool:
        """Return True for a moment from 1000 until next year, where a day may be at most a year ahead."""
        now = datetime.now(UTC)
        is_year = moment and (moment.month, moment.day) == (1, 1)
        if moment and EARLIEST_YEAR <= moment.year <= now.year + YEARS_AHEAD and (is_year or moment <= now + AHEAD):
            return True
        self.append(f"its date {str(given)!r} is in the future or before {EARLIEST_YEAR} and was left out")
        return False


def _moment(text: str) -> datetime | None:
    try:
        return parse_time(text)
    except (InvalidArgument, OverflowError):
        return None


def month_of(text: str) -> int:
    """Return the month, 1 to 12, of a number or an English name; 0 if it is neither."""
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
    """Split the codes of a subject classification: `14F05 (14A15)`, `Primary: 14F05; secondary: 14A15`."""
    return [code for code in _CODES.split(text) if code]


def content(path: Path) -> bytes:
    """Read a file into memory. Raises `Unreadable` if it is too large or cannot be read."""
    try:
        size = path.stat().st_size
        if size > LARGEST:
            raise Unreadable(f"is {size / 2**20:.0f} MB and over the limit of {LARGEST // 2**20} MB: split it")
        return path.read_bytes()
    except OSError as error:
        raise Unreadable(f"cannot be read: {error.strerror}") from None


def local_link(source: str, key: str, kind: str = "cites") -> Link:
    """Return a link to the work that a source calls `key`."""
    return Link(f"{source}:{key}", kind)


# Works as JSON: the records of a file, one per line or in a list; files of lines are never loaded whole


#: Suffixes of files with one record per line, whatever the lines look like.
LINES = (".jsonl", ".ndjson")
#: The number of lines inspected to recognize such a file by content.
LOOKED_AT = 50
#: The names under which a JSON object may contain its list of records.
_LISTS = ("results", "documents", "works", "items", "data", "references")

#: Fields that identify an object as a record rather than a container: a record may contain lists, such as its
#: citations.
_IS_WORK = frozenset(("title", "paperId"))

#: The place of a record in its file, and the record.
Placed = tuple[str, dict[str, Any]]


def records(path: Path) -> Iterator[Placed | Failure]:
    """Yield the place and object of each record: `works.jsonl:12` by line, `works.json:12` by position in the list.

    Files of lines are streamed, a single JSON value is read whole, and `.gz` files are decompressed. Anything but an
    object yields a `Failure`. Raises `Unreadable` if the file has neither form.
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
    """Return True if each line is a record: by suffix, or if the first of several lines or half are objects."""
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
        value = value["message"]  # the form of Crossref's answers
    if isinstance(value, dict) and not _IS_WORK & value.keys():
        value = next((value[name] for name in _LISTS if isinstance(value.get(name), list)), [value])
    if isinstance(value, dict):
        value = [value]
    if not isinstance(value, list):
        raise Unreadable(f"contains no list of works: give one, or an object with one under any of {', '.join(_LISTS)}")
    yield from (_placed(f"{path}:{number}", each) for number, each in enumerate(value, start=1))


def _placed(place: str, value: object) -> Placed | Failure:
    if not isinstance(value, dict):
        return Failure(place, "not a JSON object")
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return Failure(place, "contains an unpaired surrogate: fix the text")
    return place, value
