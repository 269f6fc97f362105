"""Turn ranked works into candidates for evidence."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from rifflux.evidence.choose import Citable
from rifflux.retrieve.table import RELEVANCE, SCORE, Candidates
from rifflux.session.license_policy import LicensePolicy
from rifflux.session.session import IndexView
from rifflux.text.titles import person
from rifflux.types import Document, Hit, Tag
from rifflux.works.intent.named import CERTAINTY, Place, names_in
from rifflux.works.model import PRIMARY, primary_of
from rifflux.works.retrieval.score import SCORED

#: The metadata that holds the subject of a work without codes.
_SUBJECTS = ("subject", "field", "chapter")
#: The number of documents that are read at once.
AHEAD = 12


def groups_of(hit: Hit, visible: LicensePolicy) -> frozenset[tuple[str, str]]:
    """Return the authors and the venue of a work, as caps count them; none where they are not disclosed."""
    if not visible.tells_facts(hit.place[0], hit.license):
        return frozenset()
    groups = {("authors", person(str(author))) for author in hit.metadata.get("authors", ())}
    venue = str(hit.metadata.get("venue", ""))
    if venue:
        groups.add(("venues", venue))
    return frozenset(groups)


def citables_of(
    ranked: Candidates, candidates: Candidates, text: str, tags: Mapping[int, Sequence[Tag]], view: IndexView
) -> list[Citable]:
    """Return ranked works as candidates for evidence, each with all of its passages among the candidates.

    `text` is the question, `tags` are those of the works by chunk id.
    """
    visible = view.visible
    passages: dict[Place, list[Hit]] = {}
    for hit in visible.hits(candidates.passages):
        passages.setdefault(hit.place, []).append(hit)
    documents = _Documents(view, [hit.place for hit in ranked.passages])
    names = names_in(text)
    parts = ranked.parts(SCORED)
    relevance = np.nan_to_num(ranked[RELEVANCE]).tolist()
    found = []
    for row, hit in enumerate(ranked.passages):
        place = hit.place
        certainty = int(ranked[CERTAINTY][row])
        named = [each.id for each in passages[place] if certainty and names.has_heading(each.heading_path)]
        disclosed = visible.tells_facts(place[0], hit.license)
        found.append(
            Citable(
                hit=view.labelled(hit.retold(float(ranked[SCORE][row]), ())),
                passages=passages[place],
                document=documents.reader_of(place),
                components={name: float(column[row]) for name, column in parts.items()},
                relevance=relevance[row],
                certainty=certainty,
                named=frozenset(named),
                groups=groups_of(hit, visible),
                subject=_subject(hit.metadata, tags.get(int(ranked.ids[row]), ())) if disclosed else "",
            )
        )
    return found


@dataclass(frozen=True)
class _Documents:
    """Reads the documents at places as their licenses disclose them, several at a time and in their order."""

    view: IndexView
    places: Sequence[Place]
    known: dict[Place, Document | None] = field(default_factory=dict)

    def reader_of(self, place: Place) -> Callable[[], Document | None]:
        """Return a callable that reads the document at a place when it is needed."""

        def read() -> Document | None:
            if place not in self.known:
                start = self.places.index(place)
                wanted = self.places[start : start + AHEAD]
                found = self.view.store.catalog.documents_at(wanted)
                for each in wanted:
                    document = found.get(each)
                    self.known[each] = document and self.view.visible.document(each[0], document)
            return self.known[place]

        return read


def _subject(facts: Mapping[str, object], tags: Sequence[Tag]) -> str:
    """Return the primary category of a work, else the subject in its metadata; empty if unknown."""
    primary = str(facts.get(PRIMARY, ""))
    tag = Tag(*primary.split(":", 1)) if ":" in primary else primary_of(tags)
    if tag:
        return f"{tag.scheme}:{tag.value[:2] if tag.scheme == 'msc' else tag.value}"
    for name in _SUBJECTS:
        if facts.get(name):
            return str(facts[name])
    return ""
