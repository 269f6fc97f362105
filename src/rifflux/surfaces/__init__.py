"""The edges: each surface translates between its own world and one call of Index; none of them decides."""
