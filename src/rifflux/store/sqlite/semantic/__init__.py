"""Name and score chunks for a vector."""
