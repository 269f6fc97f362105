"""The files of an export, however it is packed: a folder, a zip or one file. Nothing is unpacked to disk."""

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

#: A file that takes more room than this, and so many times what it is packed in, is no export.
LARGE = 16_000_000
MOST_RATIO = 200
#: No file that is read is larger, and no zip has more files.
MOST_BYTES = 16_000_000_000
MOST_FILES = 500_000
_ZIP_STARTS = (b"PK\3\4", b"PK\5\6")
#: What Macs put into zips besides the files.
_LITTER = "__MACOSX"


class Files(Protocol):
    """How the files of an export are opened."""

    def names(self) -> Sequence[str]:
        """Return the paths of all files, with slashes between folders."""
        ...

    def open(self, name: str) -> AbstractContextManager[IO[bytes]]:
        """Return a file to read. Raises `Unreadable` and `OSError`."""
        ...


@dataclass(frozen=True, slots=True)
class Export:
    """What formats are recognized in and read from. `name` is what people call it, `names` are its files."""

    name: str
    files: Files
    names: tuple[str, ...]
    #: The folder that all files lie in, which `names` leave out.
    root: str = ""
    alone: bool = False
    folder: Path | None = None

    @property
    def stem(self) -> str:
        """Return the name of the export without its folders and its ending."""
        return PurePosixPath(self.name.replace("\\", "/")).stem

    @contextmanager
    def open(self, name: str) -> Iterator[IO[bytes]]:
        """Open a file for a while. Raises `Unreadable`, also while it is read."""
        try:
            with self.files.open(self.root + name) as file:
                yield file
        except (zipfile.BadZipFile, zlib.error, EOFError) as error:
            raise Unreadable(f"is damaged: {error}: download it again") from None
        except (OSError, NotImplementedError) as error:
            raise Unreadable(f"cannot be read: {getattr(error, 'strerror', None) or error}") from None

    def label(self, name: str) -> str:
        """Return what a file is called in messages."""
        if self.alone:
            return self.name
        return f"{self.name}/{name}"

    def called(self, name: str) -> str:
        """Return what a conversation is called that a file holds and gives no name."""
        if self.alone:
            return self.stem
        return PurePosixPath(name).stem


@contextmanager
def opened(source: Path) -> Iterator[Export]:
    """Open an export. Raises `Unreadable` for a zip that is damaged, or that may not be what it seems."""
    if source.is_dir():
        yield replace(_export(str(source), _Folder(source)), folder=source)
        return
    try:
        file = source.open("rb")
    except OSError as error:
        raise Unreadable(f"cannot be read: {error.strerror}") from None
    with file:
        # What only ends like a zip, such as a picture with one behind it, is none.
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
    # A folder that everything lies in says nothing.
    if len(tops) == 1 and all("/" in each for each in names):
        root = f"{tops.pop()}/"
    else:
        root = ""
    return Export(name, files, tuple(sorted(each.removeprefix(root) for each in names)), root)


def _hidden(name: str) -> bool:
    return any(part.startswith(".") for part in name.split("/"))


@dataclass(frozen=True, slots=True)
class _Single:
    """One file that is the whole export."""

    file: IO[bytes]

    def names(self) -> Sequence[str]:
        return ()

    def open(self, name: str) -> AbstractContextManager[IO[bytes]]:
        self.file.seek(0)
        # It is closed by whoever opened it.
        return nullcontext(self.file)


@dataclass(frozen=True, slots=True)
class _Folder:
    """A folder. Links are not followed: they may lead out of it."""

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
    """A zip, read where it is. Names that lead out of it are refused, since whoever packed it meant harm."""

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
        # What is unpacked is never more than `file_size`, whatever follows in the file.
        return self.archive.open(info)


def _leads_out(info: zipfile.ZipInfo) -> bool:
    name = info.filename.replace("\\", "/")
    outside = name.startswith("/") or ".." in name.split("/") or (len(name) > 1 and name[1] == ":")
    return outside or stat.S_ISLNK(info.external_attr >> 16)
