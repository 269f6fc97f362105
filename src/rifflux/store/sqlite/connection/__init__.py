"""Open, share and lock the database file, and keep derived files beside it."""
