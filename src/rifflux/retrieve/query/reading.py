"""Reading a question: it is analyzed, classified and expanded here, each once, and travels as a `Query`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from rifflux.retrieve.query.classify import classify
from rifflux.retrieve.query.expand import Synonyms, expand
from rifflux.retrieve.query.understand import understand
from rifflux.store import Store
from rifflux.text.analyzer import Analyzer
from rifflux.types import Filter, Query, TermStatistics, Understanding

__all__ = ["QueryReader"]


@dataclass(frozen=True, slots=True)
class QueryReader:
    """Reads questions by the words of an index.

    `facets` are the metadata fields that may be asked as `field:value`, `synonyms` the user's. With `expands`, words
    that occur nowhere are searched in other spellings too.
    """

    store: Store
    analyzer: Analyzer
    facets: tuple[str, ...] = ()
    synonyms: Synonyms | None = None
    expands: bool = True
    exact: bool = False

    def __call__(self, text: str, filter: Filter | None = None, understanding: Understanding | None = None) -> Query:
        """Return a question as it is searched for; a part of another may have the `understanding` of that."""
        query = understand(text, self.analyzer, self.facets, filter)
        clauses = (*query.clauses, *query.required)
        frequencies = _Frequencies(self.store, [term for clause in clauses for term in clause])
        counts = self.store.counts()
        sort = understanding or classify(text, self.analyzer, frequencies, counts["chunks"])
        anchors = tuple(anchor for name in sort.identifiers if (anchor := self.analyzer.of_word(name)))
        frequencies([term for anchor in anchors for term in anchor])
        query = replace(
            query,
            anchors=anchors,
            specificity=sort.specificity,
            understanding=sort,
            exact=self.exact,
            statistics=TermStatistics(counts["chunks"], counts["embedded_chunks"], frequencies.known),
        )
        if not self.expands:
            return query
        return expand(query, self.analyzer, frequencies, self.store.lexical.vocabulary, self.synonyms)


@dataclass(slots=True)
class _Frequencies:
    """How many chunks hold a term. Each is looked up once, the `first` along with whatever is asked first."""

    store: Store
    first: Sequence[str]
    known: dict[str, int] = field(default_factory=dict)

    def __call__(self, terms: Sequence[str]) -> Mapping[str, int]:
        """Return the frequencies of those terms that occur."""
        missing = [term for term in dict.fromkeys((*self.first, *terms)) if term not in self.known]
        if missing:
            self.known |= dict.fromkeys(missing, 0) | dict(self.store.lexical.document_frequencies(missing))
        return {term: count for term in terms if (count := self.known[term])}
