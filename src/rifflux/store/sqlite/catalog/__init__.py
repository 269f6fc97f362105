"""Documents, chunks, files, links and tags."""
