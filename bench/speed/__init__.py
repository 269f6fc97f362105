"""How fast and how large it is."""
