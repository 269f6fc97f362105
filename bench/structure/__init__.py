"""How the code is built: its figures, and what it goes through for one request."""
