"""Facets of a search: values of documents, and the number of documents with each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rifflux.index.collections import Collections
from rifflux.session.arguments import checked_whole
from rifflux.session.folders import folders_of
from rifflux.session.session import IndexView
from rifflux.store import Selection

#: Values of a facet at most.
MOST_VALUES = 1_000


@dataclass(frozen=True, slots=True)
class FacetValue:
    """A value that a search can be narrowed to, and the number of documents with it."""

    value: str | int | float | bool
    documents: int


@dataclass(frozen=True, slots=True)
class Facet:
    """A field that a search can be narrowed by, with its most frequent values; `more` says that there are others.

    `collection`, `kind` and `folder` come first, then the metadata fields that are declared. A folder is the first part
    of a path, preceded by its root's name if several roots have a folder of that name.
    """

    name: str
    values: tuple[FacetValue, ...]
    more: bool = False


#: A license decides what is disclosed of works.
_SHOWABLE = Selection(works=False)


def facets_of(view: IndexView, limit: int = 20) -> tuple[Facet, ...]:
    """Return the facets of all that the caller may read, each with up to `limit` values, the most frequent first.

    Works count for their collection only. Raises `InvalidArgument` for an invalid limit.
    """
    checked_whole("limit", limit, 1, MOST_VALUES)
    collections = sorted(Collections(view).list(), key=lambda each: (-each.documents, each.name))
    catalog = view.reading().store.catalog
    facets = [_facet("collection", [(each.name, each.documents) for each in collections if each.documents], limit)]
    facets.append(_facet("kind", catalog.values("kind", _SHOWABLE, limit + 1), limit))
    facets.append(_facet("folder", folders_of(view), limit))
    facets += [_facet(name, catalog.values(name, _SHOWABLE, limit + 1), limit) for name in view.facets]
    return tuple(facets)


def _facet(name: str, values: Sequence[tuple[str | int | float | bool, int]], limit: int) -> Facet:
    return Facet(name, tuple(FacetValue(*each) for each in values[:limit]), len(values) > limit)
