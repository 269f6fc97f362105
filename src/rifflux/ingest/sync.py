"""Syncing of an index with its folders, touching only what changed."""

from __future__ import annotations

import json
import logging
import os
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from rifflux.errors import Cure, NotFound, RiffluxError
from rifflux.ingest.machines import machine_of, note_machine
from rifflux.ingest.prepare import (
    UNFINISHED,
    FileChange,
    JobResult,
    Preparer,
    ReadJob,
    Task,
    assembled,
    do,
    exceeded,
    failure_of,
    is_current,
    jobs_of,
)
from rifflux.ingest.read import SUFFIXES
from rifflux.ingest.read.base import PAGES_WITHOUT_TEXT
from rifflux.ingest.read.jsonl import JsonLines
from rifflux.ingest.walk.find import RULES, Finder, FoundFile, Links, Skipped, until_link
from rifflux.ingest.walk.ignore import Ignores
from rifflux.models.cores import available_cores
from rifflux.store import Capability, DocumentChange, FileRemoval, FileState, FileUpdate, Placed, Store, has_file
from rifflux.types import Failure, LeftOut, Notice, Progress
from rifflux.types.limits import READER_LIMITS, ReaderLimits

if TYPE_CHECKING:
    from rifflux.ingest.parallel.pool import WorkerPool


@dataclass(frozen=True, slots=True)
class Target:
    """A path to sync: everything of `root` at or below `within`.

    The root is a real path. A path named by a user is indexed regardless of rules and must exist. One that is only
    known to have changed (`noticed`) may be missing or not indexable.
    """

    root: Path
    within: Path
    noticed: bool = False


#: Documents with more chunks are reported: they take space in the index and in every page of results.
MANY_CHUNKS = 300


def remarks_on(name: str, change: DocumentChange) -> Iterator[Notice]:
    """Yield notices to the owner of a file: that it is very long, or has pages that cannot be found."""
    chunks = len(change.chunks)
    if chunks > MANY_CHUNKS:
        data: dict[str, object] = {"path": name, "document": change.document.key, "chunks": chunks}
        yield Notice("file.long", f"{name} has {chunks:,} passages: exclude it if nobody searches for them", data=data)
    pages = change.document.metadata.get(PAGES_WITHOUT_TEXT)
    if pages:
        data = {"path": name, "pages": pages}
        text = f"{name}: {len(pages):,} pages are images without text ({spans(pages)}): run OCR on them"
        yield Notice("pages.without_text", text, data=data)


def spans(numbers: Sequence[int]) -> str:
    """Return ascending numbers as text, with consecutive ones as a range: `1, 3-5`."""
    found: list[list[int]] = []
    for number in numbers:
        if found and found[-1][1] == number - 1:
            found[-1][1] = number
        else:
            found.append([number, number])
    return ", ".join(str(first) if first == last else f"{first}-{last}" for first, last in found)


@dataclass(slots=True)
class SyncTally:
    """The counts of a run in progress."""

    found: int = 0
    indexed: int = 0
    unchanged: int = 0
    deleted: int = 0
    chunks: int = 0
    left_out: list[LeftOut] = field(default_factory=list)
    #: The number of files and folders skipped by each rule, by name.
    by_rule: Counter[str] = field(default_factory=Counter)
    failed: list[Failure] = field(default_factory=list)
    #: The number of files that failed, by the kind of the reason.
    failed_kinds: Counter[str] = field(default_factory=Counter)
    #: Failed files that could not be opened, so that no state of them is stored.
    unopened: list[Failure] = field(default_factory=list)
    remarks: list[Notice] = field(default_factory=list)
    #: The paths missing from each root, and the number of new files there.
    missing: dict[Path, set[str]] = field(default_factory=dict)
    added: Counter[Path] = field(default_factory=Counter)
    #: The number of files of each root that another machine has read with another content.
    different: Counter[Path] = field(default_factory=Counter)
    #: The links encountered, by the paths that they lead to.
    links: Links = field(default_factory=dict)


def remembered(store: Store) -> list[Target]:
    """Return a target for every folder and file that was added by name.

    They are real paths, so a link that is there now is not followed: it is not what was added.
    """
    whole = folders(store)
    found = []
    for source in (Path(each) for each in sources(store)):
        if str(source) in whole:
            root = source
        else:
            root = source.parent
        found.append(Target(root, source))
    return found


def targets(paths: Iterable[Path], roots: Sequence[str], finder: Finder) -> list[Target]:
    """Return a target per path: its root is one of `roots` that contains it, else the folder or the file's folder.

    A root contains what a walk of it reaches: a hidden or ignored folder that is named explicitly is a root of its own.
    Raises `NotFound` for a path that does not exist, before changing anything.
    """
    found = []
    deepest_first = sorted((Path(root) for root in roots), key=lambda root: len(root.parts), reverse=True)
    for path in paths:
        if not path.expanduser().exists():
            raise NotFound(f"nothing at {path}: check the path's spelling")
        path = path.expanduser().resolve()
        for root in deepest_first:
            if path.is_relative_to(root) and finder.meets(root, path):
                break
        else:
            root = path if path.is_dir() else path.parent
        found.append(Target(root, path))
    return found


# Running jobs: in this process if they are few and light, otherwise in worker processes, which have limits


#: The minimum bytes to read for which starting processes pays: one needs a third of a second to start.
WORTHWHILE = 4 * 2**20
#: The maximum number of processes that the writing process can keep up with.
MOST_WORKERS = 4


#: The maximum bytes of a file read in this process, for formats without a parser of their own, whose memory and time
#: grow in proportion, and for formats with trees.
LIGHT = 2**20
#: Other maxima by format.
LIGHT_FORMATS = {
    **dict.fromkeys(("html", "mail", "notebook"), 2**16),
    **dict.fromkeys(("docx", "mailbox", "pdf", "pptx", "spreadsheet"), 0),
}


@dataclass(slots=True)
class Runner:
    """Runs jobs in `processes` processes including this one (default: one per core).

    Files that may take much time or memory are read by another process in any case, within `limits`. `close` ends the
    processes.
    """

    prepare: Preparer
    processes: int | None = None
    limits: ReaderLimits = READER_LIMITS
    _workers: WorkerPool | None = None

    def close(self) -> None:
        """End the processes."""
        if self._workers:
            self._workers.close()

    def __call__(self, jobs: Iterable[Task], size: int) -> Iterator[tuple[Task, JobResult]]:
        """Yield each job with its result, in the order of the jobs; `size` is the number of bytes to read."""
        if size >= WORTHWHILE and (processes := self.processes or available_cores()) > 1:
            yield from self._started(min(processes, MOST_WORKERS))(jobs)
            return
        for job in jobs:
            light = True
            if isinstance(job, ReadJob):
                format = SUFFIXES.get(PurePosixPath(job.found.path).suffix.lower(), "")
                size = len(job.lines.data) if job.lines else job.found.size
                light = size <= LIGHT_FORMATS.get(format, LIGHT)
            if light:
                yield job, do(job, self.prepare)
            else:
                yield from self._started(1)([job])

    def _started(self, number: int) -> WorkerPool:
        """Return the process pool, started on demand with this `number`."""
        if self._workers is None:
            from rifflux.ingest.parallel.pool import WorkerPool

            self._workers = WorkerPool(number, self.prepare, self.limits)
        return self._workers


# One target


#: The number of chunks per transaction: what an interruption may cost, about a third of a second.
GROUP = 1024


@dataclass(frozen=True, slots=True)
class Sync:
    """Reads changed files below a target and stores them, each document in one transaction.

    A file of the same size, times and inode is not opened; one with the same content is not parsed, unless
    `force`. `remove_missing` removes missing files of the targets from the index; nothing outside them is touched. With
    `prune` True all of them are removed, with False none, and with None those that do not seem lost by accident.

    What another machine read from a folder of the same path stays as it is, unless `prune` is True.
    """

    store: Store
    finder: Finder
    reading: Runner
    force: bool = False
    prune: bool | None = None

    def __call__(self, target: Target, tally: SyncTally, progress: Progress | None = None) -> None:
        """Sync one target, counting in `tally`."""
        if target.noticed:
            target = replace(target, within=until_link(target.root, target.within))
        if target.within == target.root:
            below = ""
        else:
            below = target.within.relative_to(target.root).as_posix()
        known = {each.path: each for each in self.store.catalog.files(str(target.root), below=below)}
        finder = self.finder
        for setting in (_EXCLUSIONS, _REMOVED):
            if recorded := self.store.records.setting(setting):
                patterns = json.loads(recorded).get(str(target.root), ())
                finder = replace(finder, exclude=(*finder.exclude, *patterns))
        items = list(finder.within(target.root, target.within, noticed=target.noticed, links=tally.links))
        tally.found += len(items)
        others: Mapping[str, FileState] = {}
        is_shared = Capability.ONE_FILE not in self.store.capabilities
        if is_shared and not self.prune and machine_of(self.store, target.root):
            others = known
        unread = self._store(target.root, self._read_jobs(items, target, known, tally), others, tally, progress)
        if self.prune is not False:
            missing, unwanted = _missing(items, known, unread)
            if others:
                missing |= unwanted
            elif unwanted:
                self.store.catalog.write(FileRemoval(str(target.root), sorted(unwanted)))
                tally.deleted += len(unwanted)
            tally.missing.setdefault(target.root, set()).update(missing)
            tally.added[target.root] += sum(isinstance(item, FoundFile) and item.path not in known for item in items)

    def _read_jobs(
        self, items: Sequence[FoundFile | Skipped], target: Target, known: Mapping[str, FileState], tally: SyncTally
    ) -> list[ReadJob]:
        """Return a job for each file to open; for the others, record the reason."""
        jobs = []
        languages = Languages.of(self.store)
        for item in items:
            place = target.root / item.path
            if isinstance(item, Skipped):
                if item.failed:
                    tally.unopened.append(Failure(str(place), item.reason, kind=item.kind))
                    tally.failed.append(tally.unopened[-1])
                    tally.failed_kinds[item.kind] += 1
                elif item.kind in RULES:
                    tally.by_rule[item.kind] += 1
                else:
                    tally.left_out.append(LeftOut(str(place), item.reason, item.kind))
                continue
            state = known.get(item.path)
            language = languages.at(place)
            if item.misdated and state is None:
                data = {"path": str(place), "time": item.updated_at}
                tally.remarks.append(
                    Notice("file.misdated", f"{place}: its date is taken as {item.updated_at}", data=data)
                )
            if state is None or self.force:
                jobs.append(ReadJob(str(target.root), item, language=language, all_files=self.finder.all_files))
            elif (
                (state.size, state.mtime_ns, state.inode, state.ctime_ns)
                != (item.size, item.mtime_ns, item.inode, item.ctime_ns)
                or not is_current(state.hash, language)
                or exceeded(state.hash) not in ("", self.reading.limits.key)
            ):
                # A file that could not be read is read again, whatever its content.
                hash = "" if state.problem else state.hash
                jobs.append(ReadJob(str(target.root), item, hash, language=language, all_files=self.finder.all_files))
            elif state.problem:
                tally.failed.append(Failure(str(place), state.problem, kind=state.problem_kind))
                tally.failed_kinds[state.problem_kind] += 1
            else:
                tally.unchanged += 1
        return jobs

    def _store(
        self,
        root: Path,
        read_jobs: Sequence[ReadJob],
        others: Mapping[str, FileState],
        tally: SyncTally,
        progress: Progress | None,
    ) -> set[str]:
        """Read files and store their documents; files already read stay stored if the run ends early.

        Those that another machine read, `others`, are only compared. Returns the paths of files that no reader takes.
        """
        done = 0
        records = JsonLines("")
        unread: set[str] = set()
        waiting: list[FileChange] = []
        size = 0
        jobs = (part for job in read_jobs for part in jobs_of(job))
        if progress and read_jobs:
            progress("read", 0, len(read_jobs))
        for job, outcome in self.reading(jobs, sum(job.found.size for job in read_jobs)):
            if job.lines:
                if job.lines.first == 1:
                    records = JsonLines(job.name)
                outcome = assembled(records, job, outcome)
            if (other := others.get(job.found.path)) is not None:
                if not job.lines or job.lines.last:
                    is_same = outcome.change is not None and outcome.change.state.hash == other.hash
                    tally.unchanged += is_same
                    tally.different[root] += not is_same
                    done += 1
                continue
            tally.failed += outcome.failures
            if outcome.left_out:
                tally.left_out.append(outcome.left_out)
                unread.add(job.found.path)
            elif not outcome.change:
                tally.failed_kinds[outcome.failures[0].kind] += 1
                tally.unopened += outcome.failures
            if change := outcome.change:
                chunks = 0
                for _, document in change.documents:
                    chunks += len(document.chunks)
                    if len(document.chunks) > MANY_CHUNKS or PAGES_WITHOUT_TEXT in document.document.metadata:
                        tally.remarks += remarks_on(job.name, document)
                tally.chunks += chunks
                if change.keep is not None:
                    tally.indexed += 1
                elif change.state.problem:
                    tally.failed_kinds[change.state.problem_kind] += 1
                elif change.state.hash != UNFINISHED:
                    tally.unchanged += 1
                waiting.append(change)
                size += chunks + 1
            if size >= GROUP:
                self._put(str(root), waiting, tally)
                waiting = []
                size = 0
            done += not job.lines or job.lines.last
            if progress:
                progress("read", done, len(read_jobs))
        if waiting:
            self._put(str(root), waiting, tally)
        return unread

    def _put(self, root: str, changes: Sequence[FileChange], tally: SyncTally) -> None:
        """Store changes of files in one transaction: a commit costs about as much as writing a hundred chunks.

        A file that cannot be stored fails alone.
        """
        try:
            self.store.catalog.write(
                *(FileUpdate(root, change.state, change.keep) for change in changes),
                *(
                    Placed(namespace, document, (root, change.state.path))
                    for change in changes
                    for namespace, document in change.documents
                ),
            )
        except (RiffluxError, OSError):
            raise  # the index or its disk, not a file
        except Exception as error:
            if len(changes) == 1:
                tally.failed.append(failure_of(f"{root}/{changes[0].state.path}", error))
                tally.unopened.append(tally.failed[-1])
                tally.failed_kinds["error"] += 1
                tally.indexed -= changes[0].keep is not None
            else:
                for change in changes:
                    self._put(root, [change], tally)

    def remove_missing(self, tally: SyncTally) -> None:
        """Remove missing files of a run's targets, unless a root seems to have lost them by accident.

        Such a root fails with the cure if the loss is intended.
        """
        devices: dict[str, int] = json.loads(self.store.records.setting(_DEVICES) or "{}")
        is_shared = Capability.ONE_FILE not in self.store.capabilities
        for root, missing in tally.missing.items():
            if is_shared and not self.prune and (machine := machine_of(self.store, root)):
                if missing or tally.different[root]:
                    tally.failed.append(_elsewhere(root, machine, len(missing), tally.different[root]))
                continue
            if is_shared:
                note_machine(self.store, root)
            device = root.stat().st_dev if root.is_dir() else 0
            if missing and self.prune is None and (loss := self._loss(root, missing, tally.added[root], devices)):
                data = {"root": str(root), "files": len(missing)}
                reason = f"{loss}: its indexed content stays"
                lost = Failure(str(root), reason, code="root.lost", cure=Cure.PRUNE, data=data, kind="lost")
                tally.failed.append(lost)
                continue
            if missing:
                self.store.catalog.write(FileRemoval(str(root), sorted(missing)))
                tally.deleted += len(missing)
            if device and devices.get(str(root)) != device and str(root) in folders(self.store):
                devices[str(root)] = device
                self.store.records.set(_DEVICES, json.dumps(devices, ensure_ascii=False, sort_keys=True))

    def _loss(self, root: Path, missing: Collection[str], added: int, devices: Mapping[str, int]) -> str:
        """Return why a folder seems to have lost files by accident, or an empty string."""
        if str(root) not in folders(self.store):
            return ""
        with os.scandir(root) as entries:
            if not any(entry.name != "lost+found" for entry in entries):
                return "the folder is empty now"
        device = root.stat().st_dev
        if devices.get(str(root), device) != device:
            return f"the folder is on another device now, and {len(missing):,} files are gone from it"
        if len(missing) - added >= MANY_MISSING:
            known = sum(1 for _ in self.store.catalog.files(str(root)))
            if 2 * (len(missing) - added) > known - added:
                return f"{len(missing):,} of the {known - added:,} files of the folder are gone"
        return ""


def _missing(
    items: Sequence[FoundFile | Skipped], known: Mapping[str, FileState], unread: set[str]
) -> tuple[set[str], set[str]]:
    """Return the known files that are missing, and those that exist but are now skipped.

    Inaccessible files are in neither.
    """
    missing = set(known)
    unwanted = unread & known.keys()
    for item in items:
        if isinstance(item, FoundFile):
            missing.discard(item.path)
            continue
        if item.path == "./":
            affected = set(missing) if item.failed else set()
        elif item.path.endswith("/"):
            affected = {path for path in missing if path.startswith(item.path)}
        else:
            affected = missing & {item.path}
        missing -= affected
        if not item.failed:
            unwanted |= affected
    return missing, unwanted


def _elsewhere(root: Path, machine: str, missing: int, different: int) -> Failure:
    """Return the failure of a folder that another machine read, where files are missing or different here."""
    counts = []
    if missing:
        counts.append(f"{missing:,} of its files are not here")
    if different:
        counts.append(f"{different:,} of them are different here")
    reason = f"the folder was read on {machine}, and {' and '.join(counts)}: they stay as they are there. "
    reason += "In a collection of its own, the content of both is kept"
    data = {"root": str(root), "files": missing, "different": different}
    return Failure(str(root), reason, "root.elsewhere", Cure.PRUNE, data, "lost")


#: The setting that stores the devices of folders at their last sync.
_DEVICES = "devices"
#: A folder that loses at least this many files at once, and more than half of them, seems to lose them by accident.
MANY_MISSING = 20


# What was added to the index: folders as a whole, and single files of other folders


_SETTING = "folders"


def folders(store: Store) -> list[str]:
    """Return the folders that were added as a whole."""
    known = store.records.setting(_SETTING)
    return json.loads(known) if known else []


def sources(store: Store) -> list[str]:
    """Return every folder and file that was added by name; syncing them syncs the whole index."""
    whole = folders(store)
    singles = [
        f"{root}/{file.path}"
        for root in store.catalog.roots()
        if root not in whole
        for file in store.catalog.files(root)
    ]
    # A file that is in the place of a folder, or was, is at the same path.
    return sorted({*whole, *singles})


# The languages of files: of the deepest folder or file that has one, else of the index


_LANGUAGES = "languages"


@dataclass(frozen=True, slots=True)
class Languages:
    """The languages of folders and files by absolute path. `default` is that of the index."""

    by_path: Mapping[str, str]
    default: str

    @classmethod
    def of(cls, store: Store) -> Languages:
        """Return the languages recorded in a store."""
        known = store.records.setting(_LANGUAGES)
        return cls(json.loads(known) if known else {}, store.records.setting("language", of_index=True) or "")

    def at(self, path: Path) -> str:
        """Return the language to analyze a file in, or an empty string for the index's."""
        for place in (path, *path.parents) if self.by_path else ():
            if (language := self.by_path.get(str(place))) is not None:
                if language == self.default:
                    return ""
                return language
        return ""


def set_language(store: Store, path: Path, language: str) -> str | None:
    """Record the language of a folder or file; return the former one, or None if nothing changed."""
    with store.transaction():
        languages = Languages.of(store)
        former = languages.at(path) or languages.default
        if former == language:
            return None
        by_path = {**languages.by_path, str(path): language}
        store.records.set(_LANGUAGES, json.dumps(by_path, ensure_ascii=False, sort_keys=True))
    return former


def _forget_languages(store: Store, removed_path: Path) -> None:
    by_path = Languages.of(store).by_path
    remaining = {path: language for path, language in by_path.items() if not _at(removed_path, Path(path))}
    if remaining != by_path:
        store.records.set(_LANGUAGES, json.dumps(remaining, ensure_ascii=False, sort_keys=True))


# What is excluded from a folder: patterns as in .gitignore given by users, and those of removed files


_EXCLUSIONS = "exclusions"
_REMOVED = "removed"
#: Characters with a meaning in patterns.
_SPECIAL = re.compile(r"([\\*?\[\]!# ])")


def exclusions(store: Store) -> dict[str, list[str]]:
    """Return the given exclusion patterns of each folder."""
    return _patterns(store, _EXCLUSIONS)


def removed(store: Store) -> dict[str, list[str]]:
    """Return the patterns of the files removed from each folder, excluded until they are named again."""
    return _patterns(store, _REMOVED)


def _patterns(store: Store, setting: str) -> dict[str, list[str]]:
    known = store.records.setting(setting)
    return json.loads(known) if known else {}


def set_exclusions(store: Store, root: str, patterns: Sequence[str]) -> None:
    """Record the exclusion patterns of a folder for later runs; none also include removed files again."""
    patterns = [*filter(None, patterns)]
    _set_patterns(store, _EXCLUSIONS, root, patterns)
    if not patterns:
        _set_patterns(store, _REMOVED, root, ())


def _set_patterns(store: Store, setting: str, root: str, patterns: Sequence[str]) -> None:
    known = _patterns(store, setting)
    current = {**known, root: [*dict.fromkeys(patterns)]}
    current = {each: patterns for each, patterns in current.items() if patterns}
    if current != known:
        store.records.set(setting, json.dumps(current, ensure_ascii=False, sort_keys=True))


def pattern_of(path: str) -> str:
    """Return the pattern that matches exactly one path below a root."""
    return "/" + _SPECIAL.sub(r"\\\1", path)


def leave_out(store: Store, root: str, patterns: Iterable[str]) -> None:
    """Exclude patterns of removed files from a folder that was added as a whole, until they are named again."""
    if root in folders(store):
        _set_patterns(store, _REMOVED, root, [*removed(store).get(root, ()), *patterns])


def take_again(store: Store, target: Target) -> None:
    """Stop excluding a file or folder that is named explicitly, including removed files in it."""
    if target.within == target.root:
        return
    root = str(target.root)
    path = target.within.relative_to(target.root).as_posix()
    named = pattern_of(path)
    for setting in (_EXCLUSIONS, _REMOVED):
        patterns = _patterns(store, setting).get(root)
        if not patterns:
            continue
        remaining = [each for each in patterns if each.rstrip("/") != named]
        if setting == _REMOVED:
            remaining = [each for each in remaining if not f"/{each.lstrip('/')}".startswith(f"{named}/")]
        if Ignores().under("", remaining)(path, folder=target.within.is_dir()):
            remaining.append(f"!{named}")
        _set_patterns(store, setting, root, remaining)


def remember(store: Store, target: Target) -> None:
    """Record that a folder was added as a whole."""
    root = str(target.root)
    if target.within == target.root and root not in folders(store):
        # Read again within the transaction: another process may be adding its own.
        with store.transaction():
            _set_folders(store, {*folders(store), root})


def absorb(store: Store, target: Target) -> None:
    """Drop what a folder, just synced whole, replaces: a file in its place, and files that it contains now.

    The latter are of smaller roots, and now under its own paths.
    """
    if target.within == target.root and target.root.is_dir():
        outer = str(target.root.parent)
        if has_file(store.catalog, outer, target.root.name):
            store.catalog.write(FileRemoval(outer, [target.root.name]))
    mine: set[str] | None = None
    for root in store.catalog.roots():
        inner = Path(root)
        if inner == target.root or not inner.is_relative_to(target.within):
            continue
        if mine is None:
            mine = {file.path for file in store.catalog.files(str(target.root))}
        below = inner.relative_to(target.root).as_posix()
        known = [file.path for file in store.catalog.files(root)]
        contained = [path for path in known if f"{below}/{path}" in mine]
        with store.transaction():
            store.catalog.write(FileRemoval(root, contained))
            if len(contained) == len(known):
                _set_folders(store, {*folders(store)} - {root})


def forget(store: Store, path: Path) -> int | None:
    """Remove every file at or below a missing path; return their number, or None if none was known there."""
    missing = {
        root: [file.path for file in store.catalog.files(root) if _at(path, Path(root, file.path))]
        for root in store.catalog.roots()
    }
    if not any(missing.values()) and not any(_at(path, Path(folder)) for folder in folders(store)):
        return None
    with store.transaction():
        for root, names in missing.items():
            store.catalog.write(FileRemoval(root, names))
        _set_folders(store, [folder for folder in folders(store) if not _at(path, Path(folder))])
        _forget_languages(store, path)
        for root in {**exclusions(store), **removed(store)}:
            if _at(path, Path(root)):
                set_exclusions(store, root, ())
    return sum(map(len, missing.values()))


def _at(path: Path, other: Path) -> bool:
    return other == path or other.is_relative_to(path)


def _set_folders(store: Store, names: Iterable[str]) -> None:
    in_order = sorted(names)
    if in_order != folders(store):
        store.records.set(_SETTING, json.dumps(in_order, ensure_ascii=False))


# Turns: tasks that two processes should not do to one index at the same time


#: Syncing roots and embedding: two processes would do the same work twice.
READ = "read"
EMBED = "embed"
#: Embedding with another model, for a switch to it.
SWITCH = "switch"
COPYING = "copy"
_DOING = {
    READ: "reads files into",
    EMBED: "makes vectors for",
    SWITCH: "switches the model of",
    COPYING: "copies another index to",
}

_log = logging.getLogger("rifflux")


@dataclass(slots=True)
class Turns:
    """Claims tasks of a store, one process at a time; `waited_for` lists the processes that had them first.

    A wait is announced by a warning of the logger `rifflux`: on stderr, unless the program configures it.
    """

    store: Store
    waited_for: list[str] = field(default_factory=list)

    @contextmanager
    def __call__(self, task: str) -> Iterator[bool]:
        """Claim the task, after the processes that claimed it before."""

        def tell(owner: str) -> None:
            reason = f"{owner} {_DOING[task]} this index"
            self.waited_for.append(reason)
            _log.warning("%s: waiting for it to finish", reason)

        with self.store.records.lease(task, tell) as mine:
            yield mine
