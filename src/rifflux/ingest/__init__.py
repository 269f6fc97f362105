"""Journey one: find, read, chunk and sync what is to be searched."""
