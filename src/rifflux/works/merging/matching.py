"""Finding the stored works that an incoming one is, or may be."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from rifflux.store import Store
from rifflux.text.schemes import STRONG
from rifflux.text.titles import TITLE, title_keys
from rifflux.types import LICENSED
from rifflux.works import Work, work_of
from rifflux.works.merging.doubts import Doubts
from rifflux.works.merging.match import Likeness, Verdict, compare
from rifflux.works.merging.stored import load
from rifflux.works.report import Doubt

__all__ = ["Matcher", "Place", "records_of"]

#: Of works whose titles begin or end alike, more than this are a series, and not one work many times.
MOST_CANDIDATES = 12

#: The collection and key of a document.
Place = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Matcher:
    """Looks for an incoming work among those in the store."""

    store: Store
    doubts: Doubts

    def __call__(self, name: str, work: Work) -> tuple[list[Place], list[Doubt]]:
        """Return the documents that are the work its source calls `name` (`source:key`), and the doubts about others.

        Never two of which somebody said that they are two works, whatever a third record says of them.
        """
        found, candidates = self._candidates(name, work)
        same, doubtful = dict.fromkeys(found), []
        joined = {name, *(each for place in found for each in records_of(self.store, place))}
        for place in candidates:
            records = records_of(self.store, place)
            if any(self.doubts.are_apart(one, other) for one in joined for other in records):
                continue
            verdicts = {each: compare(work, record) for each, record in records.items()}
            if _is(Likeness.SAME, verdicts):
                same[place] = None
                joined.update(records)
            elif doubt := next((each for each in verdicts if verdicts[each].likeness is Likeness.DOUBTFUL), None):
                doubtful.append(Doubt(name, doubt, verdicts[doubt].reason))
        return list(same), doubtful

    def _candidates(self, name: str, work: Work) -> tuple[list[Place], list[Place]]:
        """Return the documents that the source's name leads to, and others with a common identifier or like title."""
        strong = [str(each) for each in work.identifiers if each.scheme in STRONG]
        titles = [f"{TITLE}:{key}" for key in title_keys(work.title, work.authors)]
        found = self.store.catalog.identified([name, *titles, *strong])
        alike = {place for key in titles for place in _few(found.get(key, []))}
        if not work.authors:
            # Without authors, equal titles say nothing within one source: many statements are called alike.
            source = LICENSED + name.partition(":")[0]
            alike = {place for place in alike if place[0] != source}
        own = found.get(name, [])
        return own, sorted({place for each in strong for place in found.get(each, ())}.union(alike).difference(own))


def _few(places: list[Place]) -> list[Place]:
    return places if len(places) <= MOST_CANDIDATES else []


def records_of(store: Store, place: Place) -> Mapping[str, Work]:
    """Return the records of a stored work, by the name that each source has for it."""
    if kept := store.catalog.records(*place):
        return {name: load(text) for name, text in kept.items()}
    document = store.catalog.document(*place)
    if document is None:
        return {}
    collection, key = place
    return {f"{collection.removeprefix(LICENSED)}:{key}": work_of(document)}


def _is(likeness: Likeness, verdicts: Mapping[str, Verdict]) -> bool:
    return any(verdict.likeness is likeness for verdict in verdicts.values())
