"""Queries with authors, venues and years: filters in any spelling, and what a question that names them asks for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from rifflux.retrieve.query.credits import CreditsRead
from rifflux.retrieve.query.mentions import CreditVocabulary, of_one_word
from rifflux.store import Store
from rifflux.text.people import is_venue, named, person_key, venue_keys
from rifflux.types import AUTHORS, VENUE, Credit, Filter, Notice, Query

#: Spellings of a name that are told.
MOST_TOLD = 3


def in_any_spelling(vocabulary: CreditVocabulary, filter: Filter) -> Filter:
    """Return a filter whose authors and venues are as works have them, however they were given.

    An author is also given by an identifier: an ORCID iD, or `openalex:A5023888391`.
    """
    roles = {AUTHORS: AUTHORS, "author": AUTHORS, VENUE: VENUE}
    metadata = dict(filter.metadata)
    for field_name, role in roles.items():
        given = metadata.get(field_name)
        if isinstance(given, list | tuple | set | frozenset):
            values = [*given]
        else:
            values = [given]
        if known := [name for each in values if isinstance(each, str) for name in _like(vocabulary, role, each)]:
            # Documents that are no works may have the name as it was given.
            if field_name == role:
                kept = values
            else:
                kept = []
            metadata.pop(field_name)
            metadata[role] = [*dict.fromkeys([*kept, *known, *metadata.get(role, ())])]
    if metadata == filter.metadata:
        return filter
    return replace(filter, metadata=metadata)


def _like(vocabulary: CreditVocabulary, role: str, written: str) -> list[str]:
    """Return the spellings that works have of an author or a venue as somebody writes it."""
    if role == VENUE:
        known = vocabulary.known(VENUE, venue_keys(written))
        return sorted({name for names in known.values() for name in names if is_venue(written, name)})
    if key := person_key(written):
        return sorted(vocabulary.known(AUTHORS, {key}).get(key, {}))
    meant = named(written)
    works = {name: count for names in vocabulary.known(AUTHORS, meant.keys).values() for name, count in names.items()}
    fits = {name: quality for name in works if (quality := named(name).fits(meant))}
    return sorted(of_one_word(fits, works) if len(meant.words) == 1 else fits)


def with_credits(query: Query, read: CreditsRead, store: Store, text: str) -> Query:
    """Return the query with those whom the question names; it wants their works alone where nothing else is left."""
    if read.only:
        sure = [credit for credit in read.credits if credit.sure]
    else:
        sure = []
    filter = query.filter
    for role in dict.fromkeys(credit.role for credit in sure):
        names = [name for credit in sure if credit.role == role for name in credit.names]
        several = Credit(role, "", tuple(dict.fromkeys(names)))
        further = filter.narrowed(several.filter)
        if store.catalog.any_passes(further):
            filter = further
    return replace(query, text=text, filter=filter, credits=read.credits, credits_only=read.only)


def credit_notes(credits: Sequence[Credit]) -> tuple[Notice, ...]:
    """Return a note on each credit: its spellings, and the evidence for it."""
    notes = []
    for credit in credits:
        text = f"{credit.label} ({', '.join(_listed(credit))})"
        notes.append(Notice("query.credit", text, data={"role": credit.role, "names": [*credit.names]}))
    return tuple(notes)


def _listed(credit: Credit) -> list[str]:
    """Return the spellings of a name that the notes list, and the evidence for it."""
    others = [name for name in credit.names if name != credit.said]
    if len(others) > MOST_TOLD:
        more = [f"and {len(others) - MOST_TOLD} more"]
    else:
        more = []
    return [*others[:MOST_TOLD], *more, *credit.why]
