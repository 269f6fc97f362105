"""The default engine: everything in one SQLite file, words in FTS5, vectors scanned exactly."""

from rifflux.store.sqlite.store import SqliteStore

__all__ = ["SqliteStore"]
