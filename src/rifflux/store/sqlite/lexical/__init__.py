"""Name and score chunks for terms."""
