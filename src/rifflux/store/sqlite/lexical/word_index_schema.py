"""The fields of the word index, and how a chunk becomes an entry of it.

Terms are ready-made: Tantivy splits them at spaces and does nothing else. All fields of a chunk are one field here, the
title as often as it counts, because BM25 over several fields would weigh words by how rare they are in each. Facets are
what filters ask for, one exact value each.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from hashlib import blake2b
from itertools import chain

import tantivy

from rifflux.store.lexical import WHOLE_WEIGHTS
from rifflux.text.properties import TAGS

TERMS = "terms"
FACET = "facet"
TIME = "time"
ID = "id"
ROW = "row"
#: How often the terms of the title, of the headings and of the body are entered.
TIMES = tuple(int(weight) for weight in WHOLE_WEIGHTS.fields)
#: Longer values of facets are hashed.
LONGEST_VALUE = 200


def schema() -> tantivy.Schema:
    """Return the fields of the word index: one entry per chunk."""
    builder = tantivy.SchemaBuilder()
    builder.add_text_field(TERMS, tokenizer_name="whitespace", index_option="position")
    builder.add_text_field(FACET, tokenizer_name="raw", index_option="basic")
    builder.add_float_field(TIME, fast=True)
    builder.add_unsigned_field(ID, fast=True)
    builder.add_unsigned_field(ROW, fast=True, indexed=True)
    return builder.build()


def entry(row: int, id: int, terms: Sequence[str], facet_values: Sequence[str], time: float | None) -> tantivy.Document:
    """Return a chunk, from its row, its id, the terms of its title, headings and body, its facets and its date."""
    document = tantivy.Document()
    # Values of their own, so that no phrase begins in one field and ends in the next.
    for text, times in zip(terms, TIMES, strict=True):
        for _ in range(times if text else 0):
            document.add_text(TERMS, text)
    for facet in facet_values:
        document.add_text(FACET, facet)
    if time is not None:
        document.add_float(TIME, time)
    document.add_unsigned(ID, id)
    document.add_unsigned(ROW, row)
    return document


def facets(collection: str, kind: str, key: str, path: str, metadata: Mapping[str, object]) -> list[str]:
    """Return all that a document can be filtered by, except its date."""
    exact = {"collection": collection, "kind": kind, "document": key, "path": path}
    found = [encoded(name, value) for name, value in exact.items()]
    found += [encoded("folder", path[: place + 1]) for place, char in enumerate(path) if char == "/"]
    if "." in path:
        found.append(encoded("suffix", path[path.rindex(".") :]))
    for name, value in metadata.items():
        values = [*_items(value)]
        if name.lower() in TAGS:
            values += chain.from_iterable(_above(each) for each in values if isinstance(each, str))
        found += [encoded(own(name), each) for each in values]
    return [each for each in dict.fromkeys(found) if each is not None]


def _above(tag: str) -> Iterator[str]:
    """Yield the upper levels of a tag: `kitchen` of `kitchen/cold`."""
    for place, character in enumerate(tag):
        if character == "/":
            yield tag[:place]


def own(name: str) -> str:
    """Return the name of a facet that is a field of the metadata."""
    return "=" + name


def _items(values: object) -> Iterator[object]:
    """Return what SQLite's json_each lists: the items of an array, the values of an object, else the value itself."""
    if isinstance(values, Mapping):
        values = list(values.values())
    yield from (_flat(each) for each in (values if isinstance(values, list) else [values]))


def _flat(value: object) -> object:
    if isinstance(value, list | dict):
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return value


def encoded(name: str, value: object) -> str | None:
    """Return a facet as one string, equal for values that are equal in SQL; None for null, which equals nothing."""
    if isinstance(value, str):
        text = "'" + value
    elif isinstance(value, float) and not (value.is_integer() and abs(value) < 1 << 63):
        text = repr(value)
    elif isinstance(value, int | float):
        if abs(value) < 1 << 63:
            text = repr(int(value))
        else:
            text = repr(float(value))
    else:
        return None
    if len(text) > LONGEST_VALUE:
        text = "#" + blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
    return f"{name}\0{text}"
