"""Explain why a document ranks where it does."""
