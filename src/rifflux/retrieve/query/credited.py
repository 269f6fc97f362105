"""Filters by author and venue in any spelling, and queries that name authors, venues and years."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from rifflux.retrieve.query.credits import CreditsRead, CreditVocabulary, of_one_word
from rifflux.store import Store
from rifflux.text.names import is_venue, named, person_key, venue_keys
from rifflux.types import AUTHORS, VENUE, Credit, Filter, Notice, Query

#: The maximum number of spellings listed in a notice.
MAX_REPORTED = 3


def in_any_spelling(vocabulary: CreditVocabulary, filter: Filter) -> Filter:
    """Return the filter with its authors and venues in the spellings of the stored works.

    An author may also be given by an identifier: an ORCID iD, or `openalex:A5023888391`.
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
            # Documents that are not works may have the name exactly as given.
            if field_name == role:
                unchanged = values
            else:
                unchanged = []
            metadata.pop(field_name)
            metadata[role] = [*dict.fromkeys([*unchanged, *known, *metadata.get(role, ())])]
    if metadata == filter.metadata:
        return filter
    return replace(filter, metadata=metadata)


def _like(vocabulary: CreditVocabulary, role: str, written: str) -> list[str]:
    """Return the stored spellings of an author or a venue as written by the user."""
    if role == VENUE:
        known = vocabulary.known(VENUE, venue_keys(written))
        return sorted({name for names in known.values() for name in names if is_venue(written, name)})
    if key := person_key(written):
        return sorted(vocabulary.known(AUTHORS, {key}).get(key, {}))
    name_parts = named(written)
    works = {
        name: count for names in vocabulary.known(AUTHORS, name_parts.keys).values() for name, count in names.items()
    }
    fits = {name: quality for name in works if (quality := named(name).fits(name_parts))}
    return sorted(of_one_word(fits, works) if len(name_parts.words) == 1 else fits)


def with_credits(query: Query, read: CreditsRead, store: Store, text: str) -> Query:
    """Return the query with the credits it names; if nothing else remains, it filters for their works."""
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
    """Return a notice on each credit, with its spellings and the evidence for it."""
    notes = []
    for credit in credits:
        text = f"{credit.label} ({', '.join(_listed(credit))})"
        notes.append(Notice("query.credit", text, data={"role": credit.role, "names": [*credit.names]}))
    return tuple(notes)


def _listed(credit: Credit) -> list[str]:
    """Return the spellings and the evidence to list for a credit."""
    others = [name for name in credit.names if name != credit.wording]
    if len(others) > MAX_REPORTED:
        more = [f"and {len(others) - MAX_REPORTED} more"]
    else:
        more = []
    return [*others[:MAX_REPORTED], *more, *credit.why]
