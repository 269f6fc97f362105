"""Ranked works as evidence may be taken from them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import repeat

import numpy as np

from rifflux.evidence.choose import Citable
from rifflux.retrieve.table import RELEVANCE, SCORE, Candidates
from rifflux.session.license_policy import LicensePolicy
from rifflux.session.searching import Searcher
from rifflux.text.titles import person
from rifflux.types import Document, Hit, Tag
from rifflux.works.intent.named import CERTAINTY, Place, names_in
from rifflux.works.model import PRIMARY, primary_of
from rifflux.works.retrieval.score import SCORED

#: The metadata that holds the subject of a work without codes.
_SUBJECTS = ("subject", "field", "chapter")
#: Documents are read in so many at a time.
AHEAD = 12


def groups_of(hit: Hit, visible: LicensePolicy) -> frozenset[tuple[str, str]]:
    """Return the authors and the venue of a work, as caps count them; none where they are not told."""
    if not visible.tells_facts(hit.place[0], hit.license):
        return frozenset()
    authors = map(str, hit.metadata.get("authors", ()))
    venue = str(hit.metadata.get("venue", ""))
    return frozenset(
        [*zip(repeat("authors"), (person(author) for author in authors)), *([("venues", venue)] if venue else [])]
    )


@dataclass
class Citables:
    """Give ranked works as evidence may be taken from them, with their tags by chunk id."""

    searcher: Searcher
    text: str
    tags: Mapping[int, Sequence[Tag]]
    places: Sequence[Place] = ()
    read: dict[Place, Document | None] = field(default_factory=dict)

    @cached_property
    def visible(self) -> LicensePolicy:
        """Return the rule of what the caller is shown."""
        return self.searcher.view.visible

    def __call__(self, ranked: Candidates, candidates: Candidates) -> list[Citable]:
        """Return the works in their order, with all of their passages among the candidates."""
        passages: dict[Place, list[Hit]] = {}
        for hit in self.visible.hits(candidates.passages):
            passages.setdefault(hit.place, []).append(hit)
        self.places = [each.place for each in ranked.passages]
        names = names_in(self.text)
        parts = ranked.parts(SCORED)
        found = []
        columns = (ranked[SCORE], np.nan_to_num(ranked[RELEVANCE]), ranked[CERTAINTY], ranked.ids)
        rows = zip(ranked.passages, *(np.ndarray.tolist(column) for column in columns), strict=True)
        values = np.array([*parts.values()]).T.tolist() or [()] * len(ranked)
        for (hit, score, relevance, certainty, id), addends in zip(rows, values, strict=True):
            work = Citable(
                self.searcher.view.labelled(hit.retold(score, ())),
                passages[hit.place],
                partial(self.document, hit.place),
                dict(zip(parts, addends, strict=False)),
                relevance,
                int(certainty),
                frozenset(
                    each.id for each in passages[hit.place] if certainty and names.has_heading(each.heading_path)
                ),
                groups_of(hit, self.visible),
            )
            told = self.visible.tells_facts(hit.place[0], hit.license)
            found.append(replace(work, subject=_subject(hit.metadata, self.tags.get(id, ()))) if told else work)
        return found

    def document(self, place: Place) -> Document | None:
        """Return a document as it may be shown; several are read at a time, in the order of the works."""
        if place not in self.read:
            start = self.places.index(place)
            wanted = self.places[start : start + AHEAD]
            found = self.searcher.store.catalog.documents_at(wanted)
            for each in wanted:
                document = found.get(each)
                self.read[each] = document and self.visible.document(each[0], document)
        return self.read[place]


def _subject(facts: Mapping[str, object], tags: Sequence[Tag]) -> str:
    """Return the primary category of a work, else the subject in its metadata; empty if unknown."""
    primary = str(facts.get(PRIMARY, ""))
    if tag := Tag(*primary.split(":", 1)) if ":" in primary else tags and primary_of(tags):
        return f"{tag.scheme}:{tag.value[:2] if tag.scheme == 'msc' else tag.value}"
    return str(next(filter(None, (facts.get(each) for each in _SUBJECTS)), ""))
