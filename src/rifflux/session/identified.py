"""Documents by their identifiers."""

from __future__ import annotations

from rifflux.store import Store
from rifflux.text.schemes import parse_identifier
from rifflux.text.titles import TITLE

__all__ = ["identified"]


def identified(store: Store, name: str) -> list[tuple[str, str]]:
    """Return the (collection, key) of the documents with an identifier, as typed or else in its canonical spelling.

    The keys of titles, which find duplicates, name nothing: they would tell whether a guessed author is right.
    """
    parsed = parse_identifier(name)
    if parsed and parsed.scheme == TITLE:
        return []
    spellings = list(dict.fromkeys([name, *([str(parsed)] if parsed else [])]))
    found = store.catalog.identified(spellings)
    return next((found[each] for each in spellings if each in found), [])
