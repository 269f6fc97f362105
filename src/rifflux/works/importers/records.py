"""Works as JSON: the records of a file, one a line or in a list, read without holding a large file in memory."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import IO, Any

from rifflux.errors import Unreadable
from rifflux.types import Failure

__all__ = ["LINES", "Placed", "records"]

#: What holds a record a line, whatever its lines look like.
LINES = (".jsonl", ".ndjson")
#: So many lines of another file show whether it does.
LOOKED_AT = 50
#: Under which names a JSON object may hold its list of records.
_LISTS = ("results", "documents", "works", "items", "references")

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
    if isinstance(value, dict):
        value = next((value[name] for name in _LISTS if isinstance(value.get(name), list)), [value])
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
