"""A Filter as SQL over the document table, so that it narrows the candidates before they are ranked."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rifflux.text.dates import parse_time, whole_day_end
from rifflux.types import Bound, Filter

__all__ = ["where"]

Condition = tuple[str, dict[str, Any]]


def where(filter: Filter) -> Condition:
    """A condition on `document` and its bound values; empty for a filter that asks nothing."""
    conditions = list(_conditions(filter))
    clause = " and ".join(f"({sql})" for sql, _ in conditions)
    return clause, {name: value for _, values in conditions for name, value in values.items()}


def _conditions(filter: Filter) -> Iterator[Condition]:
    if filter.paths:
        yield _any_of("document.path glob", "path", [_glob(path) for path in filter.paths])
    if filter.kinds:
        yield _any_of("document.kind =", "kind", filter.kinds)
    if filter.collections:
        yield _any_of("document.collection =", "collection", filter.collections)
    if filter.documents:
        yield _any_of("document.key =", "document", filter.documents)
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
        # Subjects are typed as they come: math.ag, arXiv:math.AG.
        value, bound_tags = _any_of("tag.value collate nocase =", "tag", filter.tags)
        whole, _ = _any_of("(tag.scheme || ':' || tag.value) collate nocase =", "tag", filter.tags)
        yield f"exists (select 1 from tag where tag.document = document.id and ({value} or {whole}))", bound_tags
    for number, kind in enumerate(filter.not_kinds):
        yield f"document.kind <> :not_kind{number}", {f"not_kind{number}": kind}


def _any_of(test: str, name: str, values: Any) -> Condition:
    bound = {f"{name}{number}": value for number, value in enumerate(values)}
    return " or ".join(f"{test} :{each}" for each in bound), bound


def _metadata(name: str, key: str, value: Any) -> Condition:
    """Matches scalars and any item of a list alike: json_each yields one row for a scalar."""
    values = list(value) if isinstance(value, list | tuple | set | frozenset) else [value]
    bound = {f"{name}_{number}": _bindable(each) for number, each in enumerate(values)}
    wanted = ", ".join(f":{each}" for each in bound)
    sql = f"exists (select 1 from json_each(document.metadata, :{name}) as item where item.value in ({wanted}))"
    return sql, {name: _path(key), **bound}


def _bound(name: str, bound: Bound) -> Condition:
    number = f"json_extract(document.metadata, :{name})"
    tests = [
        f"{number} {sign} :{name}_{end}"
        for end, sign in (("least", ">="), ("most", "<="))
        if getattr(bound, end) is not None
    ]
    values = {f"{name}_{end}": getattr(bound, end) for end in ("least", "most") if getattr(bound, end) is not None}
    # Texts are greater than every number, so they must be told apart.
    sql = f"typeof({number}) in ('integer', 'real')" + "".join(f" and {test}" for test in tests)
    return f"{number} is null or {sql}" if bound.missing else sql, {name: _path(bound.field)} | values


def _path(key: str) -> str:
    """A metadata field as a JSON path. It has no escape for a quote in a quoted key; such a key is found nowhere."""
    return '$."' + key.replace('"', "") + '"'


def _bindable(value: Any) -> Any:
    """Whole numbers of more than 64 bits are as SQLite reads them from JSON."""
    return float(value) if isinstance(value, int) and abs(value) >= 1 << 63 else value


def _glob(pattern: str) -> str:
    """SQLite's star crosses folders already; a bare name means that name in any folder, a folder all below it."""
    if pattern.endswith("/"):
        pattern += "*"
    return pattern.replace("**/", "*").replace("**", "*")
