"""Opening, sharing and locking of the database file, and its derived files."""
