"""Checks of callers' arguments: each error names what is allowed."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from datetime import date
from itertools import repeat
from os import PathLike
from pathlib import Path
from typing import Any

from rifflux.errors import InvalidArgument
from rifflux.requests import DATE, HYBRID, HYBRID_RERANK, LEXICAL, MODES, SEMANTIC, WorkFilterSettings
from rifflux.retrieve.fuse import Fuse
from rifflux.text.dates import parse_time, whole_day_end
from rifflux.types import LONGEST_TITLE, Bound, Document, Filter, Link, Results

#: The names of modes, the common ones first.
_MODES_IN_ORDER = (LEXICAL, SEMANTIC, HYBRID, *(name for name in MODES if name not in (LEXICAL, SEMANTIC, HYBRID)))
#: The bound of integers that stores can compare: SQLite's have 64 bits.
_LARGEST = 2**63


def checked_text(what: str, value: object) -> str:
    """Return a text, or a path as text. Raises `InvalidArgument` for anything else."""
    if isinstance(value, PathLike):
        value = str(value)
    if not isinstance(value, str):
        raise InvalidArgument(f"{what} must be text, not {type(value).__name__}")
    return value


def checked_place(what: str, path: str | Path) -> str:
    """Return the path of a file. Raises `InvalidArgument` for an invalid one."""
    place = checked_text(what, path)
    if not place.strip() or "\0" in place:
        raise InvalidArgument(f"{what} must name a file, such as 'notes.db', not {place!r}")
    return place


def checked_query(query: str) -> None:
    """Raise `InvalidArgument` for an empty query or one that is not text."""
    if not isinstance(query, str):
        raise InvalidArgument(f"the query must be text, not {type(query).__name__}: say what to look for")
    if not query.strip():
        raise InvalidArgument("the query is empty: say what to look for")


def checked_whole(name: str, value: int, least: int, most: int) -> None:
    """Raise `InvalidArgument` unless a value is a whole number from `least` to `most`."""
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise InvalidArgument(f"{name} must be a whole number from {least} to {most}, not {value!r}")


def checked_deadline(milliseconds: float | None) -> float | None:
    """Return the deadline in `milliseconds` from now as a time of `time.perf_counter()`, or None without one."""
    if milliseconds is None:
        return None
    if isinstance(milliseconds, bool) or not isinstance(milliseconds, int | float) or not milliseconds > 0:
        raise InvalidArgument(f"deadline_ms must be a number of milliseconds above 0, or None, not {milliseconds!r}")
    if math.isinf(milliseconds):
        return None
    return time.perf_counter() + milliseconds / 1000


def checked_number(name: str, value: object, requirement: str, *, above: float | None = None) -> None:
    """Raise `InvalidArgument` unless a value is finite, at least 0 and above `above`; `requirement` describes it."""
    known = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value) and value >= 0
    if not known or (above is not None and not value > above):  # type: ignore[operator]
        raise InvalidArgument(f"{name} is {requirement}, not {value!r}")


def checked_share(name: str, value: object) -> None:
    """Raise `InvalidArgument` unless a value is a number from 0 to 1."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise InvalidArgument(f"{name} must be a number from 0 to 1, not {value!r}")


def checked_mode(mode: str) -> str:
    """Return the canonical name of a mode. Raises `InvalidArgument`."""
    known = MODES.get(mode) if isinstance(mode, str) else None
    return known or MODES[named_mode(mode)]


def named_mode(mode: str, *, reranks: bool = True) -> str:
    """Return the name of a mode. Raises `InvalidArgument` for others, and unless `reranks` for reranking ones."""
    allowed = [name for name in _MODES_IN_ORDER if reranks or name != HYBRID_RERANK]
    if not isinstance(mode, str) or mode not in allowed:
        if mode != HYBRID_RERANK:
            reason = f"no mode {mode!r}"
        else:
            reason = "this search ranks by RRF and never reranks"
        raise InvalidArgument(f"{reason}; choose one of {', '.join(allowed)}")
    return mode


def checked_path(path: object) -> Path:
    """Return a path to index. Raises `InvalidArgument`."""
    if not isinstance(path, str | PathLike) or not str(path).strip() or "\0" in str(path):
        raise InvalidArgument(
            f"only paths, Document values and mappings with 'key' and 'text' can be added, not {path!r}"
        )
    return Path(path)


def document_of_fields(given: Mapping[str, Any]) -> Document:
    """Return the document with the fields of a mapping. Raises `InvalidArgument`."""
    if missing := [name for name in ("key", "text") if name not in given]:
        raise InvalidArgument(
            f'a document needs a key and a text, as in {{"key": "a", "text": "…"}}: {missing[0]!r} is missing'
        )
    known = Document.__dataclass_fields__
    if unknown := [name for name in given if name not in known]:
        raise InvalidArgument(
            f"a document has no field {unknown[0]!r}: put your own fields into its metadata, as in "
            f'"metadata": {{{str(unknown[0])!r}: …}}'
        )
    return Document(**given)


def checked_filter(filter: Filter | Mapping[str, Any] | None) -> Filter:
    """Return the filter of an argument; a mapping has its fields as keys, and a single string is a sequence of one."""
    if filter is None:
        return Filter()
    if isinstance(filter, Mapping):
        known = Filter.__dataclass_fields__
        if unknown := [name for name in filter if name not in known]:
            raise InvalidArgument(
                f"no filter {unknown[0]!r}; choose from {', '.join(known)}, or name a field of the metadata: "
                f"filter={{'metadata': {{{unknown[0]!r}: …}}}}"
            )
        filter = Filter(**filter)
    if not isinstance(filter, Filter):
        raise InvalidArgument(
            f"filter must be a Filter or a mapping of its fields, as in {{'kinds': ['markdown']}}, not {filter!r}"
        )
    since, until = checked_period(filter.since, filter.until)
    return replace(
        filter,
        paths=_strings("paths", filter.paths),
        kinds=_strings("kinds", filter.kinds),
        documents=_strings("documents", filter.documents),
        collections=_strings("collections", filter.collections),
        namespaces=_strings("namespaces", filter.namespaces),
        since=since,
        until=until,
        metadata=_metadata(filter.metadata),
        bounds=_bounds(filter.bounds),
        without=_fields("without", filter.without),
        not_kinds=_strings("not_kinds", filter.not_kinds),
        tags=_strings("tags", filter.tags),
        folders=_strings("folders", filter.folders),
    )


def checked_period(since: object, until: object) -> tuple[str | None, str | None]:
    """Return the first and the last date of a period. Raises `InvalidArgument`, also if it ends before it starts."""
    first = _date("since", since)
    last = _date("until", until)
    if first and last and parse_time(first).timestamp() > whole_day_end(last):
        raise InvalidArgument(f"no date is from {first} to {last}: give the earlier one first")
    return first, last


def checked_works(given: WorkFilterSettings) -> Filter:
    """Return the filter of works. Raises `InvalidArgument`."""
    since, until = checked_period(given.since, given.until)
    sources = _named("sources", given.sources)
    filter = Filter(
        since=since,
        until=until,
        metadata={"sources": [*sources]} if sources else {},
        tags=_named("subjects", given.subjects),
        collections=_strings("collections", given.collections),
    )
    found = filter.of_works(given.authors, given.venues, given.year)
    checked_period(found.since, found.until)
    return found


def _named(what: str, value: object) -> tuple[str, ...]:
    """Return stripped names, each once; a lone string is one name."""
    names = dict.fromkeys(each.strip() for each in (() if value is None else _strings(what, value)))
    if not all(names):
        raise InvalidArgument(f"filter {what!r} contains an empty name: leave it out")
    return tuple(names)


def _bounds(value: Any) -> tuple[Bound, ...]:
    if isinstance(value, Bound) or not isinstance(value, Iterable):
        bounds = (value,)
    else:
        bounds = tuple(value)
    ends = [end for bound in bounds if isinstance(bound, Bound) for end in (bound.least, bound.most)]
    if not all(isinstance(bound, Bound) for bound in bounds) or not all(_finite_or_none(end) for end in ends):
        raise InvalidArgument(f"filter 'bounds' must be Bound values with numeric ends, not {value!r}")
    _check_fields("bounds", (bound.field for bound in bounds))
    return bounds


def _finite_or_none(value: object) -> bool:
    return value is None or (isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value))


def _strings(name: str, value: object) -> tuple[str, ...]:
    if isinstance(value, str):
        return (value,)
    if isinstance(value, Iterable):
        items = tuple(value)
    else:
        items = (value,)
    if not all(map(isinstance, items, repeat(str))):
        raise InvalidArgument(f"filter {name!r} must be a string or a sequence of strings, not {value!r}")
    if not all(_well_formed(item) for item in items):
        raise InvalidArgument(f"filter {name!r} contains an unpaired surrogate, which no document can contain")
    return items


def _fields(filter: str, value: object) -> tuple[str, ...]:
    """Return field names; a single string is one name."""
    names = _strings(filter, value)
    _check_fields(filter, names)
    return names


def _check_fields(filter: str, names: Iterable[object]) -> None:
    """Raise `InvalidArgument` for an invalid field name: a NUL would end the path by which stores find it."""
    for name in names:
        if not isinstance(name, str) or "\0" in name or not _well_formed(name):
            raise InvalidArgument(f"filter {filter!r}: {name!r} is not a field name")


def _date(name: str, value: object) -> str | None:
    if not value:
        return None
    if isinstance(value, date):
        value = value.isoformat()
    if not isinstance(value, str):
        raise InvalidArgument(f"filter {name!r} must be a date such as '2024-05-01', not {value!r}")
    parse_time(value)
    return value


def _metadata(value: Any) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise InvalidArgument(f"filter 'metadata' must be a mapping of fields to values, not {value!r}")
    _check_fields("metadata", value)
    for name, condition in value.items():
        if isinstance(condition, list | tuple | set | frozenset):
            alternatives = condition
        else:
            alternatives = [condition]
        if not all(_comparable(alternative) for alternative in alternatives):
            raise InvalidArgument(
                f"filter 'metadata' cannot compare {name!r} with {condition!r}: give a string, a number, a truth value "
                "or a list of them"
            )
    return value


def _comparable(value: object) -> bool:
    if isinstance(value, int):
        return -_LARGEST <= value < _LARGEST
    return value is None or isinstance(value, float) or (isinstance(value, str) and _well_formed(value))


def checked_document(document: Document) -> Document:
    """Return a document whose fields can be stored; unpaired surrogates in its texts are replaced."""
    key = document.key
    if not isinstance(key, str) or not key.strip():
        raise InvalidArgument("a document needs a key: a non-empty string, unique among your documents")
    if not all(isinstance(value, str) for value in (document.text, document.title, document.kind)):
        raise InvalidArgument(f"document {key!r}: text, title and kind must be strings")
    for name in ("created_at", "updated_at", "license"):
        if not isinstance(getattr(document, name), str | None):
            raise InvalidArgument(f"document {key!r}: {name} must be a string or None, such as '2024-05-01'")
    if not isinstance(document.metadata, Mapping):
        raise InvalidArgument(f"document {key!r}: metadata must be a mapping of fields to values")
    if not isinstance(document.links, Iterable) or not all(isinstance(link, Link) for link in document.links):
        raise InvalidArgument(f"document {key!r}: links must be Link values")
    if len(document.title) > LONGEST_TITLE:
        raise InvalidArgument(
            f"document {key!r}: its title has {len(document.title):,} characters; the limit is {LONGEST_TITLE:,}: "
            "put the rest into the text"
        )
    if not _well_formed(key):
        raise InvalidArgument(f"document {key!r}: the key contains an unpaired surrogate, which cannot be stored")
    if _well_formed(document.text + document.title):
        return document
    return replace(document, text=_mended(document.text), title=_mended(document.title))


def _well_formed(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _mended(text: str) -> str:
    return text.encode("utf-8", "replace").decode()


# Rarely used modules are imported on demand, so that commands start quickly


def chosen_fusion(choice: str | Fuse) -> Fuse:
    """Return the fusion of an argument. Raises `InvalidArgument`."""
    from rifflux.retrieve.fuse.spelled import fusion_of

    return fusion_of(choice)


def for_symbol(query: str, symbol: str, mode: str) -> tuple[str, str]:
    """Return the query and the mode: a symbol without a query is searched by its name, in words."""
    if not isinstance(symbol, str):
        raise InvalidArgument(f"symbol is the name of a definition, not {symbol!r}")
    if not symbol or query:
        return query, mode
    return symbol, LEXICAL if mode == HYBRID else mode


def finish_of(cutoff: bool | float, sort: str) -> Callable[[Results], Results] | None:
    """Return the function that finishes a page, or None if there is nothing to do."""
    if cutoff is False and sort != DATE:
        return None
    from rifflux.retrieve.steps.cutoff import finishing

    return finishing(cutoff, newest=sort == DATE)
