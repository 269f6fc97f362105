"""The place of an index: the scheme of its engine, and the name by which the engine finds it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from rifflux.errors import InvalidArgument

__all__ = ["STORES", "IndexPlace"]

#: Engine by URL scheme; a plain path is SQLite.
STORES = {
    "sqlite": "rifflux.store.sqlite:SqliteStore",
    "opensearch": "rifflux.store.opensearch:OpenSearchStore",
    "opensearch+https": "rifflux.store.opensearch:SecureOpenSearchStore",
}
#: A scheme has at least two letters: a single one is a drive.
_ADDRESS = re.compile(r"(?P<scheme>[a-z][a-z0-9+.-]+):(?P<slashes>/{0,2})(?P<name>.*)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class IndexPlace:
    """The place of an index: the path of a file, or an address. A password is never part of a message about it."""

    scheme: str
    name: str

    @classmethod
    def of(cls, location: str | Path) -> IndexPlace:
        """Read a path or an address: `notes.db`, `sqlite:notes.db`, `sqlite://notes.db`, `:memory:`.

        Raises `InvalidArgument` for an unknown engine, and for an address that lost a slash when it became a path.
        """
        text = str(location)
        found = _ADDRESS.fullmatch(text)
        if found is None or (found["scheme"] not in STORES and not found["slashes"]):
            return cls("sqlite", text)
        scheme = found["scheme"]
        if found["slashes"] == "/":
            raise InvalidArgument(
                f"{scheme}:/… is an address that lost a slash, as one does that is made a path: give {scheme}://… as "
                f"text, or ./{scheme}:/… for a file of that name"
            )
        if scheme not in STORES:
            raise InvalidArgument(f"no store for {scheme}://; choose one of {', '.join(STORES)}")
        if not found["name"]:
            raise InvalidArgument(f"{scheme}: names no index: give a path behind it, such as {scheme}:notes.db")
        return cls(scheme, found["name"])

    @property
    def is_file(self) -> bool:
        """Return True if the index is a file of this machine."""
        return self.scheme == "sqlite"

    @property
    def path(self) -> Path:
        """Return the path of an index that is a file. Raises `InvalidArgument` for any other."""
        if not self.is_file:
            raise InvalidArgument(f"{self.scheme}://… is no file: give the path of an index")
        return Path(self.name).expanduser()
