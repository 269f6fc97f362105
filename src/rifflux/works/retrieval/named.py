"""How surely a question names each candidate: one answer for the score of a work and for its evidence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from rifflux.retrieve.table import NAMED, Candidates, declare
from rifflux.session.license_policy import LicensePolicy
from rifflux.text.titles import plain
from rifflux.types import Hit, Identifier
from rifflux.works.retrieval.question import Naming, Place, Question, naming

CERTAINTY = declare(
    "certainty", "from 0 to 3", "how surely the question names the work: by identifier, title, subject or heading"
)
#: How surely a work is meant that was looked up before the search, as one named by its identifier; and by its title.
LOOKED_UP = 3
BY_TITLE = 2
#: Where more works than so many are named in some form, that is their subject and no name.
MOST_ALIKE = 3


def certain_of(
    question: Question, table: Candidates, identifiers: Mapping[int, Sequence[Identifier]], visible: LicensePolicy
) -> Candidates:
    """Return candidates with how surely the question names their works; 0 where it does not.

    A work is named by its identifier (3), by its title (2), by its title's subject or the heading of a passage (1). If
    none is, those are which the search recognized in whatever form the question has their name, as long as they are
    few. Of a work that may not be shown, its title and identifiers alone decide.
    """
    meant = naming(question.text)
    first = question.first and question.first.hit.place
    outright: dict[Place, int] = {}
    alike: dict[Place, int] = {}
    rows = zip(visible.hits(table.passages), table.ids.tolist(), np.nan_to_num(table[NAMED]).tolist(), strict=True)
    for hit, id, recognized in rows:
        theirs = _may_be_theirs(meant, hit, visible)
        looked_up = hit.place == first and theirs
        if looked_up:
            certainty = LOOKED_UP
        else:
            certainty = _certainty(meant, hit, identifiers.get(id, ()), visible)
        outright[hit.place] = max(outright.get(hit.place, 0), certainty)
        if recognized and theirs and not hit.withheld:
            alike[hit.place] = 1
    if any(outright.values()):
        found = outright
    elif len(alike) <= MOST_ALIKE:
        found = alike
    else:
        found = {}
    return table.with_column(CERTAINTY, np.array([found.get(hit.place, 0) for hit in table.passages], np.float64))


def headed(meant: Naming, passages: Sequence[Hit]) -> frozenset[str]:
    """Return the chunk ids of the passages that the question names by their headings."""
    return frozenset(hit.id for hit in passages if meant.heads(hit.heading_path))


def _certainty(meant: Naming, hit: Hit, identifiers: Sequence[Identifier], visible: LicensePolicy) -> int:
    certainty = meant.certainty(hit.title, _authors(hit, visible), identifiers)
    return certainty or int(not hit.withheld and meant.heads(hit.heading_path))


def _may_be_theirs(meant: Naming, hit: Hit, visible: LicensePolicy) -> bool:
    """Return whether a work may be by those that the question says it is by; of whom nothing is told may not."""
    if meant.people and not visible.tells_facts(hit.place[0], hit.license):
        return False
    known = {word for name in (*_authors(hit, visible), hit.title, hit.heading_path) for word in plain(name).split()}
    return meant.people <= known


def _authors(hit: Hit, visible: LicensePolicy) -> Sequence[str]:
    told = visible.tells_facts(hit.place[0], hit.license)
    if told:
        return tuple(map(str, hit.metadata.get("authors", ())))
    return ()
