"""What every importer takes and gives."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rifflux.errors import InvalidArgument, Unreadable
from rifflux.text.dates import parse_time
from rifflux.types import Failure, Identifier, Link, Tag
from rifflux.works import Work, identify, tagged

__all__ = ["LARGEST", "Entry", "Notes", "Reader", "Record", "Source", "content", "local_link"]

Record = Mapping[str, Any]
#: Works announced for next year are printed with its number already.
YEARS_AHEAD = 1
EARLIEST_YEAR = 1000
#: A file that is read as a whole may have so many bytes; JSON Lines may have any number.
LARGEST = 100 * 2**20


@dataclass(frozen=True, slots=True)
class Source:
    """A file of works. Its keys are stored under the scheme `name`; `name_of` tells that of another file.

    Of one that is `alone` no other file is looked for: what it names is not its writer's to know of.
    """

    path: Path
    name: str
    name_of: Callable[[Path], str]
    alone: bool = False


@dataclass(frozen=True, slots=True)
class Entry:
    """A work as a source tells it. `key` is what the source calls it, `place` where it stands there.

    `notes` tell what was wrong with parts of it, which were left out.
    """

    place: str
    key: str
    work: Work
    notes: tuple[str, ...] = ()


#: Gives the works of a source in its order, and a `Failure` for each that could not be read.
Reader = Callable[[Source], Iterator[Entry | Failure]]


class Notes(list[str]):
    """What was wrong with parts of one work; each check gives what is left of the part."""

    def identifier(self, scheme: str, value: object) -> tuple[Identifier, ...]:
        """The identifier, or none."""
        try:
            return (identify(scheme, str(value)),) if value not in (None, "") else ()
        except InvalidArgument as error:
            self.append(str(error))
            return ()

    def tags(self, scheme: str, values: object) -> tuple[Tag, ...]:
        """The tags of a scheme; `values` is one or a list."""
        found: list[Tag] = []
        for value in values if isinstance(values, list | tuple) else [values]:
            try:
                found.append(tagged(scheme, str(value)))
            except InvalidArgument as error:
                self.append(str(error))
        return tuple(found)

    def year(self, value: object) -> int | None:
        """A year that can be, from a number or from the start of a text."""
        if value in (None, ""):
            return None
        try:
            year = int(str(value).strip()[:4])
        except ValueError:
            self.append(f"its year {value!r} is not a number")
            return None
        return year if self._can_be(year, value) else None

    def date(self, value: object) -> str | None:
        """A date that can be, as ISO 8601."""
        if value in (None, ""):
            return None
        text = str(value).strip()
        try:
            moment = parse_time(text)
        except InvalidArgument as error:
            self.append(str(error))
            return None
        return text if self._can_be(moment.year, value) else None

    def _can_be(self, year: int, told: object) -> bool:
        if EARLIEST_YEAR <= year <= datetime.now(UTC).year + YEARS_AHEAD:
            return True
        self.append(f"its date {str(told)!r} lies in the future, or before {EARLIEST_YEAR}: left out")
        return False


def content(path: Path) -> bytes:
    """The bytes of a file. Raises `Unreadable` for one that is too large or cannot be read."""
    try:
        size = path.stat().st_size
        if size > LARGEST:
            raise Unreadable(f"is {size / 2**20:.0f} MB large: at most {LARGEST // 2**20} MB are read, so split it")
        return path.read_bytes()
    except OSError as error:
        raise Unreadable(f"cannot be read: {error.strerror}") from None


def local_link(source: str, key: str, kind: str = "cites") -> Link:
    """A link to what a source calls `key`."""
    return Link(f"{source}:{key}", kind)
