"""Works as evidence is taken from them: the groups that caps count, their subject, how surely they are named."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from rifflux.evidence.choose import Citable
from rifflux.retrieve.table import SCORE, Candidates
from rifflux.store import Store
from rifflux.text.titles import person
from rifflux.types import Document, Hit, Identifier, Tag
from rifflux.works.model import PRIMARY, primary_of
from rifflux.works.retrieval.named import Naming
from rifflux.works.retrieval.score import SCORED

__all__ = ["CitableWorks"]

#: The metadata that tells the subject of a work without codes.
_SUBJECTS = ("subject", "field", "chapter")
#: Documents are read in so many at a time.
AHEAD = 12
Place = tuple[str, str]
Read = Callable[[], Document | None]


@dataclass(frozen=True)
class CitableWorks:
    """Makes works citable, with all of their passages that are candidates."""

    naming: Naming
    candidates: Candidates
    identifiers: Mapping[int, Sequence[Identifier]]
    tags: Mapping[int, Sequence[Tag]]
    store: Store

    def __call__(self, ranked: Candidates) -> list[Citable]:
        """Return ranked works as evidence may be taken from them."""
        passages: dict[Place, list[Hit]] = {}
        for hit in self.candidates.passages:
            passages.setdefault(hit.place, []).append(hit)
        read = _Documents(self.store, [hit.place for hit in ranked.passages])
        parts, scores = ranked.parts(SCORED), ranked[SCORE].tolist()
        return [
            self._citable(
                hit.retold(scores[row], ()),
                passages[hit.place],
                partial(read, hit.place),
                {name: float(values[row]) for name, values in parts.items()},
            )
            for row, hit in enumerate(ranked.passages)
        ]

    def _citable(self, hit: Hit, passages: Sequence[Hit], read: Read, components: Mapping[str, float]) -> Citable:
        """Return one work; title and identifiers alone decide where it is withheld."""
        id = int(hit.chunk_id, 16)
        identifiers, facts = self.identifiers.get(id, ()), hit.metadata
        if hit.withheld:
            return Citable(hit, passages, read, components, self.naming.certainty(hit.title, (), identifiers))
        authors, venue = tuple(map(str, facts.get("authors", ()))), str(facts.get("venue", ""))
        headed = frozenset(each.chunk_id for each in passages if self.naming.heads(each.heading_path))
        return Citable(
            hit,
            passages,
            read,
            components,
            certainty=self.naming.certainty(hit.title, authors, identifiers) or int(bool(headed)),
            named=headed,
            groups={"authors": frozenset(map(person, authors)), "venues": frozenset([venue] if venue else [])},
            subject=_subject(facts, self.tags.get(id, ())),
        )


class _Documents:
    """Reads documents in their order, several at a time."""

    def __init__(self, store: Store, places: Sequence[Place]) -> None:
        self._store, self._places = store, list(places)
        self._read: dict[Place, Document | None] = {}

    def __call__(self, place: Place) -> Document | None:
        if place not in self._read:
            start = self._places.index(place)
            wanted = self._places[start : start + AHEAD]
            self._read |= {**dict.fromkeys(wanted), **self._store.catalog.documents_at(wanted)}
        return self._read[place]


def _subject(facts: Mapping[str, object], tags: Sequence[Tag]) -> str:
    """Return the primary category of a work, else the subject in its metadata; empty if unknown."""
    primary = str(facts.get(PRIMARY, ""))
    tag = Tag(*primary.split(":", 1)) if ":" in primary else primary_of(tags)
    if tag:
        return f"{tag.scheme}:{tag.value[:2] if tag.scheme == 'msc' else tag.value}"
    return next((str(facts[name]) for name in _SUBJECTS if facts.get(name)), "")
