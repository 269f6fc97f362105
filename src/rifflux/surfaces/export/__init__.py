"""Exporting a standalone server: a folder with an index, our program, and what starts both elsewhere."""
