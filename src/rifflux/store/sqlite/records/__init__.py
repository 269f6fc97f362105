"""Records and settings, and the end of an owner."""
