"""Find the files of a folder: what is ignored, hidden, generated or too large stays out.

A folder ends where it ends. One rule holds for walking a folder, for following its changes and for single files: a path
that meets a link is judged by its real place. What really lies inside the root is taken under its own path, or under
the link's if a rule leaves its own path out. What lies outside is not read. See `inside` for how files are opened.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Collection, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from operator import attrgetter
from pathlib import Path

from rifflux.errors import InvalidArgument, NotFound
from rifflux.ingest.walk.ignore import IGNORE_FILES, Ignores, lines_in, read_lines
from rifflux.ingest.walk.inside import Place, Root, open_root
from rifflux.store import EARLIEST_NS, LATEST_NS, FileState, database_of, is_database

#: Links that were met, by the places that they lead to.
Links = dict[Path, set[Path]]

#: Folders that tools make and nobody writes in, and version control's own.
GENERATED = frozenset(
    {
        *(".bzr", ".git", ".hg", ".jj", ".svn", "CVS", "_darcs"),
        *(".eggs", ".ipynb_checkpoints", ".mypy_cache", ".nox", ".pytest_cache", ".ruff_cache", ".tox", ".venv"),
        *("__pycache__", "bower_components", "node_modules", "site-packages"),
    }
)

#: Files that hold many documents, each small.
COLLECTIONS = (".jsonl", ".ndjson", ".mbox")
MAX_COLLECTION_BYTES = 512 * 2**20

#: The content that marks a folder as a cache: https://bford.info/cachedir/
CACHE_SIGNATURE = b"Signature: 8a477f597d28d172789f06886806bc55"

#: Numbers as large as a database keeps.
_63_BITS = 2**63 - 1

#: The folder that an index lies in unless another place is named.
OWN_FOLDER = ".rifflux"
#: The kind of what an index keeps beside its database.
INDEX = "index"
#: What is left out by a rule, by its kind: it is counted, and not listed.
RULES = {
    "excluded": "a pattern excludes it",
    "hidden": "its name begins with a dot",
    "ignored": "an ignore file names it",
    "other": "a pipe, a socket or a device",
    "tool": "a folder that a tool made",
}


@dataclass(frozen=True, slots=True)
class FoundFile:
    """A file to index. `path` is relative to the root, with forward slashes; `size` is in bytes.

    `place` is where it really lies, and what it is opened by. `misdated` is true if its time was outside the years that
    are recorded, and `mtime_ns` is the nearest one inside. `inode` and `ctime_ns`, the time at which the system last
    changed anything of it, have 63 bits.
    """

    path: str
    absolute: Path
    size: int
    mtime_ns: int
    place: Place
    birth_ns: int | None = None
    misdated: bool = False
    inode: int = 0
    ctime_ns: int = 0

    def state(self, hash: str, problem: str | None = None, kind: str = "") -> FileState:
        """Return what is remembered of the file."""
        return FileState(self.path, self.size, self.mtime_ns, hash, problem, kind, self.inode, self.ctime_ns)

    @property
    def updated_at(self) -> str:
        """Return the time of the last change: ISO 8601, UTC, to the second."""
        return _iso(self.mtime_ns)

    @property
    def created_at(self) -> str | None:
        """Return the time the file was made, or None if the system does not record it."""
        if self.birth_ns is None:
            return None
        return _iso(self.birth_ns)


@dataclass(frozen=True, slots=True)
class Skipped:
    """A file or folder left out for a reason worth reporting; a folder's path ends in a slash.

    `kind` names the reason for programs: `name`, `link`, `size`, `permission`. `failed` is true where the file was not
    left out on purpose: what was indexed from there should be kept.
    """

    path: str
    reason: str
    kind: str
    failed: bool = False


@dataclass(frozen=True, slots=True)
class _WalkedFolder:
    """A folder on the way: its path from the root (empty, or ending in a slash), its real place, its rules.

    `named` is true for a folder that the user named, which is walked even if a tool made it.
    """

    path: str
    real: tuple[str, ...]
    ignores: Ignores
    named: bool = False

    def child(self, name: str, real: tuple[str, ...] | None = None, *, named: bool = False) -> _WalkedFolder:
        """Return the folder `name` inside; `real` is its real place if that is elsewhere."""
        return _WalkedFolder(f"{self.path}{name}/", real or (*self.real, name), self.ignores, named)


@dataclass(frozen=True, slots=True)
class Finder:
    """Walks a folder and yields its files, each folder's in the order of their names.

    Left out by rules: what `.gitignore`, `.riffluxignore` and `.git/info/exclude` ignore (nested ones, and those above
    the root up to the top of its git repository), names that start with a dot (unless `hidden`), folders that tools
    generate, the files of an index, devices and sockets. `exclude` are more patterns in the syntax of `.gitignore`,
    relative to the root, which nothing overrides. Files over `max_bytes` are skipped with a reason; those that hold
    many documents (JSON Lines, mailboxes) only over `MAX_COLLECTION_BYTES`.

    What is named itself is taken, hidden or ignored as it may be; the rules are for what is below it.
    Symbolic links are followed to what lies inside the root, and inside one of `allowed` if that is not empty, and is
    not met under its own path.

    `all_files` has files read too that programs wrote for programs: lock files, minified and generated code, dumps.
    """

    max_bytes: int = 20 * 2**20
    hidden: bool = False
    exclude: tuple[str, ...] = ()
    allowed: tuple[Path, ...] = ()
    all_files: bool = False

    def __call__(self, root: Path, within: Path | None = None) -> Iterator[FoundFile | Skipped]:
        """Return the files of `root`; only those at or below `within` if given. Paths are relative to `root`.

        A root that is a file yields that file, with its name as path. Raises `NotFound` where nothing is
        there, `InvalidArgument` where `within` is not inside `root`.
        """
        root, parts = _named(root, within)
        for item in self._walk(root, os.path.realpath(root), parts, {}, noticed=False):
            if not isinstance(item, Skipped) or item.kind not in RULES or item.path == "./":
                yield item

    def within(
        self, root: Path, within: Path, *, noticed: bool = False, links: dict[Path, set[Path]] | None = None
    ) -> Iterator[FoundFile | Skipped]:
        """Return the files of a root at or below a path; the root must be its own real place.

        With `noticed`, the path is one that the system reported: it may be gone, and the rules hold for it too. If it
        meets a link, it must end there: see `until_link`. Links that are met are added to `links`. What a rule leaves
        out is yielded too, of a kind of `RULES`, a folder as one. Raises `NotFound`
        where nothing is there, unless `noticed`.
        """
        parts = within.relative_to(root).parts
        if not noticed and not within.exists():
            raise NotFound(f"there is no file or folder {printable(str(within))}")
        return self._walk(root, str(root), parts, {} if links is None else links, noticed=noticed)

    def _walk(
        self, root: Path, real: str, parts: Sequence[str], links: Links, *, noticed: bool
    ) -> Iterator[FoundFile | Skipped]:
        if belongs_to_index(Path(real)):
            yield Skipped("./", "it belongs to an index", INDEX)
            return
        try:
            inside = open_root(real)
        except OSError as error:
            yield Skipped("./", _unopened(real, error), "permission", failed=True)
            return
        try:
            walk = _Walk(self, root, Path(real), inside, links)
            yield from walk.noticed(parts) if noticed else walk.named(parts)
        finally:
            inside.close()

    def meets(self, root: Path, path: Path) -> bool:
        """Return True if a walk of `root` reaches `path` below it: no rule excludes it or a folder above it."""
        root = Path(os.path.abspath(root))  # noqa: PTH100 (links stay)
        parts = path.relative_to(root).parts
        real = os.path.realpath(root)
        try:
            inside = open_root(real)
        except OSError:
            return False
        try:
            return _Walk(self, root, Path(real), inside, {}).comes_by(parts)
        finally:
            inside.close()


@dataclass(slots=True)
class _Walk:
    finder: Finder
    root: Path
    real_root: Path
    inside: Root
    links: Links
    #: The rules of `exclude`, which nothing overrides.
    excluded: Ignores = field(default_factory=Ignores)
    #: What rules see before the root's paths: they begin where the outermost ignore file stands.
    lead: str = ""

    def named(self, parts: Sequence[str]) -> Iterator[FoundFile | Skipped]:
        """Walk what is at `parts` below the root, whatever the rules are."""
        folder = self._start()
        for place, name in enumerate(parts, start=1):
            path = folder.path + name
            if printable(name) != name:
                yield _unnamable(path)
                return
            real = self._real(parts[:place], path)
            if isinstance(real, Skipped):
                yield real
                return
            try:
                if not stat.S_ISDIR(self.inside.status(real).st_mode):
                    if place == len(parts):
                        yield from self._judge(path, real)
                    return
            except OSError as error:
                yield _unreadable(path, error)
                return
            folder = self._ruled(folder).child(name, real, named=True)
        yield from self._below(folder)

    def noticed(self, parts: Sequence[str]) -> Iterator[FoundFile | Skipped]:
        """Walk what is at `parts` below the root as a walk of the whole root would: by the rules, and if it exists."""
        folder = self._start()
        inner: list[_WalkedFolder] = []
        for place, name in enumerate(parts, start=1):
            try:
                mode = self.inside.status((*folder.real, name)).st_mode
                if stat.S_ISLNK(mode) or (place == len(parts) and not stat.S_ISDIR(mode)):
                    yield from self._noticed_entry(folder, name, inner)
                    break
            except OSError as error:
                if error.errno != errno.ENOENT:
                    yield _unreadable(folder.path + name, error)
                return
            folder = self._ruled(folder)
            if not stat.S_ISDIR(mode) or self._unwanted(folder, name, is_folder=True) or printable(name) != name:
                return
            folder = folder.child(name)
        else:
            inner.append(folder)
        for each in inner:
            yield from self._below(each)

    def _noticed_entry(
        self, folder: _WalkedFolder, name: str, inner: list[_WalkedFolder]
    ) -> Iterator[FoundFile | Skipped]:
        """Yield one file of a folder, if it is wanted; a folder that it leads to is added to `inner`."""
        with closing(self.inside.scan(folder.real)) as scan:
            names = {each.name for each in scan.entries}
            if not folder.named and self._is_generated(folder.real, names):
                return
            ruled = self._ruled(folder, names)
            for entry in scan.entries:
                if entry.name == name:
                    yield from self._entry(ruled, entry, inner)

    def _start(self) -> _WalkedFolder:
        """Return the root, with the rules above it in the git repository that it stands in."""
        self.lead = ""
        if self.finder.exclude:
            self.excluded = Ignores().under("", self.finder.exclude)
        for top in (self.real_root, *self.real_root.parents):
            if (top / ".git").exists():
                break
        else:
            return _WalkedFolder("", (), Ignores(), named=True)
        ignores = Ignores().under("", read_lines(top / ".git" / "info" / "exclude"))
        above = top
        for name in self.real_root.relative_to(top).parts:
            ignores = ignores.inside(above, self.lead)
            if ignores(self.lead + name, folder=True):
                # Its owner named a folder that git ignores, so the rules that ignore it are not meant.
                ignores = Ignores()
            self.lead += f"{name}/"
            above /= name
        return _WalkedFolder("", (), ignores, named=True)

    def _below(self, start: _WalkedFolder) -> Iterator[FoundFile | Skipped]:
        waiting = [start]
        known: set[tuple[int, int]] = set()
        while waiting:
            folder = waiting.pop()
            inner: list[_WalkedFolder] = []
            try:
                scan = self.inside.scan(folder.real)
            except OSError as error:
                reason = f"the folder cannot be opened: {_words(error)}"
                yield Skipped(folder.path or "./", reason, "permission", failed=True)
                continue
            with closing(scan):
                if scan.identity in known:
                    continue
                known.add(scan.identity)
                names = {entry.name for entry in scan.entries}
                if not folder.named and self._is_generated(folder.real, names):
                    yield Skipped(folder.path, RULES["tool"], "tool")
                    continue
                ruled = self._ruled(folder, names)
                for entry in sorted(scan.entries, key=attrgetter("name")):
                    yield from self._entry(ruled, entry, inner)
            waiting.extend(reversed(inner))

    def _ruled(self, folder: _WalkedFolder, names: Collection[str] = IGNORE_FILES) -> _WalkedFolder:
        """Return a folder with the rules of its ignore files in force."""
        lines: list[str] = []
        for name in IGNORE_FILES:
            if name in names:
                real = self._real((*folder.real, name), folder.path + name)
                lines += [] if isinstance(real, Skipped) else lines_in(self._content(real))
        if lines:
            return replace(folder, ignores=folder.ignores.under(self.lead + folder.path, lines))
        return folder

    def _is_generated(self, real: tuple[str, ...], names: Collection[str] | None = None) -> bool:
        """Return True if a folder is marked as made by a tool: a virtual environment, or a cache."""
        if names is not None and "pyvenv.cfg" not in names and "CACHEDIR.TAG" not in names:
            return False
        if self._exists((*real, "pyvenv.cfg")):
            return True
        return self._content((*real, "CACHEDIR.TAG"), len(CACHE_SIGNATURE)) == CACHE_SIGNATURE

    def _content(self, real: tuple[str, ...], size: int = -1) -> bytes:
        """Return the first bytes of a file; none if it can't be read."""
        try:
            with self.inside.open(real) as file:
                return file.read(size)
        except OSError:
            return b""

    def _exists(self, real: tuple[str, ...]) -> bool:
        try:
            self.inside.status(real)
        except OSError:
            return False
        return True

    def _entry(
        self, folder: _WalkedFolder, entry: os.DirEntry[str], inner: list[_WalkedFolder]
    ) -> Iterator[FoundFile | Skipped]:
        """Yield the file that `entry` is, if it is wanted; a folder is added to `inner`."""
        name = entry.name
        path = folder.path + name
        try:
            try:
                is_folder = entry.is_dir()
            except OSError:
                is_folder = False  # a link that turns in a circle
            if rule := self._unwanted(folder, name, is_folder):
                if rule != INDEX:
                    yield Skipped(f"{printable(path)}/" if is_folder else printable(path), RULES[rule], rule)
                return
            if printable(name) != name:
                yield _unnamable(path)
            elif entry.is_symlink():
                yield from self._link(folder, name, inner)
            elif is_folder:
                inner.append(folder.child(name))
            else:
                yield from self._judge(path, (*folder.real, name), entry.stat(follow_symlinks=False))
        except OSError as error:
            yield _unreadable(path, error)

    def _link(self, folder: _WalkedFolder, name: str, inner: list[_WalkedFolder]) -> Iterator[FoundFile | Skipped]:
        """Yield the file that a link leads to, unless the walk comes by that itself; a folder is added to `inner`."""
        path = folder.path + name
        target = Path(os.path.realpath(self.real_root.joinpath(*folder.real, name)))
        self.links.setdefault(target, set()).add(self.root / path)
        real = self._real((*folder.real, name), path)
        if isinstance(real, Skipped):
            if real.kind != INDEX:
                yield real
        elif self.comes_by(real):
            return
        elif stat.S_ISDIR(self.inside.status(real).st_mode):
            inner.append(folder.child(name, real))
        else:
            yield from self._judge(path, real)

    def _real(self, parts: Sequence[str], path: str) -> tuple[str, ...] | Skipped:
        """Return the real place of what stands at `parts` below the root, or why it is not read."""
        absolute = self.real_root.joinpath(*parts)
        try:
            target = Path(os.path.realpath(absolute, strict=True))
        except OSError as error:
            if not absolute.is_symlink():
                return _unreadable(path, error)
            return Skipped(path, f"its link leads nowhere: {printable(str(absolute.readlink()))}", "link")
        if not target.is_relative_to(self.real_root):
            return Skipped(path, f"its link leads out of the root: {printable(str(target))}", "link")
        if self.finder.allowed and not any(target.is_relative_to(each) for each in self.finder.allowed):
            return Skipped(path, f"its link leads out of the allowed folders: {printable(str(target))}", "link")
        real = target.relative_to(self.real_root).parts
        if any(self._is_own(real[:end]) for end in range(1, len(real) + 1)):
            return Skipped(path, "it belongs to an index", INDEX)
        return real

    def comes_by(self, parts: Sequence[str]) -> bool:
        """Return True if a walk of the root comes by the real place at `parts` by itself."""
        folder = self._ruled(self._start())
        for place, name in enumerate(parts, start=1):
            try:
                mode = self.inside.status((*folder.real, name)).st_mode
            except OSError:
                return False
            is_folder = place < len(parts) or stat.S_ISDIR(mode)
            if self._unwanted(folder, name, is_folder) or (is_folder and self._is_generated((*folder.real, name))):
                return False
            if is_folder:
                folder = self._ruled(folder.child(name))
        return True

    def _unwanted(self, folder: _WalkedFolder, name: str, is_folder: bool) -> str:
        """Return the rule that leaves the entry `name` of `folder` out, one of `RULES`; nothing if it is wanted."""
        if name == OWN_FOLDER or self._is_own((*folder.real, name)):
            return INDEX
        if name.startswith(".") and not self.finder.hidden:
            return "hidden"
        if is_folder and (name in GENERATED or name.endswith(".egg-info")):
            return "tool"
        path = folder.path + name
        if self.excluded.levels and self.excluded(path, folder=is_folder):
            return "excluded"
        if folder.ignores.levels and folder.ignores(self.lead + path, folder=is_folder):
            return "ignored"
        return ""

    def _is_own(self, real: tuple[str, ...]) -> bool:
        """Return True for what an index keeps beside its database: logs, locks, derived files."""
        name = database_of(real[-1])
        if name is None:
            return False
        folder = real[:-1]
        return is_database(lambda each, size: self._content((*folder, each), size), name)

    def _judge(
        self, path: str, real: tuple[str, ...], status: os.stat_result | None = None
    ) -> Iterator[FoundFile | Skipped]:
        status = status or self.inside.status(real)
        if not stat.S_ISREG(status.st_mode):
            yield Skipped(path, RULES["other"], "other")
            return
        many = path.lower().endswith(COLLECTIONS)
        if many:
            limit = max(self.finder.max_bytes, MAX_COLLECTION_BYTES)
        else:
            limit = self.finder.max_bytes
        if status.st_size > limit:
            size = f"{status.st_size / 2**20:.1f} MB, over the limit of {limit / 2**20:.1f} MB"
            yield Skipped(path, f"too large: {size}; raise max_file_mb (max_bytes in Python) to index it", "size")
        else:
            birth = getattr(status, "st_birthtime", None)
            if birth is None:
                birth_ns = None
            else:
                birth_ns = int(birth * 1e9)
            place = Place(str(self.real_root), self.inside.identity, "/".join(real))
            mtime_ns = min(max(status.st_mtime_ns, EARLIEST_NS), LATEST_NS)
            yield FoundFile(
                path,
                self.root / path,
                status.st_size,
                mtime_ns,
                place,
                birth_ns,
                misdated=mtime_ns != status.st_mtime_ns,
                inode=status.st_ino & _63_BITS,
                ctime_ns=status.st_ctime_ns & _63_BITS,
            )


def belongs_to_index(path: Path) -> bool:
    """Return True for what an index keeps beside its database, and for what is in a folder of it."""

    def content(name: str, size: int) -> bytes:
        beside = folder / name
        try:
            if not beside.is_file():
                return b""
            with beside.open("rb") as file:
                return file.read(size)
        except OSError:
            return b""

    for place in (path, *path.parents):
        folder = place.parent
        name = database_of(place.name)
        if name is not None and is_database(content, name):
            return True
    return False


def until_link(root: Path, path: Path) -> Path:
    """Return a path below a root up to the first link on it: what is behind that goes by the link's own rule."""
    reached = root
    for name in path.relative_to(root).parts:
        reached /= name
        if reached.is_symlink():
            break
    return reached


def real_place(path: Path) -> Path:
    """Return where the folder of a path really is, with its name; what is at the path may be gone, or a link itself."""
    return Path(os.path.realpath(path.parent), path.name)


def printable(path: str) -> str:
    """Return a path as valid Unicode: bytes of its name that are not UTF-8 become `\\xNN`."""
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
        root = root.resolve()
        target = target.resolve()
    if not target.is_relative_to(root):
        raise InvalidArgument(f"{printable(str(target))} is not inside {printable(str(root))}")
    return root, target.relative_to(root).parts


def _unnamable(path: str) -> Skipped:
    return Skipped(printable(path), "its name is not valid UTF-8: rename it", "name")


def _unreadable(path: str, error: OSError) -> Skipped:
    return Skipped(printable(path), f"it cannot be opened: {_words(error)}", "permission", failed=True)


def _unopened(root: str, error: OSError) -> str:
    """Return the reason why a root cannot be opened."""
    real = os.path.realpath(root)
    if real != root:
        return f"the folder is behind a link now, which leads to {printable(real)}: index that folder if you mean it"
    return f"the folder cannot be opened: {_words(error)}"


def _iso(nanoseconds: int) -> str:
    return datetime.fromtimestamp(nanoseconds // 10**9, UTC).isoformat()


def _words(error: OSError) -> str:
    return (error.strerror or type(error).__name__).lower()
