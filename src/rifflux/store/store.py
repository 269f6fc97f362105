"""A store: four roles over one database, in the view of one owner."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from rifflux.store.catalog import Catalog
from rifflux.store.lexical import DEFAULT, FieldWeights, Lexical
from rifflux.store.local import LocalFiles
from rifflux.store.mending import Analysis, Mended, Problem
from rifflux.store.reader import LEXICAL, SEMANTIC, CandidateRequest, CandidateResponse, Reads, Totals
from rifflux.store.records import Records
from rifflux.store.semantic import Semantic
from rifflux.types import Execution, Query, Ranking, Vectors

__all__ = ["BESIDE", "PART", "Capability", "ErasedContent", "Store", "by_meaning", "by_words", "by_words_each"]

#: Separates an owner from a part in the name of the part's view; no user name contains it.
PART = "\x1f"
#: Precedes each owner in the name of a view of several; no owner name contains it.
BESIDE = "\x1d"


class Capability(StrEnum):
    """What an engine promises beyond its roles, and what holds without it."""

    #: Writes within `Store.transaction` happen all or not at all. Without it, an interruption may leave some of them.
    TRANSACTIONS = "transactions"
    #: The index is one file, which `Store.local` copies, extracts from and seals. Without it, `local` is None: nothing
    #: is built beside the index, and copies are made with the means of the engine.
    ONE_FILE = "one-file"
    #: Searches find the nearest vectors. Without it, they may miss some; the cosines of those found are exact.
    EXACT_NEIGHBORS = "exact-neighbors"
    #: What was written is found at once. Without it, within a second.
    IMMEDIATE = "immediate"
    #: What can be read of a damaged index is put into a new one. Without it, `doctor` only says what is damaged.
    SALVAGE = "salvage"
    #: What is deleted is overwritten. Without it, it may be read from the disk until the engine reuses the place.
    SECURE_DELETE = "secure-delete"


@dataclass(frozen=True, slots=True)
class ErasedContent:
    """The deleted content of owners: documents by kind, and the numbers of files, records and settings."""

    documents: Mapping[str, int]
    files: int = 0
    records: int = 0
    settings: int = 0


class Store(Protocol):
    """One owner's view of an index: four roles, and functions for all of them.

    An opened store is the view of the unnamed owner; `of` returns those of others. No role reads or changes rows of
    another owner, whatever its arguments.
    """

    #: The owner of the rows; empty for the unnamed owner. A view of several has a name of its own.
    owner: str
    #: The owners' names, in order: one, or several that are read together.
    owners: tuple[str, ...]
    #: Documents, chunks, files, links and tags.
    catalog: Catalog
    #: Chunks by their terms.
    lexical: Lexical
    #: Chunks by their vectors, and the models.
    semantic: Semantic
    #: Settings, and what else is kept beside documents.
    records: Records
    #: The version of the stored schema.
    schema_version: int
    #: What the engine promises beyond its roles.
    capabilities: frozenset[Capability]
    #: What only an index that is a file has; None for any other.
    local: LocalFiles | None

    def totals(self) -> Totals:
        """Return the totals of the content."""

    def contents(self) -> str:
        """Return an identifier of the current contents: `CHANGES-DIGEST`.

        It changes with every change of searchable content and only then. `CHANGES` grows with each of them.
        """

    def search(self, request: CandidateRequest) -> CandidateResponse:
        """Return the candidates of a query in each channel, with facts of the best for the steps.

        Rankings come best first, ties by id: by words, those of BM25 over the query's terms, whose scores are positive
        and whose variants count `VARIANT`; by meaning, the cosines with the execution's vector of those that pass the
        filter and have the required words, none without a vector or with one of length zero. Raises `ModelMismatch` if
        the vector is of another model than the chunks'.
        """

    def search_each(self, requests: Sequence[CandidateRequest]) -> list[CandidateResponse]:
        """Return the candidates of several requests, in as few round trips as those of one."""
        return [self.search(each) for each in requests]

    def of(self, *owners: str) -> Store:
        """Return the view of an owner of the same database, or a read-only view of several.

        The latter is equivalent to an index of exactly their content. Its hits and namespaces name their owner
        (`Hit.owner`, `of_owner`). Statistics, ranks and samples are those of all of them; it has no settings, and
        writing raises OutOfScope. Without owners, nothing is in it. Raises OutOfScope from a named owner's view to
        another's. Parts, such as an owner's messages, are named `OWNER PART NAME`, with their own terms and statistics.
        """

    def views(self) -> Sequence[Store]:
        """Return this view and those of every owner and part, or of a named owner's own parts."""

    def transaction(self) -> AbstractContextManager[object]:
        """Group the writes inside the block: all of them happen, or none. Nested ones join the outermost.

        What the block reads of the owner's contents is not changed by anybody else before its end.
        """

    def erase(self, owner: str, finish: Callable[[ErasedContent], bool], *, parts: bool = True) -> None:
        """Delete the content, files, settings and records of an owner, and with `parts` of all their parts.

        `finish` deletes what else concerns them in the same transaction, and returns True if anything was deleted.
        Without `Capability.TRANSACTIONS`, an interrupted call can be repeated. Raises OutOfScope for a named owner's
        view, and `ReadOnlyIndex` for an owner in an index that is only read.
        """

    def memoized(self, deadline: float | None = None) -> AbstractContextManager[Reads | None]:
        """Cache settings, the model and counts for this thread within the block, until they change.

        An engine on other machines bounds what is read within the block by the deadline, a moment of
        `time.perf_counter()`, and yields what that took; any other yields None.
        """

    @property
    def moment(self) -> object:
        """Return a value that changes whenever this thread would read something else; None if that is unknown.

        It is known within `memoized` at most, and some engines never know.
        """
        return None

    def probe(self) -> None:
        """Read a little of everything that searches need, in about a millisecond. Raises `UnusableIndex`.

        It detects an index that cannot be opened or read at all; `check` reads all of it.
        """

    def check(self, analysis: Analysis | None = None) -> list[Problem]:
        """Return problems found in the index, as printed by `rifflux doctor`.

        With `analysis`, texts are also compared with their indexed terms. Raises OutOfScope for a named owner's view.
        """

    def mend(self, analysis: Analysis) -> Mended:
        """Mend what can be recomputed; vectors are only dropped. Raises OutOfScope as `check` does."""

    @property
    def read_only(self) -> bool:
        """Return True if nothing can be written."""

    def close(self) -> None:
        """Close the engine for all views; that of a named owner only closes itself."""


def by_words(store: Store, query: Query, limit: int, weights: FieldWeights) -> Ranking:
    """Rank the best `limit` chunks by the words of a query."""
    request = CandidateRequest(query, Execution(limit=limit), weights, (LEXICAL,), described=False)
    return store.search(request).rankings[LEXICAL]


def by_words_each(store: Store, queries: Sequence[Query], limit: int, weights: FieldWeights) -> list[Ranking]:
    """Rank for each of some queries the best `limit` chunks by its words."""
    run = Execution(limit=limit)
    requests = [CandidateRequest(query, run, weights, (LEXICAL,), described=False) for query in queries]
    return [each.rankings[LEXICAL] for each in store.search_each(requests)]


def by_meaning(store: Store, query: Query, vector: Vectors | None, limit: int, *, model: str | None = None) -> Ranking:
    """Rank the best `limit` chunks by their cosine with a vector, of the model with this fingerprint."""
    run = Execution(vector=vector, model=model, limit=limit)
    request = CandidateRequest(query, run, DEFAULT, (SEMANTIC,), described=False)
    return store.search(request).rankings[SEMANTIC]
