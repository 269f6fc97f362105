"""Filters as queries, and the fields of rows that they look at."""

from __future__ import annotations

import json
import re
import struct
from collections.abc import Iterable, Iterator, Mapping
from hashlib import blake2b
from typing import Any

from rifflux.text.dates import parse_time, whole_day_end
from rifflux.text.names import credits_of
from rifflux.text.properties import TAGS
from rifflux.types import CREDITS, Bound, Document, Filter

JSON = dict[str, Any]

#: Separates the parts of a keyword.
SEPARATOR = "\x1f"
#: Longer values are compared by their digest: the cluster takes no keyword of more than 32 kB.
_LONGEST = 1_000


def keyword(*parts: str) -> str:
    """Return a keyword of several parts."""
    text = SEPARATOR.join(parts)
    if len(text) > _LONGEST:
        return f"{SEPARATOR}{blake2b(text.encode(), digest_size=16).hexdigest()}"
    return text


def literal(text: str) -> str:
    """Return a regular expression of Lucene that matches exactly a text."""
    return re.sub(r"(\W)", r"\\\1", text)


def terms(field: str, values: Iterable[object]) -> JSON:
    """Return a condition for any of some values."""
    return {"terms": {field: [*values]}}


def all_of(conditions: Iterable[JSON]) -> JSON:
    """Return a condition for all of some conditions."""
    return {"bool": {"filter": [*conditions]}}


def any_of(conditions: Iterable[JSON]) -> JSON:
    """Return a condition for any of some conditions; nothing passes an empty one."""
    return {"bool": {"should": [*conditions], "minimum_should_match": 1}}


def none_of(conditions: Iterable[JSON]) -> JSON:
    """Return a condition that none of some conditions holds."""
    return {"bool": {"must_not": [*conditions]}}


def filter_fields(namespace: str, path: str, document: Document, time: float | None) -> JSON:
    """Return the fields of a document, and of its chunks, that filters look at. Absent ones are null."""
    metadata = document.metadata
    folder, slash, _ = path.partition("/")
    facets = {keyword(name, _value(item)) for name, item in _items(metadata)}
    facets |= {keyword(role, "s" + known) for role, _, known in credits_of(metadata) if role in CREDITS}
    for name, item in _items(metadata):
        if name.lower() in TAGS and isinstance(item, str):
            steps = item.split("/")
            facets |= {keyword(name, "s" + "/".join(steps[:count])) for count in range(1, len(steps))}
    numbers = [(name, value) for name, value in metadata.items() if _is_number(value)]
    return {
        "namespace": keyword(namespace),
        "key": keyword(document.key),
        "path": keyword(path),
        "folder": keyword(f"{namespace}/{folder}") if folder and slash else None,
        "kind": document.kind,
        "language": document.language,
        "time": time,
        "facet": sorted(facets),
        "field": sorted(keyword(name) for name, value in metadata.items() if value is not None),
        "number_of": sorted(keyword(name, _sortable(value)) for name, value in numbers),
        "tag": sorted({each.casefold() for tag in document.tags for each in (tag.value, f"{tag.scheme}:{tag.value}")}),
    }


def value_keywords(document: Document) -> list[str]:
    """Return the values of a document's metadata with their types, for listing."""
    return sorted({keyword(name, json.dumps(item)) for name, item in _items(document.metadata)})


def _items(metadata: Mapping[str, Any]) -> Iterator[tuple[str, str | int | float]]:
    for name, value in metadata.items():
        for item in value if isinstance(value, list | tuple) else [value]:
            if isinstance(item, str | int | float):
                yield name, item


def _value(value: object) -> str:
    """Return a value so that equal ones are equal: numbers and booleans by their number."""
    if isinstance(value, int | float):
        return f"n{float(value)!r}"
    return f"s{value}"


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _sortable(number: float) -> str:
    """Return a number as a text that sorts as it does."""
    (bits,) = struct.unpack(">Q", struct.pack(">d", float(number) + 0.0))
    flipped = bits ^ (0xFFFFFFFFFFFFFFFF if bits >> 63 else 1 << 63)
    return f"{flipped:016x}"


def conditions(filter: Filter) -> list[JSON]:
    """Return what a filter asks of a document, or of a chunk of it."""
    found = []
    if filter.paths:
        found.append(any_of({"regexp": {"path": {"value": _pattern(each), "flags": "NONE"}}} for each in filter.paths))
    if filter.folders:
        found.append(terms("folder", (keyword(each) for each in filter.folders)))
    if filter.kinds:
        found.append(terms("kind", filter.kinds))
    if filter.namespaces:
        found.append(terms("namespace", (keyword(each) for each in filter.namespaces)))
    if filter.documents:
        found.append(terms("key", (keyword(each) for each in filter.documents)))
    if filter.since:
        found.append({"range": {"time": {"gte": parse_time(filter.since).timestamp()}}})
    if filter.until:
        found.append({"range": {"time": {"lte": whole_day_end(filter.until)}}})
    found += [_has(name, value) for name, value in filter.metadata.items()]
    found += [_within(bound) for bound in filter.bounds]
    if filter.without:
        found.append(none_of([terms("field", (keyword(each) for each in filter.without))]))
    if filter.tags:
        found.append(terms("tag", (each.casefold() for each in filter.tags)))
    if filter.not_kinds:
        found.append(none_of([terms("kind", filter.not_kinds)]))
    return found


def _has(name: str, value: object) -> JSON:
    wanted = [*value] if isinstance(value, list | tuple | set | frozenset) else [value]
    return terms("facet", (keyword(name, _value(each)) for each in wanted if each is not None))


def _within(bound: Bound) -> JSON:
    ends = {
        "gte": keyword(bound.field, "0" * 16 if bound.least is None else _sortable(bound.least)),
        "lte": keyword(bound.field, "f" * 16 if bound.most is None else _sortable(bound.most)),
    }
    within: JSON = {"range": {"number_of": ends}}
    if bound.missing:
        return any_of([within, none_of([terms("field", [keyword(bound.field)])])])
    return within


def _pattern(glob: str) -> str:
    """Return a glob, whose star crosses folders, as a regular expression of Lucene."""
    if glob.endswith("/"):
        glob += "*"
    rest = glob.replace("**/", "*").replace("**", "*")
    found = ""
    while rest:
        char = rest[0]
        rest = rest[1:]
        inside, closes, after = rest[1:].partition("]")
        if char == "*":
            found += ".*"
        elif char == "?":
            found += "."
        elif char == "[" and rest and closes:
            inside = rest[0] + inside
            rest = after
            found += (
                "[" + inside.replace("\\", "\\\\").replace("!", "^", inside.startswith("!")).replace("[", "\\[") + "]"
            )
        else:
            found += literal(char)
    return found
