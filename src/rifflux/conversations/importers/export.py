"""The files of an export, whether a folder, a zip or a single file. Nothing is unpacked to disk."""

from __future__ import annotations

import stat
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from typing import IO, Protocol

from rifflux.errors import Unreadable

#: A zip that unpacks to more than this, at more than this ratio, is rejected as a bomb.
LARGE = 16_000_000
MOST_RATIO = 200
#: The maximum size of a file, and the maximum number of files in a zip.
MOST_BYTES = 16_000_000_000
MOST_FILES = 500_000
_ZIP_STARTS = (b"PK\3\4", b"PK\5\6")
#: Files that macOS adds to zips.
_LITTER = "__MACOSX"


class Files(Protocol):
    """The protocol for opening the files of an export."""

    def names(self) -> Sequence[str]:
        """Return the paths of all files, separated by slashes."""
        ...

    def open(self, name: str) -> AbstractContextManager[IO[bytes]]:
        """Open a file for reading. Raises `Unreadable` and `OSError`."""
        ...


@dataclass(frozen=True, slots=True)
class Export:
    """An export whose format is to be recognized. `name` is its display name, `names` are its files."""

    name: str
    files: Files
    names: tuple[str, ...]
    #: The common folder of all files, which `names` omit.
    root: str = ""
    alone: bool = False
    folder: Path | None = None

    @property
    def stem(self) -> str:
        """Return the name of the export without folders and extension."""
        return PurePosixPath(self.name.replace("\\", "/")).stem

    @contextmanager
    def open(self, name: str) -> Iterator[IO[bytes]]:
        """Open a file in a context. Raises `Unreadable`, also while reading."""
        try:
            with self.files.open(self.root + name) as file:
                yield file
        except (zipfile.BadZipFile, zlib.error, EOFError) as error:
            raise Unreadable(f"is damaged: {error}: download it again") from None
        except (OSError, NotImplementedError) as error:
            raise Unreadable(f"cannot be read: {getattr(error, 'strerror', None) or error}") from None

    def label(self, name: str) -> str:
        """Return the display name of a file for messages."""
        if self.alone:
            return self.name
        return f"{self.name}/{name}"

    def called(self, name: str) -> str:
        """Return the default title of a conversation from an untitled file."""
        if self.alone:
            return self.stem
        return PurePosixPath(name).stem


@contextmanager
def opened(source: Path) -> Iterator[Export]:
    """Open an export. Raises `Unreadable` for a damaged or suspicious zip."""
    if source.is_dir():
        yield replace(_export(str(source), _Folder(source)), folder=source)
        return
    try:
        file = source.open("rb")
    except OSError as error:
        raise Unreadable(f"cannot be read: {error.strerror}") from None
    with file:
        # A file with a zip appended, such as a picture, is not an export.
        if file.read(4) not in _ZIP_STARTS:
            yield Export(str(source), _Single(file), (source.name,), alone=True)
            return
        try:
            with zipfile.ZipFile(file) as archive:
                yield _export(str(source), _Zip.of(archive))
        except zipfile.BadZipFile as error:
            raise Unreadable(f"is a damaged zip: {error}: download it again") from None


def _export(name: str, files: Files) -> Export:
    names = [each for each in files.names() if not each.startswith(_LITTER) and not _hidden(each)]
    tops = {each.split("/", 1)[0] for each in names}
    # A common folder of all files carries no information.
    if len(tops) == 1 and all("/" in each for each in names):
        root = f"{tops.pop()}/"
    else:
        root = ""
    return Export(name, files, tuple(sorted(each.removeprefix(root) for each in names)), root)


def _hidden(name: str) -> bool:
    return any(part.startswith(".") for part in name.split("/"))


@dataclass(frozen=True, slots=True)
class _Single:
    """A single file as an export."""

    file: IO[bytes]

    def names(self) -> Sequence[str]:
        return ()

    def open(self, name: str) -> AbstractContextManager[IO[bytes]]:
        self.file.seek(0)
        # The caller of `opened` closes it.
        return nullcontext(self.file)


@dataclass(frozen=True, slots=True)
class _Folder:
    """A folder as an export. Symbolic links are not followed, since they may lead outside."""

    path: Path

    def names(self) -> Sequence[str]:
        return [
            each.relative_to(self.path).as_posix()
            for each in sorted(self.path.rglob("*"))
            if each.is_file() and not each.is_symlink()
        ]

    def open(self, name: str) -> AbstractContextManager[IO[bytes]]:
        return (self.path / name).open("rb")


@dataclass(frozen=True, slots=True)
class _Zip:
    """A zip, read in place. Paths that lead outside are rejected as malicious."""

    archive: zipfile.ZipFile
    entries: Mapping[str, zipfile.ZipInfo] = field(default_factory=dict)

    @staticmethod
    def of(archive: zipfile.ZipFile) -> _Zip:
        infos = archive.infolist()
        if len(infos) > MOST_FILES:
            raise Unreadable(f"holds {len(infos):,} files, more than {MOST_FILES:,}: unpack it, and import the folder")
        for info in infos:
            if _leads_out(info):
                raise Unreadable(
                    f"names a file outside of itself, {info.filename[:80]!r}: it is not as it was exported"
                )
        return _Zip(archive, {info.filename: info for info in infos if not info.is_dir()})

    def names(self) -> Sequence[str]:
        return [*self.entries]

    def open(self, name: str) -> AbstractContextManager[IO[bytes]]:
        info = self.entries[name]
        if info.flag_bits & 1:
            raise Unreadable("needs a password: unpack it, and import the folder")
        packed = max(info.compress_size, 1)
        if info.file_size > MOST_BYTES or (info.file_size > LARGE and info.file_size / packed > MOST_RATIO):
            raise Unreadable(
                f"would unpack to {info.file_size:,} bytes from {packed:,}: no export is packed so tightly; "
                "if it is one, unpack it, and import the folder"
            )
        # Unpacked data never exceeds `file_size`, whatever follows in the file.
        return self.archive.open(info)


def _leads_out(info: zipfile.ZipInfo) -> bool:
    name = info.filename.replace("\\", "/")
    outside = name.startswith("/") or ".." in name.split("/") or (len(name) > 1 and name[1] == ":")
    return outside or stat.S_ISLNK(info.external_attr >> 16)
