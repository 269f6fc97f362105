"""Recording how well documents answered, and what was done with them."""

from __future__ import annotations

from dataclasses import dataclass

from rifflux.errors import InvalidArgument, OutOfScope
from rifflux.session.reading import Reader
from rifflux.session.session import IndexView
from rifflux.store import JUDGEMENT, Event

__all__ = ["Feedback"]

#: Judgements go from 0, irrelevant, to this.
MOST_GRADE = 10


@dataclass(frozen=True, slots=True)
class Feedback:
    """Records judgements and other events of a view."""

    view: IndexView

    def judge(self, query: str, document: str, grade: int = 1, *, user: str = "") -> Event:
        """Record how well a document answers a query, for `rifflux eval --from-feedback`.

        `document` is as in `why`. `grade` is 0 for irrelevant and grows with relevance; a later judgement of the same
        pair replaces an earlier one. Raises `NotFound` for an unknown document and `InvalidArgument` for an empty query
        or a grade that is none. In a scope, the user is the scope's.
        """
        if isinstance(grade, bool) or not isinstance(grade, int) or not 0 <= grade <= MOST_GRADE:
            raise InvalidArgument(f"grade must be a whole number from 0 to {MOST_GRADE}, not {grade!r}")
        return self.note(JUDGEMENT, query, document, grade, user=user)

    def note(self, kind: str, query: str, document: str, grade: int | None = None, *, user: str = "") -> Event:
        """Record what somebody did with a document that a query found, such as `click` or `save`.

        `document` is as in `judge`. Raises `NotFound` for an unknown one and `InvalidArgument` for an empty query. In a
        scope, the user is the scope's.
        """
        scope = self.view.scope
        if scope and user not in ("", scope.user_id):
            raise OutOfScope(f"what {scope.user_id!r} does is recorded as that user's: leave out the user")
        if not isinstance(query, str) or not query.strip():
            raise InvalidArgument("the query is empty: say what was asked")
        reader = Reader(self.view)
        hit = reader.chunk(document)
        collection, key = (hit.collection, hit.document) if hit else reader.place_of(document)
        who = user or (scope.user_id if scope else "")
        event = Event(kind, query, collection, key, hit.chunk_id if hit else "", grade, who, self.view.session.now())
        self.view.store.registry.record(event)
        return event
