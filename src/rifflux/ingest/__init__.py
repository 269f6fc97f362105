"""Ingestion: finding, reading, chunking and syncing the content to search."""
