"""The session of an open index and the values over it: searching, writing, maintenance, watching."""
