"""Open, share and lock the database file, and keep derived files next to it."""
