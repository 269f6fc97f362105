"""The works that an identifier names."""

from __future__ import annotations

from rifflux.store.base import Store
from rifflux.text.titles import TITLE
from rifflux.works import parse_identifier

__all__ = ["identified"]


def identified(store: Store, name: str) -> list[tuple[str, str]]:
    """The (collection, key) of the documents with an identifier, as it is told or in another of its spellings.

    What duplicates are looked for by is not told, and names nothing: it would tell whether a guessed author is right.
    """
    parsed = parse_identifier(name)
    if parsed and parsed.scheme == TITLE:
        return []
    spellings = list(dict.fromkeys([name, *([str(parsed)] if parsed else [])]))
    found = store.identified(spellings)
    return next((found[each] for each in spellings if each in found), [])
