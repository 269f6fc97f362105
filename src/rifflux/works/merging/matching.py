"""Finding the stored works that an incoming one is, or may be."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum

from rifflux.store import Store
from rifflux.text.schemes import STRONG
from rifflux.text.titles import TITLE, alike, families, plain, title_keys
from rifflux.types import LICENSED, Identifier
from rifflux.works import work_of
from rifflux.works.merging.merge import load
from rifflux.works.model import Work
from rifflux.works.report import Doubt

#: Of works whose titles begin or end alike, more than this are a series, and not one work many times.
MOST_CANDIDATES = 12

#: The namespace and key of a document.
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
        """Return the documents that the source's name leads to, and others with a common identifier or like title."""
        strong = [str(each) for each in work.identifiers if each.scheme in STRONG]
        titles = [f"{TITLE}:{key}" for key in title_keys(work.title, work.authors)]
        # Of a long series no more are read than show that it is one, or each new part would read all others.
        found = {
            **self.store.catalog.identified([name, *strong]),
            **self.store.catalog.identified(titles, MOST_CANDIDATES + 1),
        }
        likes = (found.get(key, []) for key in titles)
        alike = {place for places in likes if len(places) <= MOST_CANDIDATES for place in places}
        if not work.authors:
            # Without authors, equal titles say nothing within one source: many statements are called alike.
            source = LICENSED + name.partition(":")[0]
            alike = {place for place in alike if place[0] != source}
        own = found.get(name, [])
        return own, sorted({place for each in strong for place in found.get(each, ())}.union(alike).difference(own))


def _doubt_of(one: tuple[str, Work], other: tuple[str, Work], reason: str) -> Doubt:
    """Return the doubt whether two records are one work; the one that says where it was published comes first.

    Where both have one identifier, that one more likely states its own: what is read off a page may be another's.
    """
    first, second = sorted((one, other), key=lambda each: not each[1].venue)
    return Doubt(first[0], second[0], reason)


def records_of(store: Store, place: Place) -> Mapping[str, Work]:
    """Return the records of a stored work, by the name that each source has for it."""
    if kept := store.catalog.records(*place):
        return {name: load(text) for name, text in kept.items()}
    document = store.catalog.document(*place)
    if document is None:
        return {}
    namespace, key = place
    return {f"{namespace.removeprefix(LICENSED)}:{key}": work_of(document)}


# Whether two records are of one work


#: Preprint and print are mostly a year apart at the most.
YEARS_APART = 1
#: Titles of fewer words are given to many works.
TELLING_WORDS = 4
#: Titles of fewer letters are given by one author twice: `Errata`.
SHORT_TITLE = 10


class Likeness(Enum):
    """One work, two works, or for a person to say."""

    SAME = "same"
    DOUBTFUL = "doubtful"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class MatchVerdict:
    """What two records are to each other, and why."""

    likeness: Likeness
    reason: str


def compare(one: Work, other: Work) -> MatchVerdict:
    """Judge two records by their identifiers, then by title, authors and year.

    A shared identifier decides, unless title and authors say otherwise: identifiers are mistyped too. Equal titles
    decide with an author in common and years that fit, in different sources; a source seldom has a work twice under
    different keys, so there it is doubtful.
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
    """Return an identifier that both have, of a scheme that means the same everywhere."""
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
    # Initials are often left out; where they are given and differ, only a family name is shared.
    if any("" in first[name] | second[name] or first[name] & second[name] for name in shared):
        return "same"
    if shared:
        return "alike"
    return "different"


# The pairs of works that may be one, and the decisions on them; kept in the setting `doubts`


_SETTING = "doubts"
_NONE = '{"open": [], "apart": [], "disowned": {}}'

Pair = tuple[str, str]


@dataclass
class Doubts:
    """The open pairs and the decided ones; `save` keeps them in the store.

    `disowned` are the identifiers that a record gives and that belong to another work, by the name of the record.
    """

    store: Store
    open: dict[Pair, Doubt] = field(default_factory=dict)
    apart: set[Pair] = field(default_factory=set)
    disowned: dict[str, set[str]] = field(default_factory=dict)

    @classmethod
    def of(cls, store: Store) -> Doubts:
        """Return the doubts that a store holds."""
        kept = json.loads(store.registry.setting(_SETTING) or _NONE)
        found = [Doubt(*each) for each in kept["open"]]
        return cls(
            store,
            {_pair(each.one, each.other): each for each in found},
            {_pair(*each) for each in kept["apart"]},
            {name: set(identifiers) for name, identifiers in kept["disowned"].items()},
        )

    def are_apart(self, one: str, other: str) -> bool:
        """Return True if somebody decided that they are two works."""
        return _pair(one, other) in self.apart

    def add(self, doubts: Iterable[Doubt]) -> list[Doubt]:
        """Open the doubts that are new; returns those."""
        new = {_pair(each.one, each.other): each for each in doubts}
        fresh = {pair: doubt for pair, doubt in new.items() if pair not in self.open and pair not in self.apart}
        self.open |= fresh
        return list(fresh.values())

    def close(self, one: str, other: str, *, apart: bool) -> None:
        """Record what was decided of a pair."""
        pair = _pair(one, other)
        self.open.pop(pair, None)
        if apart:
            self.apart.add(pair)
        else:
            self.apart.discard(pair)

    def disown(self, name: str, identifiers: Iterable[Identifier]) -> None:
        """Record that identifiers of the record called `name` belong to another work."""
        self.disowned.setdefault(name, set()).update(map(str, identifiers))

    def without_disowned(self, name: str, work: Work) -> Work:
        """Return the work of a record without the identifiers that belong to another work."""
        disowned = self.disowned.get(name, set())
        return replace(work, identifiers=tuple(each for each in work.identifiers if str(each) not in disowned))

    def save(self) -> None:
        """Keep everything, if it changed."""
        doubts = sorted((each.one, each.other, each.reason) for each in self.open.values())
        disowned = {name: sorted(self.disowned[name]) for name in sorted(self.disowned)}
        text = json.dumps({"open": doubts, "apart": sorted(self.apart), "disowned": disowned}, ensure_ascii=False)
        if text != (self.store.registry.setting(_SETTING) or _NONE):
            self.store.registry.set(_SETTING, text)


def _pair(one: str, other: str) -> Pair:
    if one < other:
        return (one, other)
    return (other, one)
