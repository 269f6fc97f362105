"""Authors, venues and years that questions name, read against the works of a view."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from rifflux.retrieve.query.reading import understand
from rifflux.session.license_policy import LicensePolicy
from rifflux.store import Store
from rifflux.text.analyzer import Analyzer
from rifflux.types import Clause, Filter, Query

if TYPE_CHECKING:
    from rifflux.retrieve.query.credits import CreditsRead
    from rifflux.retrieve.query.mentions import Vocabulary


@dataclass(frozen=True)
class CreditReader:
    """Reads questions against the names that the works of a store have, as far as the caller may know them.

    `is_phrase` says whether terms stand side by side in a text; unless `is_active`, questions name nobody. Besides the
    language that `analyzer` reads questions in, the content is in the languages of the `others`.
    """

    store: Store
    analyzer: Analyzer
    policy: LicensePolicy
    is_phrase: Callable[[Clause], bool]
    is_active: bool = True
    others: Sequence[Analyzer] = ()

    @property
    def _has_works(self) -> bool:
        """Whether there are works to be named; reading is loaded only then."""
        return self.is_active and self.store.catalog.has_works()

    @property
    def _vocabulary(self) -> Vocabulary:
        from rifflux.retrieve.query.mentions import Vocabulary

        counts = self.store.lexical.document_frequencies
        return Vocabulary(self.store, self.analyzer, self.policy.tells_facts, counts, self.is_phrase)

    def read(self, text: str) -> CreditsRead | None:
        """Return the authors, venues and years of works that a question names; None for none."""
        if not self._has_works:
            return None
        from rifflux.retrieve.query.credits import read_credits

        read = read_credits(self._vocabulary, text)
        return read if read.credits else None

    def parse_query(self, text: str, facets: Collection[str], limits: Filter | None, *, is_part: bool) -> Query:
        """Return a question, parsed, with those whom it names; a part of a question names nobody.

        Authors and venues of its filter are as works spell them.
        """
        read = None if is_part else self.read(text)
        query = understand(read.rest if read else text, self.analyzer, facets, limits, self.is_phrase, self.others)
        if query.filter.metadata:
            query = replace(query, filter=self.spelled(query.filter))
        if read is None:
            return query
        from rifflux.retrieve.query.credited import with_credits

        return with_credits(query, read, self.store, text)

    def spelled(self, filter: Filter) -> Filter:
        """Return a filter whose authors and venues are as works spell them."""
        if not self._has_works:
            return filter
        from rifflux.retrieve.query.credited import in_any_spelling

        return in_any_spelling(self._vocabulary, filter)
