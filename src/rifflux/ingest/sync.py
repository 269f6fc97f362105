"""Journey one: bring the index to what the folders hold now, touching only what changed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from pathlib import Path

from rifflux.errors import NotFound, Unreadable
from rifflux.ingest.find import GENERATED, Finder, Found, Skipped
from rifflux.ingest.prepare import Preparer
from rifflux.ingest.read import READER_VERSION, read, reader_for
from rifflux.ingest.read.base import File
from rifflux.ingest.write import FileChange, Writer
from rifflux.store.base import DocumentChange, FileState, Store
from rifflux.types import Failure, Parsed, Progress

__all__ = ["Sync", "Tally", "Target", "targets"]

#: How much of a file is looked at to tell whether any reader takes it.
HEAD_BYTES = 8192


@dataclass(frozen=True, slots=True)
class Target:
    """What to sync: everything of `root` at or below `within`."""

    root: Path
    within: Path

    def covers(self, path: str) -> bool:
        """Whether a file of the root, by its relative path, is part of the target."""
        if self.within == self.root:
            return True
        below = self.within.relative_to(self.root).as_posix()
        return path == below or path.startswith(below + "/")


@dataclass(slots=True)
class Tally:
    """Counts of a run while it goes on."""

    indexed: int = 0
    skipped: int = 0
    deleted: int = 0
    chunks: int = 0
    left_out: list[Failure] = field(default_factory=list)
    failed: list[Failure] = field(default_factory=list)


def targets(paths: Iterable[Path], roots: Sequence[str]) -> list[Target]:
    """Find each path's root: one of `roots` that holds it, else the folder itself, or the folder of a file.

    Raises `NotFound` for a path that does not exist, before anything is touched.
    """
    return [_target(path, [Path(root) for root in roots]) for path in paths]


def _target(path: Path, roots: Sequence[Path]) -> Target:
    path = Path(path).expanduser()
    if not path.exists():
        raise NotFound(f"nothing at {path}: check the path's spelling")
    path = path.resolve()
    holding = [root for root in roots if path.is_relative_to(root) and _is_met(path.relative_to(root))]
    root = max(holding, key=lambda root: len(root.parts), default=path if path.is_dir() else path.parent)
    return Target(root, path)


def _is_met(relative: Path) -> bool:
    """Whether a walk from the root would come by here; a hidden folder that is named itself is a root of its own."""
    return not any(part.startswith(".") or part in GENERATED for part in relative.parts)


@dataclass(frozen=True, slots=True)
class Sync:
    """Reads what changed below a target and stores it, each file in one transaction.

    A file of the same size and modification time is not opened; one with the same content is not parsed, unless
    `force`. With `prune`, what is gone from the target goes from the index too; nothing outside it is touched.
    """

    store: Store
    finder: Finder
    prepare: Preparer
    force: bool = False
    prune: bool = True

    def __call__(self, target: Target, tally: Tally, progress: Progress | None = None) -> None:
        """Bring one target up to date, counting in `tally`."""
        known = self._known(target)
        items = list(self.finder(target.root, target.within))
        with Writer(self.store, str(target.root)) as writer:
            for done, item in enumerate(items):
                if progress:
                    progress("read", done, len(items))
                if isinstance(item, Skipped):
                    _note_skipped(item, target, tally)
                elif change := self._change(target, item, known.get(item.path), tally):
                    writer.add(change)
        if progress:
            progress("read", len(items), len(items))
        if self.prune:
            tally.deleted += self._prune(target, items, known)

    def _known(self, target: Target) -> Mapping[str, FileState]:
        states = self.store.files(str(target.root))
        return {path: state for path, state in states.items() if target.covers(path)}

    def _change(self, target: Target, found: Found, state: FileState | None, tally: Tally) -> FileChange | None:
        """What to store for a file; None if it is as `state` says, or cannot be looked at."""
        if state and not self.force and _untouched(state, found):
            _note_unchanged(state, target, tally)
            return None
        try:
            data = _bytes(found)
        except OSError as error:
            tally.failed.append(_failure(target, found.path, f"cannot be read: {error.strerror}"))
            return None
        if data is None:
            return None
        fresh = FileState(found.path, found.size, found.mtime_ns, _fingerprint(data))
        if state and not self.force and state.hash == fresh.hash and not state.problem:
            tally.skipped += 1
            return FileChange(fresh)
        return self._read(target, File(found.path, data, found.created_at, found.updated_at), fresh, tally)

    def _read(self, target: Target, file: File, fresh: FileState, tally: Tally) -> FileChange:
        try:
            parts = read(file)
        except Unreadable as error:
            tally.failed.append(_failure(target, file.path, str(error)))
            # What an earlier, readable state of the file gave stays findable until the file is mended or gone.
            return FileChange(replace(fresh, problem=str(error)))
        tally.failed.extend(_failure(target, part.path, part.reason) for part in parts if isinstance(part, Failure))
        documents = [self._prepared(target, file.path, part) for part in parts if isinstance(part, Parsed)]
        tally.indexed += 1
        tally.chunks += sum(len(document.chunks) for _, document in documents)
        return FileChange(fresh, documents)

    def _prepared(self, target: Target, path: str, part: Parsed) -> tuple[str, DocumentChange]:
        """A document with the collection it belongs to: its own is the root's, a record's is its file."""
        key = part.document.key
        collection = str(target.root) if key == path else f"{target.root}/{path}"
        return collection, self.prepare(collection, part.document, part.blocks, path)

    def _prune(self, target: Target, items: Sequence[Found | Skipped], known: Mapping[str, FileState]) -> int:
        """Forget the files of the target that are gone; what could not be looked at is kept."""
        kept = {item.path for item in items if isinstance(item, Found) or item.failed}
        unseen = tuple(path for path in kept if path.endswith("/"))
        gone = [path for path in known if path not in kept and not path.startswith(unseen)]
        if gone:
            self.store.remove_files(str(target.root), gone)
        return len(gone)


def _bytes(found: Found) -> bytes | None:
    """The file's content, or None for one that no reader takes: only its first bytes were read then."""
    with found.absolute.open("rb") as file:
        head = file.read(HEAD_BYTES)
        return head + file.read() if reader_for(found.path, head) else None


def _fingerprint(data: bytes) -> str:
    """Identifies what was read and by which version of the readers, so that better ones read a file anew."""
    return f"{READER_VERSION}:{blake2b(data, digest_size=16).hexdigest()}"


def _untouched(state: FileState, found: Found) -> bool:
    return (state.size, state.mtime_ns) == (found.size, found.mtime_ns) and state.hash.startswith(f"{READER_VERSION}:")


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
