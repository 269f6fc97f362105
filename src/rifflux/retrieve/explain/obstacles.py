"""Reasons why a chunk cannot be a candidate: the filter, and words that must or must not occur."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from rifflux.retrieve.query.reading import in_typed_words
from rifflux.store import Store, holding
from rifflux.types import Clause, Filter, Hit, Ids, Query

#: Returns whether the given fields of a chunk's document may be disclosed.
Disclosable: TypeAlias = Callable[[Hit, Collection[str]], bool]

#: The parts of a filter; each metadata field is a part of its own.
_PARTS = (
    *("paths", "folders", "kinds", "not_kinds", "documents", "namespaces"),
    *("since", "until", "tags", "bounds", "without"),
)
#: The parts that refer to a document's names, which may always be disclosed.
_NAMES = ("paths", "folders", "documents", "namespaces")


@dataclass(frozen=True, slots=True)
class Obstacle:
    """One part of a query that some chunks do not satisfy; `blocked` are their ids.

    `what` names the part, `reason` explains the mismatch, and `without` removes the part from a query.
    """

    stage: str
    what: str
    reason: str
    blocked: Ids
    without: Callable[[Query], Query]


def obstacles(
    query: Query, store: Store, hit: Hit, ids: Ids, disclosable: Disclosable, typed: Mapping[str, str] | None = None
) -> Iterator[Obstacle]:
    """Yield the parts of a query that exclude some of a document's chunks, each tested alone.

    `hit` is one of the chunks. `disclosable` returns whether the given fields of the document may be disclosed; `typed`
    are the words as typed, by term.
    """
    typed = typed or {}
    for part in _parts(query.filter):
        blocked = np.setdiff1d(ids, store.catalog.passing(part, ids))
        if len(blocked):
            name, reason = _of_filter(part, hit)
            if not disclosable(hit, _fields(part)):
                what = "date" if part.since or part.until else name
                reason = f"its {what} does not pass and is not disclosed: no recorded license permits it"
            without = partial(_without_filter, part)
            yield Obstacle("filter", f"the filter on {name}", f"excluded by the filter: {reason}", blocked, without)
    for clause in query.excluded:
        blocked = holding(store.lexical, clause, ids)
        if len(blocked):
            words = in_typed_words(clause, typed)
            if len(clause) > 1:
                word = f'-"{words}"'
            else:
                word = f"-{words}"
            yield Obstacle("excluded", word, f"excluded by {word}", blocked, partial(_allowing, clause))
    for clause in query.required:
        blocked = np.setdiff1d(ids, holding(store.lexical, clause, ids))
        if len(blocked):
            phrase = f'"{in_typed_words(clause, typed)}"'
            reason = f"the required phrase {phrase} does not occur"
            yield Obstacle("required", f"the quotes of {phrase}", reason, blocked, partial(_unquoted, clause))


def _without_filter(part: Filter, query: Query) -> Query:
    """Return the query without one part of its filter."""
    filter = query.filter
    empty = {name: getattr(Filter(), name) for name in _PARTS if getattr(part, name)}
    metadata = {name: value for name, value in filter.metadata.items() if name not in part.metadata}
    return replace(query, filter=replace(filter, **empty, metadata=metadata))


def _allowing(clause: Clause, query: Query) -> Query:
    """Return the query with a clause no longer excluded."""
    return replace(query, excluded=tuple(each for each in query.excluded if each != clause))


def _unquoted(clause: Clause, query: Query) -> Query:
    """Return the query with the words of a required phrase as ordinary words."""
    clauses = dict.fromkeys((*query.clauses, *((term,) for term in clause)))
    return replace(query, clauses=tuple(clauses), required=tuple(each for each in query.required if each != clause))


def _parts(filter: Filter) -> Iterator[Filter]:
    """Yield each part of the filter as a filter."""
    for name in _PARTS:
        if value := getattr(filter, name):
            yield Filter(**{name: value})
    for name, value in filter.metadata.items():
        yield Filter(metadata={name: value})


def _of_filter(part: Filter, hit: Hit) -> tuple[str, str]:
    """Return the name of a filter's part, and why a document does not pass it."""
    dated = hit.created_at or hit.updated_at
    if dated:
        date = f"it is dated {dated}"
    else:
        date = "it has no date"
    if part.paths:
        return "path", f"its path is {hit.path}, but the filter requires {_any(part.paths)}"
    if part.folders:
        return "folder", f"its path is {hit.path}, in another folder"
    if part.kinds:
        return "kind", f"its kind is {hit.kind or 'unknown'}, but the filter requires {_any(part.kinds)}"
    if part.not_kinds:
        return "kind", f"its kind is {hit.kind}, which is excluded"
    if part.documents:
        return "document", f"its key is {hit.key}, but the filter requires {_any(part.documents)}"
    if part.namespaces:
        return "namespace", f"its namespace is {hit.namespace}, but the filter requires {_any(part.namespaces)}"
    if part.tags:
        return "subjects", f"it has none of the subjects {_any(part.tags)}"
    if part.bounds:
        names = [bound.field for bound in part.bounds]
        return " and ".join(names), "; ".join(_value_of(name, hit) for name in names) + ", outside the requested range"
    if part.without:
        return " and ".join(part.without), f"it must not have {_any(part.without)}"
    if part.since:
        return "since", f"{date}, but the filter requires {part.since} or later"
    if part.until:
        return "until", f"{date}, but the filter requires {part.until} or earlier"
    return _of_metadata(part.metadata, hit)


def _fields(part: Filter) -> list[str]:
    """Return the fields that a filter's part reads, except the document's names."""
    if any(getattr(part, each) for each in _NAMES):
        return []
    if part.kinds or part.not_kinds:
        return ["kind"]
    if part.since or part.until:
        return ["created_at"]
    if part.tags:
        return ["tags"]
    return [*(bound.field for bound in part.bounds), *part.without, *part.metadata]


def _of_metadata(condition: Mapping[str, Any], hit: Hit) -> tuple[str, str]:
    ((name, value),) = condition.items()
    if isinstance(value, list | tuple | set | frozenset):
        values = value
    else:
        values = [value]
    return name, f"{_value_of(name, hit)}, but the filter requires {_any(values)}"


def _value_of(name: str, hit: Hit) -> str:
    """Return a sentence on a document's value of a metadata field."""
    if name in hit.metadata:
        return f"its {name} is {_any(hit.metadata[name])}"
    return f"it has no {name}"


def _any(values: Any) -> str:
    if isinstance(values, str) or not isinstance(values, list | tuple | set | frozenset):
        return str(values)
    # A typed number may mean text or a number: list it once.
    return " or ".join(dict.fromkeys(map(str, values)))
