"""The intent of a question about works, and the works that it names."""
