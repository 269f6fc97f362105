"""Finding the files of a folder: what is ignored, hidden, generated or too large stays out."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from operator import attrgetter
from pathlib import Path

from rifflux.errors import InvalidArgument, NotFound
from rifflux.ingest.walk.ignore import Ignores, read_lines

__all__ = ["GENERATED", "Finder", "Found", "Skipped"]

#: Folders that tools make and nobody writes in, and version control's own.
GENERATED = frozenset(
    {
        *(".bzr", ".git", ".hg", ".jj", ".svn", "CVS", "_darcs"),
        *(".eggs", ".ipynb_checkpoints", ".mypy_cache", ".nox", ".pytest_cache", ".ruff_cache", ".tox", ".venv"),
        *("__pycache__", "bower_components", "node_modules", "site-packages"),
        ".rifflux",
    }
)

#: Files that hold many documents, each small.
COLLECTIONS = (".jsonl", ".ndjson", ".mbox")

#: What a folder holds that is a cache by its own word: https://bford.info/cachedir/
CACHE_SIGNATURE = b"Signature: 8a477f597d28d172789f06886806bc55"


@dataclass(frozen=True, slots=True)
class Found:
    """A file to index. `path` is relative to the root, with forward slashes; `size` is in bytes."""

    path: str
    absolute: Path
    size: int
    mtime_ns: int
    birth_ns: int | None = None

    @property
    def updated_at(self) -> str:
        """Return the time of the last change: ISO 8601, UTC, to the second."""
        return _iso(self.mtime_ns)

    @property
    def created_at(self) -> str | None:
        """Return the time the file was made, or None if the system does not record it."""
        return None if self.birth_ns is None else _iso(self.birth_ns)


@dataclass(frozen=True, slots=True)
class Skipped:
    """A file or folder left out for a reason worth telling; a folder's path ends in a slash.

    `failed` is true where it was not left out on purpose: what was indexed from there should be kept.
    """

    path: str
    reason: str
    failed: bool = False


@dataclass(frozen=True, slots=True)
class _Folder:
    """A folder on the way: its real place, its path from the root (empty, or ending in a slash), its rules.

    Rules see paths from where the outermost ignore file stands, which is `lead` above the root's paths.
    """

    absolute: Path
    path: str
    lead: str
    ignores: Ignores

    def child(self, name: str) -> _Folder:
        """Return the folder `name` inside, with its own rules in force."""
        path, absolute = f"{self.path}{name}/", self.absolute / name
        return _Folder(absolute, path, self.lead, self.ignores.inside(absolute, self.lead + path))


@dataclass(frozen=True, slots=True)
class Finder:
    """Walks a folder and yields its files, each folder's in the order of their names.

    Left out without a word: what `.gitignore`, `.riffluxignore` and `.git/info/exclude` ignore (nested ones,
    and those above the root up to the top of its git repository), names that start with a dot (unless
    `hidden`), folders that tools generate, devices and sockets. `exclude` are more patterns in the syntax of
    `.gitignore`, relative to the root, which nothing overrides. Files over `max_bytes` are skipped with a
    reason; those that hold many documents (JSON Lines, mailboxes) only over `max_collection_bytes`.

    What is named itself is taken, hidden or ignored as it may be; the rules are for what is below it.
    Symbolic links are followed to what lies inside the root and is not met under its own path.
    """

    max_bytes: int = 20 * 2**20
    max_collection_bytes: int = 512 * 2**20
    hidden: bool = False
    exclude: tuple[str, ...] = ()

    def __call__(self, root: Path, within: Path | None = None) -> Iterator[Found | Skipped]:
        """Return the files of `root`; only those at or below `within` if given. Paths are relative to `root`.

        A root that is a file yields that file, with its name as path. Raises `NotFound` where nothing is
        there, `InvalidArgument` where `within` is not inside `root`.
        """
        root, parts = _named(root, within)
        walk = _Walk(self, root, Path(os.path.realpath(root)), Ignores().under("", self.exclude))
        return walk.named(parts)

    def meets(self, root: Path, path: Path) -> bool:
        """Return True if a walk of `root` comes by `path` below it: no rule leaves it or a folder above it out."""
        root, parts = Path(os.path.abspath(root)), path.relative_to(root).parts  # noqa: PTH100 (links stay)
        return _Walk(self, root, Path(os.path.realpath(root)), Ignores().under("", self.exclude)).comes_by(parts)


@dataclass(frozen=True, slots=True)
class _Walk:
    finder: Finder
    root: Path
    real_root: Path
    exclude: Ignores

    def named(self, parts: tuple[str, ...]) -> Iterator[Found | Skipped]:
        """Walk what stands at `parts` below the root, whatever the rules say of it."""
        if parts and not self.root.joinpath(*parts).is_dir():
            return iter(self._file(self.root.joinpath(*parts), "/".join(parts)))
        folder = self._start()
        for name in parts:
            folder = folder.child(name)
        return self._below(folder)

    def _start(self) -> _Folder:
        """Return the root, with the rules of the git repository it stands in."""
        for top in (self.real_root, *self.real_root.parents):
            if (top / ".git").exists():
                break
        else:
            return _Folder(self.root, "", "", Ignores().inside(self.root, ""))
        ignores = Ignores().under("", read_lines(top / ".git" / "info" / "exclude")).inside(top, "")
        lead = ""
        for name in self.real_root.relative_to(top).parts:
            if ignores(lead + name, folder=True):
                # Its owner named a folder that git ignores, so the rules that ignore it are not meant.
                ignores = Ignores()
            lead += f"{name}/"
            ignores = ignores.inside(top / lead, lead)
        return _Folder(self.root, "", lead, ignores)

    def _below(self, start: _Folder) -> Iterator[Found | Skipped]:
        waiting = [start]
        entered: set[tuple[int, int]] = set()
        while waiting:
            folder = waiting.pop()
            try:
                status = folder.absolute.stat()
                entries = sorted(os.scandir(folder.absolute), key=attrgetter("name"))
            except OSError as error:
                yield Skipped(folder.path or "./", f"the folder cannot be opened: {_words(error)}", failed=True)
                continue
            if (status.st_dev, status.st_ino) in entered:
                continue
            entered.add((status.st_dev, status.st_ino))
            inner: list[_Folder] = []
            for entry in entries:
                yield from self._entry(folder, entry, inner)
            waiting.extend(reversed(inner))

    def _entry(self, folder: _Folder, entry: os.DirEntry[str], inner: list[_Folder]) -> Iterator[Found | Skipped]:
        """Yield the file that `entry` is, if it is wanted; a folder is added to `inner`."""
        path = folder.path + entry.name
        try:
            is_folder = _is_folder(entry)
            if self._unwanted(folder, entry.name, is_folder):
                return
            if printable(entry.name) != entry.name:
                yield Skipped(printable(path), "its name is not valid UTF-8: rename it")
            elif entry.is_symlink() and (reason := self._not_followed(entry)) is not None:
                yield from [Skipped(path, reason)] if reason else []
            elif is_folder:
                inner.append(folder.child(entry.name))
            else:
                yield from self._judge(path, Path(entry.path), entry.stat())
        except OSError as error:
            yield Skipped(printable(path), f"it cannot be opened: {_words(error)}", failed=True)

    def _unwanted(self, folder: _Folder, name: str, is_folder: bool) -> bool:
        """Return True if the entry `name` of `folder` is to be left out without a word."""
        if name.startswith(".") and not self.finder.hidden:
            return True
        if is_folder and _is_generated(folder.absolute / name):
            return True
        path = folder.path + name
        return self.exclude(path, folder=is_folder) or folder.ignores(folder.lead + path, folder=is_folder)

    def _not_followed(self, link: os.DirEntry[str]) -> str | None:
        """Return the reason not to follow a link: empty if there is nothing to report, None to follow it."""
        try:
            target = Path(os.path.realpath(link.path, strict=True))
        except OSError:
            return f"its link leads nowhere: {printable(str(Path(link.path).readlink()))}"
        if not target.is_relative_to(self.real_root):
            return f"its link leads out of the root: {printable(str(target))}"
        return "" if self.comes_by(target.relative_to(self.real_root).parts) else None

    def comes_by(self, parts: tuple[str, ...]) -> bool:
        """Return True if a walk of the root comes by the path of these parts by itself."""
        folder = self._start()
        for place, name in enumerate(parts, start=1):
            if self._unwanted(folder, name, place < len(parts) or (folder.absolute / name).is_dir()):
                return False
            folder = folder.child(name)
        return True

    def _file(self, absolute: Path, path: str) -> list[Found | Skipped]:
        """Return the one file that was named."""
        if printable(path) != path:
            return [Skipped(printable(path), "its name is not valid UTF-8: rename it")]
        try:
            return list(self._judge(path, absolute, absolute.stat()))
        except OSError as error:
            return [Skipped(path, f"it cannot be opened: {_words(error)}", failed=True)]

    def _judge(self, path: str, absolute: Path, status: os.stat_result) -> Iterator[Found | Skipped]:
        if not stat.S_ISREG(status.st_mode):
            return  # a pipe, a socket or a device
        many = path.lower().endswith(COLLECTIONS)
        limit = max(self.finder.max_bytes, self.finder.max_collection_bytes) if many else self.finder.max_bytes
        if status.st_size > limit:
            size = f"{status.st_size / 2**20:.1f} MB, over the limit of {limit / 2**20:.1f} MB"
            yield Skipped(path, f"too large: {size}; raise max_file_mb (max_bytes in Python) to index it")
        else:
            birth = getattr(status, "st_birthtime", None)
            birth_ns = None if birth is None else int(birth * 1e9)
            yield Found(path, absolute, status.st_size, status.st_mtime_ns, birth_ns)


def printable(path: str) -> str:
    """Return a path that can be shown and stored: bytes of its name that are not UTF-8 become `\\xNN`."""
    return path.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def _named(root: Path, within: Path | None) -> tuple[Path, tuple[str, ...]]:
    """Return the root folder, and the parts of the path from it to what is to be walked."""
    root = Path(os.path.abspath(root))  # noqa: PTH100 (resolve() would follow links)
    target = root if within is None else Path(os.path.abspath(within))  # noqa: PTH100
    if not target.exists():
        raise NotFound(f"there is no file or folder {printable(str(target))}")
    if not root.is_dir():
        root = root.parent
    if not target.is_relative_to(root):
        root, target = root.resolve(), target.resolve()
    if not target.is_relative_to(root):
        raise InvalidArgument(f"{printable(str(target))} is not inside {printable(str(root))}")
    return root, target.relative_to(root).parts


def _is_folder(entry: os.DirEntry[str]) -> bool:
    """Return True if `entry` is a folder or a link to one; a link that turns in a circle is not."""
    try:
        return entry.is_dir()
    except OSError:
        return False


def _is_generated(folder: Path) -> bool:
    """Return True if a tool made this folder: by its name, as a virtual environment, or by its own word."""
    if folder.name in GENERATED or folder.name.endswith(".egg-info"):
        return True
    if (folder / "pyvenv.cfg").exists():
        return True
    try:
        with (folder / "CACHEDIR.TAG").open("rb") as tag:
            return tag.read(len(CACHE_SIGNATURE)) == CACHE_SIGNATURE
    except OSError:
        return False


def _iso(nanoseconds: int) -> str:
    return datetime.fromtimestamp(nanoseconds // 10**9, UTC).isoformat()


def _words(error: OSError) -> str:
    return (error.strerror or type(error).__name__).lower()
