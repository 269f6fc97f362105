"""Splitting wrongly merged works, and removing identifiers that two works share."""

from __future__ import annotations

from collections.abc import Mapping

from rifflux.errors import InvalidArgument
from rifflux.store import SourceData
from rifflux.text.schemes import STRONG
from rifflux.types import LICENSED
from rifflux.works import Work, parse_identifier
from rifflux.works.merging.importing import Bring
from rifflux.works.merging.matching import Doubts, Likeness, Place, compare, records_of

Records = Mapping[str, Work]


def named_records(records: Records, called: str) -> list[str]:
    """Return the names of the records matching `called`: a record's own name, or an identifier that several have."""
    if called in records:
        return [called]
    identifier = parse_identifier(called)
    named = [name for name in sorted(records) if name.partition(":")[2] == called]
    return named or [name for name in sorted(records) if identifier in records[name].identifiers] or sorted(records)


def part(bring: Bring, doubts: Doubts, place: Place, one: str, other: str) -> tuple[str, str]:
    """Split the document at `place` into the works of the records `one` and `other`.

    Each remaining record joins the one that it resembles. Returns the names of both. Raises `InvalidArgument` if they
    are one record.
    """
    records = records_of(bring.store, place)
    first, second = _pair(records, one, other)
    groups: dict[str, dict[str, Work]] = {first: {first: records[first]}, second: {second: records[second]}}
    for name in sorted(set(records) - set(groups)):
        groups[_side(name, records, (first, second), doubts)][name] = records[name]
    if place == _own_place(second):
        stays = second
    else:
        stays = first
    goes = first if stays == second else second
    bring.store.catalog.write(SourceData(*place, {}))
    bring.put(place, groups[stays], [place])
    bring.put(_own_place(goes), groups[goes], [])
    return first, second


def disown(bring: Bring, doubts: Doubts, owner: str, other: str) -> None:
    """Remove identifiers that two works share from the work of record `other`, now and in later imports.

    An identifier with global meaning names one work; otherwise whatever cites it would cite both.
    """
    found = bring.store.catalog.identified([owner, other])
    places = [found[name][0] for name in (owner, other)]
    owned, claimed = (records_of(bring.store, place) for place in places)
    own = {identifier for work in owned.values() for identifier in work.identifiers if identifier.scheme in STRONG}
    shared = {name: own.intersection(work.identifiers) for name, work in claimed.items()}
    if not any(shared.values()):
        return
    for name, identifiers in shared.items():
        if identifiers:
            doubts.disown(name, identifiers)
    bring.put(places[1], {name: doubts.without_disowned(name, work) for name, work in claimed.items()}, [places[1]])


def _pair(records: Records, one: str, other: str) -> tuple[str, str]:
    ones = named_records(records, one)
    others = named_records(records, other)
    pairs = sorted({(first, second) for first in ones for second in others if first != second})
    if len(pairs) == 1 or (len(records) == 2 and pairs):
        return pairs[0]
    if len(records) == 1:
        raise InvalidArgument(
            f"{one!r} and {other!r} are not merged: they are one record of one source, {min(records)!r}; mend it there"
        )
    raise InvalidArgument(f"say which two records are two works: they are {', '.join(map(repr, sorted(records)))}")


def _side(name: str, records: Records, leads: tuple[str, str], doubts: Doubts) -> str:
    """Return which of two records another one joins: the first that it matches and is not declared different from."""
    open_to = [lead for lead in leads if not doubts.are_apart(name, lead)] or list(leads)
    same = [lead for lead in open_to if compare(records[name], records[lead]).likeness is Likeness.SAME]
    return (same or open_to)[0]


def _own_place(name: str) -> Place:
    source, _, key = name.partition(":")
    return LICENSED + source, key
