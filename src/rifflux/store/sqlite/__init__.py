"""The default engine: one SQLite file, with words in FTS5 and exact scans of vectors."""

from rifflux.store.sqlite.store import SqliteStore

__all__ = ["SqliteStore"]
