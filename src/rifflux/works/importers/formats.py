"""The importers by format, which is recognized by the file's suffix or by the fields of its records."""

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

#: Converters from a record to a work, by record format.
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
#: By suffix; JSON formats are distinguished record by record.
SUFFIXES = {
    **dict.fromkeys((".jsonl", ".ndjson", ".json"), "json"),
    ".bib": "bibtex",
    ".ris": "ris",
    ".rdf": "zotero-rdf",
    **dict.fromkeys((".tex", ".ltx", ".latex"), "latex"),
    ".pdf": "pdf",
}
#: The suffix of text in each text format.
TEXTS = {
    **dict.fromkeys(("arxiv", "openalex", "csl", "semanticscholar"), ".json"),
    "jsonl": ".jsonl",
    "bibtex": ".bib",
    "ris": ".ris",
    "zotero-rdf": ".rdf",
    "latex": ".tex",
}

#: Formats read in time and memory proportional to the file, and the size in bytes up to which this needs no sandbox.
_LIGHT = frozenset({*_ENTRIES, "json", "ris"})
LIGHT = 2**20

#: The number of records inspected to find the format of those that are ambiguous.
LOOKED_AT = 200

#: Recognizers of record formats, the most specific first; a file in which none applies is `jsonl`.
_SHAPES: Mapping[str, Callable[[Record], bool]] = {
    "openalex": openalex.shows,
    "semanticscholar": semanticscholar.shows,
    "arxiv": arxiv.shows,
    "csl": csl.shows,
}


def read_works(source: WorkSource, format: str | None = None) -> Iterator[Entry | Failure]:
    """Yield the works of a file, and a `Failure` for each entry, or the whole file, that could not be read.

    `format` is one of `FORMATS`, and recognized if omitted. Raises `InvalidArgument` for an unknown format.
    """
    if format is not None and format not in FORMATS:
        raise InvalidArgument(f"unknown format {format!r}: choose one of {', '.join(FORMATS)}")
    try:
        known = format or SUFFIXES.get(_suffix(source.path))
        if known is None:
            raise Unreadable(
                f"is not a list of works: give a file ending in {', '.join(SUFFIXES)}, or specify its format"
            )
        yield from _reader(known)(source)
    except (Unreadable, MissingExtra) as error:
        yield Failure.of(str(source.path), error)


def is_known(path: Path) -> bool:
    """Return True if an importer accepts files with this suffix."""
    return _suffix(path) in SUFFIXES


def is_light(path: Path, format: str | None) -> bool:
    """Return True if a file is small and of a light format, safe to read in this process without limits."""
    known = format or SUFFIXES.get(_suffix(path))
    try:
        return known in _LIGHT and path.suffix != ".gz" and path.stat().st_size <= LIGHT
    except OSError:
        return True  # it is gone, which reading it reports


def _suffix(path: Path) -> str:
    return (path.with_suffix("") if path.suffix == ".gz" else path).suffix.lower()


def _read_json(source: WorkSource, format: str) -> Iterator[Entry | Failure]:
    """Yield the works of a JSON file, recognizing the format of each record unless `format` names it."""
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
