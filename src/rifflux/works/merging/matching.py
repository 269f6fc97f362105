"""Finding the stored works that an incoming record describes, or may describe."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum

from rifflux.store import Store
from rifflux.text.names import TITLE, alike, families, plain, title_keys
from rifflux.text.schemes import STRONG
from rifflux.types import LICENSED, Identifier
from rifflux.works import work_of
from rifflux.works.merging.merge import load
from rifflux.works.model import Work
from rifflux.works.report import Doubt

#: More works than this with similarly beginning or ending titles are a series rather than duplicates.
MOST_CANDIDATES = 12

#: The namespace and key of a document.
Place = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Matcher:
    """Looks up an incoming work in the store."""

    store: Store
    doubts: Doubts

    def __call__(self, name: str, work: Work) -> tuple[list[Place], list[Doubt]]:
        """Return the stored documents of the work named `name` (`source:key`), and the doubts about others.

        Two works that a person declared different are never both returned, whatever a third record says.
        """
        found, candidates = self._candidates(name, work)
        same = dict.fromkeys(found)
        doubtful = []
        joined = {name, *(each for place in found for each in records_of(self.store, place))}
        for place in candidates:
            records = records_of(self.store, place)
            if any(self.doubts.are_apart(one, other) for one in joined for other in records):
                continue
            verdicts = {each: compare(work, record) for each, record in records.items()}
            if any(verdict.likeness is Likeness.SAME for verdict in verdicts.values()):
                same[place] = None
                joined.update(records)
            elif doubt := next((each for each in verdicts if verdicts[each].likeness is Likeness.DOUBTFUL), None):
                doubtful.append(_doubt_of((name, work), (doubt, records[doubt]), verdicts[doubt].reason))
        return list(same), doubtful

    def _candidates(self, name: str, work: Work) -> tuple[list[Place], list[Place]]:
        """Return the documents of the source's name, and those with a common identifier or a similar title."""
        strong = [str(each) for each in work.identifiers if each.scheme in STRONG]
        titles = [f"{TITLE}:{key}" for key in title_keys(work.title, work.authors)]
        # Read only as many of a long series as show that it is one; otherwise each new part would read all others.
        found = {
            **self.store.catalog.identified([name, *strong]),
            **self.store.catalog.identified(titles, MOST_CANDIDATES + 1),
        }
        likes = (found.get(key, []) for key in titles)
        alike = {place for places in likes if len(places) <= MOST_CANDIDATES for place in places}
        if not work.authors:
            # Without authors, equal titles within one source say nothing: many statements have the same name.
            source = LICENSED + name.partition(":")[0]
            alike = {place for place in alike if place[0] != source}
        own = found.get(name, [])
        return own, sorted({place for each in strong for place in found.get(each, ())}.union(alike).difference(own))


def _doubt_of(one: tuple[str, Work], other: tuple[str, Work], reason: str) -> Doubt:
    """Return the doubt about two records, the one with publication data first.

    If both have one identifier, the first more likely states its own: one read from a page may belong to another work.
    """
    first, second = sorted((one, other), key=lambda each: not each[1].venue)
    return Doubt(first[0], second[0], reason)


def records_of(store: Store, place: Place) -> Mapping[str, Work]:
    """Return the records of a stored work, by the name in each source."""
    if records := store.catalog.records(*place):
        return {name: load(text) for name, text in records.items()}
    document = store.catalog.document(*place)
    if document is None:
        return {}
    namespace, key = place
    return {f"{namespace.removeprefix(LICENSED)}:{key}": work_of(document)}


# Comparing two records


#: The usual maximum distance in years between preprint and publication.
YEARS_APART = 1
#: Titles of fewer words are shared by many works.
TELLING_WORDS = 4
#: Titles of fewer letters may occur twice with one author, such as `Errata`.
SHORT_TITLE = 10


class Likeness(Enum):
    """The outcome of a comparison: same, different, or undecided."""

    SAME = "same"
    DOUBTFUL = "doubtful"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class MatchVerdict:
    """The relation of two records, and the reason."""

    likeness: Likeness
    reason: str


def compare(one: Work, other: Work) -> MatchVerdict:
    """Compare two records by identifiers, then by title, authors and year.

    A shared identifier decides unless title and authors contradict it, since identifiers contain typing errors. Equal
    titles decide across sources if authors overlap and years fit; a single source seldom lists a work twice, so there
    the case is doubtful.
    """
    titles = _titles(one, other)
    authors = _authors(one, other)
    if shared := _shared(one, other):
        if titles == "different" and authors == "different":
            return MatchVerdict(Likeness.DOUBTFUL, f"both are {shared}, with different titles and authors")
        return MatchVerdict(Likeness.SAME, f"both are {shared}")
    if titles == "different" or authors == "different":
        return MatchVerdict(Likeness.OTHER, "different titles or authors")
    if doubt := _doubt(one, other, titles, authors):
        return doubt
    return MatchVerdict(Likeness.SAME, "same title, authors and year")


def _doubt(one: Work, other: Work, titles: str, authors: str) -> MatchVerdict | None:
    """Return the evidence against two works with equal titles and authors being the same, or None."""
    same_source = bool(set(one.sources) & set(other.sources))
    if authors == "unknown" and (same_source or titles != "same" or len(plain(one.title).split()) < TELLING_WORDS):
        return MatchVerdict(Likeness.OTHER, "too little is known to tell")
    if one.year and other.year:
        apart = abs(one.year - other.year)
    else:
        apart = 0
    if titles == "alike" and apart > YEARS_APART:
        return MatchVerdict(Likeness.OTHER, "similar titles of different years")
    reasons = [
        *(["the titles are similar"] if titles == "alike" else []),
        *(["authors are missing"] if authors == "unknown" else []),
        *(["the title is short"] if len(plain(one.title)) < SHORT_TITLE else []),
        *(["the authors share family names alone"] if authors == "alike" else []),
        *(["the years differ"] if apart > YEARS_APART else []),
        *([f"they have different {scheme} identifiers" for scheme in _contradicting(one, other)]),
        *(["both are in one source"] if same_source else []),
    ]
    if reasons:
        return MatchVerdict(Likeness.DOUBTFUL, "same work? " + ", ".join(reasons))
    return None


def _shared(one: Work, other: Work) -> str:
    """Return an identifier that both have, in a scheme with global meaning."""
    both = set(one.identifiers) & set(other.identifiers)
    return next((str(each) for scheme in STRONG for each in sorted(both, key=str) if each.scheme == scheme), "")


def _contradicting(one: Work, other: Work) -> list[str]:
    return [scheme for scheme in ("arxiv", "doi") if one.identifier(scheme) and other.identifier(scheme)]


def _titles(one: Work, other: Work) -> str:
    first = plain(one.title)
    second = plain(other.title)
    if first == second:
        return "same"
    if alike(first, second):
        return "alike"
    return "different"


def _authors(one: Work, other: Work) -> str:
    first = families(one.authors)
    second = families(other.authors)
    if not first or not second:
        return "unknown"
    shared = first.keys() & second.keys()
    # Initials are often omitted; where they are given and differ, only the family name is shared.
    if any("" in first[name] | second[name] or first[name] & second[name] for name in shared):
        return "same"
    if shared:
        return "alike"
    return "different"


# Pairs of likely duplicates, and the decisions on them; stored in the setting `doubts`


_SETTING = "doubts"
_NONE = '{"open": [], "apart": [], "disowned": {}}'

Pair = tuple[str, str]


@dataclass
class Doubts:
    """Open pairs and decided ones; `save` stores them.

    `disowned` maps the name of a record to identifiers that it gives but that belong to another work.
    """

    store: Store
    open: dict[Pair, Doubt] = field(default_factory=dict)
    apart: set[Pair] = field(default_factory=set)
    disowned: dict[str, set[str]] = field(default_factory=dict)

    @classmethod
    def of(cls, store: Store) -> Doubts:
        """Return the doubts of a store."""
        stored = json.loads(store.records.setting(_SETTING) or _NONE)
        found = [Doubt(*each) for each in stored["open"]]
        return cls(
            store,
            {_pair(each.one, each.other): each for each in found},
            {_pair(*each) for each in stored["apart"]},
            {name: set(identifiers) for name, identifiers in stored["disowned"].items()},
        )

    def are_apart(self, one: str, other: str) -> bool:
        """Return True if a person declared the two works different."""
        return _pair(one, other) in self.apart

    def add(self, doubts: Iterable[Doubt]) -> list[Doubt]:
        """Add new doubts and return those."""
        new = {_pair(each.one, each.other): each for each in doubts}
        fresh = {pair: doubt for pair, doubt in new.items() if pair not in self.open and pair not in self.apart}
        self.open |= fresh
        return list(fresh.values())

    def close(self, one: str, other: str, *, apart: bool) -> None:
        """Record the decision on a pair."""
        pair = _pair(one, other)
        self.open.pop(pair, None)
        if apart:
            self.apart.add(pair)
        else:
            self.apart.discard(pair)

    def disown(self, name: str, identifiers: Iterable[Identifier]) -> None:
        """Record that identifiers of the record `name` belong to another work."""
        self.disowned.setdefault(name, set()).update(map(str, identifiers))

    def without_disowned(self, name: str, work: Work) -> Work:
        """Return a record's work without identifiers that belong to another work."""
        disowned = self.disowned.get(name, set())
        return replace(work, identifiers=tuple(each for each in work.identifiers if str(each) not in disowned))

    def save(self) -> None:
        """Store everything, if it changed."""
        doubts = sorted((each.one, each.other, each.reason) for each in self.open.values())
        disowned = {name: sorted(self.disowned[name]) for name in sorted(self.disowned)}
        text = json.dumps({"open": doubts, "apart": sorted(self.apart), "disowned": disowned}, ensure_ascii=False)
        if text != (self.store.records.setting(_SETTING) or _NONE):
            self.store.records.set(_SETTING, text)


def _pair(one: str, other: str) -> Pair:
    if one < other:
        return (one, other)
    return (other, one)
