"""Journey one: bring the index to what the folders hold now, touching only what changed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import TypeGuard

from rifflux.errors import NotFound
from rifflux.ingest.parallel.job import UNFINISHED, Assembled, FileChange, Job, Outcome, is_current, jobs_of
from rifflux.ingest.parallel.pool import Runner
from rifflux.ingest.walk.find import Finder, Found, Skipped
from rifflux.store import FileState, Placed, Store
from rifflux.types import Failure, Progress

__all__ = ["BatchWriter", "Sync", "Tally", "Target", "targets"]


@dataclass(frozen=True, slots=True)
class Target:
    """What to sync: everything of `root` at or below `within`.

    What is named by a user is taken whatever the rules say of it, and must be there. If it is only known to have
    changed (`noticed`), it may be gone, or nothing to index.
    """

    root: Path
    within: Path
    noticed: bool = False

    @property
    def below(self) -> str:
        """The path of what is meant, relative to the root; empty for all of it."""
        return "" if self.within == self.root else self.within.relative_to(self.root).as_posix()


@dataclass(slots=True)
class Tally:
    """Counts of a run while it goes on."""

    indexed: int = 0
    skipped: int = 0
    deleted: int = 0
    chunks: int = 0
    left_out: list[Failure] = field(default_factory=list)
    failed: list[Failure] = field(default_factory=list)


def targets(paths: Iterable[Path], roots: Sequence[str], finder: Finder) -> list[Target]:
    """Find each path's root: one of `roots` that holds it, else the folder itself, or the folder of a file.

    A root holds what a walk of it comes by: a hidden or ignored folder that is named itself is a root of its own.
    Raises `NotFound` for a path that does not exist, before anything is touched.
    """
    return [_target(path, [Path(root) for root in roots], finder) for path in paths]


def _target(path: Path, roots: Sequence[Path], finder: Finder) -> Target:
    path = Path(path).expanduser()
    if not path.exists():
        raise NotFound(f"nothing at {path}: check the path's spelling")
    path = path.resolve()
    holding = [root for root in roots if path.is_relative_to(root) and finder.meets(root, path)]
    root = max(holding, key=lambda root: len(root.parts), default=path if path.is_dir() else path.parent)
    return Target(root, path)


@dataclass(frozen=True, slots=True)
class Sync:
    """Reads what changed below a target and stores it, each document in one transaction.

    A file of the same size and modification time is not opened; one with the same content is not parsed, unless
    `force`. With `prune`, what is gone from the target goes from the index too; nothing outside it is touched.
    """

    store: Store
    finder: Finder
    reading: Runner
    force: bool = False
    prune: bool = True

    def __call__(self, target: Target, tally: Tally, progress: Progress | None = None) -> None:
        """Bring one target up to date, counting in `tally`."""
        known = self.store.catalog.files(str(target.root), below=target.below)
        items = self._items(target)
        due = [item for item in items if self._is_due(item, target, known, tally)]
        self._store(target, due, known, tally, progress)
        if self.prune:
            tally.deleted += self._prune(target, items, known)

    def _items(self, target: Target) -> list[Found | Skipped]:
        if not target.noticed:
            return list(self.finder(target.root, target.within))
        try:
            is_wanted = self.finder.meets(target.root, target.within)
            return list(self.finder(target.root, target.within)) if is_wanted else []
        except NotFound:
            return []

    def _is_due(
        self, item: Found | Skipped, target: Target, known: Mapping[str, FileState], tally: Tally
    ) -> TypeGuard[Found]:
        """Whether a file is to be opened; of the others, it is noted why not."""
        if isinstance(item, Skipped):
            _note_skipped(item, target, tally)
            return False
        state = known.get(item.path)
        if state and not self.force and _untouched(state, item):
            _note_unchanged(state, target, tally)
            return False
        return True

    def _store(
        self,
        target: Target,
        due: Sequence[Found],
        known: Mapping[str, FileState],
        tally: Tally,
        progress: Progress | None,
    ) -> None:
        """Read files and store what became of them; those that were read stay stored when the run ends early."""
        jobs = (job for found in due for job in self._jobs(target, found, known.get(found.path)))
        done, assembled = 0, Assembled()
        with BatchWriter(self.store, str(target.root)) as writer:
            for job, outcome in self.reading(jobs, sum(found.size for found in due)):
                found = assembled(job, outcome) if job.lines else outcome
                if found.change:
                    writer.add(found.change)
                _count(found, tally)
                if not job.lines or job.lines.last:
                    done, assembled = done + 1, Assembled()
                if progress:
                    progress("read", done, len(due))

    def _jobs(self, target: Target, found: Found, state: FileState | None) -> Iterator[Job]:
        known = "" if self.force or not state or state.problem else state.hash
        return jobs_of(Job(str(target.root), found, known))

    def _prune(self, target: Target, items: Sequence[Found | Skipped], known: Mapping[str, FileState]) -> int:
        """Forget the files of the target that are gone; what could not be looked at is kept."""
        kept = {item.path for item in items if isinstance(item, Found) or item.failed}
        unseen = tuple(path for path in kept if path.endswith("/"))
        gone = [path for path in known if path not in kept and not path.startswith(unseen)]
        if gone:
            self.store.catalog.remove_files(str(target.root), gone)
        return len(gone)


def _untouched(state: FileState, found: Found) -> bool:
    return (state.size, state.mtime_ns) == (found.size, found.mtime_ns) and is_current(state.hash)


def _count(outcome: Outcome, tally: Tally) -> None:
    tally.failed += outcome.failures
    change = outcome.change
    if change is None:
        return
    tally.chunks += sum(len(document.chunks) for _, document in change.documents)
    if change.keep is not None:
        tally.indexed += 1
    elif change.state.hash != UNFINISHED and not change.state.problem:
        tally.skipped += 1


def _note_unchanged(state: FileState, target: Target, tally: Tally) -> None:
    if state.problem:
        tally.failed.append(_failure(target, state.path, state.problem))
    else:
        tally.skipped += 1


def _note_skipped(item: Skipped, target: Target, tally: Tally) -> None:
    failure = _failure(target, item.path, item.reason)
    if item.failed:
        tally.failed.append(failure)
    else:
        tally.left_out.append(failure)
        tally.skipped += 1


def _failure(target: Target, path: str, reason: str) -> Failure:
    return Failure(str(target.root / path), reason)


# Storing files in small groups: a commit costs about as much as writing a hundred chunks, so files share one


#: Chunks that share a transaction: what an interruption may cost, about a third of a second.
GROUP = 1024


@dataclass(slots=True)
class BatchWriter:
    """Stores the changes of a root's files; leaving the block stores what still waits, unless an error ends it."""

    store: Store
    root: str
    _waiting: list[FileChange] = field(default_factory=list)
    _chunks: int = 0

    def __enter__(self) -> BatchWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self.flush()

    def add(self, change: FileChange) -> None:
        """Store a change, now or together with the next ones."""
        self._waiting.append(change)
        self._chunks += sum(len(document.chunks) for _, document in change.documents) + 1
        if self._chunks >= GROUP:
            self.flush()

    def flush(self) -> None:
        """Store what waits, in one transaction."""
        waiting, self._waiting, self._chunks = self._waiting, [], 0
        if waiting:
            with self.store.transaction():
                for change in waiting:
                    self.store.catalog.put_file(self.root, change.state, change.keep)
                self.store.catalog.put_all(placed for change in waiting for placed in self._placed(change))

    def _placed(self, change: FileChange) -> Iterator[Placed]:
        for collection, document in change.documents:
            yield Placed(collection, document, (self.root, change.state.path))
