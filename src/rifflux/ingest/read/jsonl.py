"""Reading of JSON Lines of documents, and of JSON files that contain a list of them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from rifflux.errors import Unreadable
from rifflux.ingest.chunking import blocks_of
from rifflux.ingest.read.base import File, decode
from rifflux.ingest.read.code import read_code
from rifflux.types import Document, Failure, Link, Parsed

_KEY = ("_id", "id", "key")
_TEXT = ("text", "content", "body")
_CREATED = ("created_at", "created", "date")
_UPDATED = ("updated_at", "updated", "modified")
_LICENSE = ("license", "licence")
_OTHER = ("title", "metadata", "kind", "links")
#: The maximum number of bad lines that are listed; of further ones only the number is given.
MOST_FAILURES = 20

Record = Mapping[str, object]


def read(file: File) -> Iterator[Parsed | Failure]:
    """Yield a document for each line, under its own key, or `path#line` if it has none.

    A record may have `_id` (or `id`, `key`), `title`, `text` (`content`, `body`), `metadata`, `created_at` (`date`),
    `updated_at`, `kind`, `links` and `license`; other plain fields join the metadata. A bad line yields a `Failure` and
    the rest continues; of records with the same key the last counts. Raises `Unreadable` if no line is good.
    """
    yield from _unique(file, read_lines(file, 1))


def read_json(file: File) -> Iterator[Parsed | Failure]:
    """Yield the documents of a JSON file that is a list of records, or has one as `documents`; else its text."""
    records = _records(file.data)
    if records is None:
        yield from read_code(file)
    else:
        yield from _unique(file, _documents(file, enumerate(records, start=1)))


def read_lines(file: File, first: int) -> Iterator[tuple[int, Parsed | Failure]]:
    """Yield the documents of some lines of a file with their line numbers; `first` is that of the first line."""
    yield from _documents(file, _parsed_lines(file, first))


def _documents(file: File, records: Iterable[tuple[int, object]]) -> Iterator[tuple[int, Parsed | Failure]]:
    for number, record in records:
        try:
            yield number, _parsed(file, number, record)
        except ValueError as error:
            yield number, Failure(f"{file.path}:{number}", str(error))


def _parsed_lines(file: File, first: int) -> Iterator[tuple[int, object]]:
    """Yield the number of each line that is not blank, with its value or the error in parsing it."""
    for number, line in enumerate(decode(file.data).split("\n"), start=first):
        if line and not line.isspace():
            try:
                yield number, json.loads(line)
            except (ValueError, RecursionError) as error:
                yield number, ValueError(f"not valid JSON: {error}")


def holds_records(data: bytes) -> bool:
    """Return True if a JSON file contains documents rather than other data."""
    return _records(data) is not None


def _records(data: bytes) -> list[Record] | None:
    try:
        value = json.loads(decode(data))
    except (ValueError, RecursionError):
        return None
    if isinstance(value, dict):
        records = value.get("documents")
    else:
        records = value
    if not isinstance(records, list) or not records:
        return None
    if all(_is_record(record) for record in records):
        return records
    return None


def _is_record(value: object) -> bool:
    return isinstance(value, dict) and any(isinstance(value.get(name), str) for name in (*_TEXT, "title"))


def _unique(file: File, parts: Iterable[tuple[int, Parsed | Failure]]) -> Iterator[Parsed | Failure]:
    """Yield the documents among the parts of a file, without duplicate keys, then the failures."""
    records = JsonLines(file.path)
    found: dict[str, Parsed] = {}
    for number, part in parts:
        if isinstance(part, Failure):
            records.fail(part)
        else:
            key = part.document.key
            records.add(key, number)
            found.pop(key, None)
            found[key] = part
    failures = records.all_failures()
    yield from found.values()
    yield from failures


@dataclass(slots=True)
class JsonLines:
    """The records of a file so far: the line of each key, and the failures."""

    path: str
    lines: dict[str, int] = field(default_factory=dict)
    failures: list[Failure] = field(default_factory=list)
    failed: int = 0

    def add(self, key: str, number: int) -> None:
        """Record a document; an earlier one with the same key fails."""
        if key in self.lines:
            self.fail(Failure(f"{self.path}:{self.lines[key]}", f"its id {key!r} is repeated in line {number}"))
        self.lines[key] = number

    def fail(self, failure: Failure) -> None:
        """Record a failure."""
        if self.failed < MOST_FAILURES:
            self.failures.append(failure)
        self.failed += 1

    def all_failures(self) -> list[Failure]:
        """Return the first failures, and the number of further ones. Raises `Unreadable` if there are no documents."""
        if self.failures and not self.lines:
            line = self.failures[0].path.rpartition(":")[2]
            first = self.failures[0]
            raise Unreadable(f"has no line with a document; line {line} is {first.reason}", kind=first.kind)
        more = self.failed - len(self.failures)
        return [*self.failures, *([Failure(self.path, f"{more} more lines could not be read")] if more else [])]


def _parsed(file: File, number: int, record: object) -> Parsed:
    """Return the document of a record. Raises `ValueError` with the reason if it is invalid."""
    if isinstance(record, ValueError):
        raise record
    if not isinstance(record, dict):
        raise ValueError("not a JSON object")
    kind = record.get("kind")
    document = Document(
        key=_key(record) or f"{file.path}#{number}",
        text=_text(record),
        title=_string(record, "title"),
        kind=kind if isinstance(kind, str) and kind else "record",
        metadata=_metadata(record),
        links=tuple(_links(record)),
        license=_string(record, *_LICENSE) or None,
    )
    document = _dated(document, record, file)
    return Parsed(document, blocks_of(document) if document.text else ())


def _key(record: Record) -> str:
    """Return the record's own key, which may be a number, or an empty string."""
    value = next((record[name] for name in _KEY if record.get(name) not in (None, "")), "")
    if isinstance(value, str | int):
        return str(value)
    return json.dumps(value)


def _text(record: Record) -> str:
    """Return the record's text; without text and title, its plain fields, so that it can be found."""
    if any(name in record for name in (*_TEXT, "title")):
        return _string(record, *_TEXT).replace("\r\n", "\n").replace("\r", "\n")
    return "\n".join(f"{name}: {value}" for name, value in record.items() if _is_scalar(value) and name not in _KEY)


def _string(record: Record, *names: str) -> str:
    """Return the first of the named fields that is set. Raises `ValueError` if it is not a string."""
    for name in names:
        value = record.get(name)
        if value is not None:
            if not isinstance(value, str):
                raise ValueError(f"its {name!r} is not a string")
            return value
    return ""


_KNOWN = frozenset({*_KEY, *_TEXT, *_LICENSE, *_OTHER})


def _metadata(record: Record) -> dict[str, object]:
    """Return the `metadata`, and other fields that are plain values or lists of them."""
    own = record.get("metadata")
    if own is not None and not isinstance(own, dict):
        raise ValueError("its 'metadata' is not an object")
    others = {name: value for name, value in record.items() if name not in _KNOWN and _is_plain(name, value)}
    return {**others, **(own or {})}


def _is_plain(name: str, value: object) -> bool:
    if name in (*_CREATED, *_UPDATED) and _date(value):
        return False  # it is a date of the document
    return _is_scalar(value) or (isinstance(value, list) and all(_is_scalar(each) for each in value))


def _is_scalar(value: object) -> bool:
    return isinstance(value, str | int | float | bool)


def _links(record: Record) -> Iterator[Link]:
    """Yield the `links`: keys, or objects with `key`, `kind` and `confidence`."""
    links = record.get("links") or []
    if not isinstance(links, list):
        raise ValueError("its 'links' is not a list")
    for link in links:
        if isinstance(link, dict) and "key" in link:
            confidence = link.get("confidence", 1.0)
            if not isinstance(confidence, int | float):
                raise ValueError("the 'confidence' of a link is not a number")
            yield Link(str(link["key"]), str(link.get("kind", "cites")), float(confidence))
        elif isinstance(link, str | int):
            yield Link(str(link))
        else:
            raise ValueError("a link is neither a key nor an object with a 'key'")


def _dated(document: Document, record: Record, file: File) -> Document:
    """Return a document with the record's dates; the file's are only used for a record without any."""
    created = next(filter(None, (_date(record.get(name)) for name in _CREATED)), None)
    updated = next(filter(None, (_date(record.get(name)) for name in _UPDATED)), None)
    if created or updated:
        return replace(document, created_at=created, updated_at=updated)
    return replace(document, created_at=file.created_at, updated_at=file.updated_at)


def _date(value: object) -> str | None:
    """Return an ISO 8601 date or a Unix time in seconds as ISO 8601, or None for anything else."""
    try:
        if isinstance(value, str):
            datetime.fromisoformat(value)
            return value
        if isinstance(value, int | float) and not isinstance(value, bool):
            return datetime.fromtimestamp(value, UTC).isoformat(timespec="seconds")
    except (ValueError, OverflowError, OSError):
        pass
    return None
