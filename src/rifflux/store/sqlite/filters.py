"""Filters as SQL: conditions on documents, and the rows that pass them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from rifflux.text.dates import parse_time, whole_day_end
from rifflux.text.properties import TAGS
from rifflux.types import CREDITS, Bound, Filter, Ids

if TYPE_CHECKING:
    from rifflux.store.sqlite.connection.engine import GenerationCache, OwnerView

Condition = tuple[str, dict[str, object]]

PASSING_DOCUMENTS = "select id from document where owner = :owner and {condition}"

LISTED = "with found (number) as ({statement}) select group_concat(number) from found"

#: The first part of a path with several.
FOLDER = "substr(document.path, 1, instr(document.path, '/') - 1)"


def where(filter: Filter) -> Condition:
    """Return a condition on `document` and its bound values; empty for an empty filter."""
    if not filter:
        return "", {}
    conditions = list(_conditions(filter))
    clause = " and ".join(f"({sql})" for sql, _ in conditions)
    return clause, {name: value for _, values in conditions for name, value in values.items()}


def _conditions(filter: Filter) -> Iterator[Condition]:
    if filter.paths:
        sql = "exists (select 1 from json_each(:path) as wanted where document.path glob wanted.value)"
        yield sql, {"path": json.dumps([_glob(path) for path in filter.paths])}
    if filter.folders:
        sql, values = _one_of(f"document.namespace || '/' || {FOLDER}", "folder", filter.folders)
        yield f"instr(document.path, '/') > 1 and {sql}", values
    if filter.kinds:
        yield _one_of("document.kind", "kind", filter.kinds)
    if filter.namespaces:
        yield _one_of("document.namespace", "namespace", filter.namespaces)
    if filter.documents:
        yield _one_of("document.key", "document", filter.documents)
    if filter.since:
        yield "document.time >= :since", {"since": parse_time(filter.since).timestamp()}
    if filter.until:
        yield "document.time <= :until", {"until": whole_day_end(filter.until)}
    for number, (key, value) in enumerate(filter.metadata.items()):
        yield _metadata(f"facet{number}", key, value)
    for number, bound in enumerate(filter.bounds):
        yield _bound(f"bound{number}", bound)
    for number, key in enumerate(filter.without):
        yield f"json_extract(document.metadata, :without{number}) is null", {f"without{number}": _path(key)}
    if filter.tags:
        # Subjects are typed in any spelling: math.ag, arXiv:math.AG.
        value, bound_tags = _one_of("tag.value collate nocase", "tag", filter.tags)
        whole, _ = _one_of("(tag.scheme || ':' || tag.value) collate nocase", "tag", filter.tags)
        yield f"exists (select 1 from tag where tag.document = document.id and ({value} or {whole}))", bound_tags
    for number, kind in enumerate(filter.not_kinds):
        yield f"document.kind <> :not_kind{number}", {f"not_kind{number}": kind}


def _one_of(column: str, name: str, values: Iterable[object]) -> Condition:
    """Return a condition for any of some values, bound as one because SQLite limits the number of variables."""
    return f"{column} in (select value from json_each(:{name}))", {name: json.dumps([*values])}


def _metadata(name: str, key: str, value: object) -> Condition:
    """Return a condition for scalars and any item of a list: json_each yields one row for a scalar."""
    if isinstance(value, list | tuple | set | frozenset):
        values = list(value)
    else:
        values = [value]
    if key in CREDITS and all(isinstance(each, str) for each in values):
        sql, bound = _one_of("name", f"{name}_values", values)
        return f"document.id in (select document from credit where role = :{name} and {sql})", {name: key, **bound}
    test, bound = _one_of("item.value", f"{name}_values", (_bindable(each) for each in values))
    if key.lower() in TAGS:
        # A tag of several levels also matches by its upper ones; 0 is the character after the slash.
        below = "item.value >= wanted.value || '/' and item.value < wanted.value || '0'"
        test = f"{test} or exists (select 1 from json_each(:{name}_values) as wanted where {below})"
    sql = f"exists (select 1 from json_each(document.metadata, :{name}) as item where {test})"
    return sql, {name: _path(key), **bound}


def _bound(name: str, bound: Bound) -> Condition:
    number = f"json_extract(document.metadata, :{name})"
    tests = [
        f"{number} {sign} :{name}_{end}"
        for end, sign in (("least", ">="), ("most", "<="))
        if getattr(bound, end) is not None
    ]
    values = {f"{name}_{end}": getattr(bound, end) for end in ("least", "most") if getattr(bound, end) is not None}
    # Texts compare greater than every number, so they must be excluded.
    sql = f"typeof({number}) in ('integer', 'real')" + "".join(f" and {test}" for test in tests)
    return f"{number} is null or {sql}" if bound.missing else sql, {name: _path(bound.field)} | values


def _path(key: str) -> str:
    """Return a metadata field as a JSON path, which cannot escape quotes: a key with one matches nothing."""
    return '$."' + key.replace('"', "") + '"'


def _bindable(value: object) -> object:
    """Return a value as SQLite reads it from JSON: integers of more than 64 bits as floats."""
    if isinstance(value, int) and abs(value) >= 1 << 63:
        return float(value)
    return value


def _glob(pattern: str) -> str:
    """Return a pattern in SQLite's syntax, whose star matches across folders."""
    if pattern.endswith("/"):
        pattern += "*"
    return pattern.replace("**/", "*").replace("**", "*")


def passing(view: OwnerView, known: GenerationCache[Ids], filter: Filter) -> Ids:
    """Return the rows of the documents that pass a filter."""
    condition, bound = where(filter)
    statement = PASSING_DOCUMENTS.format(condition=condition)
    with view.reading() as (connection, owners):
        key = (owners, condition, repr(bound))
        generation = view.generation(connection)
        found = known.get(key, generation)
        if found is None:
            found = known.put(key, generation, numbers_of(view, statement, bound))
        return found


def numbers_of(view: OwnerView, statement: str, bound: Mapping[str, object]) -> Ids:
    """Return the numbers selected by a statement."""
    # Building and parsing one text takes half the time of reading a row each.
    ((listed,),) = view.rows(LISTED.format(statement=statement), bound)
    if listed:
        return np.fromstring(listed, np.int64, sep=",")
    return np.empty(0, np.int64)


def among(wanted: Ids, rows: Ids) -> NDArray[np.bool_]:
    """Return which rows are among the wanted ones; row numbers are small, so a table is fastest."""
    if not len(wanted) or not len(rows):
        return np.zeros(len(rows), np.bool_)
    table = np.zeros(int(max(wanted.max(), rows.max())) + 1, np.bool_)
    table[wanted] = True
    return table.take(rows, mode="clip")
