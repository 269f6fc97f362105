"""How well the index ranks, and how its settings were chosen."""
