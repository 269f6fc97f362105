"""A Query for the word index: what FTS5 is given as an expression, with the weights that its bm25() would give.

FTS5 and Tantivy have the same formula and constants but for idf: here a term that more than half of all chunks hold
counts nearly nothing, a phrase by how rare it is as a whole, and what is required twice, because it stands twice in the
expression. What is left: Tantivy rounds the lengths of chunks above 40 terms, counts a title's words as often as
they weigh, and the terms that a prefix stands for one by one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import tantivy

from rifflux.store.sqlite.lexical.word_index_schema import FACET, ROW, TERMS, TIME, encoded, own
from rifflux.store.sqlite.query import MOST_CLAUSES, Terms, required_forms, words_of, worths_of
from rifflux.text.analyzer import idf, okapi_idf
from rifflux.text.dates import parse_time, whole_day_end
from rifflux.types import Clause, Filter, Query

#: Terms that a prefix may stand for.
MOST_EXPANSIONS = 256
_NO_MATCH = tantivy.Query.empty_query()
MUST = tantivy.Occur.Must
SHOULD = tantivy.Occur.Should
MUST_NOT = tantivy.Occur.MustNot


class NotHere(Exception):
    """Raised for what only SQL can answer: an unusual filter, a prefix of too many words."""


@dataclass(frozen=True, slots=True)
class Parser:
    """Makes queries for one state of an owner's word index, of so many `entries`, replaced ones among them."""

    searcher: tantivy.Searcher
    schema: tantivy.Schema
    entries: int
    terms: Terms

    def __call__(self, query: Query) -> tantivy.Query | None:
        """Return the query with its filter; None if it has no term to rank by. Raises `NotHere`."""
        required = [self._required(forms) for forms in required_forms(query)]
        ranked = zip(self._phrases((*query.clauses, *query.variants)), worths_of(query), strict=True)
        optional = [each if worth == 1 else boosted(each, worth) for each, worth in ranked]
        optional += [self._prefix(self._words((each,))) for each in query.prefixes[:MOST_CLAUSES]]
        if not required and not optional:
            return None
        parts = [(MUST, each) for each in required]
        parts += [(SHOULD, each) for each in optional]
        excluded = [(MUST_NOT, each) for each in self._phrases(query.excluded)]
        narrowing = [(MUST, tantivy.Query.const_score_query(each, 0.0)) for each in self._filter(query.filter)]
        if not required and (excluded or narrowing):
            # By themselves alternatives are all optional; next to something else one of them must match.
            parts = [(MUST, tantivy.Query.boolean_query(parts))]
        return tantivy.Query.boolean_query([*parts, *excluded, *narrowing])

    # Words

    def _phrases(self, clauses: Sequence[Clause]) -> Iterator[tantivy.Query]:
        for clause in clauses[:MOST_CLAUSES]:
            yield self.phrase(clause)

    def _required(self, forms: Sequence[Clause]) -> tantivy.Query:
        """Return a query for a required clause, of whose forms one must match."""
        found = [boosted(each, 2.0) for each in self._phrases(forms)]
        if len(found) == 1:
            return found[0]
        return _any(found)

    def phrase(self, clause: Clause) -> tantivy.Query:
        """Return adjacent terms, weighed by how many chunks hold them so."""
        terms = self._words(clause)
        if len(terms) != 1:
            if terms:
                return self._weighed(terms)
            return _NO_MATCH
        (term,) = terms
        found = self.searcher.doc_freq(TERMS, term)
        if found:
            return boosted(self.term(term), self._idf(self.frequency(term)) / self._own_idf(found))
        return _NO_MATCH

    def _words(self, clause: Clause) -> list[str]:
        """Return the terms of a clause as they are stored, and as FTS5's tokenizer reads them: see `words_of`."""
        return words_of(" ".join(self.terms.stored(each) for each in clause))

    def term(self, term: str) -> tantivy.Query:
        """Return one term, weighed as Tantivy does."""
        return tantivy.Query.term_query(self.schema, TERMS, term, "freq")

    def _weighed(self, terms: Sequence[str]) -> tantivy.Query:
        """Return a phrase of several terms, for which Tantivy adds up their weights."""
        query = tantivy.Query.phrase_query(self.schema, TERMS, list(terms))
        frequencies = [self.searcher.doc_freq(TERMS, term) for term in terms]
        if all(frequencies):
            found = self.count(query)
        else:
            found = 0
        if not found:
            return _NO_MATCH
        return boosted(query, self._idf(found) / sum(self._own_idf(each) for each in frequencies))

    def _prefix(self, terms: Sequence[str]) -> tantivy.Query:
        if len(terms) != 1:
            raise NotHere("a prefix of several words")
        found = self.searcher.terms_with_prefix(TERMS, terms[0], limit=MOST_EXPANSIONS + 1)
        if len(found) > MOST_EXPANSIONS:
            raise NotHere("a prefix of too many words")
        union = tantivy.Query.boolean_query([(SHOULD, self.term(term)) for term, _ in found])
        if found:
            worth = self._idf(self.count(union))
        else:
            worth = 0.0
        parts = [(SHOULD, boosted(self.term(term), worth / self._own_idf(frequency))) for term, frequency in found]
        return tantivy.Query.boolean_query(parts)

    def frequency(self, term: str) -> int:
        """Count the chunks that hold a term, without the replaced entries, which are counted until they go."""
        if self.entries == self.searcher.num_docs:
            return self.searcher.doc_freq(TERMS, term)
        return self.count(self.term(term))

    def frequency_in(self, term: str, rows: Sequence[int]) -> int:
        """Count those of some rows that hold a term, as the word index has them."""
        among = tantivy.Query.term_set_query(self.schema, ROW, list(rows))
        return self.count(tantivy.Query.boolean_query([(MUST, self.term(term)), (MUST, among)]))

    def count(self, query: tantivy.Query) -> int:
        """Count the chunks that match."""
        found: Any = self.searcher.search(query, 1, count=True)
        return int(found.count)

    def _idf(self, frequency: int) -> float:
        """Return FTS5's idf."""
        return okapi_idf(self.searcher.num_docs, frequency)

    def _own_idf(self, frequency: int) -> float:
        """Return Tantivy's idf, by the entries that hold a term, replaced ones among them."""
        return idf(self.entries, frequency)

    # Filters

    def _filter(self, filter: Filter) -> Iterator[tantivy.Query]:
        """Yield queries that must all match, for the conditions that `query.where` defines."""
        if replace(filter, paths=(), kinds=(), namespaces=(), documents=(), since=None, until=None, metadata={}):
            raise NotHere("a filter that is not known here")
        if filter.paths and not any(_narrows_nothing(path) for path in filter.paths):
            yield _any([self._path(path) for path in filter.paths])
        if filter.kinds:
            yield self._facets("kind", filter.kinds)
        if filter.namespaces:
            yield self._facets("collection", filter.namespaces)
        if filter.documents:
            yield self._facets("document", filter.documents)
        if filter.since or filter.until:
            if filter.since:
                lower = parse_time(filter.since).timestamp()
            else:
                lower = None
            if filter.until:
                upper = whole_day_end(filter.until)
            else:
                upper = None
            yield tantivy.Query.range_query(self.schema, TIME, tantivy.FieldType.Float, lower, upper)
        for name, value in filter.metadata.items():
            yield self._metadata(name, value)

    def _facet(self, name: str, value: object) -> tantivy.Query:
        if value is not None and not isinstance(value, str | int | float):
            raise NotHere("a value of another type")
        text = encoded(name, value)
        if text is not None:
            return tantivy.Query.term_query(self.schema, FACET, text, "basic")
        return _NO_MATCH

    def _facets(self, name: str, values: Sequence[object]) -> tantivy.Query:
        return _any([self._facet(name, value) for value in values])

    def _metadata(self, name: str, value: object) -> tantivy.Query:
        name = name.replace('"', "")
        if "\\" in name or not name.isprintable():
            raise NotHere("a name that JSON writes in several ways")
        if isinstance(value, list | tuple | set | frozenset):
            values = list(value)
        else:
            values = [value]
        return self._facets(own(name), values)

    def _path(self, pattern: str) -> tantivy.Query:
        """Return a query for a folder, a suffix, both, or one path."""
        folder, star, suffix = pattern.replace("**/", "*").replace("**", "*").partition("*")
        if not star and folder.endswith("/"):
            star = "*"
        if re.search(r"[*?\[]", folder + suffix):
            raise NotHere("an unusual pattern")
        if not star:
            return self._facet("path", folder)
        if (folder and not folder.endswith("/")) or (suffix and not re.fullmatch(r"\.[^./]+", suffix)):
            raise NotHere("an unusual pattern")
        parts = [self._facet("folder", folder)] * bool(folder) + [self._facet("suffix", suffix)] * bool(suffix)
        return tantivy.Query.boolean_query([(MUST, part) for part in parts])


def boosted(query: tantivy.Query, factor: float) -> tantivy.Query:
    """Return the query with its scores multiplied."""
    return tantivy.Query.boost_query(query, factor)


def _any(queries: Sequence[tantivy.Query]) -> tantivy.Query:
    return tantivy.Query.boolean_query([(SHOULD, query) for query in queries])


def _narrows_nothing(pattern: str) -> bool:
    return bool(pattern) and not pattern.strip("*")
