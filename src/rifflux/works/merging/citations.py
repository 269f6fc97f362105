"""Checking the citations of a whole import: dangling ones, and circles."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from rifflux.store import Store
from rifflux.types import Failure
from rifflux.works import Work

#: The number of names looked up at a time.
BATCH = 2000
#: The number of members of a circle that are named.
MOST_NAMED = 6


@dataclass
class Citations:
    """The citations collected while works are imported; names are `source:key`."""

    _places: dict[str, str] = field(default_factory=dict)
    _cited: dict[str, list[str]] = field(default_factory=dict)
    _named: dict[str, str] = field(default_factory=dict)

    def place(self, name: str) -> str:
        """Return the place of the work that was added last under a name."""
        return self._places[name]

    def add(self, place: str, name: str, work: Work) -> None:
        """Record the citations of a work and its other names."""
        self._places[name] = place
        self._named.update((str(each), name) for each in work.identifiers)
        self._cited.pop(name, None)
        if cited := [link.key for link in work.citations if link.kind == "cites"]:
            self._cited[name] = cited

    def dangling(self, store: Store) -> tuple[int, list[Failure]]:
        """Count citations of works that are not stored; return a failure for each missing key of the work's own source.

        A work cites more than anybody has, but a missing key of its own source is an error.
        """
        cited_keys = sorted({key for cited in self._cited.values() for key in cited})
        known: set[str] = set()
        for start in range(0, len(cited_keys), BATCH):
            known.update(store.catalog.identified(cited_keys[start : start + BATCH]))
        lost = [(name, key) for name, cited in self._cited.items() for key in cited if key not in known]
        own = [(name, key) for name, key in lost if key.partition(":")[0] == name.partition(":")[0]]
        return len(lost), [
            Failure(self._places[name], f"it cites {key.partition(':')[2]!r}, which is not there") for name, key in own
        ]

    def circles(self) -> Iterator[Failure]:
        """Yield a failure for each circle of works that cite each other, directly or through others."""
        cited = {name: [self._named.get(key, key) for key in keys] for name, keys in self._cited.items()}
        for circle in circles(cited):
            is_one_source = len({name.partition(":")[0] for name in circle}) == 1
            names = [name.partition(":")[2] if is_one_source else name for name in circle[:MOST_NAMED]]
            if len(circle) > MOST_NAMED:
                more = f" and {len(circle) - MOST_NAMED} more"
            else:
                more = ""
            yield Failure(self._places[circle[0]], f"they cite each other in a circle: {' → '.join(names)}{more}")


def circles(cited: Mapping[str, Sequence[str]]) -> list[list[str]]:
    """Return the strongly connected components of more than one node, each in the order of the mapping.

    Tarjan, "Depth-first search and linear graph algorithms", 1972; iterative, since chains are long.
    """
    found: list[list[str]] = []
    number: dict[str, int] = {}
    lowest: dict[str, int] = {}
    waiting: dict[str, None] = {}
    for start in cited:
        if start in number:
            continue
        path = [(start, iter(cited[start]))]
        number[start] = lowest[start] = len(number)
        waiting[start] = None
        while path:
            node, rest = path[-1]
            following = next((each for each in rest if each in cited and (each not in number or each in waiting)), None)
            if following is None:
                path.pop()
                if path:
                    lowest[path[-1][0]] = min(lowest[path[-1][0]], lowest[node])
                if lowest[node] == number[node]:
                    found.append(_component(waiting, node))
            elif following in number:
                lowest[node] = min(lowest[node], number[following])
            else:
                path.append((following, iter(cited[following])))
                number[following] = lowest[following] = len(number)
                waiting[following] = None
    order = {name: place for place, name in enumerate(cited)}
    return [sorted(each, key=order.__getitem__) for each in found if len(each) > 1]


def _component(waiting: dict[str, None], root: str) -> list[str]:
    component: list[str] = []
    while not component or component[-1] != root:
        component.append(waiting.popitem()[0])
    return component
