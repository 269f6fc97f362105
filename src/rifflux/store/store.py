"""A store: four roles over one database, seen by one owner."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Protocol

from rifflux.store.catalog import Catalog
from rifflux.store.lexical import Lexical
from rifflux.store.mending import Analysis, Mended, Problem
from rifflux.store.reader import CandidateRequest, CandidateResponse, Totals
from rifflux.store.registry import CollectionRecord, Registry
from rifflux.store.semantic import Semantic
from rifflux.types import Notice, Progress

__all__ = ["BESIDE", "PART", "Store"]

#: Stands between an owner and a part in the name of the part's own view; no name of a user holds it.
PART = "\x1f"
#: Stands before each owner in the name of a view of several; no name of an owner holds it.
BESIDE = "\x1d"


class Store(Protocol):
    """One owner's view of an index: four roles, and what concerns all of them.

    What is opened is the view of the owner without a name; `of` gives those of others. No role sees or touches rows
    of another owner, whatever it is given.
    """

    #: Whose rows these are; empty for the owner without a name. A view of several has a name of its own.
    owner: str
    #: Their names, in order: one, or several that are read together.
    owners: tuple[str, ...]
    #: Documents, chunks, files, links and tags.
    catalog: Catalog
    #: Chunks by their terms.
    lexical: Lexical
    #: Chunks by their vectors, and the models.
    semantic: Semantic
    #: Settings, events, claims, accounts and usage.
    registry: Registry
    #: The version of the stored schema.
    schema_version: int
    #: The file that keeps what users do, apart from the contents, which are only read then; empty without one.
    state: str

    def totals(self) -> Totals:
        """Return what a search needs to know of all that there is."""

    def counts(self) -> Mapping[str, int]:
        """Count `documents`, `chunks`, `files` and `embedded_chunks`."""

    def contents(self) -> str:
        """Return what stands for the contents at this moment: `CHANGES-DIGEST`.

        It is another one after every change of what can be found, and the same as long as there was none. `CHANGES`
        grows with each of them.
        """

    def search(self, request: CandidateRequest) -> CandidateResponse:
        """Return the candidates of a question in each channel, with what steps need to know of the best.

        Raises `ModelMismatch` as `Semantic.nearest` does.
        """

    def of(self, owner: str) -> Store:
        """Return the view of an owner, on the same database. Raises OutOfScope from a named owner's to another's."""

    def united(self, owners: Iterable[str]) -> Store:
        """Return a read-only view of several owners, which equals an index of exactly their content.

        Its hits and namespaces say whose they are (`Hit.owner`, `of_owner`). Statistics, ranks and samples are those
        of all of them; settings it has none. Whatever would write raises OutOfScope. One owner gives that one's view.
        Raises OutOfScope from a named owner's to another's.
        """

    def members(self) -> Sequence[Store]:
        """Return the views of the owners that are read together, each by itself; of one owner, that view."""

    def part(self, name: str) -> Store:
        """Return the view of a part of what this owner has, such as messages: with terms and statistics of its own."""

    def views(self) -> Sequence[Store]:
        """Return this view and all that it leads to: those of every owner and part, or of a named owner's own parts."""

    def transaction(self) -> AbstractContextManager[object]:
        """Group the writes inside: all of them happen, or none. Nested ones join the outermost."""

    def memoized(self) -> AbstractContextManager[None]:
        """Let this thread, within the block, read settings, the model and counts again only after a change."""

    def accelerate(self) -> None:
        """Build or bring up to date what makes a large index fast, if the engine has such; returns when it is there."""

    def leave_building(self) -> None:
        """Build nothing in the background from now on: another process does, which runs `keep_up`."""

    def keep_up(self, stop: threading.Event) -> Iterator[str]:
        """Update the derived files as other processes change the index, until stopped; yield failures."""

    def backup(self, target: Path, *, force: bool = False, progress: Progress | None = None) -> None:
        """Copy all of the store as it is at this moment to a file, which appears when it is whole.

        What is kept apart in a state file goes to another one beside it, named so with `.state` at the end.
        Raises InvalidArgument where something is there that `force` does not allow to be replaced, and OutOfScope for
        the view of a named owner.
        """

    def extract(
        self,
        target: Path,
        collections: Sequence[CollectionRecord],
        *,
        settings: Collection[str],
        may_leave: Callable[[str, str | None], bool],
        model: str | None,
        progress: Progress | None = None,
    ) -> int:
        """Copy collections to a new file, where everyone may read them, and nothing else of the index.

        Nothing of other owners is left in it, of tokens, usage, questions, feedback, groups or the log, of files and
        where they were: documents stay, without one. Of the settings those that are named go along; documents whose
        namespace and license `may_leave` refuses do not, and their number is returned. `model` is how the model in use
        is loaded there, None for no vectors. Raises OutOfScope as `backup` does.
        """

    def probe(self) -> None:
        """Read a little of everything that searches need, in a millisecond or so. Raises `UnusableIndex`.

        It finds an index that cannot be opened or read at all; `check` reads all of it.
        """

    def notices(self) -> list[Notice]:
        """Return what of the chosen settings has no effect at present, and why."""
        return []

    def troubles(self) -> list[Notice]:
        """Return why answers take longer than they could: what was built by `accelerate` and cannot be used."""

    def check(self, analysis: Analysis | None = None) -> list[Problem]:
        """Look for damage: what `rifflux doctor` prints. Raises OutOfScope for the view of a named owner.

        With `analysis` it is looked too whether the texts are those that were indexed.
        """

    def mend(self, analysis: Analysis) -> Mended:
        """Mend what can be made again from the rest; vectors are only dropped. Raises OutOfScope as `check` does."""

    @property
    def read_only(self) -> bool:
        """Return whether nothing can be written."""

    def close(self) -> None:
        """Release the engine, for all views; that of a named owner only ends itself."""
