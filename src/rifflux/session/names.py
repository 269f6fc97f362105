"""Authors, venues and years that questions name: reading them against the works of a view, and what they act on."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from rifflux.retrieve.fuse import Fuse
from rifflux.retrieve.pipeline import RERANK, Pipeline, Step
from rifflux.retrieve.query.reading import understand
from rifflux.retrieve.table import Candidates
from rifflux.session.license_policy import LicensePolicy
from rifflux.store import Store
from rifflux.text.analyzer import Analyzer
from rifflux.types import CREDITS, Clause, Filter, Query

if TYPE_CHECKING:
    from rifflux.retrieve.query.credits import CreditsRead
    from rifflux.retrieve.query.mentions import Vocabulary

_FACTS = frozenset((*CREDITS, "year"))


@dataclass(frozen=True)
class Names:
    """The names that the works of a store have, as far as the caller is told them.

    `held` tells if terms stand side by side in a text; where nothing `reads` them, questions name nobody. Besides the
    language that `analyzer` reads questions in, the content is in the languages of the `others`.
    """

    store: Store
    analyzer: Analyzer
    visible: LicensePolicy
    held: Callable[[Clause], bool]
    reads: bool = True
    others: Sequence[Analyzer] = ()

    @property
    def _any(self) -> bool:
        """Whether there are works to be named; reading is loaded only then."""
        return self.reads and self.store.catalog.has_works()

    @property
    def _vocabulary(self) -> Vocabulary:
        from rifflux.retrieve.query.mentions import Vocabulary

        counts = self.store.lexical.document_frequencies
        return Vocabulary(self.store, self.analyzer, self.visible.tells_facts, counts, self.held)

    def read(self, text: str) -> CreditsRead | None:
        """Return the authors, venues and years of works that a question names; None for none."""
        if not self._any:
            return None
        from rifflux.retrieve.query.credits import read_credits

        read = read_credits(self._vocabulary, text)
        if read.credits:
            return read
        return None

    def understood(self, text: str, facets: Collection[str], limits: Filter | None, *, apart: bool) -> Query:
        """Return a question as it was read, with those whom it names; one that stands `apart` names nobody.

        Authors and venues of its filter are as works spell them.
        """
        read = None if apart else self.read(text)
        query = understand(read.rest if read else text, self.analyzer, facets, limits, self.held, self.others)
        if query.filter.metadata:
            query = replace(query, filter=self.spelled(query.filter))
        if read is None:
            return query
        from rifflux.retrieve.query.credited import named_by

        return named_by(query, read, self.store, text)

    def spelled(self, filter: Filter) -> Filter:
        """Return a filter whose authors and venues are as works spell them."""
        if not self._any:
            return filter
        from rifflux.retrieve.query.credited import in_any_spelling

        return in_any_spelling(self._vocabulary, filter)

    def acting(self, pipeline: Pipeline, fuse: Fuse | None, *, reranked: bool) -> Pipeline:
        """Return a pipeline whose channels name the works of those who are named, too, and which lifts them.

        Where ranks alone decide, nothing is lifted.
        """
        from rifflux.retrieve.steps.beginnings import Keeping
        from rifflux.retrieve.steps.credits import STAGE, Credits, kept_first, with_credited

        channels = with_credited(pipeline.channels, self.store)
        rate = self.rating(pipeline.rate)
        pipeline = replace(pipeline, channels=channels, rate=rate)
        if fuse and not fuse.anchored:
            return pipeline
        steps = [*pipeline.steps]
        if reranked:
            place = next(place for place, (name, _) in enumerate(steps, 1) if name == RERANK)
            steps.insert(place, (STAGE, Keeping(kept_first)))
        lifts = [step for step in (pipeline.anchors, Credits(self.store)) if step]
        return replace(pipeline, anchors=partial(_each, lifts), steps=steps)

    def rating(self, rate: Step | None) -> Step | None:
        """Return the step that rates candidates, those that are all that was asked for as surely relevant."""
        if not rate or not self._any:
            return rate
        from rifflux.retrieve.steps.credits import rated_as_asked

        return rated_as_asked(rate, self.store)

    def told(self, query: Query, table: Candidates) -> Candidates:
        """Leave out works of which it may not be told that the question names their authors, venue or year."""
        fields = {credit.role for credit in query.credits} | (_FACTS & query.filter.metadata.keys())
        if not fields or not table.passages:
            return table
        kept = [row for row, hit in enumerate(table.passages) if self.visible.tells(hit, fields)]
        if len(kept) == len(table):
            return table
        return table.take(kept)


def _each(steps: Sequence[Step], query: Query, table: Candidates) -> Candidates:
    for step in steps:
        table = step(query, table)
    return table
