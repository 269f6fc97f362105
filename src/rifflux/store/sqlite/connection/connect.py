"""Opening of the database file: its format and version, connection settings, and translation of errors.

Every page of an index ends with a checksum. SQLite's own extension (https://sqlite.org/cksumvfs.html) writes it with
the page and verifies it whenever the page is read, for every connection of a process that imported this module. It
accepts a page of zeros, and two long texts whose last pages were exchanged; therefore a document's text has a hash of
its own.
"""

from __future__ import annotations

import errno
import glob
import os
import re
import shutil
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import NoReturn
from urllib.parse import quote

import apsw

from rifflux.errors import (
    Busy,
    Cure,
    DamagedIndex,
    DiskFull,
    NewerIndex,
    NotAnIndex,
    NotFound,
    ReadOnlyIndex,
    RiffluxError,
    UnusableIndex,
)
from rifflux.store.sqlite.connection.counts import field_counts
from rifflux.store.sqlite.connection.exchange import WHOLE, finish_interrupted
from rifflux.store.sqlite.connection.locks import BusyHandler, WalCheckpointer, retry_while_busy
from rifflux.store.sqlite.connection.migrations import MIGRATIONS as MIGRATIONS
from rifflux.store.sqlite.connection.tables import SCRIPTS, TABLES, TERM_TABLES, TRIGGERS, VECTOR_TRIGGERS
from rifflux.store.sqlite.connection.texts import compressed, text_hash, text_left
from rifflux.types import Notice, Progress
from rifflux.types.temporary import partial, sweep

#: The application id in the file's header, "RFLX", which distinguishes the database from those of other programs.
APPLICATION_ID = 0x52464C58
SCHEMA_VERSION = 8
#: SQLite's VFS without locks, and without checksums of pages.
UNLOCKED = "win32-none" if os.name == "nt" else "unix-none"
#: The size of a page, in bytes.
PAGE_BYTES = 8192
#: The bytes reserved at the end of each page for its checksum; the extension recognizes its files by this number.
RESERVED = 8
#: The size to which a log that grew larger is truncated, in bytes.
LOG_BYTES = 64 << 20
#: With less free space than this, a disk is full: SQLite's shared memory grows in such steps.
ROOM_BYTES = 32 << 10
#: The share of free pages from which a migrated file is shortened.
_FREED = 0.05
_MAGIC = b"SQLite format 3\0"
#: The number of pages that are copied at a time.
_PAGES = 2048
#: The end of the name of a copy that is made before a migration.
_COPY = re.compile(r"\.schema-\d+(-\d+)?$")
_MAIN_FILE = [apsw.SQLITE_OPEN_MAIN_DB | apsw.SQLITE_OPEN_READONLY, 0]
_IMMUTABLE = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
# Views of each full-text table by term. They are temporary, so that a read-only index has them too.
_TERM_COUNTS = "create virtual table temp.{table}_count using fts5vocab(main, {table}, row)"
_POSTINGS = "create virtual table temp.{table}_posting using fts5vocab(main, {table}, instance)"
# What SQLite says of a table that is missing, or of a full-text table whose own settings are damaged.
_UNUSABLE_TABLE = re.compile("no such (fts5 )?table|invalid fts5 file format|vtable constructor failed")
_CHECKSUMS = Path(apsw.__file__).with_name("sqlite_extra_binaries") / "cksumvfs"
#: The location of an index that is deleted when closed.
MEMORY = ":memory:"

# The extension's VFS becomes the default. SQLite completes the suffix of its file name.
with closing(apsw.Connection(MEMORY)) as _connection:
    _connection.config(apsw.SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 1)
    _connection.load_extension(str(_CHECKSUMS))


def connect(
    location: str, *, create: bool, read_only: bool = False, progress: Progress | None = None
) -> tuple[apsw.Connection, bool]:
    """Open or create an index and migrate its schema; return the connection and whether it is read-only.

    With `read_only` it is opened so even if it could be written.
    """
    with translated(location):
        if location == MEMORY:
            return _prepared(apsw.Connection(MEMORY), create=True), False
        path = Path(location).expanduser()
        if not path.name:
            raise NotAnIndex(f"{path} is a folder: name the index file in it, such as {path / 'index.db'}")
        if path.with_name(path.name + WHOLE).exists():
            finish_interrupted(path)
        _check_file(path, create=create)
        connection, read_only = _open(path, read_only=read_only)
        try:
            prepared = _prepared(connection, create=create, read_only=read_only, path=path, progress=progress)
            return prepared, read_only
        except BaseException:
            connection.close()
            raise


def _check_file(path: Path, *, create: bool) -> None:
    """Raise for a path that cannot be an index; create the folder and file of a new one."""
    if path.is_dir():
        raise NotAnIndex(f"{path} is a folder: name the index file in it, such as {path / 'index.db'}")
    if not path.exists():
        if not create:
            raise NotFound(f"no index at {path}", cure=Cure.ADD)
        _make_folder(path.parent)
        _make_private(path)
        return
    file = file_beside(path)
    try:
        head = file.xRead(min(len(_MAGIC), file.xFileSize()), 0)
    finally:
        file.xClose()
    if head and head != _MAGIC:
        raise NotAnIndex(f"{path} is not a Rifflux index, or its header is damaged", cure=Cure.OTHER_OR_SALVAGE)


def file_beside(path: Path) -> apsw.VFSFile:
    """Open an index's file for reading beside the connections of this process; close it by `xClose`.

    It is one of SQLite's files: closing any other would release every lock of this process on the index, and another
    process would then remove the log, or replace the index, that is still in use here.
    """
    return apsw.VFSFile("win32" if os.name == "nt" else "unix", str(path.resolve()), _MAIN_FILE.copy())


def _make_folder(folder: Path) -> None:
    """Create the folder of a new index, but not its parents, since a missing one is more likely a misspelling."""
    try:
        folder.mkdir(exist_ok=True)
    except FileNotFoundError:
        raise NotFound(f"no folder {folder.parent}: make it, or check the path of the index") from None


def _make_private(path: Path) -> None:
    """Create an empty file only readable by its owner, whatever the umask; the log inherits its mode."""
    with suppress(FileExistsError):  # another process was faster
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))


def _open(path: Path, *, read_only: bool) -> tuple[apsw.Connection, bool]:
    """Open for writing if possible, otherwise for reading, in the first way that works."""
    writable = os.access(path if path.exists() else path.parent, os.W_OK) and os.access(path.parent, os.W_OK)
    ways = (_for_writing, _for_reading, _unshared)[0 if writable and not read_only else 1 :]
    for way in ways:
        connection = way(path)
        try:
            connection.set_busy_handler(BusyHandler())
            # Another process may write the first page after this one opened the empty file. Read with SQLite's own
            # page size, it would differ from its checksum.
            connection.pragma("page_size", PAGE_BYTES)
            connection.execute("select 1 from sqlite_master").fetchall()
        except (apsw.CantOpenError, apsw.ReadOnlyError, apsw.FullError, apsw.IOError) as error:
            connection.close()
            # Without free space, the file shared by readers and writers cannot be created either.
            denied = isinstance(error, apsw.CantOpenError | apsw.ReadOnlyError)
            if way is ways[-1] or not (denied or _is_disk_full(str(path))):
                raise
        except BaseException:
            connection.close()
            raise
        else:
            # Root may open anything for writing, and learns later that the disk is read-only.
            return connection, way is not _for_writing or connection.readonly("main")
    raise AssertionError("the last way returns or raises")


def _for_writing(path: Path) -> apsw.Connection:
    return apsw.Connection(str(path))


def _for_reading(path: Path) -> apsw.Connection:
    return apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)


def _unshared(path: Path) -> apsw.Connection:
    """Open an index that nobody can write, such as on read-only media, where the shared file can't be created.

    A log beside the database is read too: it may contain half of what the database needs.
    """
    # Without locks, the log's index may be in memory, since nobody else needs it.
    if _log_size(path):
        connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY, vfs=UNLOCKED)
        connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
        connection.pragma("locking_mode", "exclusive")
        return connection
    return apsw.Connection(f"file:{quote(str(path.absolute()))}?immutable=1", flags=_IMMUTABLE)


def copy_of_pages(path: Path) -> apsw.Connection:
    """Open an empty file to copy all pages of an index into.

    Its first page, which declares that pages have checksums, is written immediately: pages in the log have no valid
    checksum, and those that reached the file before its first page would never get one.
    """
    connection = apsw.Connection(str(path))
    connection.pragma("page_size", PAGE_BYTES)
    connection.reserve_bytes(reserve=RESERVED)
    connection.pragma("user_version", SCHEMA_VERSION)
    return connection


def _log_size(path: Path) -> int:
    """Return the size of an index's log, in bytes; 0 without one."""
    log = path.with_name(path.name + "-wal")
    return log.stat().st_size if log.exists() else 0


def frozen(connection: apsw.Connection) -> tuple[int, ...] | None:
    """Return the state of the files that a connection reads as immutable; None for any other connection.

    If it differs later, the files were changed after all and the connection sees a mixture: open another.
    """
    if connection.open_vfs != UNLOCKED and not connection.open_flags & apsw.SQLITE_OPEN_URI:
        return None
    files = (Path(connection.filename), Path(connection.filename_wal))
    states = [file.stat() for file in files if file.exists()]
    return tuple(number for state in states for number in (state.st_ino, state.st_size, state.st_mtime_ns))


def _prepared(
    connection: apsw.Connection,
    *,
    create: bool,
    read_only: bool = False,
    path: Path | None = None,
    progress: Progress | None = None,
) -> apsw.Connection:
    connection.set_busy_handler(BusyHandler())
    # One statement per call: of several, those after the first that returns a row would not run. Deleted content is
    # overwritten, at no measurable cost: pages are reused, with the rest of their content.
    for setting in ("foreign_keys = on", "temp_store = memory", "cache_size = -32000", "secure_delete = on"):
        connection.execute(f"pragma {setting}")
    # In this order: another process that creates the index commits its tables and its id together.
    objects = connection.execute("select count(*) from sqlite_master").get
    application = connection.pragma("application_id")
    if not application and not objects:
        # The database is new.
        if not create or read_only:
            raise NotAnIndex(f"{path} is empty, not a Rifflux index", cure=Cure.ADD)
        connection.pragma("page_size", PAGE_BYTES)
        connection.reserve_bytes(reserve=RESERVED)
    else:
        if application != APPLICATION_ID:
            raise NotAnIndex(f"{path} is a database of another program", cure=Cure.OTHER_INDEX)
        check_version(connection, path, read_only=read_only, create=create)
    if not read_only:
        # Changes are written to a log first, so that readers and a writer do not wait for each other.
        retry_while_busy(lambda: connection.pragma("journal_mode", "wal"))
        # Reported changes also survive a power failure; a commit contains many files, so this costs little.
        connection.pragma("synchronous", "full")
        connection.pragma("journal_size_limit", LOG_BYTES)
        connection.set_wal_hook(WalCheckpointer())
        write_schema(connection, path, progress)
    tables = {name for (name,) in connection.execute("select name from sqlite_master where type = 'table'")}
    if lost := sorted(TABLES - tables):
        raise DamagedIndex(f"{path} is damaged (no table {', '.join(lost)})", cure=Cure.SALVAGE)
    for table in TERM_TABLES:
        connection.execute(_TERM_COUNTS.format(table=table))
        connection.execute(_POSTINGS.format(table=table))
    connection.register_fts5_function("field_counts", field_counts)
    connection.create_scalar_function("text_hash", text_hash, 1, deterministic=True)
    connection.create_scalar_function("compressed", compressed, 1, deterministic=True)
    connection.create_scalar_function("text_left", text_left, 2, deterministic=True)
    return connection


def version_of(connection: apsw.Connection) -> int:
    """Return the schema version of a database, 0 if it has none."""
    return int(connection.pragma("user_version"))


def check_version(connection: apsw.Connection, path: Path | None, *, read_only: bool, create: bool) -> None:
    """Raise `NewerIndex` or `UnusableIndex`, with the cure, for tables of another version that cannot be migrated.

    Older tables are only migrated for callers who may `create` an index; others leave them unchanged.
    """
    version = version_of(connection)
    if version > SCHEMA_VERSION:
        raise NewerIndex(
            f"{path} was written by a newer Rifflux (schema {version}, this one knows {SCHEMA_VERSION})",
            cure=Cure.UPGRADE,
        )
    if any(each not in MIGRATIONS for each in range(version, SCHEMA_VERSION)):
        raise UnusableIndex(
            f"{path} was written by an older Rifflux (schema {version}, this one reads {SCHEMA_VERSION}): move it away "
            "and index your files again"
        )
    if version < SCHEMA_VERSION and read_only:
        raise UnusableIndex(
            f"{path} is of an older version, and cannot be upgraded where it is only read", cure=Cure.OPEN_WRITABLE
        )
    if version < SCHEMA_VERSION and not create:
        raise UnusableIndex(
            f"{path} is of an older version (schema {version}, this one reads {SCHEMA_VERSION}), and is brought up to "
            "date by the next command that indexes",
            cure=Cure.INDEX,
        )


def write_schema(connection: apsw.Connection, path: Path | None, progress: Progress | None = None) -> None:
    """Create the tables in an empty database, or migrate those of an earlier version, in one transaction.

    An earlier version is first copied beside the index, if the disk has room. Raises `UnusableIndex`, naming the copy,
    if it cannot be migrated; it is then unchanged.
    """
    if version_of(connection) == SCHEMA_VERSION:
        return
    # A migration can recreate a table that others refer to only while foreign keys are not checked.
    connection.execute("pragma foreign_keys = off")
    connection.execute("begin immediate")
    try:
        # Another process may have finished while this one waited for the lock, or one of a newer Rifflux.
        version = version_of(connection)
        if version:
            check_version(connection, path, read_only=False, create=True)
        is_former = 0 < version < SCHEMA_VERSION
        if not version:
            for script in (*SCRIPTS, TRIGGERS, VECTOR_TRIGGERS):
                connection.execute(script)
        elif is_former:
            _migrate(connection, version, path, progress)
        connection.pragma("application_id", APPLICATION_ID)
        connection.pragma("user_version", SCHEMA_VERSION)
    except BaseException:
        connection.execute("rollback")
        raise
    connection.execute("commit")
    connection.execute("pragma foreign_keys = on")
    if is_former:
        _give_back(connection)


def _give_back(connection: apsw.Connection) -> None:
    """Shorten the file by the pages that a migration freed, if they are many.

    Where there is no room for that, or the index is in use, later contents take those pages.
    """
    if connection.pragma("freelist_count") < _FREED * connection.pragma("page_count"):
        return
    # What is copied meanwhile may be more than the memory: it goes to a file, which has no name.
    connection.execute("pragma temp_store = file")
    with suppress(apsw.BusyError, apsw.FullError, apsw.IOError, apsw.CantOpenError):
        connection.execute("vacuum")
    connection.execute("pragma temp_store = memory")


def differs(error: apsw.Error) -> bool:
    """Return True if an error reports that a page differs from its checksum."""
    return getattr(error, "extendedresult", 0) == apsw.SQLITE_IOERR_DATA


def _migrate(connection: apsw.Connection, version: int, path: Path | None, progress: Progress | None) -> None:
    """Migrate the tables of an earlier version, after copying them, within a transaction."""
    copy = _copy_before(path, version, progress) if path else None
    for each in range(version, SCHEMA_VERSION):
        try:
            MIGRATIONS[each](connection, progress)
        except Exception as error:
            hint = f"; a copy is {copy}" if copy else ""
            raise UnusableIndex(
                f"{path} could not be brought from schema {each} to {each + 1} ({error}), and was left as it was{hint}",
                cure=Cure.CHECK,
            ) from error


def former_versions(location: str) -> list[Notice]:
    """Return a notice for each copy of an index from before it was migrated, the oldest first."""
    path = Path(location).expanduser()
    found = []
    for copy in sorted(path.parent.glob(f"{glob.escape(path.name)}.schema-*")):
        if _COPY.search(copy.name):
            size = copy.stat().st_size
            text = (
                f"{copy} ({size / 1e6:.1f} MB) is the index as it was before it was brought up to date: delete it, "
                "unless you may go back to that version of Rifflux"
            )
            found.append(Notice("copy.former", text, data={"file": str(copy), "bytes": size}))
    return found


def _copy_before(path: Path, version: int, progress: Progress | None) -> Path | None:
    """Copy an index of an earlier version beside it, and return the copy's path, or None without room for it.

    A copy of something else, such as of the index before it was restored and changed, stays beside this one.
    """
    first = path.with_name(f"{path.name}.schema-{version}")
    size = path.stat().st_size + _log_size(path)
    if shutil.disk_usage(path.parent).free < 2 * size:
        return None
    whole = first.with_name(first.name + partial())
    sweep(path.parent, first.name)
    _make_private(whole)
    # This copies the committed state: the connection that migrates has not begun to.
    with closing(copy_of_pages(whole)) as target, closing(_for_reading(path)) as source:
        with target.backup("main", source, "main") as steps:
            while not steps.done:
                steps.step(_PAGES)
                if progress:
                    progress("copy", steps.page_count - steps.remaining, steps.page_count)
        target.pragma("journal_mode", "delete")
    shutil.copymode(path, whole)
    copy = first
    number = 1
    while copy.exists():
        if _same_pages(whole, copy):
            # A migration that was interrupted had made it.
            whole.unlink()
            return copy
        number += 1
        copy = first.with_name(f"{first.name}-{number}")
    whole.replace(copy)
    return copy


def _same_pages(one: Path, other: Path) -> bool:
    """Return True if two copies differ at most in the first page, which counts the changes of its file."""
    if one.stat().st_size != other.stat().st_size:
        return False
    with one.open("rb") as first, other.open("rb") as second:
        first.seek(PAGE_BYTES)
        second.seek(PAGE_BYTES)
        while pages := first.read(_PAGES * PAGE_BYTES):
            if pages != second.read(len(pages)):
                return False
    return True


@contextmanager
def translated(location: str) -> Iterator[None]:
    """Translate SQLite's errors within the block into Rifflux errors, each with its cure."""
    try:
        yield
    except (apsw.Error, OSError, UnicodeDecodeError) as error:
        raise_ours(location, error)


def raise_ours(location: str, error: apsw.Error | OSError | UnicodeDecodeError) -> NoReturn:
    """Raise an error of SQLite as a Rifflux error with its cure, or unchanged if there is none."""
    if ours := _in_our_words(location, error):
        raise ours from error
    raise error


def _in_our_words(location: str, error: apsw.Error | OSError | UnicodeDecodeError) -> RiffluxError | None:
    match error:
        case apsw.BusyError():
            return Busy(f"{location} is held by another process: wait for it to finish, then try again")
        case apsw.NotADBError():
            return NotAnIndex(
                f"{location} is not a Rifflux index, or its header is damaged", cure=Cure.OTHER_OR_SALVAGE
            )
        case apsw.CorruptError():
            return DamagedIndex(f"{location} is damaged ({error})", cure=Cure.SALVAGE)
        case UnicodeDecodeError():
            return DamagedIndex(f"{location} is damaged (a text in it is not UTF-8)", cure=Cure.SALVAGE)
        case apsw.IOError() if differs(error):
            return DamagedIndex(f"{location} is damaged (a page differs from its checksum)", cure=Cure.SALVAGE)
        case apsw.SQLError() if _UNUSABLE_TABLE.match(str(error)):
            return DamagedIndex(f"{location} is damaged ({error})", cure=Cure.SALVAGE)
        case apsw.FullError():
            return _disk_full(location)
        case apsw.ReadOnlyError() if _is_disk_full(location):
            # An index on a full disk is opened for reading only.
            return _disk_full(location)
        case apsw.ReadOnlyError():
            return ReadOnlyIndex(
                f"{location} cannot be written: check its permissions and those of its folder. Beside a state file an "
                "index is only read"
            )
        case apsw.CantOpenError() | apsw.IOError() if _is_disk_full(location):
            # The memory shared by readers and writers is a file too, and SQLite has no code for one that cannot grow.
            return _disk_full(location)
        case apsw.CantOpenError() | apsw.IOError():
            return UnusableIndex(f"{location} cannot be opened ({error}): check its path and permissions")
        case apsw.ConnectionClosedError():
            return UnusableIndex(f"{location} was closed: open the index again")
        case OSError() if error.errno in (errno.ENOSPC, errno.EDQUOT):
            return _disk_full(location)
        case OSError():
            reason = (error.strerror or str(error)).lower()
            return UnusableIndex(f"{location} cannot be opened ({reason}): check its path and permissions")
    return None


def _disk_full(location: str) -> DiskFull:
    return DiskFull(f"the disk that holds {location} is full: free some space, then try again. What was stored is kept")


def _is_disk_full(location: str) -> bool:
    with suppress(OSError):
        return shutil.disk_usage(Path(location).expanduser().parent).free < ROOM_BYTES
    return False
