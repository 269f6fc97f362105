"""A question about works, read once: its intent, its limits, the work that it names, the queries it is asked as."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from rifflux.retrieve.query.understand import parted
from rifflux.session.searching import Searcher
from rifflux.types import Understanding
from rifflux.works.retrieval.intent import ABOUT, FIRST, Asked, Intent, asked_for
from rifflux.works.retrieval.named import NamedWork, named_work

__all__ = ["Question", "read"]


@dataclass(frozen=True, slots=True)
class Question:
    """A question about works: its intent, and what becomes of a work that it names.

    `text` is the question without its exclusions and facets, which `limits` has as they were typed. The work that is
    looked for comes `first`; of one that it is `about`, such as that whose prerequisites are wanted, others are.
    """

    query: str
    text: str
    limits: str
    asked: Asked
    understanding: Understanding
    first: NamedWork | None = None
    about: NamedWork | None = None
    notes: tuple[str, ...] = ()

    @property
    def intent(self) -> Intent:
        """Return the intent, with the weights that hold for it."""
        return self.asked.intent

    @property
    def searched(self) -> str:
        """Return the text that is searched: the question, both sides of a comparison, or the title it is about."""
        if self.asked.sides:
            return " ".join([*self.asked.sides, self.limits])
        if self.about:
            title = "".join(char if char.isalnum() else " " for char in self.about.hit.title)
            return f"{title} {self.limits}"
        return self.query


def read(searcher: Searcher, query: str, mode: str | None, intents: Mapping[str, Intent]) -> Question:
    """Read a question by its wording and by what the index holds. Raises `InvalidArgument` for an unknown mode."""
    text, limits = parted(query, searcher.view.facets)
    understanding = searcher.classified(query)
    named, doubt = named_work(text, searcher.store)
    alone = f"the name of a work here: {named.shown}" if named and named.alone else ""
    asked = asked_for(text, mode, understanding, intents, searcher.analyzer, named=alone)
    if asked.intent.naming == ABOUT:
        note = f"it is about {named.shown}, which is left out itself" if named else doubt
        if named and asked.intent.about:
            asked = replace(asked, intent=replace(asked.intent, weights=asked.intent.about))
        return Question(query, text, limits, asked, understanding, about=named, notes=(note,) if note else ())
    return Question(query, text, limits, asked, understanding, named if asked.intent.naming == FIRST else None)
