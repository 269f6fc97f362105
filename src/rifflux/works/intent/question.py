"""A question about works, read once: its intent, and the works that it names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from rifflux.retrieve.pipeline import Plan
from rifflux.session.license_policy import LicensePolicy
from rifflux.store import Store
from rifflux.text.moments import YEAR_OF_WORK
from rifflux.text.schemes import STRONG, parse_identifier
from rifflux.types import AUTHORS, Query
from rifflux.works.intent.classify import Compare, IntentDecision, classify
from rifflux.works.intent.intents import ABOUT, FIRST, GENERIC, Intent
from rifflux.works.intent.named import NamedWork, identifier_candidates, is_only_name, named_work, work_of_author
from rifflux.works.intent.rules import is_bare, works_of


@dataclass(frozen=True, slots=True)
class Question:
    """A question about works as typed and as read, with the decision on its intent.

    `first` is the work that it looks for, which comes first; `about` is a work that it asks about, such as that whose
    prerequisites are wanted, for which others are the answer. `lacking` are identifiers in it that no work here has.
    """

    text: str
    plan: Plan
    decision: IntentDecision
    first: NamedWork | None = None
    about: NamedWork | None = None
    notes: tuple[str, ...] = ()
    lacking: tuple[str, ...] = ()

    @property
    def query(self) -> Query:
        """Return the question as it was parsed."""
        return self.plan.query


def read_question(
    text: str,
    plan: Plan,
    mode: str | None,
    intents: Mapping[str, Intent],
    store: Store,
    visible: LicensePolicy,
    compare: Compare = lambda _: None,
) -> Question:
    """Decide on the intent of a question and the works that it names, by its wording and by the contents of the index.

    `compare` compares it with examples. Raises `InvalidArgument` for an unknown mode.
    """
    query = plan.query
    named, doubt = named_work(query.phrasing.body, store, visible)
    if not named and not doubt:
        named, doubt = work_of_author(text, query, store, visible)
    name = f"the name of a work here: {named.display_name}" if named else ""
    reference = name if named and named.alone else _reference(query)
    known = query.understanding
    decision = classify(query.phrasing.body, mode, known, intents, query.words, reference=reference, compare=compare)
    undecided = named and not mode and decision.intent.name == GENERIC
    # "What is tag 06Z4?": words that ask are no part of the name.
    if named and undecided and is_only_name(query.semantic_text, named.name, named.hit.title):
        again = classify(query.phrasing.body, mode, known, intents, query.words, reference=name)
        decision = replace(again, notes=decision.notes)
    notes = [f"{decision.intent.name}: {decision.reason}"]
    first = named if decision.intent.naming == FIRST else None
    about = named if decision.intent.naming == ABOUT else None
    if about:
        notes.append(f"it is about {about.display_name}, which is left out itself")
        if decision.cited:
            decision = replace(decision, intent=decision.intent.directed(decision.cited))
    elif decision.intent.naming == ABOUT and doubt:
        notes.append(doubt)
    lacking = _unknown_identifiers(query.phrasing.body, store)
    return Question(text, plan, decision, first, about, (*notes, *decision.notes), lacking)


def _reference(query: Query) -> str:
    """Describe a question that only refers to works by an author, or "".

    It asks for all works of a person, or refers to one as in a footnote: by an author known here, then a year and a few
    bare words. Without the author it would be an event: `Chile earthquake 1960`.
    """
    people = [credit.said for credit in query.credits if credit.role == AUTHORS]
    typed = query.phrasing.body.strip()
    year = YEAR_OF_WORK.search(query.phrasing.body)
    if year and not query.credits_only and is_bare(typed, query.words):
        for person in people:
            if typed.startswith(person):
                return f"an author, a subject and a year: {person!r}, {year[0]}"
    name = works_of(query.phrasing.body, people if query.credits_only else ())
    if name:
        return f"a question for the works of {name!r}"
    return ""


def _unknown_identifiers(text: str, store: Store) -> tuple[str, ...]:
    """Return the identifiers in a question that mean one work everywhere, but none here."""
    parsed = [parse_identifier(each) for each in identifier_candidates(text)]
    names = dict.fromkeys(str(each) for each in parsed if each and each.scheme in (*STRONG, "isbn"))
    if not names:
        return ()
    known = store.catalog.identified([*names])
    return tuple(name for name in names if name not in known)
