"""Prepare files in worker processes."""
