"""A question about works, read once: its intent, and what becomes of a work that it names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from rifflux.store import Store
from rifflux.text.analyzer import Analyzer
from rifflux.types import Query
from rifflux.works.retrieval.intent import ABOUT, FIRST, Asked, Intent, asked_for
from rifflux.works.retrieval.named import NamedWork, named_work

__all__ = ["Question", "meant"]


@dataclass(frozen=True, slots=True)
class Question:
    """A question about works as it was typed and read, and its intent.

    The work that is looked for comes `first`; of one that it is `about`, such as that whose prerequisites are wanted,
    others are.
    """

    text: str
    query: Query
    asked: Asked
    first: NamedWork | None = None
    about: NamedWork | None = None
    notes: tuple[str, ...] = ()

    @property
    def intent(self) -> Intent:
        """Return the intent, with the weights that hold for it."""
        return self.asked.intent


def meant(
    text: str, query: Query, mode: str | None, intents: Mapping[str, Intent], store: Store, analyzer: Analyzer
) -> Question:
    """Return a question that was read as it is meant, by its wording and by what the index holds.

    Raises `InvalidArgument` for an unknown mode.
    """
    named, doubt = named_work(query.asked, store)
    alone = f"the name of a work here: {named.shown}" if named and named.alone else ""
    asked = asked_for(query.asked, mode, query.understanding, intents, analyzer, named=alone)
    if asked.intent.naming == ABOUT:
        note = f"it is about {named.shown}, which is left out itself" if named else doubt
        if named and asked.intent.about:
            asked = replace(asked, intent=replace(asked.intent, weights=asked.intent.about))
        return Question(text, query, asked, about=named, notes=(note,) if note else ())
    return Question(text, query, asked, named if asked.intent.naming == FIRST else None)
