"""Importers by format, found by the file's suffix, or by the fields of its records."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from importlib import import_module
from itertools import islice
from pathlib import Path

from rifflux.errors import InvalidArgument, MissingExtra, Unreadable
from rifflux.types import Failure
from rifflux.works.importers import arxiv, csl, jsonl, openalex, semanticscholar
from rifflux.works.importers.base import Entry, Placed, Reader, Record, WorkSource, records

#: What makes a work of a record, by the format of the record.
_ENTRIES: Mapping[str, Callable[[WorkSource, Placed], Entry | Failure]] = {
    "jsonl": jsonl.work_entry,
    "arxiv": lambda _, placed: arxiv.arxiv_entry(placed),
    "openalex": lambda _, placed: openalex.openalex_entry(placed),
    "csl": lambda _, placed: csl.csl_entry(placed),
    "semanticscholar": semanticscholar.semanticscholar_entry,
}
_READERS = {"bibtex": "bibtex:read", "ris": "ris:read", "zotero-rdf": "zotero:read"}
_READERS |= {"latex": "latex.importer:read", "pdf": "paper.importer:read"}
FORMATS = (*_ENTRIES, *_READERS)
#: By suffix; JSON is distinguished by its content, record by record.
SUFFIXES = {
    **dict.fromkeys((".jsonl", ".ndjson", ".json"), "json"),
    ".bib": "bibtex",
    ".ris": "ris",
    ".rdf": "zotero-rdf",
    **dict.fromkeys((".tex", ".ltx", ".latex"), "latex"),
    ".pdf": "pdf",
}
#: The suffix of a text in each format that is one.
TEXTS = {
    **dict.fromkeys(("arxiv", "openalex", "csl", "semanticscholar"), ".json"),
    "jsonl": ".jsonl",
    "bibtex": ".bib",
    "ris": ".ris",
    "zotero-rdf": ".rdf",
    "latex": ".tex",
}

#: Formats that take time and memory in proportion to the file, and the bytes up to which it is read in any process.
_LIGHT = frozenset({*_ENTRIES, "json", "ris"})
LIGHT = 2**20

#: So many records of a file are looked at for the format of those that do not show theirs.
LOOKED_AT = 200

#: By which fields a record shows its format, the most telling first; a record of a file in which none does is `jsonl`.
_SHAPES: Mapping[str, Callable[[Record], bool]] = {
    "openalex": openalex.shows,
    "semanticscholar": semanticscholar.shows,
    "arxiv": arxiv.shows,
    "csl": csl.shows,
}


def read_works(source: WorkSource, format: str | None = None) -> Iterator[Entry | Failure]:
    """Yield the works of a file, and a `Failure` for what could not be read; the file as a whole counts as one.

    `format` is a name of `FORMATS`; without one, it is found out. Raises `InvalidArgument` for an unknown format.
    """
    if format is not None and format not in FORMATS:
        raise InvalidArgument(f"no format {format!r}: choose one of {', '.join(FORMATS)}")
    try:
        known = format or SUFFIXES.get(_suffix(source.path))
        if known is None:
            raise Unreadable(f"is no list of works: give one of {', '.join(SUFFIXES)}, or name its format")
        yield from _reader(known)(source)
    except (Unreadable, MissingExtra) as error:
        yield Failure.of(str(source.path), error)


def is_known(path: Path) -> bool:
    """Return True if an importer takes files of this name."""
    return _suffix(path) in SUFFIXES


def is_light(path: Path, format: str | None) -> bool:
    """Return True if reading a file is sure to take little time and memory: it is small, and needs no parser of ours.

    Others are read in a process that is limited.
    """
    known = format or SUFFIXES.get(_suffix(path))
    try:
        return known in _LIGHT and path.suffix != ".gz" and path.stat().st_size <= LIGHT
    except OSError:
        return True  # it is gone, which reading it tells


def _suffix(path: Path) -> str:
    return (path.with_suffix("") if path.suffix == ".gz" else path).suffix.lower()


def _read_json(source: WorkSource, format: str) -> Iterator[Entry | Failure]:
    """Yield the works of a JSON file; of no known format, each by its fields, or as the others of its file are."""
    looked_at = islice((each for each in records(source.path) if not isinstance(each, Failure)), LOOKED_AT)
    usual = next((shape for _, record in looked_at if (shape := _shape(record))), "jsonl")
    for each in records(source.path):
        if isinstance(each, Failure):
            yield each
        else:
            yield _ENTRIES[format if format in _ENTRIES else _shape(each[1]) or usual](source, each)


def _shape(record: Record) -> str | None:
    return next((name for name, shows in _SHAPES.items() if shows(record)), None)


def _reader(format: str) -> Reader:
    if format not in _READERS:
        return partial(_read_json, format=format)
    module, _, name = _READERS[format].partition(":")
    reader: Reader = getattr(import_module(f"rifflux.works.importers.{module}"), name)
    return reader
