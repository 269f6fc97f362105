"""Import LaTeX sources."""
