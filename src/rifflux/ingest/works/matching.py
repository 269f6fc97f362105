"""Which stored works an incoming one is, or may be."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from rifflux.ingest.works.doubts import Doubts
from rifflux.store.base import Store
from rifflux.works import Work, work_of
from rifflux.works.match import Likeness, Verdict, compare
from rifflux.works.report import Doubt
from rifflux.works.schemes import STRONG
from rifflux.works.stored import load
from rifflux.works.titles import TITLE, title_key

__all__ = ["COLLECTION", "Matcher", "Place", "records_of"]

#: Of works whose titles begin alike, more than this are a series, and not one work many times.
MOST_CANDIDATES = 12

#: Works live in collections of this name and their source's.
COLLECTION = "works/"

#: The collection and key of a document.
Place = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Matcher:
    """Looks for an incoming work among those in the store."""

    store: Store
    doubts: Doubts

    def __call__(self, name: str, work: Work) -> tuple[list[Place], list[Doubt]]:
        """The documents that are the work its source calls `name` (`source:key`), and the doubts about others."""
        found, candidates = self._candidates(name, work)
        same, doubtful = dict.fromkeys(found), []
        for place in candidates:
            known = {each: compare(work, record) for each, record in records_of(self.store, place).items()}
            told = {each: verdict for each, verdict in known.items() if not self.doubts.are_apart(name, each)}
            if len(told) == len(known) and _is(Likeness.SAME, told):
                same[place] = None
            elif doubt := next((each for each in told if told[each].likeness is not Likeness.OTHER), None):
                doubtful.append(Doubt(name, doubt, told[doubt].reason))
        return list(same), doubtful

    def _candidates(self, name: str, work: Work) -> tuple[list[Place], list[Place]]:
        """The documents that the source's name leads to, and others that share an identifier or begin alike."""
        strong = [str(each) for each in work.identifiers if each.scheme in STRONG]
        title = f"{TITLE}:{title_key(work.title)}"
        found = self.store.identified([name, title, *strong])
        alike = found.get(title, [])
        if not work.authors:
            # Without authors, equal titles say nothing within one source: many statements are called alike.
            source = COLLECTION + name.partition(":")[0]
            alike = [place for place in alike if place[0] != source]
        others = {place for each in strong for place in found.get(each, ())}
        others.update(alike if len(alike) <= MOST_CANDIDATES else ())
        own = found.get(name, [])
        return own, sorted(others - set(own))


def records_of(store: Store, place: Place) -> Mapping[str, Work]:
    """What each source told of a stored work, by the name that the source has for it."""
    if kept := store.records(*place):
        return {name: load(text) for name, text in kept.items()}
    document = store.document(*place)
    if document is None:
        return {}
    collection, key = place
    return {f"{collection.removeprefix(COLLECTION)}:{key}": work_of(document)}


def _is(likeness: Likeness, verdicts: Mapping[str, Verdict]) -> bool:
    return any(verdict.likeness is likeness for verdict in verdicts.values())
